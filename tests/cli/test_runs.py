"""Commands write or print the frame of their function, and overwrite nothing."""

import shlex
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
import typer
from command_line import MINIMAL, contents, only_warnings, study
from tests_support import error_line, raises

import salstats as ss
from salstats.cli import runs
from salstats.cli.app import run
from salstats.cli.sources import CommandRun, Source
from salstats.errors import InputFileError, SalstatsError, SalstatsWarning
from salstats.scoring.gaze_cases import ZERO_MAP_AT_FIXATION
from salstats.study import Case, Series, Study

CALLS = {
    "summarize": (
        "--by metric,method --interval basic --level 0.9 --replicates 50 --seed 3",
        lambda s: ss.summarize(
            s, by=("metric", "method"), interval="basic", level=0.9, n_replicates=50, rng=3
        ),
    ),
    "decrease": (
        "--reference human --average task --replicates 50 --pairs available --unit case",
        lambda s: ss.percent_decrease(
            s, reference="human", average="task", n_replicates=50, pairs="available", unit="case"
        ),
    ),
    "difference": (
        "--reference human --test t --interval t --adjust holm --effect-size g",
        lambda s: ss.difference(s, reference="human", test="t", interval="t", adjust="holm", effect_size="g"),
    ),
    "regress": (
        "'iou ~ area_ratio + prob' --normalize area_ratio --within task --errors recommended",
        lambda s: ss.regress(ss.normalize(s, ["area_ratio"], within="task"), "iou ~ area_ratio + prob"),
    ),
    "correlate": (
        "iou prob --by method --by ' task' --test pearson --adjust BH --covariates area_ratio",
        lambda s: ss.correlate(
            s, "iou", "prob", by=("method", "task"), test="pearson", adjust="BH", covariates="area_ratio"
        ),
    ),
    "rates": (
        "--rate recall,dice --by method --interval delta --unit case",
        lambda s: ss.pooled_rates(s, rates=["recall", "dice"], by="method", interval="delta", unit="case"),
    ),
    "significance-map": (
        "--by metric --test t --adjust bonferroni",
        lambda s: ss.significance_map(s, by="metric", test="t", adjust="bonferroni"),
    ),
    "rank-agreement": (
        "--over task --scheme median --replicates 50",
        lambda s: ss.rank_agreement(s, over="task", scheme="median", n_replicates=50),
    ),
    "describe": ("--by method", lambda s: ss.describe(s, by="method")),
    "describe-patients": (
        "label prob,area_ratio --by task --unit case,task --categorical label",
        lambda s: ss.describe_patients(
            s, ["label", "prob", "area_ratio"], by="task", unit=["case", "task"], categorical="label"
        ),
    ),
    "auroc": (
        "prob label --by task --level 0.9",
        lambda s: ss.auroc(s, "prob", "label", by="task", level=0.9),
    ),
    "roc-curve": (
        "prob label --by task --replicates 20",
        lambda s: ss.roc_curve(s, "prob", "label", by="task", n_replicates=20),
    ),
    "calibration": (
        "prob label --by task --unit case",
        lambda s: ss.calibration(s, "prob", "label", by="task", unit="case"),
    ),
    "calibration-curve": (
        "prob label --by task --bins 4 --interval wilson",
        lambda s: ss.calibration_curve(s, "prob", "label", by="task", n_bins=4, interval="wilson"),
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("command", sorted(CALLS))
def test_a_command_writes_the_frame_of_its_function_in_full_precision(capsys, folder, command, suffix):
    options, function = CALLS[command]
    out = folder / f"out.{suffix}"
    assert run([command, "scores.csv", *shlex.split(options), "-o", str(out)]) == 0
    printed, err = capsys.readouterr()
    assert printed == ""
    assert only_warnings(err)
    reread = folder / "expected.csv"
    with warnings.catch_warnings():
        # what the command says is in the test of warnings
        warnings.simplefilter("ignore", SalstatsWarning)
        ss.write_frame(function(ss.read_scores("scores.csv")), reread)
    pd.testing.assert_frame_equal(ss.read_data(out), ss.read_data(reread), check_exact=True)


@pytest.mark.parametrize("command", sorted(MINIMAL))
def test_without_an_output_a_command_prints_its_table_and_writes_nothing(capsys, folder, command):
    before = contents(folder)
    assert run([command, "scores.csv", *MINIMAL[command]]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert only_warnings(err)
    assert any({"gradcam", "human"} & set(line.split()) for line in lines) or command in (
        "auroc",
        "roc-curve",
        "calibration",
        "calibration-curve",
        "agreement",
        "rank-agreement",
    )
    assert any({"estimate", "mean", "score"} & set(line.split()) for line in lines)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("terminal", "columns", "arguments", "most"),
    [
        (True, 80, [], 80),
        (True, 120, [], 120),
        (True, 80, ["--all"], None),
        (False, 80, [], None),
    ],
)
def test_a_terminal_gets_the_columns_that_fit_and_a_file_all(
    capsys, monkeypatch, folder, terminal, columns, arguments, most
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert run(["decrease", "scores.csv", "--reference", "human", "--replicates", "20", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    if most:
        assert max(map(len, out)) <= most
        assert out[-1].endswith("(--all shows them)")
    else:
        assert "method_mean" in out[1].split()
        assert "also:" not in out[-1]


@pytest.mark.parametrize(
    ("arguments", "function", "limits"),
    [
        ("summarize", ss.summarize, None),
        ("difference --reference human --limits 0:2", ss.difference, (0, 2)),
        ("decrease --reference human --limits iou=0:2", ss.percent_decrease, {"iou": (0, 2)}),
    ],
)
def test_bounds_are_added_as_missing_bounds_gives_them(folder, arguments, function, limits):
    # without labels no finding is absent
    study().drop(columns="label").to_csv("unlabelled.csv", index=False)
    command, *others = shlex.split(arguments)
    assert run([command, "unlabelled.csv", *others, "--bounds", "-o", "out.csv"]) == 0
    scores = ss.read_scores("unlabelled.csv")
    options = {} if command == "summarize" else {"reference": "human"}
    compared = None if command == "summarize" else scores
    expected = ss.missing_bounds(function(scores, **options), scores=compared, limits=limits)
    got = pd.read_csv("out.csv")[["bound_low", "bound_high"]]
    pd.testing.assert_frame_equal(got, expected[["bound_low", "bound_high"]])
    assert (got["bound_low"] < got["bound_high"]).any()


def test_limits_of_ranks_are_written_beside_the_tests_that_they_are_of(folder):
    assert run(["significance-map", "scores.csv", "--limits", "limits.csv", "-o", "tests.csv"]) == 0
    expected = ss.rank_limits(ss.significance_map(ss.read_scores("scores.csv")))
    pd.testing.assert_frame_equal(pd.read_csv("limits.csv"), expected, check_dtype=False)


@pytest.mark.parametrize("command", sorted(MINIMAL))
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/out.csv", "the folder no does not exist"),
        ("out.txt", "its name must end in .csv, .parquet, .xlsx"),
        ("", "its name must end in"),
        ("folder.csv", "it is a folder"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_reading(capsys, folder, command, out, message):
    (folder / "folder.csv").mkdir()
    before = contents(folder)
    for scores in ("scores.csv", "nothing.csv"):
        assert run([command, scores, *MINIMAL[command], "-o", out]) == 2
        assert message in error_line(capsys)
    assert contents(folder) == before


def test_a_failure_while_writing_leaves_no_file(capsys, folder, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    before = contents(folder)
    assert run(["describe", "scores.csv", "-o", "out.csv"]) == 2
    assert "cannot write out.csv: No space left" in error_line(capsys)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "summarize scores.csv -o scores.csv --overwrite",
        "describe scores.csv --also more.csv -o more.csv --overwrite",
        "describe scores.csv --join size.csv -o ./size.csv --overwrite",
        "describe scores.csv --join size=wide.csv -o wide.csv --overwrite",
    ],
)
def test_an_input_is_never_overwritten_even_when_asked(capsys, folder, arguments):
    study().assign(method=lambda s: s["method"] + "2").to_csv("more.csv", index=False)
    (folder / "size.csv").write_text("case,size\n000,1\n")
    (folder / "wide.csv").write_text("case,Edema,NA\n000,1,2\n")
    before = contents(folder)
    assert run(shlex.split(arguments)) == 2
    assert "this command reads it" in error_line(capsys)
    assert contents(folder) == before


def test_a_frame_of_a_report_is_no_input_of_the_report_in_its_place(capsys, folder):
    (folder / "out" / "frames").mkdir(parents=True)
    study().to_csv("out/frames/scores.csv", index=False)
    (folder / "out" / "report.json").write_text('{"files": ["frames/scores.csv"]}')
    before = contents(folder)
    assert run(shlex.split("report out/frames/scores.csv -o out --overwrite")) == 2
    assert "this command reads it" in error_line(capsys)
    assert contents(folder) == before


# runs of commands whose functions take long, which stand-ins take the place of here; `test_runs_*.py` has
# them with the functions themselves


class Function:
    """A public function that keeps what it is called with and returns one thing."""

    def __init__(self, result):
        self.result = result
        self.calls = []

    def __call__(self, *data, **options):
        self.calls.append((data, options))
        return self.result


@pytest.fixture
def run_with(tmp_path, monkeypatch):
    """A function that runs a command on data in the working folder, by a stand-in for its function."""
    monkeypatch.chdir(tmp_path)

    def run_command(command, function, data, *, output="out.csv", arguments=(), reading=None, **options):
        call = CommandRun(
            input_path_or_none=Path("scores.csv"), reading=reading or {}, options=options,
            arguments=list(arguments), output=None if output is None else Path(output), overwrite=False,
            print_all=False, function=function,
        )  # fmt: skip
        command(call, Source("DATA", "Data.", list, lambda _: data))

    return run_command


FRAME = pd.DataFrame({"method": ["cam"], "estimate": [0.5]})
OTHER = pd.DataFrame({"term": ["error"], "estimate": [0.25]})


def test_read_prints_the_first_twenty_rows_and_how_many_there_are(capsys, folder):
    for n_rows, is_cut in ((20, False), (21, True)):
        study().head(n_rows).to_csv("part.csv", index=False)
        assert run(["read", "part.csv"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1 + 20 + is_cut
        assert (lines[-1].startswith(f"... {n_rows} ")) == is_cut
    assert run(["read", "part.csv", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 22


def test_options_of_another_option_need_it(run_with):
    with pytest.raises(typer.BadParameter, match="--limits"):
        run_with(runs.run_estimate_with_optional_bounds, None, None, bounds=False, limits=["0:1"])
    with pytest.raises(typer.BadParameter, match="--within"):
        run_with(runs.run_regress, None, None, within="task")


def test_a_regression_writes_variances_and_joint_tests_with_the_options_of_the_fit(run_with, monkeypatch):
    class Model:
        def variance_components(self, *, level=0.95):
            return OTHER.assign(level=level)

        def joint(self, *, each):
            return FRAME.assign(each=each)

    fits = []

    def fit(data, formula, *, family="gaussian"):
        fits.append((data, formula, family))
        return Model()

    monkeypatch.setattr(ss, "fit", fit, raising=False)
    regress = Function(FRAME)
    options = {"family": "binomial", "level": 0.9, "adjust": "holm"}
    run_with(runs.run_regress, regress, "data", arguments=[["y ~ x"]], components=Path("a.csv"), **options)
    assert regress.calls == [(("data", "y ~ x"), options)]
    assert fits == [("data", "y ~ x", "binomial")]
    assert pd.read_csv("a.csv")["level"].tolist() == [0.9]
    formulas = ["y ~ x", "z ~ x"]
    run_with(runs.run_regress, regress, "data", arguments=[formulas], joint=Path("b.csv"), output="out2.csv")
    assert regress.calls[1] == (("data", formulas), {})
    assert pd.read_csv("b.csv")["each"].tolist() == [True]
    # without a further file there is nothing to fit
    run_with(runs.run_regress, regress, "data", arguments=[["y ~ x"]], output="out3.csv")
    assert len(fits) == 2


def test_readers_are_compared_with_components_and_figures_of_readers_in_files(run_with, monkeypatch):
    for name, result in (("mrmc_components", OTHER), ("mrmc_readers", FRAME)):

        def further(scores, *, figure="mean", result=result):
            return result.assign(figure=figure)

        monkeypatch.setattr(ss, name, further, raising=False)
    mrmc = Function(FRAME)
    run_with(
        runs.run_mrmc, mrmc, "scores", figure="auc", readers="fixed", components=Path("a.csv"),
        each_reader=Path("b.csv"),
    )  # fmt: skip
    assert mrmc.calls == [(("scores",), {"figure": "auc", "readers": "fixed"})]
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), OTHER.assign(figure="auc"), check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_csv("b.csv"), FRAME.assign(figure="auc"), check_dtype=False)
    assert Path("out.csv").exists()


def test_two_outputs_of_one_name_are_an_error_before_the_work(run_with):
    with raises(SalstatsError, hint="give them two files", match="--components and --each-reader"):
        run_with(runs.run_mrmc, None, None, components=Path("a.csv"), each_reader=Path("./a.csv"))
    with raises(SalstatsError, match="--output and --components"):
        run_with(runs.run_mrmc, None, None, components=Path("out.csv"))
    Path("a.csv").write_text("mine")
    with raises(InputFileError, option="overwrite", path="a.csv"):
        run_with(runs.run_mrmc, None, None, components=Path("a.csv"))


def test_scoring_takes_the_penalties_that_are_given_and_counts_what_is_undefined(run_with, capsys):
    rows = [("a", "iou", 0.5, ""), ("a", "hit", None, "no map"), ("b", "iou", 0.1, ""), ("b", "hit", 1.0, "")]
    scores = pd.DataFrame(rows, columns=["case", "metric", "score", "reason"]).assign(method="cam")
    scores["reason"] = scores["reason"].where(scores["score"].isna())
    score = Function(scores)
    images = Study((Case("a", None), Case("b", None), Case("c", None)))
    run_with(runs.run_score, score, images, pdc_form="mean", pdc_alpha=0.0, metrics="pdc")
    assert score.calls == [((images,), {"metrics": "pdc", "pdc": {"form": "mean", "alpha": 0.0}})]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("1 of 3 images ")
    assert [line.partition(" images x tasks")[0] for line in lines[1:]] == [
        "hit, cam: 1 of 2",
        "iou, cam: 2 of 2",
    ][::-1]
    assert [line.endswith("defined, 1 no map") for line in lines[1:]] == [False, True]
    run_with(runs.run_score, score, Study(images.cases[:2]), output="out2.csv", pdc_beta=2.0)
    assert score.calls[1][1] == {"pdc": {"beta": 2.0}}
    run_with(runs.run_score, score, Study(images.cases[:2]), output="out3.csv")
    assert score.calls[2][1] == {"pdc": None}
    assert "of 2 images are not" not in capsys.readouterr().err


def test_tuning_says_what_was_chosen_and_where_it_is_an_end_of_the_grid(run_with, capsys):
    rows = [("Edema", 0.2, False), ("Edema", 0.3, True), ("Mass", 0.2, True), ("Mass", 0.3, False)]
    rows += [("Edema", 0.4, False), ("Nodule", 0.2, False)]
    sweep = pd.DataFrame(rows, columns=["task", "cutoff", "chosen"]).assign(
        method="cam", model=["a", None] * 3
    )
    run_with(runs.run_tune, Function(sweep.drop(columns="model")), "study", what="cutoff")
    assert capsys.readouterr().err.splitlines() == [
        "cutoff, cam: Edema 0.3, Mass 0.2 (end of the grid), Nodule: no cutoff, nothing to tune on"
    ]
    run_with(
        runs.run_tune, Function(sweep.rename(columns={"cutoff": "threshold"})), "study", output="out2.csv"
    )
    starts = [line.partition(": ")[0] for line in capsys.readouterr().err.splitlines()]
    assert starts == ["threshold, cam:a", "threshold, cam"]


def test_a_plan_is_followed_by_its_sentence(run_with, capsys):
    terms = {"error": 8e-4, "cov1": 3.5e-4, "cov2": 3.4e-4, "cov3": 2.4e-4, "method:reader": 2e-4}
    parts = pd.DataFrame({"term": list(terms), "estimate": list(terms.values()), "n_units": 114})
    options = {"term": "mrmc", "n_readers": [4, 6], "n_cases": [100], "effect": 0.05}
    run_with(runs.run_power, ss.power, parts, **options)
    assert capsys.readouterr().err.strip() == ss.power_sentence(ss.power(parts, **options))


def test_masks_are_written_to_a_json_file(run_with, monkeypatch):
    write_masks = Function(None)
    monkeypatch.setattr(ss, "write_masks", write_masks, raising=False)
    run_with(runs.run_segment, Function("masks"), "study", output="masks.json", method="cam")
    assert write_masks.calls == [(("masks", Path("masks.json")), {"overwrite": False})]
    with raises(InputFileError, path="masks.csv", choices=(".json",)):
        run_with(runs.run_segment, None, None, output="masks.csv")


def test_recordings_are_counted_and_written_beside_the_scores_of_gaze(run_with, monkeypatch, capsys):
    recordings = pd.DataFrame(
        {
            "used": [True, True, False],
            "n_fixations": [10, 20, 40],
            "n_outside": [1, 2, 4],
            "n_zero": [3, 0, 9],
            "n_overlapping": [0, 5, 7],
        }
    )
    monkeypatch.setattr(ss, "recordings", lambda study: recordings, raising=False)
    scores = pd.DataFrame({"metric": "information_gain", "method": "cam", "score": [0.5, None]})
    scores["reason"] = [None, "too few readers"]
    run_with(runs.run_scoring_against_gaze, Function(scores), "study", recordings=Path("looks.csv"))
    pd.testing.assert_frame_equal(pd.read_csv("looks.csv"), recordings)
    first, second = capsys.readouterr().err.splitlines()[-2:]
    assert "2 of 3 recordings" in first
    assert "30 fixations: 3 outside" in first
    assert first.endswith("3 of no duration, 5 that begin before another has ended")
    assert second.endswith("1 of 2 images defined, 1 too few readers")
    ruled_out = scores.assign(reason=[None, ZERO_MAP_AT_FIXATION], reader="R1")
    recordings.loc[1, "n_overlapping"] = 0
    run_with(runs.run_scoring_against_gaze, Function(ruled_out), "study", output="out2.csv")
    first, second, third = capsys.readouterr().err.splitlines()[-3:]
    assert first.endswith("3 of no duration")
    assert "1 of 2 images x readers defined" in second
    assert "--floor" in third


def test_a_gallery_is_of_the_cases_that_are_named_or_that_stand_out(run_with, monkeypatch):
    saved = Function(None)
    picks = Function("picks")
    monkeypatch.setattr(ss, "save_figure", saved, raising=False)
    monkeypatch.setattr(ss, "pick_cases", picks, raising=False)
    draw = Function("figure")
    images = Study(
        (Case("1", None), Case("2", None)), ("Edema",), (Series("cam", "densenet"), Series("lime"))
    )
    scores = pd.DataFrame(
        {"case": ["1", "1", "2"], "task": ["Edema", "Edema", "Mass"], "method": ["cam", "ig", "cam"]}
    )
    scores.assign(metric="iou", score=[0.25, 0.5, 0.75]).to_csv("s.csv", index=False)
    run_with(runs.run_gallery, draw, images, output="a.pdf", cases=["2,1"], with_human=True)
    (data, options) = draw.calls[0]
    assert data[0] is images
    # cases and tasks are columns only: rows have numbers
    named = pd.DataFrame({"case": ["2", "1"], "task": "Edema"})
    pd.testing.assert_frame_equal(data[1], named, check_dtype=False)
    assert options == {"human": True}
    assert saved.calls == [(("figure", Path("a.pdf")), {"overwrite": False})]
    # of the scores those of the study's tasks, and to pick from those of its methods
    run_with(
        runs.run_gallery, draw, images, output="b.pdf", scores=Path("s.csv"), with_human=False, metric="iou"
    )
    assert draw.calls[1][0] == (images, "picks")
    assert draw.calls[1][1]["scores"]["score"].tolist() == [0.25, 0.5]
    assert picks.calls[0][0][0]["score"].tolist() == [0.25]
    assert picks.calls[0][1] == {"at": ["worst", "median", "best"], "metric": "iou", "method": None}
    run_with(
        runs.run_gallery, draw, images, output="c.pdf", scores=Path("s.csv"), with_human=False,
        methods=["ig:densenet"], at=["best"],
    )  # fmt: skip
    assert picks.calls[1][0][0]["method"].tolist() == ["ig"]
    assert picks.calls[1][1]["at"] == ["best"]
    run_with(
        runs.run_gallery, draw, images, output="d.pdf", scores=Path("s.csv"), with_human=False, picked_by="ig"
    )
    assert picks.calls[2][0][0]["method"].tolist() == ["cam", "ig"]
    assert picks.calls[2][1]["method"] == "ig"
    with pytest.raises(typer.BadParameter, match="--scores or --cases"):
        run_with(runs.run_gallery, None, images, output="e.pdf", with_human=False)
    with raises(InputFileError, path="e.csv"):
        run_with(runs.run_gallery, None, images, output="e.csv", with_human=False)


def test_a_report_is_told_its_files_and_a_missing_reference(run_with, capsys):
    report = Function(None)
    scores = pd.DataFrame({"method": ["cam", "lime", "cam"]})
    reading = {"also": ["b/more.csv"], "join": ["size.csv", {"age": "age.csv"}], "sep": ";"}
    run_with(runs.run_report_folder, report, scores, output="out", reading=reading, level=0.9)
    data, options = report.calls[0]
    assert (data[0] is scores, data[1]) == (True, Path("out"))
    assert options == {
        "inputs": [Path("scores.csv"), Path("b/more.csv"), Path("size.csv"), Path("age.csv")],
        "code": (
            "ss.read_scores(['scores.csv', 'more.csv'], join=['size.csv', {'age': 'age.csv'}], sep=';')"
        ),
        "progress": True, "overwrite": False, "level": 0.9,
    }  # fmt: skip
    out, err = capsys.readouterr()
    assert str(Path("out") / "index.html") in out
    assert "--reference" in err
    assert err.strip().endswith("cam, lime")
    run_with(runs.run_report_folder, report, scores, output="out", reference="lime")
    run_with(runs.run_report_folder, report, scores.replace("lime", "human"), output="out")
    assert capsys.readouterr().err == ""
