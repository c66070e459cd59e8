"""The study's printed numbers come out of its scores, and a number that does not is named."""

from itertools import takewhile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats import datasets
from salstats.errors import ColumnError, SalstatsError, SalstatsWarning
from salstats.readers.lanfredi2021 import METHODS, WORKBOOKS
from salstats.studies.lanfredi2021 import SCORE_ITEMS
from salstats.studies.lanfredi2021.layouts import add_width_ratio_and_excludes_chance_columns
from salstats.studies.lanfredi2021.printed_tables import (
    embedded_scores,
    interval_widths_and_changed_conclusions_note,
    printed_numbers_of_table,
    printed_table_rows,
    read_workbooks,
    scores_of_table,
    split_scores_by_printed_table,
    table_means_with_study_interval,
)

VALUES = ("estimate", "conf_low", "conf_high")
MEAN_KEYS = ["metric", "mixing", "method"]
# the oracle's manifest asks for 1e-9; sums of 2275 numbers in another order differ by far less
R_TOLERANCE = 1e-12
ROUNDING = 1e-12


@pytest.fixture(scope="session")
def data(shared) -> Path:
    return shared / "data" / "lanfredi2021"


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """The folder made of the embedded scores, which are those of the workbooks, and what was printed."""
    out = tmp_path_factory.mktemp("lanfredi2021") / "out"
    code, said, error = run("lanfredi2021", "-o", out)
    assert (code, error) == (0, "")
    return out, said


@pytest.fixture(scope="module")
def tables(made):
    """The printed rows of Tables 1 to 4 with what the workbooks give."""
    return pd.concat([pd.read_csv(made[0] / "frames" / f"table{n}.csv") for n in "1234"], ignore_index=True)


@pytest.fixture(scope="module")
def design(made):
    return pd.read_csv(made[0] / "frames" / "design.csv")


@pytest.fixture(scope="module")
def printed(made):
    """The folder with the tables in the study's layout."""
    return made[0] / "tables"


def items_named_by(caught):
    """The items that warnings of the package name, by number or title."""
    names = set()
    for warning in caught:
        if isinstance(warning.message, SalstatsWarning):
            parts = map(str, warning.message.message.parts)
            names.update(takewhile(lambda part: not part.startswith(": "), parts))
    return names - {"; "}


def read_cells(path: Path, sheet: str) -> dict[str, object]:
    """The values of a sheet by address; the other sheets, of thousands of rows, are not read."""
    book = openpyxl.load_workbook(path, data_only=True, read_only=True)
    cells = {c.coordinate: c.value for row in book[sheet].iter_rows() for c in row if c.value is not None}
    book.close()
    return cells


def as_the_workbook(cells: pd.DataFrame) -> list[list[str]]:
    """Our cells as the workbook's TEXT writes them: a hyphen for the minus, no space after a comma."""
    return [[text.replace("\u2212", "-").replace(", ", ",") for text in row] for row in cells.to_numpy()]


@pytest.fixture(scope="session")
def oracle(r_expected) -> pd.DataFrame:
    """R's means, the study's limits and the limits with cases as clusters."""
    return r_expected("real_ci_methods").assign(method=lambda d: d["source"].map(METHODS))


def joint_rows(rows: pd.DataFrame, oracle: pd.DataFrame) -> pd.DataFrame:
    """The rows of Tables 1, 3 and 4 beside R's."""
    rows = rows[rows["table"].astype("str").isin(["1", "3", "4"])]
    rows = rows.assign(mixing=rows["mixing"].fillna("thresholded"))
    return rows.merge(oracle, on=MEAN_KEYS, how="left", validate="many_to_one", suffixes=("", "_r"))


def test_all_108_printed_numbers_are_reproduced(made, tables, shared):
    out, said = made
    assert "36 of 36 printed rows are equal" in said
    assert pd.read_csv(out / "printed.csv")["equal"].all()
    # compared here with the shared files and by another route: half a unit of the third decimal
    published = pd.read_csv(shared / "data" / "published" / "lanfredi2021_tables.csv")
    auc = pd.read_csv(shared / "data" / "published" / "lanfredi2021_classification_auc.csv")
    networks = pd.read_csv(out / "frames" / "networks.csv").set_index("model").loc[auc["model"]]
    expected = np.concatenate(
        [published[["mean", "conf_low", "conf_high"]], auc[["auc_mean", "conf_low", "conf_high"]]]
    )
    found = np.concatenate([tables[list(VALUES)], networks[list(VALUES)]])
    assert expected.shape == found.shape == (36, 3)
    # no value lies closer to a boundary than 5e-6
    assert np.abs(expected - found).max() < 5e-4


