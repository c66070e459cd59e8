"""Marginal means, contrasts and slopes against R's emmeans, and averages over rows written out in R."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from regression_oracle import logit_model, rows_of
from scipy import special
from tests_support import raises, warns, warns_too

import salstats as ss
from salstats.errors import ColumnValue, SalstatsWarning, Setting, ValueRangeError
from salstats.stats.adjust import PROCEDURES

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
REFERENCE = Path(__file__).parents[2] / "reference" / "emmeans"
# both sides solve by QR and average a few hundred products
RTOL = 1e-9
# IRLS stops at 1e-12 of a coefficient here and at 1e-14 of the deviance in R
LOGIT_RTOL = 1e-7
# ours are differences of means at steps of 1e-4 of the range
SLOPE_RTOL = 1e-7

FORMULAS = {
    "crossed": ("score ~ {method} * site + x", "gaussian"),
    "slopes": ("score ~ {method} * x + site", "gaussian"),
    "logit": ("hit ~ {method} * x + site", "binomial"),
}
METHOD = 'C(method, Treatment("human"))'
CELL = 'C(cell, Treatment("human north"))'


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


@pytest.fixture(scope="module")
def of_r():
    return pd.read_csv(REFERENCE / "margins.csv").fillna({"by": "", "level": "", "reference": ""})


def fitted(scores, model, errors):
    formula, family = FORMULAS[model]
    unit = "patient" if errors in ("cluster", "cr2") else None
    # rows of a patient are taken as independent on purpose where errors are not clustered
    rows = scores if unit else scores.drop(columns="patient")
    return ss.fit(rows, formula.format(method=METHOD), by=(), family=family, errors=errors, unit=unit)


def ours(fit, kind, average, by):
    """The frame that goes with a kind of R's rows."""
    if kind == "mean":
        return fit.means("method", by=by, average=average)
    if kind == "contrast":
        return fit.contrasts("method", reference="human", by=by, average=average)
    if kind == "pairwise":
        return fit.contrasts("method", by=by, average=average)
    return fit.slopes("x", by=by, average=average)


@pytest.mark.parametrize("model", FORMULAS)
def test_margins_equal_those_of_r(scores, of_r, model):
    expected = of_r[of_r["model"] == model]
    assert len(expected) > 60
    for errors, of_errors in expected.groupby("vcov"):
        fit = fitted(scores, model, errors)
        for (average, kind), rows in of_errors.groupby(["average", "kind"]):
            sites = rows["by"].unique() if kind != "slope" else rows["level"].ne("").map({True: 1, False: 0})
            for split in sorted({bool(s) for s in sites}):
                column = "by" if kind != "slope" else "level"
                theirs = rows[rows[column].ne("") == split]
                by = () if not split else "site" if kind != "slope" else "method"
                frame = ours(fit, kind, average, by).assign(reference=lambda d: d.get("reference_level", ""))
                key = ["site"] * (by == "site") + ["method"] * (kind != "slope" or split) + ["reference"]
                theirs = theirs.rename(columns={"by": "site", "level": "method"})
                both = frame.merge(theirs, on=key, suffixes=("", "_r"), validate="1:1")
                assert len(both) == len(frame) == len(theirs)
                rtol = LOGIT_RTOL if model == "logit" else SLOPE_RTOL if kind == "slope" else RTOL
                for name in ("estimate", "std_error"):
                    np.testing.assert_allclose(
                        both[name], both[f"{name}_r"], rtol=rtol, err_msg=f"{errors} {average} {kind} {by}"
                    )
                np.testing.assert_allclose(both["df"].fillna(np.inf), both["df_r"], rtol=1e-8)


