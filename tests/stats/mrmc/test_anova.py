"""The analysis of variance of arrays against R (MRMCaov, RJafroc; see the oracle's README)."""

import numpy as np
import pytest

from salstats.errors import SalstatsError
from salstats.stats.mrmc.anova import (
    ANALYSES,
    anova_table,
    are_readers_and_cases_random,
    global_test,
    std_error_of_mean,
    std_error_of_method_difference,
    variances_and_covariances_of_table,
)

#: R prints 15 to 17 digits; sums of a few thousand numbers round in the last few.
ROUNDING = 1e-9
SETS = (
    "synth2_score", "synth2_hit", "real_mixing_sncc", "real_mixing_sauc", "real_source_sncc",
    "real_io_ag_readers", "negcov", "vandyke_auc_jackknife", "vandyke_auc_delong",
)  # fmt: skip
#: What R calls them: random readers and cases, fixed readers, fixed cases.
CALLED = {"RRRC": (True, True), "FRRC": (False, True), "RRFC": (True, False)}


@pytest.fixture(scope="module")
def given(r_expected):
    """A function that gives R's figures and covariances of a set as cells."""
    figures, covariances = r_expected("mrmc_fom"), r_expected("mrmc_cov")

    def cells(name):
        own = figures[figures["set"] == name]
        names = own["modality"].astype(str) + "|" + own["reader"].astype(str)
        both = covariances[covariances["set"] == name].pivot(index="row", columns="col", values="cov")
        methods, readers = (
            np.unique(own[c].astype(str), return_inverse=True)[1] for c in ("modality", "reader")
        )
        return own["fom"].to_numpy(), both.loc[names, names].to_numpy(), methods, readers

    return cells


@pytest.mark.parametrize("name", SETS)
def test_parts_and_components_are_those_of_r(name, given, r_expected):
    expected = r_expected("mrmc_comp").set_index("set").loc[name]
    found = anova_table(*given(name))
    assert [found.ms_method, found.ms_reader, found.ms_within] == pytest.approx(
        expected[["MST", "MSR", "MSTR"]].to_numpy(), rel=ROUNDING
    )
    own = variances_and_covariances_of_table(found)
    both = ["sigma2_R", "sigma2_TR", "Var", "Cov1", "Cov2", "Cov3"]
    assert list(own.values()) == pytest.approx(expected[both].to_numpy(), rel=ROUNDING)


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("name", SETS)
def test_the_global_test_is_that_of_r(name, called, given, r_expected):
    rows = r_expected("mrmc_overall")
    expected = rows[(rows["set"] == name) & (rows["analysis"] == called)].iloc[0]
    found = global_test(anova_table(*given(name)), ANALYSES[CALLED[called]])
    # R gives F of fixed readers too
    f = found.statistic / (found.df if called == "FRRC" else 1)
    assert [f, found.df, found.df_residual, found.p_value] == pytest.approx(
        expected[["F", "df1", "df2", "p"]].to_numpy(dtype=float), rel=ROUNDING
    )


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("name", SETS)
def test_errors_of_differences_and_means_are_those_of_r(name, called, given, r_expected):
    values, covariance, methods, readers = given(name)
    analysis = ANALYSES[CALLED[called]]
    rows = r_expected("mrmc_diffs")
    expected = rows[(rows["set"] == name) & (rows["analysis"] == called)]
    parts = anova_table(values, covariance, methods, readers)
    pairs = [(i, j) for i in range(len(parts.means)) for j in range(i + 1, len(parts.means))]
    found = [
        (parts.means[i] - parts.means[j], *std_error_of_method_difference(parts, analysis, i, j))
        for i, j in pairs
    ]
    np.testing.assert_allclose(found, expected[["estimate", "se", "df"]].to_numpy(), rtol=ROUNDING)

    rows = r_expected("mrmc_single")
    expected = rows[(rows["set"] == name) & (rows["analysis"] == called)]
    for method, row in enumerate(expected.itertuples()):
        own = methods == method
        parts = anova_table(values[own], covariance[np.ix_(own, own)], np.zeros(own.sum(), int), readers[own])
        assert (parts.means[0], *std_error_of_mean(parts, analysis)) == pytest.approx(
            (row.estimate, row.se, row.df), rel=ROUNDING
        )


