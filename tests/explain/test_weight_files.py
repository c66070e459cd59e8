import os
import pickle
from functools import partial

import pytest
from tests_support import raises

from salstats.errors import InputFileError, SalstatsError, Setting

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import cnn  # noqa: E402

from salstats.explain.weight_files import load_checkpoint  # noqa: E402

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
        with raises(InputFileError, path=file, hint=Setting("prefix", "net.")):
            load_checkpoint(linear, file, prefix=prefix)


def test_the_first_difference_of_each_kind_is_named_and_the_others_counted(saved):
    weights = linear().state_dict()
    one_more = weights | {"scale": torch.ones(1)}
    with raises(InputFileError, choices=("weight", "bias", "scale"), hint="", match="scale$"):
        load_checkpoint(linear, saved(one_more))
    with raises(InputFileError, match=r"first \(and 1 more\)$"):
        load_checkpoint(linear, saved(weights | {"first": torch.ones(1), "second": torch.ones(1)}))
    with raises(InputFileError, match="bias$"):
        load_checkpoint(linear, saved({"weight": weights["weight"]}))
    with raises(InputFileError, match=r"weight \(and 1 more\) and .*first$"):
        load_checkpoint(linear, saved({"first": torch.ones(1)}))


def test_files_that_are_no_checkpoint_are_named(saved, tmp_path):
    with raises(InputFileError, path=tmp_path / "none.pt") as caught:
        load_checkpoint(linear, tmp_path / "none.pt")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    # a whole module is a pickle that could run anything
    with raises(InputFileError, hint="save model.state_dict()"):
        load_checkpoint(linear, saved(linear()))
    with raises(InputFileError, value=["epoch"]):
        load_checkpoint(linear, saved({"epoch": 3}))
    # the shapes in the file and in the network
    with raises(InputFileError, choices=("weight", "bias"), match=r"weight .*\(2, 5\) .*\(2, 4\) "):
        load_checkpoint(linear, saved(torch.nn.Linear(5, 2).state_dict()))
    damaged = tmp_path / "damaged.pt"
    damaged.write_bytes(saved(linear().state_dict()).read_bytes()[:300])
    with raises(InputFileError, path=damaged, hint=""):
        load_checkpoint(linear, damaged)


@pytest.mark.parametrize("build", [linear(), "linear"])
def test_a_network_in_the_place_of_its_class_is_an_error(saved, build):
    with raises(SalstatsError, option="build"):
        load_checkpoint(build, saved(linear().state_dict()))


class Runs:
    """What would make a folder if it were unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (os.mkdir, (str(self.place),))


def test_a_checkpoint_that_runs_code_is_never_run(saved, tmp_path, monkeypatch):
    # by which torch runs the code of files for callers that do not decline it
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    for content in (Runs(tmp_path / "ran"), {"weight": Runs(tmp_path / "ran")}):
        with raises(InputFileError, hint="save model.state_dict()"):
            load_checkpoint(linear, saved(content))
        # a plain pickle, not of torch.save
        (tmp_path / "plain.pt").write_bytes(pickle.dumps(content))
        with raises(InputFileError, hint="save model.state_dict()"):
            load_checkpoint(linear, tmp_path / "plain.pt")
    assert not (tmp_path / "ran").exists()


def test_a_pipe_is_never_waited_for_and_a_folder_is_no_checkpoint(tmp_path):
    os.mkfifo(tmp_path / "pipe.pt")
    with raises(InputFileError, path=tmp_path / "pipe.pt"):
        load_checkpoint(linear, tmp_path / "pipe.pt")
    with raises(InputFileError, path=tmp_path, hint="give a file"):
        load_checkpoint(linear, tmp_path)
