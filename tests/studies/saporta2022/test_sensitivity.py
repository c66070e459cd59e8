"""Choices beside each other: what the clusters change, and what another choice does."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD

from salstats.errors import SalstatsWarning
from salstats.studies.saporta2022.sensitivity import (
    estimates_by_analysis_choice,
    headlines_published_beside_clustered,
    positive_negative_or_inconclusive_by_interval,
    published_beside_other,
    sensitivity_to_choices,
)
from salstats.studies.saporta2022.study_frames import (
    FULL_PROBABILITIES,
    FULL_SLICE,
    HITS,
    MAPS,
    PROBABILITIES,
    SCALED_OVER_ALL_TASKS,
    SHAPES,
    feature_slopes,
)

# statsmodels' pseudo-inverse there, QR here; p-values are as small as 1e-46
REGRESSION = 1e-9


@pytest.fixture(scope="module")
def headlines(nine_tasks, make):
    """The headline numbers of nine tasks, both ways."""
    return make(nine_tasks, "as_published_and_clustered")["as_published_and_clustered"]


def test_every_headline_number_stands_as_published_and_clustered(headlines):
    rows = headlines.frame
    assert rows["item"].value_counts().to_dict() == {
        # 2 metrics x 2 methods x 9 tasks; 2 methods x 9; 2 metrics x (9 and the average); 4 outcomes x 4
        # features; slope and Spearman of 9 tasks, overall and within tasks
        "Table 1": 36,
        "Extended Data 4": 18,
        "Extended Data 5-6": 20,
        "Table 2": 16,
        "Table 3": 22,
        "Extended Data 9": 22,
    }
    slopes = rows[rows["item"].isin(["Table 2"])]
    np.testing.assert_allclose(slopes["estimate"], slopes["published_estimate"], rtol=REGRESSION)
    assert (slopes["width_ratio"] != 1).all()


@pytest.fixture(scope="module")
def choices(whole):
    """The sensitivity table with all ten tasks, of which the oracle's README gives numbers."""
    with warnings.catch_warnings():
        # of the two tasks with fewer than 20 patients
        few = ".*(rest on 6 to 19 units|fewer than 20 units|replicates have no correlation)"
        warnings.filterwarnings("ignore", message=few, category=SalstatsWarning)
        return estimates_by_analysis_choice(whole, 40)


