import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.images.map_steps import resize
from salstats.images.mixing import mixed_map_of_classes

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import OUTPUTS, cnn, pictures  # noqa: E402

from salstats.explain.ensembles import (  # noqa: E402
    best_trainings,
    explain_ensemble,
    maps_of_size,
    scaled_map,
    sum_at_larger_size,
)
from salstats.explain.forward_passes import predict  # noqa: E402
from salstats.explain.networks import Network  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402

# single precision: sums of a few maps in another order, in batches of another size
SINGLE = 1e-6


@pytest.fixture
def images():
    return np.stack(list(pictures(3).values()))


@pytest.fixture
def networks():
    return [Network(f"run{seed}", lambda seed=seed: cnn(seed), tasks=OUTPUTS) for seed in range(3)]


def test_the_trainings_that_did_best_on_validation_images_are_those_of_each_task():
    rng = np.random.default_rng(3)
    n_runs, n_cases = 12, 60
    labels = {"Edema": rng.integers(0, 2, n_cases), "Mass": rng.integers(0, 2, n_cases)}
    rows = [
        pd.DataFrame({
            "case": np.arange(n_cases), "task": task, "seed": run, "label": label,
            "prob": rng.normal(label * rng.uniform(0, 2)),
        })
        for task, label in labels.items()
        for run in range(n_runs)
    ]  # fmt: skip
    results = ss.auroc(pd.concat(rows, ignore_index=True), "prob", "label", by=["task", "seed"])
    best = best_trainings(results)
    assert set(best) == {"Edema", "Mass"}
    for task, runs in best.items():
        areas = results[results["task"] == task].set_index("seed")["estimate"]
        assert len(runs) == 10
        assert areas[runs].is_monotonic_decreasing
        assert areas.drop(runs).max() <= areas[runs].min()


@pytest.mark.parametrize(
    ("change", "kind", "fields"),
    [
        ({"seed": [1, 1, 2]}, SalstatsError, {"column": "seed", "match": "Edema .* 1 twice"}),
        ({"estimate": [0.5, np.nan, 0.6]}, SalstatsError, {"option": "n_best", "match": "Edema has 2 "}),
        ({"estimate": ["a", "b", "c"]}, ColumnError, {"column": "estimate"}),
    ],
)
def test_results_that_name_no_best_trainings_are_an_error(change, kind, fields):
    results = pd.DataFrame({"task": "Edema", "seed": [1, 2, 3], "estimate": [0.5, 0.6, 0.7]})
    with raises(kind, **fields):
        best_trainings(results.assign(**change), n_best=3)


def test_a_training_without_a_name_or_a_task_is_not_chosen():
    results = pd.DataFrame(
        {
            "task": ["Edema", "Edema", None, "Edema"],
            "seed": ["a", None, "b", "c"],
            "auc": [0.6, 0.9, 0.8, 0.7],
        }
    )
    assert best_trainings(results.assign(note=np.nan), n_best=2, value="auc") == {"Edema": ["c", "a"]}


def test_a_task_without_any_value_is_an_error_and_does_not_disappear():
    tasks = ["Edema", "Edema", "Mass", "Mass"]
    results = pd.DataFrame({"task": tasks, "seed": [1, 2, 1, 2], "estimate": [0.5, 0.6, np.nan, np.nan]})
    with raises(SalstatsError, option="n_best", value=1, match=r"\bMass\b.*\b0\b"):
        best_trainings(results, n_best=1)


def test_it_is_the_mean_of_the_networks_maps_and_probabilities(networks, images):
    made = explain_ensemble(networks, images, resolution="network")
    assert made.tasks == ("Edema", "Mass")
    assert made.n_networks == (3, 3)
    for place, output in enumerate(OUTPUTS.values()):
        maps = [explain(n.open(), images, output, resolution="network") for n in networks]
        np.testing.assert_allclose(made.maps[:, place], np.mean(maps, axis=0), atol=SINGLE)
        probs = [predict(n.open(), images, probability="sigmoid")[:, output] for n in networks]
        np.testing.assert_allclose(made.probs[:, place], np.mean(probs, axis=0), atol=SINGLE)


