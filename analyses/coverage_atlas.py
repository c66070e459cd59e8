"""The coverage atlas: how often intervals cover the true value, and how often tests reject a true null.

    python analyses/coverage_atlas.py -o atlas --jobs 2                 # goes on where it stopped
    python analyses/coverage_atlas.py -o atlas --studies 200 --only mean,difference --units 10,50

Studies are simulated, analysed by the package's public functions as a user calls them, and counted. The
studies of one call are groups of one frame, with units of the same names, so that they share its draws.

The package `atlas` has a module for each kind of analysis; `MODULES` below lists them. A module says how its
studies are drawn and analysed.

Every cell (scenario, design, interval) is a file of its own in `parts`. Defaults come first, then the
intervals of textbooks, then the others. Cells that are not defaults, large or slow have half as many studies
for each of these. `coverage.parquet` gathers all cells so far; `not_held.csv` names the defaults outside
their bands, with the share of their studies whose estimate carries a caution. To embed them:
copy the former and `build.json` to `data/coverage`, the latter to `tests/validity`, checksums to
`data/README.md`, and the tables that are printed to `docs/explanation/coverage.md`.
"""

import argparse
import itertools
import json
import os
import platform
import re
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

#: Modules of the atlas, the most common analyses first.
MODULES = (usual, readers, bounded, correlated, ranks, weights, agreement, variances)
LEVEL = 0.95
#: Approximate number of rows in one call.
_ROWS_AT_ONCE = 60_000
#: Largest number of groups in one call.
_GROUPS_AT_ONCE = 250
#: Statistics that most studies report; they come first in the documentation.
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
#: Share from which it counts if the limits of the studies without a caution hold.
CAUTIONED_WITH_GOOD_REST = 0.2
#: Parts of the names of scenarios whose scores or covariates are difficult for any interval.
DIFFICULT = ("sparse", "hits", "hit rate", "skewed", "0.95", "rare", "failures", "zeros")
#: Columns that name a cell.
CELL = ("statistic", "source", "scenario", "n_units", "cluster", "icc", "interval")


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return all scenarios; those of the gaze study need its folder."""
    return [scenario for module in MODULES for scenario in module.scenarios(gaze)]


def band(cell: Mapping[str, Any]) -> Band:
    """Return the band in which a default has to lie in a cell."""
    n = cell["n_units"]
    scenario = cell["scenario"]
    statistic = cell["statistic"]
    for module in MODULES:
        if statistic in module.BANDS:
            return module.BANDS[statistic]
    if cell["cluster"] == "few huge":
        return Band(0.92, 1.0, 0.0, 0.07)
    lowest = 0.92
    highest = 1.0
    if n >= 50:
        lowest = 0.94
        highest = 0.96
    elif n >= 20:
        lowest = 0.93
        highest = 0.97
    if scenario.startswith("sparse") and n < 50:
        lowest = 0.92
        highest = 1.0
    if statistic == "AUROC" and scenario == "0.95" and n < 50:
        highest = 1.0
    if statistic == "hit rate" and scenario == "0.99":
        lowest = 0.93
        highest = 1.0
    if n < 30:
        return Band(lowest, highest, 0.0, 0.065)
    return Band(lowest, highest, 0.04, 0.06)


def held(cell: Mapping[str, Any], errors: float = 2) -> str | None:
    """Return "yes" for a default in its band, "within error" within some Monte-Carlo errors, or "no"."""
    if cell["role"] != "default":
        return None
    error = np.sqrt(LEVEL * (1 - LEVEL) / cell["n_studies"])
    coverage = cell.get("coverage", np.nan)
    rejected = cell.get("rejected", np.nan)
    limits = band(cell)
    excesses = [
        limits.lowest - coverage,
        coverage - limits.highest,
        limits.least_rejected - rejected,
        rejected - limits.most_rejected,
    ]
    # A cell without coverage and rejections is outside no band, as if it were far within.
    largest = np.nanmax([*excesses, -1.0])
    if largest <= 1e-12:
        return "yes"
    if largest <= errors * error:
        return "within error"
    return "no"


def has_caution(cell: Mapping[str, Any], errors: float = 2) -> bool:
    """Return whether cautions account for a default outside its band.

    They do if most studies carry one, or if the studies without one hold the level.
    """
    share = cell["cautioned"]
    coverage = cell["coverage_without_caution"]
    if share >= CAUTIONED:
        return True
    if np.isnan(share) or share < CAUTIONED_WITH_GOOD_REST:
        return False
    error = np.sqrt(LEVEL * (1 - LEVEL) / (cell["n_studies"] * (1 - share)))
    limits = band(cell)
    return bool(limits.lowest - errors * error <= coverage <= limits.highest + errors * error)


def well_behaved(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell holds its level with 20 or more units of similar size and no difficult scores."""
    if cell["n_units"] < 20 or cell["cluster"] == "few huge" or cell["statistic"] == "hit rate":
        return False
    if any(name in cell["scenario"] for name in DIFFICULT):
        return False
    return cell["held"] in ("yes", "within error")


