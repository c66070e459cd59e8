"""Scores of a study, against the CheXlocalize scripts' own results, and the options of `score`."""

import os
import signal
import sys
import threading
from dataclasses import replace
from functools import partial

import cv2
import joblib
import numpy as np
import pandas as pd
import pytest
from drawn_studies import BLOCK, drawn, only, square
from tests_support import exact_csv, raises, warns

import salstats as ss
from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.images import masks
from salstats.images.thresholds import THRESHOLDS
from salstats.jobs import results_by_batch
from salstats.metrics.distance import surface_distances
from salstats.metrics.penalised_dice import pdc
from salstats.metrics.registry import METRICS
from salstats.study import Case, Content, Prediction, Series, Study, Truth

#: A mask made from the pickles may differ from the scripts' in single pixels at the threshold, which a
#: fused multiply-add in their resize decides; the smallest union in the study has 400 pixels.
PIXEL = 2 / 400


def expected(made_up, folder, name):
    """Results of the scripts as a frame: cases by tasks."""
    frame = exact_csv(made_up / "expected" / folder / f"{name}_results_per_cxr.csv", index_col="img_id")
    return frame.sort_index().sort_index(axis=1)


def table(scores, metric, method):
    """Scores of one metric and method as a frame: cases by tasks."""
    rows = scores[scores["metric"].eq(metric) & scores["method"].eq(method)]
    wide = rows.pivot(index="case", columns="task", values="score")
    return wide.sort_index().sort_index(axis=1)


def difference(ours, theirs):
    """The largest absolute difference of two frames that are undefined at the same places."""
    assert list(ours.index) == list(theirs.index)
    assert list(ours.columns) == list(theirs.columns)
    assert (ours.isna().to_numpy() == theirs.isna().to_numpy()).all()
    return np.nanmax(np.abs(ours.to_numpy(float) - theirs.to_numpy(float)))


def stored(made_up, name):
    """The made-up study with the scripts' own masks instead of maps."""
    return ss.read_chexlocalize(
        truth=made_up / "expected" / "gt_segmentations.json",
        human=made_up / "expected" / "hb_segmentations.json",
        points=made_up / "inputs" / "hb_salient_pts.json",
        masks={"saliency": made_up / "expected" / f"{name}.json"},
    )


@pytest.fixture(scope="module", params=[4, pytest.param(1, marks=pytest.mark.slow)])
def scored(made_up_study, request):
    """Scores of the maps of every fourth case, or of all."""
    cases = [case.case for case in made_up_study][:: request.param]
    maps = made_up_study.select(cases=cases, methods="saliency")
    return ss.score(maps, metrics=["iou", "dice", "precision", "recall", "specificity", "hit"])


class TestGivenTheSameMasks:
    @pytest.mark.parametrize(
        ("name", "folder", "options", "method", "theirs"),
        [
            ("seg_otsu", "eval_tp", {}, "saliency", "iou"),
            ("seg_otsu", "eval_tp", {}, "human", "iou_humanbenchmark"),
            ("seg_otsu", "eval_tp", {"metrics": "hit"}, "human", "hitmiss_humanbenchmark"),
            ("seg_threshold", "eval_tp_threshold", {}, "saliency", "iou"),
            ("seg_otsu", "eval_full_otsu", {"slice": "full"}, "saliency", "iou"),
            pytest.param(
                "seg_otsu_prob", "eval_full", {"slice": "full"}, "saliency", "iou", marks=pytest.mark.slow
            ),
        ],
    )
    def test_scores_equal_the_scripts_case_by_case(self, made_up, name, folder, options, method, theirs):
        scores = ss.score(stored(made_up, name), **{"metrics": "iou", **options})
        ours = table(scores, options.get("metrics", "iou"), method)
        assert difference(ours, expected(made_up, folder, theirs)) == 0

    @pytest.mark.slow
    def test_people_on_the_full_slice_equal_the_scripts_on_the_cases_these_keep(self, made_up):
        theirs = expected(made_up, "eval_full", "iou_humanbenchmark")
        ours = table(ss.score(stored(made_up, "seg_otsu"), slice="full", metrics="iou"), "iou", "human")
        assert len(theirs) == 179
        # the scripts leave out the cases in which neither annotator marked anything
        assert ours.drop(index=theirs.index).isna().all(axis=None)
        assert difference(ours.loc[theirs.index], theirs) == 0


