import numpy as np
import pytest
from PIL import Image
from tests_support import raises

from salstats.errors import SalstatsError, ShapeError
from salstats.images.preparation import Preparation

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.case_images import case_chunks, ready_image  # noqa: E402

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
    assert geometry.fills
    assert geometry.image_shape_in_input == (6, 4)
    with raises(ShapeError, option="preparation", match=r"^case 'flat': .*\(6, 4\)"):
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
