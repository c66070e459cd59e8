"""Means, differences, decreases, correlations, areas and slopes of scores: the first part of the atlas."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import salstats as ss
from atlas.scenario import COVARIATES, DEPENDENCE, N_UNITS, Band, Scenario, named
from atlas.studies import (
    HIGH_IOU,
    HUMAN_IOU,
    IOU,
    LARGE_SPREAD,
    LESS_SPARSE,
    SMALL_SPREAD,
    SPARSE,
    Margin,
    covariate,
    methods,
    pixels,
    pooled_area,
    ratings,
    resampled,
    statistic_at_large,
    tasks,
)
from salstats.readers.lanfredi2021 import read_lanfredi2021

#: Numbers of units without the largest, of which the slower statistics have no studies.
_SMALLER_SIZES = N_UNITS[:-1]
#: Bands of the defaults of statistics that have their own.
BANDS = {"family": Band(np.nan, np.nan, 0.0, 0.06)}


def _rank_correlation(frame: pd.DataFrame) -> float:
    return float(stats.spearmanr(frame["x"], frame["score"]).statistic)


def _mean(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", **draws, **options)


def _average(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    estimates = ss.summarize(frame, by=["study", "task"], average="task", **draws, **options)
    return estimates[estimates["task"] == "Average"]


def _difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.difference(frame, reference="human", by="study", **draws, **options)


def _average_difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    estimates = ss.difference(
        frame, reference="human", by=["study", "task"], average="task", **draws, **options
    )
    return estimates[estimates["task"] == "Average"]


def _decrease(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.percent_decrease(frame, reference="human", by="study", **draws, **options)


def _family(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Return the smallest P value of each study; a study is a family of tests."""
    rows = []
    for study, scores in frame.groupby("study"):
        differences = ss.difference(scores, reference="human", **draws, **options)
        p_values = differences["p_value"]
        if "p_adjusted" in differences:
            p_values = differences["p_adjusted"]
        rows.append({"study": study, "p_value": p_values.min()})
    return pd.DataFrame(rows).assign(conf_low=np.nan, conf_high=np.nan, interval=options.get("adjust"))


