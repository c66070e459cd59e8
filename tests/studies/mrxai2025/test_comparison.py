"""Tools compared from a scores frame: Table 1, differences, and what failures would cost."""

import html
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.display.export.figure_files import size_inches
from salstats.display.plots.layout.theme import COLUMN_MM, MM_PER_INCH, PAGE_MM
from salstats.errors import SalstatsWarning
from salstats.studies.engine import make_items
from salstats.studies.mrxai2025 import COMPARISON_ITEMS, REFERENCE, SECOND_TOOL, Data
from salstats.studies.mrxai2025.compared_cases import keep_present_and_correct_cases
from salstats.studies.mrxai2025.comparison import ToolComparison
from salstats.studies.mrxai2025.tool_estimates import ToolComparisonOptions, means

# sums of the same numbers in another order
ROUNDING = 1e-12
CHOICE = ToolComparisonOptions("gradcam", 600)


def drawn_scores(fails=True, n_patients=20, metrics=("dice", "hausdorff", "pdc")):
    """Scores drawn at random: LIME is above Grad-CAM by .1 where it marks anything, and often it does not."""
    rng = np.random.default_rng(8)
    rows = []
    for i in range(n_patients):
        for j in (0, 1):
            easy = rng.uniform(0.2, 0.6)
            for method, better in (("gradcam", 0.0), ("lime", 0.1), ("rex", 0.05)):
                dice = easy + better + rng.normal(0, 0.04)
                empty = fails and method == "lime" and j == 0 and i % 3 < 2
                values = {"dice": dice, "hausdorff": 40 * (1 - dice), "pdc": 0.4 + dice / 2}
                rows += [
                    {
                        "case": f"p{i:02d}_{j}",
                        "patient": f"p{i:02d}",
                        "method": method,
                        "metric": metric,
                        "score": np.nan if empty else values[metric],
                        "reason": "empty mask" if empty else None,
                        "height": 60,
                        "width": 80,
                        "distance_unit": "px" if metric == "hausdorff" else None,
                    }
                    for metric in metrics
                ]
    return pd.DataFrame(rows)