class TestFromTheMaps:
    def test_iou_differs_by_single_pixels_only(self, made_up, scored):
        ours = table(scored, "iou", "saliency")
        theirs = expected(made_up, "eval_tp", "iou").loc[ours.index]
        assert difference(ours, theirs) <= PIXEL
        assert (ours.fillna(-1) == theirs.fillna(-1)).mean(axis=None) > 0.99

    def test_hits_equal_the_scripts(self, made_up, scored):
        ours = table(scored, "hit", "saliency")
        assert difference(ours, expected(made_up, "eval_tp", "hitmiss").loc[ours.index]) == 0

    def test_pixels_equal_the_scripts(self, made_up, scored):
        per_map = exact_csv(made_up / "expected" / "per_map.csv").rename(columns={"img_id": "case"})
        ours = scored.query("metric == 'iou' and method == 'saliency'").merge(per_map, on=["case", "task"])
        assert len(ours) == 10 * scored["case"].nunique() >= 300
        for name, pixels in {
            "tp": ours["inter_px"],
            "fp": ours["seg_px"] - ours["inter_px"],
            "fn": ours["gt_px"] - ours["inter_px"],
            "tn": ours["h"] * ours["w"] - ours["union_px"],
        }.items():
            assert (ours[name].astype(float) - pixels).abs().max() <= 2, name
        assert np.array_equal(ours["prob_x"], ours["prob_y"])

    @pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
    @pytest.mark.parametrize(
        ("options", "folder"),
        [
            ({"threshold": "tuning_results.csv"}, "eval_tp_threshold"),
            ({"cutoff": "probability_tuning_results.csv", "slice": "full"}, "eval_full"),
        ],
    )
    def test_tuned_thresholds_and_cutoffs(self, made_up, made_up_study, every, options, folder):
        tuned = {k: v if k == "slice" else made_up / "expected" / "tune" / v for k, v in options.items()}
        some = made_up_study.select(cases=[c.case for c in made_up_study][::every], methods="saliency")
        ours = table(ss.score(some, metrics="iou", **tuned), "iou", "saliency")
        theirs = expected(made_up, folder, "iou")
        assert every > 1 or len(ours) == len(theirs)
        assert difference(ours, theirs.loc[ours.index]) <= PIXEL

    def test_rates_of_a_case_are_those_of_its_pixels(self, drawn_study):
        metrics = ["dice", "precision", "recall", "specificity"]
        scored = ss.score(drawn_study, metrics=metrics)
        rows = scored[scored["method"].eq("saliency") & scored["score"].notna()].astype({"tp": float})
        by_metric = {m: g for m, g in rows.groupby("metric")}
        dice = by_metric["dice"]
        assert np.allclose(dice["score"], 2 * dice["tp"] / (2 * dice["tp"] + dice["fp"] + dice["fn"]))
        assert np.allclose(by_metric["recall"]["score"], by_metric["recall"].eval("tp / (tp + fn)"))
        assert np.allclose(by_metric["precision"]["score"], by_metric["precision"].eval("tp / (tp + fp)"))
        assert np.allclose(by_metric["specificity"]["score"], by_metric["specificity"].eval("tn / (tn + fp)"))


