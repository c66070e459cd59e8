"""Comparison of choices: the published inference, patients as clusters, and other choices.

The sensitivity table shows each number as published, then with patients as clusters, then with patients as
clusters and another choice, so that an effect of the clusters is not taken for an effect of the choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.plots.layout.figure import Figure
from salstats.display.text.format import interval_text
from salstats.scoring.cases import EMPTY
from salstats.studies.declarations import ItemResult, Need
from salstats.studies.item_warnings import warning_instead_of_any_error
from salstats.studies.result_tables import CellSource, table_of
from salstats.studies.saporta2022.labels_and_notes import (
    end_of_note_on_choice_of_cutoffs,
    feature_name,
    printed_names_of_shown_keys,
)
from salstats.studies.saporta2022.study_frames import (
    FEATURES,
    FULL_PROBABILITIES,
    FULL_SLICE,
    HITS,
    MAPS,
    PEOPLE,
    PROBABILITIES,
    SCALED_OVER_ALL_TASKS,
    SEGMENTATIONS,
    SHAPES,
    TASK_EFFECTS,
    TASKS_POOLED,
    WITHIN_TASKS,
    StudyFrames,
    StudyInference,
    concat_or_raise_if_none,
    confidence_estimates,
    decreases,
    feature_slopes,
    full_slice_scores_of_main_and_people,
    means,
    metric_rows,
    min_max_features,
    rows_of_first_training_of_each_method,
    rows_of_main_and_people,
    task_and_pooled_slopes_and_correlations_on_prob,
)

#: Columns of the estimates that are compared.
_COMPARED_COLUMNS = ("estimate", "conf_low", "conf_high", "p_adjusted", "n")
#: Columns of two estimates side by side.
_COMPARISON_COLUMNS = (
    "published_estimate", "published_low", "published_high", "p_published", "n_published", "estimate",
    "conf_low", "conf_high", "p_adjusted", "n", "width_ratio", "conclusion_published", "conclusion",
    "changed",
)  # fmt: skip
_MEAN_KEYS = ["metric", "method", "task"]
_SLOPE_KEYS = ["metric", "task", "term"]


@dataclass(frozen=True)
class _Headline:
    """Numbers of an item that are shown as published and with patients as clusters."""

    item: str
    #: Columns that identify its rows.
    keys: list[str]
    #: Makes the rows.
    make: Callable[[StudyFrames, StudyInference], pd.DataFrame]
    needs: tuple[Need, ...] = ()


HEADLINES = (
    _Headline(
        "Table 1", _MEAN_KEYS, lambda frames, inference: means(_scores_of_first_models(frames), inference)
    ),
    _Headline(
        "Extended Data 4",
        _MEAN_KEYS,
        lambda frames, inference: means(
            metric_rows(full_slice_scores_of_main_and_people(frames, inference), "iou"), inference
        ),
        needs=(FULL_SLICE,),
    ),
    _Headline(
        "Extended Data 5-6",
        _MEAN_KEYS,
        lambda frames, inference: decreases(_scores_of_first_models(frames), inference),
        needs=(MAPS, PEOPLE),
    ),
    _Headline(
        "Table 2",
        ["outcome", "term"],
        lambda frames, inference: _pooled_slopes(frames, inference),
        needs=(MAPS, SHAPES),
    ),
    _Headline(
        "Table 3",
        _SLOPE_KEYS,
        lambda frames, inference: confidence_estimates(frames, "iou", inference),
        needs=(FULL_SLICE, FULL_PROBABILITIES),
    ),
    _Headline(
        "Extended Data 9",
        _SLOPE_KEYS,
        lambda frames, inference: confidence_estimates(frames, "hit", inference),
        needs=(PROBABILITIES, HITS),
    ),
)
#: Questions of the sensitivity table by its rows.
QUESTIONS = {
    "S1": "Misses: left out of the mean IoU, or counted as 0",
    "S2": "Confidence and IoU: all but true negatives, with cut-offs; or only findings that are there",
    "S3": "Tasks pooled, or with task effects",
    "S7": "Hits: linear model, or logistic model (log odds)",
}
#: Names of the estimates of the published choice with patients as clusters.
_CLUSTERED_COLUMN_BY_COLUMN = {
    "estimate": "clustered_estimate",
    "conf_low": "clustered_low",
    "conf_high": "clustered_high",
    "conclusion": "conclusion_clustered",
}
_DECREASE = "decrease from human, %"
_TERM_NAMES = {"slope": "slope", "spearman": "Spearman correlation"}


@dataclass(frozen=True)
class _ChoiceColumns:
    """Heading of a choice of inference, and the columns of its estimates and conclusions."""

    heading: str
    estimate: str
    low: str
    high: str
    conclusion: str


_PUBLISHED_CHOICE = _ChoiceColumns(
    "As published", "published_estimate", "published_low", "published_high", "conclusion_published"
)
_CLUSTERED_CHOICE = _ChoiceColumns(
    "The same, patients as clusters",
    "clustered_estimate",
    "clustered_low",
    "clustered_high",
    "conclusion_clustered",
)
_OTHER_CHOICE = _ChoiceColumns("Other choice", "estimate", "conf_low", "conf_high", "conclusion")


def published_beside_clustered(frames: StudyFrames) -> ItemResult:
    """Show every headline number as published and with patients as clusters."""
    rows = headlines_published_beside_clustered(frames, frames.inference.n_replicates)
    key_columns = [name for name in ("metric", "outcome", "method", "task", "term") if name in rows]
    stub = []
    for keys in rows[key_columns].itertuples(index=False):
        distinct_names = dict.fromkeys(printed_names_of_shown_keys(keys))
        stub.append(_capitalized(" · ".join(distinct_names)))
    choices_shown = (_PUBLISHED_CHOICE, replace(_OTHER_CHOICE, heading="Patients as clusters"))
    is_percent = rows["item"] == "Extended Data 5-6"
    main_decreases = rows[is_percent & (rows["method"] == frames.main_method)]
    figure = None
    if len(main_decreases):
        estimates = _stacked_choices(main_decreases, main_decreases[["metric", "task"]], choices_shown)
        figure = ss.plot_intervals(estimates) + p9.labs(x="Decrease from human benchmark, % (95% CI)")
    # Means have no conclusion.
    rows_with_sign = rows[rows["conclusion_published"] != ""]
    n_changed = int(rows_with_sign["changed"].sum())
    return ItemResult(
        rows,
        _choices_table(rows, list(rows["item"]), stub, choices_shown, is_percent),
        figure,
        note=f"the sign shown changes in {n_changed} of the {len(rows_with_sign)} rows that have one (a mean "
        "has none); as published: mean of the replicates, order statistics, pairs of what either has, cases "
        "or rows for independent; patients as clusters: mean of the scores, complete pairs, Wilson's "
        "interval of a hit rate, as in each table; Table 2: features scaled over all tasks, as the scripts "
        f"have it; both have the same cut-offs{end_of_note_on_choice_of_cutoffs(frames, frames.inference)}",
    )


def sensitivity_to_choices(frames: StudyFrames) -> ItemResult:
    """Show the sensitivity table: the effects of other choices."""
    rows = estimates_by_analysis_choice(frames, frames.inference.n_replicates)
    groups = (rows["row"] + ". " + rows["question"]).tolist()
    stub = []
    for row in rows.to_dict("records"):
        names = ", ".join(printed_names_of_shown_keys(row["keys"]))
        stub.append(f"{_capitalized(row['quantity'])}: {names}")
    choices_shown = (_PUBLISHED_CHOICE, _CLUSTERED_CHOICE, _OTHER_CHOICE)
    is_percent = rows["quantity"] == _DECREASE
    slopes = rows[(rows["row"] == "S3") & (rows["quantity"] == "slope")]
    figure = None
    if len(slopes):
        figure = _slopes_of_each_choice_figure(slopes)
    return ItemResult(
        rows.drop(columns="keys"),
        _choices_table(rows, groups, stub, choices_shown, is_percent),
        figure,
        note="the other choice has patients as clusters too, so that it differs from the column before it in "
        f"the choice alone; the sign shown changes for {_sign_changes_text(rows)}",
    )


def _sign_changes_text(rows: pd.DataFrame) -> str:
    """Write how often the sign changes in each of S1 to S7, and how often with patients as clusters alone."""
    rows_with_sign = rows[rows["conclusion_published"] != ""]
    texts = []
    for name, table_rows in rows_with_sign.groupby("row"):
        n_changed = int(table_rows["changed"].sum())
        is_changed_by_clusters = table_rows["conclusion_clustered"] != table_rows["conclusion_published"]
        n_changed_by_clusters = int(is_changed_by_clusters.sum())
        texts.append(
            f"{name} in {n_changed} of {len(table_rows)} rows ({n_changed_by_clusters} with patients as "
            "clusters alone)"
        )
    return ", ".join(texts) or "no row"


def _stacked_choices(
    rows: pd.DataFrame, keys: pd.DataFrame, choices_shown: Sequence[_ChoiceColumns]
) -> pd.DataFrame:
    """Stack the estimates of several choices, with the heading of the choice as `method`."""
    parts = []
    for choice in choices_shown:
        parts.append(
            keys.assign(
                method=choice.heading,
                estimate=rows[choice.estimate],
                conf_low=rows[choice.low],
                conf_high=rows[choice.high],
                conf_level=0.95,
            )
        )
    return pd.concat(parts, ignore_index=True)


def _slopes_of_each_choice_figure(rows: pd.DataFrame) -> Figure:
    """Plot the slopes of the features with each choice, a panel per outcome."""
    keys = pd.DataFrame(rows["keys"].tolist(), columns=["outcome", "task"], index=rows.index)
    keys.insert(1, "method", "")
    choices_shown = (
        _PUBLISHED_CHOICE,
        replace(_CLUSTERED_CHOICE, heading="Patients as clusters"),
        replace(_OTHER_CHOICE, heading="And task effects"),
    )
    labels = {
        "task": {feature: feature_name(feature) for feature in FEATURES},
        "outcome": list(dict.fromkeys(keys["outcome"])),
        "method": [choice.heading for choice in choices_shown],
    }
    zero = p9.geom_vline(xintercept=0, color="#BBBBBB", size=0.4)
    caption = "S3: features scaled over all tasks. Bars: 95% CI."
    figure = ss.plot_intervals(_stacked_choices(rows, keys, choices_shown), labels=labels)
    return figure + zero + p9.labs(x="Slope (95% CI)", caption=caption)


def _choices_table(
    rows: pd.DataFrame,
    groups: list[str],
    stub: list[str],
    choices_shown: Sequence[_ChoiceColumns],
    is_percent: pd.Series,
) -> GT:
    """Make a table of the intervals of several choices, and of their signs where these differ.

    `groups` and `stub` are the headings of groups and of rows; rows of `is_percent` have one decimal.
    """
    columns: dict[str, CellSource] = {choice.heading: _interval_cell(choice) for choice in choices_shown}
    columns["Sign shown, where it changes"] = "changes"
    changes = []
    for signs in rows[[choice.conclusion for choice in choices_shown]].to_numpy():
        if len(set(signs)) > 1:
            changes.append(" → ".join(signs))
        else:
            changes.append("")
    return table_of(
        rows.assign(row_label=stub, group_label=groups, changes=changes, digits=np.where(is_percent, 1, 3)),
        "saporta2022",
        {"": "row_label"},
        columns,
        groups="group_label",
        notes=[
            "Estimate (95% CI). A sign is shown where the interval excludes 0 (features: and P after "
            "Bonferroni's correction is below .05). That one shows it and the other does not is no evidence "
            "that the two differ."
        ],
    )


def _interval_cell(choice: _ChoiceColumns) -> Callable[[Any], str]:
    """Return a function that writes the estimate and interval of one choice in a row."""

    def text(row: Any) -> str:
        estimate = getattr(row, choice.estimate)
        low = getattr(row, choice.low)
        high = getattr(row, choice.high)
        return interval_text(estimate, low, high, row.digits)

    return text


def _capitalized(text: str) -> str:
    """Begin a text with a capital."""
    return f"{text[:1].upper()}{text[1:]}"


def positive_negative_or_inconclusive_by_interval(
    rows: pd.DataFrame, low_column: str, high_column: str, adjusted_p_column: str
) -> np.ndarray:
    """Return the sign that each row's interval shows: "positive", "negative", "inconclusive", "" without one.

    An interval shows a sign where it excludes 0 and, if P was adjusted, P is below .05. The other arguments
    name the columns of the limits and of the adjusted P.
    """
    is_significant = rows[adjusted_p_column].isna() | (rows[adjusted_p_column] < 0.05)
    signs = np.full(len(rows), "inconclusive", dtype=object)
    signs[(is_significant & (rows[high_column] < 0)).to_numpy()] = "negative"
    signs[(is_significant & (rows[low_column] > 0)).to_numpy()] = "positive"
    signs[(rows[low_column].isna() | rows[high_column].isna()).to_numpy()] = ""
    return signs.astype(str)


def published_beside_other(published: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Join two frames of estimates by their keys, and add the sign that each shows and whether it changes."""
    columns = [*keys, *_COMPARED_COLUMNS]
    published_rows = published.reindex(columns=columns).rename(
        columns={
            "estimate": "published_estimate",
            "conf_low": "published_low",
            "conf_high": "published_high",
            "p_adjusted": "p_published",
            "n": "n_published",
        }
    )
    rows = published_rows.merge(other.reindex(columns=columns), on=keys, validate="1:1")
    published_width = rows["published_high"] - rows["published_low"]
    width = rows["conf_high"] - rows["conf_low"]
    rows["width_ratio"] = width / published_width.where(published_width > 0)
    rows["conclusion_published"] = positive_negative_or_inconclusive_by_interval(
        rows, "published_low", "published_high", "p_published"
    )
    rows["conclusion"] = positive_negative_or_inconclusive_by_interval(
        rows, "conf_low", "conf_high", "p_adjusted"
    )
    if (published["term"] == "mean").all():
        # Means are never negative, so their sign says nothing.
        rows[["conclusion_published", "conclusion"]] = ""
    rows["changed"] = rows["conclusion_published"] != rows["conclusion"]
    return rows