@pytest.mark.parametrize("errors", ["classical", "cluster"])
def test_means_of_one_factor_equal_emmeans_and_contrasts_its_pairs(synth1, r_expected, errors):
    expected = r_expected("lm_emmeans").query("adjust == 'none'")
    rows = synth1 if errors == "cluster" else synth1.drop(columns=["case", "patient"])
    fit = ss.fit(rows, "iou ~ n_instances + area_ratio + elongation + irrectangularity + task", errors=errors)
    means = fit.means("task").merge(expected, left_on="task", right_on="level", suffixes=("", "_r"))
    assert len(means) == 6
    np.testing.assert_allclose(means["estimate"], means["estimate_r"], rtol=RTOL)
    if errors == "classical":
        np.testing.assert_allclose(means[["std_error", "df"]], means[["SE", "df_r"]], rtol=RTOL)
        np.testing.assert_allclose(means[["conf_low", "conf_high"]], means[["lo", "hi"]], rtol=RTOL)
        pairs = fit.contrasts("task")
        pairs["level"] = pairs["reference_level"] + " - " + pairs["task"]
        pairs = pairs.merge(expected, on="level", suffixes=("", "_r"))
        assert len(pairs) == 15
        np.testing.assert_allclose(-pairs["estimate"], pairs["estimate_r"], rtol=1e-8)
        np.testing.assert_allclose(pairs["std_error"], pairs["SE"], rtol=RTOL)
        np.testing.assert_allclose(pairs["p_value"], pairs["p"], rtol=1e-7)


def test_average_marginal_effects_of_logit_models_equal_r(synth1, r_expected):
    effects = r_expected("glm_ame")
    for errors, vcov in (("hc0", "HC0"), ("cluster", "CL_HC1")):
        for model, expected in effects[effects["vcov"] == vcov].groupby("model"):
            formula, family = logit_model(model)
            rows = rows_of(synth1, model)
            if errors == "cluster":
                rows = rows.join(synth1["patient"])
            unit = "patient" if errors == "cluster" else None
            fit = ss.fit(rows, formula, family=family, errors=errors, unit=unit)
            for term, ame, std_error in expected[["term", "ame", "se"]].itertuples(index=False):
                slope = fit.slopes(term).iloc[0]
                assert slope["estimate"] == pytest.approx(ame, rel=LOGIT_RTOL)
                assert slope["std_error"] == pytest.approx(std_error, rel=LOGIT_RTOL)


def test_a_slope_follows_transforms_and_powers(scores):
    rows = scores.drop(columns=["patient", "method"])
    fit = ss.fit(rows, "score ~ log(x) + I(x ** 2)", by=())
    _, log, square = fit.tidy()["estimate"]
    by_hand = (log / rows["x"] + 2 * square * rows["x"]).mean()
    assert fit.slopes("x")["estimate"][0] == pytest.approx(by_hand, rel=1e-6)
    at_mean = log / rows["x"].mean() + 2 * square * rows["x"].mean()
    assert fit.slopes("x", average="grid")["estimate"][0] == pytest.approx(at_mean, rel=SLOPE_RTOL)


def test_frames_of_margins_name_what_is_compared_and_how(scores):
    rows = scores.assign(half=np.where(np.arange(len(scores)) % 2, "a", "b"))
    fit = ss.fit(rows, "score ~ method + site + x", by="half", errors="cr2", unit="patient")
    means = fit.means("method", by="site")
    assert means.columns.tolist() == [
        *("half", "site", "method", "formula", "estimate", "std_error", "df", "conf_low", "conf_high"),
        *("conf_level", "interval", "unit", "n", "n_missing", "n_units", "family", "errors", "average"),
    ]
    assert len(means) == 2 * 3 * 3
    contrasts = fit.contrasts("method", reference="lime", adjust="holm", level=0.9)
    assert contrasts["method"].tolist() == ["gradcam", "human"] * 2
    assert set(contrasts["reference_level"]) == {"lime"}
    assert {"p_value", "p_adjusted"} <= set(contrasts)
    assert (contrasts["conf_level"] == 0.9).all()
    slopes = fit.slopes("x", by="method")
    assert slopes["term"].tolist() == ["x"] * 6


def test_a_mean_that_the_data_do_not_determine_is_nan(scores):
    lacking = scores[(scores["method"] != "lime") | (scores["site"] != "west")].drop(columns="patient")
    with warns(option="formula", column="term"):
        fit = ss.fit(lacking, "score ~ method * site", by=())
    with warns(option="formula", column="estimate"):
        means = fit.means("method", by="site").set_index(["site", "method"])["estimate"]
    assert means.index[means.isna()].tolist() == [("west", "lime")]
    observed = lacking.groupby(["site", "method"])["score"].mean()
    np.testing.assert_allclose(means.dropna(), observed.loc[means.dropna().index], rtol=RTOL)


