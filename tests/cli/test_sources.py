"""Options for reading reach the reader."""

import inspect
import shlex

import numpy as np
import pandas as pd
import pytest
from command_line import study
from PIL import Image
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run
from salstats.cli.signatures import keyword_arguments
from salstats.cli.sources import CommandRun, _study_options, read_study, read_written_frame
from salstats.display.tables.notes import metric_notes
from salstats.errors import ColumnError
from salstats.readers.formats import FORMATS


def test_every_option_for_reading_reaches_the_reader(folder):
    wide = study().pivot(index="case", columns=["method", "task"], values="score")
    for method in ("gradcam", "human"):
        table = wide[method].rename_axis("img_id").reset_index()
        table["note"] = "x"
        table.to_csv(f"{method}.txt", sep=";", decimal=",", index=False, encoding="utf-16", na_rep="-")
    features = study()[["case", "task", "prob"]].drop_duplicates()
    features.to_csv("prob.csv", sep=";", decimal=",", index=False, encoding="utf-16")
    arguments = shlex.split(
        "--also human.txt --rename img_id=case --wide task --tasks Edema,NA --method gradcam,human "
        "--metric iou --sep ';' --decimal , --encoding utf-16 --na - --join prob.csv"
    )
    assert run(["correlate", "gradcam.txt", "iou", "prob", *arguments, "-o", "out.csv"]) == 0
    assert run(["correlate", "scores.csv", "iou", "prob", "-o", "expected.csv"]) == 0
    found, expected = ss.read_data("out.csv"), ss.read_data("expected.csv")
    # of the wide files nothing tells which findings are absent
    same = [c for c in expected.columns if c not in ("unit", "n_units", "n_absent")]
    pd.testing.assert_frame_equal(found[same], expected[same], check_exact=True)


def test_a_metric_per_column_and_a_sheet_are_read(capsys, folder):
    wide = study().pivot(index=["case", "task", "label"], columns="method", values="score").reset_index()
    with pd.ExcelWriter("book.xlsx") as book:
        wide.to_excel(book, sheet_name="scores", index=False)
        wide.to_excel(book, sheet_name="other", index=False)
    arguments = ["--score", "gradcam=gradcam:iou,human=human:iou", "--sheet", "scores", "--by", "method,task"]
    assert run(["describe", "book.xlsx", *arguments]) == 0
    from_workbook = capsys.readouterr().out.splitlines()[1:]
    assert run(["describe", "scores.csv", "--by", "method,task"]) == 0
    assert from_workbook == capsys.readouterr().out.splitlines()[1:]


def test_a_column_with_a_comma_in_its_name_and_percentages_are_read(folder):
    (folder / "wide.csv").write_text('case,"IoU, mean",b\n1,57,22.4\n')
    arguments = ["--score", '"IoU, mean"=g:iou,b=h:iou', "--scale", "iou=0.01", "-o", "long.csv"]
    assert run(["read", "wide.csv", *arguments]) == 0
    assert ss.read_scores("long.csv")["score"].tolist() == [0.57, 0.224]


@pytest.mark.parametrize("sep", ["tab", "\\t", "\t"])
def test_a_tab_has_a_name(folder, sep):
    study().to_csv("tabs.csv", sep="\t", index=False)
    assert run(["describe", "tabs.csv", "--sep", sep, "-o", "out.csv"]) == 0


