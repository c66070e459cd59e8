"""The study's tables, made of recordings in its format."""

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
from salstats.studies.declarations import ItemResult
from salstats.studies.lanfredi2021.gaze_scores import (
    MEAN_KEYS,
    MIXING_AS_GIVEN,
    NO_MIXING,
    STUDY_LABELS,
    Recordings,
    main_method_and_mixing,
    mean_rows_of_each_mixing,
    means_with_clustered_and_study_intervals,
    method_scores_by_left_out_reader,
    printed_row_names,
    rows_of_images_with_exactly_n_or_enough_readers,
    rows_of_table_2,
    sorted_as_printed,
    with_mixing_in_methods,
    with_no_mixing_as_missing,
)
from salstats.studies.lanfredi2021.layouts import INTERVAL_FORMULA, LAYOUTS, SHUFFLED, Layout, rows_of_table
from salstats.studies.result_tables import table_of

#: Names of both intervals in tables.
STUDY_INTERVAL = "As the study"
CLUSTERED_INTERVAL = "Cases as clusters"
#: Names of both intervals in legends.
INTERVAL_LEGEND = {
    STUDY_INTERVAL: f"{STUDY_INTERVAL} (± 1.96 SD / √images)",
    CLUSTERED_INTERVAL: CLUSTERED_INTERVAL,
}
#: Notes that explain both intervals.
INTERVAL_NOTES = (
    f"{STUDY_INTERVAL}: {INTERVAL_FORMULA}.",
    f"{CLUSTERED_INTERVAL}: t interval of the mean over all rows, the rows of a case being one cluster.",
)
#: Columns by which scores with one centre bias are paired with those of the other.
_PAIR_KEYS = ("case", "method", "model", "seed", "mixing", "reader", "metric")


def all_recordings_with_exclusion_reasons(recordings: Recordings) -> ItemResult:
    """List all recordings, and count them by the reason why they are left out."""
    frame = ss.recordings(recordings.study)
    used_recordings = frame[frame["used"]]
    reasons = frame["reason"].fillna("used").value_counts()
    boxes = used_recordings.loc[used_recordings["box"] != "used", "box"].value_counts()
    fixation_texts = {"n_fixations": "all", "n_outside": "outside the image", "n_zero": "of no duration"}
    # Counts by heading, each a series by reason.
    counts = {
        "Recordings": reasons,
        "Chest boxes left out of the centre bias": boxes,
        "Fixations of recordings used": used_recordings[list(fixation_texts)].sum().rename(fixation_texts),
    }
    rows = []
    for heading, counts_by_reason in counts.items():
        for reason, n in counts_by_reason.items():
            rows.append((heading, str(reason).capitalize(), n))
    table = table_of(
        pd.DataFrame(rows, columns=["heading", "reason", "n"]),
        "lanfredi2021",
        {"": "reason"},
        {"n": "n"},
        groups="heading",
        notes=["Fixations outside the image are kept: the tails of their Gaussians count."],
    )
    return ItemResult(frame, table)


def scores_of_every_map(recordings: Recordings) -> ItemResult:
    """List the scores of all maps, and describe those of the images that are scored."""
    rows = recordings.scores_of_scored_images
    described = ss.describe(rows.assign(method=printed_row_names(rows)), by=["metric", "method"], unit="case")
    order = list(dict.fromkeys(printed_row_names(sorted_as_printed(rows, MEAN_KEYS))))
    return ItemResult(
        with_no_mixing_as_missing(with_mixing_in_methods(recordings.all_scores)),
        ss.table_describe(described, labels={"method": order}),
        note=_scoring_note(recordings),
    )


def _scoring_note(recordings: Recordings) -> str:
    """Write how the maps were scored: pixels, centre bias, and images left out."""
    options = recordings.options
    scores = recordings.all_scores
    pixels = "exact AUC and sAUC"
    if options.n_samples is not None:
        pixels = f"{options.n_samples:,} pixels drawn on either side"
    cases = "all other cases"
    if options.center_bias == "all":
        cases = "all cases"
    phases = [str(phase) for phase in sorted(scores["phase"].unique())]
    phases_text = f"phase {phases[0]}"
    if len(phases) > 1:
        phases_text = f"phases {joined(phases)}"
    facts = [pixels, f"centre bias of {cases} of {phases_text}"]
    n_unscored = scores["case"].nunique() - recordings.scores_of_scored_images["case"].nunique()
    if n_unscored:
        facts.append(f"{counted(n_unscored, 'image')} not scored for the number of readers")
    return "; ".join(facts)


