"""The coverage atlas: how often intervals hold what they estimate, and how often tests of nothing reject.

    python analyses/coverage.py -o atlas --jobs 2                 # goes on where it stopped
    python analyses/coverage.py -o atlas --studies 200 --only mean,difference --units 10,50

Studies are simulated, analysed by the package's public functions as a user calls them, and counted. The
studies of one call are groups of one frame, with units of the same names, so that they share its draws.

What is drawn and how it is analysed stands in `atlas`: a module for each kind of analysis, whose
`scenarios` are listed in `ROOMS` below.

Every cell (scenario, design, interval) is a file of its own in `parts`; defaults come first, then what
textbooks do, then the rest, of half as many studies; half as many are also of what is large or slow.
`coverage.parquet` gathers what is there; `not_held.csv` names defaults outside their bands, and in what share
of their studies the estimate carries a caution. To embed them:
copy the former and `build.json` to `data/coverage`, the latter to `tests/validity`, checksums to
`data/README.md`, and the tables that are printed to `docs/explanation/coverage.md`.
"""

import argparse
import itertools
import json
import os
import platform
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zlib import crc32

import joblib
import numpy as np
import pandas as pd
import scipy

import salstats as ss
from atlas import agreement, bounded, correlated, ranks, readers, usual, variances, weights
from atlas.scenario import N_UNITS, ROLES, Band, Scenario
from atlas.studies import Design
from salstats.files.frame_files import write_frame

#: What is measured, the most asked for first.
ROOMS = (usual, readers, bounded, correlated, ranks, weights, agreement, variances)
LEVEL = 0.95
#: Rows of one call, about, and its groups at most.
_ROWS_AT_ONCE, _GROUPS_AT_ONCE = 60_000, 250
#: What most studies report, first in the documentation.
USUAL = (
    "mean", "hit rate", "difference", "decrease", "slope", "Spearman", "AUROC", "difference of readers",
)  # fmt: skip
#: Replicates and flips of one interval; ten times as many change no coverage by more than its error.
N_REPLICATES = 1000
#: Columns of the atlas.
COLUMNS = (
    "statistic", "scenario", "source", "n_units", "cluster", "icc", "role", "interval", "taken", "n_studies",
    "n_known", "coverage", "mc_error", "missed_below", "missed_above", "width", "rejected",
    "rejected_mc_error", "cautioned", "coverage_without_caution", "lowest", "highest", "least_rejected",
    "most_rejected", "held", "seconds",
)  # fmt: skip
#: Share of its studies that carry a caution, from which a cell counts as cautioned.
CAUTIONED = 0.75
#: The same where limits of the studies without a caution hold.
CAUTIONED_IF_OTHERS_HOLD = 0.2
#: Scores and covariates that are hard for any interval, by what their scenarios are called.
HARD = ("sparse", "hits", "hit rate", "skewed", "0.95", "rare", "failures", "zeros")
#: What names a cell.
CELL = ("statistic", "source", "scenario", "n_units", "cluster", "icc", "interval")


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """All scenarios; those of the gaze study where its folder is given."""
    return [scenario for room in ROOMS for scenario in room.scenarios(gaze)]


def band(cell: Mapping[str, Any]) -> Band:
    """Return the band in which a default has to lie in a cell."""
    n, scenario = cell["n_units"], cell["scenario"]
    own = next((room.BANDS[cell["statistic"]] for room in ROOMS if cell["statistic"] in room.BANDS), None)
    if own is not None:
        return own
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
    """Return whether a default lies in its band, outside by at most some Monte-Carlo errors, or further."""
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


def says_so(cell: Mapping[str, Any], errors: float = 2) -> bool:
    """Return whether a default outside its band has a caution in most studies, or holds in those without."""
    share, without = cell["cautioned"], cell["coverage_without_caution"]
    if share >= CAUTIONED:
        return True
    if not share >= CAUTIONED_IF_OTHERS_HOLD:
        return False
    error = np.sqrt(LEVEL * (1 - LEVEL) / (cell["n_studies"] * (1 - share)))
    limits = band(cell)
    return bool(limits.lowest - errors * error <= without <= limits.highest + errors * error)


