"""Means, differences, decreases, correlations, areas and slopes of scores: the first part of the atlas."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import salstats as ss
from atlas.scenario import DEPENDENCE, N_UNITS, Band, Scenario, named
from atlas.studies import Margin, covariate, drawn, methods, pixels, pooled_area, ratings, tasks, truth_of
from salstats.readers.lanfredi2021 import read_lanfredi2021

_FEW = N_UNITS[:-1]
#: What defaults are held to, of statistics that have bands of their own.
BANDS = {"family": Band(np.nan, np.nan, 0.0, 0.06)}
IOU, HUMAN_IOU = Margin(0.3, 0.15, 6), Margin(0.45, 0.02, 8)
SPARSE, TWICE = Margin(0.03, 0.8, 8), Margin(0.06, 0.6, 8)
TIGHT, WIDE = Margin(0.5, 0.05, 20), Margin(0.5, 0.05, 2)
NARROW = Margin(0.7, 0.02, 10)


def _rank_correlation(frame: pd.DataFrame) -> float:
    return float(stats.spearmanr(frame["x"], frame["score"]).statistic)


def _mean(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", **draws, **options)


def _average(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.summarize(frame, by=["study", "task"], average="task", **draws, **options)
    return found[found["task"] == "Average"]


def _difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.difference(frame, reference="human", by="study", **draws, **options)


def _average_difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.difference(frame, reference="human", by=["study", "task"], average="task", **draws, **options)
    return found[found["task"] == "Average"]


def _decrease(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.percent_decrease(frame, reference="human", by="study", **draws, **options)


def _family(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """The smallest P value of each study, which is a family of its own."""
    rows = []
    for study, own in frame.groupby("study"):
        found = ss.difference(own, reference="human", **draws, **options)
        rows.append({"study": study, "p_value": found.get("p_adjusted", found["p_value"]).min()})
    return pd.DataFrame(rows).assign(conf_low=np.nan, conf_high=np.nan, interval=options.get("adjust"))


def _pooled(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.pooled_rates(frame, rates="recall", by="study", **draws, **options)


def _pooled_difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.pooled_difference(frame, reference="human", rates="recall", by="study", **draws, **options)


def _correlation(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.correlate(frame, "score", "x", by="study", **options)


def _slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.regress(frame, "outcome ~ x", by="study", **options)
    return found[found["term"] == "x"]


def _coefficient(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """The coefficient of a method, `human` against `cam`."""
    found = ss.regress(frame, "iou ~ method", by="study", unit="patient", **options)
    return found[found["term"] == "methodhuman"]


def _area(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.auroc(frame, "x", "label", by="study", **options)


_MEANS = named("percentile", "bca", "studentized", "t")
_HITS = named("percentile", "t", "wilson", "exact")
_DIFFERENCES = named("percentile", "bca", "studentized", "t", "cr2")
_DECREASES = named("percentile", "bca", "studentized", "delta", "fieller")
_RANKS = named("fisher", "bonett-wright")
_SLOPES = {name: {"errors": name} for name in ("classical", "hc3", "cluster")}


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return the scenarios of this module, the most common first."""
    return [
        *_of_means(),
        *_of_pairs(),
        *_of_failures(),
        *_of_relations(),
        *_of_tasks_and_pixels(),
        *_of_real_scores(gaze),
    ]


def _of_means() -> Iterator[Scenario]:
    for name, margin in {"IoU": IOU, "spread": WIDE, "sparse, .03": SPARSE}.items():
        make = methods({"cam": margin})
        yield Scenario("mean", name, make, margin.mean, _mean, _MEANS, "percentile")
    for p in (0.5, 0.9, 0.99):
        yield Scenario("hit rate", f"{p}", methods({"cam": Margin(p)}), p, _mean, _HITS, "percentile")