@pytest.mark.parametrize("name", ["printed", "design"])
def test_the_page_of_the_study_shows_what_a_run_writes(made, name):
    written = made[0] / ("printed.csv" if name == "printed" else "tables/design.csv")
    shown = Path(__file__).resolve().parents[3] / "docs" / "papers" / f"lanfredi2021_{name}.csv"
    assert written.read_text(encoding="utf-8-sig") == shown.read_text(encoding="utf-8")


def test_unrounded_values_equal_r(tables, oracle):
    rows = joint_rows(tables, oracle)
    assert len(rows) == 26
    for ours, theirs in (("estimate", "mean"), ("conf_low", "paper_lo"), ("conf_high", "paper_hi")):
        assert np.abs(rows[ours] - rows[theirs]).max() < R_TOLERANCE


def test_classification_auc_equals_r(made, r_expected):
    oracle = r_expected("paper_auc_classification").set_index("model")
    rows = pd.read_csv(made[0] / "frames" / "networks.csv").set_index("model")
    for ours, theirs in (("woag", "sononet"), ("wag", "ag_sononet")):
        expected = oracle.loc[theirs, ["mean", "lo_196", "hi_196"]].to_numpy(dtype=float)
        assert np.abs(rows.loc[ours, list(VALUES)].to_numpy(dtype=float) - expected).max() < R_TOLERANCE


def test_intervals_with_cases_as_clusters_equal_r(design, oracle):
    rows = joint_rows(design, oracle)
    assert len(rows) == 26
    pairs = {"estimate": "mean", "std_error": "cl_hc1_se", "conf_low": "cl_tG1_lo", "conf_high": "cl_tG1_hi"}
    for ours, theirs in pairs.items():
        assert np.abs(rows[ours] - rows[theirs]).max() < R_TOLERANCE
    assert (rows["df"] == rows["n_cases"] - 1).all()
    assert (design["unit"] == "case").all()


def test_intervals_of_table_2_are_those_of_its_case_means(design, r_data):
    means = r_data("gaze_nabn_case_means").assign(method=lambda d: d["source"].map(METHODS))
    rows = design[design["table"] == 2]
    assert len(rows) == 8
    for _, row in rows.iterrows():
        flag = int(row["subset"] == "abnormal")
        chosen = (means["metric"] == row["metric"]) & (means["method"] == row["method"])
        cases = means.loc[chosen & (means["abnormal_majority"] == flag), "score"]
        # balanced: the clustered mean is the mean of the case means
        limits = stats.t.interval(0.95, len(cases) - 1, cases.mean(), stats.sem(cases))
        assert np.abs(np.subtract(limits, row[["conf_low", "conf_high"]].to_numpy(float))).max() < R_TOLERANCE


def test_a_printed_number_that_differs_is_named_and_the_exit_code_says_so(run, tmp_path, monkeypatch):
    true = datasets.load_published

    def tampered(name):
        table = true(name)
        if name == "lanfredi2021_tables":
            table.loc[12, "conf_high"] = 0.056
        return table

    monkeypatch.setattr(datasets, "load_published", tampered)
    code, said, error = run("lanfredi2021", "-o", tmp_path / "out")
    assert code == 1
    assert error.count("\n") == 1
    assert "Table 1, gradcam_wag, uniform, sncc: printed 0.029, 0.002, 0.056" in error
    assert "35 of 36" in said


def test_a_printed_row_without_scores_is_not_equal(results, monkeypatch):
    made = results("lanfredi2021", only=("networks",))["networks"]
    (printed,) = (item.printed for item in SCORE_ITEMS if item.key == "networks")
    assert printed.compare(made.frame)["equal"].all()
    table = datasets.load_published("lanfredi2021_classification_auc").replace({"model": {"wag": "other"}})
    monkeypatch.setattr(datasets, "load_published", lambda _: table)
    rows = printed.compare(made.frame)
    assert rows.loc[~rows["equal"], "key"].tolist() == ["other"]


