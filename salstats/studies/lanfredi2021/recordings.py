"""The study's tables from recordings in its format: how each is made of the scores."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.text.format import MINUS, counted, interval_text, joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.engine.score_reasons import METRIC_OPTION_COLUMNS
from salstats.studies.engine import Result, table_of
from salstats.studies.lanfredi2021.gaze_scores import (
    GIVEN,
    KEYS,
    NONE,
    RAW_LABELS,
    Recordings,
    both_intervals,
    by_mixing,
    in_order,
    main_method,
    own_methods,
    row_names,
    rows_of_table_2,
    score,
    scored,
    without_blanks,
)
from salstats.studies.lanfredi2021.layouts import FORMULA, LAYOUTS, SHUFFLED, Layout, rows_of_table

#: Both intervals in print.
PUBLISHED, CLUSTERED = "As the study", "Cases as clusters"
#: And in legends.
DRAWN = {PUBLISHED: f"{PUBLISHED} (± 1.96 SD / √images)", CLUSTERED: CLUSTERED}
#: What they are.
NOTES = (
    f"{PUBLISHED}: {FORMULA}.",
    f"{CLUSTERED}: t interval of the mean over all rows, the rows of a case being one cluster.",
)
_ALL, _OTHERS = "score_all", "score_others"
_PAIR = ("case", "method", "model", "seed", "mixing", "reader", "metric")


def all_recordings(given: Recordings) -> Result:
    """All recordings, counted by why they are left out."""
    frame = ss.recordings(given.study)
    counts = frame["reason"].fillna("used").value_counts()
    boxes = frame.loc[frame["used"] & (frame["box"] != "used"), "box"].value_counts()
    fixations = {"n_fixations": "all", "n_outside": "outside the image", "n_zero": "of no duration"}
    parts = {
        "Recordings": counts,
        "Chest boxes left out of the centre bias": boxes,
        "Fixations of recordings used": frame.loc[frame["used"], list(fixations)].sum().rename(fixations),
    }
    rows = [(of, str(why).capitalize(), n) for of, part in parts.items() for why, n in part.items()]
    table = table_of(
        pd.DataFrame(rows, columns=["of", "why", "n"]),
        "lanfredi2021",
        {"": "why"},
        {"n": "n"},
        groups="of",
        notes=["Fixations outside the image are kept: the tails of their Gaussians count."],
    )
    return Result(frame, table)


def all_scores(given: Recordings) -> Result:
    """The scores, described."""
    every, rows, options = given.every, given.rows, given.options
    named = rows.assign(method=row_names(rows))
    described = ss.describe(named, by=["metric", "method"], unit="case")
    order = list(dict.fromkeys(in_order(rows, KEYS).pipe(row_names)))
    n_out = every["case"].nunique() - rows["case"].nunique()
    drawn = (
        "exact AUC and sAUC"
        if options.n_samples is None
        else f"{options.n_samples:,} pixels drawn on either side"
    )
    phases = [str(phase) for phase in sorted(every["phase"].unique())]
    said = [
        drawn,
        f"centre bias of all {'' if options.center_bias == 'all' else 'other '}cases of "
        f"phase{'s' if len(phases) > 1 else ''} {joined(phases)}",
        *([f"{counted(n_out, 'image')} not scored for the number of readers"] if n_out else []),
    ]
    return Result(
        without_blanks(own_methods(every)),
        ss.table_describe(described, labels={"method": order}),
        note="; ".join(said),
    )


def findings(given: Recordings) -> Result:
    """What the majority of readers found, counted over the images scored."""
    found = given.labels.assign(scored=given.labels["case"].isin(set(given.rows["case"])))
    groups = [c for c in found.columns if c not in ("case", "patient", "phase", "n_readings", "scored")]
    own = found[found["scored"]]
    rows = [(g.capitalize(), (own[g] == 1).sum(), (own[g] == 0).sum(), own[g].isna().sum()) for g in groups]
    counts = pd.DataFrame(rows, columns=["Finding", "present", "absent", "unsure"])
    table = table_of(
        counts,
        "lanfredi2021",
        {"Finding": "Finding"},
        {"Present": "present", "Absent": "absent", "No majority": "unsure"},
        notes=["Images scored, by what at least three readers found."],
    )
    return Result(found, table)


def every_mean(metrics: Sequence[str]) -> Callable[[Recordings], Result | None]:
    """Every method's means of some metrics, with both intervals."""

    def make(given: Recordings) -> Result | None:
        rows = given.means[given.means["metric"].isin(metrics)]
        if rows.empty:
            return None
        both = _sides(rows)
        names = row_names(both)
        figure = ss.plot_intervals(
            both.assign(task=names, method=both["limits"], term="mean")[
                ["metric", "task", "method", "term", *_values(both)]
            ],
            labels={"task": list(dict.fromkeys(names)), "method": DRAWN},
        )
        shown = _both(rows, Layout("", KEYS, {"bold": False}))
        return Result(without_blanks(rows), shown, figure)

    return make


