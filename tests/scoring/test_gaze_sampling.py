"""Sampled areas scatter around the exact ones as far as the reference's do, and by 1 / sqrt(n)."""

from dataclasses import replace
from functools import partial

import gaze_files
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from tests_support import raises, warns

from salstats.errors import SalstatsError, ValueRangeError
from salstats.metrics.ranks import sampled_auc
from salstats.readers.gaze import read_gaze
from salstats.scoring.gaze import score_gaze
from salstats.scoring.gaze_sampling import (
    sampled_areas,
    sampled_scores,
    sampling_spread,
    spread_over_replicates,
)
from salstats.study import Content, Prediction, Series

KEYS = ["case", "method", "reader", "metric"]
# the oracle's fixation maps are float32 (epsilon 1.2e-7), ours float64
EXACT_TOLERANCE = 1e-7
# ranks of a reader's own map: some of its pixels tie in float32 and do not in float64
TIE_TOLERANCE = 3e-6
# and where its tails underflow in float32, up to 14 % of them do
UNDERFLOW_TOLERANCE = 2e-3
# areas of the same values, counted in another order
SUM_TOLERANCE = 1e-12
N_REPLICATES = 100


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three small images, each read by three, with one map each."""
    folder = tmp_path_factory.mktemp("gaze")
    gaze_files.write_release(folder / "main")
    gaze_files.write_maps(folder / "maps")
    return read_gaze(folder / "main", maps={"gradcam:net": folder / "maps"})


@pytest.fixture(scope="module")
def oracle_spread(shared, tmp_path_factory):
    """Samples of 1000 pixels on the oracle's inputs, beside the oracle's values."""
    gaze = shared / "oracles" / "gaze"
    maps = np.load(gaze / "inputs" / "maps.npz")
    folder = tmp_path_factory.mktemp("maps")
    for name in ("ag", "sono"):
        (folder / name).mkdir()
        for key in (k for k in maps.files if k.endswith(f"_{name}")):
            np.save(folder / name / f"{key.removesuffix(f'_{name}')}.npy", maps[key])
    recordings_folder = gaze / "inputs" / "main_data"
    with warns(path=recordings_folder, value={"discarded by its file": 1}, match=r"\b35\b"):
        study = read_gaze(recordings_folder, maps={name: folder / name for name in ("ag", "sono")})
    spread = sampling_spread(study, sizes=[1000], n_replicates=N_REPLICATES, rng=7)
    names = pd.DataFrame([{"case": c.case, "phase": c.phase, "trial": c.trial} for c in study])
    expected = pd.read_csv(gaze / "expected" / "auc_sauc.csv")
    expected["reader"] = expected["index_image"].astype("str")
    keys = ["phase", "trial", "reader", "method", "metric"]
    rows = spread.merge(names, on="case").merge(expected, on=keys, validate="1:1")
    assert len(rows) == 6 * 5 * 3 * 2
    looks = np.load(gaze / "expected" / "fixation_maps_f32.npz")
    own = [f"p{r.phase}_t{r.trial}_r{r.reader}" for r in rows.itertuples()]
    return rows.assign(
        underflows=(rows["method"] == "interobserver")
        & np.array([looks[key].min() < np.finfo(np.float32).tiny for key in own])
    )


def test_the_exact_value_is_the_oracles_limit(oracle_spread):
    off = np.abs(oracle_spread["exact"] - oracle_spread["exact_limit"])
    tied = oracle_spread["underflows"]
    assert tied.sum() == 10
    own = oracle_spread["method"] == "interobserver"
    assert off[~own].max() < EXACT_TOLERANCE
    assert off[own & ~tied].max() < TIE_TOLERANCE
    assert off[tied].max() < UNDERFLOW_TOLERANCE


def test_the_spread_at_1000_is_the_references_standard_error(oracle_spread):
    ratio = oracle_spread["sd"] / oracle_spread["se_n1000"]
    # relative standard error of a standard deviation of normal values
    error = 1 / np.sqrt(2 * (N_REPLICATES - 1))
    # 180 values: beyond 5 standard errors none is expected
    assert np.abs(ratio - 1).max() < 5 * error
    # rows share draws, at worst within a case and metric: 12 independent ones
    assert abs(ratio.mean() - 1) < 4 * error / np.sqrt(12)
    z = (oracle_spread["mean"] - oracle_spread["exact"]) / (oracle_spread["sd"] / np.sqrt(N_REPLICATES))
    assert np.abs(z).max() < 5


def test_the_exact_value_is_what_score_gaze_gives(study):
    for center_bias in ("all", "others"):
        spread = sampling_spread(study, sizes=[10], n_replicates=2, center_bias=center_bias)
        scores = score_gaze(study, metrics=["auc", "sauc"], center_bias=center_bias)
        both = spread.merge(scores, on=KEYS, validate="1:1")
        assert len(both) == len(scores) == len(spread)
        assert np.abs(both["exact"] - both["score"]).max() < SUM_TOLERANCE


def test_the_spread_falls_with_the_root_of_the_number_of_pixels(study):
    spread = sampling_spread(study, sizes=(50, 5000), n_replicates=200, cases="img-a", metrics="auc")
    sizes = spread.pivot(index=["method", "reader"], columns="n_samples", values="sd")
    # sqrt(100) = 10, each standard deviation known to 5 %
    assert sizes[50].div(sizes[5000]).between(7.5, 13).all()


def test_spread_is_that_of_the_samples(study):
    options = {"sizes": (20, 40), "n_replicates": 7, "cases": ["img-b", "img-a"], "rng": 3}
    spread = sampling_spread(study, **options)
    samples = sampled_scores(study, **options)
    assert list(samples["replicate"][:8]) == [0, 1, 2, 3, 4, 5, 6, 0]
    pd.testing.assert_frame_equal(spread_over_replicates(samples), spread)
    row = spread.iloc[5]
    own = samples[(samples[[*KEYS, "n_samples"]] == row[[*KEYS, "n_samples"]]).all(axis=1)]["estimate"]
    assert len(own) == 7
    assert np.isclose(np.std(own, ddof=1), row["sd"], rtol=SUM_TOLERANCE)
    assert np.isclose(np.mean(own), row["mean"], rtol=SUM_TOLERANCE)
    assert set(spread["case"]) == {"img-a", "img-b"}


def test_columns_name_what_is_sampled(study):
    spread = sampling_spread(study, sizes=[10, 20], n_replicates=3, cases="img-a")
    assert list(spread.columns) == [
        "case", "method", "model", "reader", "metric", "n_samples", "n_replicates", "sd", "mean", "exact",
    ]  # fmt: skip
    assert list(spread["method"].unique()) == ["gradcam", "interobserver"]
    assert list(spread["n_samples"][:4]) == [10, 20, 10, 20]
    assert list(spread["metric"][:4]) == ["auc", "auc", "sauc", "sauc"]
    assert (spread["n_replicates"] == 3).all()


def test_samples_of_a_case_and_metric_do_not_depend_on_what_else_is_asked_for(study):
    every = sampled_scores(study, sizes=[30], n_replicates=4, rng=5)
    one = sampled_scores(study, sizes=[30], n_replicates=4, rng=5, cases="img-c", metrics="sauc")
    same = every[(every["case"] == "img-c") & (every["metric"] == "sauc")].reset_index(drop=True)
    pd.testing.assert_frame_equal(one, same)
    other = sampled_scores(study, sizes=[30], n_replicates=4, rng=6, cases="img-c", metrics="sauc")
    assert (other["estimate"] != one["estimate"]).any()


def test_draws_are_those_of_seed_0_where_none_is_given(study):
    options = {"sizes": [20], "n_replicates": 3, "cases": "img-a"}
    for function in (sampled_scores, sampling_spread):
        pd.testing.assert_frame_equal(function(study, **options), function(study, **options, rng=0))


def test_a_map_that_says_nothing_has_no_spread(study):
    shape = study.cases[0].shape
    kinds = {"flat": np.ones(shape), "nan": np.full(shape, np.nan)}
    series = tuple(Series(name) for name in (*kinds, "missing"))
    maps = tuple(
        Prediction("", Series(name), partial(Content, saliency=drawn), "drawn")
        for name, drawn in kinds.items()
    )
    case = replace(study.cases[0], predictions=maps)
    drawn = replace(study, cases=(case, *study.cases[1:]), series=series)
    spread = sampling_spread(drawn, sizes=[10], n_replicates=3, cases="img-a").set_index("method")
    assert spread.loc[[*kinds, "missing"], ["sd", "mean", "exact"]].isna().all(axis=None)
    assert spread.loc["interobserver", ["sd", "mean", "exact"]].notna().all(axis=None)


def test_without_a_chest_box_there_is_no_shuffled_value(study):
    bare = tuple(
        replace(c, recordings=tuple(replace(r, box=None, box_excluded="no chest box") for r in c.recordings))
        for c in study
    )
    spread = sampling_spread(replace(study, cases=bare), sizes=[10], n_replicates=3).set_index("metric")
    assert spread.loc["sauc", "exact"].isna().all()
    assert spread.loc["sauc", "sd"].isna().all()
    assert spread.loc["auc", "sd"].notna().all()


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        ({"metrics": "ncc"}, ValueRangeError, {"option": "metrics", "value": "ncc"}),
        ({"sizes": [0]}, ValueRangeError, {"option": "sizes", "value": 0}),
        ({"sizes": []}, SalstatsError, {"match": "nothing to sample"}),
        ({"cases": "elsewhere"}, SalstatsError, {"match": "no case 'elsewhere'"}),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(study, options, error, fields):
    with raises(error, **fields):
        sampling_spread(study, **options)


def test_areas_equal_scikit_learns_and_the_metrics_own():
    rng = np.random.default_rng(2)
    saliency = rng.integers(0, 6, (5, 8)).astype(np.float64)
    drawn = [rng.integers(0, saliency.size, (9, n)) for n in (17, 23)]
    values = [saliency.ravel()[d] for d in drawn]
    found = sampled_areas(*values)
    for row, (positive, negative) in enumerate(zip(*values, strict=True)):
        labels = np.repeat([1, 0], [17, 23])
        expected = roc_auc_score(labels, np.concatenate([positive, negative]))
        assert abs(found[row] - expected) < SUM_TOLERANCE
        assert abs(found[row] - sampled_auc(saliency, drawn[0][row], drawn[1][row])) < SUM_TOLERANCE
    assert np.abs(sampled_areas(*values[::-1]) - (1 - found)).max() < SUM_TOLERANCE
