"""Tables 1 to 4 from the study's workbooks, to the printed digit, and with cases as clusters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from salstats import datasets
from salstats.display.text.format import MISSING, interval_text
from salstats.display.text.labels import Labels
from salstats.readers.lanfredi2021 import SHEETS, read_lanfredi2021, read_lanfredi2021_classification
from salstats.studies.engine import Made, Printed, table_of

#: What a printed row is known by, and its numbers.
ROW = ["table", "subset", "method", "mixing", "metric"]
LIMITS = ["estimate", "conf_low", "conf_high"]
#: Names as the study prints them, in its order.
LABELS = {
    "method": {
        "interobserver": "Interobserver (baseline)",
        "convex": "Segmentation (baseline)",
        "gradcam_woag": "Grad-CAM (without attention gates)",
        "gradcam_wag": "Grad-CAM (with attention gates)",
        "am1": "AM1",
        "am2": "AM2",
    },
    "mixing": {"thresholded": "Thresholded", "weighted": "Weighted", "uniform": "Uniform"},
    "subset": {"normal": "Normal", "abnormal": "Abnormal"},
}
#: The study's interval.
FORMULA = "mean ± 1.96 SD over all rows / √(number of images)"
INTERVAL = f"95% CI: {FORMULA}, as the study computes it."
#: Of an interval: no agreement beyond chance.
CHANCE = {"ncc": 0.0, "sncc": 0.0, "auc": 0.5, "sauc": 0.5}


@dataclass(frozen=True)
class Layout:
    """How one of the study's tables is laid out."""

    title: str
    #: Columns that name its rows.
    keys: list[str]
    #: Of `table_estimates`.
    options: dict[str, Any]


LAYOUTS = {
    "1": Layout(
        "Saliency maps against radiologists' gaze",
        ["method", "mixing", "metric"],
        {"bold": ["method", "mixing"], "exclude": ["interobserver"]},
    ),
    "2": Layout(
        "Normal and abnormal images (Grad-CAM: uniform mixing)",
        ["metric", "subset", "method"],
        {"rows": ["metric", "subset"], "columns": "method", "bold": False},
    ),
    "3": Layout("Baselines, metrics that reward the centre", ["method", "metric"], {"bold": False}),
    "4": Layout("Baselines, shuffled metrics", ["method", "metric"], {"bold": False}),
}


@dataclass(frozen=True)
class Workbooks:
    """The study's workbooks."""

    #: By sheet, with the subset of cases that a table speaks of.
    scores: dict[str, pd.DataFrame]
    #: AUC of the networks.
    classification: pd.DataFrame

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of Tables 1 to 4 as printed, each with the mean and the study's interval, unrounded."""
        by = ["subset", "method", "metric"]
        parts = [published_interval(s, by, "score", "case").assign(sheet=k) for k, s in self.scores.items()]
        found = printed_rows()[[*ROW, "sheet"]]
        return found.merge(pd.concat(parts), on=["sheet", *by], how="left", validate="many_to_one")


def read_workbooks(folder: Path) -> Workbooks:
    """Read the scores of each sheet, and the classification of the networks."""
    scores = {sheet: read_lanfredi2021(folder, sheet=sheet).assign(subset="all") for sheet in SHEETS}
    labelled = scores["normal_abnormal"]
    scores["normal_abnormal"] = labelled.assign(subset=labelled["abnormal"].map({0: "normal", 1: "abnormal"}))
    return Workbooks(scores, read_lanfredi2021_classification(folder))


def printed_rows(number: str | None = None) -> pd.DataFrame:
    """The printed rows of the tables, or of one, each with the sheet it was made from."""
    tables = datasets.load_published("lanfredi2021_tables").rename(columns={"mean": "estimate"})
    # rows without a mixing were made from the thresholded sheet: AUCs were sampled anew on every sheet
    tables["sheet"] = tables["mixing"].fillna("thresholded").mask(tables["table"] == 2, "normal_abnormal")
    tables["table"] = tables["table"].astype("str")
    return tables if number is None else tables[tables["table"] == number].reset_index(drop=True)


def printed_networks() -> pd.DataFrame:
    """The printed AUC of the networks."""
    table = datasets.load_published("lanfredi2021_classification_auc")
    return table.rename(columns={"auc_mean": "estimate"})