def headlines_published_beside_clustered(frames: StudyFrames, n_replicates: int) -> pd.DataFrame:
    """Return every headline number as published and with patients as clusters."""
    published = StudyInference(True, n_replicates)
    clustered = StudyInference(False, n_replicates)
    parts = []
    for headline in HEADLINES:
        if not frames.available.issuperset(headline.needs):
            continue
        with warning_instead_of_any_error(f"{headline.item} as published and clustered"):
            published_rows = headline.make(frames, published)
            clustered_rows = headline.make(frames, clustered)
            parts.append(
                published_beside_other(published_rows, clustered_rows, headline.keys).assign(
                    item=headline.item
                )
            )
    rows = concat_or_raise_if_none(parts)
    keys = [name for name in ("metric", "outcome", "method", "task", "term") if name in rows]
    return rows[["item", *keys, *_COMPARISON_COLUMNS]]


def _pooled_slopes(frames: StudyFrames, inference: StudyInference) -> pd.DataFrame:
    """Return Table 2 with features scaled over all tasks, rows of all tasks pooled."""
    return feature_slopes(frames, inference, (SCALED_OVER_ALL_TASKS,), (TASKS_POOLED,))


def _scores_of_first_models(frames: StudyFrames) -> pd.DataFrame:
    """Return IoU and hits of the first model of each method, and of people."""
    return metric_rows(rows_of_first_training_of_each_method(frames.scores), "iou", "hit")


