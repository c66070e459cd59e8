"""The coverage atlas: how often intervals hold what they estimate, and how often tests of nothing reject.

    python analyses/coverage.py -o atlas --jobs 2                 # goes on where it stopped
    python analyses/coverage.py -o atlas --studies 200 --only mean,difference --units 10,50

Studies are simulated, analysed by the package's public functions as a user calls them, and counted. The
studies of one call are groups of one frame, with units of the same names, so that they share its draws.

Scores come from a Gaussian copula: every unit and every case has an effect, `icc` is the unit's share of
it, methods of one case share 0.4 of the rest; margins are beta with a share of zeros, or 0/1. Units have
one case, 1 to 5, or 1 to 5 but for two that have 40. Beside them stand studies whose units are drawn, with
replacement, from those of real scores: the embedded digits, and the workbooks of the gaze study.

Every cell (scenario, design, interval) is a file of its own in `parts`; defaults come first, then what
textbooks do, then the rest, of half as many studies; half as many are also of what is large or slow.
`coverage.parquet` gathers what is there; `not_held.csv` names defaults outside their bands. To embed them:
copy the former and `build.json` to `data/coverage`, the latter to `tests/validity`, checksums to
`data/README.md`, and the table that is printed to `README.md`.
"""

import argparse
import itertools
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import joblib
import numpy as np
import pandas as pd
import scipy
from scipy import special, stats

import salstats as ss
from salstats.files.frame_files import write_frame
from salstats.readers.lanfredi2021 import read_lanfredi2021

