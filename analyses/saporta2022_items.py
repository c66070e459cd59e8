"""Tables and figures of saporta2022 from its frames: what is shown, in which slice, with which marks."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import plotnine as p9
from saporta2022_beside import choices, comparison
from saporta2022_frames import (
    FEATURES,
    HUMAN,
    PER_TASK,
    POOLED,
    TASK_EFFECTS,
    WITHIN,
    Choice,
    Frames,
    confidence_slices,
    count_tasks,
    decreases,
    feature_slopes,
    full_rows,
    main_rows,
    means,
    metric_rows,
    one_model,
    side_by_side,
)
from saporta2022_item import CUT, FULL, LABELS, TRUE_POSITIVE, Item, feature
from saporta2022_sensitivity import sensitivity

import salstats as ss
from salstats.display.format import interval_text
from salstats.display.tables.layout import Column, Table, build
from salstats.stats.as_published import printed_as_published
from salstats.stats.pooled_difference import pooled_difference


def make_items(frames: Frames, choice: Choice, min_positives: int) -> Iterator[Item]:
    """Yield the results, tasks with fewer positives than asked for left out."""
    counts = count_tasks(frames, min_positives)
    yield summary_statistics(frames, counts)
    frames = frames.with_tasks(list(counts.loc[~counts["left_out"], "task"]))
    yield from localisation(frames, choice)
    yield from thresholds(frames, choice)
    yield pooled(frames, choice)
    yield from several_models(frames, choice)
    yield full_slice(frames, choice)
    yield distributions(frames)
    yield table_2(frames, choice)
    yield from by_confidence(frames, choice)
    yield comparison(side_by_side(frames, choice.n_replicates), frames.main)
    yield choices(sensitivity(frames, choice.n_replicates))


def summary_statistics(frames: Frames, counts: pd.DataFrame) -> Item:
    """Return Extended Data 10: positives, patients and features per task, and the tasks left out."""
    features = described_features(frames)
    wide = features.assign(
        text=[
            interval_text(r.median, r.q1, r.q3, 1 if r.metric == "n_instances" else 3, "brackets")
            for r in features.itertuples()
        ]
    ).pivot(index="task", columns="metric", values="text")
    named = [f for f in FEATURES if f in wide]
    patients = ["n_patients"] if "n_patients" in counts else []
    heads = {"n_cases": "Cases", "n_positive": "Positive", "n_patients": "Patients with it"}
    columns = [Column(heads[c], align="right") for c in ("n_cases", "n_positive", *patients)]
    columns += [Column(feature(f), ("Median [Q1, Q3]",)) for f in named]
    cells = [
        [f"{row[c]:,}" for c in ("n_cases", "n_positive", *patients)]
        + [str(wide[f].get(row["task"], "—")) for f in named]
        for _, row in counts.iterrows()
    ]
    out = counts[counts["left_out"]]
    said = "; ".join(f"{r.task} (n = {r.n_positive}: {r.reason})" for r in out.itertuples()) or "none"
    table = Table(
        ("Task",),
        [(t,) for t in counts["task"]],
        columns,
        cells,
    )
    frame = counts.merge(
        features.pivot(index="task", columns="metric", values=["median", "q1", "q3"])
        .pipe(lambda f: f.set_axis([f"{m}_{v}" for v, m in f.columns], axis=1))
        .reset_index(),
        on="task",
        how="left",
    )
    return Item(
        "extended_data_10",
        "Extended Data 10: summary statistics",
        frame,
        build(table, "saporta2022"),
        slice="cases that the truth holds",
        note=f"tasks left out of all that follows: {said}",
    )


def described_features(frames: Frames) -> pd.DataFrame:
    """Return count, mean, median and quartiles of the features of each task's findings."""
    long = frames.positives.melt(["case", "task"], list(FEATURES), "metric", "score").assign(method="truth")
    return ss.describe(long.astype({"score": "float64"}), by=["metric", "task"])


