"""Scores of maps against gaze: the study's own results, and the kernels on recordings drawn here."""

import numpy as np
import pandas as pd
import pytest
from gaze_files import (
    N_READERS,
    SHAPES,
    recording_id,
    write_box,
    write_fixations,
    write_maps,
    write_release,
)
from tests_support import raises, warns

from salstats import metrics as metric
from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.frames import check_scores
from salstats.images.center_bias import Box, CenterBias
from salstats.images.fixations import fixation_density
from salstats.images.map_steps import resize_in_float64
from salstats.readers.gaze import read_gaze
from salstats.scoring.gaze import center_bias_of_recordings, score_gaze
from salstats.stats.summaries import summarize

#: The reference sums its fixation maps in single precision, whose unit is 6e-8.
SINGLE = 1e-7
#: In single precision the far tails of a reader's map are 0, and so tied; here they are in order. That
#: moves an area of a map that is itself a fixation map, and of no other.
TAILS = 2e-3
EVERY = ("ncc", "sncc", "auc", "sauc", "sim", "kl", "nss", "auc_points", "auc_judd", "information_gain")
SHUFFLED = ("sncc", "sauc", "information_gain")
METHODS = ("sono", "ag", "am1", "am2")
KEY = ["phase", "trial", "reader", "method", "metric"]


@pytest.fixture(scope="module")
def oracle(shared):
    return shared / "oracles" / "gaze"


@pytest.fixture(scope="module")
def oracle_study(oracle, tmp_path_factory):
    """The oracle's recordings, maps and lungs, and each reader's own map as the reference has it."""
    folder = tmp_path_factory.mktemp("maps")
    given = np.load(oracle / "inputs" / "maps.npz")
    scale = {"am1": 65535, "am2": 255}
    for name in given.files:
        phase, trial, method = name.split("_")
        (folder / method).mkdir(exist_ok=True)
        values = given[name] / scale[method] if method in scale else given[name]
        np.save(folder / method / f"{phase}_{trial}.npy", values)
    looks = np.load(oracle / "expected" / "fixation_maps_f32.npz")
    for name in looks.files:
        phase, trial, reader = name.split("_")
        (folder / f"look_{reader}").mkdir(exist_ok=True)
        np.save(folder / f"look_{reader}" / f"{phase}_{trial}.npy", looks[name])
    named = [*METHODS, *(f"look_r{reader}" for reader in range(5))]
    recordings_folder = oracle / "inputs" / "main_data"
    with warns(path=recordings_folder, value={"discarded by its file": 1}):
        return read_gaze(
            recordings_folder,
            maps={method: folder / method for method in named},
            lungs=folder / "lungs256",
        )


@pytest.fixture(scope="module")
def oracle_scores(oracle_study):
    return score_gaze(oracle_study, n_readers=5)


@pytest.fixture(scope="module")
def expected(oracle):
    """What the reference's comparisons are in float64, by phase, trial, reader, method and metric."""
    files = {"ncc_sncc": "value_f64", "auc_sauc": "exact_limit"}
    parts = [
        pd.read_csv(oracle / "expected" / f"{name}.csv").rename(columns={column: "value"})
        for name, column in files.items()
    ]
    frame = pd.concat(parts, ignore_index=True).rename(columns={"index_image": "reader"})
    return frame.astype({"reader": "str"}).set_index(KEY)["value"]


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


@pytest.fixture(scope="module")
def scores(drawn):
    return score_gaze(drawn, metrics=EVERY, floor=0.01)


@pytest.fixture(scope="module")
def bias(drawn):
    """The centre bias of the drawn study, put together by hand."""
    boxes = {c.case: Box(*np.mean([r.box for r in c.recordings], axis=0)) for c in drawn}
    bias = CenterBias(boxes, {c.case: c.shape for c in drawn})
    for case in drawn:
        for recording in case.recordings:
            bias.add(case.case, fixation_density(recording.read(), case.shape))
    return bias


def map_of(method, place, shape):
    """The drawn map of an image, at the image's size."""
    if method == "cam":
        return np.random.default_rng([0, place]).random(shape)
    return resize_in_float64(np.random.default_rng([1, place]).random((7, 9)), shape)


def by_kernel(name, saliency, density, points, center):
    """A metric's own function."""
    if name in ("ncc", "auc", "sim", "kl"):
        return getattr(metric, name)(saliency, density)
    if name in ("sncc", "sauc"):
        return getattr(metric, name)(saliency, density, center)
    if name == "information_gain":
        return metric.information_gain(saliency, points, center, minimum=0.01 * saliency.max())
    return getattr(metric, name)(saliency, points)


