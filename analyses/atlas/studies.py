"""Studies that are drawn: scores, ratings and covariates of cases that hang together by unit.

Scores come from a Gaussian copula: every unit and every case has an effect, `icc` is the unit's share of
it, methods of one case share 0.4 of the rest; margins are beta with a share of zeros, or 0/1. Units have
one case, 1 to 5, or 1 to 5 but for two that have 40. Beside them stand studies whose units are drawn, with
replacement, from those of real scores.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import special, stats

#: Probabilities of which quantiles are kept.
_GRID = np.linspace(0, 1, 20_001)
#: Correlation of methods beyond what their unit gives them.
_SHARED = 0.4
#: Share of the cases that have each task of an average; few have the last ones.
_PREVALENCE = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1)


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
    """Number of units of a study, and the dependence of its cases."""

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


def truth_of(make: Make, statistic: Callable[[pd.DataFrame], float]) -> float:
    """A statistic of many independent cases."""
    return float(statistic(make(Design(400_000, "1", 0.0), 1, np.random.default_rng(1))))
