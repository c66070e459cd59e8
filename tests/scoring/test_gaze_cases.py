"""Scores of one image: truths of its readers by hand, and the reasons why there is no score."""

from dataclasses import replace

import numpy as np
import pytest
from gaze_files import (
    N_READERS,
    SHAPES,
    fixation_rows,
    recording_id,
    write_fixations,
    write_maps,
    write_release,
)
from tests_support import raises, warns

from salstats.errors import InputFileError
from salstats.images.center_bias import CenterBias
from salstats.images.fixations import fixation_density
from salstats.readers.gaze import read_gaze
from salstats.scoring.gaze import score_gaze
from salstats.scoring.gaze_cases import (
    GazeRule,
    GazeTruths,
    center_bias_on_image_or_reason,
    drawn_flat_pixel_indices,
    recording_density,
    resized_if_finite,
)


@pytest.fixture
def release(tmp_path):
    return write_release(tmp_path / "data")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Three images, three readers, a map of each image's size and one that is to be stretched."""
    folder = tmp_path_factory.mktemp("drawn")
    release = write_release(folder / "data")
    maps = {"cam": write_maps(folder / "cam"), "ig:vgg:7": write_maps(folder / "ig", 1, (7, 9))}
    return read_gaze(release, maps=maps)


def of(scores, **chosen):
    """The rows with some values."""
    for column, value in chosen.items():
        scores = scores[scores[column].eq(value)]
    return scores


class TestTruths:
    @pytest.fixture
    def case(self, drawn):
        return drawn.cases[1]

    @pytest.fixture
    def looks(self, case):
        return [recording.read() for recording in case.recordings]

    def test_each_reader_is_left_out_once(self, case, looks):
        truths = GazeTruths(case, GazeRule((), ("ncc",), "all"))
        assert truths.left_out == case.used
        densities = [fixation_density(look, case.shape) for look in looks]
        np.testing.assert_array_equal(truths.reader_densities, densities)
        for left_out in range(N_READERS):
            others = [reader for reader in range(N_READERS) if reader != left_out]
            mean = np.mean([densities[reader] for reader in others], axis=0)
            np.testing.assert_allclose(truths.densities[left_out], mean, rtol=1e-12)
            points = np.concatenate([looks[reader].points for reader in others])
            np.testing.assert_array_equal(truths.points[left_out], points)

    def test_all_readers_are_one_truth(self, case, looks):
        truths = GazeTruths(case, GazeRule((), ("ncc",), "all", truth="all"))
        assert truths.left_out == (None,)
        mean = np.mean([fixation_density(look, case.shape) for look in looks], axis=0)
        np.testing.assert_allclose(truths.densities, [mean], rtol=1e-12)
        assert len(truths.points[0]) == sum(len(look.points) for look in looks)

    def test_points_of_the_truth_lie_in_a_pixel_of_the_image(self, release):
        height, width = SHAPES["img-a"]
        rows = fixation_rows("img-a", 0)
        places = [(0, 0), (width - 0.01, height - 0.01), (width, 5), (5, height), (-0.01, 5), (5, -0.01)]
        for row, (x, y) in zip(rows, places, strict=True):
            row[2:4] = x, y
        write_fixations(release / recording_id("img-a", 0), rows)
        truths = GazeTruths(read_gaze(release).cases[0], GazeRule((), ("nss",), "all"))
        first_reader = truths.points[1][: -len(fixation_rows("img-a", 2))]
        assert first_reader.tolist() == [[0, 0], [height - 0.01, width - 0.01]]

    def test_a_density_that_cannot_be_made_names_the_file_of_its_fixations(self, case, looks):
        far = replace(looks[0], points=looks[0].points + 1e6)
        recording = case.recordings[0]
        with raises(InputFileError, path=recording.source):
            recording_density(recording, far, case.shape)


