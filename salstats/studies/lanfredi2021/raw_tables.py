"""Tables 1 to 4 from scores of recordings: each mean with the study's interval and with cases as clusters."""

from collections.abc import Iterator, Sequence

import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.checks import warn
from salstats.display.plots.intervals import plot_intervals
from salstats.display.tables.estimates import table_estimates
from salstats.display.text.format import counted
from salstats.display.text.labels import Labels
from salstats.stats.carried import HOW_SCORED
from salstats.stats.summaries import summarize
from salstats.studies.items import Item
from salstats.studies.lanfredi2021.design import beside_published
from salstats.studies.lanfredi2021.printed import published_interval
from salstats.studies.lanfredi2021.tables import LAYOUTS, Layout
from salstats.studies.lanfredi2021.words import FORMULA, LABELS

#: What a single map per image is called in the place of a mixing, and the methods that have none.
GIVEN = "as given"
UNMIXED = ("interobserver", "convex", "am1", "am2")
#: What stands for no mixing while rows are grouped.
NONE = ""
KEYS = ["method", "mixing", "metric"]
#: Metrics that are corrected by the centre bias, and those that are not.
SHUFFLED, PLAIN = ("sncc", "sauc"), ("ncc", "auc")
#: Both intervals in print.
PUBLISHED, CLUSTERED = "As the study", "Cases as clusters"
RAW_LABELS = {
    **LABELS,
    "mixing": {**LABELS["mixing"], GIVEN: "As given"},
    "subset": {"all": "All", **LABELS["subset"]},
}
#: What they are.
NOTES = (
    f"{PUBLISHED}: {FORMULA}.",
    f"{CLUSTERED}: t interval of the mean over all rows, the rows of a case being one cluster.",
)


