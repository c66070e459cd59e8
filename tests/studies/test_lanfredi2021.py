"""The study's printed numbers come out of its workbooks, and a number that does not is named."""

import ast
import importlib.util
import io
import shutil
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from salstats import datasets
from salstats.readers.lanfredi2021 import CLASSIFICATION, METHODS, WORKBOOKS
from salstats.studies.lanfredi2021.printed import rounded

ROOT = Path(__file__).resolve().parents[2]
VALUES = ("estimate", "conf_low", "conf_high")
KEYS = ["metric", "mixing", "method"]
# the oracle's manifest asks for 1e-9; sums of 2275 numbers in another order differ by far less
R_TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("lanfredi2021", ROOT / "analyses" / "lanfredi2021.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def data(shared) -> Path:
    return shared / "data" / "lanfredi2021"


@pytest.fixture
def copied(data, tmp_path) -> Path:
    """A copy of the workbooks that a test may change."""
    folder = tmp_path / "workbooks"
    folder.mkdir()
    for name in WORKBOOKS:
        shutil.copyfile(data / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def made(script, data, tmp_path_factory):
    """Exit code, the two tables and what was printed."""
    out = tmp_path_factory.getbasetemp() / "lanfredi2021" / "out"
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(printed):
        code = script.main(["--data", str(data), "-o", str(out)])
    return code, pd.read_csv(out / "tables.csv"), pd.read_csv(out / "design.csv"), printed.getvalue()


@pytest.fixture(scope="module")
def printed(made, tmp_path_factory):
    """The folder with the tables in the study's layout."""
    return tmp_path_factory.getbasetemp() / "lanfredi2021" / "out"


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
    return rows.merge(oracle, on=KEYS, how="left", validate="many_to_one", suffixes=("", "_r"))


def test_all_108_printed_numbers_are_reproduced(made, shared):
    code, tables, _, printed = made
    assert code == 0
    assert printed.splitlines()[0] == "36 of 36 printed rows are equal, to the printed digit."
    assert len(printed.splitlines()) == 2
    assert tables["equal"].all()
    # compared here with the shared files and by another route than the script's: text with 3 decimals
    published = pd.read_csv(shared / "data" / "published" / "lanfredi2021_tables.csv", dtype="str")
    auc = pd.read_csv(shared / "data" / "published" / "lanfredi2021_classification_auc.csv", dtype="str")
    expected = np.concatenate(
        [
            published[["mean", "conf_low", "conf_high"]].to_numpy(),
            auc[["auc_mean", "conf_low", "conf_high"]].to_numpy(),
        ]
    )
    found = tables[list(VALUES)].to_numpy()
    assert expected.shape == found.shape == (36, 3)
    # half a unit of the third decimal; no value lies closer to a boundary than 5e-6
    assert np.abs(expected.astype(float) - found).max() < 5e-4
    assert (expected.astype(float) == tables[[f"printed_{v}" for v in VALUES]].to_numpy()).all()


def test_rows_stand_in_printed_order_with_the_number_of_images(made):
    tables = made[1]
    published = datasets.load_published("lanfredi2021_tables")
    for column in ("subset", "method", "metric"):
        assert list(tables[column][:34]) == list(published[column])
    assert list(tables["n_units"]) == [*published["n_images"], 5, 5]


def test_unrounded_values_equal_r(made, oracle):
    rows = joint_rows(made[1], oracle)
    assert len(rows) == 26
    for ours, theirs in (("estimate", "mean"), ("conf_low", "paper_lo"), ("conf_high", "paper_hi")):
        assert np.abs(rows[ours] - rows[theirs]).max() < R_TOLERANCE


def test_classification_auc_equals_r(made, r_expected):
    oracle = r_expected("paper_auc_classification").set_index("model")
    rows = made[1].query("metric == 'auroc'").set_index("method")
    for ours, theirs in (("woag", "sononet"), ("wag", "ag_sononet")):
        expected = oracle.loc[theirs, ["mean", "lo_196", "hi_196"]].to_numpy(dtype=float)
        assert np.abs(rows.loc[ours, list(VALUES)].to_numpy(dtype=float) - expected).max() < R_TOLERANCE


def test_intervals_with_cases_as_clusters_equal_r(made, oracle):
    rows = joint_rows(made[2], oracle)
    assert len(rows) == 26
    pairs = {"estimate": "mean", "std_error": "cl_hc1_se", "conf_low": "cl_tG1_lo", "conf_high": "cl_tG1_hi"}
    for ours, theirs in pairs.items():
        assert np.abs(rows[ours] - rows[theirs]).max() < R_TOLERANCE
    assert (rows["df"] == rows["n_cases"] - 1).all()
    assert (made[2]["unit"] == "case").all()


def test_intervals_of_table_2_are_those_of_its_case_means(made, r_data):
    from scipy import stats

    means = r_data("gaze_nabn_case_means").assign(method=lambda d: d["source"].map(METHODS))
    rows = made[2][made[2]["table"] == 2]
    assert len(rows) == 8
    for _, row in rows.iterrows():
        flag = int(row["subset"] == "abnormal")
        chosen = (means["metric"] == row["metric"]) & (means["method"] == row["method"])
        cases = means.loc[chosen & (means["abnormal_majority"] == flag), "score"]
        # balanced: the clustered mean is the mean of the case means
        limits = stats.t.interval(0.95, len(cases) - 1, cases.mean(), stats.sem(cases))
        assert np.abs(np.subtract(limits, row[["conf_low", "conf_high"]].to_numpy(float))).max() < R_TOLERANCE


def test_the_sentence_counts_what_design_csv_shows(made):
    _, _, design, printed = made
    sentence = printed.splitlines()[-1]
    narrower = (design["conf_high"] - design["conf_low"]) < (
        design["published_conf_high"] - design["published_conf_low"]
    )
    assert f"{narrower.sum()} of {len(design)} intervals are narrower" in sentence
    chance = design["metric"].map({"ncc": 0, "sncc": 0, "auc": 0.5, "sauc": 0.5})
    inside = (design["conf_low"] <= chance) & (chance <= design["conf_high"])
    published = (design["published_conf_low"] <= chance) & (chance <= design["published_conf_high"])
    turned = design[inside != published]
    assert f"changes in {len(turned)}:" in sentence
    assert all(f"table {row.table}, {row.method}, {row.metric}" in sentence for row in turned.itertuples())


def test_a_printed_number_that_differs_is_named_and_the_exit_code_says_so(
    script, data, tmp_path, capsys, monkeypatch
):
    true = datasets.load_published

    def tampered(name):
        table = true(name)
        if name == "lanfredi2021_tables":
            table.loc[12, "conf_high"] = 0.056
        return table

    monkeypatch.setattr(datasets, "load_published", tampered)
    assert script.main(["--data", str(data), "-o", str(tmp_path)]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert (
        "table 1, gradcam_wag, uniform, sncc prints 0.029 [0.002, 0.056], but the workbook gives" in errors[0]
    )
    tables = pd.read_csv(tmp_path / "tables.csv")
    assert list(np.flatnonzero(~tables["equal"])) == [12]


def test_a_workbook_that_differs_is_named(script, copied, tmp_path, capsys):
    book = openpyxl.load_workbook(copied / CLASSIFICATION, data_only=True)
    sheet = book["results_all_models"]
    column = [cell.value for cell in sheet[1]].index("auc") + 1
    sheet.cell(row=2, column=column).value = 0.9
    book.save(copied / CLASSIFICATION)
    book.close()
    assert script.main(["--data", str(copied), "-o", str(tmp_path / "out")]) == 1
    assert "table A, woag, auroc prints 0.774 [0.771, 0.776]" in capsys.readouterr().err


def test_a_printed_row_without_scores_is_not_equal(script, data, tmp_path, capsys, monkeypatch):
    table = datasets.load_published("lanfredi2021_classification_auc").replace({"model": {"wag": "other"}})
    true = datasets.load_published
    monkeypatch.setattr(datasets, "load_published", lambda n: table if "auc" in n else true(n))
    assert script.main(["--data", str(data), "-o", str(tmp_path)]) == 1
    assert "table A, other, auroc prints 0.769" in capsys.readouterr().err


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
    assert bold[0].count("textbf") == 2
    assert "0.529" in bold[0]


def test_missing_workbooks_are_one_line_exit_2_and_no_output(script, tmp_path, capsys):
    assert script.main(["--data", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "fetch_lanfredi2021()" in error
    assert not (tmp_path / "out").exists()


def test_an_existing_output_is_kept_unless_overwrite_is_asked_for(script, data, tmp_path, capsys):
    (tmp_path / "design.csv").write_text("mine")
    arguments = ["--data", str(data), "-o", str(tmp_path)]
    assert script.main(arguments) == 2
    assert "the file exists" in capsys.readouterr().err
    assert (tmp_path / "design.csv").read_text() == "mine"
    assert not (tmp_path / "tables.csv").exists()
    assert script.main([*arguments, "--overwrite"]) == 0
    assert (tmp_path / "design.csv").read_text() != "mine"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0005, "0.001"), (-0.0005, "-0.001"), (0.5095, "0.510"), (0.50949999, "0.509"), (-0.1345, "-0.135")],
)
def test_rounding_is_half_away_from_zero(value, text):
    assert rounded(value) == Decimal(text)


def test_help_shows_an_example_of_both_inputs(script, capsys):
    with pytest.raises(SystemExit) as stopped:
        script.main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "Example: python analyses/lanfredi2021.py --data" in said
    assert "Example: python analyses/lanfredi2021.py --raw" in said


@pytest.mark.parametrize("given", [[], ["--data", "a", "--raw", "b"]])
def test_neither_or_both_inputs_are_one_line_and_exit_2(script, tmp_path, capsys, given):
    with pytest.raises(SystemExit) as stopped:
        script.main([*given, "-o", str(tmp_path / "out")])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--data" in error
    assert "--raw" in error
    assert not (tmp_path / "out").exists()


def test_the_script_holds_no_statistic_of_its_own():
    tree = ast.parse((ROOT / "analyses" / "lanfredi2021.py").read_text())
    imported = {n.names[0].name for n in ast.walk(tree) if isinstance(n, ast.Import)}
    assert not imported & {"numpy", "pandas", "scipy"}
