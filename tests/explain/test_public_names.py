"""The public names of the package that makes maps."""

import pytest

from salstats import explain

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")


@pytest.mark.parametrize("name", explain.__all__)
def test_every_public_name_loads_from_the_file_that_it_is_declared_in(name):
    assert getattr(explain, name).__name__ == name
