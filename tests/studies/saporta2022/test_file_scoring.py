"""From files to frames: slices made of one scoring are those of `score`; what is read is what was said."""

import inspect
import json
import pickle
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, long, write_part
from study_files import CASES, write_map, write_study
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, Setting, ValueRangeError
from salstats.images import masks
from salstats.readers.pickles import read_pickle
from salstats.studies import declarations, engine
from salstats.studies.saporta2022.file_scoring import (
    UnscoredStudy,
    chosen_value_by_task,
    full_scores_as_true_positive_slice,
    inference_of,
    iou_rows_with_low_probability_masks_emptied,
    main_series,
    mask_option_of_main_series_by_task,
    method_model_seed_of_each_row,
    needs_met,
    read_data,
    read_study_validation_and_features_unscored,
    score_and_tune,
    smoothing_colormap,
    study_of_main_series_and_people,
    warn_of_shared_cases,
)
from salstats.studies.saporta2022.labels_and_notes import end_of_note_on_choice_of_cutoffs
from salstats.studies.saporta2022.localisation import means_with_tuned_thresholds
from salstats.studies.saporta2022.study_frames import (
    CHECKPOINTS,
    FULL_PROBABILITIES,
    MAPS,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL_MODELS,
    SWEEP,
    THRESHOLDS,
    StudyInference,
    metric_rows,
)
from salstats.study import Series

FEW = ("--replicates", 40, "--min-positives", 20)
#: Of the small study that is drawn here, which has six cases.
FEWER = ("--replicates", 40, "--min-positives", 1)


def options_of(*given):
    """The options of a run."""
    parser = engine.parser_of(declarations.declaration_of("saporta2022"))
    return parser.parse_args([*map(str, given), "-o", "out"])


@pytest.fixture(scope="module")
def small_study(made_up, tmp_path_factory):
    """The first 45 annotated cases of the made-up study and two without a finding, as files."""
    folder = tmp_path_factory.mktemp("study")
    return folder, write_part(made_up / "inputs", folder, n_annotated=45, n_absent=2)


def test_from_the_files_to_the_tables(results, small_study, expected):
    folder, kept = small_study
    given = ["--data", folder, "--validation", folder, "--maps", f"{METHOD}={folder / 'maps'}"]
    tasks = ["--tasks", "Atelectasis,Airspace Opacity"]
    only = ("table_1", "table_3", "extended_data_1a", "extended_data_1b", "extended_data_1c")
    items = results("saporta2022", *given, *tasks, *FEW, only=only)
    got = items["table_1"].frame.set_index(["metric", "method", "task"])["estimate"]
    for stem, metric in (("iou", "iou"), ("hitmiss", "hit")):
        for infix, method in (("", METHOD), ("_humanbenchmark", "human")):
            scores = long(expected / "eval_tp" / f"{stem}{infix}_results_per_cxr.csv", "score")
            want = scores[scores["case"].isin(kept)].groupby("task")["score"].mean()
            own = got[metric][method].drop("Average")
            assert len(own) == 2
            # single pixels of masks of some thousand pixels, where an addition is fused there
            np.testing.assert_allclose(own, want.loc[own.index], atol=1e-5)
    assert set(items) == set(only)
    assert items["table_3"].slice == "full, tuned probability cut-offs"


def test_without_a_validation_study_nothing_is_tuned(results, allowed, drawn_folder):
    given = ["saporta2022", "--data", drawn_folder, *FEWER]
    assert not {k for k in allowed(*given) if k.startswith("extended_data_1") and k != "extended_data_10"}
    assert results(*given, only=("table_3",))["table_3"].slice == "full"


@pytest.mark.slow
def test_without_a_validation_study_cut_offs_are_no_choice(results, small_study):
    given = ["saporta2022", "--data", small_study[0], "--tasks", "Atelectasis,Airspace Opacity", *FEW]
    rows = results(*given, only=("sensitivity",))["sensitivity"].frame["row"]
    assert set(rows) == {"S1", "S3", "S7"}


@pytest.fixture(scope="module")
def release(small_study, tmp_path_factory):
    """As the public release: maps of the validation set only, people's marks of the test set only."""
    folder, (part, _) = tmp_path_factory.mktemp("release"), small_study
    for name, whose in (("gt_annotations", "val"), ("gt_annotations", "test"), ("hb_annotations", "test"),
                        ("hb_salient_pts", "test")):  # fmt: skip
        (folder / f"{name}_{whose}.json").symlink_to(part / f"{name}.json")
    (folder / "gradcam_maps_val").mkdir()
    for file in (part / "maps").iterdir():
        (folder / "gradcam_maps_val" / file.name).symlink_to(file.resolve())
    return ["--data", str(folder), "--validation", str(folder), "--tasks", "Atelectasis,Airspace Opacity"]


