"""Means and differences of the tools against plain sums over the scores, with and without failures."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.studies.mrxai2025.compared_cases import keep_present_and_correct_cases
from salstats.studies.mrxai2025.tool_estimates import (
    STUDY_PICK,
    ToolComparisonOptions,
    differences_from_reference,
    estimates_without_failures_and_at_worst,
    means_with_counts_and_print,
    patient_unit_or_none,
)

pytestmark = pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
# sums of the same numbers in another order
ROUNDING = 1e-12
OPTIONS = ToolComparisonOptions("gradcam", 60)
#: Explanations of LIME by case: the first four are empty, the fifth and sixth were not given.
N_EMPTY = 4
N_NOT_GIVEN = 2
N_CASES = 24


def tool_scores(**columns):
    """Scores of two tools; LIME is better where it marks anything, and empty or absent for six cases."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(N_CASES):
        dice = rng.uniform(0.3, 0.6)
        for metric, scale in (("dice", 1.0), ("hausdorff", 40.0)):
            for method, better in (("gradcam", 0.0), ("lime", 0.1)):
                score = scale * (dice + better + rng.normal(0, 0.02))
                reason = None
                if method == "lime" and i < N_EMPTY + N_NOT_GIVEN:
                    score = np.nan
                    reason = "empty mask" if i < N_EMPTY else "no map"
                rows.append((f"c{i:02d}", method, metric, score, reason))
    frame = pd.DataFrame(rows, columns=["case", "method", "metric", "score", "reason"])
    return frame.assign(height=30, width=40, **columns)


@pytest.fixture(scope="module")
def compared():
    return keep_present_and_correct_cases(tool_scores(), reference="gradcam").compared


def row_of(rows, metric, method):
    return rows.set_index(["metric", "method"]).loc[(metric, method)]


def test_means_and_sds_are_of_the_defined_scores_and_failures_are_counted(compared):
    rows = means_with_counts_and_print(compared, OPTIONS)
    for (metric, method), scores in compared.groupby(["metric", "method"])["score"]:
        row = row_of(rows, metric, method)
        defined = scores.dropna().to_numpy()
        assert row["estimate"] == pytest.approx(defined.mean(), rel=ROUNDING)
        assert row["sd"] == pytest.approx(defined.std(ddof=1), rel=ROUNDING)
        assert row["n"] == len(defined)
    lime = row_of(rows, "dice", "lime")
    assert (lime["n_cases"], lime["n_empty"], lime["n_not_given"]) == (N_CASES, N_EMPTY, N_NOT_GIVEN)
    # what was not given cannot be empty
    assert lime["share_empty"] == N_EMPTY / (N_CASES - N_NOT_GIVEN)
    assert rows["printed_mean"].isna().all()


def test_as_published_means_have_no_interval(compared):
    options = ToolComparisonOptions("gradcam", 60, as_published=True)
    rows = means_with_counts_and_print(compared, options)
    assert "conf_low" not in rows
    np.testing.assert_allclose(
        rows["estimate"], means_with_counts_and_print(compared, OPTIONS)["estimate"], rtol=ROUNDING
    )


def test_differences_are_of_pairs_of_two_defined_scores(compared):
    rows = differences_from_reference(compared, OPTIONS)
    for metric in ("dice", "hausdorff"):
        wide = compared[compared["metric"] == metric].pivot(index="case", columns="method", values="score")
        pairs = (wide["lime"] - wide["gradcam"]).dropna()
        row = row_of(rows, metric, "lime")
        assert row["n_pairs"] == len(pairs) == N_CASES - N_EMPTY - N_NOT_GIVEN
        assert row["estimate"] == pytest.approx(pairs.mean(), rel=1e-9)
    # Holm's correction multiplies the smaller of two p-values by 2
    assert rows["p_adjusted"].min() == pytest.approx(2 * rows["p_value"].min(), rel=ROUNDING)


def test_at_worst_overlap_is_0_and_a_distance_the_diagonal(compared):
    rows = estimates_without_failures_and_at_worst(compared, OPTIONS)
    # the diagonal of an image of 30 x 40 pixels is 50
    for metric, worst_score in (("dice", 0.0), ("hausdorff", 50.0)):
        row = row_of(rows, metric, "lime")
        wide = compared[compared["metric"] == metric].pivot(index="case", columns="method", values="score")
        defined = wide["lime"].dropna()
        filled = wide["lime"].fillna(worst_score)
        assert row["mean"] == pytest.approx(defined.mean(), rel=ROUNDING)
        assert row["worst_mean"] == pytest.approx(filled.mean(), rel=ROUNDING)
        assert row["worst_n"] == N_CASES
        assert row["worst_estimate"] == pytest.approx((filled - wide["gradcam"]).mean(), rel=1e-9)
    # Dice of LIME is higher by .1 without its failures, and these cost more than that
    dice = row_of(rows, "dice", "lime")
    assert (dice["verdict"], dice["changed"]) == ("higher", True)
    assert dice["worst_verdict"] != "higher"
    assert not rows[rows["method"] == "gradcam"]["changed"].any()


def test_a_metric_whose_failures_have_no_worst_score_is_left_out():
    without_sizes = tool_scores().drop(columns=["height", "width"])
    compared = keep_present_and_correct_cases(without_sizes, reference="gradcam").compared
    assert set(estimates_without_failures_and_at_worst(compared, OPTIONS)["metric"]) == {"dice"}
    distances = compared[compared["metric"] == "hausdorff"]
    assert estimates_without_failures_and_at_worst(distances, OPTIONS).empty


@pytest.mark.parametrize(
    ("patients", "unit"), [(None, None), ([f"p{i // 8}" for i in range(4 * N_CASES)], "patient")]
)
def test_patients_are_resampled_where_all_are_known(patients, unit):
    scores = tool_scores()
    if patients is not None:
        scores["patient"] = patients
    assert patient_unit_or_none(scores) == unit
    if patients is not None:
        assert patient_unit_or_none(scores.assign(patient=scores["patient"].mask(scores.index == 0))) is None


def picks_of(methods, metrics, **options):
    compared = pd.DataFrame({"method": methods}).merge(pd.DataFrame({"metric": metrics}), how="cross")
    return ToolComparisonOptions(**options).tool_and_metric_that_pick_cases(compared)


def test_examples_are_picked_as_in_the_study_where_its_tool_and_metric_are_there():
    assert picks_of(["lime", "rex"], ["dice", "pdc"], reference="lime") == STUDY_PICK
    assert picks_of(["lime", "rex"], ["dice"], reference="rex") == ("rex", "dice")
    assert picks_of(["lime", "ig"], ["dice", "pdc"], reference=None) == ("lime", "dice")


def test_a_pick_that_is_named_is_taken_and_must_be_there():
    assert picks_of(["a", "b"], ["dice", "iou"], reference="a", pick=("b", "iou")) == ("b", "iou")
    with raises(ValueRangeError, option="pick", value="c"):
        picks_of(["a", "b"], ["dice"], reference="a", pick=("c", "dice"))