class TestBadInput:
    def test_unknown_metric(self):
        with raises(ValueRangeError, option="metrics", value="iuo") as caught:
            ss.score(drawn(np.eye(8)), metrics="iuo")
        assert "'iou'?" in str(caught.value.hint)

    @pytest.mark.parametrize("value", [-0.1, 1.2, "half"])
    def test_a_threshold_that_is_none(self, value):
        with raises(ValueRangeError, option="threshold", value=value):
            ss.score(drawn(np.eye(8)), threshold=value)

    @pytest.mark.parametrize("size", [-1, 2.5, 10_001])
    def test_a_filter_that_is_none(self, size):
        with raises(ValueRangeError, option="smooth", value=size):
            ss.score(drawn(np.eye(8)), smooth=size)

    @pytest.mark.parametrize(
        ("options", "fields"),
        [
            (
                {"threshold": {"Atelectasis": 0.4}},
                {
                    "option": "threshold",
                    "value": ("Edema", "cam"),
                    "hint": "it has values for tasks 'Atelectasis'",
                },
            ),
            (
                {"threshold": {("Edema", "ig"): 0.4}},
                {
                    "option": "threshold",
                    "value": ("Edema", "cam"),
                    "hint": "it has one for method 'ig'; tune and score under the same name",
                },
            ),
            (
                {"smooth": {(None, "lrp"): 80}},
                {"option": "smooth", "value": "lrp", "choices": ("cam",)},
            ),
            ({"colormap": "jet"}, {"option": "colormap", "value": "jet"}),
        ],
    )
    def test_values_of_other_tasks_and_methods_are_errors(self, options, fields):
        with raises(SalstatsError, **fields):
            ss.score(drawn(np.eye(8)), **options)

    @pytest.mark.parametrize("jobs", [0, -2, 1.5])
    def test_jobs(self, jobs):
        with raises(ValueRangeError, option="jobs", value=jobs):
            ss.score(drawn(np.eye(8)), jobs=jobs)

    def test_a_size_that_disagrees_names_the_file(self):
        content = Content(saliency=np.eye(4), shape=(9, 8))
        truth = masks.encode(square(*BLOCK))
        prediction = Prediction("Edema", Series("cam"), lambda: content, "x.pkl")
        case = Case("a", (8, 8), {"Edema": Truth(lambda: truth)}, (prediction,))
        study = Study((case,), ("Edema",), (Series("cam"),))
        # both sizes
        with raises(InputFileError, path="x.pkl", column="case", value="a", match="9 x 8 .*8 x 8"):
            ss.score(study)

    def test_no_size_at_all_names_the_file(self):
        content = Content(saliency=np.eye(4))
        prediction = Prediction("Edema", Series("cam"), lambda: content, "x.pkl")
        study = Study((Case("a", None, {}, (prediction,), annotated=False),), ("Edema",), (Series("cam"),))
        hint = "the map needs cxr_dims, or the truth this case"
        with raises(InputFileError, path="x.pkl", column="case", value="a", hint=hint):
            ss.score(study, slice="full")
        with raises(SalstatsError, hint="slice='full' scores the others"):
            ss.score(study)

    def test_nothing_to_score(self):
        with raises(SalstatsError, option="study", value="arrays"):
            ss.score(drawn())

    @pytest.mark.parametrize(
        ("options", "kind", "fields"),
        [
            ({"hd95_rule": "pooled"}, SalstatsError, {"option": "hd95_rule"}),
            (
                {"hd95_rule": "both", "metrics": "hd95"},
                ValueRangeError,
                {"option": "hd95_rule", "value": "both"},
            ),
            ({"pdc": {"alpha": 0}}, SalstatsError, {"option": "options", "value": "pdc"}),
        ],
    )
    def test_options_of_metrics_that_are_not_asked_for(self, options, kind, fields):
        with raises(kind, **fields):
            ss.score(drawn(np.eye(8)), **options)

    @pytest.mark.parametrize(
        ("given", "name"),
        [({"pdc": {"alpha": 0}}, "pdc"), ({"hd95_rule": "pooled"}, "hd95")],
    )
    def test_options_of_a_metric_are_given_in_one_way(self, given, name):
        options = {"pdc": {"beta": 0}, "hd95": {"rule": "directed"}}
        with raises(SalstatsError, option="options", value=name):
            ss.score(drawn(np.eye(8)), metrics=name, options={name: options[name]}, **given)

    def test_something_that_is_no_study(self):
        with raises(SalstatsError, option="study", value="DataFrame"):
            ss.score(pd.DataFrame())