def test_nested_readers_are_those_of_r(r_data, r_expected):
    """Seeds of two networks; MRMCaov's own result has a coding error, and F is that of RJafroc's DBM."""
    table, expected = r_data("gaze_mrmc_nested_sono_ag_sncc"), r_expected("mrmc_nested").iloc[0]
    wide = table.pivot(index="case_id", columns=["modality", "reader"], values="score")
    methods, readers = (np.unique(wide.columns.get_level_values(c), return_inverse=True)[1] for c in (0, 1))
    values = wide.to_numpy()
    parts = anova_table(values.mean(axis=0), np.cov(values.T) / len(values), methods, readers)
    assert parts.nested
    assert [parts.ms_method, parts.ms_within, parts.var, parts.cov2, parts.cov3] == pytest.approx(
        expected[["MST", "MSRT", "Var", "Cov2", "Cov3"]].to_numpy(dtype=float), rel=ROUNDING
    )
    found = global_test(parts, ANALYSES[True, True])
    assert [found.statistic, found.df, found.df_residual, found.p_value] == pytest.approx(
        expected[["F", "df1", "df2", "p"]].to_numpy(dtype=float), rel=ROUNDING
    )
    error, df = std_error_of_method_difference(parts, ANALYSES[True, True], 0, 1)
    assert [error, df] == pytest.approx(expected[["se", "df2"]].to_numpy(dtype=float), rel=ROUNDING)


def test_nested_readers_of_different_numbers_give_one_test():
    """With two methods the global test is the square of the difference's, whoever has how many readers."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(40, 8)) + rng.normal(size=(40, 1))
    methods, readers = np.repeat([0, 1], [3, 5]), np.arange(8)
    parts = anova_table(scores.mean(axis=0), np.cov(scores.T) / 40, methods, readers)
    for analysis in ANALYSES.values():
        error, df = std_error_of_method_difference(parts, analysis, 0, 1)
        test = global_test(parts, analysis)
        gap = parts.means[0] - parts.means[1]
        assert (gap / error) ** 2 == pytest.approx(test.statistic, rel=1e-12)
        assert df == pytest.approx(test.df_residual, rel=1e-12)


@pytest.mark.parametrize("readers", ["random", "fixed"])
@pytest.mark.parametrize("cases", ["random", "fixed"])
def test_readers_and_cases_are_not_both_fixed(readers, cases):
    if readers == cases == "fixed":
        with pytest.raises(SalstatsError):
            are_readers_and_cases_random(readers, cases)
    else:
        expected = (readers == "random", cases == "random")
        assert are_readers_and_cases_random(readers, cases) == expected


def test_readers_of_one_method_are_not_nested_and_their_mean_square_is_their_variance():
    values = np.array([0.6, 0.7, 0.9])
    covariance = np.full((3, 3), 0.01) + 0.03 * np.eye(3)
    parts = anova_table(values, covariance, np.zeros(3, int), np.arange(3))
    assert not parts.nested
    assert (parts.df_within, parts.n_readers.tolist()) == (2, [3])
    # deviations from the mean of 2.2 / 3 are -.4 / 3, -.1 / 3 and .5 / 3
    variance = (0.16 + 0.01 + 0.25) / 9 / 2
    assert [parts.ms_reader, parts.ms_within] == pytest.approx([variance, variance])
    assert [parts.var, parts.cov2, parts.covariance_gap] == pytest.approx([0.04, 0.01, 0.01])
    # of one method there is no difference
    assert np.isnan([parts.ms_method, parts.cov1, parts.cov3]).all()