def with_trial(scores, study):
    """Scores with the study's own name of an image."""
    return scores.assign(trial=scores["case"].map({c.case: c.trial for c in study}))


def of(scores, **chosen):
    """The rows with some values."""
    for column, value in chosen.items():
        scores = scores[scores[column].eq(value)]
    return scores


class TestTheOracle:
    def compared(self, scores, study, expected):
        rows = with_trial(scores, study).dropna(subset="score").set_index(KEY)["score"]
        assert set(expected.index) <= set(rows.index)
        assert len(expected) == 720
        return (rows[expected.index] - expected).abs().groupby(["metric", "method"]).max()

    def test_correlations_equal_the_reference(self, oracle_scores, oracle_study, expected):
        worst = self.compared(oracle_scores, oracle_study, expected)
        assert worst[["ncc", "sncc"]].max() < SINGLE

    def test_areas_equal_what_the_reference_s_samples_scatter_around(
        self, oracle_scores, oracle_study, expected
    ):
        worst = self.compared(oracle_scores, oracle_study, expected)[["auc", "sauc"]]
        assert worst.drop("interobserver", level="method").max() < SINGLE
        assert worst.max() < TAILS

    def test_so_do_those_of_a_reader_s_map_in_single_precision(self, oracle_scores, oracle_study, expected):
        rows = with_trial(oracle_scores, oracle_study).dropna(subset="score")
        rows = rows[rows["method"].eq("look_r" + rows["reader"])].assign(method="interobserver")
        between = expected.xs("interobserver", level="method", drop_level=False)
        assert len(between) == 120
        assert (rows.set_index(KEY)["score"][between.index] - between).abs().max() < SINGLE

    def test_an_image_with_four_readers_is_not_compared_where_five_are_wanted(
        self, oracle_scores, oracle_study
    ):
        (four,) = (c for c in oracle_study if len(c.used) == 4)
        rows = of(oracle_scores, case=four.case)
        assert rows["score"].isna().all()
        assert rows["reason"].eq("not 5 readers").all()
        assert rows["n_readers"].eq(4).all()
        assert len(rows) == 4 * 11 * 4
        assert oracle_scores["reason"].notna().sum() == len(rows)

    def test_the_centre_bias_is_the_reference_s(self, oracle, oracle_study):
        theirs = np.load(oracle / "expected" / "center_bias_f64.npz")
        bias = center_bias_of_recordings(oracle_study)
        for case in oracle_study:
            density, n_unseen = bias.on_image(case.case)
            expected = theirs[f"p{case.phase}_t{case.trial}"]
            assert np.abs(density - expected).max() < SINGLE * expected.max()
            assert n_unseen == np.count_nonzero(expected == 0)

    def test_sampled_areas_scatter_as_the_reference_s_do(self, oracle, oracle_study, expected):
        errors = pd.read_csv(oracle / "expected" / "auc_sauc.csv")
        errors = errors.rename(columns={"index_image": "reader"}).astype({"reader": "str"})
        errors = errors.set_index(KEY)["se_n1000"]
        study = oracle_study.select(methods=(*METHODS, "convex"))
        scores = score_gaze(study, metrics=("auc", "sauc"), n_readers=5, n_samples=1000, rng=1)
        assert scores["n_samples"].eq(1000).all()
        rows = with_trial(scores, study).dropna(subset="score").set_index(KEY)["score"]
        z = (rows[errors.index] - expected[errors.index]) / errors
        # 360 values, six of which share their draws: a standard deviation of 1, give or take
        assert 0.8 < z.std() < 1.2
        assert z.abs().max() < 5


