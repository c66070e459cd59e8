"""Sampled areas around the exact one."""

import warnings
from io import BytesIO
from types import SimpleNamespace

import gaze_files
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from tests_support import raises

from salstats.errors import SalstatsError, SalstatsWarning
from salstats.readers.gaze import read_gaze
from salstats.studies.lanfredi2021.example_case import (
    _tick_labels,
    figure_1_fixations_and_maps,
    plot_mean_sd_of_auc_by_pixels,
    plot_sampled_auc,
    sampled_beside_exact_auc,
    sd_of_sampled_auc_by_sample_size,
)
from salstats.studies.lanfredi2021.gaze_scores import ScoringOptions, scored_recordings

# the same shares from numbers rounded once more
ROUNDING = 1e-12


SIZES = (100, 1000, 10000)


def make_samples(methods=("interobserver", "gradcam_wag"), metrics=("auc", "sauc"), n=20):
    rng = np.random.default_rng(6)
    rows = [
        {
            "case": "a", "method": method, "reader": reader, "metric": metric, "n_samples": size,
            "replicate": i, "estimate": 0.6 + rng.normal(0, 0.4) / np.sqrt(size), "exact": 0.6,
        }
        for method in methods
        for reader in ("0", "1")
        for metric in metrics
        for size in SIZES
        for i in range(n)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def make_spread(**given):
    """Spreads that follow constant / sqrt(n) exactly, twice as large for the second reader."""
    rows = make_samples(n=1, **given).drop(columns=["replicate", "estimate"])
    rows["sd"] = np.where(rows["reader"] == "0", 0.2, 0.4) / np.sqrt(rows["n_samples"])
    return rows.assign(mean=0.6, n_replicates=20)


def layers(figure):
    return [layer._data for layer in figure.layers if isinstance(layer._data, pd.DataFrame)]


def test_the_figure_shows_the_mean_over_readers():
    figure = plot_mean_sd_of_auc_by_pixels(make_spread())
    data = figure.data
    assert len(data) == 2 * 2 * 3
    assert np.allclose(data["sd"], 0.3 / np.sqrt(data["n_samples"]), rtol=ROUNDING)
    figure.draw()


def test_the_expected_line_falls_with_the_root_and_meets_values_that_do():
    (line,) = layers(plot_mean_sd_of_auc_by_pixels(make_spread()))
    assert sorted(set(line["n_samples"])) == [100, 10000]
    assert np.allclose(line["sd"], 0.3 / np.sqrt(line["n_samples"]), rtol=ROUNDING)


def test_long_names_are_on_two_lines_in_a_column_and_on_one_on_a_page():
    name = "a_rather_long_name_of_a_method_that_has_many_words_and_more"
    for width, n_lines in ((89, 2), (183, 1)):
        figure = plot_mean_sd_of_auc_by_pixels(make_spread(methods=("convex", name)), width=width)
        texts = list(figure.data["name"].cat.categories)
        (long,) = [text for text in texts if text.startswith("a_rather")]
        assert long.replace("\n", "") == name
        assert long.count("\n") == n_lines - 1


def test_rows_without_spread_are_counted():
    spread = make_spread()
    spread.loc[spread["method"] == "gradcam_wag", "sd"] = np.nan
    figure = plot_mean_sd_of_auc_by_pixels(spread)
    assert set(figure.data["method"]) == {"interobserver"}
    assert "Not drawn: 12 rows without spread." in figure.labels.caption.replace("\n", " ")


@pytest.mark.parametrize(
    ("mixing", "text"), [("uniform", "Maps of several classes: Uniform mixing."), ("as given", "")]
)
def test_the_mixing_of_maps_is_named_unless_they_are_as_given(mixing, text):
    spread = make_spread(metrics=("auc",)).assign(mixing=mixing)
    caption = plot_mean_sd_of_auc_by_pixels(spread).labels.caption
    said = " ".join(caption.split())
    assert text.casefold() in said.casefold()
    assert ("mixing" in said) == bool(text)


def test_spreads_of_nothing_are_an_error():
    with raises(SalstatsError, column="sd"):
        plot_mean_sd_of_auc_by_pixels(make_spread().assign(sd=0.0))


@pytest.mark.parametrize("width", [89, 183])
@pytest.mark.parametrize("metrics", [("auc",), ("auc", "sauc")])
def test_both_figures_draw_at_a_column_and_a_page(width, metrics):
    samples = make_samples(metrics=metrics)
    one = samples[(samples["method"] == "gradcam_wag") & (samples["reader"] == "0")]
    for figure in (
        plot_mean_sd_of_auc_by_pixels(make_spread(metrics=metrics), width=width),
        plot_sampled_auc(one, width=width),
    ):
        assert np.isclose(figure.theme.getp("figure_size")[0] * 25.4, width)
        assert list(figure.data["panel"].cat.categories) == [m.replace("auc", "AUC") for m in metrics]
        figure.draw()


def test_values_stand_around_their_size_and_the_line_is_the_exact_value():
    samples = make_samples()
    one = samples[(samples["method"] == "gradcam_wag") & (samples["reader"] == "1")]
    figure = plot_sampled_auc(one)
    places = figure.data["n_samples"].map({100: 0, 1000: 1, 10000: 2})
    assert (figure.data["at"] - places).abs().max() < 0.5
    (line,) = [data for data in layers(figure) if "exact" in data and len(data) == 2]
    assert (line["exact"] == 0.6).all()
    assert "reader 1 left out: 20 samples" in figure.labels.caption.replace("\n", " ")


def test_sampled_values_that_are_undefined_are_not_drawn_and_the_others_keep_their_columns():
    samples = make_samples(methods=["gradcam_wag"])
    one = samples[samples["reader"] == "1"]
    is_undefined = np.arange(len(one)) % 3 == 1
    figure = plot_sampled_auc(one.assign(estimate=one["estimate"].mask(is_undefined)))
    expected = one[~is_undefined].reset_index(drop=True)
    pd.testing.assert_frame_equal(figure.data.drop(columns=["at", "panel"]), expected)


@pytest.mark.parametrize("width", [89, 183])
def test_panels_of_sampled_values_have_axes_of_their_own_and_are_wider_than_high(width):
    samples = make_samples(methods=["gradcam_wag"])
    figure = plot_sampled_auc(samples[samples["reader"] == "0"], width=width)
    assert figure.facet.free == {"x": True, "y": True}
    drawn = figure.draw()
    try:
        # panels get their places when they are drawn to a file
        drawn.savefig(BytesIO())
        for axes in drawn.axes:
            box = axes.get_window_extent()
            assert box.height < box.width
    finally:
        pyplot.close(drawn)


def recordings_of(samples, method="gradcam_wag", mixing="as given"):
    """What the items of samples need of recordings: the picked case, and its samples."""
    pick = pd.DataFrame({"case": ["a"], "method": [method], "mixing": [mixing]})
    return SimpleNamespace(pick_of_median_case=pick, sampled_scores_of_median_case=samples)


def mixed_samples():
    """Samples of one map in two mixings, called as `score_gaze` calls them, and of interobserver."""
    samples = make_samples(methods=("interobserver",), metrics=("auc",)).assign(mixing=None)
    parts = [samples]
    for mixing in ("thresholded", "uniform"):
        parts.append(samples.assign(method=f"gradcam_wag_{mixing}", mixing=mixing))
    return pd.concat(parts, ignore_index=True)


def test_sampled_values_are_of_the_first_reader_and_the_picked_map():
    item = sampled_beside_exact_auc(recordings_of(make_samples()))
    assert set(item.frame["method"]) == {"gradcam_wag"}
    assert set(item.frame["reader"]) == {"0"}
    assert len(item.frame) == 2 * len(SIZES) * 20
    assert item.slice == "case a"
    values = item.frame.query("metric == 'auc' and n_samples == 100")["estimate"]
    html = item.table.as_raw_html()
    for number in (values.mean(), values.std(), values.min(), values.max(), 0.6):
        assert f">{number:.4f}<" in html
    undefined = make_samples().assign(estimate=np.nan)
    assert sampled_beside_exact_auc(recordings_of(undefined)) is None


def test_sampled_values_are_of_the_picked_mixing():
    for mixing in ("thresholded", "uniform"):
        item = sampled_beside_exact_auc(recordings_of(mixed_samples(), mixing=mixing))
        assert set(item.frame["mixing"]) == {mixing}
        assert set(item.frame["method"]) == {"gradcam_wag"}


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_the_spread_is_listed_of_all_maps_and_drawn_of_one_mixing():
    item = sd_of_sampled_auc_by_sample_size(recordings_of(mixed_samples(), mixing="uniform"))
    frame = item.frame.set_index(["method", "reader", "n_samples"])
    samples = mixed_samples().groupby(["method", "reader", "n_samples"])["estimate"].std()
    np.testing.assert_allclose(frame["sd"], samples.loc[frame.index], rtol=ROUNDING)
    assert set(item.figure.data["method"]) == {"interobserver", "gradcam_wag"}
    by_size = item.frame.groupby("n_samples")["sd"].mean()
    html = item.table.as_raw_html()
    assert all(f">{sd:.4f}<" in html for sd in by_size)
    assert item.slice == "case a"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Three small images with one map, without radiographs."""
    folder = tmp_path_factory.mktemp("gaze")
    maps = gaze_files.write_maps(folder / "maps", shape=(7, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        study = read_gaze(gaze_files.write_release(folder / "main"), maps={"mine": maps})
        return scored_recordings(study, ScoringOptions())


def test_fig_1_draws_the_gaze_the_bias_and_the_map_of_the_picked_case(recordings):
    item = figure_1_fixations_and_maps(recordings)
    pick = recordings.pick_of_median_case.iloc[0]
    assert item.frame["case"].tolist() == [pick["case"]]
    assert list(item.figure.data["picture"]) == ["Fixations", "Mean fixation map", "Centre bias", "mine"]
    sizes = set(zip(item.figure.data["height"], item.figure.data["width"], strict=True))
    assert sizes == {gaze_files.SHAPES[pick["case"]]}
    caption = " ".join(item.figure.labels.caption.split())
    assert f"Case {pick['case']}, 3 readers." in caption
    assert "no image was given" in caption
    assert f">{pick['score']:.3f}<" in item.table.as_raw_html()


def test_fig_1_draws_the_map_of_the_picked_mixing(tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for image, shape in gaze_files.SHAPES.items():
        np.savez(folder / f"{image}.npz", maps=rng.random((3, *shape)), probs=[0.1, 0.7, 0.4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        study = read_gaze(gaze_files.write_release(tmp_path / "main"), class_maps={"cam": folder})
        recordings = scored_recordings(study, ScoringOptions())
        item = figure_1_fixations_and_maps(recordings)
    pick = item.frame.iloc[0]
    # of three mixings the last is the study's main one
    assert [series.mixing for series in study.series] == ["thresholded", "weighted", "uniform"]
    assert pick["mixing"] == "uniform"
    (uniform,) = [
        prediction.read().saliency
        for prediction in study.select(cases=[pick["case"]]).cases[0].predictions
        if prediction.series.mixing == "uniform"
    ]
    above = uniform - uniform.min()
    drawn = item.figure.data.iloc[-1]
    assert drawn["picture"] == "CAM, uniform"
    assert drawn["largest"] == pytest.approx(above.max() / above.sum(), rel=ROUNDING)


def test_every_second_size_is_blank_where_sizes_do_not_fit_their_axis():
    sizes = [10, 100, 1000, 10000, 100000]
    assert _tick_labels(sizes, 200.0) == ["10", "100", "1,000", "10,000", "100,000"]
    assert _tick_labels(sizes, 5.0) == ["10", "", "1,000", "", "100,000"]
