from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.files.map_folder_writer import MapFolder, MapKey
from salstats.frames import check_scores
from salstats.images.maps import SaliencyOnImage
from salstats.images.masks import encode
from salstats.scoring.repeatability import map_repeatability
from salstats.study import Case, Content, Prediction, Series, Study, Truth

SHAPE = (40, 30)
# the maps are stretched in single precision here, and in double precision in the test
SINGLE = 1e-5


def content(saliency):
    return Content(saliency=saliency)


def study_of_maps(maps, patients=None):
    """A study from (case, task, Series) -> map."""
    truth = np.zeros(SHAPE, bool)
    truth[10:30, 5:20] = True
    cases = [
        Case(
            case,
            SHAPE,
            {"a": Truth(partial(encode, truth))},
            tuple(
                Prediction(task, series, partial(content, m), "made up")
                for (c, task, series), m in maps.items()
                if c == case
            ),
            patient=None if patients is None else patients[case],
        )
        for case in dict.fromkeys(key[0] for key in maps)
    ]
    tasks, series = (tuple(dict.fromkeys(key[i] for key in maps)) for i in (1, 2))
    return Study(tuple(cases), tasks, series)


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    made = {}
    for case in ("x", "y"):
        shared = rng.uniform(size=SHAPE)
        for method, noise in (("rise", 0.2), ("lime", 3.0)):
            for seed in ("0", "1", "2"):
                made[case, "a", Series(method, "cnn", seed)] = shared + noise * rng.uniform(size=SHAPE)
    return made


def test_it_is_a_scores_frame_of_the_plain_formulas(maps):
    study = study_of_maps(maps)
    found = map_repeatability(study, threshold=0.5)
    check_scores(found)
    assert list(found.columns) == [
        "case", "task", "method", "model", "metric", "score", "reason", "n_maps", "over", "threshold",
    ]  # fmt: skip
    assert found["method"].to_list() == (["rise"] * 3 + ["lime"] * 3) * 2
    scores = found.set_index(["case", "method", "metric"])["score"]
    stack = np.stack([maps["y", "a", Series("lime", "cnn", s)] for s in "012"])
    low, high = stack.min(axis=(1, 2), keepdims=True), stack.max(axis=(1, 2), keepdims=True)
    stack = (stack - low) / (high - low)
    sd = stack.std(axis=0, ddof=1).mean()
    ncc = np.corrcoef(stack.reshape(3, -1))[np.triu_indices(3, 1)].mean()
    masks = stack > 0.5
    ious = [(masks[i] & masks[j]).sum() / (masks[i] | masks[j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))]
    expected_scores = {"map_sd": sd, "map_iou": np.mean(ious), "map_ncc": ncc}
    for metric, expected in expected_scores.items():
        assert scores["y", "lime", metric] == pytest.approx(expected, rel=SINGLE)


def test_a_map_folder_needs_no_truth(maps, tmp_path):
    with MapFolder(tmp_path / "maps") as folder:
        for (case, task, series), saliency in maps.items():
            folder.add(MapKey(case, task, series.method, series.model, series.seed), saliency, shape=SHAPE)
    found, expected = map_repeatability(tmp_path / "maps"), map_repeatability(study_of_maps(maps))
    columns = ["case", "method", "metric"]
    pd.testing.assert_series_equal(
        found.set_index(columns)["score"].sort_index(), expected.set_index(columns)["score"].sort_index()
    )


def test_masks_are_those_that_score_compares(maps):
    # two maps: their overlap is the IoU of one against the other as truth
    study = study_of_maps({k: m for k, m in maps.items() if k[0] == "x" and k[2].seed != "2"})
    masks = {s.seed: s for s in study.series if s.method == "rise"}
    first = SaliencyOnImage(maps["x", "a", masks["0"]], SHAPE, smooth=3).mask()
    truths, drawn = {("x", "a"): first}, {("x", "a", "rise"): maps["x", "a", masks["1"]]}
    expected = ss.score(ss.study_from_arrays(truths, drawn), metrics="iou", smooth=3)["score"].iloc[0]
    found = map_repeatability(study, smooth=3).set_index(["method", "metric"])
    assert found.loc[("rise", "map_iou"), "score"] == pytest.approx(expected, rel=1e-12)
    assert found.loc[("rise", "map_iou"), "smooth"] == 3


