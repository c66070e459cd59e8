"""Every public figure of each of the five studies of `display.frames`, made from what the study holds."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
from display.frames import STUDIES

import salstats as ss
from salstats.images.fixations import Fixations
from salstats.study import HUMAN, Recording

BY = ["metric", "method", "task"]
#: Height and width of the images of the studies of maps.
SHAPE = (30, 40)


def grouping(scores, *left_out):
    """The usual grouping columns that a study has, but for some."""
    return [column for column in BY if column in scores and column not in left_out]


def reference_of(scores):
    """People, or the first method of a study without them."""
    methods = sorted(scores["method"].unique())
    return HUMAN if HUMAN in methods else methods[0]


def contrasts(scores, function):
    """Contrasts with the reference by metric and task."""
    by = grouping(scores, "method")
    return function(scores, reference=reference_of(scores), by=by, n_replicates=99)


def means(scores):
    """Means with intervals by metric, method and task."""
    return ss.summarize(scores, by=grouping(scores), n_replicates=99)


def with_tasks(scores):
    """Scores with a task, "all" for a study without tasks."""
    return scores.assign(task=scores.get("task", "all"))


def with_sizes(scores):
    """Scores with sizes of findings; those of a study without them are drawn."""
    if "area_ratio" in scores:
        return scores
    rng = np.random.default_rng(5)
    cases = scores[["case", *grouping(scores, "metric", "method")]].drop_duplicates()
    return scores.merge(cases.assign(area_ratio=rng.uniform(0.01, 0.2, len(cases))))


def of_several_cases(scores):
    """Defined scores of tasks with several cases, which is what analyses of spread take."""
    defined = with_tasks(scores).dropna(subset="score")
    return defined[defined.groupby("task")["case"].transform("nunique") > 1]


def of_one_reader(scores):
    """One reader's scores of the human benchmark, and those of the methods."""
    if "reader" not in scores:
        return scores
    return scores[scores["reader"] != "r2"]


def ranked(scores, form="tiles"):
    """Significant differences of the methods of each task, and their mean ranks over the cases."""
    scores = with_tasks(scores)
    if "score" in scores:
        scores = scores.dropna(subset="score")
    tests = ss.significance_map(scores, by=["metric", "task"], test="wilcoxon")
    ranks = ss.rank_stability(scores, by=["metric", "task"], scheme="mean-rank", n_replicates=50)
    return ss.plot_significance(tests, form=form, ranks=ranks)


def ranks_of(scores):
    """Ranks of methods; a method without a defined score has none."""
    defined = scores.dropna(subset="score")
    return ss.plot_ranks(ss.rank_stability(defined, by=grouping(scores, "method"), n_replicates=50))


def overlaps_and_hits(scores):
    """A row for each case, task and method, with `iou` and `hit`; a hit is drawn where a study has none."""
    keys = ["case", "task", "method"]
    rows = of_several_cases(of_one_reader(scores))
    table = rows.pivot(index=keys, columns="metric", values="score").reset_index()
    if "hit" not in table or (table.groupby("method")["hit"].nunique() == 1).any():
        rng = np.random.default_rng(6)
        table["hit"] = (rng.random(len(table)) < table["iou"]).astype(float)
    return table


def rates_of_hits(scores):
    """ROC curves of overlap as a test of hits, with their areas."""
    table = overlaps_and_hits(scores)
    curves = ss.roc_curve(table, "iou", "hit", by=["method", "task"], n_replicates=50)
    return ss.plot_roc(curves, auroc=ss.auroc(table, "iou", "hit", by=["method", "task"]))


def calibration_of_hits(scores):
    """Calibration of overlap as a prediction of hits, with its numbers."""
    table = overlaps_and_hits(scores)
    curves = ss.calibration_curve(table, "iou", "hit", by=["method", "task"])
    return ss.plot_calibration(curves, calibration=ss.calibration(table, "iou", "hit", by=["method", "task"]))


def limits_of_overlap(scores):
    """Limits of agreement of all pairs of methods."""
    overlaps = of_several_cases(of_one_reader(scores)).query("metric == 'iou'")
    limits = ss.agreement(overlaps, over="method", kind="bland-altman", linked=False)
    return ss.plot_agreement(overlaps, limits)


def correlation_with_size(scores):
    """Correlation of overlap with the size of the finding, by method and task."""
    scores = with_sizes(scores)
    return ss.plot_correlation(ss.correlate(scores, "area_ratio", "iou", by=grouping(scores, "metric")))


def regression_on_size(scores):
    """Models of overlap by the size of the finding, by method and task."""
    scores = with_sizes(scores)
    return ss.plot_regression(ss.regress(scores, "iou ~ area_ratio", by=grouping(scores, "metric")))


def residuals_of_overlap(scores):
    """Residuals of a model of each method."""
    overlaps = with_sizes(scores).query("metric == 'iou'").drop(columns="patient", errors="ignore")
    return ss.plot_residuals(ss.augment(overlaps, "iou ~ area_ratio", by="method"), by="method")


def planned(scores):
    """Power of studies that compare overlaps, of several sizes and effects, by formula."""
    plan = ss.power(
        of_several_cases(of_one_reader(scores)).query("metric == 'iou'"),
        reference=reference_of(scores),
        by=["metric", "task"],
        effect=[0.05, 0.1],
        n_cases=[20, 50, 100],
        approach="formula",
    )
    return ss.plot_power(plan)


