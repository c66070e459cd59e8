"""One scores frame from files of every shape."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError, Setting, ValueRangeError
from salstats.frames import IDENTIFIER_COLUMNS, check_scores

HEADER = "case,task,method,metric,score"
#: Names that pandas would read as missing, as numbers, truth values or dates.
TRICKY = [
    "007",
    "NA",
    "None",
    "nan",
    "null",
    "1e5",
    "1_000",
    "True",
    "0x10",
    "inf",
    "2020-01-02",
    "-1",
    "+1",
    "1.50",
]


def long_text(*rows, extra=""):
    """A long file of some rows."""
    return "\n".join([HEADER + extra, *rows, ""])


# long


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "xlsx"])
def test_identifiers_stay_text_in_every_format(tmp_path, ending):
    columns = {name: TRICKY for name in IDENTIFIER_COLUMNS if name != "dataset"}
    frame = pd.DataFrame({**columns, "score": np.linspace(0, 1, len(TRICKY))})
    file = tmp_path / f"scores.{ending}"
    if ending == "tsv":
        frame.to_csv(file, sep="\t", index=False)
    else:
        ss.write_frame(frame, file)
    read = ss.read_scores(file)
    for name in columns:
        assert str(read[name].dtype) == "str"
        assert read[name].tolist() == TRICKY
    assert read["score"].dtype == np.float64
    assert np.array_equal(read["score"], frame["score"])


def test_a_scores_frame_is_valid_plain_and_in_the_order_of_the_contract(text_file):
    frame = ss.read_scores(text_file("prob,score,metric,patient,case,method\n0.25,0.5,iou,p1,1,g\n"))
    assert frame.columns.tolist() == ["case", "method", "metric", "score", "prob", "patient"]
    assert frame.attrs == {}
    assert isinstance(frame.index, pd.RangeIndex)
    assert check_scores(frame) is frame


def test_a_missing_score_stays_and_is_counted(text_file):
    cells = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A", " NA "]
    file = text_file(long_text("x,a,g,iou,0.5", *(f"{i},a,g,iou,{cell}" for i, cell in enumerate(cells))))
    frame = ss.read_scores(file)
    assert frame["score"].isna().sum() == len(cells)
    summary = ss.describe(frame)
    assert summary["n"].tolist() == [1]
    assert summary["n_missing"].tolist() == [len(cells)]


def test_na_strings_are_an_option_and_never_touch_identifiers(text_file):
    file = text_file(long_text("-,.,-,.,-", "1,a,-,.,.", "2,a,-,.,", "3,a,-,.,0.5"))
    frame = ss.read_scores(file, na=["-", "."])
    assert frame["score"].isna().tolist() == [True, True, True, False]
    assert frame.iloc[0, :4].tolist() == ["-", ".", "-", "."]
    assert ss.read_scores(text_file(long_text("1,a,g,iou,.")), na=".")["score"].isna().all()
    # the texts of a missing cell
    with raises(ColumnError, option="na", column="score", rows=(0,), value="NA", match="'', '-';"):
        ss.read_scores(text_file(long_text("1,a,g,iou,NA")), na=["-"])


@pytest.mark.parametrize(
    ("cell", "fields"),
    [
        *((cell, {"option": "na"}) for cell in ["abc", '"1,234.5"', "1_000", "−0.3", "1 000"]),
        ("35%", {"option": "scale", "hint": Setting("scale", 0.01)}),
        ('"0,5"', {"option": None}),
        *(
            (cell, {"option": None, "hint": "an undefined score is an empty cell"})
            for cell in ["-inf", "1e400"]
        ),
    ],
)
def test_a_score_that_is_no_finite_number_is_named_with_file_row_and_column(text_file, cell, fields):
    file = text_file(long_text("1,a,g,iou,0.5", f"2,a,g,iou,{cell}"))
    with raises(ColumnError, path=file, rows=(1,), column="score", value=cell.strip('"'), **fields):
        ss.read_scores(file)


@pytest.mark.parametrize("cell", ["1.000", "1.234,5"])
def test_a_point_beside_decimal_commas_is_an_error_never_a_thousand(text_file, cell):
    file = text_file(f"case;method;metric;score\n1;g;iou;0,5\n2;g;iou;{cell}\n")
    with raises(ColumnError, option="decimal", column="score", rows=(1,), path=file):
        ss.read_scores(file, sep=";", decimal=",")


def test_truth_values_are_scores_only_among_themselves(text_file):
    frame = ss.read_scores(text_file(long_text("1,a,g,hit,TRUE", "2,a,g,hit,False", "3,a,g,hit,")))
    assert np.array_equal(frame["score"], [1.0, 0.0, np.nan], equal_nan=True)
    with raises(ColumnError, column="score", rows=(0,)):
        ss.read_scores(text_file(long_text("1,a,g,iou,TRUE", "2,a,g,iou,0.25")))


@pytest.mark.parametrize(
    "name",
    ["a ", "a\u00a0", "a\u200bb", '"a\nb"'],
)
def test_a_name_with_what_nobody_sees_is_an_error(text_file, name):
    with raises(ColumnError, column="task", rows=(0,)):
        ss.read_scores(text_file(long_text(f"1,{name},g,iou,0.5")))


def test_the_same_observation_twice_is_named_with_both_rows(text_file):
    file = text_file(long_text("1,a,g,iou,0.5", "2,a,g,iou,0.5", "1,a,g,iou,0.6"))
    observation = {"case": "1", "task": "a", "method": "g", "metric": "iou"}
    with raises(ColumnError, rows=(0, 2), path=file, value=observation):
        ss.read_scores(file)


def test_a_row_that_stands_twice_as_it_is_need_only_be_dropped(text_file):
    file = text_file(long_text("1,a,g,iou,0.5,", "1,a,g,iou,0.5,", "1,a,h,iou,0.6,r", extra=",reader"))
    hint = "score and all else are equal, too: drop one"
    with raises(ColumnError, rows=(0, 1), path=file, hint=hint):
        ss.read_scores(file)


@pytest.mark.parametrize("column", ["reader", "model", "seed", "dataset"])
def test_another_key_column_tells_observations_apart(text_file, column):
    file = text_file(long_text("1,a,g,iou,0.5,u", "1,a,g,iou,0.6,v", extra=f",{column}"))
    assert ss.read_scores(file)[column].tolist() == ["u", "v"]


def test_a_seed_is_the_same_in_a_table_that_has_it_as_a_float(tmp_path):
    """A seed beside empty cells is written as 1.0; models and other names stay as they are written."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    row = pd.DataFrame({"case": ["a"], "metric": "iou", "score": 0.5, "model": "1.0"})
    beside_people = pd.concat([row.assign(method="g", seed=1), row.assign(method="human")])
    beside_people.to_csv(first, index=False)
    row.assign(method="h", seed=1).to_csv(second, index=False)
    scores = ss.read_scores([first, second])
    assert scores.set_index("method")["seed"].dropna().to_dict() == {"g": "1", "h": "1"}
    assert set(scores["model"]) == {"1.0"}