def estimates_by_analysis_choice(frames: StudyFrames, n_replicates: int) -> pd.DataFrame:
    """Return estimates as published, with patients as clusters, and with another choice as well.

    Rows are those of `QUESTIONS` which the data allow. `quantity` and `of` name what is estimated; `keys`
    has the names of `of` as a tuple.
    """
    published = StudyInference(True, n_replicates)
    clustered = StudyInference(False, n_replicates)
    makers = {
        "S1": _s1_rows_on_misses_as_zero,
        "S2": _s2_confidence_rows_of_other_slices,
        "S3": _s3_rows_of_slopes_and_correlations_over_tasks,
        "S7": _s7_rows_of_linear_and_logistic_hit_slopes,
    }
    parts = []
    for row, make in makers.items():
        if _meets_needs_of_sensitivity_row(row, frames):
            with warning_instead_of_any_error(f"{row} of the sensitivity table"):
                parts.append(make(frames, published, clustered))
    rows = concat_or_raise_if_none(parts)
    rows.insert(1, "question", rows["row"].map(QUESTIONS))
    return rows[
        [
            "row",
            "question",
            "quantity",
            "of",
            "keys",
            *_COMPARISON_COLUMNS,
            *_CLUSTERED_COLUMN_BY_COLUMN.values(),
        ]
    ]