@pytest.fixture(scope="module")
def drawn_release(drawn_folder, tmp_path_factory):
    """The same of the small study that is drawn here."""
    folder = tmp_path_factory.mktemp("release")
    for name in ("gt_annotations", "hb_annotations", "hb_salient_pts"):
        (folder / f"{name}_test.json").symlink_to(drawn_folder / f"{name}_test.json")
    (folder / "gt_annotations_val.json").symlink_to(drawn_folder / "gt_annotations_test.json")
    shutil.copytree(drawn_folder / "maps", folder / "gradcam_maps_val")
    return ["--data", str(folder), "--validation", str(folder)]


@pytest.mark.slow
def test_maps_without_people_give_what_needs_no_people(results, allowed, release):
    given = ["saporta2022", *release, "--split", "val", *FEW]
    keys = allowed(*given)
    assert {f"extended_data_{n}" for n in ("1a", "8", "9")} | {"table_1", "table_2", "table_3"} < keys
    assert not {"figure_2", "extended_data_5", "extended_data_6"} & keys
    items = results(*given, only=("table_1", "table_2"))
    assert set(items["table_1"].frame["method"]) == {"saliency"}
    assert set(items["table_2"].frame["outcome"]) == {"IoU", "Hit rate"}


def test_people_without_points_have_no_hits(drawn_study):
    cases = [
        replace(c, predictions=tuple(replace(p, read=partial(without_points, p.read)) for p in c.predictions))
        for c in drawn_study
    ]
    study = replace(drawn_study, cases=tuple(cases))
    for known, points in ((drawn_study, True), (study, False)):
        there = needs_met(known, None, has_thresholds=False)
        assert SEGMENTATIONS in there
        assert (POINTS in there) == points


def without_points(read):
    """What a series holds, less its points."""
    return replace(read(), points=None)


def test_people_without_maps_give_what_needs_no_maps(results, drawn_release):
    items = results("saporta2022", *drawn_release, "--split", "test", *FEWER)
    means = {"table_1", "replicates", "extended_data_2", "extended_data_4", "as_published_and_clustered"}
    assert set(items) == means | {"extended_data_1a", "extended_data_8", "extended_data_10", "figure_3"}
    assert set(items["table_1"].frame["method"]) == {"human"}


def test_what_is_not_made_is_said_before_anything_is_tuned_or_scored(
    drawn_release, tmp_path, capsys, monkeypatch
):
    def stop(*_, **__):
        raise OSError("stopped")

    for work in ("tune", "score"):
        monkeypatch.setattr(f"salstats.{work}", stop)
    arguments = [*drawn_release, "--split", "val", "-o", str(tmp_path / "out"), "--min-positives"]
    with pytest.raises(OSError, match="stopped"):
        engine.reproduce("saporta2022", [*arguments, "2"])
    said = capsys.readouterr().out
    assert "Fig. 2: not made, needs people's segmentations or points" in said
    assert "Extended Data 5: not made, needs people's segmentations" in said
    assert "Extended Data 6: not made, needs people's points" in said
    with raises(ValueRangeError, option="min_positives", value=7):
        engine.reproduce("saporta2022", [*arguments, "7"])


def test_what_is_tuned_needs_maps_of_the_main_method_only(results, drawn_folder):
    folder = drawn_folder
    maps = [a for m in ("gradcam", "ig") for a in ("--maps", f"{m}={folder / 'maps'}")]
    own = ["--validation", str(folder), "--validation-maps", f"ig={folder / 'maps'}"]
    with raises(SalstatsError, option="validation_maps", choices=("gradcam",)):
        results("saporta2022", "--data", folder, *maps, *own)
    with raises(SalstatsError) as caught:
        results("saporta2022", "--data", folder, *maps, *own[2:])
    assert caught.value.option == "validation_maps"


def test_too_few_replicates_for_order_statistics_are_said_before_any_work(results):
    with raises(ValueRangeError, option="replicates", value=20):
        results("saporta2022", "--data", "nowhere", "--replicates", 20)