def test_a_case_of_two_patients_or_of_none_is_an_error(text_file):
    rows = ["1,a,g,iou,0.5,p", "1,b,g,iou,0.5,{}"]
    for patient, fields in (
        ("q", {"rows": (0,)}),
        ("", {"rows": (1,), "hint": "every row needs one"}),
    ):
        file = text_file(long_text(*rows, extra=",patient").format(patient))
        with raises(ColumnError, column="patient", **fields):
            ss.read_scores(file)


# covariates


def test_covariates_are_numbers_where_every_cell_is_one(text_file):
    file = text_file("case,n,site,note,prob\n1,3,01,NA,0.5\n2,4,10,x,\n")
    frame = ss.read_data(file)
    assert frame["n"].tolist() == [3.0, 4.0]
    assert frame["site"].tolist() == ["01", "10"]
    assert frame["note"].isna().tolist() == [True, False]
    assert np.array_equal(frame["prob"], [0.5, np.nan], equal_nan=True)


ACCESSIONS = [12345678901234560 + i for i in range(40)]


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_whole_numbers_that_no_float_holds_keep_every_digit(tmp_path, ending, gap):
    accession = pd.Series([pd.NA if gap and i == 3 else n for i, n in enumerate(ACCESSIONS)], dtype="Int64")
    frame = pd.DataFrame(
        {
            "case": [*map(str, range(40))],
            "method": "g",
            "metric": "iou",
            "score": np.linspace(0, 1, 40),
            "accession": accession,
        }
    )
    read = ss.read_scores(ss.write_frame(frame, tmp_path / f"scores.{ending}"))
    assert read["accession"].dropna().tolist() == [str(n) for n in accession.dropna()]
    assert read["accession"].isna().sum() == gap
    assert ss.summarize(read.dropna(), unit="accession", n_replicates=5)["n_units"].tolist() == [40 - gap]


