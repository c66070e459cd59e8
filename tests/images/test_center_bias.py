import numpy as np
import pandas as pd
import pytest
from gaze_oracle import recorded
from scipy.ndimage import gaussian_filter
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.center_bias import Box, CenterBias
from salstats.images.fixations import fixation_density

#: The oracle resizes in single precision, ours is in double; shares of the maximum.
AGGREGATE, ON_IMAGE = 1e-7, 5e-8
#: Sums of the same double-precision numbers in another order, of values up to 1.
ROUNDING = 1e-14


def read(gaze):
    """The study's boxes (mean over readers), shapes and fixation maps, by case, from its raw files."""
    boxes, shapes, maps = {}, {}, {}
    for row in pd.read_csv(gaze / "expected/fixation_maps_index.csv").itertuples():
        case, folder = row.key.rpartition("_")[0], gaze / "inputs/main_data" / row.id
        box = pd.read_csv(folder / "chest_bounding_box.csv")[["ymin", "xmin", "ymax", "xmax"]].to_numpy()[0]
        boxes.setdefault(case, []).append(box)
        shapes[case] = (row.height, row.width)
        maps.setdefault(case, []).append(fixation_density(recorded(folder), shapes[case]))
    return {case: Box(*np.mean(found, axis=0)) for case, found in boxes.items()}, shapes, maps


def filled(boxes, shapes, maps, *, leave_out=()):
    """A center bias of all maps but those of some cases; the frame is always that of all cases."""
    bias = CenterBias(boxes, shapes)
    for case, densities in maps.items():
        for density in densities if case not in leave_out else []:
            bias.add(case, density)
    return bias


@pytest.fixture(scope="module")
def study(shared):
    return read(shared / "oracles/gaze")


@pytest.fixture(scope="module")
def bias(study):
    return filled(*study)


@pytest.fixture(scope="module")
def drawn():
    """Boxes, shapes and two maps each of three images that are drawn here."""
    rng = np.random.default_rng(26)
    shapes = {"a": (30, 40), "b": (36, 32), "c": (28, 28)}
    boxes = {case: Box(3, 4, height - 4, width - 5) for case, (height, width) in shapes.items()}
    maps = {case: [gaussian_filter(rng.random(shape), 2) for _ in range(2)] for case, shape in shapes.items()}
    return boxes, shapes, maps


def made_up(seed, n_cases=4, n_maps=2):
    """Boxes, shapes and maps of a few cases of all sizes."""
    rng = np.random.default_rng(seed)
    boxes, shapes, maps = {}, {}, {}
    for number in range(n_cases):
        case = f"c{number}"
        shapes[case] = tuple(int(n) for n in rng.integers(8, 40, 2))
        low, high = rng.uniform(0, 0.4, 2) * shapes[case], rng.uniform(0.6, 1, 2) * shapes[case]
        boxes[case] = Box(*low, *high)
        maps[case] = list(rng.random((n_maps, *shapes[case])) + 0.01)
    return boxes, shapes, maps


def test_the_average_is_that_of_the_study(shared, bias):
    expected = np.load(shared / "oracles/gaze/expected/center_bias_aggregate.npz")
    assert bias.shape == tuple(expected["final_shape"])
    left, top, right, bottom = expected["averages_boxes"]
    np.testing.assert_allclose(bias.average_box, (top, left, bottom, right), rtol=1e-14)
    np.testing.assert_array_equal(bias.n_maps, expected["total_counts_views"])
    reference = expected["average_heatmap"]
    np.testing.assert_array_equal(np.isnan(bias.average), np.isnan(reference))
    assert np.isnan(reference).any()
    error = np.nanmax(np.abs(bias.average - reference))
    assert error <= AGGREGATE * np.nanmax(reference)


