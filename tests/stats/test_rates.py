"""Pixel-pooled rates against the study's own script, a plain bootstrap loop and weighted least squares."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from pycocotools import mask as coco
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import ColumnError, SalstatsError
from salstats.frames import ESTIMATE_COLUMNS
from salstats.stats.rates import pooled_difference, pooled_rates

# sums of whole numbers are exact; one division and one quantile remain
RTOL = 1e-12
COUNTS = ["tp", "fp", "fn", "tn"]
# the hand-worked examples are small on purpose, and images of the study differ in size
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(fewer than (20|4) gives|units differ so much|has width 0):salstats.errors.SalstatsWarning"
)


def scores_of(counts, *, method="gradcam", metric="iou", cases=None, **columns):
    """A scores frame with a row of counts per case."""
    table = pd.DataFrame(counts, columns=COUNTS, dtype=float)
    table.insert(0, "case", [f"c{i:03d}" for i in range(len(table))] if cases is None else cases)
    return table.assign(method=method, metric=metric, score=0.5, **columns)


@pytest.fixture(scope="module")
def study(made_up):
    """Counts of the made-up study over the cases of its truth, from the masks, by COCO's own tools."""
    folder = made_up / "expected"
    truth = json.loads((folder / "gt_segmentations.json").read_text())
    files = {"saliency": "seg_otsu.json", "human": "hb_segmentations.json"}
    rows = []
    for method, file in files.items():
        masks = json.loads((folder / file).read_text())
        for case, tasks in truth.items():
            for task, rle in tasks.items():
                height, width = rle["size"]
                given = masks.get(case, {}).get(task)
                mask = given or coco.encode(np.zeros((height, width), np.uint8, order="F"))
                tp = int(coco.area(coco.merge([mask, rle], intersect=True)))
                fp, fn = int(coco.area(mask)) - tp, int(coco.area(rle)) - tp
                rows.append((case, task, method, tp, fp, fn, height * width - tp - fp - fn))
    table = pd.DataFrame(rows, columns=["case", "task", "method", *COUNTS])
    table["patient"] = table["case"].str.split("_").str[0]
    # the same counts stand beside each metric of a case; the mean of its scores plays no part here
    return pd.concat([table.assign(metric=m, score=np.nan) for m in ("dice", "iou")], ignore_index=True)


@pytest.mark.parametrize(("method", "file"), [("saliency", "pred"), ("human", "hb")])
def test_rates_equal_the_study_s_script(study, made_up, method, file):
    folder = made_up / "expected" / "prs"
    want = pd.read_csv(folder / f"{file}_precision_recall_specificity.csv").set_index("pathology")
    got = pooled_rates(study[study["method"] == method], interval="delta")
    wide = got.pivot(index="task", columns="metric", values="estimate").loc[want.index]
    names = {"precision": "precision", "recall": "recall/sensitivity", "specificity": "specificity"}
    for rate, column in names.items():
        np.testing.assert_allclose(wide[rate], want[column], rtol=RTOL)
    assert len(want) == 10


def test_replicates_are_those_of_a_plain_loop_over_patients(paired_counts):
    rows = paired_counts.dropna()
    patients = np.unique(rows["patient"])
    draws = np.random.default_rng(4).integers(0, len(patients), (60, len(patients)))
    got = pooled_rates(rows, draws=draws, rates=["precision", "specificity"]).set_index(
        ["metric", "method", "task"]
    )
    for method, task in (("cam", "a"), ("human", "b")):
        chosen = rows[(rows["method"] == method) & (rows["task"] == task)]
        of_patient = {p: chosen.loc[chosen["patient"] == p, COUNTS].to_numpy() for p in patients}
        replicates = []
        for drawn in draws:
            tp, fp, _, tn = np.vstack([of_patient[patients[i]] for i in drawn]).sum(axis=0)
            replicates.append((tp / (tp + fp), tn / (tn + fp)))
        for rate, values in zip(("precision", "specificity"), np.transpose(replicates), strict=True):
            row = got.loc[(rate, method, task)]
            want = [*np.quantile(values, [0.025, 0.975]), values.std(ddof=1)]
            np.testing.assert_allclose(row[["conf_low", "conf_high", "std_error"]].astype(float), want, RTOL)
    assert set(got["unit"]) == {"patient"}
    assert set(got["n_replicates"]) == {60}


