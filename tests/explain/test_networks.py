from functools import partial

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError
from salstats.images.preparation import Preparation

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import OUTPUTS, cnn  # noqa: E402

from salstats.explain.layers import VitGrid  # noqa: E402
from salstats.explain.methods import METHODS  # noqa: E402
from salstats.explain.networks import (  # noqa: E402
    Network,
    checked_output_index,
    members_with_outputs,
    stable_option_text,
)

linear = partial(torch.nn.Linear, 4, 2)


@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
def test_the_digest_changes_with_what_maps_depend_on():
    def digest(network, model):
        return network.digest(model)

    network, model = Network("a", cnn), cnn()
    same = digest(network, model)
    assert digest(Network("b", cnn, seed=3), cnn()) == same
    nudged = cnn()
    nudged[6].bias.data[0] += 1e-6
    other = cnn()
    other[3] = torch.nn.Sigmoid()
    changed = [
        digest(network, nudged),
        digest(network, other),
        digest(network, cnn().double()),
        digest(Network("a", cnn, probability="softmax"), model),
        digest(Network("a", cnn, preparation=Preparation()), model),
        digest(network, torch.jit.trace(cnn(), torch.ones(1, 1, 8, 8), check_trace=False)),
    ]
    assert len({same, *changed}) == 7


def test_a_method_gets_the_layer_only_where_it_has_one():
    network = Network("a", cnn, layer="2", reshape="vit", options={"occlusion": {"window": 5}})
    cam = network.arguments("gradcam", METHODS["gradcam"], {"smooth": 3})
    assert cam == {"layer": "2", "reshape": "vit", "smooth": 3}
    assert network.arguments("occlusion", METHODS["occlusion"], {"window": 9, "stride": 4}) == {
        "window": 5,
        "stride": 4,
    }
    assert network.arguments("rise", METHODS["rise"], {}) == {"probability": "sigmoid"}
    with raises(SalstatsError, option="options", value="seeds"):
        network.arguments("rise", METHODS["rise"], {"seeds": [1]})


def test_networks_are_listed_once_with_the_outputs_of_their_tasks():
    a, b, c = (Network(name, cnn, tasks=OUTPUTS) for name in "abc")
    assert members_with_outputs([a, b], None) == [(a, OUTPUTS), (b, OUTPUTS)]
    assert members_with_outputs(a, ["Mass"]) == [(a, {"Mass": 2})]
    lists = {"Mass": [a, b], "Edema": [b, c]}
    assert members_with_outputs(lists, None) == [
        (a, {"Mass": 2}),
        (b, {"Mass": 2, "Edema": 0}),
        (c, {"Edema": 0}),
    ]
    plain = Network("d", cnn)
    assert members_with_outputs([plain, a], {"Edema": 1}) == [(plain, {"Edema": 1}), (a, {"Edema": 0})]


@pytest.mark.parametrize(
    ("networks", "tasks", "option", "value", "choices"),
    [
        ([], None, "networks", None, ()),
        ([cnn()], None, "networks", "Sequential", ()),
        (cnn(), None, "networks", "Sequential", ()),
        ([Network("a", cnn), Network("a", cnn)], {"x": 0}, "networks", "a", ()),
        ([Network("a", cnn)], None, "tasks", None, ()),
        ([Network("a", cnn, tasks={"x": 0.7})], None, "tasks", 0.7, ()),
        # a network that knows no task, and one that knows others
        ([Network("a", cnn)], ["x"], "tasks", "x", ()),
        ([Network("a", cnn, tasks=OUTPUTS)], ["edema"], "tasks", "edema", tuple(OUTPUTS)),
        ({"x": [Network("a", cnn)], "y": []}, {"x": 0, "y": 1}, "networks", "y", ()),
    ],
)
def test_networks_that_do_not_fit_are_named(networks, tasks, option, value, choices):
    with raises(SalstatsError, option=option, value=value, choices=choices):
        members_with_outputs(networks, tasks)


def test_an_output_that_a_network_does_not_have_is_named_with_those_it_has():
    network = Network("a", cnn)
    assert checked_output_index(np.int64(2), "Mass", network, 3) == 2
    assert checked_output_index(0, "Mass", network, 3) == 0
    # without the number of outputs any whole number may be one
    assert checked_output_index(7, "Mass", network) == 7
    for output in (3, -1):
        with raises(SalstatsError, option="tasks", value=output, match=r"\b3\b.*\b0 to 2\b"):
            checked_output_index(output, "Mass", network, 3)
    for output in (True, 1.0, "1"):
        with raises(SalstatsError, option="tasks", value=output):
            checked_output_index(output, "Mass", network)


def test_bad_networks_are_named():
    with raises(SalstatsError, option="name"):
        Network("", cnn)
    with raises(SalstatsError, option="load", match="'a'"):
        Network("a", "model.pt")
    with raises(ValueRangeError, option="probability", value="logit"):
        Network("a", cnn, probability="logit")
    with raises(SalstatsError, option="preparation"):
        Network("a", cnn, preparation=cnn)
    with raises(SalstatsError, option="layer"):
        Network("a", cnn, layer=cnn()[2])
    with raises(SalstatsError, option="load", value="dict", match="'a:1'"):
        Network("a", dict, seed=1).open()


def test_an_error_of_the_users_own_code_names_the_network_its_function_and_the_cause():
    def load():
        raise KeyError("lost")

    with raises(SalstatsError, option="load", match=r"'a'.*load\(\).*KeyError: 'lost'") as caught:
        Network("a", load).open()
    assert type(caught.value.__cause__) is KeyError


def test_options_are_said_the_same_in_every_run_and_differ_where_they_do():
    options = [
        None,
        1,
        1.0,
        "1",
        [1, 2],
        {"a": 1},
        np.arange(3),
        np.arange(3.0),
        torch.ones(2),
        max,
        np.float64(2),
        # records are known by their fields
        VitGrid(2, 3),
        VitGrid(3, 2),
        VitGrid,
    ]
    texts = [stable_option_text(option) for option in options]
    assert len(set(texts)) == len(texts)
    assert not any(
        " at 0x" in text for text in [*texts, stable_option_text(lambda x: x), stable_option_text(object())]
    )
    assert stable_option_text(np.arange(3)) == stable_option_text(np.arange(3))