class TestAgainstTheKernels:
    """Every score is the metric's own function of a map and what it is to be compared with."""

    @pytest.mark.parametrize("name", EVERY)
    @pytest.mark.parametrize("method", ["cam", "ig", "interobserver"])
    def test_a_metric(self, drawn, scores, bias, name, method):
        for place, case in enumerate(drawn):
            looks = [r.read() for r in case.recordings]
            maps = [fixation_density(look, case.shape) for look in looks]
            center = bias.on_image(case.case)[0]
            for left_out in range(N_READERS):
                others = [i for i in range(N_READERS) if i != left_out]
                saliency = maps[left_out] if method == "interobserver" else map_of(method, place, case.shape)
                value = by_kernel(
                    name,
                    saliency,
                    (maps[others[0]] + maps[others[1]]) / 2,
                    np.concatenate([looks[i].points for i in others]),
                    center,
                )
                rows = of(scores, case=case.case, method=method, reader=str(left_out), metric=name)
                assert rows["score"].item() == pytest.approx(value, rel=1e-9, abs=1e-12)

    def test_every_case_series_reader_and_metric_has_a_row_in_this_order(self, drawn, scores):
        order = [
            (case.case, method, str(reader), name)
            for case in drawn
            for method in ("cam", "ig", "interobserver")
            for reader in range(N_READERS)
            for name in EVERY
        ]
        assert (
            list(scores[["case", "method", "reader", "metric"]].itertuples(index=False, name=None)) == order
        )

    def test_columns(self, scores):
        assert scores.columns.tolist() == [
            "case", "patient", "phase", "method", "model", "seed", "reader", "recording", "metric", "score",
            "reason", "n_readers", "truth", "center_bias", "n_unseen", "floor",
        ]  # fmt: skip
        assert scores["score"].notna().all()
        assert scores["reason"].isna().all()
        assert scores["truth"].eq("others").all()
        assert scores["center_bias"].notna().eq(scores["metric"].isin(SHUFFLED)).all()
        assert scores["floor"].notna().eq(scores["metric"] == "information_gain").all()
        assert scores["n_unseen"].notna().eq(scores["metric"].isin(SHUFFLED)).all()
        named = of(scores, case="img-b", reader="2")["recording"].unique().tolist()
        assert named == [recording_id("img-b", 2)]
        assert of(scores, method="ig")[["model", "seed"]].drop_duplicates().to_numpy().tolist() == [
            ["vgg", "7"]
        ]

    def test_they_are_a_scores_frame_that_the_statistics_take(self, scores):
        check_scores(scores)
        with warns(column="df") as caught:
            means = summarize(scores, by=("metric", "method"), n_replicates=20)
        assert caught[0].message.value == pytest.approx(2)
        cam = scores.query("metric == 'ncc' and method == 'cam'")["score"].mean()
        assert of(means, metric="ncc", method="cam")["estimate"].item() == pytest.approx(cam, rel=1e-12)

    def test_all_readers_are_one_truth(self, drawn):
        scores = score_gaze(drawn, metrics=("ncc", "nss"), truth="all")
        assert "reader" not in scores.columns
        assert "recording" not in scores.columns
        assert scores["method"].unique().tolist() == ["cam", "ig"]
        assert len(scores) == 3 * 2 * 2
        for place, case in enumerate(drawn):
            looks = [r.read() for r in case.recordings]
            density = np.mean([fixation_density(look, case.shape) for look in looks], axis=0)
            points = np.concatenate([look.points for look in looks])
            saliency = np.random.default_rng([0, place]).random(case.shape)
            rows = of(scores, case=case.case, method="cam").set_index("metric")["score"]
            assert rows["ncc"] == pytest.approx(metric.ncc(saliency, density), rel=1e-9)
            assert rows["nss"] == pytest.approx(metric.nss(saliency, points), rel=1e-9)


class TestCentreBias:
    def test_of_the_others_is_that_without_the_image_s_own_recordings(self, drawn):
        scores = score_gaze(drawn, metrics=("sauc", "ncc"), center_bias="others")
        assert scores.query("metric == 'sauc'")["center_bias"].eq("others").all()
        assert scores.query("metric == 'ncc'")["center_bias"].isna().all()
        case = drawn.cases[1]
        boxes = {c.case: c.box for c in drawn}
        bias = CenterBias(boxes, {c.case: c.shape for c in drawn})
        for other in (drawn.cases[0], drawn.cases[2]):
            for recording in other.recordings:
                bias.add(other.case, fixation_density(recording.read(), other.shape))
        center, n_unseen = bias.on_image(case.case)
        maps = [fixation_density(r.read(), case.shape) for r in case.recordings]
        saliency = np.random.default_rng([0, 1]).random(case.shape)
        value = metric.sauc(saliency, (maps[0] + maps[2]) / 2, center)
        rows = of(scores, case=case.case, method="cam", reader="1", metric="sauc")
        # taking maps out of a sum leaves rounding errors
        assert rows["score"].item() == pytest.approx(value, rel=1e-9)
        assert rows["n_unseen"].item() == n_unseen

    def test_it_is_that_of_every_image_with_readers_also_of_those_not_scored(self, release, tmp_path):
        write_fixations(release / recording_id("img-c", 0), [])
        maps = write_maps(tmp_path / "maps")
        with warns(path=release, value={"no fixation": 1}, match=r"\b9\b"):
            study = read_gaze(release, maps=maps)
        scores = score_gaze(study, metrics="sauc", n_readers=3)
        assert of(scores, case="img-c")["score"].isna().all()
        alone = score_gaze(study.select(cases=["img-a", "img-b"]), metrics="sauc", n_readers=3)
        assert of(scores, case="img-a")["score"].tolist() != of(alone, case="img-a")["score"].tolist()

    def test_an_image_without_a_chest_box_has_none(self, release, tmp_path):
        for reader in range(N_READERS):
            write_box(release / recording_id("img-b", reader))
        with warns(path=release, value={"no chest box": 3}, match=r"\b9\b"):
            study = read_gaze(release, maps=write_maps(tmp_path / "maps"))
        scores = score_gaze(study, metrics=("ncc", "sncc", "sauc"), n_samples=50)
        lost = scores["case"].eq("img-b") & scores["metric"].isin(SHUFFLED)
        assert scores.loc[lost, "reason"].eq("no chest box").all()
        assert scores.loc[~lost, "score"].notna().all()


