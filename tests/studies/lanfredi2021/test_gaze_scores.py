"""A study of gaze scored: what is made follows from what it holds, and rows are named as in the tables."""

import warnings

import gaze_files
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises, warns

from salstats.errors import SalstatsError, SalstatsWarning
from salstats.readers.gaze import read_gaze
from salstats.studies.engine import made_items_whose_needs_are_met
from salstats.studies.item_warnings import ItemNotMade
from salstats.studies.lanfredi2021 import RAW_ITEMS
from salstats.studies.lanfredi2021.gaze_scores import (
    Recordings,
    ScoringOptions,
    main_method_and_mixing,
    mean_rows_of_each_mixing,
    means_with_clustered_and_study_intervals,
    printed_row_names,
    rows_of_images_with_exactly_n_or_enough_readers,
    rows_of_table_2,
    scored_recordings,
    sorted_as_printed,
    study_phases_or_none_for_all,
    with_mixing_and_subset,
    with_mixing_in_methods,
    with_mixing_removed_from_method_names,
    with_mixing_split_from_method,
    with_no_mixing_as_missing,
)
from salstats.studies.lanfredi2021.recording_tables import (
    mean_changes_of_shuffled_metrics,
    shuffled_metrics_by_center_bias,
)

# means of the same numbers in another order
SUM_TOLERANCE = 1e-12


@pytest.fixture
def release(tmp_path):
    """Three small images of three readers."""
    return gaze_files.write_release(tmp_path / "main")


