"""Tables of a frame of `mrmc`: its means, its differences, and the test that all are equal."""

import pandas as pd
import pytest
from mrmc_readings import mrmc_frame

import salstats as ss


@pytest.fixture(scope="module")
def found(r_data):
    scores = mrmc_frame(r_data("gaze_mrmc_seed_mixing_sncc"), metric="sncc")
    return ss.mrmc(scores, reference="uniform")


@pytest.fixture(scope="module")
def drawn(drawn_readings):
    """Readings of two methods that are drawn here."""
    return mrmc_frame(drawn_readings, metric="sncc")


def test_means_are_shown_with_what_differs_and_the_test_of_all(found):
    html = ss.table_estimates(found).as_raw_html()
    for text in (
        "−0.002 (−0.023, 0.018)",
        "95% CI: Obuchowski-Rockette, jackknife covariances. Intervals apply to readers and cases in",
        "455 scores of 91 cases by 5 readers per estimate; none undefined.",
        "Underlined: differs from uniform",
        "All equal: F(2, 3,923) = 11.55, P &lt; 0.001.",
    ):
        assert text in html, text
    assert html.count("text-decoration: underline") == 1


def test_differences_are_shown_with_both_means(found):
    html = ss.table_decrease(found).as_raw_html()
    for text in (
        "−0.031 (−0.045, −0.017)",
        "P values: two-sided Obuchowski-Rockette; not adjusted",
        "455 scores of 91 cases by 5 readers per estimate",
        "All equal: F(2, 3,923)",
    ):
        assert text in html, text


def test_the_test_of_fixed_readers_is_chi_squared(r_data):
    scores = mrmc_frame(r_data("gaze_mrmc_seed_mixing_sncc"), metric="sncc")
    html = ss.table_estimates(ss.mrmc(scores, readers="fixed")).as_raw_html()
    assert "All equal: χ²(2) = 22.07, P &lt; 0.001." in html
    assert "Readers are fixed" in html


@pytest.mark.filterwarnings("ignore:the covariance of readers' figures:salstats.errors.SalstatsWarning")
def test_areas_are_called_so(drawn_readings):
    scores = mrmc_frame(drawn_readings, "rating", "rating").assign(truth=drawn_readings["truth"])
    html = ss.table_estimates(ss.mrmc(scores, figure="auc", label="truth")).as_raw_html()
    assert "AUROC (95% CI)" in html
    assert "Bold" not in html


def test_each_metric_has_its_test(r_data):
    synth = r_data("synth2")
    both = [
        mrmc_frame(synth.drop(columns=c), s, m)
        for c, s, m in (("hit", "score", "rating"), ("score", "hit", "hit"))
    ]
    html = ss.table_estimates(ss.mrmc(pd.concat(both))).as_raw_html()
    assert (
        "All equal: F(1, 12.6) = 1.37, P = 0.263 (Hit rate); F(1, 18.2) = 2.64, P = 0.122 (rating)." in html
    )


def test_figures_draw_means_or_differences_and_no_global_test(drawn):
    found = ss.mrmc(drawn)
    assert set(ss.plot_intervals(found).data["term"]) == {"mean"}
    for figure in (ss.plot_forest(found), ss.plot_decrease(found)):
        assert set(figure.data["term"]) == {"difference"}
        assert "not drawn" not in figure.labels.caption


@pytest.mark.filterwarnings("ignore:.*lack readings")
def test_where_readings_are_missing_methods_are_not_said_to_be_on_the_same_cases(drawn):
    for rows, same in ((drawn, True), (drawn.drop(drawn.index[[3, 50]]), False)):
        found = ss.mrmc(rows, reference="B")
        html = ss.table_estimates(found).as_raw_html()
        assert ("on the same cases" in html) is same
        assert ("paired difference" in html) is same


def test_variances_have_significant_digits(r_data, read):
    """Van Dyke's, of which MRMCaov gives .00153500, .00020040, .00080229, .00034661, .00034407, .00023903."""
    table = r_data("vandyke")
    scores = mrmc_frame(table, "rating", "rating").assign(truth=table["truth"])
    seen = read(ss.table_estimates(ss.mrmc_components(scores, figure="auc", label="truth")))
    assert [row[-1] for row in seen.body] == [
        *("0.00153", "0.000200", "0.000802", "0.000347", "0.000344", "0.000239"),
    ]
    assert seen.head[-1] == ["Term", "Rating, variance or covariance"]


def test_variances_that_are_rounding_are_0(drawn, read):
    own = drawn["case"].str[1:].astype(int) % 5 == drawn["reader"].str[1:].astype(int) - 1
    found = ss.mrmc_components(drawn[own])
    shown = {row[0]: row[1] for row in read(ss.table_estimates(found)).body}
    assert shown["Cov2"].lstrip("−") == "0.000"