def table(number: str) -> Callable[[Recordings], Result | None]:
    """Table 1, 3 or 4 with both intervals side by side."""

    def make(given: Recordings) -> Result | None:
        rows = rows_of_table(number, given.means)
        if rows.empty:
            return None
        return _with_both(number, rows)

    return make


def table_2(given: Recordings) -> Result | None:
    """Table 2: the interobserver baseline and one saliency method on normal and abnormal images."""
    rows = given.defined[given.defined["metric"].isin(SHUFFLED)]
    if rows.empty:
        return None
    known = rows[rows["subset"].notna()]
    if known["score"].isna().all():
        raise SalstatsError("no image has labels of which a majority of readers says normal or abnormal")
    main, mixing = main_method(known[known["score"].notna()])
    found = both_intervals(rows_of_table_2(known), ["subset", *KEYS])
    n_unknown = rows.loc[rows["subset"].isna(), "case"].nunique()
    note = f"left out for want of a majority: {counted(n_unknown, 'image')}" if n_unknown else ""
    labels = Labels(RAW_LABELS)
    name = labels.value("method", main)
    # the study shows Grad-CAM with attention gates and uniform mixing
    of = f"{name}{f', {mixing} mixing' if mixing not in (NONE, GIVEN) else ''}"
    subsets = [*dict.fromkeys(found["subset"])]
    figure = ss.plot_intervals(
        found.assign(task=found["method"], method=found["subset"], term="mean")[
            ["metric", "task", "method", "term", "interval", *_values(found)]
        ],
        labels={
            "task": labels.texts("method", found["method"]),
            "method": {s: labels.value("subset", s) for s in subsets},
        },
    )
    title = f"Table 2: Normal and abnormal images: {of}"
    return replace(_with_both("2", found, note), figure=figure, title=title)


def bias_choice(given: Recordings) -> Result | None:
    """What changes in the shuffled metrics where a case has no part in the centre bias that it has."""
    if not given.defined["metric"].isin(SHUFFLED).any():
        return None
    # both exact: draws would differ for another reason than the bias
    exact = given.defined if given.options.n_samples is None else None
    of_all, of_others = (
        exact
        if exact is not None and name == given.options.center_bias
        else scored(score(given, name, metrics=SHUFFLED))
        for name in ("all", "others")
    )
    if of_others.loc[of_others["metric"].isin(SHUFFLED), "score"].isna().all():
        return None
    return bias_change(of_all, of_others)


