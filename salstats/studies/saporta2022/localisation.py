"""How well maps and people localise: Table 1, Fig. 2 and Extended Data 1 to 7."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.decrease import loss_order, plot_decrease
from salstats.display.plots.intervals import plot_intervals
from salstats.display.plots.thresholds import plot_thresholds
from salstats.display.tables.decrease import table_decrease
from salstats.display.tables.estimates import table_estimates
from salstats.scoring.cases import TRUE_POSITIVE
from salstats.stats.advice import FEW_UNITS
from salstats.stats.auroc import auroc
from salstats.stats.contrasts import difference
from salstats.stats.design import AVERAGE
from salstats.stats.rates import pooled_difference, pooled_rates
from salstats.studies.items import Item
from salstats.studies.saporta2022.frames import (
    Choice,
    Frames,
    decreases,
    first_of,
    full_rows,
    main_rows,
    means,
    metric_rows,
    models,
    one_model,
    present,
)
from salstats.studies.saporta2022.needs import MAPS, PEOPLE
from salstats.studies.saporta2022.words import (
    LABELS,
    cutoff_note,
    full_name,
    labels_with,
    shared_note,
)
from salstats.study import HUMAN

#: The model that single checkpoints are compared with.
ENSEMBLE = "ensemble"


def table_1(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Table 1: every saliency method, and people where there are some."""
    scores = metric_rows(one_model(frames.scores), "iou", "hit")
    found = means(scores, choice)
    lost = decreases(scores, choice) if {MAPS, PEOPLE} <= frames.there else None
    yield Item(
        "table_1",
        "Table 1: mean IoU and hit rate",
        found,
        table_estimates(found, differences=lost, exclude=_people(frames), n=True, labels=LABELS),
        plot_intervals(found, labels=LABELS),
        note="mean IoU is over cases with a mask (misses are left out, see S1 of the sensitivity table), the "
        f"hit rate over all with the finding; {_estimate_note(choice, hits=True)}{_few_patients(found)}",
    )


def figure_2(frames: Frames, choice: Choice, metric: str) -> Iterator[Item]:
    """Yield Fig. 2 a or b: mean IoU or hit rate, with the tasks in its own order."""
    key, name = {"iou": ("figure_2a", "mean IoU"), "hit": ("figure_2b", "hit rate")}[metric]
    scores = metric_rows(main_rows(frames, frames.scores), metric)
    known = found = means(scores, choice)
    lost, areas = decreases(scores, choice), classifier(frames)
    if areas is not None:
        known = found.merge(areas[["task", "estimate"]].rename(columns={"estimate": "auroc"}), "left", "task")
    yield Item(
        key,
        f"Fig. {key[-2:]}: {name} of the main saliency method and people",
        known,
        table_estimates(found, differences=lost, labels=LABELS),
        plot_intervals(found, decrease=lost, auroc=areas, labels=LABELS),
        note=f"tasks of the figure stand by whether the decrease of the {name} is shown (its interval "
        "excludes 0), then by its size"
        + ("; in parentheses the AUROC of the classifier" if areas is not None else "")
        + f"; {_estimate_note(choice, hits=True)}",
    )


def lost_to_people(frames: Frames, choice: Choice, metric: str) -> Iterator[Item]:
    """Yield Extended Data 5 or 6: percentage decreases from people, the surest of the main method first."""
    key, name = {"iou": ("extended_data_5", "mean IoU"), "hit": ("extended_data_6", "hit rate")}[metric]
    lost = decreases(metric_rows(one_model(frames.scores), metric), choice)
    order = loss_order(lost, LABELS, "task", frames.main)
    tasks = order([t for t in dict.fromkeys(lost["task"]) if t != AVERAGE])
    labels = labels_with(task=tasks, method=[frames.main])
    yield Item(
        key,
        f"Extended Data {key[-1]}: percentage decrease of {name} from people",
        lost,
        table_decrease(lost, labels=labels),
        plot_decrease(lost, sort="labels", labels=labels),
        note="tasks stand by whether the decrease is shown (its interval excludes 0), then by its size, "
        f"of the main saliency method; {_decrease_note(choice)}"
        + ("" if choice.published else _few_patients(lost)),
    )


def classifier(frames: Frames) -> pd.DataFrame | None:
    """Return the AUROC of each task where probabilities and labels of both kinds are known."""
    rows = main_rows(frames, frames.uncut)
    rows = rows[rows["method"] == frames.main]
    if not {"prob", "label"} <= set(rows) or (rows.groupby("task")["label"].nunique() < 2).any():
        return None
    return auroc(rows, "prob", "label", by="task")


