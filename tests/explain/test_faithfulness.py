"""Insertion and deletion curves: analytic answers, the plain loop, batches, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

from salstats.errors import InputFileError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.pixel_step_models import linear, one_pixel, plain_loop, small_cnn  # noqa: E402
from scipy.ndimage import convolve  # noqa: E402

from salstats.errors import SalstatsError, ShapeError, ValueRangeError  # noqa: E402
from salstats.explain.curves import curve_scores  # noqa: E402
from salstats.explain.faithfulness import deletion, insertion  # noqa: E402
from salstats.explain.map_runs import make_maps  # noqa: E402
from salstats.explain.networks import Network  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402
from salstats.images.map_steps import resize  # noqa: E402
from salstats.images.preparation import Preparation  # noqa: E402

# float32 sums whose order depends on the size of a batch
TOLERANCE = 1e-5
# products of some hundreds of float32 numbers
SUMMED = 1e-4
BOTH = pytest.mark.parametrize("curve", [insertion, deletion], ids=["insertion", "deletion"])


@pytest.fixture(scope="module")
def some():
    """Four images of two channels, maps of two methods at other sizes, and a target each."""
    rng = np.random.default_rng(7)
    images = rng.normal(size=(4, 2, 9, 7)).astype(np.float32)
    maps = {"gradcam": rng.random((4, 3, 3)), "ig": rng.normal(size=(4, 9, 7))}
    return images, maps, [0, 1, 2, 1]


def values(curves, method=None):
    """The probabilities, one row per curve."""
    rows = curves if method is None else curves[curves["method"] == method]
    return rows["prob"].to_numpy().reshape(-1, rows["step"].max() + 1)


def ones(n=1, side=4):
    return np.ones((n, 1, side, side))


def ranked(*first, side=4):
    """A map whose most salient pixels are these, in this order."""
    saliency = np.linspace(0.5, 0, side * side)
    saliency[list(first)] = np.linspace(2, 1, len(first))
    return saliency.reshape(1, side, side)


@pytest.mark.parametrize("place", [0, 3, 7])
def test_one_pixel_gives_a_step_of_known_area(place):
    # the pixel is the (place + 1)th to be shown: 0 before, 1 from then on, a ramp of one step between
    saliency = ranked(*[p for p in range(16) if p != 15][:place], 15)
    options = {"probability": "none", "steps": 16, "baseline": "zero"}
    inserted = insertion(one_pixel(15), ones(), saliency, 0, **options)
    np.testing.assert_array_equal(values(inserted)[0], np.arange(17) > place)
    deleted = deletion(one_pixel(15), ones(), saliency, 0, **options)
    np.testing.assert_array_equal(values(deleted)[0], np.arange(17) <= place)
    area = (16 - place - 0.5) / 16
    assert curve_scores(inserted)["score"].item() == pytest.approx(area)
    assert curve_scores(deleted)["score"].item() == pytest.approx(1 - area)


@BOTH
@pytest.mark.parametrize("squash", ["softmax", "sigmoid"])
def test_curves_are_those_of_one_pass_per_step(some, curve, squash):
    images, maps, targets = some
    model = small_cnn()
    curves = curve(model, images, maps, targets, baseline="mean", probability=squash, chunk=5, batch_size=7)
    sizes = [*range(0, 63, 5), 63]
    assert curves["n_pixels"].tolist() == sizes * 8
    np.testing.assert_array_equal(curves["fraction"], curves["n_pixels"] / 63)
    blanks = np.broadcast_to(images.mean(axis=(2, 3), keepdims=True), images.shape)
    stretched = [(m - m.min()) / np.ptp(m) for m in maps["gradcam"]]
    for method, laid in {"gradcam": [resize(m, (9, 7)) for m in stretched], "ig": maps["ig"]}.items():
        plain = plain_loop(
            model, images, laid, targets, sizes, blanks, deleting=curve is deletion, squash=squash
        )
        np.testing.assert_allclose(values(curves, method), plain, atol=TOLERANCE)


@BOTH
def test_curves_do_not_depend_on_the_batch(some, curve):
    images, maps, targets = some
    whole = curve(small_cnn(), images, maps, targets, steps=10, batch_size=64)
    for batch_size in (1, 3, 9):
        other = curve(small_cnn(), images, maps, targets, steps=10, batch_size=batch_size)
        np.testing.assert_allclose(other["prob"], whole["prob"], atol=TOLERANCE)
    alone = curve(small_cnn(), images[2:3], {m: s[2:3] for m, s in maps.items()}, targets[2:3], steps=10)
    np.testing.assert_allclose(alone["prob"], whole.loc[whole["case"] == "2", "prob"], atol=TOLERANCE)


def test_rows_stand_by_image_method_and_step(some):
    images, maps, targets = some
    names = {"cases": ["b", "a", "b", "a"], "tasks": ["x", "x", "y", "y"]}
    curves = insertion(small_cnn(), images, maps, targets, steps=3, **names)
    assert list(curves.columns) == [
        "case", "task", "method", "metric", "step", "fraction", "n_pixels", "prob", "target",
        "baseline", "n_steps", "probability", "reason",
    ]  # fmt: skip
    first = curves[curves["step"] == 0]
    assert first[["case", "task", "method", "target"]].apply(tuple, axis=1).tolist() == [
        ("b", "x", "gradcam", 0), ("b", "x", "ig", 0), ("a", "x", "gradcam", 1), ("a", "x", "ig", 1),
        ("b", "y", "gradcam", 2), ("b", "y", "ig", 2), ("a", "y", "gradcam", 1), ("a", "y", "ig", 1),
    ]  # fmt: skip
    assert curves["step"].tolist() == [0, 1, 2, 3] * 8
    assert curves["n_pixels"].tolist() == [0, 21, 42, 63] * 8
    assert set(curves["n_steps"]) == {3}
    assert set(curves["baseline"]) == {"blur (11 px, SD 5 px)"}


def test_whole_images_and_blanks_are_shown_once_for_all_maps_and_targets():
    shown = []

    class Watching(torch.nn.Module):
        def forward(self, images):
            shown.extend(images.flatten(1).sum(dim=1).tolist())
            return torch.stack([images.mean(dim=(1, 2, 3)), images.mean(dim=(1, 2, 3))], dim=1)

    twice = np.concatenate([ones(), ones()])
    maps = {name: np.concatenate([ranked(k), ranked(k + 1)]) for k, name in enumerate("abc")}
    names = {"cases": ["p", "p"], "tasks": ["s", "t"]}
    curves = insertion(Watching(), twice, maps, [0, 1], baseline="zero", steps=4, **names)
    assert sorted(shown) == [0.0] + [4.0] * 6 + [8.0] * 6 + [12.0] * 6 + [16.0]
    assert len(curves) == 2 * 3 * 5


@pytest.mark.filterwarnings(
    "ignore:.*without its pixels an image has a mean probability:salstats.errors.SalstatsWarning"
)
@BOTH
def test_a_constant_map_has_no_order(some, curve):
    images, maps, targets = some
    flat = {"flat": [np.full((3, 3), 0.1)] * 4, "gradcam": maps["gradcam"]}
    curves = curve(small_cnn(), images, flat, targets, steps=5)
    of_flat = curves["method"] == "flat"
    assert curves.loc[of_flat, "prob"].isna().all()
    assert set(curves.loc[of_flat, "reason"]) == {"constant map"}
    assert set(curves.loc[~of_flat, "reason"]) == {""}
    without = curve(small_cnn(), images, {"gradcam": maps["gradcam"]}, targets, steps=5)
    np.testing.assert_allclose(curves.loc[~of_flat, "prob"], without["prob"], atol=TOLERANCE)
    scores = curve_scores(curves)
    assert scores["score"].isna().tolist() == [True, False] * 4


def test_maps_of_several_sizes_stand_in_a_list(some):
    images, maps, targets = some
    mixed = [maps["ig"][0], maps["gradcam"][1], maps["ig"][2], torch.from_numpy(maps["gradcam"][3])]
    curves = insertion(small_cnn(), images, mixed, targets, steps=6)
    whole = insertion(small_cnn(), images, maps, targets, steps=6)
    for case, method in zip("0123", ["ig", "gradcam", "ig", "gradcam"], strict=True):
        of_case = whole[(whole["case"] == case) & (whole["method"] == method)]
        np.testing.assert_allclose(
            curves.loc[curves["case"] == case, "prob"], of_case["prob"], atol=TOLERANCE
        )
    assert set(curves["method"]) == {"saliency"}


def test_the_blur_is_that_of_rise():
    # a Gaussian of SD 5 px on 11 x 11: what lies outside is mirrored back in; beyond 4 SD there is nothing
    image = np.random.default_rng(0).normal(size=(1, 1, 20, 15))
    offsets = np.arange(-20, 21)
    weights = np.exp(-(offsets**2) / 50)
    places = np.mod(offsets + 5, 22)
    row = np.bincount(np.where(places > 10, 21 - places, places), weights, minlength=11)
    kernel = np.outer(row, row) / row.sum() ** 2
    blurred = convolve(image[0, 0], kernel, mode="constant")
    weights = np.random.default_rng(1).normal(size=300)
    curves = insertion(linear(weights), image, np.eye(20, 15)[None], 0, probability="none", steps=1)
    assert curves["prob"].iloc[0] == pytest.approx((weights * blurred.ravel()).sum(), abs=SUMMED)
    assert curves["prob"].iloc[1] == pytest.approx((weights * image.ravel()).sum(), abs=SUMMED)


@pytest.mark.parametrize(
    ("baseline", "blank"),
    [
        ("zero", 0.0),
        (0.25, 0.25),
        ([0.5, 2.0], np.array([0.5, 2.0])[None, :, None, None]),
        (np.arange(126.0).reshape(2, 9, 7), np.arange(126.0).reshape(1, 2, 9, 7)),
        (np.arange(504.0).reshape(4, 2, 9, 7), np.arange(504.0).reshape(4, 2, 9, 7)),
    ],
    ids=["zero", "number", "by channel", "image", "an image each"],
)
def test_baselines_fill_what_is_not_shown(some, baseline, blank):
    images, maps, _ = some
    weights = np.random.default_rng(1).normal(size=126)
    curves = insertion(
        linear(weights), images, maps["ig"], 0, baseline=baseline, probability="none", steps=9, batch_size=5
    )
    blanks = np.broadcast_to(blank, images.shape).astype(np.float32)
    expected = blanks.reshape(4, -1) @ weights
    np.testing.assert_allclose(values(curves)[:, 0], expected, rtol=SUMMED)
    # seven pixels on, of both channels
    top = np.argsort(-maps["ig"].reshape(4, -1), axis=1, kind="stable")[:, :7]
    change = ((images - blanks) * weights.reshape(2, 9, 7)).sum(axis=1).reshape(4, -1)
    after = expected + np.take_along_axis(change, top, axis=1).sum(axis=1)
    np.testing.assert_allclose(values(curves)[:, 1], after, rtol=SUMMED)


def test_equal_images_may_have_baselines_of_their_own():
    blanks = np.stack([np.full((1, 4, 4), value) for value in (0.25, 0.75)])
    maps = np.concatenate([ranked(1), ranked(2)])
    curves = insertion(one_pixel(0), ones(2), maps, 0, baseline=blanks, probability="none", steps=2)
    assert curves["prob"].tolist() == [0.25, 1, 1, 0.75, 1, 1]


def test_a_model_exported_for_one_image_is_taken_one_image_at_a_time(some):
    # needs neither hooks nor gradients
    images, maps, targets = some
    program = torch.export.export(small_cnn().eval(), (torch.zeros(1, 2, 9, 7),))
    curves = insertion(program.module(), images, maps, targets, steps=4, batch_size=1)
    direct = insertion(small_cnn(), images, maps, targets, steps=4)
    np.testing.assert_allclose(curves["prob"], direct["prob"], atol=TOLERANCE)


@BOTH
@pytest.mark.parametrize("lit", [0, 5, 16])
def test_a_model_that_gives_nan_names_the_case_and_the_step(curve, lit):
    class Failing(torch.nn.Module):
        def forward(self, images):
            n = images.flatten(1).sum(dim=1)
            return torch.where(n == lit, torch.nan, n)[:, None]

    changed = lit if curve is insertion else 16 - lit
    # the case of the image
    with raises(ValueRangeError, rows=(0,), value=changed, match="case p"):
        curve(Failing(), ones(), ranked(2), 0, cases=["p"], baseline="zero", probability="sigmoid")


@pytest.mark.parametrize(
    ("options", "kind", "fields"),
    [
        ({"baseline": "blurr"}, ValueRangeError, {"value": "blurr"}),
        ({"baseline": np.zeros((3, 9, 7))}, ShapeError, {"value": (3, 9, 7)}),
        ({"baseline": np.nan}, ValueRangeError, {"value": None, "choices": ("blur", "zero", "mean")}),
        ({"kernel": 4}, ValueRangeError, {"value": 4}),
        ({"sigma": 0}, ValueRangeError, {"value": 0}),
        ({"steps": 0}, ValueRangeError, {"value": 0}),
        ({"chunk": 0}, ValueRangeError, {"value": 0}),
        ({"probability": "logit"}, ValueRangeError, {"value": "logit"}),
        ({"batch_size": 0}, ValueRangeError, {"value": 0}),
        ({"cases": ["a", "b"]}, ShapeError, {"match": "4 images, not 2"}),
        ({"cases": [*"abca"]}, SalstatsError, {"value": "a", "rows": (0, 3)}),
        ({"cases": [*"abc", None]}, ValueRangeError, {"rows": (3,)}),
        ({"method": "ig"}, SalstatsError, {"value": "ig"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_done_is_refused_with_what_would_do(some, options, kind, fields):
    images, maps, targets = some
    (option,) = options
    with raises(kind, option=option, **fields):
        insertion(small_cnn(), images, maps, targets, **options)


@pytest.mark.parametrize(
    ("change", "kind", "option", "value"),
    [
        (lambda maps: maps[:3], ShapeError, "maps", "saliency"),
        (lambda maps: maps[:, None], ShapeError, "saliency", ("0", "saliency")),
        (
            lambda maps: np.where(maps > 1, np.nan, maps),
            *(ValueRangeError, "saliency", ("0", "saliency")),
        ),
        (lambda maps: {}, SalstatsError, "maps", None),
    ],
)
def test_maps_must_fit_the_images(some, change, kind, option, value):
    images, maps, targets = some
    with raises(kind, option=option, value=value):
        insertion(small_cnn(), images, change(maps["ig"]), targets)


def test_a_map_of_other_proportions_than_the_input_is_said():
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
    image = torch.zeros(1, 1, 8, 8)
    # the sizes of the input and the map
    with warns(value=[("0", "saliency")], match="8 x 8.* 8 x 4"):
        insertion(model, image, np.arange(32.0).reshape(1, 8, 4), 0, probability="sigmoid")
    # any grid of a square is one, and no warning comes
    insertion(model, image, np.arange(9.0).reshape(1, 3, 3), 0)


def test_the_kind_of_probability_is_the_networks_and_sigmoid_for_a_module(some):
    images, maps, targets = some
    model = small_cnn()
    for given, kind in ((model, "sigmoid"), (Network("n", model, probability="softmax"), "softmax")):
        curves = deletion(given, images, maps, targets)
        pd.testing.assert_frame_equal(curves, deletion(model, images, maps, targets, probability=kind))


def test_curves_of_a_network_that_ends_in_a_softmax_are_of_its_own_probabilities(some):
    images, maps, targets = some
    model = torch.nn.Sequential(small_cnn(), torch.nn.Softmax(dim=1))
    curves = deletion(Network("n", model), images, maps, targets)
    assert set(curves["probability"]) == {"none"}
    pd.testing.assert_series_equal(
        curves["prob"], deletion(small_cnn(), images, maps, targets, probability="softmax")["prob"]
    )


def test_a_network_knows_the_outputs_of_tasks(some):
    images, maps, _ = some
    network, tasks = Network("n", small_cnn(), tasks={"A": 2, "B": 0}), ["A", "B", "A", "B"]
    curves = insertion(network, images, maps, tasks=tasks)
    pd.testing.assert_frame_equal(curves, insertion(network, images, maps, [2, 0, 2, 0], tasks=tasks))
    without_tasks = Network("n", small_cnn())
    for given, asked in (
        (network, {}),
        (network, {"tasks": ["A", "B", "A", "C"]}),
        (without_tasks, {"tasks": tasks}),
        (small_cnn(), {"tasks": tasks}),
    ):
        with raises(SalstatsError, option="targets"):
            insertion(given, images, maps, **asked)


@BOTH
def test_curves_of_a_folder_are_those_of_its_maps(tmp_path, curve):
    rng = np.random.default_rng(3)
    pictures = {case: rng.integers(0, 256, (12, 12), np.uint8) for case in ("b", "a")}
    ready = Preparation((9, 7), channels=1)
    model = small_cnn(n_channels=1)
    network = Network("cnn", model, tasks={"A": 2, "B": 0}, preparation=ready, probability="softmax")
    other = Network("other", small_cnn(n_channels=1), tasks={"A": 0, "B": 1}, preparation=ready)
    methods = ["gradcam", "input_x_gradient"]
    make_maps(tmp_path / "maps", pictures, [network, other], methods=methods)
    images = np.stack([ready.apply(pictures[case])[0] for case in ("b", "b", "a", "a")])
    targets = [2, 0, 2, 0]
    maps = {
        method: explain(model, images, targets, method=method, resolution="network") for method in methods
    }
    expected = curve(
        model, images, maps, targets, cases=list("bbaa"), tasks=list("ABAB"), probability="softmax", steps=9
    )
    found = curve(network, pictures, tmp_path / "maps", steps=9)
    assert (found.pop("model") == "cnn").all()
    keys = ["case", "task", "method", "step"]
    pd.testing.assert_frame_equal(
        found.sort_values(keys, ignore_index=True), expected.sort_values(keys, ignore_index=True)
    )
    # images of other cases are neither needed nor shown to the network
    only_b = curve(
        network, {"b": pictures["b"]}, tmp_path / "maps", steps=9, cases=["b", "c"], tasks=["A", "A"]
    )
    assert (only_b.pop("model") == "cnn").all()
    pd.testing.assert_frame_equal(only_b, found.query("case == 'b' and task == 'A'").reset_index(drop=True))


def in_folder(folder, saliency, **columns):
    """A folder with one map of case a, task A."""
    folder.mkdir()
    np.save(folder / "a.npy", saliency)
    row = {"case": "a", "task": "A", "method": "known", "path": "a.npy", **columns}
    pd.DataFrame([row]).to_csv(folder / "maps.csv", index=False)
    return folder


def test_maps_of_padded_images_are_laid_where_the_network_saw_them(tmp_path):
    # an image of 2 x 4 in the middle of 4 x 4: its pixel (0, 3) is pixel 7 of the input
    saliency = np.zeros((2, 4))
    saliency[0, 3] = 1.0
    folder = in_folder(tmp_path / "maps", saliency, height=2, width=4)
    inside = Preparation((4, 4), fit="inside", channels=1)
    network = Network("one", one_pixel(7), tasks={"A": 0}, preparation=inside, probability="none")
    white = {"a": np.full((2, 4), 255, np.uint8)}
    curves = insertion(network, white, folder, baseline="zero", chunk=1)
    np.testing.assert_array_equal(curves["prob"], np.arange(17) > 0)


@BOTH
def test_black_is_what_the_preparation_makes_of_a_pixel_of_0(tmp_path, curve):
    # wider than the input, so that the padding, which is white, lies above and below
    saliency = np.linspace(0, 1, 8).reshape(2, 4)
    folder = in_folder(tmp_path / "maps", saliency, height=2, width=4)
    standardised = Preparation((4, 4), fit="inside", pad_value=1, mean=(0.5, 0.4, 0.2), std=(0.1, 0.2, 0.4))
    weights = np.random.default_rng(0).normal(size=48)
    network = Network("one", linear(weights), tasks={"A": 0}, preparation=standardised, probability="none")
    curves = curve(network, {"a": np.full((2, 4), 200, np.uint8)}, folder, baseline="black", chunk=1)
    by_channel = np.repeat([-5.0, -2.0, -0.5], 16)
    blank = curves[curves["fraction"] == (curve is deletion)]
    assert blank["prob"].item() == pytest.approx(weights @ by_channel, rel=SUMMED)
    assert set(curves["baseline"]) == {"black"}
    assert "baseline black" in curve_scores(curves)["curve_options"].item()
    for unprepared in (linear(weights), Network("one", linear(weights), tasks={"A": 0})):
        with raises(SalstatsError, option="baseline", value="black"):
            curve(unprepared, np.ones((1, 3, 4, 4)), saliency[None], 0, baseline="black")


@BOTH
def test_black_of_images_with_other_channels_than_the_preparation_is_an_error(curve):
    weights = np.ones(32)
    network = Network("one", linear(weights), tasks={"A": 0}, preparation=Preparation((4, 4), channels=3))
    with raises(ShapeError, option="baseline", value="black"):
        curve(network, np.ones((1, 2, 4, 4)), np.ones((1, 4, 4)), 0, baseline="black")


@BOTH
def test_black_is_among_the_choices_of_a_misspelt_baseline(curve):
    with raises(ValueRangeError, option="baseline", choices=("blur", "zero", "mean", "black")):
        curve(linear(np.ones(16)), np.ones((1, 1, 4, 4)), np.ones((1, 4, 4)), 0, baseline="blak")


@pytest.mark.parametrize(
    ("changed", "kind", "fields"),
    [
        ({"model": one_pixel(7)}, SalstatsError, {"option": "model"}),
        ({"targets": 0}, SalstatsError, {"option": "targets"}),
        ({"cases": ["a"], "method": "ig"}, SalstatsError, {"option": "method"}),
        ({"cases": ["b"]}, SalstatsError, {"option": "cases"}),
        ({"cases": ["a"], "tasks": ["B"]}, SalstatsError, {"option": "cases"}),
        ({"cases": ["a"], "tasks": ["A", "B"]}, ShapeError, {"match": "tasks"}),
        ({"tasks": ["A"]}, SalstatsError, {"option": "tasks"}),
        ({"images": {"b": np.ones((1, 2, 4))}}, SalstatsError, {"option": "images", "value": "a"}),
        ({"images": [np.ones((1, 2, 4))]}, SalstatsError, {"option": "images", "value": None}),
        ({"images": {"a": np.ones((1, 4, 2))}}, InputFileError, {"match": r"case 'a': .*\(4, 2\)"}),
        ({"model": Network("one", one_pixel(7), tasks={"B": 0})}, SalstatsError, {"choices": ("B",)}),
        ({"model": Network("two", one_pixel(7), tasks={"A": 0})}, SalstatsError, {"choices": ("one",)}),
    ],
)
def test_a_folder_that_does_not_go_with_the_rest_is_refused(tmp_path, changed, kind, fields):
    folder = in_folder(tmp_path / "maps", np.eye(2, 4), height=2, width=4, model="one")
    network = Network("one", one_pixel(7), tasks={"A": 0}, probability="none")
    given = {"model": network, "images": {"a": np.ones((1, 2, 4))}, "maps": folder, **changed}
    with raises(kind, **fields):
        insertion(**given)


@pytest.mark.parametrize(
    ("changed", "value", "outputs"),
    [
        ({"tasks": {"A": 1}}, ("gradcam:cnn", "A"), "output 2, .* output 1"),
        # the weights rounded
        ({"load": small_cnn(n_channels=1).half().float()}, "gradcam:cnn", None),
        ({"preparation": Preparation((9, 7), channels=1, mean=0.5)}, "gradcam:cnn", None),
    ],
)
def test_maps_of_a_folder_that_another_network_made_are_refused(tmp_path, changed, value, outputs):
    pictures = {"a": np.arange(144, dtype=np.uint8).reshape(12, 12)}
    network = Network(
        "cnn", small_cnn(n_channels=1), tasks={"A": 2}, preparation=Preparation((9, 7), channels=1)
    )
    folder = make_maps(tmp_path / "maps", pictures, network)
    insertion(replace(network, options={"gradcam": {"sign": "signed"}}), pictures, folder, steps=2)
    with raises(InputFileError, path=folder, value=value, match=outputs):
        insertion(replace(network, **changed), pictures, folder, steps=2)