def test_whole_numbers_that_a_workbook_has_rounded_are_refused_as_names_and_said_elsewhere(workbook_file):
    header = ["case", "method", "metric", "score", "accession"]
    with warns(column="accession", rows=(0,)):
        ss.read_scores(workbook_file([header, ["a", "g", "iou", 0.5, ACCESSIONS[1]]]))
    with raises(ColumnError, column="case", rows=(0,)):
        ss.read_scores(workbook_file([header, [ACCESSIONS[1], "g", "iou", 0.5, 1]]))


@pytest.mark.parametrize("name", ["1.23457E+16", "-1.2E+16", "1.2E+100"])
def test_a_name_that_a_spreadsheet_wrote_as_a_rounded_number_is_refused(text_file, name):
    with raises(ColumnError, column="case", rows=(1,), value=name):
        ss.read_scores(text_file(long_text("a,b,g,iou,0.5", f"{name},b,g,iou,0.5")))


def test_a_rounded_number_with_a_decimal_comma_is_no_name_either(text_file):
    content = "case;method;metric;score\na;g;iou;0,5\n1,23457E+15;g;iou;0,5\n"
    with raises(ColumnError, column="case", rows=(1,), value="1,23457E+15"):
        ss.read_scores(text_file(content), sep=";", decimal=",")


def test_values_of_a_covariate_that_look_the_same_are_said(text_file):
    with warns(column="site", value=["north", " north"]):
        ss.read_data(text_file("case,site\na,north\nb, north\nc,south\n"))


def test_text_among_numbers_of_a_covariate_is_said(text_file):
    file = text_file("case,size\n1,0.5\n2,3\n3,unknown\n")
    with warns(option="na", column="size", rows=(2,), path=file):
        assert ss.read_data(file)["size"].tolist() == ["0.5", "3", "unknown"]


def test_a_covariate_with_decimal_commas_is_an_error_that_names_the_option(text_file):
    file = text_file("case;size\n1;2\n2;0,5\n")
    with raises(ColumnError, option="decimal", column="size", rows=(1,), path=file):
        ss.read_data(file, sep=";")
    assert ss.read_data(file, sep=";", decimal=",")["size"].tolist() == [2.0, 0.5]


# rename


# several files


def test_a_list_of_methods_has_one_per_file(text_file):
    file = text_file("case,a\n1,0.5\n")
    with raises(SalstatsError, option="method", value=["g", "h"]):
        ss.read_scores(file, wide="task", method=["g", "h"], metric="iou")
    both = ss.read_scores(
        [file, text_file("case,a\n2,0.5\n", "b.csv")], wide="task", method=["g"], metric="iou"
    )
    assert both["method"].tolist() == ["g", "g"]
    with raises(InputFileError, option="path"):
        ss.read_scores([])
    with raises(SalstatsError, option="path"):
        ss.read_scores(pd.DataFrame({"case": ["1"]}))


