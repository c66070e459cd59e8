import os
import pickle
from functools import partial

import numpy as np
import pytest

from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.images.preparation import Preparation

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import OUTPUTS, cnn  # noqa: E402

from salstats.explain.checkpoints import load_checkpoint  # noqa: E402
from salstats.explain.methods import METHODS  # noqa: E402
from salstats.explain.networks import Network, network_outputs, said  # noqa: E402

linear = partial(torch.nn.Linear, 4, 2)


@pytest.fixture
def saved(tmp_path):
    """A function that saves something and returns the file."""

    def save(content):
        file = tmp_path / "checkpoint.pt"
        torch.save(content, file)
        return file

    return save


@pytest.mark.parametrize(
    "packed",
    [
        lambda weights: weights,
        lambda weights: {"epoch": 3, "state_dict": weights},
        lambda weights: {"model_state_dict": weights, "optimizer": {}},
        lambda weights: {"model": {f"module.{name}": value for name, value in weights.items()}},
    ],
    ids=["weights", "state_dict", "model_state_dict", "DataParallel"],
)
def test_weights_are_found_where_training_runs_keep_them(saved, packed):
    trained = cnn(5)
    file = saved(packed(trained.state_dict()))
    images = torch.ones(2, 1, 8, 8)
    loaded = load_checkpoint(partial(cnn, 6), file)
    assert torch.equal(loaded(images), trained(images))
    assert not torch.equal(cnn(6)(images), trained(images))


def test_a_prefix_is_taken_off(saved):
    trained = linear()
    file = saved({f"net.{name}": value for name, value in trained.state_dict().items()})
    assert torch.equal(load_checkpoint(linear, file, prefix="net.").weight, trained.weight)
    for prefix in (None, "model."):
        with pytest.raises(InputFileError, match=r"has no weight .*; prefix='net\.' takes off"):
            load_checkpoint(linear, file, prefix=prefix)


def test_files_that_are_no_checkpoint_are_named(saved, tmp_path):
    with pytest.raises(InputFileError, match=r"none.pt: no such file"):
        load_checkpoint(linear, tmp_path / "none.pt")
    # a whole module is a pickle that could run anything
    with pytest.raises(InputFileError, match=r"holds more than weights.*save model.state_dict"):
        load_checkpoint(linear, saved(linear()))
    with pytest.raises(InputFileError, match="holds no weights but a mapping of 'epoch'"):
        load_checkpoint(linear, saved({"epoch": 3}))
    with pytest.raises(InputFileError, match=r"weight is \(2, 5\) in the file and \(2, 4\) in"):
        load_checkpoint(linear, saved(torch.nn.Linear(5, 2).state_dict()))
    damaged = tmp_path / "damaged.pt"
    damaged.write_bytes(saved(linear().state_dict()).read_bytes()[:300])
    with pytest.raises(InputFileError, match=r"damaged.pt: "):
        load_checkpoint(linear, damaged)


class Runs:
    """What would make a folder if it were unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (os.mkdir, (str(self.place),))


def test_a_checkpoint_that_runs_code_is_never_run(saved, tmp_path):
    for content in (Runs(tmp_path / "ran"), {"weight": Runs(tmp_path / "ran")}):
        with pytest.raises(InputFileError, match="holds more than weights"):
            load_checkpoint(linear, saved(content))
        # a plain pickle, not of torch.save
        (tmp_path / "plain.pt").write_bytes(pickle.dumps(content))
        with pytest.raises(InputFileError, match="holds more than weights"):
            load_checkpoint(linear, tmp_path / "plain.pt")
    assert not (tmp_path / "ran").exists()


def test_a_pipe_is_never_waited_for_and_a_folder_is_no_checkpoint(tmp_path):
    os.mkfifo(tmp_path / "pipe.pt")
    with pytest.raises(InputFileError, match=r"pipe.pt: no plain file"):
        load_checkpoint(linear, tmp_path / "pipe.pt")
    with pytest.raises(InputFileError, match="a folder; give a file"):
        load_checkpoint(linear, tmp_path)


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
    with pytest.raises(SalstatsError, match="'seeds' is the same for all methods"):
        network.arguments("rise", METHODS["rise"], {"seeds": [1]})


def test_networks_are_listed_once_with_the_outputs_of_their_tasks():
    a, b, c = (Network(name, cnn, tasks=OUTPUTS) for name in "abc")
    assert network_outputs([a, b], None) == [(a, OUTPUTS), (b, OUTPUTS)]
    assert network_outputs(a, ["Mass"]) == [(a, {"Mass": 2})]
    lists = {"Mass": [a, b], "Edema": [b, c]}
    assert network_outputs(lists, None) == [(a, {"Mass": 2}), (b, {"Mass": 2, "Edema": 0}), (c, {"Edema": 0})]
    plain = Network("d", cnn)
    assert network_outputs([plain, a], {"Edema": 1}) == [(plain, {"Edema": 1}), (a, {"Edema": 0})]


@pytest.mark.parametrize(
    ("networks", "tasks", "message"),
    [
        ([], None, "there is none"),
        ([cnn()], None, "there is Sequential"),
        (cnn(), None, r"there is Sequential; Network\(name, module\) makes one"),
        ([Network("a", cnn), Network("a", cnn)], {"x": 0}, "two networks are called 'a'"),
        ([Network("a", cnn)], None, "tasks is empty"),
        ([Network("a", cnn, tasks={"x": 0.7})], None, "task 'x' is output 0.7, which is no whole number"),
        ([Network("a", cnn)], ["x"], r"does not know task 'x' \(tasks: none; give tasks="),
        ([Network("a", cnn, tasks=OUTPUTS)], ["edema"], r"task 'edema' \(tasks: 'Edema', 'Mass'\)"),
        ({"x": [Network("a", cnn)], "y": []}, {"x": 0, "y": 1}, "no network is listed for task 'y'"),
    ],
)
def test_networks_that_do_not_fit_are_named(networks, tasks, message):
    with pytest.raises(SalstatsError, match=message):
        network_outputs(networks, tasks)


def test_bad_networks_are_named():
    with pytest.raises(SalstatsError, match="needs a name"):
        Network("", cnn)
    with pytest.raises(SalstatsError, match="load must be"):
        Network("a", "model.pt")
    with pytest.raises(ValueRangeError, match="probability='logit'"):
        Network("a", cnn, probability="logit")
    with pytest.raises(SalstatsError, match="must be a Preparation"):
        Network("a", cnn, preparation=cnn)
    with pytest.raises(SalstatsError, match=r"layer must be a name of named_modules\(\)"):
        Network("a", cnn, layer=cnn()[2])
    with pytest.raises(
        SalstatsError, match=r"network 'a:1': load\(\) must return a torch.nn.Module, not dict"
    ):
        Network("a", dict, seed=1).open()


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
    ]
    texts = [said(option) for option in options]
    assert len(set(texts)) == len(texts)
    assert not any(" at 0x" in text for text in [*texts, said(lambda x: x), said(object())])
    assert said(np.arange(3)) == said(np.arange(3))
