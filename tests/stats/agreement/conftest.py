from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference():
    """What this project made with R and pingouin."""
    return Path(__file__).parents[2] / "reference" / "agreement"
