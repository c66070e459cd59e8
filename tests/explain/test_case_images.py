import numpy as np
import pytest
from PIL import Image
from tests_support import raises

from salstats.errors import SalstatsError, ShapeError
from salstats.images.preparation import Preparation

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import OUTPUTS, cnn, pictures  # noqa: E402

from salstats.explain.case_images import NetworkImages, case_chunks, ready_image  # noqa: E402
from salstats.explain.forward_passes import predict  # noqa: E402
from salstats.explain.map_plans import case_seed, checked_plan  # noqa: E402
from salstats.explain.networks import Network  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402

GREY = np.full((6, 4), 255, np.uint8)


def test_cases_come_in_order_and_a_stream_is_gone_through_piece_by_piece():
    taken = []

    def stream():
        for case in "abcde":
            taken.append(case)
            yield case, GREY

    pieces = case_chunks(stream(), 2)
    assert list(next(pieces)) == ["a", "b"]
    assert taken == ["a", "b"]
    assert [len(piece) for piece in pieces] == [2, 1]


def test_names_are_text_and_come_once():
    assert list(next(case_chunks([(7, GREY)], 1))) == ["7"]
    with raises(SalstatsError, option="images", value="7"):
        list(case_chunks([(7, GREY), ("7", GREY)], 1))


def test_an_image_is_an_array_a_file_or_what_returns_one(tmp_path):
    file, preparation = tmp_path / "image.npy", Preparation((3, 2), channels=1)
    np.save(file, GREY)
    for image in (GREY, file, str(file), lambda: GREY, lambda: file):
        ready, geometry = ready_image("a", image, preparation)
        np.testing.assert_array_equal(ready, preparation.apply(GREY)[0])
        assert geometry.image_shape == (6, 4)


def test_without_a_preparation_the_image_is_what_the_network_takes():
    image, geometry = ready_image("a", np.ones((2, 6, 4)), None)
    assert image.shape == (2, 6, 4)
    assert geometry.shows_exactly_whole_image
    assert geometry.image_shape_in_input == (6, 4)
    # the shape of the image
    with raises(ShapeError, option="preparation", value="flat", match=r"\(6, 4\)"):
        ready_image("flat", GREY, None)


def test_what_goes_wrong_while_an_image_is_made_says_the_case():
    with pytest.raises(ZeroDivisionError) as caught:
        ready_image("a", lambda: 1 / 0, None)
    assert caught.value.__notes__ == ["while the image of case 'a' was read"]


def test_a_file_of_numbers_may_hold_what_the_network_takes_and_a_picture_does_not(tmp_path):
    file = tmp_path / "image.npy"
    np.save(file, np.ones((3, 6, 4)))
    assert ready_image("a", file, None)[0].shape == (3, 6, 4)
    picture = tmp_path / "image.png"
    Image.fromarray(np.zeros((6, 4, 3), np.uint8)).save(picture)
    with raises(ShapeError, option="preparation"):
        ready_image("a", picture, None)


@pytest.mark.parametrize("images", [3, ["a", "b"], [("a", GREY, GREY)], {}])
def test_images_that_are_no_pairs_of_cases_and_images_are_an_error(images):
    with raises(SalstatsError, option="images"):
        list(case_chunks(images, 2))


@pytest.mark.parametrize("image", [GREY, np.empty((3, 0, 4))])
def test_an_array_that_no_network_takes_is_an_error(image):
    with raises(ShapeError, option="preparation"):
        ready_image("a", image, None)


def network_images(images, model=None, tasks=OUTPUTS, member=0, **options):
    """Images for a network, and the methods of a run over them."""
    network = Network("cnn", model or cnn(), tasks=tasks, probability="sigmoid")
    plan = checked_plan(network, None, ["gradcam", "rise"], {"rise": {"n_masks": 8}}, rng=3, **options)
    outputs = plan.members[0].outputs
    return NetworkImages(plan, network, network.open(), outputs, member, images), plan.methods


def test_probabilities_and_maps_are_those_of_the_network_by_case_and_task():
    images = pictures(3)
    stack = np.stack(list(images.values()))
    of_network, (gradcam, rise) = network_images(images, batch_size=2)
    probs = predict(cnn(), stack, probability="sigmoid")
    expected = {(case, task): probs[i, o] for i, case in enumerate(images) for task, o in OUTPUTS.items()}
    assert of_network.prob_by_pair() == pytest.approx(expected, rel=1e-5)
    pairs = [("case02", "Mass"), ("case00", "Edema")]
    maps = explain(cnn(), stack[[2, 0]], [2, 0], resolution="network")
    np.testing.assert_allclose(of_network.maps(gradcam, None, pairs), maps, atol=1e-6)
    for seed, run_seed in ((None, 3), (8, 8)):
        seeds = [case_seed(run_seed, 0, case) for case, _ in pairs]
        options = {"method": "rise", "n_masks": 8, "resolution": "network", "probability": "sigmoid"}
        drawn = explain(cnn(), stack[[2, 0]], [2, 0], seeds=seeds, **options)
        np.testing.assert_allclose(of_network.maps(rise, seed, pairs), drawn, atol=1e-5)


class FailingNetwork(torch.nn.Module):
    """Gives NaN for an image whose first pixel is negative, and has no memory for one above 1."""

    def forward(self, images):
        first = images[:, 0, 0, 0]
        if (first > 1).any():
            raise torch.OutOfMemoryError
        if (first > 0.9).any():
            raise RuntimeError("broken")
        return torch.where(first < 0, torch.nan, first)[:, None].expand(-1, 3)


def failing_images(**first_pixels):
    images = pictures(3)
    for case in images:
        images[case][0, 0, 0] = first_pixels.get(case, 0.5)
    return network_images(images, FailingNetwork(), batch_size=4)[0]


def test_an_error_of_a_network_names_the_case():
    # the network
    with raises(SalstatsError, value="case01", rows=(0,), match="'cnn'.*NaN"):
        failing_images(case01=-1).prob_by_pair()
    with raises(SalstatsError, option="batch_size", value=4, match="'cnn'"):
        failing_images(case02=2).prob_by_pair()
    # the network, and what it raises
    with raises(SalstatsError, value="case02", match="'cnn'.*broken"):
        failing_images(case02=0.95).prob_by_pair()
    with raises(SalstatsError, option="tasks", value=5):
        network_images(pictures(1), tasks={"Edema": 0, "Fracture": 5})[0].prob_by_pair()


def test_an_error_of_a_map_names_the_case_and_the_task():
    of_network, (gradcam, _) = network_images(
        pictures(2), torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
    )
    with raises(SalstatsError, value=("case01", "Mass"), match="'cnn'"):
        of_network.maps(gradcam, None, [("case01", "Mass")])
