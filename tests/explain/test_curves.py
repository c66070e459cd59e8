"""The area under curves, from frames alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")

from salstats.cli.flag_spelling import FlagSpelling  # noqa: E402
from salstats.errors import PYTHON, ColumnError, SalstatsError, ValueRangeError  # noqa: E402
from salstats.explain.curves import curve_scores  # noqa: E402
from salstats.frames import check_scores  # noqa: E402
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH  # noqa: E402


def curve(case, prob, *, fraction=None, **columns):
    """A curve of evenly spaced steps."""
    given = {"method": "gradcam", "metric": "insertion"} | columns
    places = np.linspace(0, 1, len(prob)) if fraction is None else fraction
    return pd.DataFrame({"case": case, **given, "fraction": places, "prob": prob})


@pytest.mark.filterwarnings(
    "ignore:.*without its pixels an image has a mean probability:salstats.errors.SalstatsWarning"
)
def test_the_area_is_numpys_trapezoid_whatever_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    expected, parts = {}, []
    for number in range(20):
        fraction = np.concatenate([[0], np.sort(rng.random(rng.integers(1, 30))), [1]])
        prob = rng.random(len(fraction))
        key = (str(number % 5), f"m{number % 4}")
        expected[key] = np.trapezoid(prob, fraction)
        parts.append(curve(key[0], prob, fraction=fraction, method=key[1]))
    frame = pd.concat(parts, ignore_index=True)
    mixed = frame.iloc[rng.permutation(len(frame))]
    for given in (frame, mixed):
        scores = check_scores(curve_scores(given)).set_index(["case", "method"])["score"]
        assert len(scores) == 20
        for key, area in expected.items():
            assert scores[key] == pytest.approx(area)


def test_scores_stand_as_the_curves_do_and_keep_how_they_were_made():
    how = {"target": 3, "baseline": "zero", "n_steps": 2, "probability": "softmax", "reason": ""}
    parts = [
        curve("z", [0, 0.5, 1], task="Edema", patient="p", **how),
        curve("a", [1, 0.5, 0.2], metric="deletion", task="Edema", patient="q", **how),
        curve("z", [0, 0.5, 1], task="Atelectasis", patient="p", **how),
    ]
    scores = curve_scores(pd.concat(parts))
    named = ["case", "task", "method", "metric", "patient"]
    assert list(scores.columns) == [*named, "score", "prob", "curve_options", "reason"]
    assert set(scores["curve_options"]) == {"baseline zero, 2 steps, softmax"}
    without = pd.concat(parts).drop(columns=["baseline", "n_steps"]).assign(method="other")
    together = curve_scores(pd.concat([*parts, without]))
    assert set(together["curve_options"]) == {"baseline zero, 2 steps, softmax", "softmax"}
    assert scores["reason"].isna().all()
    assert scores[["case", "task"]].apply(tuple, axis=1).tolist() == [
        ("z", "Edema"), ("a", "Edema"), ("z", "Atelectasis"),
    ]  # fmt: skip
    # the probability for the whole image: the last step of insertion, the first of deletion
    assert scores["prob"].tolist() == [1, 1, 1]
    assert scores["score"].tolist() == pytest.approx([0.5, 0.55, 0.5])


def test_an_undefined_curve_has_no_area_and_spoils_no_other():
    scores = curve_scores(pd.concat([curve("a", [np.nan] * 3), curve("b", [0, 1, 1])]))
    assert scores["score"].isna().tolist() == [True, False]
    assert scores["score"].iloc[1] == 0.75


@pytest.mark.parametrize(
    "fraction",
    [
        [0.1, 0.5, 1],
        [0, 0.5, 0.9],
        # a fraction twice
        [0, 0, 1],
    ],
)
def test_a_curve_that_is_none_is_named(fraction):
    frame = pd.concat([curve("a", [0, 1, 1]), curve("b", [0, 1, 1], fraction=fraction)])
    wrong_curve = {"case": "b", "method": "gradcam", "metric": "insertion"}
    with raises(SalstatsError, column="fraction", value=wrong_curve):
        curve_scores(frame)


def test_other_metrics_and_missing_columns_are_refused():
    with raises(ValueRangeError, option="metric", value="iou", choices=("insertion", "deletion")):
        curve_scores(curve("a", [0, 1], metric="iou"))
    with raises(ColumnError, column="fraction"):
        curve_scores(curve("a", [0, 1]).drop(columns="fraction"))


@pytest.mark.parametrize(("metric", "probs"), [("insertion", [0.85, 0.9, 1]), ("deletion", [1, 0.9, 0.85])])
def test_a_baseline_that_hides_nothing_is_said(metric, probs):
    with warns(subject=(BASELINE_SHOWS_MUCH, metric), option="baseline", match=r" 0\.85, .* 1;"):
        scores = curve_scores(curve("a", probs, metric=metric))
    assert scores["caution"].tolist() == ["baseline shows much"]
    assert "caution" not in curve_scores(curve("a", [p - 0.5 for p in probs], metric=metric))


@pytest.mark.parametrize(("blank", "named"), [(0.4, False), (0.6, True)])
def test_an_image_more_probable_without_its_pixels_makes_the_output_doubtful(blank, named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curve_scores(curve("a", [blank, 0.5, 0.45]))
    (warning,) = caught
    problem = warning.message
    assert ("tasks" in problem.message.spelled(PYTHON)) == named
    on_command_line = problem.message.spelled(FlagSpelling({"baseline": "--baseline"}))
    assert "--baseline" in on_command_line
    assert "kernel" not in on_command_line