def test_delta_equals_weighted_least_squares_with_clustered_errors(paired_counts):
    # a ratio of sums is the mean of the cases' ratios weighted by the pixels below the line
    chosen = paired_counts["method"].eq("cam") & paired_counts["task"].eq("a")
    rows = paired_counts[chosen].dropna()
    # an empty mask has no precision
    rows.iloc[0, rows.columns.get_indexer(["tp", "fp"])] = 0
    got = pooled_rates(rows, interval="delta").set_index("metric")
    below = {"precision": ("tp", "fp"), "recall": ("tp", "fn"), "specificity": ("tn", "fp")}
    for rate, (first, second) in below.items():
        kept = rows[rows[first] + rows[second] > 0]
        weight = (kept[first] + kept[second]).to_numpy(float)
        fit = sm.WLS(kept[first] / weight, np.ones(len(kept)), weights=weight).fit(
            cov_type="cluster", cov_kwds={"groups": pd.factorize(kept["patient"])[0]}, use_t=True
        )
        row = got.loc[rate]
        share, error = fit.params.iloc[0], fit.bse.iloc[0]
        # the same error on the logit scale: divided by the slope of the share there
        reach = stats.t.ppf(0.975, kept["patient"].nunique() - 1) * error / (share * (1 - share))
        odds = np.log(share / (1 - share)) + np.array([-reach, reach])
        want = [share, error, *(1 / (1 + np.exp(-odds)))]
        # least squares goes through a decomposition, which costs a few digits
        np.testing.assert_allclose(
            row[["estimate", "std_error", "conf_low", "conf_high"]].astype(float), want, 1e-9
        )
        assert (row["n_units"], row["df"]) == (kept["patient"].nunique(), kept["patient"].nunique() - 1)


def test_a_rate_of_1_has_an_interval_of_width_0_and_a_warning():
    frame = scores_of([(5, 1, 0, 44), (7, 2, 0, 41), (4, 1, 0, 45)] * 2)
    with warns(option="interval", value="delta", column="score", rows=(0,)):
        row = pooled_rates(frame, rates="recall", interval="delta").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (1, 1)


@pytest.mark.parametrize("counts", [(5, 1, 0, 44), (0, 1, 5, 44)])
def test_the_default_of_a_rate_of_0_or_1_is_wilsons_interval_of_as_many_trials_as_units(counts):
    row = pooled_rates(scores_of([counts] * 12), rates="recall").iloc[0]
    # with the quantile of Student's t instead of the normal one
    alpha = 2 * stats.norm.sf(stats.t.isf(0.025, df=11))
    expected = proportion_confint(12 * row["estimate"], 12, alpha=alpha, method="wilson")
    np.testing.assert_allclose([row["conf_low"], row["conf_high"]], expected, atol=1e-12)


@pytest.mark.parametrize(("interval", "width"), [("cr2", np.nan), ("percentile", 0), ("bca", 0)])
def test_other_limits_of_a_rate_of_1_are_missing_or_of_width_0_with_a_warning(interval, width):
    frame = scores_of([(5, 1, 0, 44)] * 24)
    with warns(option="interval", value=interval, rows=(0,)):
        row = pooled_rates(frame, rates="recall", interval=interval, n_replicates=100).iloc[0]
    np.testing.assert_equal(row["conf_high"] - row["conf_low"], width)


def test_counts_beside_several_metrics_are_used_once():
    one = scores_of([(6, 1, 0, 43), (0, 3, 2, 45), (3, 3, 3, 41)])
    # a hit has no counts, which is not a missing case as long as another metric has them
    hits = one.assign(metric="hit", **dict.fromkeys(COUNTS, np.nan))
    many = pd.concat([hits, one, one.assign(metric="dice")], ignore_index=True)
    pd.testing.assert_frame_equal(
        pooled_rates(many, interval="delta"), pooled_rates(one, interval="delta"), check_exact=True
    )


def test_cases_without_counts_are_missing_and_empty_masks_are_not():
    frame = scores_of([(6, 1, 0, 43), (0, 0, 5, 45), (np.nan,) * 4, (4, 1, 1, 44)])
    got = pooled_rates(frame, interval="delta").set_index("metric")
    assert set(got["n"]) == {3}
    assert set(got["n_missing"]) == {1}
    # the empty mask has no pixel below precision's line, and misses what it should have found
    assert got["n_units"].to_dict() == {"precision": 2, "recall": 3, "specificity": 3}
    np.testing.assert_allclose(got["estimate"]["recall"], 10 / 16, rtol=RTOL)


