"""What of ours stands beside a library that is installed anyway: agreement and speed, within one run.

These are the numbers of `docs/developers/packages.md`, which names the command that prints them anew. A
library is used where it agrees with the oracles and what calls it takes no more than three times as long on
images of up to a million pixels; each test holds one decision to that, with room for a machine that does
other work.
"""

import io
import json

import cv2
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
import skimage
from PIL import Image, ImageDraw
from pycocotools import mask as coco
from scipy import ndimage, stats
from timing import seconds

import salstats as ss
from salstats.display.plots.layout.picture_layer import geom_picture
from salstats.images import boundaries, geometry, hulls, map_steps, masks, otsu, peaks, polygons
from salstats.images.simulated_masks import draw_centred_contour, irregular_contour_row_col
from salstats.images.thresholds import THRESHOLDS
from salstats.metrics.distance import surface_distances
from salstats.metrics.penalised_dice import pdc
from salstats.metrics.ranks import auc_of_values

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    # pycocotools' decode does not yet know numpy 2's copy keyword
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

#: Sides of the images: 4 thousand to 6 million pixels.
SIDES = (64, 320, 1000, 2500)
#: Up to a million pixels the rule decides.
DECIDING = 1000
#: A library is used where it takes no more than three times as long; here with room for a disturbed machine.
USED_BELOW, KEPT_ABOVE = 4.0, 3.0
TURNS = 7
#: Single precision, of values from 0 to 1.
SINGLE = 5e-6


def blob(side, seed=1):
    """One irregular round area, a tenth of the image."""
    rng = np.random.default_rng(seed)
    rows, cols = np.ogrid[:side, :side]
    angle = np.arctan2(rows - 0.45 * side, cols - 0.5 * side)
    waves = [rng.uniform(-0.1, 0.1) * np.cos(k * angle + rng.uniform(0, 6)) for k in range(2, 8)]
    return np.hypot(rows - 0.45 * side, cols - 0.5 * side) < 0.18 * side * (1 + sum(waves))


def speckled(side, seed=1):
    """Many small areas with holes, a tenth of the image."""
    smooth = ndimage.gaussian_filter(np.random.default_rng(seed).random((side, side)), 3)
    return smooth > np.quantile(smooth, 0.9)


DRAWN = {"blob": blob, "speckled": speckled}


def compared(name, ours, library):
    """Time of the library as a multiple of ours, the fastest runs of each in turns."""
    ours(), library()
    fast = slow = np.inf
    for _ in range(TURNS):
        fast = min(fast, seconds(ours))
        slow = min(slow, seconds(library))
    print(
        f"\n{name}: ours {1000 * fast:.3f} ms, the library {1000 * slow:.3f} ms, {slow / fast:.2f} times",
        end="",
    )
    return slow / fast


# --- what was ours, and is the library's now


def own_perimeter(part):
    """The perimeter by OpenCV's filter, as it stood in `images.shapes`."""
    lengths = np.zeros(50)
    lengths[[5, 7, 15, 17, 25, 27]] = 1
    lengths[[21, 33]] = np.sqrt(2)
    lengths[[13, 23]] = (1 + np.sqrt(2)) / 2
    border = boundaries.boundary(np.pad(part, 1)).view(np.uint8)
    weights = np.array([[10, 2, 10], [2, 1, 2], [10, 2, 10]], dtype=np.float32)
    sums = cv2.filter2D(border, -1, weights, borderType=cv2.BORDER_CONSTANT)
    return float(np.bincount(sums.ravel(), minlength=50)[:50] @ lengths)