def test_models_without_estimates_have_margins_of_nan():
    rows = pd.DataFrame({"score": [0.1, 0.2, np.nan], "method": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    with warns(option=None, column="estimate"):
        fit = ss.fit(rows, "score ~ method + x")
    assert fit.means("method")["estimate"].isna().all()
    assert fit.slopes("x")["estimate"].isna().all()


@pytest.mark.parametrize(
    ("ask", "fields"),
    [
        (lambda fit: fit.means("x"), {"value": "x", "choices": ("method",)}),
        (lambda fit: fit.means("method", by="patient"), {"value": "patient", "choices": ("method",)}),
        (lambda fit: fit.means("method", by="method"), {"option": "by", "match": "'method'"}),
        (lambda fit: fit.contrasts("method", reference="ig"), {"column": "method", "value": "ig"}),
        (lambda fit: fit.slopes("method"), {"option": "covariate", "value": "method", "choices": ("x",)}),
        (lambda fit: fit.means("method", average="cases"), {"option": "average", "value": "cases"}),
        (lambda fit: fit.means("method", level=95), {"option": "level", "value": 95}),
        (lambda fit: fit.slopes("x", adjust="tukey"), {"option": "adjust", "value": "tukey"}),
    ],
)
def test_what_cannot_be_asked_is_said(scores, ask, fields):
    fit = ss.fit(scores.drop(columns="patient"), "score ~ method + x", by=())
    with raises(ValueRangeError, **fields):
        ask(fit)


@pytest.mark.parametrize(
    ("transform", "derivative"),
    [
        ("log(x)", lambda x: 1 / x),
        ("sqrt(x)", lambda x: 0.5 / np.sqrt(x)),
        ("logit(x)", lambda x: 1 / (x * (1 - x))),
    ],
)
def test_slopes_stay_inside_what_a_transform_is_defined_for(transform, derivative):
    rng = np.random.default_rng(1)
    x = rng.lognormal(0, 3, 200)
    x = x / (1 + x) if transform == "logit(x)" else x
    rows = pd.DataFrame({"score": rng.normal(size=200), "x": x})
    fit = ss.fit(rows, f"score ~ {transform}", by=())
    by_hand = (fit.tidy()["estimate"][1] * derivative(x)).mean()
    assert fit.slopes("x")["estimate"][0] == pytest.approx(by_hand, rel=1e-7)


def test_a_slope_at_the_end_of_a_transform_is_said_to_be_unknown():
    rows = pd.DataFrame({"score": [0.1, 0.4, 0.2, 0.5, 0.3], "x": [0.0, 1.0, 2.0, 3.0, 4.0]})
    fit = ss.fit(rows, "score ~ sqrt(x)", by=())
    with warns(column="x"):
        assert fit.slopes("x")["estimate"].isna().all()


def test_a_covariate_that_goes_with_another_has_no_slope_however_far_from_0(scores):
    rows = scores.drop(columns=["patient", "method"]).assign(
        year=lambda d: 2000 + np.arange(len(d)) % 2, yc=lambda d: d["year"]
    )
    with warns(option="formula", column="term"):
        fit = ss.fit(rows, "score ~ year + yc + x", by=())
    with warns(option="formula", column="estimate"):
        assert fit.slopes("yc")["estimate"].isna().all()
    assert fit.slopes("x")["estimate"].notna().all()


@pytest.fixture
def lacking():
    """Two groups, of which one has no site `a`."""
    rng = np.random.default_rng(6)
    rows = pd.DataFrame({"score": rng.random(90), "x": rng.random(90), "task": np.resize(["p", "q"], 90)})
    rows["site"] = np.resize(["a", "b", "c"], 90)
    return rows[(rows["task"] == "p") | (rows["site"] != "a")]


def test_a_level_that_a_group_lacks_is_nan_there_and_told_once(lacking):
    """Beside it stand the numbers of the groups that have it; a level that none has is refused."""
    fit = ss.fit(lacking, "score ~ site * x", by="task")
    alone = ss.fit(lacking[lacking["task"] == "p"], "score ~ site * x", by="task")
    asks = (
        lambda fit: fit.contrasts("site", reference="a"),
        lambda fit: fit.predict({"site": ["a", "b"], "x": 0.5}),
    )
    for ask in asks:
        with pytest.warns(SalstatsWarning) as told:
            found = ask(fit)
        texts = [str(w.message) for w in told if "no means (NaN)" in str(w.message)]
        assert texts == [
            "no means (NaN) at levels that do not occur in 1 model: score ~ site * x, task q: site a"
        ]
        own = found[found["task"] == "p"].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, ask(alone))
        of_q = found[found["task"] == "q"]
        of_a = of_q.get("reference_level", of_q["site"]) == "a"
        assert of_q["estimate"].isna().equals(of_a)
        assert of_a.any()
    for ask in (
        lambda: fit.contrasts("site", reference="d"),
        lambda: fit.predict({"site": "d"}),
    ):
        with raises(ValueRangeError, column="site", value="d", choices=("a", "b", "c")):
            ask()


@pytest.mark.filterwarnings("ignore:a reference level")
def test_a_line_held_at_a_level_that_a_group_lacks_is_nan_there(lacking):
    with warns_too(column="site"):
        line = ss.fit_line(lacking, "score ~ x + site", by="task", hold={"site": "a"}, n_points=3)
    assert line["estimate"].isna().equals(line["task"] == "q")
    assert (line["site"] == "a").all()


def test_a_reference_level_that_a_formula_lacks_stays_the_reference():
    rng = np.random.default_rng(1)
    sites = np.tile(list("abc"), 20)
    metrics = []
    for metric, is_scored in (("iou", sites != ""), ("hit", sites != "a")):
        cases = np.flatnonzero(is_scored)
        metrics.append(
            pd.DataFrame(
                {
                    "case": cases,
                    "method": "m",
                    "metric": metric,
                    "site": sites[cases],
                    "score": rng.random(len(cases)),
                }
            )
        )
    scores = pd.concat(metrics, ignore_index=True)
    with warns(column="site"):
        found = ss.fit(scores, ["iou ~ site", "hit ~ site"]).contrasts("site", reference="a")
    assert found[["site", "reference_level"]].values.tolist() == [["b", "a"], ["c", "a"]] * 2
    assert found["estimate"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("model", "errors"), [("crossed", "classical"), ("crossed", "cluster"), ("logit", "classical")]
)
def test_margins_of_contrasts_are_tested_as_emmeans_does(scores, model, errors):
    expected = pd.read_csv(REFERENCE / "equivalence.csv").query("model == @model and errors == @errors")
    fit = fitted(scores, model, errors)
    for (width, side), rows in expected.groupby(["margin", "side"]):
        margin = {"equivalence": width, "low": (-width, None), "high": (None, width)}[side]
        got = fit.contrasts("method", margin=margin)
        names = got["method"] + " - " + got["reference_level"]
        theirs = rows.set_index("contrast")["p_margin"].loc[names]
        # P of 1e-30 lies far out in a tail
        np.testing.assert_allclose(got["p_margin"], theirs, rtol=1e-4 if model == "logit" else 1e-7)
        shown = got["verdict"].str.contains("equivalent" if side == "equivalence" else "not ")
        assert (shown == (theirs.to_numpy() < 0.05)).all()
        lower = got["verdict"].str.startswith("lower")
        assert (lower == ((got["p_value"] < 0.05) & (got["estimate"] < 0))).all()
    assert len(expected) == 27


def test_all_is_every_pair_unless_a_level_is_called_so(scores):
    fit = ss.fit(scores, "score ~ method + site", by=(), errors="cr2", unit="patient")
    pd.testing.assert_frame_equal(fit.contrasts("method", reference="all"), fit.contrasts("method"))
    renamed = scores.replace({"method": {"lime": "all"}})
    fit = ss.fit(renamed, "score ~ method + site", by=(), errors="cr2", unit="patient")
    assert set(fit.contrasts("method", reference="all")["reference_level"]) == {"all"}


def test_a_margin_of_gaps_bounds_the_other_side():
    scores = ss.datasets.load_simulated()
    gaps = ss.fit(scores, "iou ~ task", reference="human", by="method", errors="cr2", unit="patient")
    got = gaps.contrasts("task", margin=(None, 0.2))
    # gaps are reference - method: what is bounded is how much worse a method is
    assert got["verdict"].str.contains("not inferior").all()


def test_average_marginal_effects_are_slopes_and_contrasts_over_rows(scores):
    fit = ss.fit(scores, "hit ~ method * x + site", by=(), family="binomial", errors="cr2", unit="patient")
    effects = fit.effects(adjust="holm")
    assert effects["term"].tolist()[:3] == ["methodhuman", "methodlime", "x"]
    columns = ["estimate", "std_error", "df", "p_value", "conf_low", "conf_high"]
    slope = fit.slopes("x")
    found = effects[effects["term"] == "x"]
    np.testing.assert_allclose(found[columns], slope[columns], rtol=1e-12)
    for factor in ("method", "site"):
        rows = effects[effects["term"].str.startswith(factor)]
        base = rows["reference_level"].iloc[0]
        contrasts = fit.contrasts(factor, reference=base, average="rows")
        np.testing.assert_allclose(rows[columns], contrasts[columns], rtol=1e-12)
    again = ss.regress(
        scores, "hit ~ method * x + site", by=(), family="binomial", unit="patient", effects="marginal",
        adjust="holm",
    )  # fmt: skip
    pd.testing.assert_frame_equal(effects, again)
    with raises(ValueRangeError, option="exponentiate", value=True, message=Setting("effects", "marginal")):
        ss.regress(scores, "hit ~ x", by=(), family="binomial", effects="marginal", exponentiate=True)


def test_effects_of_a_linear_model_are_its_coefficients(scores):
    fit = ss.fit(scores, "score ~ method + x", by=(), unit="patient")
    effects, terms = fit.effects(), fit.tidy().iloc[1:]
    assert effects["term"].tolist() == terms["term"].tolist()
    assert effects["reference_level"].dropna().tolist() == terms["reference_level"].dropna().tolist()
    for column in ("estimate", "std_error", "df", "conf_low"):
        np.testing.assert_allclose(effects[column], terms[column], rtol=1e-9)


def test_a_group_without_complete_rows_has_no_effects_of_factors():
    table = pd.DataFrame(
        {"site": list("aaaabbbb"), "device": list("pqpqpqpq"), "score": [0.1, 0.4, 0.2, 0.6] + 4 * [np.nan]}
    )
    with warns(option=None, column="estimate", message=ColumnValue("site", "b")):
        fit = ss.fit(table, "score ~ device", by="site")
    assert fit.effects()["site"].tolist() == ["a"]


AT = {"x": {"x": 1.5}, "two_x": {"x": [1.5, 4]}, "site": {"site": ["north", "west"], "x": 3}}
MODELS_AT = {
    "classical": (f"score ~ {METHOD} * x + site", "gaussian", "classical"),
    "satterthwaite": (f"score ~ {METHOD} * x + site + (1|patient)", "gaussian", "satterthwaite"),
    "kenward-roger": (f"score ~ {METHOD} * x + site + (1|patient)", "gaussian", "kenward-roger"),
    "logit": (f"hit ~ {METHOD} * x + site", "binomial", "classical"),
}
# optimizers of mixed models stop within 1e-6 of the same variances
MIXED_RTOL = 2e-5


@pytest.fixture(scope="module")
def values_and_limits():
    expected = pd.read_csv(REFERENCE / "values_and_limits.csv")
    return expected.fillna({"adjust": "", "reference": ""})


@pytest.mark.parametrize("model", MODELS_AT)
def test_means_at_values_and_limits_of_their_contrasts_equal_emmeans(scores, values_and_limits, model):
    formula, family, errors = MODELS_AT[model]
    rows = scores if "patient" in formula else scores.drop(columns="patient")
    fit = ss.fit(rows, formula, by=(), family=family, errors=errors)
    expected = values_and_limits.query("model == @model and scale != 'response'")
    expected = expected.assign(split=expected["x"].notna())
    n_compared = 0
    for (scale, at, adjust, split), theirs in expected.groupby(["scale", "at", "adjust", "split"]):
        options = {"by": "x" if split else (), "at": AT[at], "scale": scale}
        if adjust:
            frame = fit.contrasts("method", adjust=adjust, **options)
        else:
            frame = fit.means("method", **options).assign(reference_level="")
        compared = frame.rename(columns={"reference_level": "reference"})
        compared = with_levels_in_order(compared) if adjust else compared
        theirs = with_levels_in_order(theirs) if adjust else theirs
        keys = ["method", "reference", *(["x"] if split else [])]
        both = compared.merge(theirs, on=keys, suffixes=("", "_r"), validate="1:1")
        assert len(both) == len(frame) == len(theirs)
        n_compared += len(both)
        rtol = MIXED_RTOL if "patient" in formula else LOGIT_RTOL if family == "binomial" else RTOL
        # R's qtukey is exact to 1e-4 of the quantile, and its ptukey to 1e-10
        limits_rtol = 1e-4 if adjust == "tukey" else 10 * rtol
        for name in ("estimate", "std_error"):
            np.testing.assert_allclose(both[name], both[f"{name}_r"], rtol=10 * rtol, atol=1e-12)
        for name in ("conf_low", "conf_high"):
            np.testing.assert_allclose(both[name], both[f"{name}_r"], rtol=limits_rtol, atol=limits_rtol / 10)
        np.testing.assert_allclose(both["df"].fillna(np.inf), both["df_r"], rtol=10 * rtol)
        if adjust:
            p_value = both["p_adjusted" if adjust != "none" else "p_value"]
            np.testing.assert_allclose(p_value, both["p_value_r"], rtol=100 * rtol, atol=1e-9)
    assert n_compared >= 36


def with_levels_in_order(contrasts):
    """Contrasts of the later level minus the earlier, whichever was subtracted."""
    turned = contrasts["method"] < contrasts["reference"]
    low, high = contrasts["conf_low"], contrasts["conf_high"]
    return contrasts.assign(
        method=contrasts["reference"].where(turned, contrasts["method"]),
        reference=contrasts["method"].where(turned, contrasts["reference"]),
        estimate=contrasts["estimate"].where(~turned, -contrasts["estimate"]),
        conf_low=low.where(~turned, -high),
        conf_high=high.where(~turned, -low),
    )


def test_the_inverse_logit_of_means_on_the_link_is_emmeans_of_type_response(scores, values_and_limits):
    formula, family, errors = MODELS_AT["logit"]
    fit = ss.fit(scores.drop(columns="patient"), formula, by=(), family=family, errors=errors)
    expected = values_and_limits.query("scale == 'response' and x.isna()")
    for at, theirs in expected.groupby("at"):
        means = fit.means("method", at=AT[at], scale="link").merge(theirs, on="method", suffixes=("", "_r"))
        assert len(means) == 3
        for name in ("estimate", "conf_low", "conf_high"):
            np.testing.assert_allclose(special.expit(means[name]), means[f"{name}_r"], rtol=LOGIT_RTOL)


def test_means_over_rows_set_the_columns_of_at_in_every_row(scores):
    fit = ss.fit(scores.drop(columns="patient"), "hit ~ method * x + site", by=(), family="binomial")
    at = {"x": [1.5, 4.0], "site": "west"}
    means = fit.means("method", at=at, average="rows")
    by_value = fit.means("method", by="x", at=at, average="rows")
    assert set(means["at"]) == {"x = 1.5, 4; site = west"}
    # every row has the same values of the other columns, so that the mean is that of the two predictions
    predictions = fit.predict({"x": at["x"], "site": "west", "method": means["method"].tolist()})
    np.testing.assert_allclose(means["estimate"], predictions.groupby("method")["estimate"].mean(), rtol=RTOL)
    both = by_value.merge(predictions, on=["x", "method"], suffixes=("", "_row"))
    assert len(both) == 6
    np.testing.assert_allclose(both["estimate"], both["estimate_row"], rtol=RTOL)
    observed = fit.means("method", at={"x": 2}, average="rows")["estimate"]
    by_hand = [
        fit.predict(scores.assign(method=method, x=2)[["method", "x", "site"]])["estimate"].mean()
        for method in means["method"]
    ]
    np.testing.assert_allclose(observed, by_hand, rtol=RTOL)


#: Formulas and kinds of standard errors of the models of simultaneous.R.
MODELS_OF_FAMILIES = {
    "one reference": (f"score ~ {CELL} + x", "classical"),
    "robust": (f"score ~ {CELL} + x", "cluster"),
    "crossed": (f"score ~ {METHOD} * site + x", "classical"),
    "mixed": (f"score ~ {METHOD} * x + site + (1|patient)", "satterthwaite"),
    "logit": (f"hit ~ {METHOD} * x + site", "classical"),
}
# The errors that mvtnorm gives for its P values are 7e-6 for 8 contrasts, 2e-4 for 36, and 2e-6 for the three
# of three methods.
ATOL_PRECISE = {"one reference": 1e-5, "robust": 3e-4, "crossed": 1e-5, "mixed": 1e-5, "logit": 1e-5}
# With three methods the integral is exact here; with nine cells, contrasts of rank 8, four standard
# deviations between scrambled sequences of points are this share of the P value.
RTOL_PRECISE = {"one reference": 1.6e-3, "robust": 1.6e-3, "crossed": 0, "mixed": 0, "logit": 0}
# emmeans' own P values and quantiles are those of mvtnorm's default, with an absolute error of 1e-3
ATOL_OF_EMMEANS = 1e-3
RTOL_QUANTILE = 2e-3


@pytest.mark.parametrize("model", MODELS_OF_FAMILIES)
def test_sidak_and_multivariate_t_equal_emmeans(scores, model):
    formula, errors = MODELS_OF_FAMILIES[model]
    rows = scores
    term = "method"
    if CELL in formula:
        term = "cell"
        rows = scores.assign(cell=scores["method"] + " " + scores["site"]).drop(columns=["method", "site"])
    if errors == "classical":
        rows = rows.drop(columns="patient")
    family = "binomial" if model == "logit" else "gaussian"
    fit = ss.fit(rows, formula, by=(), family=family, errors=errors)
    expected = pd.read_csv(REFERENCE / "simultaneous.csv").query("model == @model")
    assert "mvt" in set(expected["adjust"])
    options = {"scale": "link"} if model == "logit" else {}
    if model == "one reference":
        options["reference"] = "human north"
    if model == "crossed":
        options["by"] = "site"
    for adjust, theirs in expected.groupby("adjust"):
        found = fit.contrasts(term, adjust=adjust, **options)
        found = found.rename(columns={term: "method", "reference_level": "reference"})
        found = with_levels_in_order(found).assign(by=found.get("site", ""))
        theirs = with_levels_in_order(theirs.rename(columns={"level": "method"}).fillna({"by": ""}))
        keys = ["by", "method", "reference"]
        both = found.merge(theirs, on=keys, suffixes=("", "_r"), validate="1:1")
        assert len(both) == len(found) == len(theirs)
        rtol = MIXED_RTOL if model == "mixed" else LOGIT_RTOL if model == "logit" else RTOL
        np.testing.assert_allclose(both["estimate"], both["estimate_r"], rtol=10 * rtol, atol=1e-12)
        # half-widths in standard errors are the quantiles
        quantile = (both["conf_high"] - both["conf_low"]) / both["std_error"] / 2
        quantile_r = (both["conf_high_r"] - both["conf_low_r"]) / both["std_error_r"] / 2
        if adjust == "sidak":
            np.testing.assert_allclose(both["p_adjusted"], both["p_value_r"], rtol=100 * rtol, atol=1e-12)
            np.testing.assert_allclose(quantile, quantile_r, rtol=10 * rtol)
        else:
            precise = both["p_precise"]
            np.testing.assert_allclose(both["p_adjusted"], precise, RTOL_PRECISE[model], ATOL_PRECISE[model])
            np.testing.assert_allclose(both["p_adjusted"], both["p_value_r"], rtol=0, atol=ATOL_OF_EMMEANS)
            np.testing.assert_allclose(quantile, quantile_r, rtol=RTOL_QUANTILE)


#: Procedures with limits that hold together for all contrasts of a family.
SIMULTANEOUS = ["bonferroni", "sidak", "tukey", "mvt"]


@pytest.mark.parametrize("reference", [None, "human"])
@pytest.mark.parametrize("adjust", SIMULTANEOUS)
def test_simultaneous_limits_leave_0_out_where_the_adjusted_p_value_is_below_alpha(scores, adjust, reference):
    if adjust == "tukey" and reference == "human":
        reference = "all"
    fit = ss.fit(scores.drop(columns="patient"), "score ~ method * site + x", by=(), errors="classical")
    options = {"by": "site", "reference": reference, "adjust": adjust}
    p_adjusted = fit.contrasts("method", **options)["p_adjusted"]
    nearest_p = p_adjusted[p_adjusted < 0.5].max()
    # one contrast is at the edge: its limits leave 0 out at the second alpha only
    n_excluding = []
    for alpha in (nearest_p * (1 - 1e-4), nearest_p * (1 + 1e-4)):
        contrasts = fit.contrasts("method", level=1 - alpha, **options)
        excludes_zero = (contrasts["conf_low"] > 0) | (contrasts["conf_high"] < 0)
        assert excludes_zero.equals(contrasts["p_adjusted"] < alpha)
        np.testing.assert_allclose(contrasts["family_level"], 1 - alpha)
        assert (contrasts["conf_level"] > 1 - alpha).all()
        n_excluding.append(excludes_zero.sum())
    assert n_excluding[1] == n_excluding[0] + 1


@pytest.mark.parametrize("adjust", sorted({*PROCEDURES} - {*SIMULTANEOUS}))
def test_other_procedures_leave_the_limits_of_single_contrasts(scores, adjust):
    fit = ss.fit(scores, "score ~ method * site + x", by=(), unit="patient")
    single = fit.contrasts("method", by="site")
    contrasts = fit.contrasts("method", by="site", adjust=adjust)
    pd.testing.assert_frame_equal(contrasts[single.columns], single)
    assert "family_level" not in contrasts


def test_two_levels_need_no_adjustment_by_tukey(scores):
    rows = scores[scores["method"] != "lime"]
    fit = ss.fit(rows, "score ~ method * site + x", by=(), unit="patient")
    single = fit.contrasts("method", by="site")
    tukey = fit.contrasts("method", by="site", adjust="tukey")
    np.testing.assert_allclose(tukey["p_adjusted"], single["p_value"], rtol=1e-6)
    np.testing.assert_allclose(tukey["conf_low"], single["conf_low"], rtol=1e-6)
    assert (tukey["n_tests"] == 1).all()


@pytest.mark.parametrize(
    ("ask", "fields"),
    [
        (lambda fit: fit.means("method", at={"y": 1}), {"option": "at", "column": "y"}),
        (lambda fit: fit.means("method", at={"x": "much"}), {"column": "x", "value": "much"}),
        (lambda fit: fit.means("method", at={"method": "ig"}), {"column": "method", "value": "ig"}),
        (lambda fit: fit.means("method", at={"x": []}), {"option": "at", "column": "x"}),
        (lambda fit: fit.means("method", at=[1, 2]), {"option": "at", "value": [1, 2]}),
        (lambda fit: fit.means("method", scale="logit"), {"option": "scale", "value": "logit"}),
        (
            lambda fit: fit.contrasts("method", reference="human", adjust="tukey"),
            {"option": "adjust", "value": "tukey"},
        ),
        (
            lambda fit: fit.contrasts("method", margin=0.1, adjust="Tukey"),
            {"option": "adjust", "value": "Tukey"},
        ),
        (
            lambda fit: fit.contrasts("method", margin=0.1, reference="human", adjust="mvt"),
            {"option": "adjust", "value": "mvt"},
        ),
        (lambda fit: fit.slopes("x", adjust="mvt"), {"option": "adjust", "value": "mvt"}),
    ],
)
def test_values_and_adjustments_that_do_not_suit_are_errors(scores, ask, fields):
    fit = ss.fit(scores.drop(columns="patient"), "score ~ method + x", by=())
    with raises(ValueRangeError, **fields):
        ask(fit)


def test_a_family_of_one_contrast_has_its_own_p_value_and_limits():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"score": rng.normal(size=20), "arm": list("ab") * 10})
    fit = ss.fit(rows, "score ~ arm")
    plain = fit.contrasts("arm")
    joint = fit.contrasts("arm", adjust="mvt")
    np.testing.assert_allclose(joint["p_adjusted"], plain["p_value"], rtol=1e-6)
    np.testing.assert_allclose(joint[["conf_low", "conf_high"]], plain[["conf_low", "conf_high"]], rtol=1e-6)
    assert joint["n_tests"].tolist() == [1]