def test_table_1_reads_as_the_study_laid_it_out_itself(printed, data):
    # the workbook's own sheet for LaTeX: label, mixing, NCC, AUC, sNCC, sAUC in columns C, E, G, I, K, M
    sheet = read_cells(data / WORKBOOKS[0], "latex_table")
    rows = [r for r in range(4, 14) if sheet.get(f"A{r}") != "convex"]
    found = pd.read_csv(printed / "table1.csv")
    assert as_the_workbook(found.iloc[:, 2:]) == [[sheet[f"{c}{r}"] for c in "KM"] for r in rows]
    mixing = [{"(Baseline)": "—", "-": "—"}.get(sheet[f"E{r}"], sheet[f"E{r}"]) for r in rows]
    assert found["Mixing"].tolist() == mixing
    for number, columns in (("3", "GI"), ("4", "KM")):
        found = pd.read_csv(printed / f"table{number}.csv")
        expected = [[sheet[f"{c}{r}"] for c in columns] for r in (4, 5)]
        assert as_the_workbook(found.iloc[:, 1:]) == expected


def test_table_2_reads_as_the_study_laid_it_out_itself(printed, data):
    (name,) = (w for w in WORKBOOKS if "normal_abnormal" in w)
    sheet = read_cells(data / name, "Table")
    found = pd.read_csv(printed / "table2.csv")
    assert as_the_workbook(found.iloc[:, 2:]) == [[sheet[f"{c}{r}"] for c in "CG"] for r in range(15, 19)]
    rows = [f"{metric} - {subset}" for metric, subset in found.iloc[:, :2].to_numpy()]
    assert rows == [sheet[f"A{r}"] for r in range(15, 19)]


def test_the_best_saliency_map_of_each_metric_is_bold_and_the_baseline_is_not(printed):
    tex = (printed / "table1.tex").read_text()
    bold = [line for line in tex.splitlines() if "textbf" in line and "&" in line]
    assert len(bold) == 1
    # 0.558 of the baseline is larger than 0.529
    assert "Uniform" in bold[0]
    assert "textbf{0.029" in bold[0]
    assert "textbf{0.529" in bold[0]


def test_scores_read_from_workbooks_are_those_that_come_with_the_package(data):
    read, embedded = read_workbooks(data), embedded_scores()
    for name in ("table_2_scores", "classification_aucs"):
        pd.testing.assert_frame_equal(getattr(read, name), getattr(embedded, name))


def test_missing_workbooks_are_one_line_exit_2_and_no_output(run, tmp_path):
    code, _, error = run("lanfredi2021", "--data", tmp_path, "-o", tmp_path / "out")
    assert code == 2
    assert error.count("\n") == 1
    assert "fetch_lanfredi2021()" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("given", [["--data", "a", "--raw", "b"], ["--scores", "a.csv", "--raw", "b"]])
