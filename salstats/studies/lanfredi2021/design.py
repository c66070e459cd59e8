"""The study's means with intervals that take a case's rows as one cluster, beside its own intervals."""

import pandas as pd

from salstats.stats.summaries import summarize
from salstats.studies.lanfredi2021.words import CHANCE, ROW, row_name


def respect_design(scores: dict[str, pd.DataFrame], tables: pd.DataFrame) -> pd.DataFrame:
    """Return the printed rows with intervals that take cases as clusters, beside the study's.

    Parameters
    ----------
    scores : dict of str to DataFrame
        By sheet, as `read_scores_by_sheet` returns them.
    tables : DataFrame
        As `reproduce` returns it; the appendix, which has no cases, is left out.

    Returns
    -------
    DataFrame
        An estimates frame with `published_conf_low, published_conf_high, width_ratio`, and whether each
        interval leaves chance out.
    """
    by = ["subset", "method", "metric"]
    estimates = [
        summarize(frame, by=by, unit="case", interval="t").assign(sheet=sheet)
        for sheet, frame in scores.items()
    ]
    published = tables.loc[tables["table"] != "A", [*ROW, "sheet", "conf_low", "conf_high"]].rename(
        columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"}
    )
    rows = published.merge(pd.concat(estimates), on=["sheet", *by], how="left", validate="many_to_one")
    first = [*ROW, *(c for c in estimates[0].columns if c not in (*by, "sheet"))]
    rows = beside_published(rows)
    return rows[[*first, *(c for c in rows.columns if c not in (*first, "sheet")), "sheet"]]


def beside_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the ratio of both intervals' widths, and whether each leaves chance out."""
    width = rows["published_conf_high"] - rows["published_conf_low"]
    chance = rows["metric"].map(CHANCE)
    return rows.assign(
        width_ratio=(rows["conf_high"] - rows["conf_low"]) / width.where(width > 0),
        published_excludes_chance=_excludes(rows["published_conf_low"], rows["published_conf_high"], chance),
        excludes_chance=_excludes(rows["conf_low"], rows["conf_high"], chance),
    )


def what_changes(design: pd.DataFrame) -> str:
    """Return one sentence on what the other intervals change."""
    ratio = design["width_ratio"]
    turned = design[design["excludes_chance"] != design["published_excludes_chance"]]
    names = "; ".join(row_name(row) for _, row in turned.iterrows()) or "none"
    return (
        f"With cases as clusters {int((ratio < 1).sum())} of {len(design)} intervals are narrower than "
        f"published (width ratio {ratio.min():.3f} to {ratio.max():.3f}, median {ratio.median():.3f}); "
        f"whether chance lies inside changes in {len(turned)}: {names}."
    )


def _excludes(low: pd.Series, high: pd.Series, value: pd.Series) -> pd.Series:
    """Return whether an interval leaves a value out."""
    return (value < low) | (value > high)