def printed_table(number: str) -> Callable[[Workbooks], Made]:
    """One of Tables 1 to 4 in the study's own layout."""

    def make(books: Workbooks) -> Made:
        layout = LAYOUTS[number]
        rows = books.rows[books.rows["table"] == number].reset_index(drop=True)
        frame = rows[[*layout.keys, *LIMITS, "unit", "n_units"]].assign(conf_level=0.95)
        shown = ss.table_estimates(frame, labels=Labels(LABELS), style="brackets", **layout.options)
        return Made(rows, shown.tab_source_note(INTERVAL))

    return make


def tables_printed(number: str) -> Printed:
    """What the study printed of one of Tables 1 to 4."""
    return Printed(lambda: printed_rows(number), ("subset", "method", "mixing", "metric"))


NETWORKS_PRINTED = Printed(printed_networks, ("model",))


def networks(books: Workbooks) -> Made:
    """Appendix A: the classification AUC of the networks over their trainings."""
    found = published_interval(books.classification, ["model"], "auroc", "seed")
    names = {"woag": "Without attention gates", "wag": "With attention gates"}
    shown = table_of(
        found,
        "lanfredi2021",
        {"Network": lambda r: names.get(r.model, r.model)},
        {"AUC": lambda r: interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets")},
        notes=["95% CI: mean ± 1.96 SD / √(number of trainings), as the study computes it."],
    )
    return Made(found, shown)


def design(books: Workbooks) -> Made:
    """The printed rows with intervals that take a case's rows as one cluster, beside the study's.

    A case's 25 rows (5 readings x 5 networks) are one cluster: how sure the study is about other images,
    given its readings and its networks.
    """
    by = ["subset", "method", "metric"]
    parts = [
        ss.summarize(frame, by=by, unit="case", interval="t").assign(sheet=sheet)
        for sheet, frame in books.scores.items()
    ]
    published = books.rows[[*ROW, "sheet", "conf_low", "conf_high"]].rename(
        columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"}
    )
    rows = published.merge(pd.concat(parts), on=["sheet", *by], how="left", validate="many_to_one")
    first = [*ROW, *(c for c in parts[0].columns if c not in (*by, "sheet"))]
    rows = beside_published(rows)
    rows = rows[[*first, *(c for c in rows.columns if c not in (*first, "sheet")), "sheet"]]
    labels = Labels(LABELS)
    shown = table_of(
        rows,
        "lanfredi2021",
        {
            "Method": lambda r: labels.value("method", r.method),
            "Mixing": lambda r: labels.value("mixing", r.mixing) if isinstance(r.mixing, str) else MISSING,
            "Cases": lambda r: labels.value("subset", r.subset) if r.subset != "all" else "All",
            "Metric": lambda r: labels.value("metric", r.metric),
        },
        {
            "As the study": lambda r: interval_text(
                r.estimate, r.published_conf_low, r.published_conf_high, 3, "brackets"
            ),
            "Cases as clusters": lambda r: interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets"),
            "Ratio of widths": ("width_ratio", 2),
        },
        groups=lambda r: f"Table {r.table}",
        notes=[f"As the study: {FORMULA}. Cases as clusters: t interval, a case's rows one cluster."],
    )
    return Made(rows, shown, note=what_changes(rows))


def readers(books: Workbooks) -> Made:
    """The printed rows of Tables 1, 3 and 4 with intervals for other readers, or other networks, and cases.

    Readers as the position of a reading in its block tells them, their scores averaged over the networks, and
    compared with the interobserver scores; and networks, their scores averaged over the readings. The other
    workbook numbers its readings image by image.
    """
    of_sheet = []
    for sheet in SHEETS[:3]:
        scores = books.scores[sheet]
        by = ["case", "method", "metric"]
        means = {of: scores.groupby([*by, of], as_index=False)["score"].mean() for of in ("reader", "seed")}
        found = ss.mrmc(means["reader"], reference="interobserver")
        of_networks = means["seed"].rename(columns={"seed": "reader"})
        # two kinds of network have trainings of their own: each method is of one kind
        own = [ss.mrmc(s) for m, s in of_networks.groupby("method") if m not in ("interobserver", "convex")]
        limits = ["std_error", "df", "conf_low", "conf_high"]
        rows = found[found["term"] == "mean"].merge(
            found.loc[found["term"] == "difference", ["metric", "method", "estimate", *limits, "p_value"]],
            on=["metric", "method"], how="left", suffixes=("", "_of_difference"),
        )  # fmt: skip
        rows = rows.drop(columns=["reference", "statistic", "p_value", "verdict", "df_residual"])
        rows = rows.merge(
            pd.concat(own)[["metric", "method", *limits]],
            on=["metric", "method"],
            how="left",
            suffixes=("", "_of_networks"),
        )
        of_sheet.append(rows.assign(sheet=sheet))
    published = books.rows[[*ROW, "sheet", "conf_low", "conf_high"]].rename(
        columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"}
    )
    on = ["sheet", "method", "metric"]
    rows = published[published["table"] != "2"].merge(pd.concat(of_sheet), on=on, validate="many_to_one")
    rows = beside_published(rows).drop(columns=["sheet", "method_mean", "reference_mean"])

    def text(*names: str) -> Callable[[Any], str]:
        """An estimate with its limits, of columns of the frame; a dash where there are none."""

        def cell(row: Any) -> str:
            estimate, low, high = (getattr(row, name) for name in names)
            return MISSING if pd.isna(low) else interval_text(estimate, low, high, 3, "brackets")

        return cell

    labels = Labels(LABELS)
    shown = table_of(
        rows,
        "lanfredi2021",
        {
            "Method": lambda r: labels.value("method", r.method),
            "Mixing": lambda r: labels.value("mixing", r.mixing) if isinstance(r.mixing, str) else MISSING,
            "Metric": lambda r: labels.value("metric", r.metric),
        },
        {
            "As the study": text("estimate", "published_conf_low", "published_conf_high"),
            "Readers and cases": text("estimate", "conf_low", "conf_high"),
            "Networks and cases": text("estimate", "conf_low_of_networks", "conf_high_of_networks"),
            "Difference from interobserver": text(*(f"{name}_of_difference" for name in LIMITS)),
        },
        groups=lambda r: f"Table {r.table}",
        notes=[
            f"As the study: {FORMULA}. Readers and cases: Obuchowski and Rockette's analysis of five readers "
            "(a reading's position in its block), scores averaged over networks; differences too. Networks "
            "and cases: of five trainings, scores averaged over readings."
        ],
    )
    return Made(rows, shown)


def published_interval(scores: pd.DataFrame, by: list[str], value: str, unit: str) -> pd.DataFrame:
    """Mean +- 1.96 SD(all rows) / sqrt(number of units), the study's interval; without limits of one row.

    A unit whose value is missing would be counted, so none may be.
    """
    groups = scores.groupby(by, sort=False, dropna=False)
    means, n = groups[value].mean(), groups[unit].nunique()
    half = 1.96 * groups[value].std(ddof=1) / np.sqrt(n)
    columns = {
        "estimate": means,
        "conf_low": means - half,
        "conf_high": means + half,
        "unit": unit,
        "n_units": n,
    }
    return pd.DataFrame(columns).reset_index()


def beside_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the ratio of both intervals' widths, and whether each leaves chance out."""
    width = rows["published_conf_high"] - rows["published_conf_low"]
    chance = rows["metric"].map(CHANCE)
    return rows.assign(
        width_ratio=(rows["conf_high"] - rows["conf_low"]) / width.where(width > 0),
        published_excludes_chance=_excludes(rows["published_conf_low"], rows["published_conf_high"], chance),
        excludes_chance=_excludes(rows["conf_low"], rows["conf_high"], chance),
    )


def what_changes(design: pd.DataFrame) -> str:
    """One sentence on what the other intervals change."""
    ratio = design["width_ratio"]
    turned = design[design["excludes_chance"] != design["published_excludes_chance"]]
    labels, said = Labels(LABELS), ROW[1:]
    names = "; ".join(
        ", ".join(
            [f"Table {row['table']}"]
            + [labels.value(c, row[c]) for c in said if isinstance(row[c], str) and row[c] != "all"]
        )
        for _, row in turned.iterrows()
    )
    return (
        f"with cases as clusters {int((ratio < 1).sum())} of {len(design)} intervals are narrower than "
        f"published (width ratio {ratio.min():.3f} to {ratio.max():.3f}, median {ratio.median():.3f}); "
        f"whether chance lies inside changes in {len(turned)}: {names or 'none'}"
    )


def _excludes(low: pd.Series, high: pd.Series, value: pd.Series) -> pd.Series:
    """Whether an interval leaves a value out."""
    return (value < low) | (value > high)
