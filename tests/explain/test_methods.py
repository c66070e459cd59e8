from importlib import import_module
from inspect import signature

import pytest
from tests_support import raises

from salstats.errors import SalstatsError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.map_finishing import CHANNELS, SIGNS  # noqa: E402
from salstats.explain.methods import METHODS, check_options, list_methods, without_hooks  # noqa: E402


@pytest.mark.parametrize("row", METHODS.values(), ids=METHODS)
def test_every_method_has_a_runner_known_rules_and_a_source_that_can_be_found(row):
    module, function = row.run.split(":")
    assert "request" in signature(getattr(import_module(module), function)).parameters
    assert row.channels in CHANNELS
    assert row.sign in SIGNS
    assert any(mark in row.source for mark in ("doi:10.", "arXiv:"))


def test_the_list_says_what_needs_outputs_only():
    rows = list_methods().set_index("method")
    assert rows.index.tolist() == list(METHODS)
    assert (
        set(rows.index[~rows["hooks"]]) == {"occlusion", "lime", "kernel_shap", "rise"} == {*without_hooks()}
    )
    cams = {name for name in METHODS if name.endswith("cam") or name == "gradcam++"}
    assert set(rows.index[rows["layer"]]) == {*cams, "activation"}


def test_options_have_defaults_and_strange_ones_are_named():
    row = METHODS["occlusion"]
    assert check_options(row, {"window": 3}) == {**row.options, "window": 3}
    with raises(SalstatsError, option="size", choices=("window", "stride", "baseline")):
        check_options(row, {"size": 3})
