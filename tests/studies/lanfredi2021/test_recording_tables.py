"""From recordings to Tables 1 to 4: scores are the oracle's, tables what pandas makes of them."""

import io
import re
import shutil
from pathlib import Path

import gaze_files
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.text import Text
from scipy import stats
from tests_support import warns

from salstats.images.mixing import mixed_map_of_classes
from salstats.readers.gaze import read_gaze
from salstats.scoring.gaze import score_gaze
from salstats.studies.lanfredi2021.gaze_scores import Recordings, ScoringOptions, with_mixing_and_subset
from salstats.studies.lanfredi2021.recording_tables import (
    effect_of_center_bias_choice,
    majority_findings_by_image,
    means_maker,
    scores_of_every_map,
    table_2_normal_and_abnormal_images,
    table_maker,
)

NAMES = {"sono": "gradcam_woag", "ag": "gradcam_wag", "am1": "am1", "am2": "am2"}
#: What the reference divides the integer maps by.
SCALES = {"am1": 65535, "am2": 255}
METHODS = {**NAMES, "interobserver": "interobserver", "convex": "convex"}
MEAN_KEYS = ["phase", "trial", "reader", "method", "metric"]
# the oracle's fixation maps are float32 (epsilon 1.2e-7), ours float64
SCORE_TOLERANCE = 1e-7
# ranks of a reader's own map: some of its pixels tie in float32 and do not in float64
TIE_TOLERANCE = 3e-6
# and where its tails underflow in float32, up to 14 % of them do
UNDERFLOW_TOLERANCE = 2e-3
# of means of 30 scores and their limits; and where one of the 30 is off by an underflow
MEAN_TOLERANCE, UNDERFLOW_MEAN_TOLERANCE = 3 * SCORE_TOLERANCE, UNDERFLOW_TOLERANCE / 15
# the same numbers summed in another order, and through a file with 17 digits
SUM_TOLERANCE = 1e-12
MINUS = "\u2212"


@pytest.fixture(scope="module")
def gaze(shared) -> Path:
    return shared / "oracles" / "gaze"


@pytest.fixture(scope="module")
def maps(gaze, tmp_path_factory) -> Path:
    """The oracle's maps and lungs as a folder of .npy files per method."""
    root = tmp_path_factory.mktemp("maps")
    with np.load(gaze / "inputs" / "maps.npz") as held:
        for key in held.files:
            case, _, kind = key.rpartition("_")
            name = {"lungs256": "lungs", **NAMES}[kind]
            (root / name).mkdir(exist_ok=True)
            saliency = held[key] / SCALES[kind] if kind in SCALES else held[key]
            np.save(root / name / f"{case}.npy", saliency)
    return root


@pytest.fixture(scope="module")
def arguments(gaze, maps) -> list[str]:
    given = ["--raw", str(gaze / "inputs" / "main_data"), "--readers", "5", "--replicates", "5"]
    for name in NAMES.values():
        given += ["--maps", f"{name}={maps / name}"]
    return [*given, "--lungs", str(maps / "lungs")]


@pytest.fixture(scope="module")
def frames(results, arguments) -> dict[str, pd.DataFrame]:
    """Frames made from the oracle's recordings, as they are read from their files."""
    keys = ("scores", "labels", "table1", "table2", "table3", "table4", "center_bias_choice")
    items = results("lanfredi2021", *arguments, only=keys)
    return {key: pd.read_csv(io.StringIO(item.frame.to_csv(index=False))) for key, item in items.items()}


@pytest.fixture(scope="module")
def expected(gaze) -> pd.DataFrame:
    """The oracle's scores, exact: a row per image, reader left out, method and metric."""
    parts = [
        pd.read_csv(gaze / "expected" / name).rename(columns={value: "score", "index_image": "reader"})
        for name, value in (("ncc_sncc.csv", "value_f64"), ("auc_sauc.csv", "exact_limit"))
    ]
    rows = pd.concat([part[[*MEAN_KEYS, "score"]] for part in parts], ignore_index=True)
    return rows.assign(method=rows["method"].map(METHODS))


