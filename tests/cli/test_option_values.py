"""Values of options read from text."""

from functools import partial
from pathlib import Path

import pytest
import typer
from tests_support import error_line

from salstats.cli import option_values as values
from salstats.cli.app import run


@pytest.mark.parametrize("said", ["wide", "iou=a", "0.1:0.2", "1:2:3"])
def test_a_margin_that_is_none_is_one_line(capsys, folder, said):
    assert run(["difference", "scores.csv", "--reference", "human", "--margin", said]) == 2
    assert "--margin" in error_line(capsys)


@pytest.mark.parametrize(
    ("parse", "texts", "expected"),
    [
        (values.split, ["a,b", '"c, d"'], ["a", "b", "c, d"]),
        (values.comma_separated_assignments, ["case_id=case,img=image"], {"case_id": "case", "img": "image"}),
        (values.repeated_assignments, ["gradcam=Grad-CAM, resized"], {"gradcam": "Grad-CAM, resized"}),
        (values.path_or_paths_by_name_or_stem, ["maps/gradcam"], "maps/gradcam"),
        (values.path_or_paths_by_name_or_stem, ["a=maps/gradcam"], {"a": "maps/gradcam"}),
        (
            values.path_or_paths_by_name_or_stem,
            ["maps/gradcam/", "b=x"],
            {"gradcam": "maps/gradcam/", "b": "x"},
        ),
        (
            values.label_by_name_with_colours_entry_if_any,
            ["gradcam=Grad-CAM", "colours:gradcam=#004488"],
            {"gradcam": "Grad-CAM", "colours": {"gradcam": "#004488"}},
        ),
        (values.value_or_values_by_name, ["one.json"], "one.json"),
        (values.value_or_values_by_name, ["R1=one.json,R2=two.json"], {"R1": "one.json", "R2": "two.json"}),
        (values.value_or_values_by_method, ["0.4"], "0.4"),
        (values.value_or_values_by_method, ["ig=100"], {(None, "ig"): "100"}),
        (values.value_or_values_by_metric, ["0.01"], 0.01),
        (values.value_or_values_by_metric, ["iou=0.01,hit=1"], {"iou": 0.01, "hit": 1.0}),
        (values.value_or_values_by_metric, ["iou=0.01"], {"iou": 0.01}),
        (values.margin_or_margins_by_metric, ["-0.05:"], (-0.05, None)),
        (values.margin_or_margins_by_metric, ["iou=0.05,hd95=:3"], {"iou": 0.05, "hd95": (None, 3.0)}),
        (values.column_or_weights, ["unit"], "unit"),
        (values.column_or_weights, ["Edema=0.1,Nodule=0.3"], {"Edema": 0.1, "Nodule": 0.3}),
        (values.spacing_or_table_path, "0.5x0.7", (0.5, 0.7)),
        (values.spacing_or_table_path, "0.5", 0.5),
        (values.spacing_or_table_path, "sizes.csv", Path("sizes.csv")),
        (
            values.method_or_method_metric_reader_by_column,
            ["iou=human:iou:r1,hit=:hit,cam=gradcam"],
            {"iou": ("human", "iou", "r1"), "hit": (None, "hit"), "cam": "gradcam"},
        ),
        (values.options_by_metric, ["pdc.alpha=0", "pdc.form=mean"], {"pdc": {"alpha": 0.0, "form": "mean"}}),
        (values.paths_or_paths_by_covariate, ["a.csv,elongation=b.csv"], ["a.csv", {"elongation": "b.csv"}]),
        (partial(values.number, number_type=int), "7", 7),
        (partial(values.numbers, number_type=float), ["1,2.5"], [1.0, 2.5]),
    ],
)
def test_text_becomes_the_value_of_python(parse, texts, expected):
    if parse is values.split:
        assert parse(texts) == expected
    elif isinstance(parse, partial):
        assert parse(texts, flag="--x") == expected
    else:
        assert parse(texts, flag="--x", example="a=b") == expected


def test_a_path_alone_among_several_may_hold_an_equals_sign(tmp_path):
    folder = tmp_path / "lr=0.1"
    folder.mkdir()
    named = values.path_or_paths_by_name_or_stem([str(folder), "b=x"], flag="--maps", example="a=b")
    assert named == {"lr=0.1": str(folder), "b": "x"}
    with pytest.raises(typer.BadParameter, match="'b' twice"):
        values.path_or_paths_by_name_or_stem([str(folder), "b=x", "b"], flag="--maps", example="a=b")


@pytest.mark.parametrize(
    ("parse", "texts"),
    [
        (values.repeated_assignments, ["gradcam"]),
        (values.repeated_assignments, ["a=1", "a=2"]),
        (values.label_by_name_with_colours_entry_if_any, ["a=b,c=d"]),
        (values.comma_separated_assignments, ["a=b;c=d"]),
        (values.method_or_method_metric_reader_by_column, ["a=b:c:d:e"]),
        (values.method_or_method_metric_reader_by_column, ["a=b:"]),
        (values.value_or_values_by_metric, ["iou=x"]),
        (values.column_or_weights, ["a=x"]),
        (values.options_by_metric, ["alpha=0"]),
        (values.spacing_or_table_path, "0.5xx"),
    ],
)
def test_text_of_another_form_is_an_error_that_names_the_flag(parse, texts):
    with pytest.raises(typer.BadParameter, match="--x"):
        parse(texts, flag="--x", example="a=b")


def test_a_number_or_a_word_is_read_as_what_it_is():
    assert [values.number_or_text(text) for text in ("89", "double")] == [89.0, "double"]


def test_files_that_are_joined_may_hold_an_equals_sign(tmp_path):
    file = tmp_path / "a=b.csv"
    assert values.paths_or_paths_by_covariate([str(file)], "--join", "") == [{f"{tmp_path}/a": "b.csv"}]
    file.touch()
    assert values.paths_or_paths_by_covariate([str(file), "x="], "--join", "") == [str(file), "x="]


def test_a_number_is_of_its_kind():
    with pytest.raises(typer.BadParameter, match="--seed"):
        values.number("1.5", "--seed", int)
    with pytest.raises(typer.BadParameter, match="--seed"):
        values.number("x", "--seed", float)
    for number_type in (int, float):
        with pytest.raises(typer.BadParameter, match=r"--x.*'1,b'"):
            values.numbers(["1", "b"], "--x", number_type)
    with pytest.raises(typer.BadParameter, match="'a,,b'"):
        values.split(["a,,b"])
    # longer than any field of a CSV file
    with pytest.raises(typer.BadParameter, match="xxx"):
        values.split(["x" * 200_000])
    assert values.split(None) is None