def _meets_needs_of_sensitivity_row(row: str, frames: StudyFrames) -> bool:
    """Tell whether the data meet the needs of a row of the sensitivity table."""
    match row:
        case "S2":
            # Scores of a file are with or without cut-offs, and S2 compares both.
            has_cutoffs = frames.cutoff_source in ("tuned", "given")
            return has_cutoffs and {FULL_SLICE, FULL_PROBABILITIES} <= frames.available
        case "S3":
            return SHAPES in frames.available
        case "S7":
            return {SHAPES, HITS} <= frames.available
    return True


class _ChoiceEstimates(NamedTuple):
    """Frames of estimates: as published, with patients as clusters, and with another choice as well."""

    published: pd.DataFrame
    clustered: pd.DataFrame
    other: pd.DataFrame

    def of_term(self, term: str) -> "_ChoiceEstimates":
        """Return the estimates of one term."""
        return _ChoiceEstimates(
            published=self.published[self.published["term"] == term],
            clustered=self.clustered[self.clustered["term"] == term],
            other=self.other[self.other["term"] == term],
        )


def _sensitivity_rows(row: str, quantity: str, keys: list[str], estimates: _ChoiceEstimates) -> pd.DataFrame:
    """Return rows of the sensitivity table: `keys` has the values of the key columns, `of` joins them."""
    rows = published_beside_other(estimates.published, estimates.other, keys)
    clustered = published_beside_other(estimates.published, estimates.clustered, keys).rename(
        columns=_CLUSTERED_COLUMN_BY_COLUMN
    )
    rows = rows.merge(clustered[[*keys, *_CLUSTERED_COLUMN_BY_COLUMN.values()]], on=keys, validate="1:1")
    key_values = [tuple(map(str, values)) for values in rows[keys].itertuples(index=False)]
    rows = rows.drop(columns=keys).assign(row=row, quantity=quantity)
    return _with_keys(rows, key_values)


