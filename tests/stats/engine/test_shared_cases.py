"""Methods that were scored on different cases are marked, whatever is made of their scores."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.display.text.cautions import caution_note
from salstats.errors import SalstatsError, SalstatsWarning
from salstats.frames import ColumnCodes
from salstats.stats.engine.cautions import DIFFERENT_CASES, INCOMPLETE_PAIRS, row_mask_by_caution
from salstats.stats.engine.shared_cases import has_many_missing, own_shared_and_any_method_case_counts

#: How much the method scores below the human on every case.
GAP = -0.05
N_CASES, N_EASY = 40, 18


def method_scores(seed=3, noise=0.03):
    """Scores of a human and a method, case by case, the easiest first."""
    rng = np.random.default_rng(seed)
    ease = np.sort(rng.normal(0, 0.12, N_CASES))[::-1]
    rows = []
    for method, mean in (("gradcam", 0.59 + GAP), ("human", 0.59)):
        frame = pd.DataFrame({"case": [f"c{i:02d}" for i in range(N_CASES)], "method": method})
        frame["score"] = np.clip(mean + ease + rng.normal(0, noise, N_CASES), 0, 1)
        rows.append(frame)
    scores = pd.concat(rows, ignore_index=True).assign(metric="iou")
    # eases differ by row, and so does what explains them a little
    scores["size"] = rng.normal(np.tile(ease, 2), 0.1)
    return scores


def easier_half(scores):
    """Scores of which the method has its easiest cases only."""
    return scores[(scores["method"] != "gradcam") | (scores["case"] < f"c{N_EASY:02d}")]


def as_undefined(scores):
    """The same, the method's other cases having rows without a score."""
    left_out = ~scores.index.isin(easier_half(scores).index)
    return scores.assign(score=scores["score"].mask(left_out))


def with_pixels(scores):
    """Scores with the pixels that `pooled_rates` counts."""
    defined = scores["score"].notna()
    counts = pd.DataFrame({"tp": (100 * scores["score"]).round(), "fp": 10.0, "fn": 5.0, "tn": 900.0})
    return scores.join(counts.where(defined))