def test_the_bias_on_each_image_is_that_of_the_study(shared, bias):
    expected = np.load(shared / "oracles/gaze/expected/center_bias_f64.npz")
    n_border = 0
    for case in expected.files:
        density, n_unseen = bias.on_image(case)
        np.testing.assert_array_equal(density == 0, expected[case] == 0)
        assert np.abs(density - expected[case]).max() <= ON_IMAGE * expected[case].max(), case
        assert density.sum() == pytest.approx(1, abs=ROUNDING)
        assert n_unseen == np.count_nonzero(expected[case] == 0)
        n_border += n_unseen
    # the number in the oracle's README
    assert n_border == 279


def test_a_drawn_study_by_hand():
    # boxes of 4 and 2 pixels: the average box has 3; a is stretched by 3/4, b by 3/2
    boxes = {"a": Box(0, 0, 4, 4), "b": Box(0, 0, 2, 2)}
    shapes = {"a": (4, 4), "b": (2, 4)}
    bias = CenterBias(boxes, shapes)
    assert bias.average_box == Box(0, 0, 3, 3)
    # below the box nothing, right of it 2 pixels of b at 3/2
    assert bias.shape == (3, 6)
    bias.add("a", np.diag([1.0, 0, 0, 0]))
    # 4 pixels on 3 with their centres at 1/6, 9/6 and 17/6: the first pixel has weight 5/6 in the first
    expected = np.full((3, 6), np.nan)
    expected[:, :3] = 0
    expected[0, 0] = 1
    np.testing.assert_allclose(bias.average, expected, rtol=ROUNDING)
    bias.add("b", np.array([[0, 0, 0, 2.0], [0, 0, 0, 0]]))
    # 2 rows on 3, at 0 (cut off at the border), 1/2 and 1; 4 columns on 6, the last three at 11/6, 5/2 and 3
    rows, cols = np.array([1, 1 / 2, 0]), np.array([0, 0, 0, 0, 1 / 2, 1])
    moved = np.outer(rows, cols)
    np.testing.assert_array_equal(bias.n_maps, [[2, 2, 2, 1, 1, 1]] * 3)
    expected = np.nan_to_num(expected) / 2
    expected[:, 3:] = (moved / moved.sum())[:, 3:]
    np.testing.assert_allclose(bias.average, expected, rtol=ROUNDING, atol=ROUNDING)


def test_equal_boxes_only_shift_the_maps():
    # the same box at other places: no resizing, so every number can be read off
    boxes = {"a": Box(0, 1, 2, 3), "b": Box(1, 0, 3, 2)}
    bias = CenterBias(boxes, {"a": (2, 3), "b": (3, 3)})
    bias.add("a", np.array([[0, 1, 0], [0, 0, 3]]))
    bias.add("b", np.array([[2, 0, 0], [0, 0, 0], [0, 0, 2]]))
    nan = np.nan
    np.testing.assert_array_equal(bias.n_maps, [[0, 1, 1, 1], [1, 2, 2, 1], [1, 2, 2, 1]])
    np.testing.assert_array_equal(bias.average, [[nan, 0.5, 0, 0], [0, 0.125, 0, 0], [0, 0, 0.375, 0.5]])
    density, n_unseen = bias.on_image("a")
    np.testing.assert_allclose(density, np.array([[0, 0.125, 0], [0, 0, 0.375]]) / 0.5)
    assert n_unseen == 0
    # b's own map taken out: its first row and last column have been seen by nobody else
    density, n_unseen = bias.on_image("b", own_maps=[np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1]])])
    np.testing.assert_allclose(density, [[0, 0, 0], [0.25, 0, 0], [0, 0.75, 0]], atol=ROUNDING)
    assert n_unseen == 5