def test_a_rate_without_pixels_below_the_line_is_undefined():
    frame = scores_of([(0, 0, 5, 45), (0, 0, 3, 47)])
    with warns(column="n_undefined", rows=(0,), value=40):
        got = pooled_rates(frame, rates="precision", interval="percentile", n_replicates=40).iloc[0]
    assert np.isnan(got["estimate"])
    assert (got["n"], got["n_units"], got["n_undefined"]) == (2, 0, 40)


def test_average_is_the_mean_of_tasks_and_overall_pools_their_pixels():
    frame = pd.concat(
        [
            scores_of([(1, 1, 0, 8), (2, 0, 0, 8)], task="A"),
            scores_of([(1, 9, 0, 0), (1, 9, 0, 0), (np.nan,) * 4], task="B"),
        ],
        ignore_index=True,
    )
    got = pooled_rates(frame, rates="precision", interval="delta", average="task", overall=True)
    assert list(got["task"]) == ["A", "B", "Overall", "Average"]
    np.testing.assert_allclose(got["estimate"], [3 / 4, 2 / 20, 5 / 24, (3 / 4 + 2 / 20) / 2], rtol=RTOL)
    assert list(got["n"]) == [2, 2, 4, 4]
    assert list(got["n_missing"]) == [0, 1, 1, 1]


def test_columns_follow_the_contract():
    frame = scores_of([(6, 1, 2, 41)] * 15 + [(2, 1, 1, 46)] * 15, task="A")
    got = pooled_rates(frame, interval="percentile", n_replicates=50)
    assert list(got.columns[:4]) == ["metric", "method", "task", "term"]
    rest = [c for c in got.columns[3:] if c in ESTIMATE_COLUMNS]
    assert rest == [c for c in ESTIMATE_COLUMNS if c in rest]
    assert list(got.columns[-2:]) == ["bias", "n_replicates"]
    assert (got["conf_low"] <= got["estimate"]).all()
    assert (got["estimate"] <= got["conf_high"]).all()
    assert "df" in pooled_rates(frame, interval="delta").columns
    assert set(pooled_rates(frame, by="method", interval="delta")["n"]) == {30}


@pytest.mark.parametrize(
    ("frame", "column", "rows"),
    [
        (scores_of([(1, 1, 1, 1)]).drop(columns="tn"), "tn", ()),
        (scores_of([(1, -1, 1, 1)]), "fp", (0,)),
        (scores_of([(1, 1, 1, 1), (1, 1, 0.5, 1)]), "fn", (1,)),
        (scores_of([(1, np.nan, 1, 1)]), "fp", (0,)),
        # other counts than beside another metric
        (pd.concat([scores_of([(1, 1, 1, 1)]), scores_of([(1, 1, 1, 2)], metric="dice")]), "tn", (1,)),
    ],
)
def test_bad_counts_are_named(frame, column, rows):
    with raises(ColumnError, column=column, rows=rows):
        pooled_rates(frame)


def test_a_bad_count_is_named_by_the_keys_of_its_row():
    frame = scores_of([(1, 1, 1, 1), (1, 1, 0.5, 1)]).assign(case=["k1", "k2"], task="Edema", model="vgg")
    for row_name in ("case k2", "task Edema", "model vgg"):
        with raises(ColumnError, column="fn", rows=(1,), match=rf"\(.*{row_name}.*\)"):
            pooled_rates(frame)


def test_a_figure_takes_the_estimates():
    frame = pd.concat(
        [
            scores_of([(i + 1, 3, 10 - i, 80) for i in range(9)] * 3, task=task, method=method)
            for task in ("A", "B")
            for method in ("gradcam", "human")
        ],
        ignore_index=True,
    )
    figure = ss.plot_intervals(pooled_rates(frame, n_replicates=50))
    assert list(figure.data["panel"].cat.categories) == ["Precision", "Recall", "Specificity"]
    assert figure.labels.x == "Pooled rate (95% CI)"


N_PATIENTS = 30


@pytest.fixture(scope="module")
def paired_counts():
    """Two tasks, two cases per patient, a method and people; one case has no map."""
    random = np.random.default_rng(11)
    rows = []
    for patient in range(N_PATIENTS):
        for view in range(2):
            for task in ("a", "b"):
                for method, more in (("cam", 0), ("human", 40)):
                    tp, fp, fn = random.integers(1, 60, 3)
                    rows.append(
                        (f"p{patient:02d}", f"p{patient:02d}v{view}", task, method, tp + more, fp, fn, 900)
                    )
    frame = pd.DataFrame(rows, columns=["patient", "case", "task", "method", "tp", "fp", "fn", "tn"])
    frame = frame.astype({c: "float64" for c in ("tp", "fp", "fn", "tn")}).assign(metric="iou", score=0.5)
    lost = (frame["case"] == "p03v1") & (frame["method"] == "cam")
    frame.loc[lost, ["tp", "fp", "fn", "tn", "score"]] = np.nan
    return frame


