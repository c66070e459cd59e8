import hashlib

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ColumnError, InputFileError, SalstatsError, ValueRangeError
from salstats.files.map_folder_writer import MapKey
from salstats.study import Series

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import OUTPUTS, cnn, pictures  # noqa: E402

from salstats.explain.map_plans import (  # noqa: E402
    case_seed,
    check_network_made_maps,
    checked_patients,
    checked_plan,
    labels_by_case_and_task,
)
from salstats.explain.map_runs import make_maps  # noqa: E402
from salstats.explain.networks import Network  # noqa: E402


def plan_of(networks, methods=("gradcam", "rise"), **options):
    return checked_plan(networks, None, methods, options.pop("options", None), **options)


def network(name="cnn", seed=None, **options):
    return Network(name, cnn, tasks=OUTPUTS, seed=seed, **options)


def settings_of(plan):
    return plan.settings_by_series(Network.open)


def series_of(plan):
    return {str(s) for s in settings_of(plan) if isinstance(s, Series)}


def test_who_made_a_map_is_method_network_and_seed():
    assert series_of(plan_of([network(seed=1), network(seed=2)], "gradcam")) == {
        "gradcam:cnn:1",
        "gradcam:cnn:2",
    }
    assert series_of(plan_of(network(), seeds=[4, 5])) == {"gradcam:cnn", "rise:cnn:4", "rise:cnn:5"}
    assert series_of(plan_of([network("a"), network("b")], "gradcam", ensemble=True)) == {"gradcam:ensemble"}
    together = plan_of([network(seed=1), network(seed=2)], "rise", ensemble="mean", seeds=[4])
    assert series_of(together) == {"rise:mean:4"}


def test_a_setting_is_the_same_again_and_another_where_anything_differs():
    same = [settings_of(plan_of(network())) for _ in range(2)]
    assert same[0] == same[1]
    text = same[0][Series("rise", "cnn")]
    others = [
        plan_of(network(), rng=1),
        plan_of(network(), mixed_precision=True),
        plan_of(network(), resolution="image"),
        plan_of(network(), options={"rise": {"n_masks": 5}}),
        plan_of(network(), options={"rise": {"sign": "positive"}}),
        plan_of(network(options={"rise": {"cells": 5}})),
        plan_of(network(probability="softmax")),
        plan_of(Network("cnn", lambda: cnn(1), tasks=OUTPUTS)),
    ]
    texts = {text, *(settings_of(plan)[Series("rise", "cnn")] for plan in others)}
    assert len(texts) == len(others) + 1
    assert not any("\n" in t or " at 0x" in t for t in texts)
    # what changes no map
    assert settings_of(plan_of(network(), batch_size=3)) == same[0]


def test_the_outputs_of_a_task_are_told_of_every_member():
    found = settings_of(plan_of(network(), "gradcam"))
    told = {task: found[Series("gradcam", "cnn"), task] for task in OUTPUTS}
    assert told == {task: f"output {index}" for task, index in OUTPUTS.items()}
    turned = Network("b", cnn, tasks=dict(zip(OUTPUTS, reversed(OUTPUTS.values()), strict=True)))
    both = settings_of(plan_of([network(), turned], "gradcam", ensemble=True))
    assert (
        both[Series("gradcam", "ensemble"), "Edema"] == f"output {OUTPUTS['Edema']} {turned.tasks['Edema']}"
    )


def test_an_ensemble_is_known_by_its_members_and_their_tasks():
    a, b = network("a"), Network("b", lambda: cnn(1), tasks=OUTPUTS)
    listed = {"Edema": [a], "Mass": [a, b]}
    plans = [
        plan_of([a, b], "gradcam", ensemble=True),
        plan_of([a], "gradcam", ensemble=True),
        plan_of([a, b], "gradcam", ensemble=True, scale="max"),
        plan_of(listed, "gradcam", ensemble=True),
    ]
    assert len({settings_of(plan)[Series("gradcam", "ensemble")] for plan in plans}) == 4


