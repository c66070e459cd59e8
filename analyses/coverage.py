"""The coverage atlas: how often intervals hold what they estimate, and how often tests of nothing reject.

    python analyses/coverage.py -o data/coverage --jobs 2          # hours; goes on where it stopped
    python analyses/coverage.py -o atlas --studies 200 --only mean

Studies are simulated, analysed by the package's public functions as a user calls them, and counted.
Scores come from a Gaussian copula: every unit and every case has an effect, `icc` is the unit's share of
it, methods of one case share 0.4 of the rest; margins are beta with a share of zeros, or 0/1. Units have
one case, 1 to 5, or 1 to 5 but for two that have 40.
"""

import argparse
import itertools
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import joblib
import numpy as np
import pandas as pd
from scipy import special, stats

import salstats as ss
from salstats.files.frame_files import write_frame

LEVEL = 0.95
#: Studies that one call analyses at a time, each a group of its own.
_AT_ONCE = 50
#: Correlation of methods beyond what their unit gives them.
_SHARED = 0.4
#: Share of the cases that have each task of an average; few have the last ones.
_PREVALENCE = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1)
N_UNITS = (10, 20, 30, 50, 100, 300)
DEPENDENCE = (("1", 0.0), ("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3), ("few huge", 0.8))


@dataclass(frozen=True)
class Margin:
    """The distribution of a score: zeros with a probability, else beta; or 0/1 where `precision` is 0."""

    mean: float
    zeros: float = 0.0
    precision: float = 0.0

    def of(self, z: np.ndarray) -> np.ndarray:
        """Scores of standard normal numbers."""
        u = special.ndtr(z)
        if not self.precision:
            return (u >= 1 - self.mean).astype(np.float64)
        inner = self.mean / (1 - self.zeros)
        a, b = inner * self.precision, (1 - inner) * self.precision
        grid = np.linspace(0, 1, 20_001)
        values = np.interp(
            np.clip((u - self.zeros) / (1 - self.zeros), 0, 1), grid, stats.beta.ppf(grid, a, b)
        )
        return np.where(u < self.zeros, 0.0, values)


IOU, HUMAN_IOU = Margin(0.3, 0.15, 6), Margin(0.45, 0.02, 8)
SPARSE, TWICE = Margin(0.03, 0.8, 8), Margin(0.06, 0.6, 8)
TIGHT, WIDE = Margin(0.5, 0.05, 20), Margin(0.5, 0.05, 2)


@dataclass(frozen=True)
class Design:
    """How many units a study has, and how its cases hang together."""

    n_units: int
    cluster: str
    icc: float

    def sizes(self, rng: np.random.Generator) -> np.ndarray:
        """Cases of each unit."""
        if self.cluster == "1":
            return np.ones(self.n_units, dtype=np.int64)
        sizes = rng.integers(1, 6, self.n_units)
        if self.cluster == "few huge":
            sizes[:2] = 40
        return sizes

    def effects(self, sizes: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
        """Standard normal numbers (n, n_cases) that cases of one unit share."""
        units = rng.standard_normal((n, len(sizes))).repeat(sizes, axis=1)
        own = rng.standard_normal((n, int(sizes.sum())))
        return np.sqrt(self.icc) * units + np.sqrt(1 - self.icc) * own


@dataclass(frozen=True)
class Scenario:
    """A statistic of simulated studies: what is drawn, what is true, how it is analysed.

    Attributes
    ----------
    statistic, name : str
    make : callable
        Takes a design, a generator and the study's number; returns a frame.
    truth : float
    call : callable
        Takes a frame of several studies and options; returns estimates with a column `study`.
    alternatives : dict
        What else than the default is measured: its name, and the options that ask for it.
    null : float, optional
        Where the truth is this value, P values are counted as well.
    """

    statistic: str
    name: str
    make: Callable[[Design, np.random.Generator], pd.DataFrame]
    truth: float
    call: Callable[..., pd.DataFrame]
    alternatives: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    null: float | None = None


def _frame(sizes: np.ndarray, scores: Mapping[str, np.ndarray], **more: Any) -> pd.DataFrame:
    """The scores of one study, one method after the other."""
    n = int(sizes.sum())
    units = np.arange(len(sizes)).repeat(sizes)
    parts = [
        pd.DataFrame({"patient": units, "case": np.arange(n), "method": method, "score": values, **more})
        for method, values in scores.items()
    ]
    return pd.concat(parts, ignore_index=True).assign(metric="iou")


def methods(**margins: Margin) -> Callable[[Design, np.random.Generator], pd.DataFrame]:
    """Studies of methods whose scores of one case hang together."""

    def make(design: Design, rng: np.random.Generator) -> pd.DataFrame:
        sizes = design.sizes(rng)
        common, *own = design.effects(sizes, rng, 1 + len(margins))
        mixed = (np.sqrt(_SHARED) * common + np.sqrt(1 - _SHARED) * e for e in own)
        return _frame(sizes, {m: margin.of(z) for (m, margin), z in zip(margins.items(), mixed, strict=True)})

    return make


def tasks(**margins: Margin) -> Callable[[Design, np.random.Generator], pd.DataFrame]:
    """Studies of several tasks, of which some are rare."""

    def make(design: Design, rng: np.random.Generator) -> pd.DataFrame:
        sizes = design.sizes(rng)
        parts = []
        for task, share in enumerate(_PREVALENCE):
            common, *own = design.effects(sizes, rng, 1 + len(margins))
            mixed = [np.sqrt(_SHARED) * common + np.sqrt(1 - _SHARED) * e for e in own]
            scores = {m: margin.of(z) for (m, margin), z in zip(margins.items(), mixed, strict=True)}
            whole = _frame(sizes, scores, task=f"task {task}")
            parts.append(whole[whole["case"].isin(np.flatnonzero(rng.random(int(sizes.sum())) < share))])
        return pd.concat(parts, ignore_index=True)

    return make


def covariate(margin: Margin, *, slope: float = 0.0, of_unit: bool = False, name: str = "score") -> Any:
    """Studies of a score and a covariate `x`, of the case or of the unit (and then skewed)."""

    def make(design: Design, rng: np.random.Generator) -> pd.DataFrame:
        sizes = design.sizes(rng)
        x, e = design.effects(sizes, rng, 2)
        if of_unit:
            x = np.exp(rng.standard_normal(len(sizes))).repeat(sizes)
        y = margin.of(slope * x + np.sqrt(1 - slope**2) * e)
        n = int(sizes.sum())
        units = np.arange(len(sizes)).repeat(sizes)
        return pd.DataFrame({"patient": units, "case": np.arange(n), name: y, "x": x})

    return make


def ratings(area: float, *, second: bool = False) -> Any:
    """Studies of a rating (or two) of images that have a finding in three of ten."""

    def make(design: Design, rng: np.random.Generator) -> pd.DataFrame:
        sizes = design.sizes(rng)
        n = int(sizes.sum())
        common, one, two = design.effects(sizes, rng, 3)
        label = (rng.random(n) < 0.3).astype(np.float64)
        apart = np.sqrt(2) * stats.norm.ppf(area) * label
        given = {"x": apart + np.sqrt(0.5) * (common + one)}
        if second:
            given["y"] = apart + np.sqrt(0.5) * (common + two)
        units = np.arange(len(sizes)).repeat(sizes)
        return pd.DataFrame({"patient": units, "case": np.arange(n), "label": label, **given})

    return make


def rank_correlation(margin: Margin, slope: float) -> float:
    """Spearman's correlation of the covariate and the score, of a million cases."""
    make = covariate(margin, slope=slope)
    frame = make(Design(1_000_000, "1", 0.0), np.random.default_rng(1))
    return float(stats.spearmanr(frame["x"], frame["score"]).statistic)


def _mean(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", unit="unit", **options)


def _average(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    found = ss.summarize(frame, by=["study", "task"], unit="unit", average="task", **options)
    return found[found["task"] == "Average"]


def _difference(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return ss.difference(frame, reference="human", by="study", unit="unit", **options)


def _average_difference(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    found = ss.difference(
        frame, reference="human", by=["study", "task"], unit="unit", average="task", **options
    )
    return found[found["task"] == "Average"]


def _decrease(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return ss.percent_decrease(frame, reference="human", by="study", unit="unit", **options)


def _correlation(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return ss.correlate(frame, "score", "x", by="study", unit="unit", **options)


def _slope(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    found = ss.regress(frame, "outcome ~ x", by="study", unit="unit", **options)
    return found[found["term"] == "x"]


def _area(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return ss.auroc(frame, "x", "label", by="study", unit="unit", **options)


_RESAMPLED = {name: {"interval": name} for name in ("percentile", "bca", "studentized")}
_OF_MEAN = {**_RESAMPLED, "t": {"interval": "t"}}
_OF_HITS = {
    "percentile": {"interval": "percentile"},
    "t": {"interval": "t"},
    "wilson": {"interval": "wilson"},
}
_OF_DECREASE = {**_RESAMPLED, "delta": {"interval": "delta"}, "fieller": {"interval": "fieller"}}
_OF_SLOPE = {name: {"errors": name} for name in ("classical", "hc3", "cluster")}


def scenarios() -> list[Scenario]:
    """What is simulated."""
    listed = [
        Scenario("mean", name, methods(cam=margin), margin.mean, _mean, _OF_MEAN)
        for name, margin in (
            ("IoU, mean .3", IOU),
            ("IoU, mean .5, spread", WIDE),
            ("sparse, mean .03", SPARSE),
        )
    ]
    listed += [
        Scenario("mean", f"hits, p = {p}", methods(cam=Margin(p)), p, _mean, _OF_HITS)
        for p in (0.5, 0.9, 0.99)
    ]
    pairs = {
        "IoU, equal": (IOU, IOU), "IoU, equal means, unequal spread": (TIGHT, WIDE),
        "sparse, equal": (SPARSE, SPARSE),
        "hits .9, equal": (Margin(0.9), Margin(0.9)), "IoU, .30 and .45": (IOU, HUMAN_IOU),
        "hits, .7 and .9": (Margin(0.7), Margin(0.9)), "sparse, .03 and .06": (SPARSE, TWICE),
    }  # fmt: skip
    for name, (own, human) in pairs.items():
        make, gap = methods(cam=own, human=human), own.mean - human.mean
        null = 0.0 if not gap else None
        listed.append(Scenario("difference", name, make, gap, _difference, _OF_MEAN, null))
        lost = 100 * -gap / human.mean
        listed.append(Scenario("decrease", name, make, lost, _decrease, _OF_DECREASE, null))
    listed.append(
        Scenario("average", "IoU, eight uneven tasks", tasks(cam=IOU), IOU.mean, _average, _OF_MEAN)
    )
    listed.append(
        Scenario("average difference", "IoU, eight uneven tasks, equal", tasks(cam=IOU, human=IOU), 0.0,
                 _average_difference, _OF_MEAN, 0.0)
    )  # fmt: skip
    for name, margin in {"IoU": IOU, "sparse": SPARSE, "hits .9": Margin(0.9)}.items():
        for slope in (0.0, 0.5):
            truth = rank_correlation(margin, slope)
            listed.append(
                Scenario("Spearman", f"{name}, {slope}", covariate(margin, slope=slope),
                         truth if slope else 0.0, _correlation,
                         {"bonett-wright": {"interval": "bonett-wright"}}, None if slope else 0.0)
            )  # fmt: skip
    for of_unit in (False, True):
        whose = "skewed, of the unit" if of_unit else "of the case"
        for name, margin, family in (
            ("IoU", IOU, "gaussian"),
            ("hits .5", Margin(0.5), "binomial"),
            ("IoU", IOU, "fractional"),
        ):
            make = covariate(margin, of_unit=of_unit, name="outcome")
            call = (lambda f: lambda frame, **o: _slope(frame, family=f, **o))(family)
            listed.append(
                Scenario(
                    f"slope, {family}", f"{name} on a covariate {whose}", make, 0.0, call, _OF_SLOPE, 0.0
                )
            )
    for area in (0.75, 0.95):
        listed.append(
            Scenario("AUROC", f"area {area}", ratings(area), area, _area, {"delong": {"interval": "delong"}})
        )
    return listed


def studies(scenario: Scenario, design: Design, n: int, at_once: int) -> Iterator[pd.DataFrame]:
    """Simulated studies, some at a time, each with units and cases of its own."""
    rng = np.random.default_rng([crc32(f"{scenario.statistic}|{scenario.name}|{design}".encode()), n])
    for start in range(0, n, at_once):
        parts = [scenario.make(design, rng).assign(study=i) for i in range(start, min(start + at_once, n))]
        frame = pd.concat(parts, ignore_index=True)
        for column in ("patient", "case"):
            frame[column] = frame["study"].astype("str") + "-" + frame[column].astype("str")
        yield frame.rename(columns={"patient": "unit"})


def measure(
    scenario: Scenario, design: Design, n: int, interval: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Coverage, misses on either side, width and rejections of one interval in one cell of the grid."""
    # draws are of all units, so what is resampled is analysed a study at a time
    resampled = interval in _RESAMPLED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pd.concat(
            [
                scenario.call(frame, **options)
                for frame in studies(scenario, design, n, 1 if resampled else _AT_ONCE)
            ],
            ignore_index=True,
        )
    low, high = found["conf_low"].to_numpy(float), found["conf_high"].to_numpy(float)
    known = ~(np.isnan(low) | np.isnan(high))
    below, above = high[known] < scenario.truth - 1e-12, low[known] > scenario.truth + 1e-12
    covered = 1 - below.mean() - above.mean() if known.any() else np.nan
    row = {
        "statistic": scenario.statistic, "scenario": scenario.name, **vars(design), "interval": interval,
        "taken": "; ".join(sorted(found["interval"].dropna().unique())), "n_studies": n,
        "n_known": int(known.sum()),
        "coverage": covered, "mc_error": np.sqrt(covered * (1 - covered) / max(known.sum(), 1)),
        "missed_below": below.mean() if known.any() else np.nan,
        "missed_above": above.mean() if known.any() else np.nan,
        "width": float(np.median((high - low)[known])) if known.any() else np.nan, "rejected": np.nan,
    }  # fmt: skip
    if scenario.null is not None and "p_value" in found:
        # no P value rejects nothing
        row["rejected"] = float((found["p_value"] <= 1 - LEVEL).mean())
    return row


def cell(scenario: Scenario, design: Design, n: int, folder: Path) -> None:
    """One cell of the grid with every interval, kept in a file of its own; one that is there is left."""
    name = f"{scenario.statistic}_{scenario.name}_{design.n_units}_{design.cluster}_{design.icc}"
    file = folder / f"{''.join(c if c.isalnum() else '-' for c in name)}.json"
    if file.exists():
        return
    wanted = {"default": {}, **scenario.alternatives}
    rows = [measure(scenario, design, n, interval, options) for interval, options in wanted.items()]
    part = file.with_suffix(".part")
    part.write_text(json.dumps(rows))
    part.rename(file)


def main() -> None:
    """Simulate what is not there yet, and gather what is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--only", help="statistics, comma-separated")
    parser.add_argument("--units", help="numbers of units, comma-separated")
    options = parser.parse_args()
    parts = options.output / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    sizes = [int(n) for n in options.units.split(",")] if options.units else N_UNITS
    chosen = [s for s in scenarios() if not options.only or s.statistic in options.only.split(",")]
    grid = [(s, Design(n, *d)) for n, s, d in itertools.product(sizes, chosen, DEPENDENCE)]
    joblib.Parallel(n_jobs=options.jobs, verbose=5)(
        joblib.delayed(cell)(scenario, design, options.studies, parts) for scenario, design in grid
    )
    rows = [row for file in sorted(parts.glob("*.json")) for row in json.loads(file.read_text())]
    write_frame(pd.DataFrame(rows), options.output / "coverage.parquet", overwrite=True)


if __name__ == "__main__":
    main()