def own_polygon(shape, corners):
    """The pixels whose centres lie inside, as it stood in `images.simulated_masks`."""
    row, col = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    inside = np.zeros(shape, dtype=bool)
    for (r0, c0), (r1, c1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if r0 != r1:
            between = (r0 <= row) != (r1 <= row)
            inside ^= between & (col < c0 + (row - r0) * (c1 - c0) / (r1 - r0))
    return inside


def own_centre(mask):
    """Mean row and column, as it stood in `metrics.penalised_dice`."""
    rows, cols = np.count_nonzero(mask, axis=1), np.count_nonzero(mask, axis=0)
    return rows @ np.arange(len(rows)) / rows.sum(), cols @ np.arange(len(cols)) / cols.sum()


def own_inner_regions(mask):
    """Large regions that do not touch the border, as it stood in `images.hulls`."""
    regions, _ = ndimage.label(mask)
    large = np.bincount(regions.ravel()) >= 0.02 * mask.size
    large[0] = False
    regions, _ = ndimage.label(large[regions], structure=np.ones((3, 3)))
    at_border = np.concatenate([regions[0], regions[-1], regions[:, 0], regions[:, -1]])
    return (regions > 0) & ~np.isin(regions, at_border)


def with_own(monkeypatch, place, name, function, call):
    """A call that finds our function in the library's place."""

    def called():
        with monkeypatch.context() as patch:
            patch.setattr(place, name, function)
            return call()

    return called


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", DRAWN)
def test_features_with_the_library_s_perimeter(monkeypatch, kind, side):
    mask = DRAWN[kind](side)
    study = ss.study_from_arrays({(f"case {number}", "Edema"): mask for number in range(5)}, {})
    library = lambda: ss.features(study)  # noqa: E731
    plain = lambda part, neighborhood: own_perimeter(part)  # noqa: E731
    own = with_own(monkeypatch, skimage.measure, "perimeter", plain, library)
    pd.testing.assert_frame_equal(own(), library(), rtol=1e-12)
    ratio = compared(f"features, perimeter, {kind}, {side}", own, library)
    assert side > DECIDING or ratio < USED_BELOW


@pytest.mark.parametrize("side", SIDES)
def test_penalised_dice_with_the_library_s_centre(monkeypatch, side):
    mask, truth = blob(side, 1), blob(side, 2)
    library = lambda: pdc(mask, truth, components="whole")  # noqa: E731
    own = with_own(monkeypatch, ndimage, "center_of_mass", own_centre, library)
    assert own() == pytest.approx(library(), rel=1e-12)
    ratio = compared(f"pdc, centre, {side}", own, library)
    assert side > DECIDING or ratio < USED_BELOW


@pytest.mark.parametrize("side", SIDES)
def test_simulated_masks_with_the_library_s_polygons(monkeypatch, side):
    contours = [irregular_contour_row_col(radius=0.1 * side, rng=seed) for seed in range(3)]
    library = lambda: [draw_centred_contour(contour, (side, side)) for contour in contours]  # noqa: E731
    own = with_own(monkeypatch, skimage.measure, "grid_points_in_poly", own_polygon, library)
    np.testing.assert_array_equal(own(), library())
    ratio = compared(f"draw_centred_contour, polygon, {side}", own, library)
    assert side > DECIDING or ratio < USED_BELOW


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", DRAWN)
def test_inner_regions_with_the_library_s_border(kind, side):
    mask = DRAWN[kind](side)
    np.testing.assert_array_equal(own_inner_regions(mask), hulls.large_regions_off_border_mask(mask))
    ratio = compared(
        f"large_regions_off_border_mask, {kind}, {side}",
        lambda: own_inner_regions(mask),
        lambda: hulls.large_regions_off_border_mask(mask),
    )
    assert side > DECIDING or ratio < USED_BELOW


# --- what stays, since the library takes more than three times as long


def refilled(mask):
    """Holes filled and single pixels dropped, by labelling."""
    filled = ndimage.binary_fill_holes(mask)
    labels = skimage.measure.label(filled, connectivity=2)
    sizes = np.bincount(labels.ravel())
    return filled & (sizes[labels] > 1)


def outer_boundary(mask):
    """Boundary pixels by scikit-image; outside the image is background."""
    return skimage.segmentation.find_boundaries(np.pad(mask, 1), connectivity=1, mode="inner")[1:-1, 1:-1]


def cv2_areas(mask):
    """Areas of the 8-connected parts."""
    return np.sort(cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=8)[2][1:, 4])


def library_areas(mask):
    labels = skimage.measure.label(mask, connectivity=2)
    return np.sort(skimage.measure.regionprops_table(labels, properties=("area",))["area"])