def _with_keys(rows: pd.DataFrame, key_values: list[tuple[str, ...]]) -> pd.DataFrame:
    """Add the columns `keys`, a tuple of names for each row, and `of`, these names as a text."""
    texts = [", ".join(names) for names in key_values]
    return rows.assign(of=texts, keys=pd.Series(key_values, index=rows.index, dtype="object"))


def _s1_rows_on_misses_as_zero(
    frames: StudyFrames, published: StudyInference, clustered: StudyInference
) -> pd.DataFrame:
    """Return rows S1: an empty mask on a finding has no IoU, or IoU 0."""
    rows = metric_rows(rows_of_main_and_people(frames, frames.scores), "iou")
    rows_with_zeros = rows.assign(score=rows["score"].mask(rows["reason"] == EMPTY, 0.0))
    estimators: dict[str, Callable[[pd.DataFrame, StudyInference], pd.DataFrame]] = {"mean IoU": means}
    if SEGMENTATIONS in frames.available:
        estimators[_DECREASE] = decreases
    parts = []
    for quantity, estimate in estimators.items():
        estimates = _ChoiceEstimates(
            published=estimate(rows, published),
            clustered=estimate(rows, clustered),
            other=estimate(rows_with_zeros, clustered),
        )
        parts.append(_sensitivity_rows("S1", quantity, ["method", "task"], estimates))
    return pd.concat(parts, ignore_index=True)


def _s2_confidence_rows_of_other_slices(
    frames: StudyFrames, published: StudyInference, clustered: StudyInference
) -> pd.DataFrame:
    """Return rows S2: confidence and IoU over the full slice, or over findings that are present.

    A cut-off empties masks of low confidence, which alone relates IoU to confidence.
    """
    positives = frames.positives[["case", "task"]]
    full = _rows_of_main_method(frames, frames.full)
    uncut = _rows_of_main_method(frames, frames.uncut)
    published_estimates = _estimates_over_all_tasks(
        task_and_pooled_slopes_and_correlations_on_prob(full, "iou", published)
    )
    clustered_estimates = _estimates_over_all_tasks(
        task_and_pooled_slopes_and_correlations_on_prob(full, "iou", clustered)
    )
    choices = {
        "finding there, with cut-offs": full.merge(positives, on=["case", "task"]),
        "finding there, without cut-offs": uncut.merge(positives, on=["case", "task"]),
    }
    parts = []
    for name, rows in choices.items():
        other = _estimates_over_all_tasks(
            task_and_pooled_slopes_and_correlations_on_prob(rows, "iou", clustered)
        )
        estimates = _ChoiceEstimates(published_estimates, clustered_estimates, other)
        for term, term_name in _TERM_NAMES.items():
            quantity = f"{term_name} of IoU on confidence"
            term_rows = _sensitivity_rows("S2", quantity, ["task"], estimates.of_term(term))
            parts.append(_with_keys(term_rows, [(name,)] * len(term_rows)))
    return pd.concat(parts, ignore_index=True)


