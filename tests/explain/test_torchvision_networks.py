import pytest
from tests_support import raises

from salstats.errors import SalstatsError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
models = pytest.importorskip("torchvision.models", reason="needs the explain extra")

from salstats.explain import torchvision_network  # noqa: E402


def test_tasks_are_numbered_and_decide_the_number_of_outputs(tmp_path):
    trained = models.get_model("resnet18", weights=None, num_classes=2)
    torch.save(trained.state_dict(), tmp_path / "best.pt")
    network = torchvision_network("resnet18", tmp_path / "best.pt", tasks=["Edema", "Mass"], layer="layer4")
    assert network.tasks == {"Edema": 0, "Mass": 1}
    assert network.layer == "layer4"
    assert network.preparation.size == (224, 224)
    assert torch.equal(network.open().fc.weight, trained.fc.weight)


def test_the_number_of_outputs_reaches_to_the_last_task_unless_it_is_given(tmp_path):
    network = torchvision_network("resnet18", tmp_path / "none.pt", tasks={"Edema": 3})
    build = network.load.args[0]
    assert build.keywords["num_classes"] == 4
    wider = torchvision_network("resnet18", tmp_path / "none.pt", tasks={"Edema": 3}, n_outputs=14)
    assert wider.load.args[0].keywords["num_classes"] == 14


def test_an_unknown_network_is_named_with_a_similar_one(tmp_path):
    with raises(SalstatsError, option="name", value="resnet-18", match="resnet18"):
        torchvision_network("resnet-18", tmp_path / "none.pt", tasks=["Edema"])


def test_one_task_alone_is_no_sequence_of_letters(tmp_path):
    assert torchvision_network("resnet18", tmp_path / "none.pt", tasks="Edema").tasks == {"Edema": 0}


def test_a_task_named_twice_is_an_error_instead_of_the_task_of_the_later_output(tmp_path):
    with raises(SalstatsError, option="tasks", value="Edema"):
        torchvision_network("resnet18", tmp_path / "none.pt", tasks=["Edema", "Mass", "Edema"])
