"""The house: imports go down only, and each floor knows what it may."""

import ast
from pathlib import Path

import pytest

import salstats

ROOT = Path(salstats.__file__).parent
# higher may import lower, never the other way round
FLOORS = {
    "cli": 5,
    "cli_base": 5,
    "cli_options": 5,
    "cli_study": 5,
    "cli_gaze": 5,
    "analysis_options": 5,
    "__main__": 5,
    "display": 4,
    "explain": 4,
    "stats": 3,
    "scoring": 3,
    "scoring_cases": 3,
    "gaze_scoring": 3,
    "gaze_cases": 3,
    "gaze_sampling": 3,
    "distance_scoring": 3,
    "mask_simulation": 3,
    "tuning": 3,
    "segmenting": 3,
    "repeatability": 3,
    "benchmark_scoring": 3,
    "masking": 3,
    "jobs": 3,
    "checkpoints": 3,
    "readers": 3,
    "datasets": 3,
    "simulation": 3,
    "frames": 2,
    "codes": 2,
    "map_folder": 2,
    "map_table": 2,
    "map_json": 2,
    "folder_lock": 1,
    "study": 2,
    "gaze_study": 2,
    "reading_labels": 2,
    "checks": 1,
    "threads": 1,
    "inputs": 1,
    "outputs": 1,
    "workbooks": 1,
    "metrics": 1,
    "images": 1,
}
FORBIDDEN = {
    "stats": {"cv2", "skimage", "plotnine", "great_tables"},
    "metrics": {"pandas", "plotnine"},
    "images": {"pandas", "plotnine"},
}
#: What the extra `explain` brings: no other part of the package may want it.
OF_THE_EXTRA = {"torch", "torchvision", "pytorch_grad_cam", "captum", "sklearn", "skimage"}
MODULES = sorted(p for p in ROOT.rglob("*.py") if "_data" not in p.parts and p.name != "__init__.py")


def place(path):
    """The first part of a module's path below the package."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(path):
    """Every module a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down_only(path):
    here = place(path)
    assert here in FLOORS, f"{here} has no floor; add it to the list"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "salstats" and len(parts) > 1:
            assert FLOORS[parts[1]] <= FLOORS[here], f"{path.name} imports {name}"
            assert parts[1] != "explain" or here == "explain", f"{path.name} imports {name}"
        if here != "explain":
            assert parts[0] not in OF_THE_EXTRA, f"{path.name} imports {name}"
        assert parts[0] not in FORBIDDEN.get(here, set()), f"{path.name} imports {name}"


def test_readers_and_stats_do_not_know_each_other():
    for path in MODULES:
        if place(path) == "stats":
            assert not any(name.startswith("salstats.readers") for name in imports(path)), path.name
        if place(path) == "readers":
            assert not any(name.startswith("salstats.stats") for name in imports(path)), path.name


def test_no_module_seeds_the_global_generator():
    for path in MODULES:
        assert "np.random.seed" not in path.read_text(), path.name