@pytest.mark.parametrize(
    ("n", "n_readers", "min_readers", "reason"),
    [
        (2, None, 2, None),
        (1, None, 2, "fewer than 2 readers"),
        (5, 5, 2, None),
        (4, 5, 2, "not 5 readers"),
        (6, 5, 2, "not 5 readers"),
    ],
)
def test_an_image_is_scored_if_enough_readers_looked_at_it(n, n_readers, min_readers, reason):
    rule = GazeRule((), ("ncc",), "all", min_readers=min_readers, n_readers=n_readers)
    assert rule.unscored_reason(n) == reason


class TestCentreBiasOnAnImage:
    @staticmethod
    def bias_of(study, cases):
        """The centre bias of some cases of a study, in the frame of all."""
        bias = CenterBias({case.case: case.box for case in study}, {case.case: case.shape for case in study})
        for case in cases:
            bias.add(case.case, *(fixation_density(reader.read(), case.shape) for reader in case.recordings))
        return bias

    @staticmethod
    def on_image(case, bias, center_bias):
        """What the package makes of a bias on an image."""
        rule = GazeRule((), ("sncc",), center_bias)
        return center_bias_on_image_or_reason(case, GazeTruths(case, rule), bias, rule)

    @pytest.mark.parametrize("center_bias", ["all", "others"])
    def test_it_is_of_all_images_or_of_the_others(self, drawn, center_bias):
        all_cases = self.bias_of(drawn, drawn.cases)
        for case in drawn:
            averaged = [other for other in drawn if center_bias == "all" or other is not case]
            density, n_unseen = self.bias_of(drawn, averaged).on_image(case.case)
            found = self.on_image(case, all_cases, center_bias)
            # taking maps out of a sum leaves rounding errors
            np.testing.assert_allclose(found.density, density, rtol=1e-9, atol=1e-12)
            assert found.n_unseen == n_unseen
            assert found.reason is None

    def test_an_image_that_is_alone_has_a_bias_of_all_images_but_none_of_the_others(self, drawn):
        case = drawn.cases[0]
        alone = self.bias_of(drawn, [case])
        assert self.on_image(case, alone, "all").density.sum() == pytest.approx(1)
        assert self.on_image(case, alone, "others") == (None, None, "no centre bias")

    @pytest.mark.parametrize("center_bias", ["all", "others"])
    def test_without_a_box_or_a_bias_there_is_a_reason(self, drawn, center_bias):
        case = drawn.cases[0]
        assert self.on_image(case, None, center_bias) == (None, None, "no centre bias")
        bias = self.bias_of(drawn, drawn.cases)
        without_box = replace(case, recordings=[replace(one, box=None) for one in case.recordings])
        assert self.on_image(without_box, bias, center_bias) == (None, None, "no chest box")


def test_pixels_are_drawn_as_often_as_their_density_says():
    density = np.array([[0.0, 1.0], [3.0, 4.0]])
    pixels = drawn_flat_pixel_indices(density, (100, 200), np.random.default_rng(0))
    assert pixels.shape == (100, 200)
    shares = np.bincount(pixels.ravel(), minlength=4) / pixels.size
    # four standard errors of a share of a half
    np.testing.assert_allclose(shares, density.ravel() / 8, atol=4 * 0.5 / np.sqrt(pixels.size))
    assert shares[0] == 0


def test_a_map_on_an_image_is_finite_and_of_its_size():
    ramp = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(resized_if_finite(ramp, (2, 3)), ramp)
    assert resized_if_finite(ramp.astype(np.float32), (4, 6)).shape == (4, 6)
    assert resized_if_finite(ramp.astype(np.float32), (2, 3)).dtype == np.float64
    assert resized_if_finite(np.where(ramp > 4, np.nan, ramp), (2, 3)) is None


