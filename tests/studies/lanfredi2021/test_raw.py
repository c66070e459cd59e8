"""What is made of a study follows from what it holds: boxes, maps, labels, readers."""

import gaze_files
import numpy as np
import pytest

from salstats.checks import SalstatsError, SalstatsWarning, ValueRangeError
from salstats.readers.gaze import read_gaze
from salstats.studies.lanfredi2021.raw import Choice, make_items

# means of the same numbers in another order
SUM_TOLERANCE = 1e-12
FEW = "t intervals|t limits|Table 2 is left out|undefined|no defined"


@pytest.fixture
def release(tmp_path):
    """Three small images of three readers."""
    return gaze_files.write_release(tmp_path / "main")


def made(study, **choice):
    """The items by key; what is warned of so few cases is no matter here."""
    with pytest.warns(SalstatsWarning, match=FEW):
        items = list(make_items(study, Choice(n_replicates=2, **choice)))
    assert len({item.key for item in items}) == len(items)
    return {item.key: item for item in items}


def test_without_maps_readers_are_compared_with_one_another(release):
    items = made(read_gaze(release))
    assert set(items["scores"].frame["method"]) == {"interobserver"}
    assert set(items["table1"].frame["method"]) == {"interobserver"}
    # the habit and where readers looked, and no map beside them
    assert list(items["example"].figure.data["picture"]) == ["Mean fixation map", "Centre bias"]
    assert set(items["sampled_values"].frame["method"]) == {"interobserver"}


def test_without_chest_boxes_the_shuffled_metrics_are_undefined_and_the_rest_stands(release):
    for file in release.glob("*/chest_bounding_box.csv"):
        file.unlink()
    with pytest.warns(SalstatsWarning, match="9 of 9 chest boxes|9 no chest box"):
        study = read_gaze(release)
    with pytest.warns(SalstatsWarning, match="sNCC and sAUC: no score is defined"):
        items = made(study)
    assert {"means_centre", "table3"} <= set(items)
    assert not {"means_shuffled", "table1", "table2", "table4"} & set(items)
    assert items["scores"].frame.query("metric == 'sauc'")["reason"].eq("no chest box").all()
    assert items["table3"].frame["estimate"].notna().all()
    assert not {"example", "sampling_spread", "center_bias_choice"} & set(items)
    boxes = items["recordings"].table.as_raw_html()
    assert "Chest boxes left out of the centre bias" in boxes
    assert "No chest box" in boxes


def test_the_map_of_the_example_has_the_size_of_the_image(release, tmp_path):
    maps = gaze_files.write_maps(tmp_path / "maps", shape=(7, 9))
    items = made(read_gaze(release, maps={"gradcam_wag": maps}))
    data = items["example"].figure.data
    assert list(data["picture"])[-1] == "Grad-CAM (with attention gates)"
    case = items["example"].frame["case"].item()
    assert {(h, w) for h, w in zip(data["height"], data["width"], strict=True)} == {gaze_files.SHAPES[case]}


def test_models_and_seeds_of_a_method_are_rows_of_one_mean(release, tmp_path):
    folders = {f"gradcam_wag:net:{i}": gaze_files.write_maps(tmp_path / str(i), seed=i) for i in (1, 2)}
    items = made(read_gaze(release, maps=folders))
    own = items["table1"].frame.query("method == 'gradcam_wag' and metric == 'sauc'")
    assert own["n"].item() == 2 * 3 * 3
    scores = items["scores"].frame.query("method == 'gradcam_wag' and metric == 'sauc'")
    assert np.isclose(own["estimate"].item(), scores["score"].mean(), rtol=SUM_TOLERANCE)
    # one series' values stand around its exact value
    assert items["sampled_values"].frame["seed"].unique().tolist() == ["1"]


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
    assert items["example"].frame["case"].item() == "img-a"


def test_no_score_is_an_error_that_says_why(release):
    with pytest.raises(SalstatsError, match=r"no score is defined \(36 not 4 readers\)"):
        list(make_items(read_gaze(release), Choice(n_readers=4)))


def test_replicates_are_checked_before_anything_is_scored(release):
    items = make_items(read_gaze(release), Choice(n_replicates=1))
    with pytest.raises(ValueRangeError, match="n_replicates"):
        next(items)


def test_the_hull_is_shown_once_where_it_is_the_only_map(release, tmp_path):
    (tmp_path / "lungs").mkdir()
    for image, shape in gaze_files.SHAPES.items():
        lungs = np.zeros(shape, bool)
        lungs[8:20, 6:22] = True
        np.save(tmp_path / "lungs" / f"{image}.npy", lungs)
    items = made(read_gaze(release, lungs=tmp_path / "lungs"))
    assert items["example"].frame["method"].item() == "convex"
    assert list(items["example"].figure.data["picture"])[2:] == ["Hull of the lungs"]