def named_rows(scores: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return scores with the mixing in words and the subset of their case.

    Parameters
    ----------
    scores : DataFrame
        Of `score_gaze`.
    labels : DataFrame
        Of `majority_labels`: `case` and `abnormal`, which may be missing.
    """
    rows = base_methods(scores)
    mixing = rows["mixing"] if "mixing" in rows else pd.Series(None, index=rows.index, dtype="object")
    single = pd.Series(GIVEN, index=rows.index).where(~rows["method"].isin(UNMIXED), NONE)
    rows["mixing"] = mixing.astype("object").where(mixing.notna(), single).astype("str")
    abnormal = rows["case"].map(labels.set_index("case")["abnormal"])
    rows["subset"] = abnormal.map({0: "normal", 1: "abnormal"}).astype("object").where(abnormal.notna(), None)
    return rows


def base_methods(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose method is called what it is whatever its mixing, as the study's tables have it."""
    if "mixing" not in rows:
        return rows.copy()
    pairs = zip(rows["method"], rows["mixing"], strict=True)
    return rows.assign(method=[m if pd.isna(mixing) else m.removesuffix(f"_{mixing}") for m, mixing in pairs])


def own_methods(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `named_rows` with a method for each mixing again, as `score_gaze` has them."""
    unmixed = rows["mixing"].isin([NONE, GIVEN])
    return rows.assign(method=rows["method"].where(unmixed, rows["method"] + "_" + rows["mixing"]))


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of images that are scored, without those that too few readers looked at."""
    left_out = rows["reason"].fillna("").str.endswith(" readers")
    return rows[~left_out].reset_index(drop=True)


def both_intervals(rows: pd.DataFrame, by: Sequence[str] = KEYS) -> pd.DataFrame:
    """Return the mean of each group with cases as clusters, beside the interval by the study's formula.

    Undefined scores are left out of both; `n_missing` counts them. Columns of the latter begin with "study_".
    """
    keys = list(by)
    clustered = by_mixing(rows, keys)
    defined = rows[rows["score"].notna()]
    published = published_interval(defined, keys, "score", "case")[[*keys, "conf_low", "conf_high"]]
    published = published.rename(columns={v: f"published_{v}" for v in ("conf_low", "conf_high")})
    both = beside_published(clustered.merge(published, on=keys, how="left", validate="1:1"))
    # nobody has published what is computed from these recordings
    return in_order(both.rename(columns=lambda name: name.replace("published_", "study_")), keys)


def by_mixing(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return means with cases as clusters; of a scores frame they can be had for one mixing at a time."""
    others = [key for key in keys if key != "mixing"]
    parts = [
        summarize(own, by=others, unit="case", interval="t").assign(mixing=mixing)
        for mixing, own in rows.groupby("mixing", sort=False)
    ]
    means = pd.concat(parts, ignore_index=True)
    return means[[*keys, *(c for c in means.columns if c not in keys)]]


def raw_tables(rows: pd.DataFrame) -> Iterator[Item]:
    """Yield Tables 1 to 4 of the methods at hand, and every method and metric."""
    everything = both_intervals(rows)
    for key, title, metrics in (
        ("means_shuffled", "Every method, shuffled metrics", SHUFFLED),
        ("means_centre", "Every method, metrics that reward the centre", PLAIN),
    ):
        if everything["metric"].isin(metrics).any():
            yield _means(key, title, everything[everything["metric"].isin(metrics)])
    baselines = everything["method"].isin(["interobserver", "convex"])
    for number, chosen in (
        ("1", (everything["method"] != "convex") & everything["metric"].isin(SHUFFLED)),
        ("3", baselines & everything["metric"].isin(PLAIN)),
        ("4", baselines & everything["metric"].isin(SHUFFLED)),
    ):
        if chosen.any():
            yield _item(number, everything[chosen], "all images")
        if number == "1" and chosen.any():
            yield from _split(rows[rows["metric"].isin(SHUFFLED)])


def _split(rows: pd.DataFrame) -> Iterator[Item]:
    """Yield Table 2: the interobserver baseline and one saliency method on normal and abnormal images."""
    known = rows[rows["subset"].notna()]
    if known["score"].isna().all():
        warn(
            "Table 2 is left out: no image has labels of which a majority of readers says normal or abnormal"
        )
        return
    main, mixing = main_method(known[known["score"].notna()])
    shown = (known["method"] == "interobserver") | (
        (known["method"] == main) & known["mixing"].isin([NONE, mixing])
    )
    found = both_intervals(known[shown], ["subset", *KEYS])
    n_unknown = rows.loc[rows["subset"].isna(), "case"].nunique()
    note = f"left out for want of a majority: {counted(n_unknown, 'image')}" if n_unknown else ""
    name = Labels(RAW_LABELS).value("method", main)
    # the study shows Grad-CAM with attention gates and uniform mixing
    of = f"{name}{f', {mixing} mixing' if mixing not in (NONE, GIVEN) else ''}"
    item = _item("2", found, "normal and abnormal images, by the majority of readers", note)
    subsets = [*dict.fromkeys(found["subset"])]
    figure = plot_intervals(
        found.assign(task=found["method"], method=found["subset"])[
            ["metric", "task", "method", "interval", *_values(found)]
        ],
        labels={"task": RAW_LABELS["method"], "method": {s: RAW_LABELS["subset"][s] for s in subsets}},
    )
    yield Item(item.key, f"Table 2. Normal and abnormal images: {of}", item.frame, item.table, figure,
               slice=item.slice, note=item.note)  # fmt: skip


def main_method(rows: pd.DataFrame) -> tuple[str, str]:
    """Return the saliency method of single-method results and its mixing: the study's, or the first.

    Interobserver where there is no other.
    """
    there = list(dict.fromkeys(rows["method"]))
    others = [m for m in there if m not in UNMIXED] or [m for m in there if m != "interobserver"] or there
    main = "gradcam_wag" if "gradcam_wag" in others else others[0]
    mixings = list(dict.fromkeys(rows.loc[rows["method"] == main, "mixing"]))
    return main, "uniform" if "uniform" in mixings else mixings[0]


def _item(number: str, rows: pd.DataFrame, of: str, note: str = "") -> Item:
    """Return one of the study's tables with both intervals side by side."""
    layout = LAYOUTS[number]
    return Item(
        f"table{number}",
        f"Table {number}. {layout.title}",
        without_blanks(rows),
        _both(rows, layout),
        slice=of,
        note=note,
    )


def _means(key: str, title: str, rows: pd.DataFrame) -> Item:
    """Return the means of some metrics with both intervals, and the figure of them."""
    both = _sides(rows)
    names = row_names(both)
    figure = plot_intervals(
        both.assign(task=names, method=both["limits"])[["metric", "task", "method", *_values(both)]],
        labels={"task": list(dict.fromkeys(names)), "method": [PUBLISHED, CLUSTERED]},
    )
    caption = f"Bars: 95% CI. {PUBLISHED}: {FORMULA}. Grey line: chance."
    return Item(
        key,
        title,
        without_blanks(rows),
        _both(rows, Layout("", KEYS, {"bold": False})),
        figure + p9.labs(x="Mean (95% CI)", caption=caption),
        slice="all images",
    )


def _both(rows: pd.DataFrame, layout: Layout) -> GT:
    """Return a table with each estimate under both intervals."""
    options = {k: v for k, v in layout.options.items() if k not in ("rows", "columns")}
    rows_of = layout.options.get("rows", [k for k in layout.keys if k != "metric"])
    outer = layout.options.get("columns", [] if "groups" in options else ["metric"])
    frame = without_blanks(_sides(rows))
    used = [c for c in layout.keys if c != "mixing" or frame["mixing"].notna().any()]
    bold = options.pop("bold")
    table = table_estimates(
        frame[[*used, "limits", *_values(frame), "n", "n_missing", *(c for c in HOW_SCORED if c in frame)]],
        rows=[c for c in rows_of if c in used],
        columns=[*([outer] if isinstance(outer, str) else outer), "limits"],
        bold=bold if isinstance(bold, bool) else [c for c in bold if c in used],
        labels=Labels(RAW_LABELS),
        style="brackets",
        n=True,
        **{k: v for k, v in options.items() if k != "exclude" or bold},
    )
    for note in NOTES:
        table = table.tab_source_note(note)
    return table


def _sides(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows twice: with the study's interval, and with cases as clusters."""
    limits = {v: rows[f"study_{v}"] for v in ("conf_low", "conf_high")}
    sides = [rows.assign(limits=PUBLISHED, **limits), rows.assign(limits=CLUSTERED)]
    return pd.concat(sides, ignore_index=True)


def _values(rows: pd.DataFrame) -> list[str]:
    """Return the columns of an estimate that tables and figures show, the kind of interval apart."""
    return [c for c in ("estimate", "conf_low", "conf_high", "conf_level", "unit", "n_units") if c in rows]


def row_names(rows: pd.DataFrame) -> list[str]:
    """Return method and mixing of each row in print."""
    labels = Labels(RAW_LABELS)
    return [
        labels.value("method", method)
        + (f", {labels.value('mixing', mixing).lower()}" if mixing not in (NONE, GIVEN) else "")
        for method, mixing in zip(rows["method"], rows["mixing"], strict=True)
    ]


def in_order(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return rows in the order of the study's tables."""
    labels = Labels(RAW_LABELS)
    places = {k: {v: i for i, v in enumerate(labels.order(k, rows[k]))} for k in keys}
    order = sorted(range(len(rows)), key=lambda i: [places[k][rows[k].iloc[i]] for k in keys])
    return rows.iloc[order].reset_index(drop=True)


def without_blanks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with no mixing as missing."""
    return rows.assign(mixing=rows["mixing"].where(rows["mixing"] != NONE, None)).reset_index(drop=True)
