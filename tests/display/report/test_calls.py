"""Every call that a report shows can be pasted and run, and gives the frame that stands beside it."""

import ast

import numpy as np
import pandas as pd
import pytest
from display.frames import STUDIES
from report_text import composed

import salstats as ss
from salstats.display.report.calls import read_scores_call


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
