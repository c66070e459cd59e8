"""From files to frames: slices made of one scoring are those of `score`; what is read is what was said."""

import inspect
import json
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, long, write_part
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError, Setting, ValueRangeError
from salstats.images import masks
from salstats.readers.pickles import read_pickle
from salstats.studies import declarations, engine
from salstats.studies.saporta2022.file_scoring import (
    empty_masks_below_cutoffs,
    find,
    make_frames,
    needs_met,
    true_positive_slice,
    warn_of_shared_cases,
)
from salstats.studies.saporta2022.labels_and_notes import cutoff_note
from salstats.studies.saporta2022.localisation import means_with_tuned_thresholds
from salstats.studies.saporta2022.study_frames import POINTS, SEGMENTATIONS

FEW = ("--replicates", 40, "--min-positives", 20)


def options_of(*given):
    """The options of a run."""
    parser = engine.parser_of(declarations.study("saporta2022"))
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


def test_without_a_validation_study_nothing_is_tuned(results, allowed, small_study):
    given = ["saporta2022", "--data", small_study[0], "--tasks", "Atelectasis,Airspace Opacity", *FEW]
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


def test_people_without_maps_give_what_needs_no_maps(results, release):
    items = results("saporta2022", *release, "--split", "test", *FEW)
    means = {"table_1", "replicates", "extended_data_2", "extended_data_4", "as_published_and_clustered"}
    assert set(items) == means | {"extended_data_1a", "extended_data_8", "extended_data_10", "figure_3"}
    assert set(items["table_1"].frame["method"]) == {"human"}


def test_what_is_not_made_is_said_before_anything_is_tuned_or_scored(release, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise OSError("stopped")

    for work in ("tune", "score"):
        monkeypatch.setattr(f"salstats.{work}", stop)
    arguments = [*release, "--split", "val", "-o", str(tmp_path / "out"), "--min-positives"]
    with pytest.raises(OSError, match="stopped"):
        engine.reproduce("saporta2022", [*arguments, "20"])
    said = capsys.readouterr().out
    assert "Fig. 2: not made, needs people's segmentations or points" in said
    assert "Extended Data 5: not made, needs people's segmentations" in said
    assert "Extended Data 6: not made, needs people's points" in said
    with raises(ValueRangeError, option="min_positives", value=45):
        engine.reproduce("saporta2022", [*arguments, "45"])


def test_what_is_tuned_needs_maps_of_the_main_method_only(results, small_study):
    folder, _ = small_study
    maps = [a for m in ("gradcam", "ig") for a in ("--maps", f"{m}={folder / 'maps'}")]
    own = ["--validation", str(folder), "--validation-maps", f"ig={folder / 'maps'}"]
    with raises(SalstatsError, option="validation_maps", choices=("gradcam",)):
        results("saporta2022", "--data", folder, *maps, *own)


def test_too_few_replicates_for_order_statistics_are_said_before_any_work(results):
    with raises(ValueRangeError, option="replicates", value=20):
        results("saporta2022", "--data", "nowhere", "--replicates", 20)


@pytest.mark.filterwarnings("ignore:.*rest on:salstats.errors.SalstatsWarning")
def test_cases_that_are_tuned_on_and_scored_are_said(made_up_study, frames):
    study = made_up_study.select(cases=[c.case for c in made_up_study][:5])
    shared = [c.case for c in study][2:]
    with warns(option="data", column="case", value=sorted(shared)):
        assert warn_of_shared_cases(study, study.select(cases=shared)) == 3
    assert "3 cases stand in both studies" in means_with_tuned_thresholds(replace(frames, n_shared=3)).note
    assert "both studies" not in means_with_tuned_thresholds(frames).note


@pytest.fixture(scope="module")
def map_folders(small_study, tmp_path_factory):
    """Folders METHOD_MODEL, all of the same maps."""
    folder, (part, _) = tmp_path_factory.mktemp("maps"), small_study
    for name in ("integrated_gradients_vgg", "gradcam_inception_v4", "gradcam_ensemble"):
        (folder / name).symlink_to(part / "maps")
    (folder / "._gradcam_ensemble").write_bytes(b"")
    return folder


@pytest.mark.slow
def test_folders_are_read_by_name_and_what_is_given_is_not_tuned(results, small_study, map_folders, tmp_path):
    (tmp_path / "cutoffs.csv").write_text("task,cutoff\nAtelectasis,0.5\nAirspace Opacity,0.1\n")
    items = results(
        "saporta2022", "--data", small_study[0], "--maps", map_folders, "--main", "gradcam:ensemble",
        "--tasks", "Atelectasis,Airspace Opacity", "--threshold", "0.5", "--resume", tmp_path / "kept",
        "--cutoff", tmp_path / "cutoffs.csv", "--smooth", "integrated_gradients:vgg=9", *FEW,
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
    frames = make_frames(find(options), options)
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


def test_a_colormap_without_a_filter_is_an_error(shared):
    with raises(SalstatsError, option="colormap", hint=Setting("smooth", "N")):
        find(options_of("--data", shared / "data" / "chexlocalize_sample", "--colormap", "jet"))


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
        found = find(options)
        study, frames = found.study, make_frames(found, options)
        chosen = ss.tune(study, what="cutoff", as_published=bool(flag)).query("chosen")["cutoff"].item()
        want = ss.score(study, metrics="iou", slice="full", cutoff=chosen)
        np.testing.assert_array_equal(frames.full["score"], want["score"])
        said = cutoff_note(frames, frames.inference)
        assert ("chosen as the scripts do" in said) == bool(flag)
        cutoffs[bool(flag)] = chosen
    assert cutoffs[False] != cutoffs[True]


@pytest.fixture(scope="module")
def study(made_up, tmp_path_factory):
    """Thirty annotated cases of the made-up study and three without a finding."""
    folder = tmp_path_factory.mktemp("study")
    write_part(made_up / "inputs", folder, n_annotated=30, n_absent=3)
    return ss.read_chexlocalize(folder)


@pytest.fixture(scope="module")
def everywhere(study):
    return ss.score(study, metrics=["iou", "hit"], slice="full")


@pytest.mark.slow
def test_the_true_positive_slice_of_full_scores_is_that_of_score(study, everywhere):
    cases = set(ss.features(study)["case"])
    want = ss.score(study, metrics=["iou", "hit"])
    assert set(want["reason"].dropna()) == {"finding absent", "empty mask"}
    pd.testing.assert_frame_equal(true_positive_slice(everywhere, cases), want, check_exact=True)


@pytest.mark.slow
def test_cut_offs_on_full_scores_are_those_of_score(study, everywhere):
    method = next(s.method for s in study.series if s.method != "human")
    cutoffs = {(task, method): 0.2 + 0.05 * i for i, task in enumerate(study.tasks)}
    want = ss.score(study, metrics="iou", slice="full", cutoff=cutoffs)
    uncut = everywhere[everywhere["metric"] == "iou"]
    assert (want["score"].isna().sum(), want["tp"].sum()) != (uncut["score"].isna().sum(), uncut["tp"].sum())
    pd.testing.assert_frame_equal(empty_masks_below_cutoffs(everywhere, cutoffs), want, check_exact=True)


def test_a_cut_off_without_a_probability_leaves_no_score(everywhere):
    unknown = everywhere.assign(prob=np.nan)
    method = next(m for m in everywhere["method"] if m != "human")
    got = empty_masks_below_cutoffs(unknown, {("Edema", method): 0.5})
    rows = got[(got["task"] == "Edema") & (got["method"] == method)]
    assert rows["score"].isna().all()
    assert set(rows["reason"]) == {"no probability"}