def _of_pairs() -> Iterator[Scenario]:
    pairs = {
        "IoU, equal": (IOU, IOU), "IoU, unequal spread": (TIGHT, WIDE), "sparse, equal": (SPARSE, SPARSE),
        "hits .9, equal": (Margin(0.9), Margin(0.9)), "IoU, .30 and .45": (IOU, HUMAN_IOU),
        "hits, .7 and .9": (Margin(0.7), Margin(0.9)), "sparse, .03 and .06": (SPARSE, TWICE),
    }  # fmt: skip
    for name, (own, human) in pairs.items():
        make, gap = methods({"cam": own, "human": human}), own.mean - human.mean
        yield Scenario("difference", name, make, gap, _difference, _DIFFERENCES, "percentile", not gap)
        lost = 100 * -gap / human.mean
        yield Scenario("decrease", name, make, lost, _decrease, _DECREASES, "percentile", not gap)
    ten = {**{f"method {i}": IOU for i in range(10)}, "human": IOU}
    procedures = {name: {"adjust": name} for name in ("holm", "max-t", "none")}
    yield Scenario(
        "family", "ten methods and a reference, equal", methods(ten), np.nan, _family, procedures, "none",
        null=True, defaults=("holm", "max-t"), groups=10, units=(30, 10, 100),
    )  # fmt: skip


def _of_failures() -> Iterator[Scenario]:
    """Scores near .9 where a method does not fail completely, which it does on 6 or 8 % of the cases."""
    options: dict[str, Any] = {"units": (20, 30, 40, 80), "dependence": DEPENDENCE[:3]}
    failing = Margin(0.9 * 0.94, 0.06, 100)
    yield Scenario(
        "mean",
        "6 % failures",
        methods({"cam": failing}),
        failing.mean,
        _mean,
        _MEANS,
        "percentile",
        **options,
    )
    failing, never = Margin(0.9 * 0.92, 0.08, 100), Margin(0.9, 0.0, 100)
    for name, human in {
        "8 % failures, alike otherwise": never,
        "8 % failures, equal means": Margin(failing.mean, 0.0, 100),
    }.items():
        make, gap = methods({"cam": failing, "human": human}), failing.mean - human.mean
        null = gap == 0
        yield Scenario(
            "difference", name, make, gap, _difference, _DIFFERENCES, "percentile", null, **options
        )
        lost = -100 * gap / human.mean
        yield Scenario("decrease", name, make, lost, _decrease, _DECREASES, "percentile", null, **options)
        yield Scenario(
            "coefficient", name, make, -gap, _coefficient, {"cluster": {"errors": "cluster"}}, "cluster",
            null, **options,
        )  # fmt: skip


def _of_relations() -> Iterator[Scenario]:
    for area in (0.75, 0.95):
        make, truth, known = ratings(area), partial(pooled_area, area), named("delong")
        yield Scenario("AUROC", f"{area}", make, truth, _area, known, "delong")
        call = partial(_area, reference="y")
        yield Scenario("AUROC difference", f"both {area}", make, 0.0, call, known, "delong", null=True)
    for what, margin in {"IoU": IOU, "sparse": SPARSE, "hits .9": Margin(0.9)}.items():
        for slope in (0.0, 0.5):
            make = covariate(margin, slope=slope)
            truth = truth_of(make, _rank_correlation) if slope else 0.0
            name = f"{what}, {'related' if slope else 'unrelated'}"
            yield Scenario("Spearman", name, make, truth, _correlation, _RANKS, "fisher", not slope)
    outcomes = {"gaussian": ("IoU", IOU), "binomial": ("hits .5", Margin(0.5)), "fractional": ("IoU", IOU)}
    for of_unit in (False, True):
        for family, (what, margin) in outcomes.items():
            make, call = covariate(margin, of_unit=of_unit, name="outcome"), partial(_slope, family=family)
            name = f"{family}, {what} on a covariate{' of the unit, skewed' if of_unit else ''}"
            yield Scenario("slope", name, make, 0.0, call, _SLOPES, "classical", null=True, units=_FEW)