class TestTheRealSample:
    """Two radiographs of 2320 x 2828 and 2022 x 2021 pixels; a pixel is 1e-5 of the smallest union."""

    @pytest.fixture
    def sample(self, shared):
        return ss.read_chexlocalize(shared / "data" / "chexlocalize_sample", method="gradcam")

    @pytest.fixture
    def scripts(self, shared):
        return shared / "oracles" / "chexlocalize" / "sample"

    def theirs(self, scripts, folder, name="iou"):
        frame = exact_csv(scripts / folder / f"{name}_results_per_cxr.csv", index_col="img_id")
        return frame.sort_index().sort_index(axis=1)

    @pytest.mark.parametrize(("slice_", "folder"), [("true-positive", "tpoTrue"), ("full", "tpoFalse")])
    def test_otsu_masks(self, sample, scripts, slice_, folder):
        scores = ss.score(sample, metrics="iou", slice=slice_)
        theirs = self.theirs(scripts, f"eval_iou_otsu_{folder}")
        assert difference(table(scores, "iou", "gradcam"), theirs) < 1e-5

    @pytest.mark.parametrize(("slice_", "folder"), [("true-positive", "tpoTrue"), ("full", "tpoFalse")])
    @pytest.mark.parametrize("cut", [False, True])
    def test_tuned_thresholds_and_cutoffs_of_the_release(self, shared, sample, scripts, slice_, folder, cut):
        tables = shared / "data" / "chexlocalize_sample"
        options = {"cutoff": tables / "probability_tuning_results.csv"} if cut else {}
        scores = ss.score(
            sample, metrics="iou", slice=slice_, threshold=tables / "tuning_results.csv", **options
        )
        theirs = self.theirs(scripts, f"eval_iou_threshold_{'prob_' if cut else ''}{folder}")
        assert difference(table(scores, "iou", "gradcam"), theirs) < 1e-5

    def test_hits(self, sample, scripts):
        scores = ss.score(sample, metrics="hit")
        assert (
            difference(table(scores, "hit", "gradcam"), self.theirs(scripts, "eval_hitmiss", "hitmiss")) == 0
        )

    def test_stored_masks_of_the_release(self, shared, scripts):
        folder = shared / "data" / "chexlocalize_sample"
        study = ss.read_chexlocalize(
            truth=folder / "gt_segmentations_val.json",
            masks={"gradcam": folder / "gradcam_segmentations_val_sample.json"},
        )
        ours = table(ss.score(study, metrics="iou"), "iou", "gradcam")
        assert difference(ours, self.theirs(scripts, "eval_iou_stored_tpoTrue")) == 0

    def test_pixels_pooled_over_images(self, sample, scripts):
        scores = ss.score(sample, metrics="iou", slice="full")
        pooled = scores.groupby("task")[["tp", "fp", "fn", "tn"]].sum().astype(float)
        theirs = exact_csv(scripts / "prs" / "pred_precision_recall_specificity.csv").set_index("pathology")
        pooled = pooled.loc[theirs.index]
        for name, ratio in {
            "precision": "tp / (tp + fp)",
            "recall/sensitivity": "tp / (tp + fn)",
            "specificity": "tn / (tn + fp)",
        }.items():
            assert np.allclose(pooled.eval(ratio), theirs[name], atol=1e-5, rtol=0, equal_nan=True), name


def _killed(but):
    """Kill this process as the system does where memory runs out, `but` not that of the tests."""
    assert os.getpid() != but
    os.kill(os.getpid(), signal.SIGKILL)


