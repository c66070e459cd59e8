"""Simulated studies: scores, ratings and covariates of cases that depend on each other within a unit.

Scores come from a Gaussian copula. Each unit and each case has an effect; `icc` is the unit's share of the
variance, and methods of one case share 0.4 of the rest. Margins are beta distributions with a share of zeros,
or 0/1. A unit has one case, or 1 to 5; in the design "few huge" two units have 40. Other studies draw their
units, with replacement, from those of real scores.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import special, stats

#: Probabilities at which the quantiles of a margin are computed.
_GRID = np.linspace(0, 1, 20_001)
#: Correlation of the methods of a case, its unit's effect apart.
_SHARED = 0.4
#: Share of the cases that have each task of an average; the last tasks are rare.
_PREVALENCE = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1)


@dataclass(frozen=True)
class Margin:
    """The distribution of a score: zeros with a probability, else beta; or 0/1 where `precision` is 0."""

    mean: float
    zeros: float = 0.0
    precision: float = 0.0
    _quantiles: np.ndarray = field(init=False, repr=False, default_factory=lambda: _GRID)

    def __post_init__(self) -> None:
        """Compute the quantiles of the scores that are not zero."""
        if self.precision:
            # Mean of the scores that are not zero.
            beta_mean = self.mean / (1 - self.zeros)
            alpha = beta_mean * self.precision
            beta = (1 - beta_mean) * self.precision
            quantiles = stats.beta.ppf(_GRID, alpha, beta)
            object.__setattr__(self, "_quantiles", quantiles)

    def scores(self, z: np.ndarray) -> np.ndarray:
        """Return the scores that belong to standard normal numbers."""
        probability = special.ndtr(z)
        if not self.precision:
            return (probability >= 1 - self.mean).astype(np.float64)
        # Below 0 the score is one of the zeros.
        beta_probability = (probability - self.zeros) / (1 - self.zeros)
        return np.interp(beta_probability, _GRID, self._quantiles, left=0.0)


IOU = Margin(0.3, 0.15, 6)
HUMAN_IOU = Margin(0.45, 0.02, 8)
SPARSE = Margin(0.03, 0.8, 8)
#: Twice the mean of `SPARSE`.
LESS_SPARSE = Margin(0.06, 0.6, 8)
#: Margins of one mean with a small and with a large spread.
SMALL_SPREAD = Margin(0.5, 0.05, 20)
LARGE_SPREAD = Margin(0.5, 0.05, 2)
HIGH_IOU = Margin(0.7, 0.02, 10)


@dataclass(frozen=True)
class Design:
    """Number of units of a study, and the dependence of its cases."""

    n_units: int
    cluster: str
    icc: float


@dataclass(frozen=True)
class Cases:
    """Cases of some studies of one design, each with its study and its unit."""

    design: Design
    n_studies: int
    study: np.ndarray
    unit: np.ndarray

    @classmethod
    def draw(cls, design: Design, n_studies: int, rng: np.random.Generator) -> "Cases":
        """Draw the number of cases of each unit, and return the cases."""
        shape = (n_studies, design.n_units)
        sizes = np.ones(shape, np.int64)
        if design.cluster != "1":
            sizes = rng.integers(1, 6, shape)
        if design.cluster == "few huge":
            sizes[:, :2] = 40
        # Units are numbered over all studies.
        unit_numbers = np.arange(sizes.size).repeat(sizes.ravel())
        study, unit = np.divmod(unit_numbers, design.n_units)
        return cls(design, n_studies, study, unit)

    def unit_values(self, values: np.ndarray) -> np.ndarray:
        """Return the value of each case's unit, from values of shape (..., n_studies * n_units)."""
        return values[..., self.study * self.design.n_units + self.unit]

    def effects(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw standard normal numbers, (n, n_cases), with correlation `icc` between cases of one unit."""
        case_effects = rng.standard_normal((n, len(self.unit)))
        unit_effects = self.unit_values(rng.standard_normal((n, self.n_studies * self.design.n_units)))
        return np.sqrt(self.design.icc) * unit_effects + np.sqrt(1 - self.design.icc) * case_effects

    def scores(self, margins: Mapping[str, Margin], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw scores of methods, which are correlated within a case."""
        case_effect, *method_effects = self.effects(rng, 1 + len(margins))
        scores = {}
        for (method, margin), effect in zip(margins.items(), method_effects, strict=True):
            z = np.sqrt(_SHARED) * case_effect + np.sqrt(1 - _SHARED) * effect
            scores[method] = margin.scores(z)
        return scores

    def frame(self, **columns: np.ndarray) -> pd.DataFrame:
        """Return a row for each case; no two studies share the number of a case."""
        return pd.DataFrame(
            {"study": self.study, "patient": self.unit, "case": np.arange(len(self.unit)), **columns}
        )

    def long(self, scores: Mapping[str, Mapping[str, np.ndarray]]) -> pd.DataFrame:
        """Return a frame of the columns of each method, one method after the other."""
        method_frames = []
        for method, columns in scores.items():
            method_frames.append(self.frame(**columns).assign(method=method))
        return pd.concat(method_frames, ignore_index=True).assign(metric="iou")


#: Takes a design, a number of studies and a generator, and returns the frame of these studies.
Make = Callable[[Design, int, np.random.Generator], pd.DataFrame]


def methods(margins: Mapping[str, Margin]) -> Make:
    """Return a function that draws studies of methods."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        return cases.long(score_columns(cases.scores(margins, rng)))

    return make


def score_columns(scores: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Return the scores of each method as its column `score`."""
    return {method: {"score": values} for method, values in scores.items()}


def tasks(margins: Mapping[str, Margin]) -> Make:
    """Return a function that draws studies of several tasks, some of them rare."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        task_frames = []
        for task, prevalence in enumerate(_PREVALENCE):
            all_rows = cases.long(score_columns(cases.scores(margins, rng)))
            has_task = rng.random(len(cases.unit)) < prevalence
            # The number of a case is its position.
            task_rows = all_rows[has_task[all_rows["case"]]]
            task_frames.append(task_rows.assign(task=f"task {task}"))
        return pd.concat(task_frames, ignore_index=True)

    return make


def pixels(margins: Mapping[str, Margin]) -> Make:
    """Return a function that draws studies with pixel counts; recall is higher for larger findings."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        size, case_effect, *method_effects = cases.effects(rng, 2 + len(margins))
        truth = np.ceil(np.exp(6 + 0.8 * size))
        columns = {}
        for (method, margin), effect in zip(margins.items(), method_effects, strict=True):
            # Size has a quarter of the variance; case and method share the rest as in `Cases.scores`.
            z = 0.5 * size
            z = z + np.sqrt(0.75 * _SHARED) * case_effect
            z = z + np.sqrt(0.75 * (1 - _SHARED)) * effect
            recall = margin.scores(z)
            tp = np.round(truth * recall)
            columns[method] = {
                "score": recall,
                "tp": tp,
                "fn": truth - tp,
                "fp": np.zeros_like(tp),
                "tn": 50_000 - truth,
            }
        return cases.long(columns)

    return make


def covariate(margin: Margin, *, slope: float = 0.0, by_unit: bool = False, name: str = "score") -> Make:
    """Return a function that draws studies of a score and a covariate `x`.

    The covariate is a normal one of the case, or with `by_unit` a log-normal one of the unit.
    """

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        x, residual = cases.effects(rng, 2)
        if by_unit:
            x = cases.unit_values(np.exp(rng.standard_normal(n * design.n_units)))
        z = slope * x + np.sqrt(1 - slope**2) * residual
        return cases.frame(**{name: margin.scores(z), "x": x})

    return make


def ratings(area: float) -> Make:
    """Return a function that draws studies of two ratings of images, three in ten of which have a finding."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        case_effect, x_effect, y_effect = cases.effects(rng, 3)
        label = (rng.random(len(cases.unit)) < 0.3).astype(np.float64)
        # binormal model: the area is Phi(shift / sqrt(2))
        shift = np.sqrt(2) * stats.norm.ppf(area) * label
        return cases.frame(
            label=label,
            x=shift + np.sqrt(0.5) * (case_effect + x_effect),
            y=shift + np.sqrt(0.5) * (case_effect + y_effect),
        )

    return make


def pooled_area(area: float, design: Design) -> float:
    """Return the area over all pairs of cases of a design.

    Cases of one unit share its effect, so that their difference has less variance than that of other pairs.
    The number of such pairs follows from the sizes of the units.
    """
    area_within = stats.norm.cdf(stats.norm.ppf(area) / np.sqrt(1 - design.icc))
    n_huge = 0
    if design.cluster == "few huge":
        n_huge = 2
    n_other = design.n_units - n_huge
    if design.cluster == "1":
        mean_size = 1
        size_variance = 0
        pairs_of_unit = 0
    else:
        # Sizes 1 to 5 have a mean of 3 and a variance of 2. A unit of size m has m^2 - m ordered pairs,
        # whose mean is 3^2 + 2 - 3.
        mean_size = 3
        size_variance = 2
        pairs_of_unit = 8
    # Expected numbers of cases, of pairs within units, and of all pairs: E[n]^2 + Var(n) - E[n].
    n_cases = n_huge * 40 + n_other * mean_size
    pairs_within = n_huge * 40 * 39 + n_other * pairs_of_unit
    pairs = n_cases**2 + n_other * size_variance - n_cases
    return float(area + (area_within - area) * pairs_within / pairs)


def resampled(table: pd.DataFrame) -> Make:
    """Return a function that draws studies whose units are cases of real scores, drawn with replacement."""
    rows_of_cases = list(table.groupby("case").indices.values())

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        chosen_cases = rng.integers(0, len(rows_of_cases), n * design.n_units)
        chosen_rows = [rows_of_cases[case] for case in chosen_cases]
        n_rows = [len(rows) for rows in chosen_rows]
        # Each drawn case is a case and a unit of its own.
        draw = np.arange(len(chosen_cases)).repeat(n_rows)
        study, unit = np.divmod(draw, design.n_units)
        rows = table.iloc[np.concatenate(chosen_rows)].reset_index(drop=True)
        return rows.assign(study=study, patient=unit, case=draw)

    return make


def statistic_at_large(make: Make, statistic: Callable[[pd.DataFrame], float]) -> float:
    """Return a statistic of 400,000 independent cases."""
    return float(statistic(make(Design(400_000, "1", 0.0), 1, np.random.default_rng(1))))