@pytest.mark.filterwarnings("ignore:.*rest on:salstats.errors.SalstatsWarning")
def test_cases_that_are_tuned_on_and_scored_are_said(drawn_study, drawn_frames):
    study = drawn_study.select(cases=[c.case for c in drawn_study][:5])
    shared = [c.case for c in study][2:]
    with warns(option="data", column="case", value=sorted(shared)):
        assert warn_of_shared_cases(study, study.select(cases=shared)) == 3
    frames = replace(drawn_frames, tuned=metric_rows(drawn_frames.scores, "iou"))
    shared_frames = replace(frames, n_shared_cases=3)
    assert "3 cases stand in both studies" in means_with_tuned_thresholds(shared_frames).note
    assert "both studies" not in means_with_tuned_thresholds(frames).note


@pytest.fixture(scope="module")
def map_folders(drawn_folder, tmp_path_factory):
    """Folders METHOD_MODEL, all of the same maps."""
    folder = tmp_path_factory.mktemp("maps")
    for name in ("integrated_gradients_vgg", "gradcam_inception_v4", "gradcam_ensemble"):
        (folder / name).symlink_to(drawn_folder / "maps")
    (folder / "._gradcam_ensemble").write_bytes(b"")
    return folder


@pytest.mark.slow
def test_folders_are_read_by_name_and_what_is_given_is_not_tuned(
    results, drawn_folder, map_folders, tmp_path
):
    (tmp_path / "cutoffs.csv").write_text("task,cutoff\nEdema,0.5\nCardiomegaly,0.1\n")
    items = results(
        "saporta2022", "--data", drawn_folder, "--maps", map_folders, "--main", "gradcam:ensemble",
        "--threshold", "0.5", "--resume", tmp_path / "kept",
        "--cutoff", tmp_path / "cutoffs.csv", "--smooth", "integrated_gradients:vgg=9", *FEWER,
        only=("extended_data_3", "table_3", "extended_data_1b"),
    )  # fmt: skip
    means = items["extended_data_3"].frame.query("metric == 'iou' and task == 'Average'")
    means = means.set_index(["method", "model"])["estimate"]
    assert set(means.index) >= {("gradcam", "ensemble"), ("gradcam", "inception_v4")}
    # the same maps, but for the filter of one method
    assert means["gradcam", "ensemble"] == means["gradcam", "inception_v4"]
    assert means["gradcam", "ensemble"] != means["integrated_gradients", "vgg"]
    assert items["table_3"].slice == "full, given probability cut-offs"
    assert "extended_data_1b" in items
    assert any((tmp_path / "kept").iterdir())


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("flag", ["--as-published", "--colormap=jet", None])
def test_maps_are_smoothed_as_the_scripts_do_as_published_or_by_way_of_jet(shared, flag):
    sample = shared / "data" / "chexlocalize_sample"
    given = [
        "--data",
        sample,
        "--smooth",
        "50",
        "--threshold",
        "0.4",
        "--min-positives",
        "1",
        *filter(None, [flag]),
    ]
    options = options_of(*given, "--tasks", "Airspace Opacity,Support Devices")
    frames = score_and_tune(read_study_validation_and_features_unscored(options), options)
    rows = frames.scores[frames.scores["metric"] == "iou"].set_index(["case", "task"])
    scripts = json.loads((shared / "oracles" / "chexlocalize" / "sample" / "seg_smooth50.json").read_text())
    wanted = [masks.area(masks.Rle.from_coco(scripts[case][task])) for case, task in rows.index]
    # an addition that is fused there moves single pixels
    is_of_scripts = np.abs(rows["tp"] + rows["fp"] - wanted) <= 2
    assert is_of_scripts.all() if flag else not is_of_scripts.any()
    # the scripts leave as it is what a number thresholds
    plain = ss.score(sample, metrics="iou", threshold=0.4).set_index(["case", "task"])["score"]
    tuned = frames.tuned.set_index(["case", "task"])["score"]
    assert tuned.equals(plain[tuned.index]) == bool(flag)
    assert (
        "maps with these thresholds are not smoothed" in means_with_tuned_thresholds(frames).note
    ) == bool(flag)


def test_a_colormap_without_a_filter_is_an_error(drawn_folder):
    with raises(SalstatsError, option="colormap", hint=Setting("smooth", "N")):
        read_study_validation_and_features_unscored(options_of("--data", drawn_folder, "--colormap", "jet"))