@pytest.fixture(scope="module")
def drawn_choices(drawn_frames):
    """The same table of the study that is drawn here, where Atelectasis has no miss."""
    scores = drawn_frames.scores
    is_miss = (scores["reason"] == "empty mask") & (scores["metric"] == "iou")
    assert is_miss.groupby(scores["task"]).any().all()
    is_miss &= scores["task"] == "Atelectasis"
    filled = scores.assign(
        score=scores["score"].mask(is_miss, 0.2), reason=scores["reason"].mask(is_miss, None)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        return estimates_by_analysis_choice(replace(drawn_frames, scores=filled), 40)


@pytest.mark.slow
def test_s1_misses_as_zero_lower_people_more_than_saliency(choices):
    means = choices.query("row == 'S1' and quantity == 'mean IoU'").copy()
    means[["method", "task"]] = means["of"].str.split(", ", expand=True)
    # the published estimate is a mean of replicates: compare with what is left out, over what is there
    frames = {m: f.set_index("task") for m, f in means.groupby("method")}
    drop = {m: f["estimate"] * 1 - f["estimate"] * f["n"] / f["n_published"] for m, f in frames.items()}
    # the README: by up to 0.043 for people and 0.011 for saliency
    assert drop["human"].abs().max() == pytest.approx(0.043, abs=0.0005)
    assert drop[METHOD].abs().max() == pytest.approx(0.011, abs=0.0015)


@pytest.mark.parametrize(
    ("of", "slope", "spearman"),
    [("finding there, with cut-offs", 0.515, 0.520), ("finding there, without cut-offs", 0.348, 0.363)],
)
def test_s2_cut_offs_make_the_slope_steeper(choices, of, slope, spearman):
    rows = choices.query("row == 'S2' and of == @of").set_index("quantity")["estimate"]
    assert round(rows["slope of IoU on confidence"], 3) == slope
    assert round(rows["Spearman correlation of IoU on confidence"], 3) == spearman


def test_s3_task_effects_flatten_the_slope_of_size(choices):
    row = choices.query("row == 'S3' and of == 'IoU, area_ratio'").iloc[0]
    assert (round(row["published_estimate"], 3), round(row["estimate"], 3)) == (0.585, 0.450)
    assert not row["changed"]


def test_a_conclusion_on_features_needs_a_corrected_p_value(choices):
    # -0.315 (-0.609, -0.021), P .036: four tests leave nothing of it, and the scripts print no star
    row = choices.query("row == 'S3' and of == 'Hit rate, irrectangularity'").iloc[0]
    assert row["published_high"] < 0
    assert row["conclusion_published"] == "inconclusive"


def test_s7_is_the_logit_of_statsmodels(drawn_choices, drawn_frames):
    import statsmodels.api as sm

    rows = drawn_frames.scores.query("method == @METHOD and metric == 'hit' and label == 1")
    fit = sm.GLM(rows["score"], sm.add_constant(rows["prob"]), family=sm.families.Binomial()).fit()
    got = drawn_choices.query("row == 'S7' and of == 'prob'").iloc[0]
    # two iterations that stop at 1e-8
    assert got["estimate"] == pytest.approx(fit.params["prob"], rel=1e-7)
    assert len(drawn_choices.query("row == 'S7'")) == 5


def test_clusters_stand_between_the_published_number_and_the_other_choice(choices, whole):
    slopes = feature_slopes(whole, whole.inference, (SCALED_OVER_ALL_TASKS,))
    row = choices.query("row == 'S3' and of == 'IoU, irrectangularity'").iloc[0]
    pooled = slopes[(slopes["scale"] == SCALED_OVER_ALL_TASKS) & (slopes["outcome"] == "IoU")]
    pooled = pooled[pooled["term"] == "irrectangularity"].set_index("pool")
    middle, other = pooled.loc["all tasks pooled"], pooled.loc["with task effects"]
    for side, want in (("clustered_", middle), ("", other)):
        got = [row[f"{side}estimate"], row[f"{side or 'conf_'}low"], row[f"{side or 'conf_'}high"]]
        np.testing.assert_array_equal(got, want[["estimate", "conf_low", "conf_high"]].astype(float))
    # task effects take the sign away, not the clusters
    signs = [row[f"conclusion{s}"] for s in ("_published", "_clustered", "")]
    assert signs == ["negative", "negative", "inconclusive"]


def test_s1_differs_from_its_neighbour_by_misses_alone(drawn_choices):
    rows = drawn_choices.query("row == 'S1' and quantity == 'mean IoU'").set_index("of")
    with_misses = rows[rows.index.str.endswith("Airspace Opacity")]
    assert (with_misses["clustered_estimate"] > with_misses["estimate"]).any()
    for method in ("human", METHOD):
        row = rows.loc[f"{method}, Atelectasis"]
        assert row["clustered_estimate"] == row["estimate"]
        assert (row["clustered_low"], row["clustered_high"]) == (row["conf_low"], row["conf_high"])


def test_a_mean_counts_as_no_conclusion(headlines):
    rows = headlines.frame
    means_ = rows["item"].isin(["Table 1", "Extended Data 4"])
    assert set(rows.loc[means_, "conclusion_published"]) == {""}
    assert (rows.loc[~means_, "conclusion_published"] != "").all()


def test_the_note_counts_changed_signs_and_the_figure_shows_the_slopes_of_every_choice(
    drawn_choices, drawn_frames, monkeypatch
):
    name = "salstats.studies.saporta2022.sensitivity.estimates_by_analysis_choice"
    monkeypatch.setattr(name, lambda *_: drawn_choices)
    item = sensitivity_to_choices(drawn_frames)
    for name, rows in drawn_choices[drawn_choices["conclusion_published"] != ""].groupby("row"):
        n_by_clusters = (rows["conclusion_clustered"] != rows["conclusion_published"]).sum()
        counts = f"{name} in {rows['changed'].sum()} of {len(rows)} rows ({n_by_clusters} with patients"
        assert counts in item.note
    slopes = drawn_choices.query("row == 'S3' and quantity == 'slope'")
    for column in ("estimate", "conf_low", "conf_high"):
        name = column.removeprefix("conf_")
        drawn = slopes[[f"published_{name}", f"clustered_{name}", column]]
        assert sorted(item.figure.data[column]) == sorted(drawn.to_numpy(dtype=float).ravel())
    assert item.figure.data["method"].value_counts().eq(len(slopes)).all()
    assert item.figure.labels.x == "Slope (95% CI)"


def test_an_interval_shows_a_sign_where_it_excludes_0_and_p_is_small():
    cells = [
        (0.1, 0.2, np.nan, "positive"),
        (-0.2, -0.1, np.nan, "negative"),
        (-0.1, 0.1, np.nan, "inconclusive"),
        (0.0, 0.1, np.nan, "inconclusive"),
        (-0.1, 0.0, np.nan, "inconclusive"),
        (0.1, 0.2, 0.049, "positive"),
        (0.1, 0.2, 0.05, "inconclusive"),
        (-0.2, -0.1, 0.05, "inconclusive"),
        (np.nan, 0.2, np.nan, ""),
        (0.1, np.nan, 0.01, ""),
    ]
    rows = pd.DataFrame(cells, columns=["low", "high", "p", "sign"])
    signs = positive_negative_or_inconclusive_by_interval(rows, "low", "high", "p")
    assert signs.tolist() == rows["sign"].tolist()


def test_two_choices_are_compared_row_by_row():
    published = pd.DataFrame({"task": ["x", "y", "z"], "term": "slope", "estimate": [0.2, 0.3, 0.4]})
    published = published.assign(conf_low=[0.1, 0.1, 0.4], conf_high=[0.3, 0.5, 0.4], n=9)
    other = published.iloc[::-1].assign(conf_low=[0.3, 0.2, -0.1], conf_high=[0.5, 0.4, 0.5], n=8)
    rows = published_beside_other(published, other, ["task"])
    assert rows["task"].tolist() == ["x", "y", "z"]
    # of a published interval without width there is no ratio
    np.testing.assert_allclose(rows["width_ratio"], [3, 0.5, np.nan])
    assert rows["conclusion_published"].tolist() == ["positive"] * 3
    assert rows["conclusion"].tolist() == ["inconclusive", "positive", "positive"]
    assert rows["changed"].tolist() == [True, False, False]
    assert (rows["n_published"] == 9).all()
    assert (rows["n"] == 8).all()
    means = published_beside_other(published.assign(term="mean"), other.assign(term="mean"), ["task"])
    assert set(means["conclusion"]) == set(means["conclusion_published"]) == {""}
    assert not means["changed"].any()


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_choices_are_those_that_the_data_allow(drawn_frames):
    few = drawn_frames.with_tasks(["Atelectasis"])
    cases = (
        # scores of a file are with or without cut-offs
        ({MAPS, HITS, FULL_SLICE, FULL_PROBABILITIES}, "", {"S1"}),
        ({MAPS, SHAPES, FULL_SLICE}, "given", {"S1", "S3"}),
    )
    for available, cutoff_source, rows in cases:
        frames = replace(few, available=frozenset(available), cutoff_source=cutoff_source)
        assert set(estimates_by_analysis_choice(frames, 40)["row"]) == rows


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_headline_numbers_are_those_that_the_data_allow(drawn_frames):
    few = drawn_frames.with_tasks(["Atelectasis"])
    frames = replace(few, available=frozenset({FULL_SLICE, PROBABILITIES}))
    assert set(headlines_published_beside_clustered(frames, 40)["item"]) == {"Table 1", "Extended Data 4"}


def test_the_headline_numbers_are_counted_written_and_drawn(headlines):
    item = headlines
    rows = item.frame
    signs = rows[rows["conclusion_published"] != ""]
    assert f"changes in {signs['changed'].sum()} of the {len(signs)} rows" in item.note
    html = item.table.as_raw_html().replace("\u2212", "-")
    # decreases are percentages, the others are not
    for row in rows[rows["item"].isin(["Extended Data 5-6", "Table 3"])].itertuples():
        digits = 1 if row.item == "Extended Data 5-6" else 3
        assert f"{row.estimate:.{digits}f} ({row.conf_low:.{digits}f}, {row.conf_high:.{digits}f})" in html
    n_arrows = signs["changed"].sum()
    assert html.count(" \u2192 ") == n_arrows
    main = rows[(rows["item"] == "Extended Data 5-6") & (rows["method"] == METHOD)]
    drawn = item.figure.data
    assert sorted(drawn["estimate"]) == sorted([*main["published_estimate"], *main["estimate"]])
    assert sorted(drawn["conf_low"]) == sorted([*main["published_low"], *main["conf_low"]])