def test_two_inputs_are_one_line_and_exit_2(run, tmp_path, given):
    pd.DataFrame({"case": ["1"], "method": ["a"], "metric": ["ncc"], "score": [0.5]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    paths = [tmp_path / text if text == "a.csv" else text for text in given]
    code, _, error = run("lanfredi2021", *paths, "-o", tmp_path / "out")
    assert code == 2
    assert error.count("\n") == 1
    assert given[0] in error
    assert "--raw" in error


@pytest.mark.slow
def test_the_workbooks_give_the_tables_made_without_an_option(run, made, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said, error = run("lanfredi2021", "--data", data)
    assert (code, error) == (0, "")
    assert "36 of 36 printed rows are equal" in said
    for name in ("table1", "table2", "table3", "table4", "networks", "design", "readers"):
        own = tmp_path / "salstats-lanfredi2021" / "frames" / f"{name}.csv"
        assert own.read_bytes() == (made[0] / "frames" / f"{name}.csv").read_bytes()


@pytest.fixture(scope="module")
def embedded():
    """The frames of the embedded scores."""
    return ss.reproduce("lanfredi2021")


def same_tables(found, expected, keys):
    for key in keys:
        pd.testing.assert_frame_equal(found[key], expected[key])


@pytest.mark.filterwarnings("ignore:Appendix A")
@pytest.mark.slow
def test_scores_give_the_same_tables_from_workbooks_or_a_file(embedded, data, tmp_path):
    ss.datasets.load_lanfredi2021(sheet=None).to_parquet(tmp_path / "scores.parquet")
    keys = ("table1", "table2", "table3", "table4", "design", "readers")
    for given in (tmp_path / "scores.parquet", [data / name for name in WORKBOOKS[:2]]):
        found = ss.reproduce("lanfredi2021", scores=given)
        same_tables(found, embedded, keys)
        assert len(found["printed"]) == 34
        assert found["printed"]["equal"].all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Appendix A")
def test_methods_called_as_score_gaze_calls_them_give_the_same_means(embedded):
    scores = ss.datasets.load_lanfredi2021(sheet=None).query("dataset != 'normal_abnormal'")
    mixed = scores["method"].str.startswith("gradcam")
    named = scores.assign(
        method=scores["method"].where(~mixed, scores["method"] + "_" + scores["mixing"]),
        mixing=scores["mixing"].where(mixed),
    )
    named = named[mixed | (scores["dataset"] == "thresholded")].drop(columns=["dataset", "abnormal"])
    with pytest.warns(SalstatsWarning) as caught:
        found = ss.reproduce("lanfredi2021", scores=named)
    assert "table2" not in found
    assert items_named_by(caught) >= {"Table 2"}
    same = embedded["table1"].drop(columns="sheet")
    pd.testing.assert_frame_equal(found["table1"].drop(columns="sheet"), same)


@pytest.mark.slow
def test_one_sheet_makes_what_it_allows_and_says_what_it_lacks(embedded):
    scores = ss.datasets.load_lanfredi2021(sheet="uniform")
    with pytest.warns(SalstatsWarning) as caught:
        found = ss.reproduce("lanfredi2021", scores=scores)
    lacks = " ".join(str(warning.message) for warning in caught)
    for need in ("thresholded mixing", "weighted mixing", "column abnormal", "AUC of the networks"):
        assert need in lacks
    assert list(found) == ["table1", "table3", "table4", "design", "readers"]
    uniform = embedded["table1"].query("mixing == 'uniform'").reset_index(drop=True)
    one_sheet = found["table1"].query("mixing == 'uniform'").reset_index(drop=True)
    # only a whole table is compared with print
    printed = [name for name in uniform if name.startswith("printed")]
    pd.testing.assert_frame_equal(one_sheet, uniform.drop(columns=printed))


@pytest.mark.filterwarnings("ignore:Table|Appendix")
@pytest.mark.parametrize("column", ["dataset", pytest.param("mixing", marks=pytest.mark.slow)])
def test_an_empty_column_of_sheets_is_as_none(column):
    scores = ss.datasets.load_lanfredi2021(sheet="uniform")
    scores = scores.drop(columns=["dataset", "mixing"], errors="ignore")
    scores = scores[scores["method"].isin(["interobserver", "convex", "gradcam_wag"])]
    expected = ss.reproduce("lanfredi2021", scores=scores)
    found = ss.reproduce("lanfredi2021", scores=scores.assign(**{column: None}))
    assert set(expected["table1"]["method"]) >= {"interobserver", "gradcam_wag"}
    same_tables(found, expected, expected)


@pytest.mark.slow
def test_other_scores_of_fewer_images_are_not_compared_with_print():
    scores = ss.datasets.load_lanfredi2021(sheet=None)
    cases = scores["case"].drop_duplicates().iloc[::2]
    with pytest.warns(SalstatsWarning) as caught:
        found = ss.reproduce("lanfredi2021", scores=scores[scores["case"].isin(cases)])
    assert items_named_by(caught) == {"Appendix A"}
    assert "printed" not in found
    # by another route: pandas alone
    rows = scores[scores["case"].isin(cases) & (scores["dataset"] == "thresholded")]
    rows = rows[(rows["method"] == "convex") & (rows["metric"] == "ncc")]
    half = 1.96 * rows["score"].std() / rows["case"].nunique() ** 0.5
    row = found["table3"].query("method == 'convex' and metric == 'ncc'").iloc[0]
    expected = [rows["score"].mean() - half, rows["score"].mean() + half]
    np.testing.assert_allclose(row[["conf_low", "conf_high"]].to_numpy(float), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Table|Appendix")
def test_what_needs_the_interobserver_scores_is_named_without_them():
    scores = ss.datasets.load_lanfredi2021().query("method != 'interobserver' and metric == 'sncc'")
    with pytest.warns(SalstatsWarning) as caught:
        found = ss.reproduce("lanfredi2021", scores=scores)
    assert items_named_by(caught) >= {"Intervals for readers, or networks, and cases in general"}
    assert list(found) == ["table1", "table4", "design"]


@pytest.mark.filterwarnings("ignore:.*iou .* lies outside its range")
@pytest.mark.parametrize(
    ("change", "error", "fields"),
    [
        ({"metric": "iou"}, ColumnError, {"column": "metric", "choices": ("sncc", "sauc", "ncc", "auc")}),
        ({"dataset": lambda d: d["seed"]}, SalstatsError, {"column": "dataset"}),
    ],
)
def test_scores_of_another_kind_are_named(change, error, fields):
    scores = ss.datasets.load_lanfredi2021().query("metric == 'ncc' and method == 'gradcam_wag'")
    with raises(error, **fields):
        ss.reproduce("lanfredi2021", scores=scores.assign(**change))


def make_rows():
    """An interval that becomes wider and takes chance in, and one that becomes narrower."""
    return pd.DataFrame(
        {
            "table": "1", "subset": "all", "method": ["a", "b"], "mixing": None, "metric": ["sncc", "sauc"],
            "published_conf_low": [0.1, 0.4], "published_conf_high": [0.3, 0.6],
            "conf_low": [-0.1, 0.45], "conf_high": [0.5, 0.55],
        }
    )  # fmt: skip


def test_what_changes_counts_narrower_intervals_and_names_the_rows_that_turn():
    compared = add_width_ratio_and_excludes_chance_columns(make_rows())
    said = interval_widths_and_changed_conclusions_note(compared)
    assert "1 of 2 intervals are narrower" in said
    assert said.endswith("changes in 1: Table 1, a, sNCC")
    same = add_width_ratio_and_excludes_chance_columns(make_rows().iloc[1:])
    assert interval_widths_and_changed_conclusions_note(same).endswith("changes in 0: none")


def test_intervals_of_networks_and_cases_in_general_equal_r(made, r_expected):
    """Obuchowski and Rockette's analysis of one method, random readers and cases."""
    rows = pd.read_csv(made[0] / "frames" / "readers.csv")
    single = r_expected("mrmc_single").query("analysis == 'RRRC'")
    for metric in ("sncc", "sauc"):
        expected = single[single["set"] == f"real_mixing_{metric}"].set_index("modality")
        own = rows[(rows["method"] == "gradcam_wag") & (rows["metric"] == metric) & (rows["table"] == 1)]
        assert len(own) == len(expected) == 3
        theirs = expected.loc[own["mixing"], ["se", "df", "lo", "hi"]].to_numpy()
        ours = own[[f"{c}_of_networks" for c in ("std_error", "df", "conf_low", "conf_high")]].to_numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_intervals_of_readers_and_cases_in_general_equal_r(made, r_expected):
    rows = pd.read_csv(made[0] / "frames" / "readers.csv")
    expected = r_expected("mrmc_single").query("analysis == 'RRRC' and set == 'real_io_ag_readers'")
    own = rows[(rows["metric"] == "sncc") & (rows["table"] == 1) & (rows["mixing"] == "uniform")]
    theirs = expected.loc[expected["modality"] == "ag", ["estimate", "se", "df"]].to_numpy()
    ours = own.loc[own["method"] == "gradcam_wag", ["estimate", "std_error", "df"]].to_numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert rows["inference_to"].eq("readers and cases").all()
    without = rows["conf_low_of_networks"].isna()
    assert without.equals(rows["method"].isin(["interobserver", "convex"]))


def sheet_scores(sheet="uniform", methods=("interobserver", "gradcam_wag"), **columns):
    """A score of each method on two images."""
    rows = pd.DataFrame({"method": methods}).merge(pd.DataFrame({"case": ["i", "j"]}), how="cross")
    return rows.assign(metric="sncc", score=np.arange(len(rows)) / 10, dataset=sheet, **columns)


def test_a_sheet_names_the_mixing_of_its_scores_but_not_of_the_baselines():
    images = split_scores_by_printed_table(sheet_scores()).table_1_3_4_scores
    assert dict(zip(images["method"], images["mixing"], strict=True)) == {
        "interobserver": "", "gradcam_wag": "uniform"
    }  # fmt: skip
    assert set(images["sheet"]) == {"uniform"}
    assert set(images["subset"]) == {"all"}
    # another data set names no mixing
    other = split_scores_by_printed_table(sheet_scores("mine")).table_1_3_4_scores
    assert set(other["mixing"]) == {"", "as given"}
    assert set(other["sheet"]) == {"mine"}
    without = sheet_scores().drop(columns="dataset")
    assert set(split_scores_by_printed_table(without).table_1_3_4_scores["sheet"]) == {"as given"}
    assert set(
        split_scores_by_printed_table(without.assign(mixing="weighted")).table_1_3_4_scores["sheet"]
    ) == {"weighted"}


def test_images_with_a_label_are_those_of_table_2_and_the_others_those_of_the_other_tables():
    scores = sheet_scores(abnormal=[1, None, 0, None])
    study = split_scores_by_printed_table(scores)
    assert study.table_1_3_4_scores["case"].tolist() == ["j", "j"]
    assert study.table_2_scores["subset"].tolist() == ["abnormal", "normal"]
    # where all images have a label, all are in both
    all_labelled = split_scores_by_printed_table(sheet_scores(abnormal=1))
    assert len(all_labelled.table_1_3_4_scores) == len(all_labelled.table_2_scores) == 4
    assert split_scores_by_printed_table(sheet_scores()).table_2_scores.empty


def test_a_mixing_is_of_one_sheet():
    two = pd.concat([sheet_scores("mine"), sheet_scores("yours")], ignore_index=True)
    with raises(SalstatsError, column="dataset"):
        split_scores_by_printed_table(two)
    # in the sheets of the study each mixing has its own
    sheets = pd.concat([sheet_scores("weighted"), sheet_scores("thresholded")], ignore_index=True)
    study = split_scores_by_printed_table(sheets)
    rows = scores_of_table(study, "1")
    # every sheet repeats the baselines, of which those of the study's first sheet count
    assert rows.groupby("method")["sheet"].agg(set).to_dict() == {
        "interobserver": {"thresholded"}, "gradcam_wag": {"weighted", "thresholded"}
    }  # fmt: skip


def test_means_of_a_table_have_the_studys_interval():
    rows = table_means_with_study_interval(split_scores_by_printed_table(sheet_scores()), "1")
    assert rows["method"].tolist() == ["interobserver", "gradcam_wag"]
    assert set(rows["table"]) == {"1"}
    # two images with 0.2 and 0.3: SD .1 / sqrt 2 over sqrt 2 images
    row = rows.iloc[1]
    half_width = 1.96 * 0.05
    assert row[["estimate", "conf_low", "conf_high"]].tolist() == pytest.approx(
        [0.25, 0.25 - half_width, 0.25 + half_width]
    )
    assert (row["mixing"], row["n_units"], row["unit"]) == ("uniform", 2, "case")
    assert rows["mixing"].isna().tolist() == [True, False]


def test_print_is_of_the_sheet_that_each_row_was_made_from():
    rows = printed_table_rows()
    assert set(rows.loc[rows["table"] == "2", "sheet"]) == {"normal_abnormal"}
    others = rows[rows["table"] != "2"]
    assert (others["sheet"] == others["mixing"].fillna("thresholded")).all()
    assert len(printed_table_rows("4")) == 4


def test_print_is_compared_with_whole_tables_of_its_sheets_and_images():
    printed = printed_numbers_of_table("4")
    frame = printed.rows().assign(unit="case")
    frame["n_units"] = frame["n_images"]
    frame = frame.drop(columns="n_images")
    assert printed.applies(frame)
    assert printed.applies(frame.assign(sheet="as given"))
    assert not printed.applies(frame.assign(sheet="uniform"))
    assert not printed.applies(frame.iloc[1:])
    assert not printed.applies(frame.assign(n_units=frame["n_units"] - 1))
    assert printed.compare(frame)["equal"].all()
