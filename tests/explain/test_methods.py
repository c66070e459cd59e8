from importlib import import_module
from inspect import signature

import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.map_finishing import CHANNELS, SIGNS  # noqa: E402
from salstats.explain.methods import (  # noqa: E402
    METHODS,
    checked_method,
    list_methods,
    names_of_methods_without_hooks,
    options_with_defaults,
)


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
        set(rows.index[~rows["hooks"]])
        == {"occlusion", "lime", "kernel_shap", "rise"}
        == {*names_of_methods_without_hooks()}
    )
    cams = {name for name in METHODS if name.endswith("cam") or name == "gradcam++"}
    assert set(rows.index[rows["layer"]]) == {*cams, "activation"}


def test_options_have_defaults_and_strange_ones_are_named():
    row = METHODS["occlusion"]
    assert options_with_defaults(row, {"window": 3}) == {**row.options, "window": 3}
    with raises(SalstatsError, option="size", choices=("window", "stride", "baseline")) as caught:
        options_with_defaults(row, {"size": 3})
    assert all(f"'{name}'" in str(caught.value.hint) for name in row.options)
    # of a method without options there is none to choose from
    name = next(name for name in METHODS if not METHODS[name].options)
    with raises(SalstatsError, option="size", choices=()) as caught:
        options_with_defaults(METHODS[name], {"size": 3})
    assert "none" in str(caught.value.hint)


def test_a_record_has_the_attributes_and_options_of_its_declaration():
    rise = METHODS["rise"]
    assert (rise.kind, rise.random, rise.run) == (
        "perturbation",
        True,
        "salstats.explain.perturbations:run_rise",
    )
    assert "random" not in rise.options
    assert rise.options["n_masks"] > 0
    with pytest.raises(TypeError):
        rise.options["n_masks"] = 1
    assert METHODS["gradcam++"].run == "salstats.explain.cams:run_gradcamplusplus"
    assert not METHODS["gradcam"].random


def test_an_unknown_method_is_named_with_those_there_are():
    assert checked_method("rise") is METHODS["rise"]
    with raises(ValueRangeError, option="method", value="cam", choices=tuple(METHODS)):
        checked_method("cam")


def test_the_list_holds_the_options_of_each_method():
    options = list_methods().set_index("method")["options"]
    for name, record in METHODS.items():
        listed = eval(f"dict({options[name]})", {"inf": float("inf"), "array": None})
        assert listed == dict(record.options), name


def test_settings_are_those_of_papers_and_of_the_methods_own_packages():
    published = {
        # Petsiuk et al. 2018 for VGG16: masks of 7 x 7 cells, kept with probability 1/2
        "rise": {"n_masks": 4000, "cells": 7, "keep": 0.5},
        # `explain_instance` of lime's LimeImageExplainer; Lasso and kernel of captum's `Lime`
        "lime": {"n_samples": 1000, "alpha": 0.01, "kernel_width": 1.0},
        # as many samples as LIME, of which it is another weighting
        "kernel_shap": {"n_samples": 1000},
        # `IntegratedGradients.attribute` and `EpsilonRule` of captum
        "integrated_gradients": {"n_steps": 50},
        "lrp": {"epsilon": 1e-9},
        # without noise, as `GradientShap.attribute` of captum
        "gradient_shap": {"stdev": 0.0},
        # Abnar & Zuidema 2020, section 3: (attention + identity) / 2; one class token stands before patches
        "attention_rollout": {"residual": 0.5, "n_prefix": 1, "discard": 0.0},
        # the principal component of pytorch-grad-cam is a choice (`eigen_smooth`) for maps by gradients
        "gradcam": {"eigen_smooth": False},
        "gradcam++": {"eigen_smooth": False},
        "xgradcam": {"eigen_smooth": False},
    }
    for name, settings in published.items():
        options = METHODS[name].options
        assert {option: options[option] for option in settings} == settings, name


def test_some_methods_draw_random_numbers_and_some_explain_no_output():
    # samples of baselines, of superpixels or of masks
    assert {name for name in METHODS if METHODS[name].random} == {
        "gradient_shap", "lime", "kernel_shap", "rise",
    }  # fmt: skip
    # a layer's principal component, a layer itself, and all attention
    assert {name for name in METHODS if not METHODS[name].depends_on_target} == {
        "eigencam", "activation", "attention_rollout",
    }  # fmt: skip