OF_MASKS = {
    "convex_hull: scikit-image": (hulls.convex_hull, skimage.morphology.convex_hull_image),
    "boundary: SciPy": (boundaries.boundary, lambda mask: mask & ~ndimage.binary_erosion(mask)),
    "boundary: scikit-image": (boundaries.boundary, outer_boundary),
    "fill_holes_and_drop_single_pixels: SciPy and scikit-image": (
        otsu.fill_holes_and_drop_single_pixels,
        refilled,
    ),
    "areas of parts by OpenCV: scikit-image": (cv2_areas, library_areas),
}


#: Masks for which the library comes near three times or is quicker; the other kind decides.
UNDECIDED = {
    "fill_holes_and_drop_single_pixels: SciPy and scikit-image": ("speckled",),
    "areas of parts by OpenCV: scikit-image": ("blob",),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("name", OF_MASKS)
def test_of_masks(name, kind, side):
    ours, library = OF_MASKS[name]
    mask = DRAWN[kind](side)
    np.testing.assert_array_equal(ours(mask), library(mask))
    ratio = compared(f"{name}, {kind}, {side}", lambda: ours(mask), lambda: library(mask))
    decides = side == DECIDING and kind not in UNDECIDED.get(name, ())
    assert not decides or ratio > KEPT_ABOVE


@pytest.mark.parametrize("side", SIDES)
def test_number_of_parts_by_opencv(side):
    part = speckled(side).view(np.uint8)
    for name, library in {
        "scikit-image": lambda: skimage.measure.label(part, connectivity=2, return_num=True)[1],
        "SciPy": lambda: ndimage.label(part, np.ones((3, 3)))[1],
    }.items():
        ours = lambda: cv2.connectedComponents(part, connectivity=8)[0] - 1  # noqa: E731
        assert ours() == library()
        ratio = compared(f"number of parts by OpenCV: {name}, {side}", ours, library)
        assert ratio > 1


@pytest.mark.parametrize("side", SIDES)
def test_otsu_and_the_other_thresholds(side):
    saliency = np.random.default_rng(0).random((7, 7)) ** 2
    grey = map_steps.grey_levels_of_fractions(map_steps.rescale(map_steps.resize(saliency, (side, side))))
    np.testing.assert_array_equal(otsu.above_otsu(grey), grey > skimage.filters.threshold_otsu(grey))
    ratio = compared(
        f"Otsu by OpenCV: scikit-image, {side}",
        lambda: otsu.above_otsu(grey),
        lambda: grey > skimage.filters.threshold_otsu(grey),
    )
    assert ratio > KEPT_ABOVE
    for name, record in THRESHOLDS.items():
        compared(f"{name} beside Otsu, {side}", lambda: otsu.above_otsu(grey), lambda: record.kernel(grey))  # noqa: B023


def scikit_image_resized(saliency, shape):
    return skimage.transform.resize(saliency, shape, order=1, mode="edge", anti_aliasing=False)


def scipy_resized(saliency, shape):
    factors = np.divide(shape, saliency.shape)
    return ndimage.zoom(saliency, factors, order=1, mode="nearest", grid_mode=True)


@pytest.mark.parametrize("side", SIDES)
def test_resizing(side):
    saliency, shape = np.random.default_rng(1).random((20, 20)).astype(np.float32), (side, side)
    for name, library in {"scikit-image": scikit_image_resized, "SciPy": scipy_resized}.items():
        np.testing.assert_allclose(map_steps.resize(saliency, shape), library(saliency, shape), atol=SINGLE)
        ratio = compared(
            f"resize by OpenCV: {name}, {side}",
            lambda: map_steps.resize(saliency, shape),
            lambda: library(saliency, shape),  # noqa: B023
        )
        assert side != DECIDING or ratio > KEPT_ABOVE


@pytest.mark.parametrize("side", SIDES)
def test_box_filter(side):
    values = np.random.default_rng(2).random((side, side)).astype(np.float32)
    ours, library = (
        lambda: map_steps.box_filter(values, 15),
        lambda: ndimage.uniform_filter(values, 15, mode="mirror"),
    )
    np.testing.assert_allclose(ours(), library(), atol=SINGLE)
    ratio = compared(f"box_filter by OpenCV: SciPy, {side}", ours, library)
    assert side != DECIDING or ratio > KEPT_ABOVE


@pytest.mark.parametrize("side", SIDES)
def test_maps_of_a_network_put_on_their_image(side):
    saliency = np.random.default_rng(3).random((224, 224)).astype(np.float32)
    height, width = side, int(0.8 * side)
    placed = geometry.Geometry((height, width), (224, 224), (201.6 / side, 201.6 / side), (11.2, 30.0))
    first = [0.5 * placed.scale[axis] + placed.offset[axis] - 0.5 for axis in (0, 1)]

    def scipy_way():
        return ndimage.affine_transform(
            saliency, placed.scale, offset=first, output_shape=(height, width), order=1, mode="nearest"
        )

    def opencv_way():
        matrix = np.array([[placed.scale[1], 0, first[1]], [0, placed.scale[0], first[0]]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return cv2.warpAffine(saliency, matrix, (width, height), flags=flags, borderMode=cv2.BORDER_REPLICATE)

    exact = scipy_way().astype(np.float64)
    off = {name: np.abs(way() - exact).max() for name, way in (("ours", lambda: placed.to_image(saliency)),
                                                               ("OpenCV", opencv_way))}  # fmt: skip
    print(f"\nto_image, {side}: off by {off}", end="")
    assert off["ours"] < 3e-7
    assert off["OpenCV"] > 10 * off["ours"]
    compared(f"to_image: OpenCV, {side}", lambda: placed.to_image(saliency), opencv_way)
    ratio = compared(f"to_image: SciPy, {side}", lambda: placed.to_image(saliency), scipy_way)
    assert side != DECIDING or ratio > KEPT_ABOVE


@pytest.mark.parametrize("side", [320, 1000, 2500])
def test_outlines(side):
    mask = blob(side)
    found = lambda: cv2.findContours(mask.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)[0]  # noqa: E731
    ratio = compared(
        f"outlines by OpenCV: scikit-image, {side}", found, lambda: skimage.measure.find_contours(mask, 0.5)
    )
    assert ratio > KEPT_ABOVE


@pytest.mark.parametrize("side", SIDES)
def test_largest_distance(side):
    mask, truth = blob(side, 1), blob(side, 2)
    edges = [boundaries.boundary(one) for one in (mask, truth)]
    ours = lambda: surface_distances(mask, truth).hausdorff()  # noqa: E731
    library = lambda: skimage.metrics.hausdorff_distance(*edges)  # noqa: E731
    assert ours() == pytest.approx(library(), rel=1e-12)
    compared(f"hausdorff, three metrics at once: scikit-image, one, {side}", ours, library)


@pytest.mark.parametrize("n", [1000, 30_000, 1_000_000])
def test_area_under_the_curve(n):
    rng = np.random.default_rng(5)
    positives, negatives = rng.random(n // 2).round(3) + 0.1, rng.random(n // 2).round(3)
    ours = lambda: auc_of_values(positives, negatives)  # noqa: E731

    def library():
        result = stats.mannwhitneyu(positives, negatives, method="asymptotic")
        return result.statistic / (len(positives) * len(negatives))

    assert ours() == pytest.approx(library(), rel=1e-12)
    compared(f"auc_of_values: SciPy's mannwhitneyu, {n}", ours, library)
    metrics = pytest.importorskip("sklearn.metrics", reason="needs the explain extra")
    labels = np.repeat([1, 0], n // 2)
    values = np.concatenate([positives, negatives])
    area = lambda: metrics.roc_auc_score(labels, values)  # noqa: E731
    assert ours() == pytest.approx(area(), rel=1e-9)
    ratio = compared(f"auc_of_values: scikit-learn, {n}", ours, area)
    assert n != 1000 or ratio > KEPT_ABOVE


# --- what stays, since the library gives other numbers


@pytest.fixture(scope="module")
def annotated(shared):
    """Polygons, shape and released mask of each finding of the sample."""
    sample = shared / "data/chexlocalize_sample"
    annotations = json.loads((sample / "gt_annotations_val.json").read_text())
    released = json.loads((sample / "gt_segmentations_val.json").read_text())
    return [
        (outlines, tuple(tasks["img_size"]), coco.decode(released[case][task]).astype(bool))
        for case, tasks in annotations.items()
        for task, outlines in tasks.items()
        if task != "img_size"
    ]


def pillow(outlines, shape):
    image = Image.new("L", shape[::-1])
    for outline in outlines:
        ImageDraw.Draw(image).polygon([tuple(p) for p in outline], outline=1, fill=1)
    return np.array(image).astype(bool)


def opencv(outlines, shape):
    image = np.zeros(shape, np.uint8)
    for outline in outlines:
        cv2.fillPoly(image, [np.trunc(outline).astype(np.int32)], 1)
    return image.astype(bool)


def scikit_image(outlines, shape):
    drawn = [skimage.draw.polygon2mask(shape, np.array(outline)[:, ::-1]) for outline in outlines]
    return np.logical_or.reduce(drawn)


def pycoco(outlines, shape):
    codes = coco.frPyObjects([np.ravel(outline).tolist() for outline in outlines], *shape)
    return coco.decode(coco.merge(codes)).astype(bool)


def test_only_pillow_draws_the_released_masks(annotated):
    assert len(annotated) == 4
    off = {}
    for way in (pillow, opencv, scikit_image, pycoco):
        off[way.__name__] = [int((way(outlines, shape) != mask).sum()) for outlines, shape, mask in annotated]
    print(f"\npixels that differ from the released masks: {off}", end="")
    assert not any(off.pop("pillow"))
    assert all(min(pixels) > 0 for pixels in off.values())
    for outlines, shape, mask in annotated:
        np.testing.assert_array_equal(masks.decode(polygons.polygons_rle(outlines, shape)), mask)


def test_a_peak_is_not_the_largest_pixel_of_a_resized_map():
    """Maps that are symmetric on paper, of which the first maximum is the upper left one."""
    rng = np.random.default_rng(6)
    n_wrong = n_maps = 0
    for _ in range(200):
        quarter = rng.random((4, 5)).round(1)
        saliency = np.block([[quarter, quarter[:, ::-1]], [quarter[::-1], quarter[::-1, ::-1]]])
        side = int(rng.integers(30, 300))
        _, first = peaks.maximum_and_points(saliency, (side, side), every=False)
        at = np.unravel_index(map_steps.resize(saliency, (side, side)).argmax(), (side, side))
        n_wrong += tuple(first[0]) != at
        n_maps += 1
    print(f"\nfirst maxima that argmax of the resized map misses: {n_wrong} of {n_maps}", end="")
    assert n_wrong > 0


@pytest.mark.parametrize("side", SIDES)
def test_peaks(side):
    saliency = np.random.default_rng(1).random((20, 20))
    shape = (side, side)
    compared(
        f"peak: argmax of OpenCV's resized map, {side}",
        lambda: peaks.maximum_and_points(saliency, shape, every=False),
        lambda: map_steps.resize(saliency, shape).argmax(),
    )


def saved(figure):
    """Draw a figure as PNG."""
    with io.BytesIO() as file:
        figure.save(file, format="png", verbose=False)


def test_a_picture_in_a_figure():
    side = 400
    colours = np.random.default_rng(0).integers(0, 255, (side, side, 3), dtype=np.uint8)
    place = pd.DataFrame({"xmin": [0], "xmax": [side], "ymin": [0], "ymax": [side], "label": ["picture"]})
    corners = p9.aes(xmin="xmin", xmax="xmax", ymin="ymin", ymax="ymax", label="label")
    rows, cols = np.divmod(np.arange(side * side), side)
    texts = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in colours.reshape(-1, 3).tolist()]
    pixels = pd.DataFrame({"x": cols, "y": -rows, "fill": texts})
    ratio = compared(
        "a picture in a figure: plotnine's geom_raster",
        lambda: saved(p9.ggplot(place) + geom_picture(corners, pictures={"picture": colours})),
        lambda: saved(
            p9.ggplot(pixels) + p9.geom_raster(p9.aes("x", "y", fill="fill")) + p9.scale_fill_identity()
        ),
    )
    assert ratio > 2