def recall_gap(rows):
    """Recall of the method less that of people, of the cases that both have counts of."""
    known = rows.dropna(subset="tp")
    both = known.groupby(["case", "task"])["method"].transform("nunique") == 2
    sums = known[both].groupby("method")[["tp", "fn"]].sum()
    recall = sums["tp"] / (sums["tp"] + sums["fn"])
    return recall["cam"] - recall["human"]


def test_differences_are_those_of_ratios_of_sums_over_complete_pairs(paired_counts):
    got = pooled_difference(paired_counts, reference="human", rates="recall", n_replicates=50).set_index(
        "task"
    )
    for task, rows in paired_counts.groupby("task"):
        assert got.loc[task, "estimate"] == pytest.approx(recall_gap(rows), rel=RTOL)
        assert got.loc[task, "n"] == 2 * N_PATIENTS - 1
    assert (got["estimate"] == got["method_mean"] - got["reference_mean"]).all()
    assert set(got["verdict"]) == {"lower"}
    assert set(got["unit"]) == {"patient"}


def test_limits_are_those_of_resampled_patients(paired_counts):
    draws = np.random.default_rng(12).integers(0, N_PATIENTS, (80, N_PATIENTS))
    got = (
        pooled_difference(paired_counts, reference="human", rates="recall", draws=draws)
        .query("task == 'a'")
        .iloc[0]
    )
    # a case that lacks a map is lost to people too, in every replicate
    own = paired_counts[(paired_counts["task"] == "a") & (paired_counts["case"] != "p03v1")]
    sums = {m: rows.groupby("patient")[["tp", "fn"]].sum().to_numpy() for m, rows in own.groupby("method")}
    want = []
    for draw in draws:
        (tp, fn), (tp_human, fn_human) = (sums[m][draw].sum(axis=0) for m in ("cam", "human"))
        want.append(tp / (tp + fn) - tp_human / (tp_human + fn_human))
    limits = np.quantile(want, [0.025, 0.975])
    np.testing.assert_allclose(got[["conf_low", "conf_high"]].astype(float), limits, rtol=RTOL)
    assert got["std_error"] == pytest.approx(np.std(want, ddof=1), rel=1e-10)


def test_a_reference_that_is_not_there_is_an_error(paired_counts):
    with raises(SalstatsError, option="reference", value="people", choices=("cam", "human")):
        pooled_difference(paired_counts, reference="people")
    with raises(SalstatsError, option="reference", value="human", choices=()):
        pooled_difference(paired_counts[paired_counts["method"] == "human"], reference="human")
    of_people = {c: paired_counts[c].where(paired_counts["method"] == "human") for c in COUNTS}
    with raises(SalstatsError, option="reference", value="human", choices=()):
        pooled_difference(paired_counts.assign(**of_people), reference="human")


def test_counts_that_do_not_vary_leave_a_difference_inconclusive():
    cam = scores_of([(6, 1, 2, 41)] * 20, method="cam")
    human = scores_of([(8, 1, 0, 41)] * 20, method="human")
    row = pooled_difference(
        pd.concat([cam, human]), reference="human", rates="recall", interval="percentile", n_replicates=50
    ).iloc[0]
    assert row["conf_low"] == row["conf_high"] == pytest.approx(-0.25)
    assert row["verdict"] == "inconclusive"


def test_rates_are_ratios_of_sums_of_pixels():
    # sums: 8 in both, 2 in the prediction only, 3 in the truth only, 87 in neither
    frame = scores_of([(6, 2, 1, 41), (2, 0, 2, 46)])
    expected = {"precision": 8 / 10, "recall": 8 / 11, "specificity": 87 / 89, "iou": 8 / 13, "dice": 16 / 21}
    found = pooled_rates(frame, rates=list(expected), interval="delta").set_index("metric")["estimate"]
    assert found.to_dict() == pytest.approx(expected, rel=RTOL)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(pooled_rates) == {
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
        "overall": False,
    }
    assert default_numbers_and_flags(pooled_difference) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}