def _pooled(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.pooled_rates(frame, rates="recall", by="study", **draws, **options)


def _pooled_difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.pooled_difference(frame, reference="human", rates="recall", by="study", **draws, **options)


def _correlation(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.correlate(frame, "score", "x", by="study", **options)


def _slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    estimates = ss.regress(frame, "outcome ~ x", by="study", **options)
    return estimates[estimates["term"] == "x"]


def _coefficient(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Return the coefficient of the method `human`, whose reference is `cam`."""
    estimates = ss.regress(frame, "iou ~ method", by="study", unit="patient", **options)
    return estimates[estimates["term"] == "methodhuman"]


def _area(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.auroc(frame, "x", "label", by="study", **options)


_MEANS = named("percentile", "bca", "studentized", "t")
_HITS = named("percentile", "t", "wilson", "exact")
_DIFFERENCES = named("percentile", "bca", "studentized", "t", "cr2")
_DECREASES = named("percentile", "bca", "studentized", "delta", "fieller")
_RANKS = named("fisher", "bonett-wright")
_SLOPES = {name: {"errors": name} for name in ("classical", "hc3", "cluster")}

# Scenarios of one statistic have the same analysis and intervals.
_mean_scenario = partial(Scenario, "mean", call=_mean, intervals=_MEANS, textbook="percentile")
_difference_scenario = partial(
    Scenario, "difference", call=_difference, intervals=_DIFFERENCES, textbook="percentile"
)
_decrease_scenario = partial(
    Scenario, "decrease", call=_decrease, intervals=_DECREASES, textbook="percentile"
)
_spearman_scenario = partial(Scenario, "Spearman", call=_correlation, intervals=_RANKS, textbook="fisher")


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return the scenarios of this module, the most common first."""
    return [
        *_mean_scenarios(),
        *_pair_scenarios(),
        *_failure_scenarios(),
        *_association_scenarios(),
        *_task_and_pixel_scenarios(),
        *_real_score_scenarios(gaze),
    ]


def _mean_scenarios() -> Iterator[Scenario]:
    for name, margin in {"IoU": IOU, "spread": LARGE_SPREAD, "sparse, .03": SPARSE}.items():
        yield _mean_scenario(name, methods({"cam": margin}), margin.mean)
    for rate in (0.5, 0.9, 0.99):
        yield Scenario(
            "hit rate",
            f"{rate}",
            methods({"cam": Margin(rate)}),
            rate,
            call=_mean,
            intervals=_HITS,
            textbook="percentile",
        )


def _percent_decrease(cam_mean: float, human_mean: float) -> float:
    return 100 * -(cam_mean - human_mean) / human_mean


def _pair_scenarios() -> Iterator[Scenario]:
    pairs = {
        "IoU, equal": (IOU, IOU),
        "IoU, unequal spread": (SMALL_SPREAD, LARGE_SPREAD),
        "sparse, equal": (SPARSE, SPARSE),
        "hits .9, equal": (Margin(0.9), Margin(0.9)),
        "IoU, .30 and .45": (IOU, HUMAN_IOU),
        "hits, .7 and .9": (Margin(0.7), Margin(0.9)),
        "sparse, .03 and .06": (SPARSE, LESS_SPARSE),
    }
    for name, (cam, human) in pairs.items():
        make = methods({"cam": cam, "human": human})
        equal = cam.mean == human.mean
        yield _difference_scenario(name, make, cam.mean - human.mean, null=equal)
        yield _decrease_scenario(name, make, _percent_decrease(cam.mean, human.mean), null=equal)
    margins = {f"method {i}": IOU for i in range(10)}
    margins["human"] = IOU
    yield Scenario(
        "family",
        "ten methods and a reference, equal",
        methods(margins),
        np.nan,
        call=_family,
        intervals={name: {"adjust": name} for name in ("holm", "max-t", "none")},
        textbook="none",
        null=True,
        defaults=("holm", "max-t"),
        groups=10,
        units=(30, 10, 100),
    )


def _failure_scenarios() -> Iterator[Scenario]:
    """Yield scenarios of a method that fails completely on 6 or 8 % of the cases, and else scores near .9."""
    options: dict[str, Any] = {"units": (20, 30, 40, 80), "dependence": DEPENDENCE[:3]}
    failing = Margin(0.9 * 0.94, 0.06, 100)
    yield _mean_scenario("6 % failures", methods({"cam": failing}), failing.mean, **options)
    failing = Margin(0.9 * 0.92, 0.08, 100)
    references = {
        "8 % failures, alike otherwise": Margin(0.9, 0.0, 100),
        "8 % failures, equal means": Margin(failing.mean, 0.0, 100),
    }
    for name, human in references.items():
        make = methods({"cam": failing, "human": human})
        difference = failing.mean - human.mean
        options["null"] = difference == 0
        yield _difference_scenario(name, make, difference, **options)
        yield _decrease_scenario(name, make, -100 * difference / human.mean, **options)
        yield Scenario(
            "coefficient",
            name,
            make,
            -difference,
            call=_coefficient,
            intervals={"cluster": {"errors": "cluster"}},
            textbook="cluster",
            **options,
        )


def _association_scenarios() -> Iterator[Scenario]:
    for area in (0.75, 0.95):
        make = ratings(area)
        options: dict[str, Any] = {"intervals": named("delong"), "textbook": "delong"}
        yield Scenario("AUROC", f"{area}", make, partial(pooled_area, area), call=_area, **options)
        call = partial(_area, reference="y")
        yield Scenario("AUROC difference", f"both {area}", make, 0.0, call=call, null=True, **options)
    for score, margin in {"IoU": IOU, "sparse": SPARSE, "hits .9": Margin(0.9)}.items():
        yield _spearman_scenario(f"{score}, unrelated", covariate(margin), 0.0, null=True)
        make = covariate(margin, slope=0.5)
        rho = statistic_at_large(make, _rank_correlation)
        yield _spearman_scenario(f"{score}, related", make, rho)
    outcomes = {"gaussian": ("IoU", IOU), "binomial": ("hits .5", Margin(0.5)), "fractional": ("IoU", IOU)}
    for by_unit, x_name in COVARIATES.items():
        for family, (score, margin) in outcomes.items():
            yield Scenario(
                "slope",
                f"{family}, {score} on {x_name}",
                covariate(margin, by_unit=by_unit, name="outcome"),
                0.0,
                call=partial(_slope, family=family),
                intervals=_SLOPES,
                textbook="classical",
                null=True,
                units=_SMALLER_SIZES,
            )


def _pooled_recall(frame: pd.DataFrame) -> float:
    return float(frame["tp"].sum() / (frame["tp"] + frame["fn"]).sum())


def _task_and_pixel_scenarios() -> Iterator[Scenario]:
    cam = {"cam": IOU}
    cam_and_human = {"cam": IOU, "human": IOU}
    options: dict[str, Any] = {
        "intervals": named("percentile", "t"),
        "textbook": "percentile",
        "groups": 8,
        "units": _SMALLER_SIZES,
    }
    yield Scenario("average", "eight uneven tasks", tasks(cam), IOU.mean, call=_average, **options)
    yield Scenario(
        "average difference",
        "eight uneven tasks, equal",
        tasks(cam_and_human),
        0.0,
        call=_average_difference,
        null=True,
        **options,
    )
    options = {"intervals": named("percentile", "delta"), "textbook": "percentile"}
    for name, margin in {"recall, low": IOU, "recall, high": HIGH_IOU}.items():
        make = pixels({"cam": margin})
        recall = statistic_at_large(make, _pooled_recall)
        yield Scenario("pooled rate", name, make, recall, call=_pooled, **options)
    yield Scenario(
        "pooled difference", "recall, equal", pixels(cam_and_human), 0.0, call=_pooled_difference, **options
    )


def _real_score_scenarios(gaze: Path | None) -> Iterator[Scenario]:
    """Yield scenarios that resample the digits and the gaze study, whose statistics are then the truth."""
    digits = ss.datasets.load_digits_scores().query("dataset == 'textured' and model == 'residual'")
    digits = digits.dropna(subset="score").astype({"method": "str"})
    iou = digits[(digits["metric"] == "iou") & digits["method"].isin(["gradcam", "human"])]
    yield from _table_scenarios(
        "digits", iou[["case", "task", "method", "metric", "score"]], "gradcam", "human"
    )
    gradcam = iou[iou["method"] == "gradcam"]
    probabilities = gradcam[["case", "task", "score", "prob"]].rename(columns={"prob": "x"})
    yield _spearman_scenario(
        "IoU of Grad-CAM and probability",
        resampled(probabilities),
        _rank_correlation(probabilities),
        source="digits",
    )
    if gaze is None:
        return
    scores = read_lanfredi2021(gaze)
    ncc = scores[(scores["metric"] == "ncc") & (scores["seed"] == scores["seed"].iloc[0])]
    ncc = ncc[ncc["method"].isin(["gradcam_wag", "interobserver"])]
    columns = ["case", "reader", "method", "metric", "score"]
    yield from _table_scenarios("gaze", ncc[columns], "gradcam_wag", "interobserver", ratio=False)
    wide = ncc.pivot(index=["case", "reader"], columns="method", values="score").reset_index()
    wide = wide.rename(columns={"gradcam_wag": "score", "interobserver": "x"})[["case", "score", "x"]]
    yield _spearman_scenario(
        "NCC of Grad-CAM and of other readers", resampled(wide), _rank_correlation(wide), source="gaze"
    )


def _table_scenarios(
    source: str, table: pd.DataFrame, method: str, reference: str, *, ratio: bool = True
) -> Iterator[Scenario]:
    """Yield the mean of a method, and its difference and percentage decrease from a reference."""
    rows = table[table["method"] == method]
    yield _mean_scenario(method, resampled(rows), float(rows["score"].mean()), source=source)
    # Comparisons take complete pairs, and so do the means that give their true values.
    keys = [column for column in table.columns if column not in ("method", "metric", "score")]
    pairs = table[table["method"].isin([method, reference])]
    pairs = pairs[pairs.groupby(keys)["method"].transform("nunique") == 2]
    pairs = pairs.replace({"method": {reference: "human", method: "cam"}})
    cam_mean = float(pairs.loc[pairs["method"] == "cam", "score"].mean())
    human_mean = float(pairs.loc[pairs["method"] == "human", "score"].mean())
    name = f"{method} and {reference}"
    yield _difference_scenario(name, resampled(pairs), cam_mean - human_mean, source=source)
    if ratio:
        decrease = 100 * (human_mean - cam_mean) / human_mean
        yield _decrease_scenario(name, resampled(pairs), decrease, source=source)
