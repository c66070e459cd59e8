import numpy as np
import pytest

from salstats.checks import SalstatsError, ShapeError
from salstats.images.preparation import Preparation

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.case_images import ReadyImages, chunks  # noqa: E402

GREY = np.full((6, 4), 255, np.uint8)


def test_cases_come_in_order_and_a_stream_is_gone_through_piece_by_piece():
    taken = []

    def stream():
        for case in "abcde":
            taken.append(case)
            yield case, GREY

    pieces = chunks(stream(), 2)
    assert [case for case, _ in next(pieces)] == ["a", "b"]
    assert taken == ["a", "b"]
    assert [len(piece) for piece in pieces] == [2, 1]
    assert [case for piece in chunks({"x": GREY, "y": GREY}, 5) for case, _ in piece] == ["x", "y"]


def test_names_are_text_and_come_once():
    assert next(chunks([(7, GREY)], 1))[0][0] == "7"
    with pytest.raises(SalstatsError, match="case '7' twice"):
        list(chunks([(7, GREY), ("7", GREY)], 1))


def test_an_image_is_read_once_where_it_is_kept():
    asked = []
    cases = [("a", lambda: asked.append(1) or GREY)]
    prepare = Preparation((3, 2), channels=1)
    for keep, times in ((True, 1), (False, 2)):
        asked.clear()
        ready = ReadyImages(cases, keep=keep)
        for _ in range(2):
            image, geometry = ready.get("a", Preparation((3, 2), channels=1))
            np.testing.assert_array_equal(image, prepare.apply(GREY)[0])
            assert geometry.image_shape == (6, 4)
        assert len(asked) == times
    # another preparation is another image
    assert ready.get("a", Preparation((2, 2)))[0].shape == (3, 2, 2)


def test_a_callable_may_return_a_file(tmp_path):
    np.save(tmp_path / "image.npy", GREY)
    ready = ReadyImages([("a", lambda: tmp_path / "image.npy")], keep=False)
    np.testing.assert_array_equal(ready.get("a", Preparation((6, 4), channels=1))[0][0], 1)


def test_without_a_preparation_the_image_is_what_the_network_takes():
    ready = ReadyImages([("a", np.ones((2, 6, 4))), ("flat", GREY)], keep=False)
    image, geometry = ready.get("a", None)
    assert image.shape == (2, 6, 4)
    assert geometry.fills
    assert geometry.frame_shape == (6, 4)
    with pytest.raises(ShapeError, match=r"case 'flat': without a preparation .* of shape \(6, 4\)"):
        ready.get("flat", None)


def test_what_goes_wrong_while_an_image_is_made_says_the_case():
    def fail():
        raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError) as caught:
        ReadyImages([("a", fail)], keep=False).get("a", None)
    assert caught.value.__notes__ == ["while the image of case 'a' was read"]
