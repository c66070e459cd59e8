import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.rewiring import separate_modules  # noqa: E402


def test_a_network_comes_back_as_it_is():
    model = torch.nn.Sequential(torch.nn.ReLU())
    with pytest.warns(DeprecationWarning, match="no longer needed"):
        assert separate_modules(model) is model