def _rows_of_main_method(frames: StudyFrames, scores: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the main saliency method."""
    rows = rows_of_main_and_people(frames, scores)
    return rows[rows["method"] == frames.main_method]


def _estimates_over_all_tasks(estimates: pd.DataFrame) -> pd.DataFrame:
    """Keep the estimates over all tasks."""
    return estimates[estimates["task"] == "Overall"]


def _s3_rows_of_slopes_and_correlations_over_tasks(
    frames: StudyFrames, published: StudyInference, clustered: StudyInference
) -> pd.DataFrame:
    """Return rows S3: slopes and correlations pooled over tasks, or with task effects."""
    slopes = _ChoiceEstimates(
        published=_pooled_slopes(frames, published),
        clustered=_pooled_slopes(frames, clustered),
        other=feature_slopes(frames, clustered, (SCALED_OVER_ALL_TASKS,), (TASK_EFFECTS,)),
    )
    parts = [_sensitivity_rows("S3", "slope", ["outcome", "term"], slopes)]
    needs = {"iou": {FULL_SLICE, FULL_PROBABILITIES}, "hit": {PROBABILITIES, HITS}}
    for metric, metric_needs in needs.items():
        if not metric_needs <= frames.available:
            continue
        published_estimates = confidence_estimates(frames, metric, published)
        clustered_estimates = confidence_estimates(frames, metric, clustered)
        is_within = clustered_estimates["task"] == WITHIN_TASKS
        estimates = _ChoiceEstimates(
            published=_estimates_over_all_tasks(published_estimates).drop(columns="task"),
            clustered=_estimates_over_all_tasks(clustered_estimates).drop(columns="task"),
            other=clustered_estimates[is_within].drop(columns="task"),
        )
        for term, term_name in _TERM_NAMES.items():
            quantity = f"{term_name} on confidence"
            parts.append(_sensitivity_rows("S3", quantity, ["metric"], estimates.of_term(term)))
    return pd.concat(parts, ignore_index=True)


def _s7_rows_of_linear_and_logistic_hit_slopes(
    frames: StudyFrames, published: StudyInference, clustered: StudyInference
) -> pd.DataFrame:
    """Return rows S7: slopes of hits in a linear model, and of their log odds in a logistic one."""
    hits = metric_rows(_rows_of_main_method(frames, frames.scores), "hit")
    hits = hits.merge(min_max_features(frames.positives, SCALED_OVER_ALL_TASKS), on=["case", "task"])
    terms = [*FEATURES]
    if PROBABILITIES in frames.available:
        terms.append("prob")
    formulas = [f"hit ~ {term}" for term in terms if hits[term].notna().any()]
    log_odds_slopes = ss.regress(hits, formulas, by="method", family="binomial")
    feature_slopes = log_odds_slopes[log_odds_slopes["term"].isin(FEATURES)].reset_index(drop=True)
    # as in the linear model, only the tests of features are adjusted
    feature_slopes = ss.adjust(feature_slopes, procedure="bonferroni", n_tests=len(FEATURES))
    log_odds_slopes = pd.concat(
        [feature_slopes, log_odds_slopes[log_odds_slopes["term"] == "prob"]], ignore_index=True
    )
    estimates = _ChoiceEstimates(
        published=_linear_hit_slopes(frames, published),
        clustered=_linear_hit_slopes(frames, clustered),
        other=log_odds_slopes,
    )
    # Slopes of hits and of log odds have no common scale, so the widths of their intervals are not compared.
    return _sensitivity_rows("S7", "slope of hit", ["term"], estimates).assign(width_ratio=float("nan"))


def _linear_hit_slopes(frames: StudyFrames, inference: StudyInference) -> pd.DataFrame:
    """Return the slopes of the hit rate on features and, where it is known, on confidence."""
    slopes = _pooled_slopes(frames, inference)
    parts = [slopes[slopes["outcome"] == "Hit rate"]]
    if PROBABILITIES in frames.available:
        estimates = _estimates_over_all_tasks(confidence_estimates(frames, "hit", inference))
        parts.append(estimates[estimates["term"] == "slope"].assign(term="prob"))
    return pd.concat(parts, ignore_index=True)