def test_one_task_may_be_named_by_a_text(networks, images):
    one = explain_ensemble(networks, images, "Mass", resolution="network")
    assert one.tasks == ("Mass",)
    several = explain_ensemble(networks, images, ["Mass"], resolution="network")
    np.testing.assert_array_equal(one.maps, several.maps)


def test_maps_are_scaled_before_the_mean_where_that_is_asked_for(networks, images):
    single = [explain(n.open(), images[:1], 0, sign="signed")[0].astype(float) for n in networks]
    for scale, expected in (
        ("none", single),
        ("max", [m / np.abs(m).max() for m in single]),
        ("range", [(m - m.min()) / (m.max() - m.min()) for m in single]),
    ):
        made = explain_ensemble(networks, images[:1], ["Edema"], scale=scale, sign="signed")
        np.testing.assert_allclose(made.maps[0, 0], np.mean(expected, axis=0), atol=SINGLE)


def test_a_map_of_zeros_stays_one_whatever_the_scale():
    for scale in ("none", "max", "range"):
        np.testing.assert_array_equal(scaled_map(np.zeros((2, 3), np.float32), scale), np.zeros((2, 3)))
    np.testing.assert_array_equal(scaled_map(np.full((2, 3), 4.0), "range"), np.zeros((2, 3)))


def test_maps_of_networks_with_several_grids_are_summed_on_the_larger_one():
    rng = np.random.default_rng(0)
    wide, high = rng.normal(size=(2, 3, 8)), rng.normal(size=(2, 6, 4))
    expected = [resize(wide[i], (6, 8)) + resize(high[i], (6, 8)).astype(float) for i in range(2)]
    np.testing.assert_allclose(sum_at_larger_size(wide, high), expected, atol=SINGLE)
    # maps that have the size keep double precision
    np.testing.assert_array_equal(sum_at_larger_size(wide, 2 * wide), 3 * wide)
    assert maps_of_size(wide, (3, 8)) is wide


def test_tasks_are_mixed_by_their_probabilities(networks, images):
    made = explain_ensemble(networks, images)
    mixed = made.mixed(rule="weighted")
    for i in range(len(images)):
        np.testing.assert_array_equal(
            mixed[i], mixed_map_of_classes(made.maps[i], made.probs[i], rule="weighted")
        )
    nothing = made.mixed(threshold=1.0)
    np.testing.assert_array_equal(nothing, 0)
    np.testing.assert_array_equal(made.mixed(threshold=1.0, no_finding=1), made.maps[:, 1])


def test_networks_draw_for_themselves_and_the_same_again(images):
    options = {"method": "rise", "n_masks": 20, "probability": "sigmoid", "resolution": "network"}
    same = [Network(f"run{i}", lambda: cnn(0), tasks={"Edema": 0}) for i in range(2)]
    one, two = (explain_ensemble(same[:n], images, **options).maps for n in (1, 2))
    again = explain_ensemble(same, images, **options).maps
    np.testing.assert_array_equal(two, again)
    # equal networks with equal draws would not change the mean
    assert not np.allclose(one, two, atol=1e-3)
    assert not np.allclose(two, explain_ensemble(same, images, rng=1, **options).maps, atol=1e-3)


def test_bad_requests_are_named(networks, images):
    with raises(ValueRangeError, option="scale", value="minmax"):
        explain_ensemble(networks, images, scale="minmax")
    with raises(SalstatsError, option="tasks", value=7, match=r"'run0': .* 0 to 2"):
        explain_ensemble([Network("run0", cnn)], images, {"Mass": 7})
    with raises(SalstatsError, option="options", value="batch_size"):
        explain_ensemble([Network("a", cnn, tasks=OUTPUTS, options={"gradcam": {"batch_size": 1}})], images)