def made(study, **choice):
    """The items by key; what is warned of so few cases is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        given = scored_recordings(study, ScoringOptions(n_replicates=2, **choice))
        return {item.key: result for item, result in made_items_whose_needs_are_met(RAW_ITEMS, (), given)}


def test_without_chest_boxes_the_shuffled_metrics_are_undefined_and_the_rest_stands(release):
    for file in release.glob("*/chest_bounding_box.csv"):
        file.unlink()
    with warns(value={"no chest box": 9}, path=release):
        study = read_gaze(release)
    items = made(study)
    assert {"means_centre", "table3"} <= set(items)
    assert not {"means_shuffled", "table1", "table2", "table4"} & set(items)
    assert items["scores"].frame.query("metric == 'sauc'")["reason"].eq("no chest box").all()
    assert items["table3"].frame["estimate"].notna().all()
    assert not {"figure_1", "sampling_spread", "center_bias_choice"} & set(items)
    boxes = items["recordings"].table.as_raw_html()
    assert "Chest boxes left out of the centre bias" in boxes
    assert "No chest box" in boxes


def test_the_map_of_the_example_has_the_size_of_the_image(release, tmp_path):
    maps = gaze_files.write_maps(tmp_path / "maps", shape=(7, 9))
    items = made(read_gaze(release, maps={"gradcam_wag": maps}))
    data = items["figure_1"].figure.data
    assert list(data["picture"])[-1] == "Grad-CAM (with attention gates)"
    case = items["figure_1"].frame["case"].item()
    assert {(h, w) for h, w in zip(data["height"], data["width"], strict=True)} == {gaze_files.SHAPES[case]}


def test_models_and_seeds_of_a_method_are_rows_of_one_mean(release, tmp_path):
    folders = {f"gradcam_wag:net:{i}": gaze_files.write_maps(tmp_path / str(i), seed=i) for i in (1, 2)}
    items = made(read_gaze(release, maps=folders))
    own = items["table1"].frame.query("method == 'gradcam_wag' and metric == 'sauc'")
    assert own["n"].item() == 2 * 3 * 3
    scores = items["scores"].frame.query("method == 'gradcam_wag' and metric == 'sauc'")
    assert np.isclose(own["estimate"].item(), scores["score"].mean(), rtol=SUM_TOLERANCE)
    # one series' values stand around its exact value
    assert items["sampled_area_estimates"].frame["seed"].unique().tolist() == ["1"]


def test_a_map_that_is_missing_is_an_undefined_score(release, tmp_path):
    maps = gaze_files.write_maps(tmp_path / "maps")
    (maps / "img-a.npy").unlink()
    items = made(read_gaze(release, maps={"gradcam_wag": maps}))
    row = items["table1"].frame.query("method == 'gradcam_wag' and metric == 'sncc'")
    assert row["n_missing"].item() == 3
    assert row["n_units"].item() == 2


@pytest.mark.parametrize("center_bias", ["all", "others"])
def test_both_centre_biases_are_compared_whichever_the_tables_use(release, center_bias):
    items = made(read_gaze(release), center_bias=center_bias)
    change = items["center_bias_choice"].frame.set_index("metric")
    table = items["table1"].frame.set_index("metric")
    for metric in ("sncc", "sauc"):
        assert np.isclose(
            change.loc[metric, f"mean_{center_bias}"], table.loc[metric, "estimate"], rtol=SUM_TOLERANCE
        )
    words = {"all": "centre bias of all cases", "others": "centre bias of all other cases"}
    assert words[center_bias] in items["scores"].note


def test_a_single_image_has_no_other_images_to_make_a_bias_of(release):
    study = read_gaze(release).select(cases=["img-a"])
    items = made(study)
    assert "center_bias_choice" not in items
    assert items["table1"].frame["estimate"].notna().all()
    assert items["figure_1"].frame["case"].item() == "img-a"


def test_no_score_is_an_error_that_says_why(release):
    with raises(SalstatsError, column="score", value={"not 4 readers": 36}, path=release):
        scored_recordings(read_gaze(release), ScoringOptions(n_readers=4))


def test_the_hull_is_shown_once_where_it_is_the_only_map(release, tmp_path):
    (tmp_path / "lungs").mkdir()
    for image, shape in gaze_files.SHAPES.items():
        lungs = np.zeros(shape, bool)
        lungs[8:20, 6:22] = True
        np.save(tmp_path / "lungs" / f"{image}.npy", lungs)
    items = made(read_gaze(release, lungs=tmp_path / "lungs"))
    assert items["figure_1"].frame["method"].item() == "convex"
    assert list(items["figure_1"].figure.data["picture"])[3:] == ["Hull of the lungs"]


METRICS = ("ncc", "sncc", "auc", "sauc")


def make_scores(methods=("interobserver", "gradcam_wag", "am1"), n_cases=8, n_readers=3, **columns):
    """Scores of every case, reader, method and metric, with a column `mixing` where `columns` has it."""
    rng = np.random.default_rng(4)
    mixing = columns.get("mixing", {})
    rows = [
        {
            "case": f"c{case}", "patient": f"p{case}", "phase": 1, "method": method, "mixing": mix,
            "reader": str(reader), "metric": metric, "score": rng.normal(0.3, 0.1), "reason": None,
        }
        for case in range(n_cases)
        for method in methods
        for mix in mixing.get(method, (None,))
        for reader in range(n_readers)
        for metric in METRICS
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame if mixing else frame.drop(columns="mixing")


def make_labels(abnormal):
    """Majority labels of cases c0, c1, ..."""
    names = [f"c{i}" for i in range(len(abnormal))]
    return pd.DataFrame({"case": names, "abnormal": pd.array(abnormal, dtype="Int64")})


LABELS = make_labels([1, 1, 1, 0, 0, 0, 0, None])

TABLES = ("means_shuffled", "means_centre", "table1", "table2", "table3", "table4")


def items_of(scores, labels=LABELS):
    """The tables of scores by key."""
    given = Recordings(None, ScoringOptions(), labels, None, with_mixing_and_subset(scores, labels))
    with warnings.catch_warnings():
        # few cases is the point of it
        warnings.simplefilter("ignore", SalstatsWarning)
        items = [item for item in RAW_ITEMS if item.key in TABLES]
        return {item.key: made for item, made in made_items_whose_needs_are_met(items, (), given)}


def body(item) -> str:
    return item.table.as_raw_html()


def test_undefined_scores_are_left_out_of_both_intervals_and_counted():
    scores = make_scores()
    gone = (scores["case"] == "c3") & (scores["method"] == "am1")
    scores.loc[gone, "score"] = np.nan
    with_gaps = (
        means_with_clustered_and_study_intervals(with_mixing_and_subset(scores, LABELS))
        .query("method == 'am1'")
        .reset_index(drop=True)
    )
    without = means_with_clustered_and_study_intervals(with_mixing_and_subset(scores[~gone], LABELS)).query(
        "method == 'am1'"
    )
    limits = ["estimate", "conf_low", "conf_high", "study_conf_low", "study_conf_high", "n_units"]
    pd.testing.assert_frame_equal(with_gaps[limits], without[limits].reset_index(drop=True))
    assert (with_gaps["n_missing"] == 3).all()
    assert (with_gaps["n_units"] == 7).all()


def test_a_map_without_classes_is_as_given_and_a_baseline_has_no_mixing():
    methods = ("interobserver", "convex", "am1", "am2", "gradcam_wag", "mine")
    rows = (
        with_mixing_and_subset(make_scores(methods), LABELS)
        .drop_duplicates("method")
        .set_index("method")["mixing"]
    )
    assert rows.to_dict() == {
        "interobserver": "", "convex": "", "am1": "", "am2": "",
        "gradcam_wag": "as given", "mine": "as given",
    }  # fmt: skip


def test_tables_have_the_rows_of_the_study_in_its_order():
    scores = make_scores(("am2", "convex", "gradcam_wag", "interobserver", "gradcam_woag", "am1"))
    tables = items_of(scores)
    assert list(tables) == [
        "means_shuffled", "means_centre", "table1", "table2", "table3", "table4",
    ]  # fmt: skip
    order = ["interobserver", "gradcam_woag", "gradcam_wag", "am1", "am2"]
    assert list(tables["table1"].frame["method"].unique()) == order
    for number, metrics in (("3", ["ncc", "auc"]), ("4", ["sncc", "sauc"])):
        table = tables[f"table{number}"].frame
        assert list(table["method"].unique()) == ["interobserver", "convex"]
        assert list(table["metric"].unique()) == metrics
    html = body(tables["table1"])
    assert html.index("Interobserver (baseline)") < html.index("Grad-CAM (without") < html.index("AM1")
    assert "As the study" in html
    assert "Cases as clusters" in html


def test_table_2_splits_the_cases_by_their_majority():
    scores = make_scores()
    item = items_of(scores)["table2"]
    table = item.frame.set_index(["subset", "method", "metric"])
    assert set(item.frame["method"]) == {"interobserver", "gradcam_wag"}
    for subset, cases in (("abnormal", ["c0", "c1", "c2"]), ("normal", ["c3", "c4", "c5", "c6"])):
        own = scores[scores["case"].isin(cases) & (scores["method"] == "gradcam_wag")]
        row = table.loc[(subset, "gradcam_wag", "sauc")]
        assert abs(row["estimate"] - own.loc[own["metric"] == "sauc", "score"].mean()) < SUM_TOLERANCE
        assert row["n_units"] == len(cases)
    assert item.note == "left out for want of a majority: 1 image"
    assert item.figure is not None


def test_table_2_shows_uniform_mixing_where_there_is_some():
    item = items_of(make_scores(mixing={"gradcam_wag": ("thresholded", "uniform")}))["table2"]
    own = item.frame[item.frame["method"] == "gradcam_wag"]
    assert set(own["mixing"]) == {"uniform"}
    assert item.title.endswith("Grad-CAM (with attention gates), uniform mixing")


@pytest.mark.parametrize(
    ("methods", "main"),
    [
        (("interobserver", "gradcam_woag", "gradcam_wag"), "gradcam_wag"),
        (("interobserver", "am1", "mine"), "mine"),
        (("interobserver", "am1"), "am1"),
        (("interobserver",), "interobserver"),
    ],
)
def test_single_results_are_of_the_studys_method_or_the_first_there_is(methods, main):
    assert main_method_and_mixing(with_mixing_and_subset(make_scores(methods), LABELS))[0] == main


def test_only_saliency_maps_compete_for_the_best():
    scores = make_scores(("interobserver", "am1", "am2"))
    scores.loc[scores["method"] == "interobserver", "score"] += 1
    html = body(items_of(scores)["table1"])
    bold = [cell for cell in html.split("<td") if "bold" in cell.split(">")[0]]
    table = items_of(scores)["table1"].frame.query("metric == 'sauc'").set_index("method")["estimate"]
    best = f"{table[['am1', 'am2']].max():.3f}"
    assert any(best in cell for cell in bold)
    assert not any(f"{table['interobserver']:.3f} " in cell for cell in bold)


def test_without_a_majority_table_2_is_left_out_and_said():
    labels = make_labels([None] * 8)
    given = Recordings(None, ScoringOptions(), labels, None, with_mixing_and_subset(make_scores(), labels))
    table_2 = [item for item in RAW_ITEMS if item.key in ("table1", "table2")]
    with pytest.warns(ItemNotMade) as caught:
        assert [item.key for item, _ in made_items_whose_needs_are_met(table_2, (), given)] == ["table1"]
    assert [warning.message.item for warning in caught] == ["Table 2"]


def scores_of_both(shift=0.0, mixing=("as given",)):
    """Scores of six cases, three readers and two methods, the shuffled ones moved by `shift` by case."""
    rng = np.random.default_rng(8)
    rows = [
        {
            "case": f"c{case}", "method": method, "mixing": mix, "reader": str(reader), "metric": metric,
            "score": rng.normal(0.2, 0.05) + shift * (case + 1),
        }
        for case in range(6)
        for method, mixings in (("interobserver", ("",)), ("gradcam_wag", mixing))
        for mix in mixings
        for reader in range(3)
        for metric in ("ncc", "sncc", "sauc")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_change_is_that_of_the_same_rows_with_cases_as_clusters():
    # rows in another order: pairs are made by their keys
    others = scores_of_both(0.01).sample(frac=1, random_state=1)
    found = mean_changes_of_shuffled_metrics(scores_of_both(), others)
    assert found["metric"].tolist() == ["sncc", "sncc", "sauc", "sauc"]
    # 0.01 to 0.06 by case, the same for every reader
    changes = 0.01 * np.arange(1, 7)
    low, high = stats.t.interval(0.95, 5, changes.mean(), stats.sem(changes))
    for row in found.itertuples():
        assert abs(row.estimate - 0.035) < SUM_TOLERANCE
        assert abs(row.conf_low - low) < SUM_TOLERANCE
        assert abs(row.conf_high - high) < SUM_TOLERANCE
        assert abs(row.mean_others - row.mean_all - 0.035) < SUM_TOLERANCE
        assert abs(row.largest - 0.06) < SUM_TOLERANCE


def test_rows_undefined_under_either_are_in_neither_mean():
    every, others = scores_of_both(), scores_of_both(0.01)
    others.loc[others["case"] == "c5", "score"] = np.nan
    found = mean_changes_of_shuffled_metrics(every, others)
    expected = every[every["case"] != "c5"].groupby(["metric", "method"])["score"].mean()
    for row in found.itertuples():
        assert abs(row.mean_all - expected[row.metric, row.method]) < SUM_TOLERANCE
        assert row.n_missing == 3
        assert row.n_units == 5


def test_the_line_of_the_figure_is_at_no_change_and_not_at_chance():
    figure = shuffled_metrics_by_center_bias(scores_of_both(), scores_of_both(0.01)).figure
    drawn = [layer._data for layer in figure.layers if isinstance(layer._data, pd.DataFrame)]
    guides = [data["guide"] for data in drawn if "guide" in data]
    assert guides
    assert all((guide == 0).all() for guide in guides)
    figure.draw()


@pytest.mark.parametrize(
    ("phases", "used"), [((1, 2), None), ((3,), None), ((1, 3), [1]), ((1, 2, 3), [1, 2])]
)
def test_of_a_whole_release_the_phases_of_the_study_are_used(tmp_path, phases, used):
    for phase in phases:
        (tmp_path / f"metadata_phase_{phase}.csv").touch()
    if used is None:
        assert study_phases_or_none_for_all(tmp_path) is None
    else:
        with warns(option="phases", value=used, path=tmp_path):
            assert study_phases_or_none_for_all(tmp_path) == used


def named(*rows):
    return pd.DataFrame(rows, columns=["method", "mixing"])


def test_mixings_stand_in_a_column_or_behind_the_method():
    mixed = named(("gradcam_wag_uniform", "uniform"), ("am1", None), ("mine", None), ("convex", None))
    plain = with_mixing_removed_from_method_names(mixed)
    assert plain["method"].tolist() == ["gradcam_wag", "am1", "mine", "convex"]
    column = with_mixing_split_from_method(mixed)
    assert column["mixing"].tolist() == ["uniform", "", "as given", ""]
    assert with_mixing_in_methods(column)["method"].tolist() == mixed["method"].tolist()
    assert with_no_mixing_as_missing(column)["mixing"].isna().tolist() == [False, True, False, True]
    without = with_mixing_split_from_method(mixed[["method"]])
    assert without["mixing"].tolist() == ["as given", "", "as given", ""]
    # the given rows stay as they are
    assert mixed["method"].iloc[0] == "gradcam_wag_uniform"


def test_rows_are_named_and_ordered_as_in_print():
    rows = named(
        ("am1", ""), ("gradcam_wag", "uniform"), ("gradcam_wag", "thresholded"), ("mine", "as given")
    )
    rows = pd.concat([rows, named(("interobserver", ""))], ignore_index=True)
    ordered = sorted_as_printed(rows, ["method", "mixing"])
    assert printed_row_names(ordered)[:4] == [
        "Interobserver (baseline)",
        "Grad-CAM (with attention gates), thresholded",
        "Grad-CAM (with attention gates), uniform",
        "AM1",
    ]
    assert printed_row_names(rows)[3] == printed_row_names(named(("mine", "")))[0]
    by_mixing = sorted_as_printed(rows[1:3], ["mixing", "method"])["mixing"].tolist()
    assert by_mixing == ["thresholded", "uniform"]


def test_images_with_other_readers_are_not_scored():
    reasons = ["not 5 readers", None, "no map", "fewer than 2 readers"]
    rows = pd.DataFrame({"reason": reasons, "case": list("abcd")})
    assert rows_of_images_with_exactly_n_or_enough_readers(rows, 5)["case"].tolist() == ["b", "c"]
    assert rows_of_images_with_exactly_n_or_enough_readers(rows, None)["case"].tolist() == ["a", "b", "c"]


def test_table_2_has_the_shuffled_metrics_of_interobserver_and_the_main_method():
    rows = named(("interobserver", ""), ("gradcam_wag", "uniform"), ("gradcam_wag", "weighted"), ("am1", ""))
    rows = rows.merge(pd.DataFrame({"metric": METRICS}), how="cross").assign(score=0.5)
    kept = rows_of_table_2(rows)
    assert set(kept["metric"]) == {"sncc", "sauc"}
    assert sorted(set(zip(kept["method"], kept["mixing"], strict=True))) == [
        ("gradcam_wag", "uniform"), ("interobserver", "")
    ]  # fmt: skip
    # an undefined score is a row of the main method all the same, which defined scores decide on
    is_wag = rows["method"] == "gradcam_wag"
    undefined = rows.assign(score=rows["score"].mask(is_wag))
    assert set(rows_of_table_2(undefined)["method"]) == {"interobserver", "am1"}
    assert rows_of_table_2(rows.assign(score=np.nan)).empty


def test_the_main_mixing_is_uniform_or_the_first():
    rows = named(("gradcam_wag", "weighted"), ("gradcam_wag", "uniform"), ("am1", ""))
    assert main_method_and_mixing(rows) == ("gradcam_wag", "uniform")
    assert main_method_and_mixing(rows.head(1)) == ("gradcam_wag", "weighted")


def test_each_mixing_has_means_of_its_own():
    rows = pd.DataFrame({"case": list("abab"), "mixing": ["uniform"] * 2 + ["weighted"] * 2})
    rows = rows.assign(method="gradcam_wag", metric="sncc", score=[0.1, 0.3, 0.5, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        means = mean_rows_of_each_mixing(rows, ["mixing", "method", "metric"])
    assert list(means)[:3] == ["mixing", "method", "metric"]
    assert means["estimate"].tolist() == pytest.approx([0.2, 0.7])
    assert (means["n_units"] == 2).all()


def test_subsets_are_those_of_the_majority():
    scores = pd.DataFrame({"case": list("abcd"), "method": "mine"})
    labels = pd.DataFrame({"case": list("abc"), "abnormal": pd.array([1, 0, None], dtype="Int64")})
    subset = with_mixing_and_subset(scores, labels)["subset"]
    assert subset.tolist() == ["abnormal", "normal", None, None]


def test_the_example_is_the_case_of_median_sauc_of_the_main_method():
    scores = with_mixing_and_subset(make_scores(), LABELS)
    given = Recordings(None, ScoringOptions(), LABELS, None, scores)
    pick = given.pick_of_median_case.iloc[0]
    assert (pick["method"], pick["metric"], pick["mixing"]) == ("gradcam_wag", "sauc", "as given")
    main = scores[(scores["method"] == "gradcam_wag") & (scores["metric"] == "sauc")]
    means = main.groupby("case")["score"].mean()
    distance = (means - means.median()).abs()
    assert distance[pick["case"]] == pytest.approx(distance.min(), abs=SUM_TOLERANCE)
    others = scores[scores["metric"] != "sauc"]
    with raises(SalstatsError):
        Recordings(None, ScoringOptions(), LABELS, None, others).pick_of_median_case  # noqa: B018


def test_metrics_without_a_score_are_left_out_and_said():
    scores = with_mixing_and_subset(make_scores(), LABELS)
    undefined = scores.assign(score=scores["score"].mask(scores["metric"] == "sncc"), reason="no chest box")
    with pytest.warns(SalstatsWarning, match="sNCC"):
        kept = Recordings(None, ScoringOptions(), LABELS, None, undefined).scores_of_defined_metrics
    assert set(kept["metric"]) == {"ncc", "auc", "sauc"}