def localisation(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Table 1, Fig. 2 a-b and Extended Data 5 and 6."""
    scores = metric_rows(one_model(frames.scores), "iou", "hit")
    found, lost = means(scores, choice), decreases(scores, choice)
    yield Item(
        "table_1",
        "Table 1: mean IoU and hit rate",
        found,
        ss.table_estimates(found, differences=lost, exclude=[HUMAN], n=True, labels=LABELS),
        ss.plot_intervals(found, labels=LABELS),
        note="mean IoU is over cases with a mask (misses left out, see S1 of the sensitivity table); "
        + _estimate_note(choice),
    )
    own = scores["method"].isin([frames.main, HUMAN])
    some, gap = means(scores[own], choice), decreases(scores[own], choice)
    areas = classifier(frames)
    yield Item(
        "figure_2",
        "Fig. 2: localisation of the main saliency method and people",
        some,
        ss.table_estimates(some, differences=gap, labels=LABELS),
        ss.plot_intervals(some, decrease=gap, auroc=areas, labels=LABELS),
        note="tasks by significance and size of the decrease; AUROC in parentheses"
        if areas is not None
        else "",
    )
    for key, metric, name in (("extended_data_5", "iou", "mean IoU"), ("extended_data_6", "hit", "hit rate")):
        one = lost[lost["metric"] == metric].reset_index(drop=True)
        yield Item(
            key,
            f"Extended Data {key[-1]}: percentage decrease of {name} from people",
            one,
            ss.table_decrease(one, sort="size", labels=LABELS),
            ss.plot_decrease(one, labels=LABELS),
            note="Average: the decrease of the averages over tasks",
        )


def classifier(frames: Frames) -> pd.DataFrame | None:
    """Return the AUROC of each task where probabilities and labels of both kinds are known."""
    rows = main_rows(frames, frames.uncut)
    rows = rows[rows["method"] == frames.main]
    if not {"prob", "label"} <= set(rows) or (rows.groupby("task")["label"].nunique() < 2).any():
        return None
    return ss.auroc(rows, "prob", "label", by="task")


def thresholds(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 1: the sweep, the tuned thresholds against people, and against Otsu's."""
    if frames.sweep is not None:
        sweep = frames.sweep[frames.sweep["method"] == frames.main].reset_index(drop=True)
        sweep = one_model(sweep).assign(threshold=lambda f: f["threshold"].round(6))
        shown = sweep[["task", "threshold", "metric", "estimate"]]
        yield Item(
            "extended_data_1a",
            "Extended Data 1a: mean IoU by threshold, validation study",
            sweep,
            ss.table_estimates(shown, rows="task", columns="threshold", bold="threshold", labels=LABELS),
            ss.plot_thresholds(shown, labels={**LABELS, "estimate": "Mean IoU"}),
            slice=f"{TRUE_POSITIVE}, validation",
            note="the threshold with the largest mean is chosen",
        )
    if frames.tuned is None:
        return
    tuned = metric_rows(main_rows(frames, frames.tuned), "iou")
    found, lost = means(tuned, choice), decreases(tuned, choice)
    yield Item(
        "extended_data_1b",
        "Extended Data 1b: mean IoU with tuned thresholds",
        found,
        ss.table_estimates(found, differences=lost, exclude=[HUMAN], labels=LABELS),
        ss.plot_intervals(found, decrease=lost, labels=LABELS),
        note=_estimate_note(choice),
    )
    otsu = metric_rows(main_rows(frames, frames.scores), "iou")
    pair = [
        f[f["method"] == frames.main].assign(method=name) for f, name in ((otsu, "otsu"), (tuned, "tuned"))
    ]
    gap = ss.difference(
        pd.concat(pair, ignore_index=True), reference="tuned", by=["metric", "task"], average="task",
        n_replicates=choice.n_replicates,
    )  # fmt: skip
    yield Item(
        "extended_data_1c",
        "Otsu's threshold against the tuned one, paired (asserted in the study's text)",
        gap,
        ss.table_decrease(gap, labels=LABELS),
        ss.plot_decrease(gap, labels=LABELS),
        note="difference Otsu - tuned on the same cases; always with units as clusters",
    )


def pooled(frames: Frames, choice: Choice) -> Item:
    """Return Extended Data 2: precision, recall and specificity of the pixels of all cases."""
    rows = main_rows(frames, frames.scores)
    rates = ss.pooled_rates(rows, by=["method", "task"], n_replicates=choice.n_replicates)
    gap = pooled_difference(rows, reference=HUMAN, by="task", n_replicates=choice.n_replicates)
    if choice.published:
        # the script has no intervals
        rates = rates.assign(conf_low=np.nan, conf_high=np.nan)
    return Item(
        "extended_data_2",
        "Extended Data 2: precision, recall and specificity",
        rates,
        ss.table_estimates(rates, differences=gap, labels=LABELS),
        ss.plot_intervals(rates, labels=LABELS),
        slice="cases that the truth holds",
        note="pixels pooled over cases, so that large images and findings count more; cases without any "
        "finding are not in the truth, so specificity is not that of the data set",
    )


def several_models(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 3 (methods and architectures) and 7 (an ensemble and single checkpoints)."""
    scores = metric_rows(frames.scores, "iou", "hit")
    models = [] if "model" not in scores else list(scores["model"].dropna().unique())
    machine = scores[scores["method"] != HUMAN]
    if len(machine["method"].unique()) > 1 or len(models) > 1:
        yield _architectures(scores, models, choice)
    ensembles = [m for m in models if "ensemble" in str(m).lower()]
    own = machine[(machine["method"] == frames.main) & machine.get("model", pd.Series(dtype="str")).notna()]
    if len(ensembles) == 1 and ensembles[0] in set(own["model"]) and own["model"].nunique() > 1:
        yield _ensemble(own, str(ensembles[0]), choice)


def _architectures(scores: pd.DataFrame, models: list[str], choice: Choice) -> Item:
    """Return means of every method and model; people stand beside each model, for the pairs."""
    if models:
        people = scores[scores["method"] == HUMAN]
        machine = scores[scores["method"] != HUMAN]
        scores = pd.concat([machine, *(people.assign(model=m) for m in models)], ignore_index=True)
    by = ["metric", *(["model"] if models else []), "task"]
    found = ss.summarize(scores, by=[*by, "method"], average="task", n_replicates=choice.n_replicates)
    gap = ss.difference(
        scores, reference=HUMAN, by=by, average="task", test="none", n_replicates=choice.n_replicates
    )
    return Item(
        "extended_data_3",
        "Extended Data 3: saliency methods and architectures",
        found,
        ss.table_estimates(
            found, rows=by[1:], groups="metric", differences=gap, exclude=[HUMAN], labels=LABELS
        ),
        _model_figure(found, models),
        note="bold: the best saliency method of a model and task; underlined: differs from people on the "
        "same cases; always with units as clusters",
    )


def _model_figure(found: pd.DataFrame, models: list[str]) -> p9.ggplot:
    """Return means over tasks where models are many, else means per task."""
    if not models:
        return ss.plot_intervals(found, labels=LABELS)
    average = found[found["task"] == "Average"].drop(columns="task")
    return ss.plot_intervals(average.rename(columns={"model": "task"}), labels=LABELS)


def _ensemble(rows: pd.DataFrame, ensemble: str, choice: Choice) -> Item:
    """Return Extended Data 7: models in the place of methods, compared with the ensemble."""
    rows = rows.assign(method=rows["model"]).drop(columns="model").reset_index(drop=True)
    options = {"by": ["metric", "task"], "average": "task", "n_replicates": choice.n_replicates}
    gap = ss.difference(rows, reference=ensemble, **options)
    found = ss.summarize(
        rows, by=["metric", "method", "task"], average="task", n_replicates=choice.n_replicates
    )
    return Item(
        "extended_data_7",
        "Extended Data 7: ensemble and single checkpoints",
        found,
        ss.table_estimates(found, differences=gap, labels=LABELS),
        ss.plot_intervals(found, reference=ensemble, labels=LABELS),
        note="bold: the larger; underlined: the paired difference from the ensemble is significant",
    )


def full_slice(frames: Frames, choice: Choice) -> Item:
    """Return Extended Data 4: false positives and misses count as 0."""
    rows = metric_rows(full_rows(frames, choice), "iou")
    found = means(rows, choice)
    gap = ss.difference(
        main_rows(frames, frames.full), reference=HUMAN, by=["metric", "task"], average="task", test="none",
        n_replicates=choice.n_replicates,
    )  # fmt: skip
    return Item(
        "extended_data_4",
        "Extended Data 4: mean IoU on the full slice",
        found,
        ss.table_estimates(found, differences=_same_rows(gap, found), exclude=[HUMAN], n=True, labels=LABELS),
        ss.plot_intervals(found, labels=LABELS),
        slice=_full(frames),
        note="true negatives are left out, false positives and misses are 0; " + _estimate_note(choice),
    )


def _same_rows(differences: pd.DataFrame, estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the differences of the tasks that the estimates have."""
    return differences[differences["task"].isin(estimates["task"])].reset_index(drop=True)


def distributions(frames: Frames) -> Item:
    """Return Extended Data 8: letter values of the features."""
    used = [f for f in FEATURES if frames.positives[f].notna().any()]
    values = ss.letter_values(frames.positives, used, by="task")
    return Item(
        "extended_data_8",
        "Extended Data 8: distribution of the features",
        values,
        ss.table_describe(described_features(frames), labels={f: feature(f) for f in FEATURES}),
        ss.plot_letter_values(values, labels=LABELS),
        slice="findings of the truth",
    )


def table_2(frames: Frames, choice: Choice) -> Item:
    """Return Table 2: what makes localisation worse, features scaled both ways."""
    slopes = feature_slopes(frames, choice)
    if choice.published:
        slopes["printed"] = printed_as_published(slopes, n_tests=len(FEATURES))
    named = slopes.assign(
        block=slopes["scale"] + np.where(slopes["pool"] == TASK_EFFECTS, f", {TASK_EFFECTS}", "")
    )
    order = {f"{s}{e}": None for s in (PER_TASK, POOLED) for e in ("", f", {TASK_EFFECTS}")}
    outcomes = list(dict.fromkeys(slopes["outcome"]))
    columns = [
        c
        for c in named
        if c not in ("outcome", "scale", "pool", "block", "method", "formula", "errors", "printed")
    ]
    named = named[["block", "outcome", *columns]]
    table = ss.table_estimates(
        named,
        rows="term",
        columns="outcome",
        groups="block",
        bold=False,
        stars=True,
        labels={"block": list(order), "outcome": outcomes, "term": list(FEATURES)},
    )
    pooled_only = slopes[slopes["pool"] != TASK_EFFECTS]
    # an outcome is a panel, and the two scales stand above each other
    figure = ss.plot_regression(
        pooled_only[pooled_only["outcome"].isin(("IoU", "Hit"))]
        .assign(method=pooled_only["scale"])
        .drop(columns=["outcome", "scale", "pool", "printed"], errors="ignore"),
        labels={"term": list(FEATURES)},
    )
    return Item(
        "table_2",
        "Table 2: features of the finding and localisation",
        slopes,
        table,
        figure,
        note="one model per outcome and feature; a slope is the change from the smallest to the largest "
        "value, in a task (as the study's text has it) or over all tasks (as its scripts have it); stars "
        f"after Bonferroni's correction for 4 features; {_error_note(choice)}",
    )


def by_confidence(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Table 3 and Extended Data 9: localisation and the model's confidence."""
    scores = {"iou": main_rows(frames, frames.full), "hit": main_rows(frames, frames.scores)}
    texts = {
        "iou": ("table_3", "Table 3: confidence and IoU", _full(frames)),
        "hit": ("extended_data_9", "Extended Data 9: confidence and hits", TRUE_POSITIVE),
    }
    for metric, found in confidence_slices(frames, choice).items():
        key, title, which = texts[metric]
        rows = scores[metric]
        rows = rows[(rows["method"] == frames.main) & (rows["metric"] == metric)].reset_index(drop=True)
        tasks = [t for t in dict.fromkeys(found["task"]) if t not in ("Overall", WITHIN)]
        lines = regress_lines(rows, metric, choice)
        ranks = found[(found["term"] == "spearman") & found["task"].isin(tasks)].assign(x=metric, y="prob")
        shown = found.drop(columns=["statistic", "df", "formula", "errors", "bias"], errors="ignore")
        if choice.published:
            found = found.assign(printed=printed_as_published(found))
        yield Item(
            key,
            title,
            found,
            ss.table_estimates(
                shown,
                rows="task",
                columns="term",
                bold=False,
                stars=True,
                n_tests=1,
                n=True,
                labels={**LABELS, "task": [*tasks, "Overall", WITHIN]},
            ),
            ss.plot_scatter(rows, "prob", metric, by="task", fit=lines, correlations=ranks, labels=LABELS),
            slice=which,
            note="Overall pools all tasks, whose confidence and scores differ; Within tasks is the slope "
            "with task effects, and Spearman's correlations within tasks combined (Taylor 1987); "
            + _error_note(choice),
        )


def regress_lines(rows: pd.DataFrame, metric: str, choice: Choice) -> pd.DataFrame:
    """Return the fitted line of each task."""
    errors = {} if choice.published else {"errors": "cr2"}
    return ss.fit_line(rows, f"{metric} ~ prob", by="task", **errors)


def _full(frames: Frames) -> str:
    """Return what the full slice is."""
    return CUT if frames.cut_off else FULL


def _estimate_note(choice: Choice) -> str:
    """Return what the estimate and its interval are."""
    if choice.published:
        return "as published: mean of the replicates, order statistics, cases for independent"
    return "mean of the scores, percentile interval, units as clusters"


def _error_note(choice: Choice) -> str:
    """Return how standard errors are made."""
    return "rows for independent, as published" if choice.published else "CR2 errors and replicates by unit"