def said(call):
    """The result of a call, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(w.message) for w in caught if issubclass(w.category, SalstatsWarning)]


def case_cautions(frame):
    """Names of the cautions on cases that some row of a frame has."""
    cautions = row_mask_by_caution(frame)
    return {caution.name for caution in (DIFFERENT_CASES, INCOMPLETE_PAIRS) if caution in cautions}


SIDE_BY_SIDE = {
    "summarize": lambda scores: ss.summarize(scores),
    "describe": lambda scores: ss.describe(scores),
    "medians": lambda scores: ss.medians(scores),
    "pooled_rates": lambda scores: ss.pooled_rates(with_pixels(scores), rates=["recall"]),
    "correlate": lambda scores: ss.correlate(scores, "iou", "size"),
    "regress by method": lambda scores: ss.regress(scores, "iou ~ size"),
    "rank_stability": lambda scores: ss.rank_stability(scores, pairs="available", n_replicates=50),
}
ALL_ROWS = {
    "regress": lambda scores: ss.regress(scores, "iou ~ method"),
    "regress, logit": lambda scores: ss.regress(scores, "iou ~ method", family="fractional"),
    "quantile_regress": lambda scores: ss.quantile_regress(scores, "iou ~ method"),
    "means of a fit": lambda scores: ss.fit(scores, "iou ~ method").means("method"),
    "contrasts of a fit": lambda scores: ss.fit(scores, "iou ~ method").contrasts("method"),
    "joint_test": lambda scores: ss.joint_test(scores, "iou ~ method", "method"),
    "difference of available pairs": lambda scores: ss.difference(
        scores, reference="human", pairs="available"
    ),
}
PAIRED = {
    "difference": lambda scores: ss.difference(scores, reference="human"),
    "percent_decrease": lambda scores: ss.percent_decrease(scores, reference="human"),
    "median_difference": lambda scores: ss.median_difference(scores, reference="human"),
    "pooled_difference": lambda scores: ss.pooled_difference(
        with_pixels(scores), reference="human", rates=["recall"]
    ),
    "significance_map": lambda scores: ss.significance_map(scores, test="wilcoxon"),
    "rank_stability": lambda scores: ss.rank_stability(scores, n_replicates=50),
}


def test_cases_of_methods_are_counted():
    scores = easier_half(method_scores()).reset_index(drop=True)
    found = own_shared_and_any_method_case_counts(
        ColumnCodes(scores), ["metric", "method"], scores["score"].notna().to_numpy()
    )
    assert found.keys["method"].tolist() == ["gradcam", "human"]
    assert found.n_cases.tolist() == [N_EASY, N_CASES]
    assert found.n_shared.tolist() == [N_EASY] * 2
    assert found.n_any.tolist() == [N_CASES] * 2
    assert found.has_many_missing.tolist() == [True, False]


def test_many_are_more_than_a_tenth_and_more_than_the_root():
    # of few cases the root is more than a tenth, of 100 both are 10, of many a tenth is more
    most_that_are_few = {1: 1, 16: 4, 20: 4, 100: 10, 400: 40, 405: 40}
    n_any = np.array(list(most_that_are_few))
    n_missing = np.array(list(most_that_are_few.values()))
    assert not has_many_missing(n_missing, n_any).any()
    assert has_many_missing(n_missing + 1, n_any).all()


@pytest.mark.parametrize("form", [easier_half, as_undefined])
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_the_method_that_lacks_cases_is_marked(name, form):
    scores = form(method_scores())
    frame, messages = said(lambda: SIDE_BY_SIDE[name](scores))
    of_method = frame["method"] == "gradcam"
    assert frame.loc[of_method, "caution"].eq(DIFFERENT_CASES.name).all()
    assert frame.loc[~of_method, "caution"].isna().all()
    assert frame["n_shared"].eq(N_EASY).all()
    assert any(f"22 of {N_CASES}" in message for message in messages)
    assert str(N_EASY) in caution_note(frame)


@pytest.mark.parametrize("name", ALL_ROWS)
def test_estimates_of_all_methods_together_are_marked(name):
    frame, messages = said(lambda: ALL_ROWS[name](easier_half(method_scores())))
    assert frame["caution"].eq(DIFFERENT_CASES.name).all()
    assert any(f"22 of {N_CASES}" in message for message in messages)


@pytest.mark.parametrize("form", [easier_half, as_undefined])
@pytest.mark.parametrize("name", PAIRED)
def test_comparisons_say_how_many_pairs_they_leave_out(name, form):
    frame, messages = said(lambda: PAIRED[name](form(method_scores())))
    assert frame["caution"].eq(INCOMPLETE_PAIRS.name).all()
    assert any(f"22 of {N_CASES}" in message for message in messages)


@pytest.mark.parametrize("calls", [SIDE_BY_SIDE, ALL_ROWS, PAIRED])
def test_methods_with_the_same_cases_are_met_with_silence(calls):
    for call in calls.values():
        frame, messages = said(lambda call=call: call(method_scores()))
        assert "n_shared" not in frame.columns
        assert not case_cautions(frame)
        assert not messages


def test_a_few_undefined_scores_are_counted_and_not_marked():
    scores = method_scores()
    scores.loc[[3, 50], "score"] = np.nan
    frame, messages = said(lambda: ss.summarize(scores))
    assert frame["n_shared"].eq(N_CASES - 2).all()
    assert not case_cautions(frame)
    assert not messages
    assert not said(lambda: ss.difference(scores, reference="human"))[1]


def test_absent_findings_are_not_lacking():
    scores = method_scores()
    absent = scores["case"] < "c20"
    scores = scores.assign(label=(~absent).astype(int))
    nowhere = scores.assign(score=scores["score"].mask(absent))
    of_one = scores.assign(score=scores["score"].mask(absent & (scores["method"] == "human")))
    without_rows = of_one.dropna(subset="score")
    for data in (nowhere, of_one, without_rows):
        frame, messages = said(lambda data=data: ss.summarize(data))
        assert not case_cautions(frame)
        assert not messages


def test_a_case_without_any_score_is_not_lacking():
    scores = method_scores()
    scores["score"] = scores["score"].mask(scores["case"] < "c20")
    for call in (ss.summarize, lambda data: ss.difference(data, reference="human")):
        frame, messages = said(lambda call=call: call(scores))
        assert "n_shared" not in frame.columns
        assert not case_cautions(frame)
        assert not messages


def test_a_method_without_a_task_lacks_nothing_there_but_does_where_tasks_are_pooled():
    scores = pd.concat([method_scores().assign(task="Edema"), method_scores(4).assign(task="Mass")])
    scores = scores[(scores["method"] == "human") | (scores["task"] == "Edema")]
    assert not case_cautions(said(lambda: ss.summarize(scores))[0])
    pooled, messages = said(lambda: ss.summarize(scores, by=["metric", "method"]))
    assert pooled.set_index("method")["caution"].notna().to_dict() == {"gradcam": True, "human": False}
    assert len(messages) == 1
    overall, _ = said(lambda: ss.summarize(scores, overall=True))
    marked = overall[overall["caution"].notna()]
    assert marked[["method", "task"]].values.tolist() == [["gradcam", "Overall"]]
    assert overall.loc[overall["task"] == "Overall", "n_shared"].eq(N_CASES).all()


def test_an_average_lacks_no_cases_of_a_group_without_weight():
    edema = easier_half(method_scores()).assign(task="Edema")
    mass = method_scores(4).assign(task="Mass")
    scores = pd.concat([edema, mass], ignore_index=True)
    for weights, marked in (
        ({"Edema": 0, "Mass": 1}, {("gradcam", "Edema")}),
        ({"Edema": 1, "Mass": 0}, {("gradcam", "Edema"), ("gradcam", "Average")}),
    ):
        frame, _ = said(lambda weights=weights: ss.summarize(scores, average="task", weights=weights))
        cautious = frame[frame["caution"].notna()]
        assert set(zip(cautious["method"], cautious["task"], strict=True)) == marked
        n_shared = frame[frame["method"] == "human"].set_index("task")["n_shared"]
        assert n_shared["Edema"] == N_EASY
        assert n_shared["Mass"] == N_CASES
        assert n_shared["Average"] == (N_CASES if weights["Mass"] else N_EASY)


def test_readers_of_a_case_are_one_case():
    scores = method_scores()
    human = scores[scores["method"] == "human"]
    readers = [human.assign(reader=reader) for reader in ("r1", "r2")]
    both = pd.concat([scores[scores["method"] == "gradcam"], *readers], ignore_index=True)
    frame, messages = said(lambda: ss.summarize(both, by=["method"]))
    assert "n_shared" not in frame.columns
    assert not case_cautions(frame)
    assert not messages
    part = both[(both["method"] == "gradcam") | (both["case"] < "c20")]
    frame, _ = said(lambda: ss.summarize(part, by=["method"]))
    assert frame["caution"].notna().tolist() == frame["method"].eq("human").tolist()
    assert frame["n_shared"].eq(20).all()


@pytest.mark.parametrize("name", ["summarize", "describe", "medians"])
def test_the_call_that_a_warning_names_compares_like_with_like(name):
    scores = easier_half(method_scores())
    _, messages = said(lambda: SIDE_BY_SIDE[name](scores))
    (message,) = messages
    call = re.search(r"\w+\(scores, reference='human'\)", message)[0]
    result, _ = said(lambda: eval(f"ss.{call}", {"ss": ss, "scores": scores}))
    assert result["estimate"].item() == pytest.approx(GAP, abs=0.03)
    assert result["n"].item() == N_EASY


@pytest.mark.parametrize("name", ["correlate", "regress by method"])
def test_the_rows_that_a_warning_names_are_of_the_same_cases(name):
    scores = as_undefined(method_scores())
    _, messages = said(lambda: SIDE_BY_SIDE[name](scores))
    expression = re.search(r"with given = (.*), (given\[.*\]) keeps", messages[0])
    given = eval(expression[1], {"data": scores})
    kept = eval(expression[2], {"given": given})
    frame, messages = said(lambda: SIDE_BY_SIDE[name](kept))
    assert "n_shared" not in frame.columns
    assert not case_cautions(frame)
    assert not messages
    assert frame["n"].eq(N_EASY).all()


def test_effects_of_cases_compare_within_cases():
    scores = easier_half(method_scores())
    pooled, _ = said(lambda: ss.regress(scores, "iou ~ method"))
    assert pooled["estimate"].iloc[1] < 0
    for formula in ("iou ~ method + (1|case)", "iou ~ method + case"):
        within, _ = said(lambda formula=formula: ss.regress(scores, formula))
        assert within["estimate"].iloc[1] == pytest.approx(-GAP, abs=0.015)
        assert not case_cautions(within)


def test_bounds_that_a_warning_names_hold_the_gap_of_all_cases():
    scores = easier_half(method_scores())
    _, messages = said(lambda: ss.difference(scores, reference="human"))
    call = re.search(r"missing_bounds\(.*scores=scores\)", messages[0])[0]
    named = {"missing_bounds": ss.missing_bounds, "difference": ss.difference, "scores": scores}
    bounds, _ = said(lambda: eval(call, named))
    assert bounds["bound_low"].item() < GAP < bounds["bound_high"].item()


def test_gaps_to_a_reference_say_how_many_lack():
    scores = easier_half(method_scores())
    _, messages = said(lambda: ss.regress(scores, "iou ~ size", reference="human"))
    assert any(f"22 of {N_CASES}" in message for message in messages)
    assert not said(lambda: ss.regress(method_scores(), "iou ~ size", reference="human"))[1]


def test_areas_of_methods_on_different_cases_are_marked():
    scores = method_scores().assign(truth=lambda frame: frame["case"].str[1:].astype(int) % 2)
    part = easier_half(scores)
    areas, messages = said(lambda: ss.auroc(part, "iou", "truth"))
    assert areas.set_index("method")["caution"].notna().to_dict() == {"gradcam": True, "human": False}
    call = re.search(r"auroc\(data.*reference='human'\)", messages[0])[0]
    compared, messages = said(lambda: eval(f"ss.{call}", {"ss": ss, "data": part}))
    assert compared["n"].item() == N_EASY
    assert compared["caution"].eq(INCOMPLETE_PAIRS.name).all()
    assert any(f"22 of {N_CASES}" in message for message in messages)
    assert not said(lambda: ss.auroc(scores, "iou", "truth"))[1]


def test_tables_and_figures_say_it():
    scores = easier_half(method_scores())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        tables = [
            ss.table_estimates(ss.summarize(scores)),
            ss.table_describe(ss.describe(scores)),
            ss.table_decrease(ss.difference(scores, reference="human")),
            ss.table_regression(ss.regress(scores, "iou ~ method")),
        ]
        figures = [
            ss.plot_box(scores),
            ss.plot_intervals(ss.summarize(scores)),
            ss.plot_ranks(ss.rank_stability(scores, pairs="available", n_replicates=50)),
            ss.plot_scatter(scores, "size", "iou", by="method", fit=ss.fit_line(scores, "iou ~ size")),
        ]
    for table in tables:
        assert "Caution" in table.as_raw_html()
    for figure in figures:
        assert "Caution" in figure.labels.caption


def readings(cases):
    """Scores of four readers who read the cases of each method."""
    rng = np.random.default_rng(1)
    ease, skill = rng.normal(0, 0.12, 80), rng.normal(0, 0.02, 4)
    rows = []
    for method, own in cases.items():
        for reader in range(4):
            for case in own:
                rows.append((f"k{case:02d}", f"r{reader}", method, 0.5 + ease[case] + skill[reader]))
    frame = pd.DataFrame(rows, columns=["case", "reader", "method", "score"]).assign(metric="iou")
    return frame.assign(score=frame["score"] + rng.normal(0, 0.04, len(frame)))


@pytest.mark.parametrize("others", [range(40, 80), range(20, 60)])
def test_methods_on_the_same_cases_beside_one_on_others_are_no_study_of_readers(others):
    scores = readings({"a": range(40), "b": range(40), "c": others})
    with raises(SalstatsError, column="method", choices=("a", "b")) as error:
        ss.mrmc(scores)
    kept = scores[scores["method"].isin(error.value.choices)]
    found, messages = said(lambda: ss.mrmc(kept))
    assert not case_cautions(found)
    assert not messages


def test_two_methods_of_readers_on_different_cases_are_marked():
    found, messages = said(lambda: ss.mrmc(readings({"a": range(40), "c": range(40, 80)})))
    assert found["caution"].eq(DIFFERENT_CASES.name).all()
    assert found["n_shared"].eq(0).all()
    assert any("0 of 80 shared" in message for message in messages)


def test_curves_repetitions_and_replicates_say_it_too():
    scores = easier_half(method_scores())
    curves = pd.concat([scores.assign(fraction=step, prob=scores["score"]) for step in (0.0, 1.0)])
    found, messages = said(lambda: ss.mean_curves(curves.drop(columns="score")))
    assert found["caution"].notna().tolist() == found["method"].eq("gradcam").tolist()
    assert len(messages) == 1
    seeds = pd.concat([scores.assign(seed=seed, score=scores["score"] ** seed) for seed in (1, 2)])
    spread, messages = said(lambda: ss.within_case_sd(seeds, n_replicates=50))
    assert spread["caution"].notna().tolist() == spread["method"].eq("gradcam").tolist()
    assert any(f"22 of {N_CASES}" in message for message in messages)
    _, messages = said(lambda: ss.bootstrap(scores, n_replicates=10))
    assert any(f"22 of {N_CASES}" in message for message in messages)