def with_trials(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the place of their image among those of its phase, as the oracle counts."""
    names = rows[["phase", "case"]].drop_duplicates().sort_values(["phase", "case"])
    return rows.merge(names.assign(trial=names.groupby("phase").cumcount()), on=["phase", "case"])


def study_interval(rows: pd.DataFrame) -> dict[str, float]:
    """Mean +- 1.96 SD of all rows over the root of the number of images, by hand."""
    n_images = len(rows[["phase", "trial"]].drop_duplicates())
    mean, half = rows["score"].mean(), 1.96 * rows["score"].std(ddof=1) / np.sqrt(n_images)
    return {"estimate": mean, "study_conf_low": mean - half, "study_conf_high": mean + half}


def clustered_interval(rows: pd.DataFrame) -> dict[str, float]:
    """The t interval of the means of the images, which is that with clusters where all have as many rows."""
    means = rows.groupby(["phase", "trial"])["score"].mean()
    low, high = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    return {"conf_low": low, "conf_high": high}


def check_interval(row: pd.Series, rows: pd.DataFrame, method: str, metric: str) -> None:
    """A printed row has the mean and both intervals of some of the oracle's scores."""
    ranked = method == "interobserver" and metric in ("auc", "sauc")
    allowed = UNDERFLOW_MEAN_TOLERANCE if ranked else MEAN_TOLERANCE
    for name, value in {**study_interval(rows), **clustered_interval(rows)}.items():
        assert abs(row[name] - value) < allowed, (method, metric, name)


def test_scores_equal_the_oracle(frames, expected, gaze):
    scores = with_trials(frames["scores"])
    rows = scores[scores["reason"].isna()].astype({"reader": "int64"})
    both = rows.merge(expected, on=MEAN_KEYS, validate="1:1", suffixes=("", "_oracle"))
    assert len(both) == len(rows) == len(expected) == 720
    off = (both["score"] - both["score_oracle"]).abs()
    looks = np.load(gaze / "expected" / "fixation_maps_f32.npz")
    own = [looks[f"p{r.phase}_t{r.trial}_r{r.reader}"].min() for r in both.itertuples()]
    ranked = (both["method"] == "interobserver") & both["metric"].isin(["auc", "sauc"])
    tied = ranked & (np.array(own) < np.finfo(np.float32).tiny)
    assert off[~ranked].max() < SCORE_TOLERANCE
    assert off[ranked & ~tied].max() < TIE_TOLERANCE
    assert off[tied].max() < UNDERFLOW_TOLERANCE


@pytest.fixture(scope="module")
def drawn_made(run, tmp_path_factory) -> Path:
    """The folder made of three small images that are drawn here; of one a recording is discarded."""
    root = tmp_path_factory.mktemp("drawn")
    gaze_files.write_release(root / "main", discarded=[gaze_files.recording_id("img-a", 0)])
    given = ["--readers", "3", "--replicates", "5"]
    for seed, name in enumerate(("gradcam_wag", "am1")):
        given += ["--maps", f"{name}={gaze_files.write_maps(root / name, seed=seed)}"]
    (root / "lungs").mkdir()
    for image, shape in gaze_files.SHAPES.items():
        lungs = np.zeros(shape, bool)
        lungs[4:20, 6:18] = True
        np.save(root / "lungs" / f"{image}.npy", lungs)
    given += ["--lungs", str(root / "lungs")]
    code, said, _ = run("lanfredi2021", "--raw", root / "main", *given, "-o", root / "out")
    assert code == 0
    assert said.startswith("Fig. 1: made in part, needs the radiographs (--images)\n13 items in ")
    return root / "out"


def test_the_image_that_lacks_a_reader_has_rows_that_say_why_they_are_empty(drawn_made):
    scores = pd.read_csv(drawn_made / "frames" / "scores.csv")
    left_out = scores[scores["reason"].notna()]
    assert left_out["case"].unique().tolist() == ["img-a"]
    assert (left_out["reason"] == "not 3 readers").all()
    assert left_out["score"].isna().all()
    assert scores.loc[scores["case"] != "img-a", "score"].notna().all()


def test_every_recording_is_listed_and_the_discarded_one_said(drawn_made):
    made = drawn_made
    rows = pd.read_csv(made / "frames" / "recordings.csv")
    assert len(rows) == 9
    assert rows.loc[~rows["used"], "reason"].tolist() == ["discarded by its file"]
    assert "1 of 9 recordings is left out (1 discarded by its file)" in (made / "warnings.txt").read_text()
    table = (made / "tables" / "recordings.csv").read_text(encoding="utf-8-sig")
    assert "Discarded by its file,1" in table
    assert "Used,8" in table


@pytest.mark.parametrize(
    ("number", "methods", "metrics"),
    [
        ("1", ["interobserver", *NAMES.values()], ["sncc", "sauc"]),
        ("3", ["interobserver", "convex"], ["ncc", "auc"]),
        ("4", ["interobserver", "convex"], ["sncc", "sauc"]),
    ],
)
def test_tables_equal_what_pandas_makes_of_the_oracles_scores(frames, expected, number, methods, metrics):
    table = frames[f"table{number}"].set_index(["method", "metric"])
    assert set(table.index) == {(method, metric) for method in methods for metric in metrics}
    assert (table["n"] == 30).all()
    assert (table["n_units"] == 6).all()
    # nobody published limits of these recordings
    assert not table.columns.str.contains("published").any()
    for (method, metric), row in table.iterrows():
        own = expected[(expected["method"] == method) & (expected["metric"] == metric)]
        check_interval(row, own, method, metric)


def test_table_2_equals_what_pandas_makes_of_the_oracles_scores_by_its_majority_labels(
    frames, expected, gaze
):
    labels = pd.read_csv(gaze / "expected" / "reference_table_seed0_n1000.csv")
    labels = labels[["phase", "trial", "abnormal_majority"]].drop_duplicates()
    rows = expected.merge(labels, on=["phase", "trial"])
    table = frames["table2"].set_index(["subset", "method", "metric"])
    subsets = rows["abnormal_majority"].map({0: "normal", 1: "abnormal"})
    shown = ["interobserver", "gradcam_wag"]
    assert set(table.index) == {(s, m, k) for s in subsets.unique() for m in shown for k in ("sncc", "sauc")}
    for (subset, method, metric), row in table.iterrows():
        own = rows[(subsets == subset) & (rows["method"] == method) & (rows["metric"] == metric)]
        check_interval(row, own, method, metric)


def test_majority_labels_equal_the_oracles(frames, gaze):
    oracle = pd.read_csv(gaze / "expected" / "reference_table_seed0_n1000.csv")
    groups = ["pleural", "parenchymal", "cardiomediastinal", "abnormal"]
    flags = oracle[["phase", "trial", *(f"{g}_majority" for g in groups)]].drop_duplicates()
    both = with_trials(frames["labels"]).merge(flags, on=["phase", "trial"], validate="1:1")
    assert len(both) == 6
    for group in groups:
        assert (both[group] == both[f"{group}_majority"]).all(), group


def test_printed_cells_are_the_frames_rounded(drawn_made):
    printed = pd.read_csv(drawn_made / "tables" / "table1.csv")
    rows = pd.read_csv(drawn_made / "frames" / "table1.csv").set_index(["method", "metric"])
    labels = {"Grad-CAM (with attention gates)": "gradcam_wag", "AM1": "am1"}
    columns = [c for c in printed.columns if "sAUC" in c]
    # two images of three readers
    assert (printed["n"] == 6).all()
    assert [c.rpartition(": ")[2] for c in columns] == ["As the study", "Cases as clusters"]
    for label, method in labels.items():
        row = rows.loc[(method, "sauc")]
        cells = printed.set_index("Method").loc[label, columns]
        for cell, prefix in zip(cells, ("study_", ""), strict=True):
            low, high = row[f"{prefix}conf_low"], row[f"{prefix}conf_high"]
            assert cell.replace(MINUS, "-") == f"{row['estimate']:.3f} [{low:.3f}, {high:.3f}]"


def test_the_change_by_the_centre_bias_is_that_of_the_scores(frames, gaze, maps):
    with warns(path=gaze / "inputs" / "main_data"):
        study = read_gaze(gaze / "inputs" / "main_data", maps={"am1": maps / "am1"})
    others = score_gaze(study, metrics=["sncc", "sauc"], n_readers=5, center_bias="others")
    keys = ["case", "method", "reader", "metric"]
    own = frames["scores"].dropna(subset="score").astype({"reader": "int64"}).astype({"reader": "str"})
    both = others.merge(own, on=keys, suffixes=("_others", "_all"))
    both["change"] = both["score_others"] - both["score_all"]
    rows = frames["center_bias_choice"].set_index(["method", "metric"])
    assert len(rows) == 12
    for (method, metric), group in both.dropna(subset="change").groupby(["method", "metric"]):
        row = rows.loc[(method, metric)]
        assert abs(row["estimate"] - group["change"].mean()) < SUM_TOLERANCE
        assert abs(row["mean_all"] - group["score_all"].mean()) < SUM_TOLERANCE
        assert abs(row["largest"] - group["change"].abs().max()) < SUM_TOLERANCE
    # a reader left out agrees less with the habit of others once the own gaze is no part of it
    assert rows.loc[("interobserver", "sncc"), "estimate"] > 0.01


def test_every_file_of_the_index_is_there_and_no_other(drawn_made):
    made = drawn_made
    index = pd.read_csv(made / "outputs.csv")
    files = {f.relative_to(made).as_posix() for f in made.rglob("*") if f.is_file()}
    assert files == {*index["file"], "outputs.csv", "warnings.txt"}
    figures = {Path(f).stem for f in files if f.startswith("figures/")}
    assert figures == {
        "means_shuffled", "means_centre", "table2", "center_bias_choice", "figure_1", "sampling_spread",
        "sampled_area_estimates",
    }  # fmt: skip


def test_the_example_is_the_case_nearest_to_the_median(results, release):
    items = results("lanfredi2021", "--raw", release / "main", "--maps", f"gradcam_wag={release / 'maps'}",
                    "--replicates", 3, only=("scores", "figure_1", "sampling_spread"))  # fmt: skip
    frames = {key: item.frame for key, item in items.items()}
    rows = frames["scores"].query("method == 'gradcam_wag' and metric == 'sauc'")
    means = rows.groupby("case")["score"].mean().dropna()
    picked = frames["figure_1"]["case"].item()
    off = (means - means.median()).abs()
    assert np.isclose(off[picked], off.min(), rtol=0, atol=SUM_TOLERANCE)
    assert set(frames["sampling_spread"]["case"]) == {picked}


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    """Three small images of three readers, maps, and class maps with their probabilities."""
    root = tmp_path_factory.mktemp("release")
    gaze_files.write_release(root / "main")
    gaze_files.write_maps(root / "maps")
    (root / "classes").mkdir()
    for place, (image, shape) in enumerate(gaze_files.SHAPES.items()):
        rng = np.random.default_rng([5, place])
        # no class of the last image is likely: its thresholded map is that of no finding
        probs = np.array([0.1, 0.7, 0.6]) if place < 2 else np.array([0.4, 0.2, 0.1])
        np.savez(root / "classes" / f"{image}.npz", maps=rng.random((3, *shape)), probs=probs)
    return root


@pytest.fixture(scope="module")
def mixed(run, drawn_made, release, tmp_path_factory) -> Path:
    """A folder of results replaced with those of class maps, AUCs sampled."""
    out = tmp_path_factory.mktemp("mixed") / "out"
    shutil.copytree(drawn_made, out)
    given = ["--class-maps", f"gradcam_wag={release / 'classes'}", "--maps", f"am1={release / 'maps'}"]
    given += ["--overwrite", "--samples", "50", "--replicates", "2"]
    code, _, _ = run("lanfredi2021", "--raw", release / "main", *given, "-o", out)
    assert code == 0
    return out


@pytest.mark.slow
def test_class_maps_are_mixed_in_each_way_and_stand_in_the_table(mixed, release, tmp_path):
    folders = {}
    for rule in ("thresholded", "weighted", "uniform"):
        folders[rule] = tmp_path / rule
        folders[rule].mkdir()
        for image in gaze_files.SHAPES:
            with np.load(release / "classes" / f"{image}.npz") as held:
                np.save(
                    folders[rule] / f"{image}.npy",
                    mixed_map_of_classes(held["maps"], held["probs"], rule=rule),
                )
    by_hand = score_gaze(read_gaze(release / "main", maps=folders), metrics="sncc")
    table = pd.read_csv(mixed / "frames" / "table1.csv")
    rows = table[(table["method"] == "gradcam_wag") & (table["metric"] == "sncc")]
    assert list(rows["mixing"]) == list(folders)
    assert rows["estimate"].nunique() == 3
    for row in rows.itertuples():
        own = by_hand[by_hand["method"] == row.mixing]
        assert abs(row.estimate - own["score"].mean()) < SUM_TOLERANCE
    printed = pd.read_csv(mixed / "tables" / "table1.csv")
    of_gradcam = printed["Method"] == "Grad-CAM (with attention gates)"
    assert printed.loc[of_gradcam, "Mixing"].tolist() == ["Thresholded", "Weighted", "Uniform"]


@pytest.mark.parametrize("own", ["gradcam", pytest.param("am1", marks=pytest.mark.slow)])
def test_every_figure_names_methods_as_the_study_prints_them(results, release, own):
    given = ["--class-maps", f"gradcam_wag={release / 'classes'}", "--maps", f"{own}={release / 'maps'}"]
    items = results("lanfredi2021", "--raw", release / "main", *given, "--replicates", 3)
    figures = {key: item.figure for key, item in items.items() if item.figure is not None}
    assert {"table2", "sampling_spread", "means_shuffled", "center_bias_choice", "figure_1"} <= set(figures)
    for figure in figures.values():
        page = figure.draw()
        texts = " ".join(text.get_text() for text in page.findobj(Text))
        pyplot.close(page)
        assert "Grad-CAM (with attention" in texts
        assert not re.search("gradcam|am1|interobserver|convex|_", texts)


@pytest.mark.slow
def test_tables_say_which_centre_bias_and_how_many_draws(drawn_made, mixed):
    said = "sNCC and sAUC: corrected by the centre bias of all images."
    for folder in (drawn_made, mixed):
        assert said in (folder / "tables" / "table1.html").read_text()
    assert "sAUC: sampled, 50 pixels drawn on either side." in (mixed / "tables" / "table1.html").read_text()


@pytest.mark.slow
def test_sampled_areas_are_those_of_so_many_pixels(mixed):
    rows = pd.read_csv(mixed / "frames" / "scores.csv").query("metric == 'auc'")
    assert (rows["n_samples"] == 50).all()
    # 50 x 50 pairs, ties counted half
    pairs = rows["score"] * 5000
    assert np.abs(pairs - pairs.round()).max() < 5000 * SUM_TOLERANCE
    note = pd.read_csv(mixed / "outputs.csv").set_index("file").loc["frames/scores.csv", "note"]
    assert note.startswith("50 pixels drawn on either side")
    # the bias alone differs: both sides are exact
    changes = pd.read_csv(mixed / "frames" / "center_bias_choice.csv").query("metric == 'sauc'")
    drawn = score_means(mixed, "sauc")
    # draws of 50 pixels lie far from it
    assert (np.abs(changes["mean_all"].to_numpy() - drawn.to_numpy()) > 1e3 * SCORE_TOLERANCE).all()


def score_means(folder: Path, metric: str) -> pd.Series:
    """The means of the scores, in the order of the table of centre biases."""
    rows = pd.read_csv(folder / "frames" / "means_shuffled.csv").query(f"metric == '{metric}'")
    order = pd.read_csv(folder / "frames" / "center_bias_choice.csv").query(f"metric == '{metric}'")
    return order.merge(rows, on=["method", "mixing"], suffixes=("_change", ""))["estimate"]


@pytest.mark.parametrize(("given", "phases"), [([], [1]), (["--phases", "1,3"], [1, 3])])
def test_of_a_whole_release_the_phases_of_the_study_are_read_unless_others_are_asked_for(
    results, release, tmp_path, given, phases
):
    shutil.copytree(release, tmp_path / "whole")
    folder, rows = tmp_path / "whole" / "main", gaze_files.metadata_rows()
    for phase, own in ((1, rows[:6]), (3, rows[6:])):
        gaze_files.write_metadata(folder, own, phase=phase)
    scores = results("lanfredi2021", "--raw", folder, *given, "--replicates", 2)["scores"]
    # the centre bias too is of these phases only
    wanted = score_gaze(read_gaze(folder, phases=phases))
    assert scores.frame["phase"].astype(int).unique().tolist() == phases
    np.testing.assert_allclose(scores.frame["score"], wanted["score"], rtol=0, atol=SUM_TOLERANCE)
    assert scores.note.endswith("cases of phase 1" if phases == [1] else "cases of phases 1 and 3")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--readers", "1"], ["--readers", "at least 2"]),
        (["--readers", "5"], ["no score is defined", "not 5 readers"]),
        (["--samples", "0"], ["--samples", "at least 1"]),
        (["--seed", "-1", "--samples", "9"], ["--seed"]),
        (["--replicates", "0"], ["--replicates"]),
        (["--phases", "1,9"], ["metadata_phase_9.csv"]),
        (["--class-maps", "a:b:c:d=x"], ["--class-maps"]),
        (["--maps", "interobserver=x"], ["--maps"]),
        (["--maps", "am1=nowhere"], ["nowhere"]),
        (["--maps", "am1=x", "--maps", "am1=y"], ["--maps names 'am1' twice"]),
        (["--maps", "am1="], ["METHOD[:MODEL[:SEED]]=DIR"]),
        (["--lungs", "class_maps/lungs"], ["class_maps/lungs"]),
    ],
)
def test_what_cannot_be_is_one_line_that_names_the_option(run, release, tmp_path, given, said):
    code, _, error = run("lanfredi2021", "--raw", release / "main", *given, "-o", tmp_path / "out")
    assert code == 2
    assert error.count("\n") == 1
    assert all(text in error for text in said)
    assert not any(name in error for name in ("n_readers", "n_samples", "rng", "class_maps=", "phases="))
    assert not (tmp_path / "out").exists()