class TestInPieces:
    def test_two_jobs_give_the_same_rows_in_the_same_order(self, drawn_study):
        one, two = (ss.score(drawn_study, jobs=jobs) for jobs in (1, 2))
        pd.testing.assert_frame_equal(one, two)

    def test_a_backend_that_joblib_is_told_takes_the_work(self, drawn_study):
        with joblib.parallel_config(backend="threading", n_jobs=2):
            inside = ss.score(drawn_study)
        pd.testing.assert_frame_equal(inside, ss.score(drawn_study))

    def test_opencv_keeps_the_threads_that_the_caller_gave_it(self, drawn_study):
        before = cv2.getNumThreads()
        ss.score(drawn_study.select(cases=[drawn_study.cases[0].case]), slice="full")
        assert cv2.getNumThreads() == before

    def test_opencv_keeps_the_threads_of_the_caller_where_pieces_run_in_threads(self):
        """The first piece ends while the second still runs."""
        second_runs, first_has_ended, inside = threading.Event(), threading.Event(), []

        def work(piece):
            if piece == (0,):
                assert second_runs.wait(20)
                return
            second_runs.set()
            assert first_has_ended.wait(20)
            inside.append(cv2.getNumThreads())

        def wait_for_first(results):
            with joblib.parallel_config(backend="threading", n_jobs=2):
                results.extend(results_by_batch(work, [0, 1], jobs=None, progress=False, label=""))

        before = cv2.getNumThreads()
        cv2.setNumThreads(3)
        try:
            runner = threading.Thread(target=wait_for_first, args=([],))
            runner.start()
            assert second_runs.wait(20)
            runner.join(0.5)  # the first piece has nothing left to do
            first_has_ended.set()
            runner.join(20)
            assert inside == [1]
            assert cv2.getNumThreads() == 3
        finally:
            cv2.setNumThreads(before)

    def test_there_are_no_more_processes_than_cases(self, drawn_study):
        """joblib would fail to start so many."""
        one = drawn_study.select(cases=[drawn_study.cases[0].case])
        pd.testing.assert_frame_equal(
            ss.score(one, slice="full", jobs=2**31), ss.score(one, slice="full", jobs=1)
        )

    def test_a_process_that_is_killed_is_a_named_error(self, drawn_study):
        first, *others = drawn_study.cases[:4]
        killing = replace(first.predictions[0], read=partial(_killed, os.getpid()))
        study = replace(drawn_study, cases=(replace(first, predictions=(killing,)), *others))
        with raises(SalstatsError, option="jobs", value=2):
            ss.score(study, slice="full", jobs=2)

    def test_a_bar_is_shown_on_a_terminal_only(self, drawn_study, capsys, monkeypatch):
        some = drawn_study.select(cases=[drawn_study.cases[0].case])
        ss.score(some, slice="full", progress=True)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        ss.score(some, slice="full", progress=True)
        assert "Scoring cases" in capsys.readouterr().err


def test_the_threshold_of_a_row_is_the_one_that_made_it_to_the_last_digit():
    third = 1 / 3
    study = drawn(np.diag(np.arange(8.0)), prob={("a", "Edema"): 0.9}, human={})
    scores = ss.score(study, threshold=third, cutoff=0.5, slice="full")
    made = only(scores)
    assert float(made["threshold"]) == third
    assert (made["cutoff"], made["slice"]) == (0.5, "full")
    # people's masks and peaks are made of no threshold
    assert pd.isna(only(scores, method="human")["threshold"])
    assert pd.isna(only(scores, "hit")["threshold"])


def test_hits_that_depend_on_which_of_several_peaks_counts_are_named():
    truth = np.zeros((6, 6), bool)
    truth[2:4, 2:4] = True
    flat = np.zeros((6, 6))
    flat[2:4, 1:4] = 1
    maps = {
        ("a", "t", "m"): flat,
        ("b", "t", "m"): truth * 1.0,
        ("c", "t", "m"): flat.T,
        ("d", "t", "m"): truth * 0,
    }
    study = ss.study_from_arrays({(case, "t"): truth for case in "abcd"}, maps)
    # of four maps
    with warns(value=["a", "c"], match=r"\b4\b") as caught:
        scores = ss.score(study, metrics="hit")
    (warning,) = (entry.message for entry in caught)
    assert [scores["case"][row] for row in warning.rows] == ["a", "c"]
    assert list(scores["score"]) == [0, 1, 0, 0]
    # which is shown by a second metric, and is no question of a map with one peak
    ss.score(study, metrics=["hit", "hit_any"])
    ss.score(study, metrics="iou")


def _study_with_shares(shares):
    """A study whose masks of the truth mark these shares of 10 x 10 pixels."""
    truths = {}
    maps = {}
    for number, share in enumerate(shares):
        truth = np.arange(100).reshape(10, 10) < 100 * share
        truths[str(number), "Edema"] = truth
        maps[str(number), "Edema", "cam"] = truth[::-1] * 0.5
    return ss.study_from_arrays(truths, maps)