def majority_findings_by_image(recordings: Recordings) -> ItemResult:
    """List what the majority of readers found, and count it over the images scored."""
    scored_cases = set(recordings.scores_of_scored_images["case"])
    labels = recordings.labels.assign(scored=recordings.labels["case"].isin(scored_cases))
    case_columns = ("case", "patient", "phase", "n_readings", "scored")
    scored_labels = labels[labels["scored"]]
    rows = []
    for finding in labels.columns:
        if finding in case_columns:
            continue
        majority = scored_labels[finding]
        rows.append(
            {
                "Finding": finding.capitalize(),
                "present": (majority == 1).sum(),
                "absent": (majority == 0).sum(),
                "unsure": majority.isna().sum(),
            }
        )
    table = table_of(
        pd.DataFrame(rows, columns=["Finding", "present", "absent", "unsure"]),
        "lanfredi2021",
        {"Finding": "Finding"},
        {"Present": "present", "Absent": "absent", "No majority": "unsure"},
        notes=["Images scored, by what at least three readers found."],
    )
    return ItemResult(labels, table)


def means_maker(metrics: Sequence[str]) -> Callable[[Recordings], ItemResult | None]:
    """Return a function that shows every method's means of some metrics, with both intervals."""

    def make(recordings: Recordings) -> ItemResult | None:
        rows = recordings.means[recordings.means["metric"].isin(metrics)]
        if rows.empty:
            return None
        estimates = _rows_with_study_limits_and_rows_with_clustered_limits(rows)
        names = printed_row_names(estimates)
        columns = ["metric", "task", "method", "term", *_estimate_columns(estimates)]
        # The figure has a row for each method and a colour for each kind of interval.
        figure = ss.plot_intervals(
            estimates.assign(task=names, method=estimates["limits"], term="mean")[columns],
            labels={"task": list(dict.fromkeys(names)), "method": INTERVAL_LEGEND},
        )
        layout = Layout(title="", keys=MEAN_KEYS, options={"bold": False})
        return ItemResult(with_no_mixing_as_missing(rows), _interval_table(rows, layout), figure)

    return make


def table_maker(number: str) -> Callable[[Recordings], ItemResult | None]:
    """Return a function that makes Table 1, 3 or 4, or returns None if the table has no rows.

    The study's intervals and those with cases as clusters stand side by side.
    """

    def make(recordings: Recordings) -> ItemResult | None:
        rows = rows_of_table(number, recordings.means)
        if rows.empty:
            return None
        return _study_table(number, rows)

    return make


def table_2_normal_and_abnormal_images(recordings: Recordings) -> ItemResult | None:
    """Table 2: the interobserver baseline and one saliency method on normal and abnormal images."""
    rows = recordings.scores_of_defined_metrics[recordings.scores_of_defined_metrics["metric"].isin(SHUFFLED)]
    if rows.empty:
        return None
    labelled = rows[rows["subset"].notna()]
    if labelled["score"].isna().all():
        raise SalstatsError("on no image does a majority of readers say normal or abnormal")
    method, mixing = main_method_and_mixing(labelled[labelled["score"].notna()])
    means = means_with_clustered_and_study_intervals(rows_of_table_2(labelled), ["subset", *MEAN_KEYS])
    labels = Labels(STUDY_LABELS)
    subsets = dict.fromkeys(means["subset"])
    columns = ["metric", "task", "method", "term", "interval", *_estimate_columns(means)]
    figure = ss.plot_intervals(
        means.assign(task=means["method"], method=means["subset"], term="mean")[columns],
        labels={
            "task": labels.label_by_value("method", means["method"]),
            "method": {subset: labels.value("subset", subset) for subset in subsets},
        },
    )
    n_unlabelled = rows.loc[rows["subset"].isna(), "case"].nunique()
    note = ""
    if n_unlabelled:
        note = f"left out for want of a majority: {counted(n_unlabelled, 'image')}"
    # The study shows Grad-CAM with attention gates and uniform mixing.
    title = f"Table 2: Normal and abnormal images: {labels.value('method', method)}"
    if mixing not in (NO_MIXING, MIXING_AS_GIVEN):
        title += f", {mixing} mixing"
    return replace(_study_table("2", means, note), figure=figure, title=title)


def effect_of_center_bias_choice(recordings: Recordings) -> ItemResult | None:
    """Compare the shuffled metrics with and without the scored case in the centre bias."""
    if not recordings.scores_of_defined_metrics["metric"].isin(SHUFFLED).any():
        return None
    all_cases = _exact_scores_with_center_bias(recordings, "all")
    other_cases = _exact_scores_with_center_bias(recordings, "others")
    if other_cases.loc[other_cases["metric"].isin(SHUFFLED), "score"].isna().all():
        return None
    return shuffled_metrics_by_center_bias(all_cases, other_cases)


def _exact_scores_with_center_bias(recordings: Recordings, center_bias: str) -> pd.DataFrame:
    """Return scores with a centre bias, exact ones: sampled scores would also differ by their draws.

    The rows of the run are returned where they have this bias; these have the other metrics, too.
    """
    options = recordings.options
    if options.n_samples is None and options.center_bias == center_bias:
        return recordings.scores_of_defined_metrics
    scores = method_scores_by_left_out_reader(recordings, center_bias, metrics=SHUFFLED)
    return rows_of_images_with_exactly_n_or_enough_readers(scores, options.n_readers)


