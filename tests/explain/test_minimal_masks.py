"""Minimal sufficient masks: the plain search is the oracle, and what each search promises beyond it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests_support import raises

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.pixel_step_models import Counting, linear, small_cnn  # noqa: E402

from salstats.errors import SalstatsError, ValueRangeError  # noqa: E402
from salstats.explain.minimal_masks import StepSearch, minimal_mask  # noqa: E402
from salstats.images.map_steps import resize  # noqa: E402

SEARCHES = ("exact", "bisection")


def ones(n=1, side=6):
    return np.ones((n, 1, side, side), np.float32)


def orders(n, side=6):
    """Maps of different orders."""
    return np.random.default_rng(5).random((n, side, side))


def plain_search(model, images, maps, sizes, targets=None):
    """One chunk at a time, one image at a time, until the class is kept; None where it never is."""
    model.eval()
    found = []
    with torch.no_grad():
        for place, (image, saliency) in enumerate(zip(images, maps, strict=True)):
            whole = int(model(torch.from_numpy(image[None])).argmax())
            wanted = whole if targets is None else targets[place]
            order = np.argsort(-saliency.ravel(), kind="stable")
            for size in sizes:
                shown = np.zeros_like(image).reshape(len(image), -1)
                shown[:, order[:size]] = image.reshape(len(image), -1)[:, order[:size]]
                if int(model(torch.from_numpy(shown.reshape(1, *image.shape))).argmax()) == wanted:
                    found.append(size)
                    break
            else:
                found.append(None)
    return found


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("least", [0, 1, 7, 18, 35, 36])
@pytest.mark.parametrize("batch_size", [1, 5, 64])
def test_both_searches_are_the_plain_one_where_more_pixels_never_lose_the_class(search, least, batch_size):
    model = Counting(range(least, 37))
    masks, frame = minimal_mask(
        model, ones(3), orders(3), cases=[*"abc"], chunk=1, search=search, batch_size=batch_size
    )
    assert frame["n_pixels"].tolist() == plain_search(model, ones(3), orders(3), range(37)) == [least] * 3
    assert frame["found"].all()
    assert frame["fraction"].tolist() == [least / 36] * 3
    for mask, saliency in zip(masks, orders(3), strict=True):
        assert mask.sum() == least
        assert saliency[mask].min(initial=2) > saliency[~mask].max(initial=-1)


@pytest.mark.parametrize("batch_size", [1, 4, 7, 100])
def test_exact_search_is_the_plain_one_on_a_real_network_and_bisection_may_not_be(batch_size):
    rng = np.random.default_rng(11)
    images = rng.normal(size=(40, 2, 8, 8)).astype(np.float32)
    maps = rng.normal(size=(40, 8, 8))
    model, sizes = small_cnn(), [*range(0, 64, 3), 64]
    plain = plain_search(model, images, maps, sizes)
    # the fixture is what it is for: the class comes and goes, and comes at many steps
    assert len(set(plain)) > 5
    exact = minimal_mask(model, images, maps, chunk=3, batch_size=batch_size).frame
    assert exact["n_pixels"].tolist() == plain
    halved = minimal_mask(model, images, maps, chunk=3, batch_size=batch_size, search="bisection").frame
    assert (halved["n_pixels"] >= exact["n_pixels"]).all()


def test_bisection_shows_fewer_images_and_exact_search_no_more_than_the_plain_one():
    numbers = range(25, 37)
    passes = {}
    for search in SEARCHES:
        model = Counting(numbers)
        frame = minimal_mask(model, ones(8), orders(8), chunk=1, search=search, batch_size=8).frame
        passes[search] = frame["n_passes"].tolist()
        # and the whole image and the blank one, which are the same for all eight
        assert model.seen == sum(passes[search]) + 2
    assert passes["exact"] == [25] * 8
    assert max(passes["bisection"]) <= 6


def test_the_class_is_that_of_the_whole_image_unless_one_is_asked_for():
    images = np.stack([np.full((1, 4, 4), value, np.float32) for value in (1, -1)])
    model = linear(np.array([np.ones(16), np.zeros(16), -np.ones(16)]))
    maps = orders(2, 4)
    own = minimal_mask(model, images, maps, chunk=4).frame
    assert own["target"].tolist() == [0, 2]
    assert own["n_pixels"].tolist() == [0, 4]  # of three equal outputs of a blank image the first counts
    asked = minimal_mask(model, images, maps, [1, 2], chunk=4)
    assert asked.frame["found"].tolist() == [False, True]
    assert np.isnan(asked.frame["n_pixels"].iloc[0])
    assert not asked.masks[0].any()
    assert asked.frame["reason"].tolist() == ["no step keeps the class", ""]
    halved = minimal_mask(model, images, maps, [1, 2], chunk=4, search="bisection").frame
    assert halved["reason"].tolist() == ["the whole image is not of the class", ""]


def test_sigmoid_asks_for_a_probability():
    weights = np.linspace(0.5, 1, 16)
    saliency = weights.reshape(1, 4, 4)
    sums = np.concatenate([[0], np.cumsum(weights[::-1])])
    for cutoff in (0.5, 0.9, 0.999):
        frame = minimal_mask(
            linear(weights), ones(side=4), saliency, 0, probability="sigmoid", cutoff=cutoff, chunk=1
        ).frame
        assert frame["n_pixels"].item() == int(np.argmax(1 / (1 + np.exp(-sums)) >= cutoff))


def test_rows_and_masks_belong_together_for_several_methods_and_maps_of_other_sizes():
    maps = {"coarse": np.random.default_rng(0).random((2, 3, 3)), "fine": orders(2)}
    masks, frame = minimal_mask(
        Counting(range(9, 37)), ones(2), maps, cases=["p", "p"], tasks=["s", "t"], chunk=3
    )
    assert frame[["case", "task", "method"]].apply(tuple, axis=1).tolist() == [
        ("p", "s", "coarse"), ("p", "s", "fine"), ("p", "t", "coarse"), ("p", "t", "fine"),
    ]  # fmt: skip
    for row, (method, place) in enumerate([("coarse", 0), ("fine", 0), ("coarse", 1), ("fine", 1)]):
        laid = maps[method][place] if method == "fine" else resize(maps[method][place], (6, 6))
        assert masks[row].sum() == 9
        assert laid[masks[row]].min() > laid[~masks[row]].max()


def test_a_constant_map_has_no_mask():
    maps = {"flat": np.zeros((1, 2, 2)), "fine": orders(1)}
    masks, frame = minimal_mask(Counting(range(4, 37)), ones(), maps, chunk=1)
    assert frame["found"].tolist() == [False, True]
    assert frame["reason"].tolist() == ["constant map", ""]
    assert frame["n_passes"].iloc[0] == 0
    assert not masks[0].any()
    # also where none would be enough
    assert not minimal_mask(Counting(range(37)), ones(), maps).frame["found"].iloc[0]


@pytest.mark.parametrize("lit", [0, 4, 36])
def test_a_model_that_gives_nan_names_the_case(lit):
    class Failing(torch.nn.Module):
        def forward(self, images):
            n = images.flatten(1).sum(dim=1)
            return torch.stack([torch.where(n == lit, torch.nan, 9 - n), 0 * n], dim=1)

    # the case of the image
    with raises(ValueRangeError, rows=(0,), value=lit, match="case p"):
        minimal_mask(Failing(), ones(), orders(1), cases=["p"], chunk=1)


@pytest.mark.parametrize(
    ("options", "kind", "option", "value"),
    [
        ({"search": "binary"}, ValueRangeError, "search", "binary"),
        ({"probability": "none"}, ValueRangeError, "probability", "none"),
        ({"probability": "sigmoid"}, SalstatsError, "targets", None),
        ({"cutoff": 1}, ValueRangeError, "cutoff", 1),
        ({"targets": 2}, ValueRangeError, "targets", 2),
        ({"chunk": 1.5}, ValueRangeError, "chunk", 1.5),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_done_is_refused(options, kind, option, value):
    with raises(kind, option=option, value=value):
        minimal_mask(Counting([36]), ones(), orders(1), **options)


pytest.importorskip("torch", reason="needs the explain extra")
ANSWERS = st.lists(st.booleans(), min_size=2, max_size=40)
ROOMS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def plain(enough):
    """The first step that suffices, one after the other."""
    return next((step for step, kept in enumerate(enough) if kept), None)


def searched(enough, rooms, *, bisect=False):
    """The answer of a search, and the steps it asked about, with rooms that change from batch to batch."""
    search, asked = StepSearch(len(enough) - 1, enough[0], enough[-1], bisect), []
    while not search.is_done:
        room = rooms[len(asked) % len(rooms)]
        steps = search.next_steps(room)
        assert 1 <= len(steps) <= room
        assert all(0 < step < len(enough) - 1 for step in steps)
        assert (np.diff(steps) > 0).all()
        assert not set(steps) & set(asked), "a step is asked about twice"
        asked += steps.tolist()
        search.record_tested_steps(steps, [enough[step] for step in steps])
    return search.first_sufficient_step, asked


@given(ANSWERS, ROOMS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_exact_search_is_the_plain_one_whatever_the_model_does(enough, rooms):
    answer, asked = searched(enough, rooms)
    assert answer == plain(enough)
    # none before the answer is left out, and not a batch more is asked
    before = range(1, len(enough) - 1 if answer is None else min(answer, len(enough) - 1))
    assert set(before) <= set(asked)
    assert len(asked) < len(before) + 1 + max(rooms)
