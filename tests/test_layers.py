"""The house: imports go down only, and each folder knows only what it may."""

import ast
import re
from pathlib import Path

import pytest

import salstats

ROOT = Path(salstats.__file__).parent
#: From the ground up: each imports itself and what stands before it.
FLOORS = (
    *("errors", "checks", "memory_limit", "jobs", "coded_text", "images", "metrics", "score_checks", "study"),
    *(
        "frames",
        "files",
        "readers",
        "datasets",
        "stats",
        "display",
        "scoring",
        "explain",
        "studies",
        "cli",
        "__main__",
    ),
)
#: What a folder may not know although it stands lower, and libraries it does without.
FORBIDDEN = {
    "images": {"pandas", "plotnine"},
    "metrics": {"pandas", "plotnine"},
    "stats": {"salstats.images", "salstats.readers", "salstats.datasets", "cv2", "plotnine", "great_tables"},
    "display": {"salstats.images", "salstats.readers", "salstats.scoring", "salstats.datasets"},
}
#: What the extra `explain` brings: no other folder may want it.
OF_THE_EXTRA = {"torch", "torchvision", "pytorch_grad_cam", "captum", "sklearn"}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.relative_to(ROOT).parts[0].split(".")[0] in FLOORS)


def imports(path):
    """Every module a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down_only(path):
    here = path.relative_to(ROOT).with_suffix("").parts[0]
    below = FLOORS[: FLOORS.index(here) + 1]
    outside = set() if here == "explain" else OF_THE_EXTRA
    for name in imports(path):
        top, *inner = name.split(".")
        if top == "salstats" and inner:
            assert inner[0] in below, f"{here} imports {name}"
            assert inner[0] != "explain" or here == "explain", f"{here} imports {name}"
        for barred in FORBIDDEN.get(here, set()) | outside:
            assert not f"{name}.".startswith(f"{barred}."), f"{here} imports {name}"


@pytest.mark.parametrize("cellar", ["stats/engine", "display/plots/layout"])
def test_what_others_share_does_not_look_up(cellar):
    above = f"salstats.{cellar.rpartition('/')[0].replace('/', '.')}"
    for path in (ROOT / cellar).glob("*.py"):
        for name in imports(path):
            is_above = f"{name}.".startswith(f"{above}.")
            assert not is_above or name.startswith(f"salstats.{cellar.replace('/', '.')}"), path.name


def test_no_module_seeds_the_global_generator():
    for path in MODULES:
        assert "np.random.seed" not in path.read_text(), path.name


def test_the_drawing_of_the_house_has_every_folder():
    drawing = (Path(__file__).parents[1] / "docs" / "developers" / "house.svg").read_text()
    drawn = {*re.findall(r'font-weight="bold">(\w+)<', drawing)}
    assert drawn == {*FLOORS} - {"__main__"}