def read_by_three(scores):
    """Means of three readers: the scores of the first, and those of two who differ from them a little."""
    first = of_several_cases(of_one_reader(scores)).query("metric == 'iou'")
    rng = np.random.default_rng(7)
    readings = []
    for reader, sd in {"r1": 0, "r2": 0.02, "r3": 0.04}.items():
        score = np.clip(first["score"] + rng.normal(0, sd, len(first)), 0, 1)
        readings.append(first.assign(reader=reader, score=score))
    readings = pd.concat(readings, ignore_index=True)
    return ss.plot_readers(ss.mrmc_readers(readings, by="task"), means=ss.mrmc(readings, by="task"))


def coverage_of_means(scores):
    """Coverage of the intervals of means, in a panel for each method by its name."""
    rows = ss.datasets.load_coverage().query("statistic == 'mean'")
    return ss.plot_coverage(pd.concat([rows.assign(statistic=m) for m in scores["method"].unique()]))


def curves_of(scores):
    """Insertion and deletion curves of the first ten cases, which rise and fall by the overlap."""
    overlaps = of_one_reader(scores).query("metric == 'iou' and method != @HUMAN").dropna(subset="score")
    overlaps = overlaps[overlaps["case"].isin(sorted(overlaps["case"].unique())[:10])]
    overlaps = overlaps.groupby(["case", "method"], as_index=False)["score"].mean()
    steps = overlaps.merge(pd.DataFrame({"fraction": np.linspace(0, 1, 6)}), how="cross")
    power = {"insertion": 0.3 / (0.1 + steps["score"]), "deletion": 1 + steps["score"]}
    rows = [
        steps.assign(metric="insertion", prob=steps["fraction"] ** power["insertion"]),
        steps.assign(metric="deletion", prob=1 - steps["fraction"] ** power["deletion"]),
    ]
    return ss.plot_curves(pd.concat(rows, ignore_index=True).drop(columns="score"))


def maps_of(scores):
    """A study of maps of two cases, with the methods and tasks of a study of scores, and people."""
    methods = [method for method in scores["method"].unique() if method != HUMAN]
    rng = np.random.default_rng(8)
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    truths, human, maps = {}, {}, {}
    for case in sorted(scores["case"].unique())[:2]:
        for task in with_tasks(scores)["task"].unique():
            centre = rng.uniform(10, 20, 2)
            distance = np.hypot(rows - centre[0], columns - centre[1])
            truths[case, task] = distance < 6
            human[case, task] = distance < 5
            for method in methods:
                maps[case, task, method] = np.exp(-distance / 9) + 0.1 * rng.random(SHAPE)
    return ss.study_from_arrays(truths, maps, human=human)


def overlay_of(maps):
    """One case of a study of maps."""
    return ss.plot_overlay(maps, maps.cases[0].case, maps.tasks[-1], method=maps.series[0].method)


def gallery_of(maps):
    """The cases of a study of maps with their scores, all methods beside each other."""
    scores = ss.score(maps, metrics="iou")
    picked = ss.pick_cases(scores, method=maps.series[0].method, at=["best", "worst"])
    return ss.plot_gallery(maps, picked, scores=scores)


def gaze_of(maps):
    """Fixations of two readers on a case, and one map of each method."""
    window = (0, 0, *SHAPE)
    fixations = partial(Fixations, [(10, 12), (18, 30)], [0.5, 0.25], [(5, 5)] * 2, [window] * 2)
    recordings = tuple(Recording(f"P{reader}", reader, fixations, "drawn here") for reader in "01")
    case = maps.cases[0]
    of_first_task = [answer for answer in case.predictions if answer.task == maps.tasks[0]]
    case = replace(case, recordings=recordings, predictions=tuple(of_first_task))
    return ss.plot_gaze(replace(maps, cases=(case,)), case.case)


#: Figures of scores. A name before " as " is that of the function without `plot_`.
OF_SCORES = {
    "intervals": lambda scores: ss.plot_intervals(means(scores)),
    "forest": lambda scores: ss.plot_forest(means(scores)),
    "decrease": lambda scores: ss.plot_decrease(contrasts(scores, ss.percent_decrease)),
    "decrease as differences": lambda scores: ss.plot_decrease(contrasts(scores, ss.difference)),
    "box": ss.plot_box,
    "box as clouds": partial(ss.plot_box, form="raincloud"),
    "box as half-eyes": partial(ss.plot_box, form="halfeye"),
    "pairs": lambda scores: ss.plot_pairs(scores, contrasts(scores, ss.difference)),
    "ranks": ranks_of,
    "heatmap": lambda scores: ss.plot_heatmap(means(with_tasks(scores))),
    "significance": ranked,
    "significance as a diagram": partial(ranked, form="diagram"),
    "agreement": limits_of_overlap,
    "flow": lambda scores: ss.plot_flow(ss.case_flow(scores)),
    "power": planned,
    "readers": read_by_three,
    "coverage": coverage_of_means,
    "curves": curves_of,
    "roc": rates_of_hits,
    "calibration": calibration_of_hits,
    "correlation": correlation_with_size,
    "regression": regression_on_size,
    "scatter": lambda scores: ss.plot_scatter(with_sizes(scores), "area_ratio", "iou"),
    "residuals": residuals_of_overlap,
    "letter values": lambda scores: ss.plot_letter_values(ss.letter_values(with_sizes(scores), "area_ratio")),
}
#: Figures of maps.
OF_MAPS = {
    "thresholds": lambda maps: ss.plot_thresholds(ss.tune(maps)),
    "overlay": overlay_of,
    "gallery": gallery_of,
    "gaze": gaze_of,
}
FIGURES = (*OF_SCORES, *OF_MAPS)


@cache
def study(name):
    """One of the five studies of scores."""
    return STUDIES[name]()


@cache
def figure_of_study(name, figure):
    """A figure of one of the five studies."""
    if figure in OF_MAPS:
        return OF_MAPS[figure](maps_of(study(name)))
    return OF_SCORES[figure](study(name))