LEVEL = 0.95
#: Rows of one call, about, and its groups at most.
_ROWS_AT_ONCE, _GROUPS_AT_ONCE = 60_000, 250
#: Replicates and flips of one interval; ten times as many change no coverage by more than its error.
N_REPLICATES = 1000
#: Probabilities of which quantiles are kept.
_GRID = np.linspace(0, 1, 20_001)
#: Correlation of methods beyond what their unit gives them.
_SHARED = 0.4
#: Share of the cases that have each task of an average; few have the last ones.
_PREVALENCE = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1)
N_UNITS = (30, 10, 50, 20, 100, 300)
_FEW = N_UNITS[:-1]
DEPENDENCE = (("1", 0.0), ("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3), ("few huge", 0.8))
#: Columns of the atlas.
COLUMNS = (
    "statistic", "scenario", "source", "n_units", "cluster", "icc", "role", "interval", "taken", "n_studies",
    "n_known", "coverage", "mc_error", "missed_below", "missed_above", "width", "rejected",
    "rejected_mc_error", "lowest", "highest", "least_rejected", "most_rejected", "held", "seconds",
)  # fmt: skip
#: What names a cell.
CELL = ("statistic", "source", "scenario", "n_units", "cluster", "icc", "interval")
#: Whether an interval is what is taken where none is asked for, what textbooks take, or one more.
ROLES = ("default", "textbook", "other")


@dataclass(frozen=True)
class Margin:
    """The distribution of a score: zeros with a probability, else beta; or 0/1 where `precision` is 0."""

    mean: float
    zeros: float = 0.0
    precision: float = 0.0
    _quantiles: np.ndarray = field(init=False, repr=False, default_factory=lambda: _GRID)

    def __post_init__(self) -> None:
        """Quantiles of the scores that are not zero."""
        if self.precision:
            inner = self.mean / (1 - self.zeros)
            found = stats.beta.ppf(_GRID, inner * self.precision, (1 - inner) * self.precision)
            object.__setattr__(self, "_quantiles", found)

    def of(self, z: np.ndarray) -> np.ndarray:
        """Scores of standard normal numbers."""
        u = special.ndtr(z)
        if not self.precision:
            return (u >= 1 - self.mean).astype(np.float64)
        return np.interp((u - self.zeros) / (1 - self.zeros), _GRID, self._quantiles, left=0.0)


IOU, HUMAN_IOU = Margin(0.3, 0.15, 6), Margin(0.45, 0.02, 8)
SPARSE, TWICE = Margin(0.03, 0.8, 8), Margin(0.06, 0.6, 8)
TIGHT, WIDE = Margin(0.5, 0.05, 20), Margin(0.5, 0.05, 2)
NARROW = Margin(0.7, 0.02, 10)


@dataclass(frozen=True)
class Design:
    """How many units a study has, and how its cases hang together."""

    n_units: int
    cluster: str
    icc: float


@dataclass(frozen=True)
class Cases:
    """Cases of some studies of one design: of which study and which of its units each is."""

    design: Design
    n_studies: int
    study: np.ndarray
    unit: np.ndarray

    @classmethod
    def of(cls, design: Design, n_studies: int, rng: np.random.Generator) -> "Cases":
        """As many cases in each unit as the design says."""
        shape = (n_studies, design.n_units)
        sizes = np.ones(shape, np.int64) if design.cluster == "1" else rng.integers(1, 6, shape)
        if design.cluster == "few huge":
            sizes[:, :2] = 40
        study, unit = np.divmod(np.arange(sizes.size).repeat(sizes.ravel()), design.n_units)
        return cls(design, n_studies, study, unit)

    def of_units(self, values: np.ndarray) -> np.ndarray:
        """For each case what its unit has, of values (..., n_studies * n_units)."""
        return values[..., self.study * self.design.n_units + self.unit]

    def effects(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Standard normal numbers (n, n_cases) that cases of one unit share."""
        own = rng.standard_normal((n, len(self.unit)))
        units = self.of_units(rng.standard_normal((n, self.n_studies * self.design.n_units)))
        return np.sqrt(self.design.icc) * units + np.sqrt(1 - self.design.icc) * own

    def scores(self, margins: Mapping[str, Margin], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Scores of methods, those of one case hanging together."""
        common, *own = self.effects(rng, 1 + len(margins))
        mixed = (np.sqrt(_SHARED) * common + np.sqrt(1 - _SHARED) * e for e in own)
        return {method: margin.of(z) for (method, margin), z in zip(margins.items(), mixed, strict=True)}

    def frame(self, **columns: np.ndarray) -> pd.DataFrame:
        """A row for each case; a case's number is its own in all studies."""
        return pd.DataFrame(
            {"study": self.study, "patient": self.unit, "case": np.arange(len(self.unit)), **columns}
        )

    def long(self, scores: Mapping[str, Mapping[str, np.ndarray]]) -> pd.DataFrame:
        """Columns of methods, one method after the other."""
        parts = [self.frame(**columns).assign(method=method) for method, columns in scores.items()]
        return pd.concat(parts, ignore_index=True).assign(metric="iou")


#: Studies of a design, some at a time.
Make = Callable[[Design, int, np.random.Generator], pd.DataFrame]


def methods(margins: Mapping[str, Margin]) -> Make:
    """Studies of methods."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.of(design, n, rng)
        return cases.long({method: {"score": s} for method, s in cases.scores(margins, rng).items()})

    return make


def tasks(margins: Mapping[str, Margin]) -> Make:
    """Studies of several tasks, of which some are rare."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases, parts = Cases.of(design, n, rng), []
        for task, share in enumerate(_PREVALENCE):
            whole = cases.long({m: {"score": s} for m, s in cases.scores(margins, rng).items()})
            has = rng.random(len(cases.unit)) < share
            parts.append(whole[has[whole["case"]]].assign(task=f"task {task}"))
        return pd.concat(parts, ignore_index=True)

    return make


def pixels(margins: Mapping[str, Margin]) -> Make:
    """Studies whose counts of pixels are pooled: larger findings are found better."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.of(design, n, rng)
        size, common, *own = cases.effects(rng, 2 + len(margins))
        truth = np.ceil(np.exp(6 + 0.8 * size))
        found = {}
        for (method, margin), e in zip(margins.items(), own, strict=True):
            recall = margin.of(
                0.5 * size + np.sqrt(0.75 * _SHARED) * common + np.sqrt(0.75 * (1 - _SHARED)) * e
            )
            tp = np.round(truth * recall)
            found[method] = {"score": recall, "tp": tp, "fn": truth - tp, "fp": 0 * tp, "tn": 50_000 - truth}
        return cases.long(found)

    return make


def covariate(margin: Margin, *, slope: float = 0.0, of_unit: bool = False, name: str = "score") -> Make:
    """Studies of a score and a covariate `x`, of the case or of the unit (and then skewed)."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.of(design, n, rng)
        x, e = cases.effects(rng, 2)
        if of_unit:
            x = cases.of_units(np.exp(rng.standard_normal(n * design.n_units)))
        return cases.frame(**{name: margin.of(slope * x + np.sqrt(1 - slope**2) * e), "x": x})

    return make


def ratings(area: float) -> Make:
    """Studies of two ratings of images, of which three in ten have a finding."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.of(design, n, rng)
        common, one, two = cases.effects(rng, 3)
        label = (rng.random(len(cases.unit)) < 0.3).astype(np.float64)
        apart = np.sqrt(2) * stats.norm.ppf(area) * label
        return cases.frame(
            label=label, x=apart + np.sqrt(0.5) * (common + one), y=apart + np.sqrt(0.5) * (common + two)
        )

    return make


def pooled_area(area: float, design: Design) -> float:
    """The area of all pairs of a design, of which those within a unit differ by less than others.

    Pairs of one unit do not differ by what it has in common; they are as many as sizes of units say.
    """
    within = stats.norm.cdf(stats.norm.ppf(area) / np.sqrt(1 - design.icc))
    usual, huge = (1, 0) if design.cluster == "1" else (3, 2 * (design.cluster == "few huge"))
    mean = huge * 40 + (design.n_units - huge) * usual
    # sizes 1 to 5 have a mean of squares of 11, and a variance of 2
    same = huge * 40 * 39 + (design.n_units - huge) * (11 - 3 if usual == 3 else 0)
    pairs = mean**2 + (design.n_units - huge) * 2 * (usual == 3) - mean
    return float(area + (within - area) * same / pairs)


def drawn(table: pd.DataFrame) -> Make:
    """Studies whose units are drawn with replacement from the cases of real scores."""
    rows = table.groupby("case").indices
    first = np.concatenate(list(rows.values()))
    sizes = np.array([len(r) for r in rows.values()])
    starts = np.cumsum(sizes) - sizes

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        chosen = rng.integers(0, len(sizes), n * design.n_units)
        place = np.arange(len(chosen)).repeat(sizes[chosen])
        within = np.arange(len(place)) - (np.cumsum(sizes[chosen]) - sizes[chosen]).repeat(sizes[chosen])
        found = table.iloc[first[starts[chosen].repeat(sizes[chosen]) + within]].reset_index(drop=True)
        study, unit = np.divmod(place, design.n_units)
        return found.assign(study=study, patient=unit, case=place)

    return make


def _rank_correlation(frame: pd.DataFrame) -> float:
    return float(stats.spearmanr(frame["x"], frame["score"]).statistic)


def truth_of(make: Make, statistic: Callable[[pd.DataFrame], float]) -> float:
    """A statistic of many independent cases."""
    return float(statistic(make(Design(400_000, "1", 0.0), 1, np.random.default_rng(1))))


#: Takes a frame of studies, options of draws and others; returns estimates with a column `study`.
Call = Callable[..., pd.DataFrame]


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


def _area(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.auroc(frame, "x", "label", by="study", **options)


@dataclass(frozen=True)
class Scenario:
    """A statistic of studies: what is drawn, what is true, how it is analysed.

    Attributes
    ----------
    statistic, name : str
    make : callable
    truth : float, or callable of a design
    call : callable
    intervals : dict
        What is measured beside the default: the options that ask for it.
    textbook : str
        Which of them textbooks take.
    null : bool
        Whether the truth is nothing, so that P values are counted as well.
    source : str
        "simulated", or the real scores that studies are drawn from.
    defaults : tuple of str
        Which intervals are defaults; "default" asks for nothing.
    groups : int
        How many groups of scores a study has.
    units : tuple of int
        Numbers of units; with fewer of them than `N_UNITS` half as many studies have to do.
    """

    statistic: str
    name: str
    make: Make
    truth: float | Callable[[Design], float]
    call: Call
    intervals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    textbook: str = ""
    null: bool = False
    source: str = "simulated"
    defaults: tuple[str, ...] = ("default",)
    groups: int = 1
    units: tuple[int, ...] = N_UNITS

    def role(self, interval: str) -> str:
        """What an interval is."""
        return (
            "default" if interval in self.defaults else "textbook" if interval == self.textbook else "other"
        )

    def asked(self) -> dict[str, Mapping[str, Any]]:
        """Options of every interval."""
        return {**({"default": {}} if "default" in self.defaults else {}), **self.intervals}


def _named(*names: str) -> dict[str, dict[str, str]]:
    return {name: {"interval": name} for name in names}


_MEANS = _named("percentile", "bca", "studentized", "t")
_HITS = _named("percentile", "t", "wilson", "exact")
_DIFFERENCES = _named("percentile", "bca", "studentized", "t", "cr2")
_DECREASES = _named("percentile", "bca", "studentized", "delta", "fieller")
_RANKS = _named("fisher", "bonett-wright")
_SLOPES = {name: {"errors": name} for name in ("classical", "hc3", "cluster")}


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """What is measured, the most asked for first."""
    return [*_of_means(), *_of_pairs(), *_of_relations(), *_of_tasks_and_pixels(), *_of_real_scores(gaze)]


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


def _of_relations() -> Iterator[Scenario]:
    for area in (0.75, 0.95):
        make, truth, known = ratings(area), partial(pooled_area, area), _named("delong")
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
    usual = _named("percentile", "t")
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
    usual = _named("percentile", "delta")
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


class Band(NamedTuple):
    """Least and largest coverage, and least and largest share of rejections, that a default may have."""

    lowest: float
    highest: float
    least_rejected: float
    most_rejected: float


def band(cell: Mapping[str, Any]) -> Band:
    """What a default is held to in a cell."""
    n, scenario = cell["n_units"], cell["scenario"]
    if cell["statistic"] == "family":
        return Band(np.nan, np.nan, 0.0, 0.06)
    if cell["cluster"] == "few huge":
        return Band(0.92, 1.0, 0.0, 0.07)
    rejected = (0.0, 0.065) if n < 30 else (0.04, 0.06)
    lowest, highest = (0.94, 0.96) if n >= 50 else (0.93, 0.97) if n >= 20 else (0.92, 1.0)
    if scenario.startswith("sparse") and n < 50:
        lowest, highest = 0.92, 1.0
    if (cell["statistic"], scenario) == ("AUROC", "0.95") and n < 50:
        highest = 1.0
    if (cell["statistic"], scenario) == ("hit rate", "0.99"):
        lowest, highest = 0.93, 1.0
    return Band(lowest, highest, *rejected)


def held(cell: Mapping[str, Any], errors: float = 2) -> str | None:
    """Whether a default is within its band, outside by at most some Monte-Carlo errors, or further."""
    if cell["role"] != "default":
        return None
    error = np.sqrt(LEVEL * (1 - LEVEL) / cell["n_studies"])
    covered, rejected = cell.get("coverage", np.nan), cell.get("rejected", np.nan)
    limits = band(cell)
    beyond = [
        limits.lowest - covered, covered - limits.highest,
        limits.least_rejected - rejected, rejected - limits.most_rejected,
    ]  # fmt: skip
    furthest = np.nanmax([*beyond, -1.0])
    return "yes" if furthest <= 1e-12 else "within error" if furthest <= errors * error else "no"


def studies(scenario: Scenario, design: Design, n: int, at_once: int) -> Iterator[tuple[int, pd.DataFrame]]:
    """Studies, some at a time, each with the number of the first."""
    key = crc32(f"{scenario.source}|{scenario.statistic}|{scenario.name}|{design}".encode())
    for start in range(0, n, at_once):
        yield start, scenario.make(design, min(at_once, n - start), np.random.default_rng([key, start]))


def measure(
    scenario: Scenario, design: Design, n: int, interval: str, n_replicates: int = N_REPLICATES
) -> dict[str, Any]:
    """Coverage, misses on either side, width and rejections of one interval in one cell of the grid."""
    began, options = time.process_time(), scenario.asked()[interval]
    of_one = len(scenario.make(design, 1, np.random.default_rng(0)))
    # variances of every replicate are a product of all groups with each
    most = 10 if interval == "studentized" else _GROUPS_AT_ONCE // scenario.groups
    at_once = int(np.clip(_ROWS_AT_ONCE // of_one, 1, most))
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start, frame in studies(scenario, design, n, at_once):
            parts.append(scenario.call(frame, {"n_replicates": n_replicates, "rng": start}, **options))
    found = pd.concat(parts, ignore_index=True)
    low, high = found["conf_low"].to_numpy(float), found["conf_high"].to_numpy(float)
    known = ~(np.isnan(low) | np.isnan(high))
    row = {
        "statistic": scenario.statistic, "scenario": scenario.name, "source": scenario.source,
        **asdict(design), "role": scenario.role(interval), "interval": interval,
        "taken": "; ".join(sorted(found["interval"].dropna().astype("str").unique())),
        "n_studies": n, "n_known": int(known.sum()), "seconds": round(time.process_time() - began, 2),
    }  # fmt: skip
    if known.any():
        truth = scenario.truth if isinstance(scenario.truth, float) else scenario.truth(design)
        below, above = high[known] < truth - 1e-12, low[known] > truth + 1e-12
        covered = 1 - float(below.mean()) - float(above.mean())
        row |= {
            "coverage": covered, "mc_error": float(np.sqrt(covered * (1 - covered) / known.sum())),
            "missed_below": float(below.mean()), "missed_above": float(above.mean()),
            "width": float(np.median((high - low)[known])),
        }  # fmt: skip
    if scenario.null and "p_value" in found:
        # no P value rejects nothing
        rejected = float((found["p_value"] <= 1 - LEVEL).sum() / n)
        row |= {"rejected": rejected, "rejected_mc_error": float(np.sqrt(rejected * (1 - rejected) / n))}
    return row


def finish(scenario: Scenario, design: Design, n: int, interval: str, file: Path) -> str:
    """Measure one cell, and keep it in a file of its own; what went wrong, if anything did."""
    try:
        row = measure(scenario, design, n, interval)
    except Exception as error:  # the other cells are worth having, and this one is tried again next time
        return f"{file.stem}: {error!r}"
    part = file.with_suffix(".part")
    part.write_text(json.dumps(row))
    part.rename(file)
    return ""


def grid(chosen: list[Scenario], sizes: tuple[int, ...]) -> list[tuple[Scenario, Design, str]]:
    """Cells in the order in which they are measured; of what is neither default nor textbook only some."""
    found = []
    every = itertools.product(ROLES, sizes, chosen)
    # those of fewer sizes are slow
    for role, n, scenario in sorted(every, key=lambda cell: (ROLES.index(cell[0]), -len(cell[2].units))):
        simulated = scenario.source == "simulated"
        designs = [Design(n, *d) for d in DEPENDENCE] if simulated else [Design(n, "as observed", np.nan)]
        if n not in scenario.units:
            continue
        if role == "other":
            designs = [d for d in designs if n in (10, 30, 100) and d.icc in (0, 0.3) and simulated]
        asked = [name for name in scenario.asked() if scenario.role(name) == role]
        found += [(scenario, design, name) for design in designs for name in asked]
    return found


def gather(parts: Path) -> pd.DataFrame:
    """All cells that are there, and of defaults their band and whether they held it."""
    rows = [json.loads(file.read_text()) for file in parts.glob("*.json")]
    for row in rows:
        row |= (band(row)._asdict() if row["role"] == "default" else {}) | {"held": held(row)}
    keys = ["statistic", "source", "scenario", "cluster", "icc", "n_units", "role", "interval"]
    return pd.DataFrame(rows).sort_values(keys, ignore_index=True).reindex(columns=list(COLUMNS))


def summary(cells: pd.DataFrame) -> str:
    """Range of coverage of each statistic, in percent, as a table of the documentation."""
    columns = [("default", 10), ("default", 30), ("default", 100), ("textbook", 30)]
    lines = ["| statistic | default, 10 units | 30 | 100 | textbook, 30 |", "|---|---|---|---|---|"]
    for statistic, rows in cells.dropna(subset="coverage").groupby("statistic"):
        texts = []
        for role, n in columns:
            found = 100 * rows.loc[(rows["role"] == role) & (rows["n_units"] == n), "coverage"]
            texts.append(f"{found.min():.1f} to {found.max():.1f}" if len(found) else "")
        lines.append(f"| {statistic} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is not there yet, and gather what is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = Path(os.environ.get("SALSTATS_SHARED", "../shared")) / "data" / "lanfredi2021"
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--only", help="statistics, comma-separated")
    parser.add_argument("--roles", help=f"of {', '.join(ROLES)}, comma-separated")
    parser.add_argument("--units", help="numbers of units, comma-separated")
    parser.add_argument("--gaze", type=Path, default=shared, help="folder of the gaze study's workbooks")
    options = parser.parse_args()
    parts = options.output / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    sizes = tuple(int(n) for n in options.units.split(",")) if options.units else N_UNITS
    listed = scenarios(options.gaze if options.gaze.is_dir() else None)
    chosen = [s for s in listed if not options.only or s.statistic in options.only.split(",")]
    work = []
    for scenario, design, interval in grid(chosen, sizes):
        name = "_".join(
            str(v)
            for v in (scenario.source, scenario.statistic, scenario.name, *asdict(design).values(), interval)
        )
        file = parts / f"{''.join(c if c.isalnum() else '-' for c in name)}.json"
        role = scenario.role(interval)
        if not file.exists() and (not options.roles or role in options.roles.split(",")):
            halved = (role != "default") + (scenario.units != N_UNITS) + (design.n_units > 100)
            n = max(options.studies // 2**halved, 1)
            work.append(joblib.delayed(finish)(scenario, design, n, interval, file))
    began = time.monotonic()
    done = joblib.Parallel(n_jobs=options.jobs, batch_size=1, return_as="generator_unordered")(work)
    for i, wrong in enumerate(done, 1):
        if wrong:
            print(wrong, flush=True)
        if i % 20 == 0 or i == len(work):
            print(f"{i} of {len(work)} cells, {(time.monotonic() - began) / 60:.1f} min", flush=True)
    cells = gather(parts)
    write_frame(cells, options.output / "coverage.parquet", overwrite=True)
    cells.loc[cells["held"] == "no", list(CELL)].to_csv(options.output / "not_held.csv", index=False)
    print(summary(cells))
    versions = {m.__name__: m.__version__ for m in (ss, np, scipy, pd)} | {
        "python": platform.python_version()
    }
    about = {"n_studies": options.studies, "n_replicates": N_REPLICATES, "versions": versions}
    (options.output / "build.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
