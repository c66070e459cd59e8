"""Without the shared data a test that needs them says so; under CI that is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDS_SHARED = "tests/stats/engine/test_paired_tests.py::test_sign_flip_equals_r_on_its_signs"


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", "1 error"), pytest.param("", "1 skipped", marks=pytest.mark.slow)]
)
def test_missing_shared_data_are_a_skip_that_says_so_and_a_failure_under_ci(tmp_path, ci, outcome):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", NEEDS_SHARED],
        cwd=ROOT,
        env={**os.environ, "CI": ci, "SALSTATS_SHARED": str(tmp_path / "nowhere")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in done.stdout
    assert "set SALSTATS_SHARED to where they are" in done.stdout
    assert done.returncode == (1 if ci else 0)