def _of_tasks_and_pixels() -> Iterator[Scenario]:
    one, two = {"cam": IOU}, {"cam": IOU, "human": IOU}
    usual = named("percentile", "t")
    yield Scenario(
        "average",
        "eight uneven tasks",
        tasks(one),
        IOU.mean,
        _average,
        usual,
        "percentile",
        groups=8,
        units=_FEW,
    )
    yield Scenario(
        "average difference", "eight uneven tasks, equal", tasks(two), 0.0, _average_difference, usual,
        "percentile", null=True, groups=8, units=_FEW,
    )  # fmt: skip
    usual = named("percentile", "delta")
    for name, margin in {"recall, low": IOU, "recall, high": NARROW}.items():
        make = pixels({"cam": margin})
        truth = truth_of(make, lambda f: f["tp"].sum() / (f["tp"] + f["fn"]).sum())
        yield Scenario("pooled rate", name, make, truth, _pooled, usual, "percentile")
    yield Scenario(
        "pooled difference", "recall, equal", pixels(two), 0.0, _pooled_difference, usual, "percentile"
    )


def _of_real_scores(gaze: Path | None) -> Iterator[Scenario]:
    """Studies drawn from the digits and the gaze study, whose own values are what they estimate."""
    digits = ss.datasets.load_digits_scores().query("dataset == 'textured' and model == 'residual'")
    digits = digits.dropna(subset="score").astype({"method": "str"})
    iou = digits[(digits["metric"] == "iou") & digits["method"].isin(["gradcam", "human"])]
    yield from _from_table("digits", iou[["case", "task", "method", "metric", "score"]], "gradcam", "human")
    sure = iou[iou["method"] == "gradcam"][["case", "task", "score", "prob"]].rename(columns={"prob": "x"})
    name = "IoU of Grad-CAM and probability"
    yield Scenario(
        "Spearman",
        name,
        drawn(sure),
        _rank_correlation(sure),
        _correlation,
        _RANKS,
        "fisher",
        source="digits",
    )
    if gaze is None:
        return
    scores = read_lanfredi2021(gaze)
    ncc = scores[(scores["metric"] == "ncc") & (scores["seed"] == scores["seed"].iloc[0])]
    both = ncc[ncc["method"].isin(["gradcam_wag", "interobserver"])]
    keys = ["case", "reader", "method", "metric", "score"]
    yield from _from_table("gaze", both[keys], "gradcam_wag", "interobserver", ratio=False)
    wide = both.pivot(index=["case", "reader"], columns="method", values="score").reset_index()
    wide = wide.rename(columns={"gradcam_wag": "score", "interobserver": "x"})[["case", "score", "x"]]
    name = "NCC of Grad-CAM and of other readers"
    yield Scenario(
        "Spearman", name, drawn(wide), _rank_correlation(wide), _correlation, _RANKS, "fisher", source="gaze"
    )


def _from_table(
    source: str, table: pd.DataFrame, method: str, reference: str, *, ratio: bool = True
) -> Iterator[Scenario]:
    """Mean of a method, and its difference and percentage decrease from a reference."""
    own = table[table["method"] == method]
    mean = float(own["score"].mean())
    yield Scenario("mean", method, drawn(own), mean, _mean, _MEANS, "percentile", source=source)
    # what is compared is complete pairs, and so are those whose means are true
    keys = [c for c in table.columns if c not in ("method", "metric", "score")]
    pairs = table[table["method"].isin([method, reference])]
    both = pairs[pairs.groupby(keys)["method"].transform("nunique") == 2]
    both = both.replace({"method": {reference: "human", method: "cam"}})
    mean, human = (float(both.loc[both["method"] == m, "score"].mean()) for m in ("cam", "human"))
    name = f"{method} and {reference}"
    yield Scenario(
        "difference", name, drawn(both), mean - human, _difference, _DIFFERENCES, "percentile", source=source
    )
    if ratio:
        lost = 100 * (human - mean) / human
        yield Scenario(
            "decrease", name, drawn(both), lost, _decrease, _DECREASES, "percentile", source=source
        )