# scale


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [0.01, {"iou": 0.01}])
def test_percentages_are_divided_to_the_last_digit(text_file, scale):
    file = text_file("case,method,metric,score\n1,g,iou,57\n2,g,iou,\n3,g,iou,100\n")
    found = ss.read_scores(file, scale=scale)["score"]
    assert found.tolist()[::2] == [0.57, 1.0]
    assert found.isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("scale", "score", "expected"),
    [
        (0.01, "22.4", 0.224), (0.01, "57", 0.57), (0.01, "8.05", 0.0805), (0.1, "3", 0.3), (0.1, "7", 0.7),
        (100, "0.57", 57.0), (100, "0.0805", 8.05), (1 / 3, "3", 1.0), (1 / 3, "1", 1 / 3), (2 / 3, "3", 2.0),
        (1 / 255, "255", 1.0), (0.000123, "3", 0.000369), (0.264583, "3", 0.793749), (1e-9, "7", 7e-9),
    ],
)  # fmt: skip
def test_a_scale_is_the_number_or_the_fraction_that_is_meant(text_file, scale, score, expected):
    found = ss.read_scores(text_file(f"case,method,metric,score\n1,g,own,{score}\n"), scale=scale)["score"]
    assert found.tolist() == [expected]


def test_a_scale_of_one_metric_leaves_the_others_as_they_are(text_file):
    file = text_file("case,method,metric,score\n1,g,iou,57\n1,g,own,57\n")
    assert ss.read_scores(file, scale={"iou": 0.01})["score"].tolist() == [0.57, 57]


@pytest.mark.parametrize(
    ("scale", "option", "value"),
    [
        ("0.01", "scale", "0.01"),
        (0, "scale", 0),
        (np.inf, "scale", np.inf),
        (True, "scale", True),
        ({"iuo": 0.01}, "scale: metric", "iuo"),
    ],
)
def test_a_scale_that_is_none_is_refused(text_file, scale, option, value):
    with raises(ValueRangeError, option=option, value=value):
        ss.read_scores(text_file("case,method,metric,score\n1,g,iou,57\n"), scale=scale)


# tidy tables


def test_a_tidy_table_keeps_its_columns_in_order(text_file):
    frame = ss.read_data(text_file("size,case,score,group\n1,007,0.5,x\n2,008,,y\n"))
    assert frame.columns.tolist() == ["size", "case", "score", "group"]
    assert frame["case"].tolist() == ["007", "008"]
    assert frame["score"].dtype == np.float64
    with raises(ColumnError, column="score", rows=(0,)):
        ss.read_data(text_file("case,score\n1,inf\n"))


def test_a_table_that_is_not_of_cases_may_call_anything_score(text_file):
    assert ss.read_data(text_file("score,label,estimate\nprob,label,0.75\n"))["score"].tolist() == ["prob"]


def test_a_metric_per_column_beside_a_method(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("case,method,iou,hit\na,gradcam,0.5,1\na,ig,0.25,0\n")
    scores = ss.read_scores(file, columns={"iou": (None, "iou"), "hit": (None, "hit")})
    got = scores.set_index(["method", "metric"])["score"].to_dict()
    want = {("gradcam", "iou"): 0.5, ("ig", "iou"): 0.25, ("gradcam", "hit"): 1, ("ig", "hit"): 0}
    assert got == want
    hint = "give metrics only, columns={'iou': (None, 'iou')}, or rename it"
    with raises(ColumnError, option="columns", column="method", hint=hint):
        ss.read_scores(file, columns={"iou": "iou", "hit": "hit"})
    with raises(ColumnError, option="columns", column="method", hint=hint):
        ss.read_scores(file, columns={"iou": ("gradcam", "iou")})


@pytest.mark.parametrize("read", [ss.read_scores, ss.read_data])
def test_a_sheet_is_an_error_unless_a_file_is_a_workbook(tmp_path, read):
    scores = tmp_path / "scores.csv"
    scores.write_text(f"{HEADER}\na,t,m,iou,0.5\n")
    with raises(InputFileError, option="sheet", value="b", path=scores):
        read(scores, sheet="b")
    sizes = tmp_path / "sizes.xlsx"
    with pd.ExcelWriter(sizes) as book:
        pd.DataFrame({"case": ["a"], "size": [2]}).to_excel(book, sheet_name="b", index=False)
        pd.DataFrame({"case": ["a"], "size": [3]}).to_excel(book, sheet_name="c", index=False)
    assert read(scores, join=sizes, sheet="b")["size"].tolist() == [2]