def thresholds(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 1a: the sweep."""
    assert frames.sweep is not None
    sweep = frames.sweep.assign(threshold=lambda f: f["threshold"].round(6)).reset_index(drop=True)
    shown = sweep[["task", "threshold", "metric", "estimate"]]
    yield Item(
        "extended_data_1a",
        "Extended Data 1a: mean IoU by threshold, validation study",
        sweep,
        table_estimates(shown, rows="task", columns="threshold", bold="threshold", labels=LABELS),
        plot_thresholds(shown, labels=labels_with(estimate="Mean IoU")),
        slice=f"{TRUE_POSITIVE}, validation",
        note="the threshold with the largest mean is chosen, the smallest of equal ones",
    )


def tuned_thresholds(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 1b and 1c: the tuned thresholds against people, and against Otsu's."""
    assert frames.tuned is not None
    tuned = metric_rows(main_rows(frames, frames.tuned), "iou")
    found = means(tuned, choice)
    lost = decreases(tuned, choice) if PEOPLE in frames.there else None
    chosen = "as given"
    if frames.thresholds == "tuned":
        chosen = f"chosen on the validation study{shared_note(frames)}"
    yield Item(
        "extended_data_1b",
        "Extended Data 1b: mean IoU with tuned thresholds",
        found,
        table_estimates(found, differences=lost, exclude=_people(frames), labels=LABELS),
        plot_intervals(found, decrease=lost, labels=LABELS),
        note=f"thresholds {chosen}; {_estimate_note(choice)}",
    )
    otsu = metric_rows(main_rows(frames, frames.scores), "iou")
    pair = [
        f[f["method"] == frames.main].assign(method=name) for f, name in ((otsu, "otsu"), (tuned, "tuned"))
    ]
    gap = difference(
        present(pd.concat(pair, ignore_index=True)), reference="tuned", by=["metric", "task"], average="task",
        n_replicates=choice.n_replicates,
    )  # fmt: skip
    yield Item(
        "extended_data_1c",
        "Otsu's threshold against the tuned one, paired (asserted in the study's text)",
        gap,
        table_decrease(gap, labels=LABELS),
        plot_decrease(gap, labels=LABELS),
        note="difference Otsu - tuned on the same cases; always with patients as clusters; Otsu's masks have "
        f"their holes filled and single pixels removed, the others not, as in the study{shared_note(frames)}",
    )


def pooled(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 2: precision, recall and specificity of the pixels of all cases."""
    rows = main_rows(frames, frames.scores)
    rates = pooled_rates(rows, by=["method", "task"], n_replicates=choice.n_replicates)
    gap = None
    if {MAPS, PEOPLE} <= frames.there:
        gap = pooled_difference(rows, reference=HUMAN, by="task", n_replicates=choice.n_replicates)
    note = (
        "pixels pooled over cases, so that large images and findings count more; cases without any finding "
        "are not in the truth, so specificity is not that of the data set"
    )
    if choice.published:
        # the script has no intervals
        rates = rates.assign(conf_low=np.nan, conf_high=np.nan)
        note += "; the study has no intervals here, and underlining is always with patients as clusters"
    yield Item(
        "extended_data_2",
        "Extended Data 2: precision, recall and specificity",
        rates,
        table_estimates(rates, differences=gap, labels=LABELS),
        plot_intervals(rates, labels=LABELS),
        slice="cases that the truth holds",
        note=note,
    )


def several_models(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 3: every method and model; people stand beside each model, for the pairs."""
    scores = metric_rows(models(frames.scores), "iou", "hit")
    people = scores[scores["method"] == HUMAN]
    known = [] if "model" not in scores else list(scores["model"].dropna().unique())
    note = _estimate_note(choice, hits=True)
    if known:
        machine = scores[scores["method"] != HUMAN]
        unnamed = machine.loc[machine["model"].isna(), "method"].unique()
        if len(unnamed):
            note += f"; maps without a model are left out ({', '.join(unnamed)})"
        machine = machine[machine["model"].notna()]
        scores = pd.concat([machine, *(people.assign(model=m) for m in known)], ignore_index=True)
    by = ("metric", *(["model"] if known else []), "task")
    found, gap = means(scores, choice, (*by, "method")), None
    if PEOPLE in frames.there:
        parts = [scores[scores["model"] == m].drop(columns="model") for m in known] or [scores]
        lost = [decreases(part.reset_index(drop=True), choice) for part in parts]
        gap = pd.concat(lost, keys=known or [""], names=["model"]).reset_index("model").reset_index(drop=True)
    yield Item(
        "extended_data_3",
        "Extended Data 3: saliency methods and architectures",
        found,
        table_estimates(
            found, rows=by[1:], groups="metric", differences=gap, exclude=_people(frames), labels=LABELS,
            bold="model" if len(known) > 1 else "method",
        ),
        _model_figure(found, known),
        note=note,
    )  # fmt: skip


def _model_figure(found: pd.DataFrame, known: list[str]) -> p9.ggplot:
    """Return means over tasks where models are known, else means per task."""
    average = found[found["task"] == AVERAGE].drop(columns="task")
    # the scripts have no average
    if not known or average.empty:
        return plot_intervals(found, labels=LABELS)
    return plot_intervals(average.rename(columns={"model": "task"}), labels=LABELS)


def ensemble_and_checkpoints(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 7: an ensemble, and its single trainings in the place of methods."""
    rows = metric_rows(frames.scores, "iou", "hit")
    rows = rows[rows["method"] == frames.main]
    rows = rows[rows["model"] == rows["model"].iloc[0]]
    names = "checkpoint " + rows["seed"].astype("object")
    rows = rows.assign(method=names.where(rows["seed"].notna(), ENSEMBLE)).reset_index(drop=True)
    rows = rows.drop(columns=["model", "seed"])
    found, gap = means(rows, choice), decreases(rows, choice, ENSEMBLE)
    yield Item(
        "extended_data_7",
        "Extended Data 7: ensemble and single checkpoints",
        found,
        table_estimates(found, differences=gap, labels=LABELS),
        plot_intervals(found, reference=ENSEMBLE, labels=LABELS),
        note=_estimate_note(choice, hits=True),
    )


def classifiers(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Supplementary Table S1: the AUROC of each model and task."""
    rows = models(frames.uncut)
    rows = rows[rows["method"] != HUMAN]
    if "model" in rows and rows["model"].notna().any():
        # every method of a model was made of the same classifier
        rows = first_of(rows, "method", ["model"])
        by = ["model", "task"]
    else:
        rows, by = rows[rows["method"] == frames.main], ["task"]
    both = rows.groupby(by)["label"].transform("nunique") > 1 if "label" in rows else False
    rows = rows[both & rows["prob"].notna()].reset_index(drop=True)
    if not len(rows):
        return
    found = auroc(rows, "prob", "label", by=by)
    shown = found.drop(columns=["x", "y"], errors="ignore")
    yield Item(
        "table_s1",
        "Supplementary Table S1: AUROC of the classifiers",
        found,
        table_estimates(shown, rows="task", columns="model" if "model" in by else None, labels=LABELS),
        plot_intervals(shown.rename(columns={"model": "method"}), labels=LABELS),
        slice="all cases of the study",
        note="labels are those of the truth; tasks without a negative or without a positive case have none",
    )


def full_slice(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield Extended Data 4: false positives and misses count as 0."""
    rows = metric_rows(full_rows(frames, choice), "iou")
    found = means(rows, choice)
    gap = None
    if {MAPS, PEOPLE} <= frames.there:
        gap = difference(
            present(main_rows(frames, frames.full)), reference=HUMAN, by=["metric", "task"], average="task",
            test="none", n_replicates=choice.n_replicates,
        )  # fmt: skip
        gap = gap[gap["task"].isin(found["task"])].reset_index(drop=True)
    yield Item(
        "extended_data_4",
        "Extended Data 4: mean IoU on the full slice",
        found,
        table_estimates(found, differences=gap, exclude=_people(frames), n=True, labels=LABELS),
        plot_intervals(found, labels=LABELS),
        slice=full_name(frames),
        note="true negatives are left out, false positives and misses are 0; underlining compares the cases "
        "that count for both, so a false positive where the other rightly marked nothing has no part in it; "
        f"{_estimate_note(choice)}{cutoff_note(frames, choice)}",
    )


def _people(frames: Frames) -> list[str]:
    """Return who does not compete for the best score."""
    return [HUMAN] if PEOPLE in frames.there else []


def clustered(choice: Choice) -> Choice:
    """Return the choice with patients as clusters."""
    return replace(choice, published=False)


def _estimate_note(choice: Choice, *, hits: bool = False) -> str:
    """Return what the estimate and its interval are."""
    if choice.published:
        return (
            "as published: mean of the replicates, order statistics, cases for independent; decreases are of "
            "each one's own cases"
        )
    wilson = ", of a task's hit rate Wilson's with the effective number of patients" if hits else ""
    return f"mean of the scores; percentile interval{wilson}; patients as clusters"


def _decrease_note(choice: Choice) -> str:
    """Return what a decrease is of, and how small its P can be."""
    if choice.published:
        return "as published: means of the replicates over each one's own cases, rounded as the script does"
    least = 2 / (choice.n_replicates + 1)
    return f"with {choice.n_replicates:,} replicates P is {least:.2g} at least"


def _few_patients(found: pd.DataFrame) -> str:
    """Return which tasks have too few patients for percentile intervals, as the end of a note."""
    few = found[
        (found["n_units"] < FEW_UNITS) & (found["unit"] != "case") & (found["interval"] == "percentile")
    ]
    tasks = ", ".join(sorted(set(few["task"]) - {"Average"}))
    return (
        f"; with fewer than {FEW_UNITS} patients percentile intervals are too short ({tasks})"
        if tasks
        else ""
    )