class TestJobs:
    @pytest.mark.parametrize("options", [{"floor": 0.01}, {"n_samples": 50, "center_bias": "others"}])
    def test_one_and_two_give_the_same_bits(self, drawn, options):
        metrics = EVERY if "floor" in options else ("auc", "sauc", "sncc")
        frames = [score_gaze(drawn, metrics=metrics, jobs=jobs, **options) for jobs in (None, 1, 2)]
        for frame in frames[1:]:
            pd.testing.assert_frame_equal(frame, frames[0], check_exact=True)


class TestMixing:
    def test_each_rule_has_its_rows(self, release, tmp_path):
        folder = tmp_path / "classes"
        folder.mkdir()
        rng = np.random.default_rng(5)
        for image in SHAPES:
            np.savez(folder / f"{image}.npz", maps=rng.random((3, 6, 6)), probs=[0.2, 0.7, 0.6])
        scores = score_gaze(read_gaze(release, class_maps={"cam": folder}, padded=False), metrics="ncc")
        means = scores[scores["method"] != "interobserver"].groupby("mixing")["score"].mean()
        assert set(means.index) == {"thresholded", "weighted", "uniform"}
        mixed = scores.dropna(subset="mixing")
        assert (mixed["method"] == "cam_" + mixed["mixing"]).all()
        # so that no statistic takes two mixings for one method
        check_scores(scores)
        assert means.nunique() == 3
        assert of(scores, method="interobserver")["mixing"].isna().all()
        study = read_gaze(release, class_maps={"cam": folder}, mixing="weighted", padded=False)
        one = score_gaze(study, metrics="ncc")
        assert of(one, method="cam_weighted")["score"].mean() == pytest.approx(means["weighted"], rel=1e-12)
        check_scores(one)


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "fields"),
        [
            ({"metrics": "ncd"}, {"option": "metrics", "value": "ncd", "match": "'ncc'"}),
            ({"metrics": "iou"}, {"option": "metrics", "value": "iou", "match": "a map and gaze"}),
            ({"metrics": ()}, {"option": "metrics", "match": "empty"}),
            ({"center_bias": "none"}, {"option": "center_bias", "choices": ("all", "others")}),
            ({"min_readers": 1}, {"option": "min_readers", "value": 1, "match": r"\b2\b"}),
            (
                {"min_readers": 3, "n_readers": 2},
                {"option": "n_readers", "value": 2, "match": r"\b3\b"},
            ),
            ({"floor": -0.1}, {"option": "floor", "value": -0.1}),
        ],
    )
    def test_options_outside_their_range_are_errors(self, drawn, options, fields):
        with raises(ValueRangeError, **fields):
            score_gaze(drawn, **options)

    def test_only_a_study_of_gaze_with_cases_is_scored(self, drawn):
        with raises(SalstatsError, option="study", value="int", hint="read one with read_gaze()"):
            score_gaze(7)
        with raises(SalstatsError, option="study", value=drawn.source, hint=""):
            score_gaze(drawn.select(cases=[]))

    def test_nothing_to_score_without_maps_against_all_readers(self, release):
        with raises(SalstatsError, option="truth", value="all"):
            score_gaze(release, truth="all")

    def test_a_map_that_is_damaged_after_the_study_was_read_is_named(self, release, tmp_path):
        maps = write_maps(tmp_path / "maps")
        study = read_gaze(release, maps=maps)
        (maps / "img-b.npy").write_bytes(b"\x93NUMPY")
        with raises(InputFileError, path=maps / "img-b.npy"):
            score_gaze(study, metrics="ncc")