def test_an_ensemble_is_known_by_the_options_of_every_member():
    layers = [("0", "1"), ("1", "1"), ("1", "0"), ("0", "0")]
    texts = []
    for a, b in layers:
        plan = plan_of([network("a", layer=a), network("b", layer=b)], "gradcam", ensemble=True)
        texts.append(settings_of(plan)[Series("gradcam", "ensemble")])
    assert len(set(texts)) == 4


def test_seeds_of_cases_are_the_same_in_every_run_and_differ():
    seeds = {case_seed(s, m, c) for s in range(3) for m in range(3) for c in ("a", "b", "1a")}
    assert len(seeds) == 27
    assert all(0 <= seed < 2**63 for seed in seeds)
    # by its definition: a run of another day, on another machine, must draw the same
    digest = hashlib.sha256(b"5\x002\x00a").hexdigest()
    assert case_seed(5, 2, "a") == int(digest[:16], 16) // 2


def test_labels_are_found_by_case_and_task_whose_names_are_text():
    plan = plan_of(network())
    frame = pd.DataFrame({"case": [1, 1], "task": ["Edema", "Mass"], "label": [1, np.nan]})
    labels = labels_by_case_and_task(frame, plan)
    assert labels["1", "Edema"] == 1
    assert np.isnan(labels["1", "Mass"])
    assert labels_by_case_and_task({(1, "Edema"): 1}, plan) == {("1", "Edema"): 1}
    assert checked_patients({1: "p"}) == {"1": "p"}
    with raises(ColumnError, column="label"):
        labels_by_case_and_task(frame.drop(columns="label"), plan)


@pytest.mark.parametrize(
    ("labels", "error", "fields"),
    [
        # the case and the task of a value
        (
            {("a", "Edema"): 2},
            ValueRangeError,
            {"option": "label", "value": 2, "match": "'a'.*'Edema'"},
        ),
        ({("a", "Edema"): "1"}, ValueRangeError, {"option": "label", "value": "1"}),
        ({"a": 1}, SalstatsError, {"option": "labels", "value": "a"}),
        (
            {("a", "edema"): 1},
            SalstatsError,
            {"option": "labels", "value": ["edema"], "choices": ("Edema", "Mass")},
        ),
        # two that differ
        (
            pd.DataFrame({"case": ["a"] * 2, "task": ["Edema"] * 2, "label": [0, 1]}),
            SalstatsError,
            {"option": "labels", "value": ("a", "Edema")},
        ),
    ],
)
def test_labels_that_cannot_be_written_are_named_before_any_work(labels, error, fields):
    with raises(error, **fields):
        labels_by_case_and_task(labels, plan_of(network()))


@pytest.mark.parametrize(
    ("options", "kind", "fields"),
    [
        ({"rng": -1}, ValueRangeError, {"option": "rng", "value": -1}),
        ({"rng": 0.5}, ValueRangeError, {"option": "rng", "value": 0.5}),
        ({"seeds": []}, ValueRangeError, {"option": "seeds"}),
        ({"seeds": [1, -2]}, ValueRangeError, {"option": "seeds"}),
        ({"seeds": [0.5]}, ValueRangeError, {"option": "seeds"}),
        ({"seeds": 3}, ValueRangeError, {"option": "seeds", "value": 3}),
        ({"methods": []}, SalstatsError, {"option": "methods"}),
        ({"methods": ["cam"]}, ValueRangeError, {"option": "method", "value": "cam"}),
        ({"options": {"lime": {}}}, SalstatsError, {"option": "options", "value": "lime"}),
        ({"options": {"rise": {"n_mask": 3}}}, SalstatsError, {}),
        ({"scale": "log"}, ValueRangeError, {"option": "scale", "value": "log"}),
        ({"resolution": "input"}, ValueRangeError, {"option": "resolution", "value": "input"}),
        ({"batch_size": 0}, ValueRangeError, {"option": "batch_size", "value": 0}),
    ],
)
def test_arguments_are_checked_before_anything_is_loaded(options, kind, fields):
    with raises(kind, **fields):
        plan_of(Network("n", lambda: pytest.fail("loaded"), tasks=OUTPUTS), **options)