def items_of(scores, options=CHOICE, **given):
    scored = keep_present_and_correct_cases(scores, reference=options.reference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        data = Data(ToolComparison(scored, options, **given))
        return {item.key: made for item, made in make_items(COMPARISON_ITEMS, {SECOND_TOOL, REFERENCE}, data)}


def words(item):
    return re.sub(r"\s+", " ", html.unescape(item.table.as_raw_html()))


@pytest.fixture(scope="module")
def scores():
    return drawn_scores()


@pytest.fixture(scope="module")
def printed(shared):
    return pd.read_csv(shared / "data" / "published" / "mrxai2025_dice.csv")


@pytest.fixture(scope="module")
def items(scores, printed):
    return items_of(scores, printed=printed)


def test_the_printed_means_stand_beside_dice_of_the_tools_that_the_study_has(items, printed):
    found = items["table_1"].frame.dropna(subset="printed_mean").set_index("method")
    assert set(found["metric"]) == {"dice"}
    of = printed.set_index("method")
    for ours, theirs in (("gradcam", "Grad-CAM"), ("rex", "ReX")):
        assert found.loc[ours, "printed_mean"] == of.loc[theirs, "dice_mean"]
        assert found.loc[ours, "printed_sd"] == of.loc[theirs, "dice_sd"]
    assert len(found) == 2
    text = words(items["table_1"])
    assert "Printed mean (SD)" in text
    assert "0.42 (0.20)" in text
    assert "0.33 (0.22)" in text


@pytest.mark.filterwarnings("ignore:methods have scores of different:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("name", ["Grad-CAM", "grad_cam", "GradCAM"])
def test_a_tool_is_known_by_its_letters(scores, printed, name):
    renamed = scores.replace({"method": {"gradcam": name}})
    found = means(
        keep_present_and_correct_cases(renamed, reference=name).compared,
        ToolComparisonOptions(name, 50),
        printed,
    )
    assert found.dropna(subset="printed_mean")["method"].to_list().count(name) == 1


@pytest.mark.filterwarnings("ignore:methods have scores of different:salstats.errors.SalstatsWarning")
def test_the_printed_mean_of_grad_cam_is_not_that_of_grad_cam_plus_plus(scores, printed):
    both = pd.concat(
        [scores, scores[scores["method"] == "gradcam"].assign(method="gradcam++")], ignore_index=True
    )
    options = ToolComparisonOptions("gradcam", 50)
    found = means(keep_present_and_correct_cases(both, reference="gradcam").compared, options, printed)
    assert set(found.dropna(subset="printed_mean")["method"]) == {"gradcam", "rex"}


@pytest.mark.filterwarnings("ignore:.*at the floor:salstats.errors.SalstatsWarning")
@pytest.mark.filterwarnings("ignore:pairs with one of their two scores:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("interval", ["t", pytest.param("percentile", marks=pytest.mark.slow)])
def test_differences_are_those_of_the_public_function(scores, interval):
    want = ss.difference(
        scores, reference="gradcam", by="metric", unit="patient", adjust="holm", interval=interval,
        n_replicates=600,
    )  # fmt: skip
    made = items_of(scores, ToolComparisonOptions("gradcam", 600, interval))
    pd.testing.assert_frame_equal(made["differences"].frame, want)
    assert set(made["table_1"].frame["interval"]) == {interval}
    assert ("with 600 replicates P is" in made["differences"].note) == (interval == "percentile")


def test_without_failures_nothing_changes_and_nothing_is_drawn():
    sensitive = items_of(drawn_scores(fails=False))["sensitivity"]
    assert sensitive.figure is None
    assert not sensitive.frame["changed"].any()
    assert "no verdict changes" in sensitive.note
    assert sensitive.note.startswith("0 explanations are empty")


def test_distances_alone_without_sizes_leave_the_table_empty_and_say_why():
    alone = drawn_scores(metrics=("hausdorff",)).drop(columns=["height", "width"])
    found = items_of(alone)["sensitivity"]
    assert found.frame.empty
    assert "without a known worst score" in found.note
    assert found.figure is None
    assert "LIME" not in words(found)


def test_the_penalised_dice_is_called_a_reconstruction_wherever_it_stands(items):
    for key, item in items.items():
        if key in ("cases", "empty"):
            continue
        assert words(item).count("is a reconstruction from the text") == 1, key


def test_the_flow_of_cases_says_by_which_probability_or_that_none_is_known(scores, items):
    assert "no probability of the model is known" in items["cases"].note
    assert "0.5" not in items["cases"].note
    note = items_of(scores.assign(prob=0.9))["cases"].note
    assert "from a probability of 0.5 on" in note
    assert "no probability" not in note


def test_no_size_penalty_is_said_only_where_it_is_known(scores, items):
    assert not any("alpha" in item.note for item in items.values())
    known = items_of(scores, ToolComparisonOptions("gradcam", 50, unpenalised=True))
    for key, item in known.items():
        assert ("no size penalty here (alpha = beta = 0)" in item.note) == (key not in ("cases", "empty"))


def test_figures_fit_a_column_or_a_page(items):
    for item in items.values():
        width, height = size_inches(item.figure)
        assert round(width * MM_PER_INCH) in (COLUMN_MM, PAGE_MM), item.key
        assert height * MM_PER_INCH <= 240, item.key


def test_many_failing_tools_still_fit_a_page(scores):
    lime = scores.query("method == 'lime'")
    more = [lime.assign(method=f"lime{i}", score=lime["score"] + 0.01 * i) for i in range(7)]
    figure = items_of(pd.concat([scores, *more], ignore_index=True))["sensitivity"].figure
    assert size_inches(figure)[1] * MM_PER_INCH <= 240
    # whole metrics are left to the table, no tool is
    assert set(figure.data["method"]) == {"lime", *(f"lime{i}" for i in range(7))}


def test_means_of_different_cases_are_said_to_be_no_comparison(items):
    said = "Where n differs, means are of different cases"
    assert said in words(items["table_1"])
    assert said not in words(items_of(drawn_scores(fails=False))["table_1"])
