"""What a report holds follows from the columns."""

import numpy as np
import pandas as pd
import pytest
from report_text import analyses_of, frames_of, sentences_of

import salstats as ss
from salstats.display.report.analyses import Analyses
from salstats.errors import SalstatsError
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH, add_caution

#: Covariates of the embedded study.
COVARIATES = {"n_instances", "area_ratio", "elongation", "irrectangularity"}


def test_without_a_reference_there_is_no_comparison(small):
    assert set(frames_of(small[small["method"] != "human"])) == {"flow", "describe", "means", "best"}


def test_human_is_the_reference_unless_another_is_named(small):
    assert set(frames_of(small)["decrease"]["reference"]) == {"human"}
    frames = frames_of(small, reference="occlusion")
    assert set(frames["decrease"]["reference"]) == {"occlusion"}
    assert "human" in set(frames["decrease"]["method"])


def test_one_method_and_no_task_give_a_report(small):
    one = small[(small["method"] == "gradcam") & (small["task"] == "Edema")].drop(columns="task")
    assert len(frames_of(one)["means"]) == 1


@pytest.mark.parametrize("metric", ["ncc", "my_score"])
def test_a_metric_without_a_true_zero_has_differences_but_no_decrease(small, metric):
    frames = frames_of(small.assign(metric=metric))
    assert "difference" in frames
    assert "decrease" not in frames


def test_a_covariate_that_does_not_vary_within_tasks_has_no_slope(some):
    some = some.assign(prevalence=some["task"].map(lambda t: len(t) / 10))
    slopes = frames_of(some, covariates=["prevalence", "elongation"])["regression"].set_index("term")
    assert slopes.loc["prevalence", "estimate"].isna().all()
    assert slopes.loc["elongation", "estimate"].notna().all()


def test_a_method_that_always_fails_is_worse_although_its_decrease_has_no_interval(small):
    score = (small["score"] > 0.3).astype(float).where(small["score"].notna())
    hits = small.assign(metric="hit", score=score)
    hits.loc[(hits["method"] == "gradcam") & hits["score"].notna(), "score"] = 0.0
    row = frames_of(hits)["decrease"].query("method == 'gradcam' and task == 'Average'").iloc[0]
    assert row["estimate"] == 100
    assert row["verdict"] == "lower"
    assert "Grad-CAM and Occlusion scored worse" in sentences_of(hits)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_decreases_have_the_bounds_of_the_differences_p_values(small):
    frames = frames_of(small, test="bootstrap", n_replicates=99)
    keys = ["metric", "method", "task"]
    both = frames["decrease"].merge(frames["difference"], on=keys, suffixes=("", "_of_gap"))
    assert both["p_adjusted_floor"].notna().any()
    for column in ("p_adjusted", "p_floor", "p_adjusted_floor"):
        np.testing.assert_array_equal(both[column], both[f"{column}_of_gap"])


def test_a_report_without_a_test_of_differences_adjusts_what_has_p_values(some):
    analyses = analyses_of(some, test="none", adjust="holm", covariates=["elongation"])
    frames = analyses.frames
    assert "p_value" not in frames["difference"]
    assert "p_adjusted" in frames["regression"]
    assert "adjust(" not in analyses.calls["best"]


def test_a_margin_is_one_of_differences_and_decreases_keep_their_side(small):
    frames = frames_of(small, margin=0.9)
    difference, decrease = frames["difference"], frames["decrease"]
    assert difference["verdict"].str.contains("equivalent").any()
    assert set(decrease["verdict"]) <= {"lower", "higher", "inconclusive"}
    assert "p_margin" not in decrease


def test_the_t_interval_takes_fieller_for_decreases(small):
    frames = frames_of(small, interval="t")
    assert set(frames["means"]["interval"]) == set(frames["difference"]["interval"]) == {"t"}
    assert set(frames["decrease"]["interval"]) == {"fieller"}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.assign(score=0.5),
        lambda s: s.assign(score=np.where(s["method"] == "human", np.nan, s["score"])),
    ],
    ids=["all equal", "reference missing"],
)
def test_scores_that_say_little_still_give_a_report(small, spoil):
    text = sentences_of(spoil(small))
    assert not any(word in text.split() for word in ("nan", "NaN", "inf"))
    assert ss.__version__ in text


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_units_of_several_columns_or_without_an_id_are_those_of_every_analysis(small, some):
    frames = frames_of(some.assign(site="x"), unit="site, case", covariates=["elongation"])
    assert {"confidence", "correlation", "auroc", "calibration_curve", "regression"} <= set(frames)
    assert {str(u) for frame in frames.values() if "unit" in frame for u in frame["unit"]} == {"site, case"}
    unknown = small.assign(patient=small["case"].where(small["case"] != small["case"].iloc[0]).str[:-1])
    counted = frames_of(unknown)["describe"]
    assert counted["unit"].eq("patient").all()


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_the_confidence_level_is_that_of_every_analysis(some):
    frames = frames_of(some, level=0.9, covariates=["elongation"])
    levels = {
        key: set(frame["conf_level"].dropna()) for key, frame in frames.items() if "conf_level" in frame
    }
    assert {"means", "difference", "decrease", "auroc", "confidence", "regression"} <= set(levels)
    assert all(values == {0.9} for values in levels.values()), levels