def test_a_plan_holds_what_is_asked_for_once():
    plan = plan_of(network(), ["rise", "gradcam", "rise"], seeds=np.array([4, 4, 2]), rng=7)
    assert [method.name for method in plan.methods] == ["rise", "gradcam"]
    assert (plan.seeds, plan.seed, plan.ensemble, plan.batch_size) == ((4, 2), 7, None, 1)
    assert plan_of(network(), seeds=[0]).seeds == (0,)
    assert plan_of(network()).seeds == ()
    assert plan_of([network("a"), network("b")], ensemble=True).ensemble == "ensemble"
    assert plan_of([network("a"), network("b")], ensemble="mean").ensemble == "mean"
    rise, gradcam = plan.methods
    assert plan.repeat_seeds(rise) == (4, 2)
    assert plan.repeat_seeds(gradcam) == (None,)


def test_a_method_may_have_a_name_of_its_own():
    options = {"fine": {"method": "rise", "n_masks": 9}}
    fine, gradcam = plan_of(network(), ["fine", "gradcam"], options=options).methods
    assert (fine.name, fine.record.name, fine.options) == ("fine", "rise", {"n_masks": 9})
    assert (gradcam.name, gradcam.record.name, gradcam.options) == ("gradcam", "gradcam", {})
    assert options["fine"]["method"] == "rise"


def test_the_column_seed_holds_the_seed_of_the_training_or_of_the_draws():
    trained = [network(seed=1), network(seed=2)]
    with raises(SalstatsError, option="seeds"):
        plan_of(trained, seeds=[4, 5])
    # nothing is drawn, or the networks have no series of their own
    assert plan_of(trained, ["gradcam"], seeds=[4, 5]).seeds == (4, 5)
    assert plan_of(trained, seeds=[4, 5], ensemble=True).seeds == (4, 5)


def test_cases_without_a_patient_have_none():
    assert checked_patients({1: "p", "b": None}) == {"1": "p"}
    assert checked_patients(None) == {}


def test_labels_may_say_the_same_twice_and_be_unknown():
    plan = plan_of(network())
    frame = pd.DataFrame({"case": "a", "task": ["Edema"] * 2 + ["Mass"] * 2, "label": [0, 0, np.nan, np.nan]})
    labels = labels_by_case_and_task(frame, plan)
    assert labels["a", "Edema"] == 0
    assert np.isnan(labels["a", "Mass"])
    assert labels_by_case_and_task(None, plan) == {}


def test_maps_of_a_folder_are_of_the_network_and_outputs_that_its_settings_name(tmp_path):
    own = Network("n", cnn, tasks=OUTPUTS, probability="sigmoid")
    make_maps(tmp_path / "maps", pictures(1), own, methods="gradcam", progress=False)
    keys = [MapKey("case00", task, "gradcam", "n", None) for task in OUTPUTS]
    check_network_made_maps(own, cnn(), OUTPUTS, keys, tmp_path / "maps")
    with raises(InputFileError, path=tmp_path / "maps", value="gradcam:n"):
        check_network_made_maps(own, cnn(1), OUTPUTS, keys, tmp_path / "maps")
    # the output that the maps are of
    with raises(InputFileError, path=tmp_path / "maps", value=("gradcam:n", "Mass"), match="output 2"):
        check_network_made_maps(own, cnn(), OUTPUTS | {"Mass": 1}, keys, tmp_path / "maps")
    # settings say nothing of maps of another name, and a folder without settings nothing of any
    others = [MapKey("case00", "Mass", "gradcam", "other", None)]
    check_network_made_maps(own, cnn(1), OUTPUTS, others, tmp_path / "maps")
    check_network_made_maps(own, cnn(1), OUTPUTS, keys, tmp_path)