def test_missing_constant_and_broken_maps_are_said(maps):
    series = [Series("rise", "cnn", s) for s in "012"]
    one = maps["x", "a", series[0]]
    given = {
        **{("few", "a", s): m for s, m in zip(series, (one, np.full(SHAPE, np.nan)), strict=False)},
        **{("flat", "a", s): np.full((7, 7), 0.1) for s in series},
        **{("half", "a", s): m for s, m in zip(series, (one, one, np.zeros(SHAPE)), strict=True)},
    }
    found = map_repeatability(study_of_maps(given), threshold=0.5).set_index(["case", "metric"])
    assert (found.loc["few", "reason"] == "fewer than two maps").all()
    assert (found.loc["few", "n_maps"] == 1).all()
    assert found.loc[("flat", "map_sd"), "score"] == 0
    assert found.loc["flat", "reason"].to_list()[1:] == ["empty masks", "constant maps"]
    # of the pairs with the map that points at nothing, the overlap is 0 and the correlation undefined
    assert found.loc[("half", "map_iou"), "score"] == pytest.approx(1 / 3)
    assert found.loc[("half", "map_ncc"), "score"] == pytest.approx(1)
    assert found.loc["half", "reason"].isna().all()


@pytest.mark.parametrize(("image_shape", "file_shape"), [((1, 4), None), (None, (1, 4)), ((1, 4), (1, 4))])
def test_a_smaller_map_is_laid_on_its_image(image_shape, file_shape):
    # half-pixel centres: 0 and 1 become 0, 1/4, 3/4 and 1 on four pixels
    maps = {"0": np.array([[0.0, 1.0]]), "1": np.array([[0.0, 1.0, 1.0, 1.0]])}
    found = map_repeatability(study_of_image(maps, image_shape, file_shape), threshold=0.5)
    scores = found.set_index("metric")["score"]
    assert scores["map_iou"] == pytest.approx(2 / 3)
    assert scores["map_sd"] == pytest.approx((3 / 4 + 1 / 4) / np.sqrt(2) / 4)
    assert scores["map_ncc"] == pytest.approx(np.corrcoef([0, 1, 3, 4], [0, 1, 1, 1])[0, 1])


def test_maps_of_an_image_of_unknown_size_are_compared_at_their_own():
    maps = {
        "0": np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),
        "1": np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]),
    }
    found = map_repeatability(study_of_image(maps, None, None), threshold=0.5).set_index("metric")
    assert found.loc["map_iou", "score"] == pytest.approx(2 / 3)


def study_of_image(map_by_seed, image_shape, file_shape):
    """A study of one image, whose maps say the size of the image where `file_shape` is given."""
    series = {seed: Series("rise", "cnn", seed) for seed in map_by_seed}
    predictions = tuple(
        Prediction("a", series[seed], partial(Content, saliency=saliency, shape=file_shape), "made up")
        for seed, saliency in map_by_seed.items()
    )
    return Study((Case("x", image_shape, {}, predictions),), ("a",), tuple(series.values()))


def test_trainings_may_be_models(maps):
    renamed = {(c, t, Series(s.method, f"cnn{s.seed}")): m for (c, t, s), m in maps.items()}
    found = map_repeatability(study_of_maps(renamed), over="model", threshold=0.5)
    assert "model" not in found
    expected = map_repeatability(study_of_maps(maps), threshold=0.5)["score"]
    np.testing.assert_array_equal(found["score"], expected)


def test_the_mean_over_the_trainings_is_no_repetition(maps):
    for case in ("x", "y"):
        seeds = [maps[case, "a", Series("rise", "cnn", seed)] for seed in ("0", "1", "2")]
        maps[case, "a", Series("rise", "cnn", "mean")] = np.mean(seeds, axis=0)
    with warns(column="seed"):
        map_repeatability(study_of_maps(maps))


def test_what_was_made_once_is_left_out(maps):
    maps = maps | {("x", "a", Series("gradcam", "cnn")): np.eye(40, 30)}
    assert set(map_repeatability(study_of_maps(maps))["method"]) == {"rise", "lime"}
    once = study_of_maps({k: m for k, m in maps.items() if k[2].seed in (None, "0")})
    series = ("rise:cnn:0", "lime:cnn:0", "gradcam:cnn")
    with raises(SalstatsError, option="over", value="seed", choices=series):
        map_repeatability(once)
    with raises(ValueRangeError, option="over", value="reader"):
        map_repeatability(once, over="reader")


@pytest.mark.slow
def test_jobs_change_nothing_and_patients_come_along(maps):
    study = study_of_maps(maps, {"x": "p", "y": "p"})
    one, two = (map_repeatability(study, jobs=jobs) for jobs in (1, 2))
    assert one["patient"].to_list() == ["p"] * 12
    assert one.equals(two)
