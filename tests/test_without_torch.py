"""Nothing but `salstats.explain` asks for torch; `.ci/without_torch` runs each stage where it is missing."""

import subprocess
import sys

import pytest

#: Run before anything else: finders say that what the extra brings is not there.
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder
GONE = {"torch", "torchvision", "pytorch_grad_cam", "captum", "sklearn"}
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


@pytest.mark.slow
def test_every_public_name_loads(tmp_path):
    code = "import salstats as ss\nprint(len([getattr(ss, name) for name in ss.__all__]))"
    done = run(code, tmp_path)
    assert int(done.stdout or 0) > 60, done.stderr


def test_explain_says_what_to_install(tmp_path):
    done = run("import salstats as ss\nss.explain", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("pip install 'salstats[explain]' brings it")
    assert "torch, pytorch_grad_cam, captum" in done.stderr


def test_making_maps_on_the_command_line_says_what_to_install(tmp_path):
    (tmp_path / "images").mkdir()
    arguments = ["make-maps", "images", "--network", "densenet121", "-o", "maps"]
    done = run(f"from salstats.cli.app import main\nmain({arguments})", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("salstats: error: salstats.explain needs torch")
    assert done.stderr.endswith("pip install 'salstats[explain]' brings it\n")
    assert run("from salstats.cli.app import main\nmain(['make-maps', '--help'])", tmp_path).returncode == 0


def test_importing_the_package_does_not_import_the_extra(tmp_path):
    code = "import sys, salstats.cli.app\nprint([m for m in ('torch', 'captum') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