@pytest.mark.parametrize("metric", ["iou", "hit_any"])
def test_masks_of_the_truth_that_are_large_in_nearly_every_image_are_warned_of(metric):
    with warns(option="truth", value=0.9, match="9 of 10"):
        ss.score(_study_with_shares([0.9] * 9 + [0.1]), metrics=metric)
    # large findings among small ones, and too few masks to tell; an empty mask has no share
    ss.score(_study_with_shares([0.9] * 8 + [0.1] * 2), metrics="iou")
    ss.score(_study_with_shares([0.9] * 4 + [0]), metrics="iou", slice="full")


def test_thresholds_by_name_make_the_masks_of_their_level_and_stand_in_their_column(drawn_study):
    study = drawn_study.select(cases=[case.case for case in drawn_study.cases[:3]])
    by_name = {}
    for name in THRESHOLDS:
        scores = ss.score(study, threshold=name, metrics="iou")
        assert set(scores.loc[scores["method"].ne("human"), "threshold"]) == {name}
        segmented = ss.segment(study, threshold=name)
        rows = scores[scores["method"].eq("saliency") & scores["score"].notna()]
        assert len(rows) >= 3
        for row in rows.itertuples():
            assert masks.area(segmented[row.case][row.task]) == row.tp + row.fp
        by_name[name] = tuple(rows["tp"] + rows["fp"])
    assert len(set(by_name.values())) == len(THRESHOLDS)


def test_a_threshold_by_name_may_be_of_one_method_or_task_and_is_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mean").mkdir()
    ramp = np.arange(64.0).reshape(8, 8)
    of_mean = only(ss.score(drawn(ramp), threshold="Mean"))
    assert of_mean["threshold"] == "mean"
    # grey levels are 4 for each step of the ramp, cut off: those above their mean are the upper half
    assert of_mean["tp"] + of_mean["fp"] == 32
    for key in ("Edema", ("Edema", "cam"), (None, "cam")):
        assert only(ss.score(drawn(ramp), threshold={key: "mean"}))["tp"] == of_mean["tp"]
    with raises(ValueRangeError, option="cutoff", value="li", choices=()):
        ss.score(drawn(ramp), cutoff="li")
    with raises(ValueRangeError, option="threshold", value="median", choices=tuple(THRESHOLDS)):
        ss.score(drawn(ramp), threshold="median")


def test_smoothing_before_a_threshold_by_name_leaves_only_otsu_beside_a_colormap():
    with raises(SalstatsError, option="colormap", value="jet"):
        ss.score(drawn(np.eye(8)), threshold="li", smooth=3, colormap="jet")


def test_options_of_single_metrics_reach_their_kernels():
    truth, mask = square(*BLOCK), np.zeros((8, 8), bool)
    mask[0, :3] = mask[5:, 6] = True
    study = ss.study_from_arrays({("a", "t"): truth}, {}, human={("a", "t"): mask})
    scores = ss.score(study, metrics=["hd95", "pdc"], hd95_rule="pooled", pdc={"components": "whole"})
    found = scores.set_index("metric")["score"]
    assert found["hd95"] == METRICS["hd95"].kernel(surface_distances(mask, truth), rule="pooled")
    assert found["pdc"] == pdc(mask, truth, components="whole")
    plain = ss.score(study, metrics=["hd95", "pdc"]).set_index("metric")["score"]
    assert (plain != found).all()


def test_a_study_may_be_given_by_its_folder(drawn_folder, drawn_study):
    pd.testing.assert_frame_equal(ss.score(drawn_folder, metrics="iou"), ss.score(drawn_study, metrics="iou"))


def test_cases_are_kept_and_read_again(drawn_study, tmp_path):
    plain = ss.score(drawn_study, metrics="iou")
    for _ in range(2):
        pd.testing.assert_frame_equal(ss.score(drawn_study, metrics="iou", resume=tmp_path / "kept"), plain)
    assert any((tmp_path / "kept").iterdir())
