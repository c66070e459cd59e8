"""Every call that a report shows can be pasted and run, and gives the frame that stands beside it."""

import ast

import numpy as np
import pandas as pd
import pytest
from display.frames import STUDIES
from report_text import composed

import salstats as ss
from salstats.display.report.calls import (
    COMPARED_SCORES_NAME,
    VariableName,
    call_text,
    code_preamble,
    last_line_assigned,
    python_literal,
    read_scores_call,
)
from salstats.display.report.settings import Settings


def pasted(code):
    """What Python pasted at once gives: the frame named before its last line, and the value of that."""
    *lines, last = ast.parse(code).body
    names = {}
    exec(compile(ast.Module(lines, []), "pasted", "exec"), names)
    shown = eval(compile(ast.Expression(last.value), "pasted", "eval"), names)
    return names[lines[-1].targets[0].id], shown


def odd_scores():
    """Units told by two columns, names with quotes and spaces, and a data set of two."""
    scores = ss.datasets.load_simulated()
    scores = scores[scores["case"].isin(scores["case"].unique()[:60]) & (scores["metric"] == "iou")]
    named = scores.rename(columns={"area_ratio": 'share of "image"', "patient": "person"})
    named = named.drop(columns=["elongation", "irrectangularity", "n_instances"])
    named = named.assign(
        method=named["method"].replace("gradcam", 'Alice\'s "map"'),
        site=np.where(pd.factorize(named["person"])[0] % 2, "A", "B"),
    )
    return pd.concat([named.assign(dataset="it's"), named.assign(dataset="other")], ignore_index=True)


ODD_OPTIONS = {
    "unit": "site, person",
    "only": {"dataset": "it's"},
    "margin": (-0.1, np.inf),
    "adjust": "none",
    "covariates": ['share of "image"'],
}


#: Studies whose kinds of calls the others have as well.
MARKS = dict.fromkeys(("large", "named", "demo", "extreme"), pytest.mark.slow)


def reported(study):
    """Scores of a study as a report takes them: one reader."""
    scores = STUDIES[study]()
    return scores if "reader" not in scores else scores[scores["reader"] != "r2"].drop(columns="reader")


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("scores", "options"),
    [
        *(pytest.param(reported(study), {}, id=study, marks=MARKS.get(study, ())) for study in STUDIES),
        pytest.param(odd_scores(), ODD_OPTIONS, id="odd", marks=pytest.mark.slow),
    ],
)
def test_every_call_shown_runs_and_gives_its_frame(scores, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ss.write_frame(scores, "scores.csv")
    report = composed(scores, **options)
    items = [item for section in report.sections for item in section.items]
    assert len(items) > 5
    for item in items:
        frame, display = pasted(item.call)
        assert type(display) is type(item.drawing[0] if isinstance(item.drawing, tuple) else item.drawing)
        frame = frame.reset_index(drop=True)
        pd.testing.assert_frame_equal(frame[list(item.frame)], item.frame, check_dtype=False, obj=item.key)


def test_scores_are_read_as_they_were_without_their_folders():
    reading = {"rename": {"img": "case"}, "join": ["a/b/features.csv", {"age": "c/age.csv"}], "wide": None}
    assert read_scores_call(["x/y/scores.csv"], reading) == (
        "ss.read_scores('scores.csv', rename={'img': 'case'}, join=['features.csv', {'age': 'age.csv'}])"
    )
    assert read_scores_call(["x/a.csv", "y/b.csv"]) == "ss.read_scores(['a.csv', 'b.csv'])"


@pytest.mark.parametrize(
    "value",
    [
        {"iou": (0.05,), "hd95": [np.inf, -np.inf]}, (), (1, "it's"), [], np.float64(0.1), np.int64(3), "",
        None, True,
    ],
)  # fmt: skip
def test_a_value_is_written_as_python_reads_it(value):
    assert eval(python_literal(value)) == value


def test_numbers_are_written_without_their_numpy_type():
    assert python_literal([np.float64(0.5), np.nan]) == "[0.5, float('nan')]"


def test_a_call_leaves_out_options_that_are_none_and_writes_names_bare():
    call = call_text(ss.plot_scatter, "scores", "prob", fit=VariableName("lines"), by=None, alpha=0)
    assert call == "ss.plot_scatter(scores, 'prob', fit=lines, alpha=0)"
    assert last_line_assigned("means", f"x = 1\n{call}") == f"x = 1\nmeans = {call}"


def test_the_lines_before_calls_import_read_and_name_what_the_calls_use(tmp_path):
    read = "scores = ss.read_scores('scores.csv')  # as ss.write_frame(scores, 'scores.csv') wrote them"
    assert code_preamble(Settings(), ["ss.describe(scores)"]).splitlines() == [
        "import salstats as ss", "", read,
    ]  # fmt: skip
    settings = Settings(reference="it's", only={"site": 3}, labels={"iou": "IoU"})
    calls = [f"ss.plot_box({COMPARED_SCORES_NAME}, labels=labels)", "pd.concat([scored])"]
    assert code_preamble(settings, calls).splitlines() == [
        "import pandas as pd",
        "import salstats as ss",
        "",
        read,
        "scores = scores[scores['site'].astype(str) == '3']",
        """compared = scores[scores['method'] != "it's"]""",
        "scored = scores[scores['score'].notna()]",
        """labels = {'method': ["it's"], 'iou': 'IoU'}""",
    ]
    (tmp_path / "a.csv").touch()
    for options, code in (
        ({"inputs": [tmp_path / "a.csv"]}, "ss.read_scores('a.csv')"),
        ({"inputs": [tmp_path / "a.csv"], "code": "load()"}, "load()"),
        ({"code": "load()"}, "load()"),
    ):
        assert code_preamble(Settings(**options), []).splitlines()[-1] == f"scores = {code}"
