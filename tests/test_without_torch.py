"""Everything but `salstats.explain` works where torch is not installed."""

import subprocess
import sys

import pytest

#: Run before anything else: finders say that what the extra brings is not there.
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder
GONE = {"torch", "torchvision", "pytorch_grad_cam", "captum", "sklearn", "skimage"}
class Gone(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone())
import importlib.util
_find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in GONE else _find(name, package)
"""


def run(code, folder):
    """Run code in a Python without the extra, in a folder."""
    return subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", WITHOUT + code],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_extra_is_gone_in_these_tests(tmp_path):
    assert "No module named 'torch'" in run("import torch", tmp_path).stderr


def test_every_public_name_loads(tmp_path):
    code = "import salstats as ss\nprint(len([getattr(ss, name) for name in ss.__all__]))"
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60


def test_explain_says_what_to_install(tmp_path):
    done = run("import salstats as ss\nss.explain", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("pip install 'salstats[explain]' brings it")
    assert "torch, pytorch_grad_cam, captum" in done.stderr


def test_maps_become_scores(tmp_path):
    code = """
import numpy as np, salstats as ss
truth = np.zeros((8, 8), bool); truth[2:5, 2:5] = True
scores = ss.score(ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 0.9}))
print(scores["score"].tolist())
"""
    assert run(code, tmp_path).stdout.strip() == "[1.0, 1.0]"


@pytest.mark.slow
def test_the_demo_runs(tmp_path):
    done = run(
        "from salstats.cli.app import main\nsys.argv = ['salstats', 'demo', '-o', 'out']\nmain()", tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "index.html").is_file()


def test_importing_the_package_does_not_import_the_extra(tmp_path):
    code = "import sys, salstats.cli.app\nprint([m for m in ('torch', 'captum') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
