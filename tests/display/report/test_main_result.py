"""The first sentences of a report say what its tables say, whatever the scores."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from display.frames import demo_study, extreme_study, large_study, named_study, small_study
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from report_frames import faults

from salstats.display.report.analyses import ReportFrames, run_analyses
from salstats.display.report.composition import report_labels
from salstats.display.report.main_result import main_sentences
from salstats.display.report.settings import Settings, resolve_scores_and_settings
from salstats.display.report.wording import Wording
from salstats.errors import SalstatsError
from salstats.metrics.registry import registered_metric

#: As many times as a better score is larger, 0 where nobody knows.
DIRECTION = {"iou": 1, "hit": 1, "ncc": 1, "hd95": -1, "odd_one": 0}
METHODS = ("cam", "lime", "rise", "shap")
LABELS = {"cam": "CAM", "lime": "LIME", "rise": "RISE", "shap": "SHAP"}
HUMAN = "the human benchmark"


def odd_scores(metric, n_methods, n_tasks, n_cases, human, levels, undefined, seed):
    """Scores of few cases on a coarse scale, so that methods tie; `human` moves people up or down.

    Of odd seeds two cases are of one patient, and of every third the model's confidence goes with the score.
    """
    rng = np.random.default_rng(seed)
    methods = [*METHODS[:n_methods], *([] if human is None else ["human"])]
    rows = [(f"c{c}", f"t{t}", m) for c in range(n_cases) for t in range(n_tasks) for m in methods]
    scores = pd.DataFrame(rows, columns=["case", "task", "method"])
    score = rng.integers(0, levels, len(scores)) / max(levels - 1, 1)
    score += np.where(
        scores["method"] == "human", human or 0.0, 0.1 * (scores["method"] == "cam") * (seed % 3)
    )
    score = np.where(rng.random(len(scores)) < undefined, np.nan, score.clip(0, 1))
    size = scores["case"].map({f"c{c}": (7 * c) % 5 for c in range(n_cases)})
    scores = scores.assign(metric=metric, score=score, size=size)
    if seed % 2:
        scores["patient"] = scores["case"].map({f"c{c}": f"p{c // 2}" for c in range(n_cases)})
    if seed % 3 == 0:
        prob = scores.groupby(["case", "task"])["score"].transform("mean")
        scores["prob"] = prob.fillna(0.5).rank(pct=True)
    return scores


def named(text):
    """Methods that a text names."""
    return {m for m, label in LABELS.items() if re.search(rf"\b{label}\b", text)}


def judged(rows, metric):
    """Methods by whether they were shown to be worse or better than the reference of each row."""
    sign = DIRECTION[metric] or 1
    sides = rows["verdict"].astype(str).map({"lower": -sign, "higher": sign}).fillna(0)
    method = rows["method"].astype(str)
    return set(method[sides < 0]), set(method[sides > 0])


def check_best(text, frames, metric, compared):
    """The first sentence against the means and the differences from the best.

    `compared` are the methods that have scores on the metric, with or without a mean.
    """
    means = frames["means"]
    average = means[means["task"] == "Average"] if (means["task"] == "Average").any() else means
    own = average[average["method"].isin(compared)].set_index("method")["estimate"].dropna()
    goodness = own * (DIRECTION[metric] or 1)
    top = set(goodness.index[goodness == goodness.max()])
    first, _, rest = text.partition(";")
    rest, _, undefined = rest.partition(";")
    assert named(first) == top
    assert any(f"{own[min(top)]:.{d}f}" in first for d in (1, 2, 3, 4, 5, 6))
    if len(own) == 1:
        # nothing is claimed of methods without a score
        assert not named(rest)
        assert "was shown" not in rest
        return
    assert ("smaller is better" in first) == (DIRECTION[metric] < 0)
    assert f" {len(own)} methods" in first
    assert named(undefined) == compared - set(own.index)
    worse, better = judged(frames["best"], metric)
    contrasts = frames["best"].set_index("method")
    others = set(own.index) - {str(contrasts["reference"].iloc[0])}
    uncompared = {m for m in others if not contrasts["n_pairs"][m] or np.isnan(contrasts["estimate"][m])}
    if better:
        assert named(rest) == better
        assert "open which is" in rest
    elif "none of the others" in rest:
        assert not worse | uncompared
    elif "open which of them" in rest:
        inconclusive = re.search("(.*) not shown to score", rest)
        assert named(inconclusive[1] if inconclusive else "") == others - worse - uncompared
        clause = rest.partition("could not be compared")
        assert named(clause[0]) == others - worse
        assert bool(uncompared) == bool(clause[1])
    else:
        assert worse == others
        assert "open" not in rest


def check_distance(text, frames, metric, best):
    """The second sentence against the decrease, or the difference."""
    difference = frames["difference"]
    pooled = difference["task"] == "Average"
    own = (pooled if pooled.any() else True) & (difference["method"] == best)
    row = difference[own].iloc[0]
    worse, better = judged(difference[own], metric)
    said = {"worse": worse, "lower": worse, "better": better, "higher": better}
    if row["estimate"] != row["estimate"]:
        assert "could be compared" in text
    elif found := re.search(r"shown to score (\w+)", text):
        assert said[found[1]] == {best}
    else:
        assert "not shown to differ" in text
        assert not worse | better
    assert "∞" not in text
    if found := re.search(r"was (−?[\d,.]+)%", text):
        decrease = frames["decrease"]
        same = (decrease["method"] == best) & (decrease["task"] == row["task"])
        left = float(found[1].replace("−", "-").replace(",", ""))
        assert left + round(decrease.loc[same, "estimate"].iloc[0], 1) == pytest.approx(100, abs=0.051)


def check_found(text, frames, column, metric):
    """The third sentence against the slopes of scores, and the correlations with the confidence."""
    slopes = frames.get("regression", pd.DataFrame(columns=["reference", "p_adjusted", "estimate"]))
    slopes = slopes[slopes["reference"].isna()] if "reference" in slopes else slopes
    correlations = frames.get("correlation", slopes.iloc[:0])
    for way, sign in (("rose", 1), ("fell", -1)):
        n, n_pairs = (
            int(((rows["p_adjusted"] < 0.05) & (rows["estimate"] * sign > 0)).sum())
            for rows in (slopes, correlations)
        )
        # also of methods that could not be tested, of which nothing was shown
        of = f" ({n} of {len(slopes)} methods)" if len(slopes) > 1 else ""
        assert (f"{way} with {column}" in text) == (f"{way} with {column}{of}" in text) == (n > 0)
        groups = r"(methods|combinations of method and task)"
        share = rf" \({n_pairs} of {len(correlations)} {groups}\)" if len(correlations) > 1 else ""
        assert bool(re.search(rf"{way} with model confidence{share}[,.]", text)) == (n_pairs > 0)
    if correlations["p_adjusted"].notna().any():
        assert re.search(rf"\. By correlation, {re.escape(metric)} (was not shown to rise|rose|fell)", text)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    drawn=st.tuples(
        st.sampled_from(sorted(DIRECTION)),
        st.integers(1, 4),  # methods
        st.integers(1, 2),  # tasks
        st.integers(1, 8),  # cases
        st.sampled_from([None, -0.4, 0.0, 0.4]),  # no people, or how far they are ahead
        st.sampled_from([1, 2, 3, 50]),  # levels of the scale
        st.sampled_from([0.0, 0.3, 0.9, 1.0]),  # share that is undefined
        st.integers(0, 30),
    )
)
@example(drawn=("iou", 3, 2, 8, 0.4, 1, 0.0, 0))  # all tie
@example(drawn=("hd95", 3, 1, 8, -0.4, 50, 0.0, 1))  # smaller is better, people far ahead
@example(drawn=("iou", 2, 1, 8, -0.4, 50, 0.0, 2))  # people behind
@example(drawn=("iou", 1, 1, 6, None, 50, 0.0, 3))  # one method
@example(drawn=("ncc", 4, 2, 8, 0.4, 50, 0.3, 4))  # without a true zero
@example(drawn=("iou", 3, 1, 1, 0.4, 50, 0.0, 5))  # one unit
@example(drawn=("odd_one", 3, 1, 7, 0.4, 50, 0.3, 6))  # nobody knows what is better
@example(drawn=("iou", 3, 2, 8, 0.4, 50, 1.0, 7))  # all undefined
@example(drawn=("iou", 4, 1, 8, -0.4, 50, 0.0, 9))  # patients of two cases, confidence
@example(drawn=("hd95", 4, 2, 40, None, 50, 0.0, 12))  # confidence by task, no people
def test_first_sentences_agree_with_the_tables(drawn):
    metric, n_methods, _, n_cases, human, *_ = drawn
    scores = odd_scores(*drawn)
    options = {"interval": "t", "n_replicates": 19, "covariates": ["size"] if n_cases > 4 else None}
    if scores["patient" if "patient" in scores else "case"].nunique() == 1 or scores["score"].isna().all():
        with pytest.raises(SalstatsError):
            resolve_scores_and_settings(scores, Settings(**options))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        used, chosen = resolve_scores_and_settings(scores, Settings(**options))
        frames = run_analyses(used, chosen).frames
    words = Wording(chosen, report_labels(used, chosen))
    sentences = main_sentences(ReportFrames(frames), words)
    assert not [fault for text in sentences for fault in faults(text)]
    compared = set(METHODS[:n_methods])
    means = frames["means"]
    if means[means["method"].isin(compared)]["estimate"].isna().all():
        has_mean = means.loc[means["method"] == "human", "estimate"].notna().any()
        assert sentences[0].endswith("had a defined score.")
        assert (HUMAN in sentences[0]) == has_mean
        return
    best, distance, found = sentences
    means = means[means["estimate"].notna() | (means["task"] != "Average")]
    check_best(best, frames, metric, compared & set(means["method"]))
    if human is None:
        assert "No human benchmark" in distance
    else:
        check_distance(distance, frames, metric, min(named(distance)))
        assert named(distance) <= named(best.partition(";")[0])
        assert HUMAN in distance
    check_found(found, frames, words.column("size"), words.metric(metric))


@pytest.mark.parametrize(("sign", "verb"), [(1, "rose"), (-1, "fell")])
def test_scores_of_one_method_that_follow_a_covariate_rise_or_fall_with_it(sign, verb):
    scores = odd_scores("iou", 2, 1, 20, None, 50, 0.0, 2)
    follows = scores["method"] == "cam"
    scores.loc[follows, "score"] = 0.5 + sign * (scores["size"] / 10 + scores["score"] / 100)
    options = Settings(interval="t", n_replicates=19, covariates=["size"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        used, chosen = resolve_scores_and_settings(scores, options)
        frames = run_analyses(used, chosen).frames
    assert frames["regression"].set_index("method")["p_adjusted"].lt(0.05).to_dict() == {
        "cam": True,
        "lime": False,
    }
    wording = Wording(chosen, report_labels(used, chosen))
    found = main_sentences(ReportFrames(frames), wording)[-1]
    assert f"{verb} with {wording.column('size')} (1 of 2 methods)" in found
    assert ("rose" in found, "fell" in found) == (sign > 0, sign < 0)


def selected(scores, *methods, metric="iou", task=None):
    """Scores of some methods, by default all, on one metric and in all tasks or one."""
    rows = scores[scores["metric"] == metric]
    if methods:
        rows = rows[rows["method"].isin(methods)]
    if task is not None:
        rows = rows[rows["task"] == task]
    return rows


def without_scores(scores, method):
    """Scores in which those of one method are undefined."""
    return scores.assign(score=scores["score"].where(scores["method"] != method))


A, B, C, D = small_study(), large_study(n_cases=40, n_patients=20), named_study(), extreme_study()
E = demo_study()
E = E[E["case"].isin(E["case"].unique()[:60])].drop(columns="prob")
SIX = B.replace({"method": {"human": "consensus"}})
TIE = A.assign(score=A.groupby("case")["score"].transform("first"))
HALVES = selected(B, "ig", "lime", "human", task="Edema")
HALVES = HALVES[(HALVES["case"] < "case020") | (HALVES["method"] != "ig")]
HALVES = HALVES[(HALVES["case"] >= "case020") | (HALVES["method"] != "lime")]
#: The studies of `display.frames` and parts of them, with the reference that is named.
PARTS = {
    "A": (A, None),
    "A, a method as the reference": (A, "occlusion"),
    "A, one method": (selected(A, "gradcam"), None),
    "A, two cases": (A[A["case"] < "case002"], None),
    "A, a tie": (TIE, None),
    "A, one method undefined": (without_scores(A, "occlusion"), None),
    "A, reference undefined": (without_scores(A, "occlusion"), "occlusion"),
    "A, all but the reference undefined": (without_scores(A, "occlusion"), "gradcam"),
    "B": (B, None),
    "B, distance": (selected(B, metric="hd95"), None),
    "B, one task": (selected(B, task="Edema"), None),
    "B, distance in one task": (selected(B, metric="hd95", task="Edema"), None),
    "B, two methods": (selected(B, "ig", "lime", "human"), None),
    "B, two methods without people": (selected(B, "ig", "lime", metric="hd95"), None),
    "B, one method": (selected(B, "ig", "human", metric="hd95"), None),
    "B, one method without people": (selected(B, "ig", metric="hd95"), None),
    "B, six methods without a reference": (selected(SIX), None),
    "B, six methods on a distance": (selected(SIX, metric="hd95", task="Nodule"), None),
    "B, one method undefined": (without_scores(selected(B), "occlusion"), None),
    "B, one method undefined in one task": (without_scores(selected(B, task="Lesion"), "ig"), None),
    "B, people undefined": (without_scores(selected(B), "human"), None),
    "B, two methods without a common case": (HALVES, None),
    "B, hits": (selected(B, metric="hit"), None),
    "C": (C, None),
    "C, distance in one task": (selected(C, metric="hd95", task="肺结节"), None),
    "D": (D, None),
    "D, hits": (selected(D, metric="hit"), None),
    "D, one task": (selected(D, task="Edema"), None),
    "E": (E, None),
    "E, without people": (E[E["method"] != "human"], None),
}


def marked(text, wording, methods):
    """A text in which each method stands as "<key>", and not as its label, which may be a part of another."""
    label_of = {method: wording.method(method) for method in methods}
    for method in sorted(methods, key=lambda name: -len(label_of[name])):
        text = text.replace(label_of[method], f"\0{sorted(methods).index(method)}\0")
    return re.sub("\0(\\d+)\0", lambda match: f"<{sorted(methods)[int(match[1])]}>", text)


def named_keys(text):
    """The methods of a marked text."""
    return {key for key in re.findall(r"<(.+?)>(?=[ ,;.]|$)", text)}


def interval_after(text, subject):
    """The first estimate with limits behind a text, as numbers, and half of the last digit."""
    number = r"(−?[\d,]+\.?\d*)"
    match = re.search(rf"{re.escape(subject)}.*?{number}%? \[95% CI {number}, {number}\]", text)
    texts = [group.replace("−", "-").replace(",", "") for group in match.groups()]
    return [float(group) for group in texts], 0.51 * 10.0 ** -len(texts[0].partition(".")[2])


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_first_sentences_of_the_studies_name_method_direction_mean_and_interval(part):
    """Means are those of pandas; limits and what was shown are those of the frames."""
    scores, reference = PARTS[part]
    options = {"reference": reference, "n_replicates": 99, "covariates": ()}
    used, chosen = resolve_scores_and_settings(scores, Settings(**options))
    frames = run_analyses(used, chosen).frames
    wording = Wording(chosen, report_labels(used, chosen))
    sentences = main_sentences(ReportFrames(frames), wording)
    assert not [fault for text in sentences for fault in faults(text)]

    metric = "iou" if "iou" in set(used["metric"]) else used["metric"].iloc[0]
    sign = DIRECTION[metric]
    rows = used[used["metric"] == metric]
    keys = [column for column in ("method", "task") if column in rows]
    mean_of = rows.groupby(keys)["score"].mean().groupby("method").mean()
    reference = chosen.reference
    compared = mean_of[mean_of.index != reference]
    defined = compared.dropna()
    first = marked(sentences[0], wording, set(mean_of.index))
    if defined.empty:
        assert named_keys(first) == {reference}
        return
    claim, _, rest = first.partition("; ")
    best = set(defined.index[defined * sign == (defined * sign).max()])
    assert named_keys(claim) - {reference} == best
    assert ("smaller is better" in claim) == (sign < 0)
    assert ("averaged over tasks" in claim) == ("task" in rows and rows["task"].nunique() > 1)
    means = frames["means"][frames["means"]["metric"] == metric]
    if "averaged over tasks" in claim:
        means = means[means["task"] == "Average"]
    means = means.set_index("method")
    stated = list(best) if len(best) == 1 else []
    if len(defined) == 1:
        assert "best" not in claim
        assert "shown" not in first
        if reference is not None and np.isfinite(mean_of[reference]):
            stated.append(reference)
            assert not rest
        else:
            assert named_keys(first) == best
    else:
        assert f"the best mean score of {len(defined)} methods" in claim
        assert reference not in named_keys(first)
        # all methods that are named behind the best have a mean, but for those that are said to have none
        comparison, _, undefined = rest.partition("; ")
        assert named_keys(undefined) == set(compared.index) - set(defined.index)
        assert named_keys(comparison) <= set(defined.index)
        contrasts = frames["best"].set_index("method")
        shown = contrasts.index[contrasts["verdict"] == {1: "lower", -1: "higher"}[sign]]
        assert ("open" not in comparison) == (set(shown) == set(defined.index) - set(contrasts["reference"]))
    for method in stated:
        numbers, half_digit = interval_after(first, f"<{method}>")
        frame_numbers = means.loc[method, ["estimate", "conf_low", "conf_high"]]
        assert numbers == pytest.approx(frame_numbers.tolist(), abs=half_digit)
        assert numbers[0] == pytest.approx(mean_of[method], abs=half_digit)

    second = marked(sentences[1], wording, set(mean_of.index))
    if reference is None:
        assert not named_keys(second)
        return
    (subject,) = named_keys(second) - {reference}
    assert subject in best
    difference = frames["difference"][frames["difference"]["metric"] == metric]
    if "averaged over tasks" in claim:
        difference = difference[difference["task"] == "Average"]
    difference = difference.set_index("method").loc[subject]
    if np.isnan(difference["estimate"]):
        assert not re.search(r"\d", second)
        assert "shown" not in second
        return
    better = (difference["verdict"] == "higher") == (sign > 0)
    word = "not shown to differ"
    if difference["verdict"] in ("lower", "higher"):
        word = "shown to score better" if better else "shown to score worse"
    assert second.endswith(f"{word}.")


def test_metrics_of_the_test_have_the_directions_of_the_registry():
    for name, sign in DIRECTION.items():
        known = registered_metric(name)
        assert (0 if known is None else known.direction) == sign