def well_behaved(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell holds its level with 20 or more units of similar size and no difficult scores."""
    usual = cell["n_units"] >= 20 and cell["cluster"] != "few huge" and cell["statistic"] != "hit rate"
    hard = any(word in cell["scenario"] for word in HARD)
    return bool(usual and not hard and cell["held"] in ("yes", "within error"))


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
        truth = scenario.truth_of(design)
        below, above = high[known] < truth - 1e-12, low[known] > truth + 1e-12
        covered = 1 - float(below.mean()) - float(above.mean())
        row |= {
            "coverage": covered, "mc_error": float(np.sqrt(covered * (1 - covered) / known.sum())),
            "missed_below": float(below.mean()), "missed_above": float(above.mean()),
            "width": float(np.median((high - low)[known])),
        }  # fmt: skip
        row |= cautioned(found, low, high, truth)
    if scenario.null and "p_value" in found:
        # no P value rejects nothing
        rejected = float((found["p_value"] <= 1 - LEVEL).sum() / n)
        row |= {"rejected": rejected, "rejected_mc_error": float(np.sqrt(rejected * (1 - rejected) / n))}
    return row


def cautioned(found: pd.DataFrame, low: np.ndarray, high: np.ndarray, truth: float) -> dict[str, float]:
    """Share of studies whose row has a caution, and coverage of the limits of the others."""
    without = np.ones(len(found), dtype=bool)
    if "caution" in found.columns:
        without = found["caution"].isna().to_numpy()
    row = {"cautioned": float(1 - without.mean())}
    known = without & ~np.isnan(low) & ~np.isnan(high)
    if known.any():
        holds = (low[known] <= truth + 1e-12) & (high[known] >= truth - 1e-12)
        row["coverage_without_caution"] = float(holds.mean())
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


def numbers_of_units(chosen: list[Scenario]) -> tuple[int, ...]:
    """List every number of units that scenarios have, the usual ones first."""
    return tuple(dict.fromkeys([*N_UNITS, *(n for scenario in chosen for n in scenario.units)]))


def grid(chosen: list[Scenario], sizes: tuple[int, ...]) -> list[tuple[Scenario, Design, str]]:
    """Cells in the order in which they are measured; of what is neither default nor textbook only some."""
    found = []
    every = itertools.product(ROLES, sizes, chosen)
    # those of fewer sizes are slow
    for role, n, scenario in sorted(every, key=lambda cell: (ROLES.index(cell[0]), -len(cell[2].units))):
        simulated = scenario.source == "simulated"
        designs = (
            [Design(n, *d) for d in scenario.dependence] if simulated else [Design(n, "as observed", np.nan)]
        )
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


def summaries(cells: pd.DataFrame) -> tuple[str, str]:
    """Both tables of the documentation: of what most studies report, and of the rest."""
    known = cells.dropna(subset="coverage")["statistic"].unique()
    return summary(cells, USUAL), summary(cells, sorted({*known} - {*USUAL}))


def summary(cells: pd.DataFrame, statistics: Iterable[str]) -> str:
    """Range of coverage of each statistic, in percent, as a table of the documentation."""
    columns = [("default", 10), ("default", 30), ("default", 100), ("textbook", 30)]
    lines = ["| statistic | default, 10 units | 30 | 100 | textbook, 30 |", "|---|---|---|---|---|"]
    for statistic in statistics:
        rows = cells[cells["statistic"] == statistic].dropna(subset="coverage")
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
    listed = scenarios(options.gaze if options.gaze.is_dir() else None)
    sizes = tuple(int(n) for n in options.units.split(",")) if options.units else numbers_of_units(listed)
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
    outside = cells.loc[cells["held"] == "no", [*CELL, "cautioned"]].round({"cautioned": 3})
    outside.to_csv(options.output / "not_held.csv", index=False)
    print(*summaries(cells), sep="\n")
    versions = {m.__name__: m.__version__ for m in (ss, np, scipy, pd)} | {
        "python": platform.python_version()
    }
    about = {"n_studies": options.studies, "n_replicates": N_REPLICATES, "versions": versions}
    (options.output / "build.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
