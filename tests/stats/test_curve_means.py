"""Mean curves: at every step what `summarize` says of the scores there."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import SalstatsError, SalstatsWarning
from salstats.stats.curve_means import mean_curves

N_CASES, N_STEPS = 30, 4


@pytest.fixture(scope="module")
def curves():
    """Curves of two methods and metrics, two tasks for each case, one of them undefined."""
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame(
            {
                "case": f"{case:02d}",
                "task": task,
                "method": method,
                "metric": metric,
                "step": range(N_STEPS + 1),
                "fraction": np.linspace(0, 1, N_STEPS + 1),
                "prob": rng.random(N_STEPS + 1),
                "baseline": {"insertion": "blur", "deletion": "zero"}[metric],
                "n_steps": N_STEPS,
            }
        )
        for case in range(N_CASES)
        for task in ("s", "t")
        for method in ("gradcam", "ig")
        for metric in ("insertion", "deletion")
    ]
    parts[0]["prob"] = np.nan
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("interval", ["percentile", "bca", "t"])
def test_each_step_is_what_summarize_says_of_it(curves, interval):
    means = mean_curves(curves, interval=interval, n_replicates=200, rng=4)
    assert len(means) == 4 * (N_STEPS + 1)
    for fraction in (0.0, 0.5, 1.0):
        there = curves[curves["fraction"] == fraction].rename(columns={"prob": "score"})
        expected = ss.summarize(there, by=["metric", "method"], interval=interval, n_replicates=200, rng=4)
        found = means[means["fraction"] == fraction].reset_index(drop=True)
        shared = [c for c in found.columns if c in expected.columns]
        assert {"metric", "method", "estimate", "conf_low", "conf_high", "n", "n_missing"} <= set(shared)
        pd.testing.assert_frame_equal(found[shared], expected[shared])


def test_rows_stand_by_group_and_fraction(curves):
    means = mean_curves(curves.query("metric == 'deletion'").sample(frac=1, random_state=1), by="method")
    assert list(means.columns[:3]) == ["method", "fraction", "term"]
    assert means["fraction"].tolist() == [0, 0.25, 0.5, 0.75, 1] * 2
    assert means["method"].tolist() == ["gradcam"] * 5 + ["ig"] * 5


def test_it_says_how_the_curves_of_a_metric_were_made(curves):
    means = mean_curves(curves)
    assert means.groupby("metric")["baseline"].unique().map(list).to_dict() == {
        "insertion": ["blur"],
        "deletion": ["zero"],
    }
    assert set(means["n_steps"]) == {N_STEPS}
    mixed = curves.assign(baseline=np.where(curves["task"] == "s", "mean", curves["baseline"]))
    assert set(mean_curves(mixed)["baseline"]) == {"several"}


def test_a_blank_image_that_is_the_same_for_all_is_no_reason_to_warn(curves):
    same = curves.assign(prob=curves["prob"].where(curves["fraction"] > 0, 0.1))
    means = mean_curves(same)
    at_start = means[means["fraction"] == 0]
    np.testing.assert_allclose(at_start["conf_high"], at_start["conf_low"])


def test_models_that_nobody_asked_to_take_together_are_said(curves):
    both = pd.concat([curves.assign(model=m) for m in "xy"])
    with pytest.warns(SalstatsWarning, match="2 values of 'model' are taken together"):
        mean_curves(both)
    mean_curves(both, by=["metric", "method"])


def test_curves_of_other_steps_are_refused(curves):
    with pytest.raises(SalstatsError, match=r"same fractions; the one of case 07, task s, .* has 4 of 5"):
        mean_curves(curves[(curves["case"] != "07") | (curves["fraction"] != 0.5) | (curves["task"] != "s")])
    with pytest.raises(SalstatsError, match=r"more than one row for case 00, task s, .* fraction 0.0"):
        mean_curves(pd.concat([curves, curves.head(1)]))
