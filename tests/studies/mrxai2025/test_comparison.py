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
from salstats.studies.engine import made_items_whose_needs_are_met
from salstats.studies.mrxai2025 import COMPARISON_ITEMS, REFERENCE, SECOND_TOOL, MrxaiData
from salstats.studies.mrxai2025.compared_cases import keep_present_and_correct_cases
from salstats.studies.mrxai2025.comparison import ToolComparison, n_decimals
from salstats.studies.mrxai2025.tool_estimates import ToolComparisonOptions, means_with_counts_and_print

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


def items_of(scores, options=CHOICE, only=(), **given):
    scored = keep_present_and_correct_cases(scores, reference=options.reference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        data = MrxaiData(ToolComparison(scored, options, **given))
        items = [item for item in COMPARISON_ITEMS if not only or item.key in only]
        return {
            item.key: made
            for item, made in made_items_whose_needs_are_met(items, {SECOND_TOOL, REFERENCE}, data)
        }


def words(item):
    return re.sub(r"\s+", " ", html.unescape(item.table.as_raw_html()))


@pytest.fixture(scope="module")
def scores():
    return drawn_scores()


@pytest.fixture(scope="module")
def printed():
    return ss.datasets.load_published("mrxai2025_dice")


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
    found = means_with_counts_and_print(
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
    found = means_with_counts_and_print(
        keep_present_and_correct_cases(both, reference="gradcam").compared, options, printed
    )
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


def cells_of_row(item, *texts):
    """The cells of the first row of a table that has these texts."""
    rows = re.findall(r"<tr.*?</tr>", item.table.as_raw_html(), flags=re.DOTALL)
    for row in rows:
        cells = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)]
        if all(text in cells for text in texts):
            return cells
    raise AssertionError(texts)


def test_table_1_writes_overlap_with_three_decimals_and_distances_with_one(items):
    rows = items["table_1"].frame.set_index(["metric", "method"])
    words_of_table = words(items["table_1"])
    for metric, digits in (("dice", 3), ("hausdorff", 1)):
        row = rows.loc[(metric, "gradcam")]
        mean, sd = (f"{row[name]:.{digits}f}" for name in ("estimate", "sd"))
        assert f">{mean} ({sd})<" in words_of_table
        low, high = (f"{row[name]:.{digits}f}" for name in ("conf_low", "conf_high"))
        assert f">{low}, {high}<" in words_of_table
    lime = rows.loc[("dice", "lime")]
    assert f">{lime['n_empty']} ({100 * lime['share_empty']:.1f})<" in words_of_table
    # a column of explanations that were not given stands where there are some
    assert "Not given" not in words_of_table


def test_the_table_of_cases_counts_patients_too(items, scores):
    table = words(items["cases"])
    assert "Patients" in table
    compared = cells_of_row(items["cases"], "Compared")
    assert compared == ["Compared", "40", "20"]
    without = items_of(scores.drop(columns="patient"), only=("cases",))["cases"]
    assert cells_of_row(without, "Compared") == ["Compared", "40"]
    prob = np.where(scores["patient"] == "p00", 0.1, 0.9)
    missed = items_of(scores.assign(prob=prob), only=("cases",))["cases"]
    assert cells_of_row(missed, "The model misses the finding") == ["The model misses the finding", "2", "1"]
    assert cells_of_row(missed, "Compared") == ["Compared", "38", "19"]


def test_cases_are_those_that_the_model_gets_right_where_that_is_known(scores, items):
    assert items["table_1"].slice == "finding present"
    known = items_of(scores.assign(prob=0.9), only=("cases", "table_1"))
    assert known["table_1"].slice == "finding present, model right (0.5)"
    assert known["cases"].slice == "every case"


def test_shares_of_empty_explanations_are_of_those_given(items):
    frame = items["empty"].frame.set_index("method")
    # 14 of 20 patients have an empty mask of LIME on one of two cases
    assert frame["estimate"].to_dict() == pytest.approx({"gradcam": 0, "lime": 14 / 40, "rex": 0})
    assert set(frame["metric"]) == {"empty_explanation"}
    assert set(frame["interval"]) == {"wilson"}
    assert set(frame["unit"]) == {"patient"}
    # of the cases and the patients
    assert set(frame["n"]) == {40}
    lime = frame.loc["lime"]
    share = f"0.350 ({lime['conf_low']:.3f}, {lime['conf_high']:.3f})"
    assert cells_of_row(items["empty"], "LIME") == ["LIME", "40", share]


def test_the_sensitivity_table_has_both_runs_and_the_figure_the_changed_differences(items):
    item = items["sensitivity"]
    rows = item.frame.set_index(["metric", "method"])
    lime = rows.loc[("dice", "lime")]
    table = words(item)
    for prefix in ("", "worst_"):
        estimate, low, high = (f"{lime[prefix + name]:.3f}" for name in ("estimate", "conf_low", "conf_high"))
        interval = f"{estimate} ({low}, {high})".replace("-", "\u2212")
        assert f">{interval}<" in table
        assert f">{lime[prefix + 'mean']:.3f}<" in table
    assert f">{lime['verdict']} \u2192 {lime['worst_verdict']}<" in table
    assert f"Dice of LIME ({lime['verdict']} \u2192 {lime['worst_verdict']})" in item.note
    n_tests = item.frame["verdict"].notna().sum()
    assert f"({n_tests} tests)" in table
    drawn = item.figure.data
    # ReX never failed
    assert set(drawn["method"]) == {"lime"}
    assert set(drawn["run"]) == {"Left out", "At worst"}
    assert lime["worst_estimate"] in set(drawn["estimate"])


def test_distances_are_labelled_with_their_unit(scores):
    labels = {}
    for unit in ("px", "mm", None):
        given = scores.assign(distance_unit=unit)
        compared = keep_present_and_correct_cases(given, reference="gradcam")
        labels[unit] = ToolComparison(compared, CHOICE).labels["hausdorff"]
    assert labels["px"] == f"{labels[None]} (px)"
    assert labels["mm"] == f"{labels[None]} (mm)"


def test_decimals_follow_from_the_metric():
    assert [n_decimals(metric) for metric in ("hausdorff", "assd", "dice", "pdc")] == [1, 1, 3, 3]


def test_that_no_patients_are_known_is_said(scores, items):
    unknown = items_of(scores.drop(columns="patient"), only=("table_1", "differences"))
    for key in ("table_1", "differences"):
        assert "no patients are known" in unknown[key].note
        assert "no patients are known" not in items[key].note
    assert items["differences"].title.endswith("Grad-CAM")