def test_shapes_of_files_are_reached_from_the_command_line(folder):
    (folder / "wide.csv").write_text(
        "img_id,Edema,NA\npatient1_view1,0.5,0.25\npatient1_view2,,0.75\npatient2_view1,1,0\n"
    )
    (folder / "size.csv").write_text(
        "img_id,Edema,NA\npatient1_view1,3,4\npatient2_view1,5,6\npatient1_view2,7,8\n"
    )
    arguments = "read wide.csv --wide task --method g --metric iou --rename img_id=case --join size=size.csv"
    assert run([*shlex.split(arguments), "--patient-from", r"(patient\d+)", "-o", "long.csv"]) == 0
    long = ss.read_scores("long.csv").sort_values(["case", "task"]).reset_index(drop=True)
    assert long["patient"].tolist() == ["patient1"] * 4 + ["patient2"] * 2
    assert long["size"].tolist() == [3, 4, 7, 8, 5, 6]
    (folder / "methods.csv").write_text("phase,trial,metric,ag,convex\n1,2,ncc,0.5,0.25\n1,2,auc,0.75,1\n")
    assert run(shlex.split("read methods.csv --case phase,trial --score ag=ag,convex=convex -o two.csv")) == 0
    two = ss.read_scores("two.csv")
    assert set(two["case"]) == {"1_2"}
    assert len(two) == 4


def test_arguments_in_the_wrong_order_are_said(capsys, folder):
    assert run(["regress", "iou ~ prob", "scores.csv"]) == 2
    assert "the file comes first" in error_line(capsys)


def test_a_sheet_of_a_table_without_sheets_is_an_error_that_names_the_flag(capsys, folder):
    assert run(["describe", "scores.csv", "--sheet", "scores"]) == 2
    assert "--sheet" in error_line(capsys)
    assert run(["describe", "scores.csv", "-o", "means.csv"]) == 0
    capsys.readouterr()
    assert run(["table", "means.csv", "--sheet", "means"]) == 2
    assert "--sheet" in error_line(capsys)


def test_help_names_the_formats_of_options_that_a_folder_of_the_default_format_does_not_have():
    parameters = {name: inspect.signature(record.read).parameters for name, record in FORMATS.items()}
    for option in _study_options()[2:]:
        formats = [name for name, of_format in parameters.items() if option.name in of_format]
        prefix = f"{', '.join(formats)}: "
        assert option.typer_info.help.startswith(prefix) == ("chexlocalize" not in formats), option.name


def test_a_study_is_read_with_the_options_of_every_format_which_take_none_where_a_format_does():
    options = {option.name: option for option in _study_options()}
    assert {"format", "cases", "maps", "masks", "truth", "human", "task"} <= set(options)
    # None is the default of one format, and turns off the default of another
    patient_from = options["patient_from"]
    assert keyword_arguments([patient_from], {"patient_from": "none"}) == {"patient_from": None}
    assert keyword_arguments([patient_from], {"patient_from": "(p)"}) == {"patient_from": "(p)"}
    assert keyword_arguments([patient_from], {"patient_from": None}) == {}


def run_of(function, output=None):
    """A run of a function with one option and one argument."""
    return CommandRun(
        input_path_or_none=None, reading={}, options={"level": 0.9}, arguments=["iou"],
        output=output, overwrite=False, print_all=False, function=function,
    )  # fmt: skip


def test_a_run_gives_its_function_the_data_the_options_and_a_progress_bar_where_it_has_one():
    def with_progress(data, name, *, level=0.95, progress=False):
        return data, name, level, progress

    def without_progress(data, name, *, level=0.95):
        return data, name, level

    assert run_of(with_progress).call("data") == ("data", "iou", 0.9, True)
    assert run_of(without_progress).call("data") == ("data", "iou", 0.9)


def test_a_frame_is_printed_or_written_and_the_note_on_its_metrics_is_on_stderr(capsys, tmp_path):
    frame = pd.DataFrame({"metric": ["pdc"], "estimate": [0.125]})
    run_of(ss.summarize).deliver(frame)
    printed = capsys.readouterr()
    assert "0.125" in printed.out
    assert " ".join(printed.err.split()) == metric_notes(frame) != ""
    run_of(ss.summarize, tmp_path / "means.csv").deliver(frame.assign(metric="own"))
    assert capsys.readouterr() == ("", "")
    assert pd.read_csv(tmp_path / "means.csv")["estimate"].tolist() == [0.125]