def studies(
    scenario: Scenario, design: Design, n: int, batch_size: int
) -> Iterator[tuple[int, pd.DataFrame]]:
    """Yield the number of the first study and the frame of each batch of studies."""
    # Every cell and batch has a seed of its own, so that results do not depend on the order of the work.
    seed = crc32(f"{scenario.source}|{scenario.statistic}|{scenario.name}|{design}".encode())
    for first in range(0, n, batch_size):
        n_studies = min(batch_size, n - first)
        yield first, scenario.make(design, n_studies, np.random.default_rng([seed, first]))


def measure(
    scenario: Scenario, design: Design, n: int, interval: str, n_replicates: int = N_REPLICATES
) -> dict[str, Any]:
    """Return coverage, misses on either side, width and rejections of one interval in one cell."""
    start_s = time.process_time()
    options = scenario.interval_options()[interval]
    rows_per_study = len(scenario.make(design, 1, np.random.default_rng(0)))
    max_studies = _GROUPS_AT_ONCE // scenario.groups
    if interval == "studentized":
        # Variances of replicates need memory for every pair of groups.
        max_studies = 10
    batch_size = int(np.clip(_ROWS_AT_ONCE // rows_per_study, 1, max_studies))
    batches = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first, frame in studies(scenario, design, n, batch_size):
            draws = {"n_replicates": n_replicates, "rng": first}
            batches.append(scenario.call(frame, draws, **options))
    estimates = pd.concat(batches, ignore_index=True)
    low = estimates["conf_low"].to_numpy(float)
    high = estimates["conf_high"].to_numpy(float)
    has_limits = ~(np.isnan(low) | np.isnan(high))
    row = {
        "statistic": scenario.statistic,
        "scenario": scenario.name,
        "source": scenario.source,
        **asdict(design),
        "role": scenario.role(interval),
        "interval": interval,
        "taken": "; ".join(sorted(estimates["interval"].dropna().astype("str").unique())),
        "n_studies": n,
        "n_known": int(has_limits.sum()),
        "seconds": round(time.process_time() - start_s, 2),
    }
    if has_limits.any():
        truth = scenario.true_value(design)
        missed_below = float((high[has_limits] < truth - 1e-12).mean())
        missed_above = float((low[has_limits] > truth + 1e-12).mean())
        coverage = 1 - missed_below - missed_above
        row["coverage"] = coverage
        row["mc_error"] = float(np.sqrt(coverage * (1 - coverage) / has_limits.sum()))
        row["missed_below"] = missed_below
        row["missed_above"] = missed_above
        row["width"] = float(np.median((high - low)[has_limits]))
        row |= caution_columns(estimates, low, high, truth)
    if scenario.null and "p_value" in estimates:
        # a missing P value rejects nothing
        rejected = float((estimates["p_value"] <= 1 - LEVEL).sum() / n)
        row["rejected"] = rejected
        row["rejected_mc_error"] = float(np.sqrt(rejected * (1 - rejected) / n))
    return row


def caution_columns(
    estimates: pd.DataFrame, low: np.ndarray, high: np.ndarray, truth: float
) -> dict[str, float]:
    """Return the share of studies with a caution, and the coverage of the limits of the others."""
    no_caution = np.ones(len(estimates), dtype=bool)
    if "caution" in estimates.columns:
        no_caution = estimates["caution"].isna().to_numpy()
    row = {"cautioned": float(1 - no_caution.mean())}
    counted = no_caution & ~np.isnan(low) & ~np.isnan(high)
    if counted.any():
        covers = (low[counted] <= truth + 1e-12) & (high[counted] >= truth - 1e-12)
        row["coverage_without_caution"] = float(covers.mean())
    return row


def finish(scenario: Scenario, design: Design, n: int, interval: str, file: Path) -> str:
    """Measure one cell and write it into its file; return the error, or "" if there is none."""
    try:
        row = measure(scenario, design, n, interval)
    except Exception as error:  # the other cells go on, and the next run tries this one again
        return f"{file.stem}: {error!r}"
    part = file.with_suffix(".part")
    part.write_text(json.dumps(row))
    part.rename(file)
    return ""


def numbers_of_units(chosen: list[Scenario]) -> tuple[int, ...]:
    """List every number of units that scenarios have, the usual ones first."""
    sizes = list(N_UNITS)
    for scenario in chosen:
        sizes.extend(scenario.units)
    return tuple(dict.fromkeys(sizes))


def grid(chosen: list[Scenario], sizes: tuple[int, ...]) -> list[tuple[Scenario, Design, str]]:
    """List the cells in the order in which they are measured; intervals of the role "other" have fewer."""
    cells = []
    for role in ROLES:
        # scenarios of fewer sizes are slow, and come last
        by_speed = sorted(itertools.product(sizes, chosen), key=lambda cell: -len(cell[1].units))
        for n, scenario in by_speed:
            if n not in scenario.units:
                continue
            intervals = [name for name in scenario.interval_options() if scenario.role(name) == role]
            for design in designs_of(scenario, n, role):
                cells += [(scenario, design, name) for name in intervals]
    return cells


def designs_of(scenario: Scenario, n_units: int, role: str) -> list[Design]:
    """Return the designs of a scenario with a number of units that intervals of a role are measured in."""
    if scenario.source != "simulated":
        if role == "other":
            return []
        return [Design(n_units, "as observed", np.nan)]
    if role != "other":
        return [Design(n_units, cluster, icc) for cluster, icc in scenario.dependence]
    if n_units not in (10, 30, 100):
        return []
    return [Design(n_units, cluster, icc) for cluster, icc in scenario.dependence if icc in (0, 0.3)]


def gather(parts: Path) -> pd.DataFrame:
    """Return all cells that are measured; defaults have their band and whether they held it."""
    rows = [json.loads(file.read_text()) for file in parts.glob("*.json")]
    for row in rows:
        if row["role"] == "default":
            row |= band(row)._asdict()
        row["held"] = held(row)
    keys = ["statistic", "source", "scenario", "cluster", "icc", "n_units", "role", "interval"]
    return pd.DataFrame(rows).sort_values(keys, ignore_index=True).reindex(columns=list(COLUMNS))


def summaries(cells: pd.DataFrame) -> tuple[str, str]:
    """Return both tables of the documentation: the statistics that most studies report, and the others."""
    measured = cells.dropna(subset="coverage")["statistic"].unique()
    return summary(cells, USUAL), summary(cells, sorted(set(measured) - set(USUAL)))


def summary(cells: pd.DataFrame, statistics: Iterable[str]) -> str:
    """Return the range of coverage of each statistic, in percent, as a table of the documentation."""
    columns = [("default", 10), ("default", 30), ("default", 100), ("textbook", 30)]
    lines = ["| statistic | default, 10 units | 30 | 100 | textbook, 30 |", "|---|---|---|---|---|"]
    for statistic in statistics:
        rows = cells[cells["statistic"] == statistic].dropna(subset="coverage")
        texts = []
        for role, n in columns:
            percent = 100 * rows.loc[(rows["role"] == role) & (rows["n_units"] == n), "coverage"]
            if percent.empty:
                texts.append("")
            else:
                texts.append(f"{percent.min():.1f} to {percent.max():.1f}")
        lines.append(f"| {statistic} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def cell_file(parts: Path, scenario: Scenario, design: Design, interval: str) -> Path:
    """Return the file of a cell."""
    values = [scenario.source, scenario.statistic, scenario.name, *asdict(design).values(), interval]
    name = "_".join(str(value) for value in values)
    stem = re.sub(r"[\W_]", "-", name)
    return parts / f"{stem}.json"


def studies_of_cell(scenario: Scenario, design: Design, interval: str, n: int) -> int:
    """Return the number of studies of a cell, from that of a default of usual size and speed."""
    if scenario.role(interval) != "default":
        n //= 2
    # scenarios with other sizes than the usual ones are slow
    if scenario.units != N_UNITS:
        n //= 2
    if design.n_units > 100:
        n //= 2
    return max(n, 1)


def main() -> None:
    """Measure the cells that are missing, and gather all."""
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
    gaze = None
    if options.gaze.is_dir():
        gaze = options.gaze
    listed = scenarios(gaze)
    sizes = numbers_of_units(listed)
    if options.units:
        sizes = tuple(int(n) for n in options.units.split(","))
    chosen = listed
    if options.only:
        chosen = [scenario for scenario in listed if scenario.statistic in options.only.split(",")]
    roles = list(ROLES)
    if options.roles:
        roles = options.roles.split(",")
    work = []
    for scenario, design, interval in grid(chosen, sizes):
        file = cell_file(parts, scenario, design, interval)
        if scenario.role(interval) in roles and not file.exists():
            n = studies_of_cell(scenario, design, interval, options.studies)
            work.append(joblib.delayed(finish)(scenario, design, n, interval, file))
    start_s = time.monotonic()
    errors = joblib.Parallel(n_jobs=options.jobs, batch_size=1, return_as="generator_unordered")(work)
    for i, error in enumerate(errors, 1):
        if error:
            print(error, flush=True)
        if i % 20 == 0 or i == len(work):
            print(f"{i} of {len(work)} cells, {(time.monotonic() - start_s) / 60:.1f} min", flush=True)
    cells = gather(parts)
    write_frame(cells, options.output / "coverage.parquet", overwrite=True)
    outside = cells.loc[cells["held"] == "no", [*CELL, "cautioned"]].round({"cautioned": 3})
    outside.to_csv(options.output / "not_held.csv", index=False)
    print(*summaries(cells), sep="\n")
    versions = {module.__name__: module.__version__ for module in (ss, np, scipy, pd)}
    versions["python"] = platform.python_version()
    build = {"n_studies": options.studies, "n_replicates": N_REPLICATES, "versions": versions}
    (options.output / "build.json").write_text(json.dumps(build, indent=1) + "\n")


if __name__ == "__main__":
    main()