class TestUndefined:
    @pytest.fixture
    def maps(self, tmp_path):
        return write_maps(tmp_path / "maps")

    def reasons(self, release, maps, metrics=("ncc", "auc", "nss", "kl")):
        scores = score_gaze(read_gaze(release, maps={"cam": maps}, padded=False), metrics=metrics)
        rows = of(scores, method="cam", case="img-a")
        assert of(scores, method="cam", case="img-b")["score"].notna().all()
        assert of(scores, method="interobserver")["score"].notna().all()
        assert rows["score"].isna().all()
        assert len(rows) == N_READERS * len(metrics)
        return set(rows["reason"])

    @pytest.mark.parametrize(
        ("saliency", "reason"),
        [
            (None, "no map"),
            # stretched to half the size, this pixel would be passed over
            (np.where(np.arange(4800).reshape(60, 80), 1.0, np.nan), "map is not finite"),
            (np.where(np.arange(4800).reshape(60, 80), 1.0, np.inf), "map is not finite"),
            (np.zeros(SHAPES["img-a"]), "constant map"),
            (np.full((5, 5), 0.1), "constant map"),
        ],
    )
    def test_a_map_that_says_nothing(self, release, maps, saliency, reason):
        (maps / "img-a.npy").unlink()
        if saliency is not None:
            np.save(maps / "img-a.npy", saliency)
        assert self.reasons(release, maps) == {reason}

    @pytest.mark.parametrize("change", [lambda x: 1e100 * x, lambda x: 1e8 + x], ids=["huge", "shifted"])
    def test_a_map_that_is_stretched_keeps_an_order_that_single_precision_would_lose(
        self, release, maps, change
    ):
        saliency = np.random.default_rng(0).random((6, 7))
        found = []
        for one in (saliency, change(saliency)):
            np.save(maps / "img-a.npy", one)
            scores = score_gaze(read_gaze(release, maps={"cam": maps}), metrics=("ncc", "auc", "nss"))
            found.append(of(scores, method="cam", case="img-a")["score"])
        # of x, 1e8 + x keeps seven digits
        np.testing.assert_allclose(*found, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("value", [0.0, 0.1])
    def test_a_constant_map(self, release, maps, value):
        for shape in (SHAPES["img-a"], (5, 5)):
            np.save(maps / "img-a.npy", np.full(shape, value))
            assert self.reasons(release, maps) == {"constant map"}

    def test_too_few_readers(self, release, maps):
        for reader in (0, 2):
            write_fixations(release / recording_id("img-b", reader), [])
        with warns(path=release, value={"no fixation": 2}, match=r"\b9\b"):
            study = read_gaze(release, maps={"cam": maps})
        scores = score_gaze(study, metrics="ncc")
        rows = of(scores, case="img-b")
        assert rows[["method", "reader", "reason", "n_readers"]].to_numpy().tolist() == [
            ["cam", "1", "fewer than 2 readers", 1],
            ["interobserver", "1", "fewer than 2 readers", 1],
        ]
        assert scores.drop(index=rows.index)["score"].notna().all()
        assert (
            of(score_gaze(study, metrics="ncc", truth="all", min_readers=1), case="img-b")["score"]
            .notna()
            .all()
        )

    def test_no_reader_at_all(self, release, maps):
        for reader in range(N_READERS):
            write_fixations(release / recording_id("img-b", reader), [])
        with warns(path=release, value={"no fixation": 3}, match=r"\b9\b"):
            study = read_gaze(release, maps={"cam": maps})
        rows = of(score_gaze(study, metrics="ncc"), case="img-b")
        assert rows["method"].tolist() == ["cam", "interobserver"]
        assert rows["reader"].isna().all()
        assert rows["reason"].eq("fewer than 2 readers").all()

    def test_no_fixation_in_the_image(self, release, maps):
        for reader in range(N_READERS):
            rows = [[*row[:2], -3, *row[3:]] for row in fixation_rows("img-a", reader)]
            write_fixations(release / recording_id("img-a", reader), rows)
        scores = score_gaze(read_gaze(release, maps={"cam": maps}), metrics=("nss", "auc_judd", "ncc"))
        rows = of(scores, case="img-a")
        points = rows["metric"].isin(("nss", "auc_judd"))
        assert rows.loc[points, "reason"].eq("no fixation in the image").all()
        # the tails of fixations outside are in the density
        assert rows.loc[~points, "score"].notna().all()

    def test_fixations_outside_the_image_are_no_points(self, release, maps):
        study = read_gaze(release, maps={"cam": maps})
        before = of(score_gaze(study, metrics="nss"), case="img-a", method="cam")["score"].tolist()
        for reader in range(N_READERS):
            rows = [*fixation_rows("img-a", reader), [90, 91, 40, 10, 5, 5, 0, 0, 40, 30]]
            write_fixations(release / recording_id("img-a", reader), rows)
        study = read_gaze(release, maps={"cam": maps})
        assert of(score_gaze(study, metrics="nss"), case="img-a", method="cam")["score"].tolist() == before

    def test_a_map_that_rules_out_a_fixation_has_no_information_gain_without_a_floor(self, release, maps):
        saliency = np.zeros(SHAPES["img-a"])
        saliency[0, 0] = 1
        np.save(maps / "img-a.npy", saliency)
        study = read_gaze(release, maps={"cam": maps})
        rows = of(score_gaze(study, metrics="information_gain"), case="img-a", method="cam")
        assert rows["reason"].eq("map is 0 at a fixation").all()
        assert rows["score"].isna().all()
        scores = score_gaze(study, metrics=["information_gain", "nss"], floor=0.001)
        # a metric without a floor has none in its rows
        assert set(of(scores, metric="information_gain")["floor"]) == {0.001}
        assert of(scores, metric="nss")["floor"].isna().all()
        rows = of(scores, case="img-a", method="cam", metric="information_gain")
        assert np.isfinite(rows["score"]).all()

    def test_without_a_centre_bias_shuffled_metrics_alone_have_no_score(self, release, maps):
        for image in ("img-b", "img-c"):
            for reader in range(N_READERS):
                write_fixations(release / recording_id(image, reader), [])
        with warns(path=release, value={"no fixation": 6}):
            study = read_gaze(release, maps={"cam": maps})
        metrics = ("sauc", "sncc", "information_gain", "auc", "nss")
        scores = score_gaze(study, metrics=metrics, center_bias="others")
        rows = of(scores, case="img-a", method="cam")
        assert len(rows) == N_READERS * len(metrics)
        shuffled = rows["metric"].isin(metrics[:3])
        assert rows.loc[shuffled, "score"].isna().all()
        assert set(rows.loc[shuffled, "reason"]) == {"no centre bias"}
        assert rows.loc[~shuffled, "score"].notna().all()


class TestSampling:
    def test_draws_are_those_of_their_seed(self, drawn):
        scores = [score_gaze(drawn, metrics="auc", n_samples=200, rng=seed)["score"] for seed in (3, 3, 4)]
        assert scores[0].equals(scores[1])
        assert not scores[0].equals(scores[2])

    def test_draws_do_not_depend_on_what_else_is_asked_for(self, drawn):
        both = score_gaze(drawn, metrics=("sauc", "ncc", "auc"), n_samples=200)
        for name in ("auc", "sauc"):
            alone = score_gaze(drawn.select(methods="cam"), metrics=name, n_samples=200)
            expected = of(both, metric=name)
            expected = expected[expected["method"].isin(("cam", "interobserver"))]["score"]
            assert alone["score"].tolist() == expected.tolist()

    def test_maps_of_one_image_share_their_draws(self, release, tmp_path):
        maps = write_maps(tmp_path / "maps")
        study = read_gaze(release, maps={"one": maps, "other": maps})
        scores = score_gaze(study, metrics=("auc", "sauc"), n_samples=100)
        assert of(scores, method="one")["score"].tolist() == of(scores, method="other")["score"].tolist()