def bias_change(all_cases: pd.DataFrame, others: pd.DataFrame) -> Result:
    """The shuffled metrics under both centre biases, and how much they change."""
    rows = compared(all_cases, others)
    labels = Labels(RAW_LABELS)
    named = rows.assign(task=row_names(rows))
    table = table_of(
        named,
        "lanfredi2021",
        {"": "task"},
        {
            "All cases, as the study": ("mean_all", 3),
            "All other cases": ("mean_others", 3),
            "Change (95% CI)": lambda r: interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets"),
            "Largest change of a score": ("largest", 3),
        },
        groups=lambda r: labels.value("metric", r.metric),
        notes=[
            "Mean scores. Change: other cases minus all cases, the same rows paired; t interval with cases "
            "as clusters."
        ],
    )
    # as a difference: the grey line of a mean would mark chance, and no change is 0
    drawn = named.assign(term="difference")
    values = ["estimate", "conf_low", "conf_high", "conf_level", "interval", "unit"]
    figure = ss.plot_intervals(
        drawn[["metric", "task", "term", *values]], labels={"task": list(dict.fromkeys(drawn["task"]))}
    )
    return Result(
        without_blanks(rows),
        table,
        figure + p9.labs(x=f"Change of the mean, others {MINUS} all (95% CI)"),
        note="the study's centre bias contains the case that is scored against it, which takes from what "
        "agrees with its gaze, and most from interobserver: the left-out reader's own map is part of it; "
        "of all other cases it does not",
    )


def compared(all_cases: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The change of each mean with its interval, and the means and the largest change of a score."""
    keys = [c for c in _PAIR if c in all_cases]
    both = _of(all_cases).merge(_of(others), on=keys, validate="1:1", suffixes=("_all", "_others"))
    both["score"] = both[_OTHERS] - both[_ALL]
    changes = by_mixing(both, KEYS)
    defined = both[both["score"].notna()].assign(size=both["score"].abs())
    groups = defined.groupby(KEYS)
    means = pd.DataFrame(
        {
            "mean_all": groups[_ALL].mean(),
            "mean_others": groups[_OTHERS].mean(),
            "largest": groups["size"].max(),
        }
    ).reset_index()
    return in_order(changes.merge(means, on=KEYS, how="left", validate="1:1"), ["metric", "method", "mixing"])


def _of(scores: pd.DataFrame) -> pd.DataFrame:
    """What identifies the rows of the shuffled metrics, and their score."""
    keys = [c for c in _PAIR if c in scores]
    return scores.loc[scores["metric"].isin(SHUFFLED), [*keys, "score"]]


def _with_both(number: str, rows: pd.DataFrame, note: str = "") -> Result:
    """One of the study's tables with both intervals side by side."""
    return Result(without_blanks(rows), _both(rows, LAYOUTS[number]), note=note)


def _both(rows: pd.DataFrame, layout: Layout) -> GT:
    """A table with each estimate under both intervals."""
    options = {k: v for k, v in layout.options.items() if k not in ("rows", "columns")}
    rows_of = layout.options.get("rows", [k for k in layout.keys if k != "metric"])
    outer = layout.options.get("columns", [] if "groups" in options else ["metric"])
    frame = without_blanks(_sides(rows))
    used = [c for c in layout.keys if c != "mixing" or frame["mixing"].notna().any()]
    bold = options.pop("bold")
    table = ss.table_estimates(
        frame[
            [
                *used,
                "limits",
                *_values(frame),
                "n",
                "n_missing",
                *(c for c in METRIC_OPTION_COLUMNS if c in frame),
            ]
        ],
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
    """Rows twice: with the study's interval, and with cases as clusters."""
    limits = {v: rows[f"study_{v}"] for v in ("conf_low", "conf_high")}
    sides = [rows.assign(limits=PUBLISHED, **limits), rows.assign(limits=CLUSTERED)]
    return pd.concat(sides, ignore_index=True)


def _values(rows: pd.DataFrame) -> list[str]:
    """The columns of an estimate that tables and figures show, the kind of interval apart."""
    return [c for c in ("estimate", "conf_low", "conf_high", "conf_level", "unit", "n_units") if c in rows]