def test_weights_reach_means_contrasts_and_regressions(small):
    odd = small["case"].astype("category").cat.codes % 2
    scores = small.assign(stands_for=1.0 + 2 * odd, size=small.groupby("case").ngroup() % 7)
    frames = frames_of(scores, weights="stands_for")
    for key in ("means", "difference", "decrease", "regression"):
        assert (frames[key]["weights"] == "stands_for").all(), key
    assert not frames["regression"]["formula"].str.contains("stands_for").any()
    of_tasks = frames_of(scores, weights={"Edema": 1.0, "Atelectasis": 2.0})
    assert of_tasks["means"]["weights"].notna().any()
    assert "weights" not in of_tasks["regression"].columns


def test_cautions_that_scores_carry_are_among_the_warnings(small):
    scores = add_caution(small, BASELINE_SHOWS_MUCH, np.ones(len(small), dtype=bool))
    further = set(analyses_of(scores).warnings) - set(analyses_of(small).warnings)
    assert further == {BASELINE_SHOWS_MUCH.name}
    warning = analyses_of(scores).warnings[BASELINE_SHOWS_MUCH.name]
    assert str(warning) == f"{len(small)} scores: {BASELINE_SHOWS_MUCH.note}"


def test_a_covariate_that_one_cell_makes_text_is_among_the_warnings(small):
    sizes = small["case"].factorize()[0].astype(str).astype(object)
    scores = small.assign(size=np.where(sizes == "0", "n/k", sizes), site="12A")
    columns = [warning.column for warning in analyses_of(scores).warnings.values()]
    assert "size" in columns
    assert "site" not in columns


def test_patients_are_described_by_covariates_that_are_the_same_in_all_their_rows(small):
    number = small["patient"].astype("category").cat.codes
    age = (50 + number % 20).where(number != 0)
    scores = small.assign(age=age, sex=np.where(number % 3, "F", "M"), size=small.groupby("case").ngroup())
    scores["size"] += scores["task"].eq("Edema")
    # of two values in each patient
    scores["view"] = np.where(scores["task"].eq("Edema"), "AP", "PA")
    scores["remark"] = "remark " + number.astype(str)
    frames = frames_of(scores)
    assert list(dict.fromkeys(frames["patients"]["covariate"])) == ["age", "sex"]
    by_patient = scores.drop_duplicates("patient")
    described = frames["patients"].set_index("covariate")
    assert described.loc["age", "median"] == by_patient["age"].median()
    assert described.loc["age", "n_missing"] == 1
    n_by_level = dict(zip(described.loc["sex", "level"], described.loc["sex", "n_level"], strict=True))
    assert n_by_level == by_patient["sex"].value_counts().to_dict()
    assert "Characteristics of patients" in sentences_of(scores)
    assert "patients" not in frames_of(small)
    assert "patients" not in frames_of(scores.drop(columns="patient"), unit="case")


def test_the_agreement_of_readers_is_that_of_methods_with_several(small):
    human = small["method"] == "human"
    first = small[human].assign(reader="r1")
    second = small[human].assign(reader="r2", score=small["score"] * 0.9)
    scores = pd.concat([small[~human].assign(reader="r1"), first, second], ignore_index=True)
    frame = frames_of(scores)["agreement"]
    assert set(frame["method"]) == {"human"}
    both = pd.concat([first, second])
    expected = ss.agreement(both, kind="krippendorff", by=["metric", "method", "task"])
    assert frame["estimate"].tolist() == pytest.approx(expected["estimate"].tolist())
    assert "agreement" not in frames_of(small)
    assert "agreement" not in frames_of(scores[scores["reader"] == "r1"])


def test_calibration_is_of_probabilities_of_a_label_that_varies(some):
    frames = frames_of(some)
    expected = ss.calibration(some, "prob", "label", by="task", unit="patient")
    pd.testing.assert_frame_equal(frames["calibration"], expected)
    assert set(frames["calibration_curve"]["task"]) == set(some["task"])
    for other in (
        some.assign(prob=some["prob"] * 10 - 5),
        some[some["label"] == 1],
        some.drop(columns="label"),
    ):
        assert not {"calibration", "calibration_curve"} & set(frames_of(other))


def test_an_analysis_that_fails_is_left_out_unless_a_report_needs_it():
    counts = []
    analyses = Analyses(count=lambda n_done, *_: counts.append(n_done))
    error = SalstatsError("too few scores")

    def failing():
        raise error

    analyses.store_frame_or_error("decrease", "ss.percent_decrease(scores)", failing)
    assert analyses.skipped == {"decrease": error}
    assert analyses.frames == analyses.calls == {}
    assert counts == [0, 1]
    for key in ("flow", "describe", "means"):
        with pytest.raises(SalstatsError):
            analyses.store_frame_or_error(key, "call", failing)


@pytest.mark.parametrize("name", ["finding size (mm)", 'the "new" size'])
def test_a_covariate_of_any_name_has_slopes(some, name):
    frames = frames_of(some.rename(columns={"elongation": name}), covariates=[name])
    assert set(frames["regression"]["term"]) == {name}
    assert "index" not in frames["regression"].columns


def test_the_code_of_decreases_takes_metrics_that_have_them(small):
    both = pd.concat([small, small.assign(metric="ncc")], ignore_index=True)
    analyses = analyses_of(both)
    assert set(analyses.frames["difference"]["metric"]) == {"iou", "ncc"}
    assert set(analyses.frames["decrease"]["metric"]) == {"iou"}
    assert "adjust(" in analyses.calls["best"]
    assert "scores[scores['metric'].isin(['iou'])]" in analyses.calls["decrease"]