def test_every_option_that_reading_a_study_may_name_is_there():
    names = set(inspect.signature(ss.read_chexlocalize).parameters) - {"folder", "method", "masks"}
    assert names <= set(vars(options_of("--data", "x")))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_as_published_cut_offs_are_chosen_as_the_scripts_do_and_said(small_study, tmp_path):
    part, _ = small_study
    for name in ("gt_annotations", "hb_annotations", "hb_salient_pts"):
        (tmp_path / f"{name}.json").symlink_to(part / f"{name}.json")
    for file in sorted((part / "maps").glob("*_Atelectasis_map.pkl")):
        # on the grid of cut-offs, so that "above" and "from" differ
        held = read_pickle(file)
        (tmp_path / file.name).write_bytes(pickle.dumps(held | {"prob": round(float(held["prob"]), 1)}))
    cutoffs = {}
    for flag in ([], ["--as-published"]):
        given = ["--data", tmp_path, "--validation", tmp_path, "--tasks", "Atelectasis"]
        options = options_of(*given, *flag)
        found = read_study_validation_and_features_unscored(options)
        study, frames = found.study, score_and_tune(found, options)
        chosen = ss.tune(study, what="cutoff", as_published=bool(flag)).query("chosen")["cutoff"].item()
        want = ss.score(study, metrics="iou", slice="full", cutoff=chosen)
        np.testing.assert_array_equal(frames.full["score"], want["score"])
        said = end_of_note_on_choice_of_cutoffs(frames, frames.inference)
        assert ("chosen as the scripts do" in said) == bool(flag)
        cutoffs[bool(flag)] = chosen
    assert cutoffs[False] != cutoffs[True]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The small study that is drawn here, with a map that marks nothing."""
    folder = write_study(tmp_path_factory.mktemp("drawn") / "study")
    write_map(folder / "maps", CASES[0], "Edema", map=np.zeros((1, 1, 10, 10), np.float32))
    return ss.read_chexlocalize(folder)


@pytest.fixture(scope="module")
def everywhere(study):
    return ss.score(study, metrics=["iou", "hit"], slice="full")


@pytest.mark.slow
def test_the_true_positive_slice_of_full_scores_is_that_of_score(study, everywhere):
    cases = set(ss.features(study)["case"])
    want = ss.score(study, metrics=["iou", "hit"])
    assert set(want["reason"].dropna()) == {"finding absent", "empty mask"}
    pd.testing.assert_frame_equal(
        full_scores_as_true_positive_slice(everywhere, cases), want, check_exact=True
    )


@pytest.mark.slow
def test_cut_offs_on_full_scores_are_those_of_score(study, everywhere):
    method = next(s.method for s in study.series if s.method != "human")
    cutoffs = {(task, method): 0.2 + 0.05 * i for i, task in enumerate(study.tasks)}
    want = ss.score(study, metrics="iou", slice="full", cutoff=cutoffs)
    uncut = everywhere[everywhere["metric"] == "iou"]
    assert (want["score"].isna().sum(), want["tp"].sum()) != (uncut["score"].isna().sum(), uncut["tp"].sum())
    pd.testing.assert_frame_equal(
        iou_rows_with_low_probability_masks_emptied(everywhere, cutoffs), want, check_exact=True
    )


def test_a_cut_off_without_a_probability_leaves_no_score(everywhere):
    unknown = everywhere.assign(prob=np.nan)
    method = next(m for m in everywhere["method"] if m != "human")
    got = iou_rows_with_low_probability_masks_emptied(unknown, {("Edema", method): 0.5})
    rows = got[(got["task"] == "Edema") & (got["method"] == method)]
    assert rows["score"].isna().all()
    assert set(rows["reason"]) == {"no probability"}


def full_rows():
    """IoU on the full slice by hand: a hit of 4 pixels, a miss, a false positive, and nothing at all."""
    columns = ["case", "method", "tp", "fp", "fn", "tn", "score", "prob"]
    rows = [
        ("hit", METHOD, 4, 2, 1, 93, 4 / 7, 0.6),
        ("miss", METHOD, 0, 0, 5, 95, 0.0, 0.2),
        ("alarm", METHOD, 0, 3, 0, 97, 0.0, 0.2),
        ("nothing", METHOD, 0, 0, 0, 100, np.nan, 0.2),
        ("hit", "human", 5, 0, 0, 95, 1.0, np.nan),
    ]
    frame = pd.DataFrame(rows, columns=columns).assign(task="Edema", metric="iou", slice="full")
    frame["reason"] = pd.Series([None, None, None, "true negative", None], dtype="object")
    return frame.astype(dict.fromkeys(["tp", "fp", "fn", "tn"], "Int64"))


def test_on_the_true_positive_slice_misses_and_false_positives_have_no_score():
    rows = full_scores_as_true_positive_slice(full_rows(), {"hit", "miss", "alarm"}).set_index(
        ["case", "method"]
    )
    assert len(rows) == 4
    assert rows["score"].isna().to_dict() == {
        ("hit", METHOD): False, ("miss", METHOD): True, ("alarm", METHOD): True, ("hit", "human"): False
    }  # fmt: skip
    assert rows["reason"].dropna().to_dict() == {
        ("miss", METHOD): "empty mask", ("alarm", METHOD): "finding absent"
    }  # fmt: skip
    assert set(rows["slice"]) == {"true-positive"}
    # where there is neither a finding nor a mark, the finding is absent
    nothing = full_scores_as_true_positive_slice(full_rows(), {"nothing"})
    assert nothing["reason"].tolist() == ["finding absent"]
    # hits are of peaks, not of masks
    hits = full_rows().assign(metric="hit", score=1.0, reason=None)
    assert full_scores_as_true_positive_slice(hits, {"miss"})["score"].tolist() == [1.0]


def test_a_mask_below_its_cut_off_is_empty_and_counts_as_such():
    got = iou_rows_with_low_probability_masks_emptied(full_rows(), {("Edema", METHOD): 0.6})
    rows = got.set_index(["case", "method"])
    # a probability at the cut-off is kept
    assert rows.loc[("hit", METHOD), ["tp", "fp", "fn", "tn", "score"]].tolist() == [4, 2, 1, 93, 4 / 7]
    assert rows.loc[("hit", "human"), "tp"] == 5
    # what was marked for nothing is a true negative, which has no IoU
    assert rows.loc[("alarm", METHOD), ["tp", "fp", "fn", "tn"]].tolist() == [0, 0, 0, 100]
    assert np.isnan(rows.loc[("alarm", METHOD), "score"])
    assert rows.loc[("alarm", METHOD), "reason"] == "true negative"
    assert rows["cutoff"].fillna(-1).tolist() == [0.6, 0.6, 0.6, 0.6, -1]
    higher = iou_rows_with_low_probability_masks_emptied(full_rows(), {(None, METHOD): 0.61}).set_index(
        ["case", "method"]
    )
    assert higher.loc[("hit", METHOD), ["tp", "fp", "fn", "tn", "score"]].tolist() == [0, 0, 5, 95, 0.0]
    assert list(got.columns)[list(got.columns).index("slice") + 1] == "cutoff"
    other_task = iou_rows_with_low_probability_masks_emptied(full_rows(), {("Fracture", METHOD): 0.9})
    np.testing.assert_array_equal(other_task["score"], full_rows()["score"])


def test_methods_models_and_trainings_of_rows_are_series():
    rows = pd.DataFrame({"method": ["cam", "cam"], "model": ["dense", None], "seed": [1, None]})
    assert [str(series) for series in method_model_seed_of_each_row(rows.astype({"seed": "Int64"}))] == [
        "cam:dense:1", "cam"
    ]  # fmt: skip
    assert [(s.method, s.model, s.seed) for s in method_model_seed_of_each_row(rows[["method"]])] == [
        ("cam", None, None)
    ] * 2


def test_a_task_that_was_not_tuned_has_the_default_and_is_said(drawn_study):
    first, second = drawn_study.tasks
    sweep = pd.DataFrame({"task": first, "threshold": [0.2, 0.4], "chosen": [False, True]})
    with warns(option="threshold", value="otsu"):
        values = chosen_value_by_task(sweep, "threshold", "otsu", drawn_study)
    assert values == {first: 0.4, second: "otsu"}
    both = pd.concat([sweep, sweep.assign(task=second, threshold=[0.1, 0.3])])
    assert chosen_value_by_task(both, "threshold", "otsu", drawn_study) == {first: 0.4, second: 0.3}


def test_inference_and_smoothing_are_those_of_the_options():
    given = ["--data", "x", "--replicates", 90]
    assert inference_of(options_of(*given)) == StudyInference(False, 90, by_patient=False)
    assert inference_of(options_of(*given, "--as-published", "--views", "max")) == StudyInference(
        True, 90, True
    )
    for flags, colormap in (
        ([], None),
        (["--as-published"], None),
        (["--smooth", 9], None),
        (["--smooth", 9, "--colormap", "jet"], "jet"),
        (["--smooth", 9, "--as-published"], "jet"),
    ):
        assert smoothing_colormap(options_of(*given, *flags)) == colormap


def study_of_series(*names, has_prob=True):
    """A study of one case and task, which has a map of each series METHOD[:MODEL[:SEED]]."""
    truth = np.zeros((6, 6), bool)
    truth[1:3, 1:3] = True
    maps = {("a", "Edema", name): truth * 1.0 for name in names}
    prob = {("a", "Edema"): 0.5} if has_prob else None
    study = ss.study_from_arrays({("a", "Edema"): truth}, maps, prob=prob)
    series = {old: Series(*old.method.split(":")) for old in study.series}
    (case,) = study.cases
    predictions = [replace(prediction, series=series[prediction.series]) for prediction in case.predictions]
    cases = (replace(case, predictions=tuple(predictions)),)
    return replace(study, cases=cases, series=tuple(series.values()))


def test_what_a_study_meets_follows_from_its_series():
    ensemble = study_of_series("cam:dense", "cam:dense:1")
    trainings = study_of_series("cam:dense:1", "cam:dense:2", "cam:res")
    several = study_of_series("cam", "ig")
    for study, expected in (
        (ensemble, {CHECKPOINTS}),
        (trainings, {SEVERAL_MODELS}),
        (several, {SEVERAL_MODELS}),
    ):
        met = needs_met(study, None, has_thresholds=False)
        assert met & {CHECKPOINTS, SEVERAL_MODELS, SWEEP, THRESHOLDS, PEOPLE} == expected
        assert {MAPS, PROBABILITIES, FULL_PROBABILITIES} <= met
    assert needs_met(several, several, has_thresholds=False) >= {SWEEP, THRESHOLDS}
    given = needs_met(several, None, has_thresholds=True)
    assert THRESHOLDS in given
    assert SWEEP not in given
    without_prob = needs_met(study_of_series("cam", has_prob=False), None, has_thresholds=False)
    assert not {PROBABILITIES, FULL_PROBABILITIES, SEVERAL_MODELS} & without_prob


def test_single_method_items_are_of_the_first_series_that_is_not_people(drawn_study):
    study = study_of_series("ig", "cam")
    assert str(main_series(study)) == "ig"
    assert [str(series) for series in study_of_main_series_and_people(study).series] == ["ig"]
    human = drawn_study.select(methods=["human"])
    assert main_series(human) is None
    assert {series.method for series in study_of_main_series_and_people(drawn_study).series} == {
        "human",
        "saliency",
    }


def test_mask_options_of_the_main_series_are_by_task():
    study = study_of_series("cam", "ig")
    assert mask_option_of_main_series_by_task(study, "threshold", "0.3") == {"Edema": 0.3}
    assert mask_option_of_main_series_by_task(study, "smooth", {(None, "ig"): "9"}) == {}
    assert mask_option_of_main_series_by_task(study, "smooth", {(None, "cam"): "9"}) == {"Edema": 9}


def test_the_main_maps_are_some_of_the_maps(tmp_path):
    given = ["--data", tmp_path, "--maps", f"cam={tmp_path}", "--main"]
    with raises(SalstatsError, option="main", value="ig", choices=("cam",)):
        read_data(options_of(*given, "ig"))


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("given", "threshold_source", "cutoff_source"),
    [
        ([], "tuned", "tuned"),
        (["--threshold", "0.3"], "given", "tuned"),
        (["--cutoff", "0.2"], "tuned", "given"),
        (["--threshold", "0.3", "--cutoff", "0.2"], "given", "given"),
    ],
)
def test_values_that_are_not_given_are_tuned(given, threshold_source, cutoff_source):
    study = study_of_series("cam")
    met = needs_met(study, study, has_thresholds=bool(given))
    frames = score_and_tune(
        UnscoredStudy(study, study, ss.features(study), met), options_of("--data", "x", *given)
    )
    assert (frames.threshold_source, frames.cutoff_source) == (threshold_source, cutoff_source)
    if threshold_source == "given":
        assert set(frames.tuned["threshold"]) == {"0.3"}
    if cutoff_source == "given":
        assert set(frames.full["cutoff"]) == {0.2}