@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_leaving_a_case_out_is_never_having_added_it(drawn, case):
    boxes, shapes, maps = drawn
    bias = filled(*drawn)
    without, n_without = bias.on_image(case, own_maps=maps[case])
    # the frame is made equal by giving the second one the boxes of all cases
    never, n_never = filled(boxes, shapes, maps, leave_out=[case]).on_image(case)
    np.testing.assert_allclose(without, never, rtol=1e-9, atol=ROUNDING * never.max())
    assert n_without == n_never
    with_own, _ = bias.on_image(case)
    assert np.abs(without - with_own).max() > 1e-3 * with_own.max()
    np.testing.assert_array_equal(bias.on_image(case)[0], with_own)


def test_merged_pieces_are_the_whole(drawn):
    boxes, shapes, maps = drawn
    bias = filled(*drawn)
    cases = sorted(maps)
    pieces = [filled(boxes, shapes, maps, leave_out=left) for left in (cases[:1], cases[1:])]
    pieces[0].merge(pieces[1])
    np.testing.assert_array_equal(pieces[0].n_maps, bias.n_maps)
    np.testing.assert_allclose(pieces[0].average, bias.average, rtol=1e-12)


def test_pixels_inside_the_image_that_nobody_saw_are_0_and_counted():
    # one image is high, one is wide, and the third, which no one read, has all corners
    boxes = {name: Box(4, 4, 8, 8) for name in ("high", "wide", "square")}
    shapes = {"high": (12, 8), "wide": (8, 12), "square": (12, 12)}
    boxes["wide"], boxes["high"] = Box(0, 4, 4, 8), Box(4, 0, 8, 4)
    bias = CenterBias(boxes, shapes)
    assert bias.shape == (12, 12)
    for case in ("high", "wide"):
        bias.add(case, np.ones(shapes[case]))
    density, n_unseen = bias.on_image("square")
    # the high one covers columns 4 to 12, the wide one rows 4 to 12: the corner at the top left stays free
    assert n_unseen == 16
    assert (density[:4, :4] == 0).all()
    assert (density[4:, 4:] > 0).all()


@pytest.mark.parametrize("whole", [False, True], ids=["any boxes", "boxes of whole pixels"])
def test_no_rounding_makes_a_study_fail(whole):
    for seed in range(100):
        boxes, shapes, maps = made_up(seed, n_cases=3, n_maps=1)
        if whole:
            # whole numbers bring about halves
            boxes = {case: Box(*np.round(box)) for case, box in boxes.items()}
        bias = filled(boxes, shapes, maps)
        for case, shape in shapes.items():
            density, n_unseen = bias.on_image(case)
            assert density.shape == shape
            assert density.sum() == pytest.approx(1, abs=ROUNDING)
            assert density.min() >= 0
            # maps above 0 everywhere: every pixel that was seen is above 0
            assert n_unseen == np.count_nonzero(density == 0)
            assert n_unseen < density.size / 2