def shuffled_metrics_by_center_bias(
    scores_with_bias_of_all_cases: pd.DataFrame, scores_with_bias_of_other_cases: pd.DataFrame
) -> ItemResult:
    """Show the shuffled metrics with both centre biases, and how much they change."""
    rows = mean_changes_of_shuffled_metrics(scores_with_bias_of_all_cases, scores_with_bias_of_other_cases)
    labels = Labels(STUDY_LABELS)
    named = rows.assign(task=printed_row_names(rows))
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
    # `plot_intervals` draws a grey line at 0 for a difference, and at chance for a mean.
    columns = [
        "metric", "task", "term", "estimate", "conf_low", "conf_high", "conf_level", "interval", "unit",
    ]  # fmt: skip
    figure = ss.plot_intervals(
        named.assign(term="difference")[columns], labels={"task": list(dict.fromkeys(named["task"]))}
    )
    return ItemResult(
        with_no_mixing_as_missing(rows),
        table,
        figure + p9.labs(x=f"Change of the mean, others {MINUS} all (95% CI)"),
        note="the study's centre bias contains the case that is scored against it. This lowers the scores of "
        "maps that agree with the case's gaze, and most those of interobserver, since the left-out reader's "
        "own map is part of it. A centre bias of all other cases does not",
    )


def mean_changes_of_shuffled_metrics(
    scores_with_bias_of_all_cases: pd.DataFrame, scores_with_bias_of_other_cases: pd.DataFrame
) -> pd.DataFrame:
    """Return the change of each mean with its interval, both means, and the largest change of a score."""
    keys = [column for column in _PAIR_KEYS if column in scores_with_bias_of_all_cases]
    pairs = _scores_of_shuffled_metrics(scores_with_bias_of_all_cases).merge(
        _scores_of_shuffled_metrics(scores_with_bias_of_other_cases),
        on=keys,
        validate="1:1",
        suffixes=("_all", "_others"),
    )
    pairs["score"] = pairs["score_others"] - pairs["score_all"]
    changes = mean_rows_of_each_mixing(pairs, MEAN_KEYS)
    defined = pairs[pairs["score"].notna()]
    groups = defined.assign(size=defined["score"].abs()).groupby(MEAN_KEYS)
    means = pd.DataFrame(
        {
            "mean_all": groups["score_all"].mean(),
            "mean_others": groups["score_others"].mean(),
            "largest": groups["size"].max(),
        }
    ).reset_index()
    return sorted_as_printed(
        changes.merge(means, on=MEAN_KEYS, how="left", validate="1:1"), ["metric", "method", "mixing"]
    )


def _scores_of_shuffled_metrics(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the shuffled metrics and the columns that pair them."""
    keys = [column for column in _PAIR_KEYS if column in scores]
    return scores.loc[scores["metric"].isin(SHUFFLED), [*keys, "score"]]


def _study_table(number: str, rows: pd.DataFrame, note: str = "") -> ItemResult:
    """Make one of the study's tables with both intervals side by side."""
    return ItemResult(with_no_mixing_as_missing(rows), _interval_table(rows, LAYOUTS[number]), note=note)


def _interval_table(rows: pd.DataFrame, layout: Layout) -> GT:
    """Make a table of estimates with both intervals in the layout of one of the study's tables."""
    frame = with_no_mixing_as_missing(_rows_with_study_limits_and_rows_with_clustered_limits(rows))
    keys = list(layout.keys)
    if frame["mixing"].isna().all() and "mixing" in keys:
        keys.remove("mixing")

    options = dict(layout.options)
    stub = options.pop("rows", [key for key in layout.keys if key != "metric"])
    spanners = options.pop("columns", "metric")
    bold = options.pop("bold")
    if bold:
        bold = [key for key in bold if key in keys]
    else:
        # A table without bold compares nothing, so it excludes nothing.
        options.pop("exclude", None)

    how_scored = [column for column in METRIC_OPTION_COLUMNS if column in frame]
    table = ss.table_estimates(
        frame[[*keys, "limits", *_estimate_columns(frame), "n", "n_missing", *how_scored]],
        rows=[key for key in stub if key in keys],
        columns=[spanners, "limits"],
        bold=bold,
        labels=Labels(STUDY_LABELS),
        style="brackets",
        n=True,
        **options,
    )
    for note in INTERVAL_NOTES:
        table = table.tab_source_note(note)
    return table


def _rows_with_study_limits_and_rows_with_clustered_limits(rows: pd.DataFrame) -> pd.DataFrame:
    """Stack rows with the study's interval on those with cases as clusters; `limits` names the interval."""
    published = rows.assign(
        limits=STUDY_INTERVAL, conf_low=rows["study_conf_low"], conf_high=rows["study_conf_high"]
    )
    clustered = rows.assign(limits=CLUSTERED_INTERVAL)
    return pd.concat([published, clustered], ignore_index=True)


def _estimate_columns(rows: pd.DataFrame) -> list[str]:
    """List the columns of an estimate that tables and figures show, without the kind of interval."""
    columns = ("estimate", "conf_low", "conf_high", "conf_level", "unit", "n_units")
    return [column for column in columns if column in rows]