def recordings_by_hand(scores, n_readers=3, **options):
    """Recordings of which the scores and the labels are known."""
    labels = pd.DataFrame({"case": list("abc"), "patient": "p", "phase": 1, "n_readings": 3})
    labels["edema"] = pd.array([1, None, 0], dtype="Int64")
    labels["abnormal"] = pd.array([1, 0, 0], dtype="Int64")
    rows = with_mixing_and_subset(scores, labels)
    return Recordings(None, ScoringOptions(n_readers, **options), labels, None, rows)


def scores_by_hand(metrics=("sncc", "sauc")):
    """Scores of two methods on three images, the last of which has too few readers."""
    keys = pd.MultiIndex.from_product(
        [list("abc"), ["mine", "interobserver"], metrics], names=["case", "method", "metric"]
    )
    rows = keys.to_frame(index=False).assign(phase=1, patient="p", reader="0")
    rows["score"] = np.linspace(0.1, 0.9, len(rows))
    is_scored = rows["case"] != "c"
    rows["score"] = rows["score"].where(is_scored)
    return rows.assign(reason=np.where(is_scored, None, "not 3 readers"))


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_findings_are_counted_over_the_images_scored():
    item = majority_findings_by_image(recordings_by_hand(scores_by_hand()))
    assert item.frame["scored"].tolist() == [True, True, False]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", item.table.as_raw_html()))
    assert "Edema 1 0 1" in text
    assert "Abnormal 1 1 0" in text
    assert "Patient" not in text


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_scores_are_listed_of_all_images_with_how_they_were_made():
    item = scores_of_every_map(recordings_by_hand(scores_by_hand()))
    assert set(item.frame["case"]) == set("abc")
    assert item.note.startswith("exact AUC")
    assert "all cases of phase 1; 1 image not scored" in item.note
    some = scores_by_hand().query("case != 'c'")
    some["phase"] = np.where(some["case"] == "a", 2, 1)
    sampled = scores_of_every_map(recordings_by_hand(some, center_bias="others", n_samples=1000))
    assert (
        sampled.note == "1,000 pixels drawn on either side; centre bias of all other cases of phases 1 and 2"
    )


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_tables_without_their_metrics_are_not_made():
    shuffled = recordings_by_hand(scores_by_hand())
    plain = recordings_by_hand(scores_by_hand(("ncc", "auc")))
    assert means_maker(("ncc", "auc"))(shuffled) is None
    assert table_maker("3")(shuffled) is None
    for make in (table_maker("4"), table_2_normal_and_abnormal_images, effect_of_center_bias_choice):
        assert make(plain) is None
    made_of = means_maker(("sncc",))(shuffled)
    assert set(made_of.frame["metric"]) == {"sncc"}
    # both intervals of each mean
    assert sorted(made_of.figure.data["estimate"]) == sorted(2 * made_of.frame["estimate"].tolist())
    item = table_maker("4")(shuffled)
    assert item.frame["method"].tolist() == ["interobserver"] * 2
    assert item.frame["mixing"].isna().all()