def test_a_map_that_sticks_out_of_the_frame_loses_its_last_row():
    # boxes of 1 and 2 rows, average 3/2; b is above its box by 2 * 3/4 = 3/2: the frame has 3 rows.
    # a, one row, becomes round(3/2) = 2 rows at round(3/2) = 2
    boxes = {"a": Box(0, 0, 1, 2), "b": Box(2, 0, 4, 2)}
    bias = CenterBias(boxes, {"a": (1, 2), "b": (4, 2)})
    bias.add("a", np.array([[1, 3]]))
    np.testing.assert_array_equal(bias.n_maps, [[0, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(bias.average[2], [1 / 8, 3 / 8])


def test_an_image_that_sticks_out_of_the_frame_has_not_been_seen_there():
    # boxes of 1, 2 and 3 rows, average 2; b is above its box by 7: the frame has 9 rows.
    # On a it has round(9/2) = 4 rows, and a begins at round(7/2 - 2) = 2: the last of its 3 rows is beyond
    boxes = {"a": Box(2, 0, 3, 2), "b": Box(7, 0, 9, 2), "c": Box(0, 0, 3, 2)}
    bias = CenterBias(boxes, {"a": (3, 2), "b": (9, 2), "c": (3, 2)})
    assert bias.shape == (9, 2)
    bias.add("b", np.ones((9, 2)))
    density, n_unseen = bias.on_image("a")
    np.testing.assert_array_equal(density, [[1 / 4, 1 / 4], [1 / 4, 1 / 4], [0, 0]])
    assert n_unseen == 2


@pytest.mark.parametrize(
    "box", [Box(2, 1, 2, 5), Box(1, 5, 4, 1), Box(-1, 0, 4, 4), Box(0, 0, 4, 9.5), Box(0, np.nan, 4, 4)]
)
def test_a_wrong_box_names_its_case(box):
    with raises(ValueRangeError, option="boxes", column="case", value="b"):
        CenterBias({"a": Box(0, 0, 4, 4), "b": box}, {"a": (8, 9), "b": (8, 9)})


def test_a_tiny_box_does_not_fill_the_memory():
    boxes = {"a": Box(0, 0, 2000, 2000), "b": Box(5, 5, 5.5, 5.5)}
    with raises(ValueRangeError, option="boxes", column="case", value="b", hint="check the box"):
        CenterBias(boxes, dict.fromkeys(boxes, (2000, 2000)))


def test_a_map_that_is_no_density_is_an_error():
    bias = CenterBias({"a": Box(0, 0, 4, 4)}, {"a": (8, 9)})
    bias.add("a", np.ones((8, 9)))
    for density in (np.zeros((8, 9)), np.full((8, 9), np.nan), np.where(np.eye(8, 9) > 0, -0.5, 1)):
        for use in (bias.add, lambda case, density: bias.on_image(case, own_maps=[density])):
            with raises(ValueRangeError, option="density", column="case", value="a"):
                use("a", density)
    # the shape that came
    with raises(ShapeError, option="density", column="case", value="a", match=r"\(9, 8\)"):
        bias.add("a", np.ones((9, 8)))


def test_a_map_that_no_pixel_of_the_frame_takes_up_is_an_error():
    # shrunk to a sixteenth, without averaging, most pixels are passed over
    bias = CenterBias(
        {"a": Box(0, 0, 64, 64), **{f"b{n}": Box(0, 0, 1, 1) for n in range(20)}},
        {"a": (64, 64), **{f"b{n}": (1, 1) for n in range(20)}},
    )
    density = np.zeros((64, 64))
    density[0, 0] = 1
    with raises(ValueRangeError, option="densities", column="case", value="a"):
        bias.add("a", density)


def test_nothing_is_left_without_the_maps_of_others():
    bias = CenterBias({"a": Box(0, 0, 4, 4), "b": Box(0, 0, 4, 4)}, {"a": (8, 9), "b": (8, 9)})
    with raises(ValueRangeError, option=None, column="case", value="a"):
        bias.on_image("a")
    own = np.arange(72.0).reshape(8, 9)
    bias.add("a", own)
    with raises(ValueRangeError, option="own_maps", column="case", value="a"):
        bias.on_image("a", own_maps=[own])
    with raises(ValueRangeError, option="own_maps", value=2, match="^case a"):
        bias.on_image("a", own_maps=[own, own])
    with raises(ValueRangeError, option="case", value="c", choices=("a", "b")):
        bias.on_image("c")


def test_maps_added_together_count_as_one_by_one():
    rng = np.random.default_rng(4)
    boxes, shapes = {"a": Box(2, 1, 12, 11), "b": Box(1, 2, 19, 14)}, {"a": (14, 13), "b": (20, 16)}
    together, one_by_one = CenterBias(boxes, shapes), CenterBias(boxes, shapes)
    for case, shape in shapes.items():
        maps = rng.random((3, *shape)) * [[[1]], [[5]], [[100]]]
        together.add(case, *maps)
        for density in maps:
            one_by_one.add(case, density)
    np.testing.assert_array_equal(together.n_maps, one_by_one.n_maps)
    np.testing.assert_allclose(together.average, one_by_one.average, rtol=0, atol=ROUNDING)