def run_of_study(folder, options=None, **reading):
    """A run of a command that reads a study from a folder, or from the folders that `reading` names."""
    return CommandRun(
        input_path_or_none=folder, reading=reading, options=dict(options or {}), arguments=[],
        output=None, overwrite=False, print_all=False, function=ss.score,
    )  # fmt: skip


@pytest.fixture
def three_cases(tmp_path):
    """A folder of masks of cases a, b and c, as the truth and as those of a person."""
    (tmp_path / "masks").mkdir()
    for case in "abc":
        np.save(tmp_path / "masks" / f"{case}.npy", np.eye(4, dtype=bool))
    return tmp_path


@pytest.mark.parametrize(
    ("names", "expected"),
    [(None, ["a", "b", "c"]), (["c,a"], ["a", "c"]), (["b", "c"], ["b", "c"]), (["CASES.CSV"], ["b"])],
)
def test_cases_are_all_or_those_of_a_list_or_of_a_table(three_cases, monkeypatch, names, expected):
    monkeypatch.chdir(three_cases)
    (three_cases / "CASES.CSV").write_text("n,case\n1,b\n")
    reading = {"masks": {"lime": "masks"}, "truth": "masks"}
    found = read_study(run_of_study(None, **reading, cases=names))
    assert [case.case for case in found.cases] == expected


@pytest.mark.parametrize("content", ["name\na\n", "case,n\na,1\n,2\n"])
def test_a_table_of_cases_needs_a_column_of_them_without_gaps(three_cases, content):
    (three_cases / "cases.csv").write_text(content)
    masks = three_cases / "masks"
    cases = [str(three_cases / "cases.csv")]
    with pytest.raises(ColumnError) as caught:
        read_study(run_of_study(None, masks={"lime": masks}, truth=masks, cases=cases))
    assert caught.value.path == three_cases / "cases.csv"


def test_colormap_reads_the_pictures_of_maps_and_is_left_to_the_function_for_a_study(three_cases):
    red, blue = [128, 0, 0], [0, 0, 128]
    (three_cases / "jet").mkdir()
    for case in "abc":
        # the ends of the palette of 256 colours: dark red is the last, dark blue the first
        picture = np.array([[red, blue], [blue, blue]], dtype=np.uint8).repeat(2, axis=0).repeat(2, axis=1)
        Image.fromarray(picture).save(three_cases / "jet" / f"{case}.png")
    masks = three_cases / "masks"
    of_maps = run_of_study(None, {"colormap": "jet"}, maps={"cam": three_cases / "jet"}, truth=masks)
    saliency = read_study(of_maps).cases[0].predictions[0].read().saliency
    assert saliency[:2, :2].tolist() == [[255.0, 255.0]] * 2
    assert saliency.sum() == 4 * 255
    assert of_maps.options == {}

    study_folder = three_cases / "study"
    (study_folder / "maps" / "cam").mkdir(parents=True)
    masks.rename(study_folder / "truth")
    for case in "abc":
        np.save(study_folder / "maps" / "cam" / f"{case}.npy", np.eye(4))
    of_study = run_of_study(study_folder, {"colormap": "jet"}, format="folders")
    assert len(read_study(of_study).cases) == 3
    assert of_study.options == {"colormap": "jet"}


def test_a_written_frame_has_numbers_text_and_missing_values(tmp_path):
    file = tmp_path / "means.csv"
    file.write_text("method;estimate;seed;note\nlime;0,5;01;NA\ncam;;02;a\n")
    frame = read_written_frame(file, sep=";", decimal=",", na=("NA",))
    assert frame.index.tolist() == [0, 1]
    assert frame["estimate"].tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
    assert frame["seed"].tolist() == ["01", "02"]
    assert frame["method"].tolist() == ["lime", "cam"]
    assert frame["note"].isna().tolist() == [True, False]
