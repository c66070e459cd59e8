import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.images.map_steps import rescale, resize
from salstats.images.preparation import Preparation
from salstats.metrics.repeats import agreement_among_maps
from salstats.readers.map_folder import read_map_folder
from salstats.scoring.repeatability import map_repeatability

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import OUTPUTS, cnn, content, count_passes, pictures  # noqa: E402

from salstats.explain.ensembles import explain_ensemble  # noqa: E402
from salstats.explain.forward_passes import predict  # noqa: E402
from salstats.explain.map_plans import case_seed  # noqa: E402
from salstats.explain.map_runs import make_maps  # noqa: E402
from salstats.explain.networks import Network  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402

# single precision: the same sums in batches of another size
SINGLE = 1e-6


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "maps"


def network_of(model, name="cnn", **options):
    return Network(name, model, tasks=OUTPUTS, **options)


def table(folder):
    return pd.read_csv(folder / "maps.csv", dtype={"seed": "str", "model": "str"})


def map_of(folder, case, task, method, model="cnn", seed=None):
    rows = table(folder)
    chosen = (rows[["case", "task", "method", "model"]] == [case, task, method, model]).all(axis=1)
    if seed is not None:
        chosen &= rows["seed"] == seed
    (path,) = rows.loc[chosen, "path"]
    return np.load(folder / path, allow_pickle=False)


def test_it_makes_every_map_that_explain_makes(folder):
    images = pictures(5)
    methods = ["gradcam", "input_x_gradient"]
    returned = make_maps(folder, images, network_of(cnn()), methods=methods, batch_size=4)
    assert returned == folder
    rows = table(folder)
    assert len(rows) == 5 * 2 * 2
    assert set(rows["height"]) == {24}
    assert set(rows["width"]) == {32}
    probs = predict(cnn(), np.stack(list(images.values())), probability="sigmoid")
    for case, image, prob in zip(images, images.values(), probs, strict=True):
        for task, output in OUTPUTS.items():
            for method in methods:
                expected = explain(cnn(), image[None], output, method=method, resolution="network")[0]
                found = map_of(folder, case, task, method)
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, atol=SINGLE)
            said = rows.loc[(rows["case"] == case) & (rows["task"] == task), "prob"]
            np.testing.assert_allclose(said, prob[output], atol=SINGLE)
    assert map_of(folder, "case00", "Edema", "gradcam").shape == (6, 8)


def test_a_second_run_computes_only_what_is_missing(folder):
    images, model = pictures(6), cnn()
    passes = count_passes(model)
    make_maps(folder, images, network_of(model), batch_size=4)
    first, n_first = content(folder), sum(passes)
    passes.clear()
    make_maps(folder, images, network_of(model), batch_size=4)
    assert passes == []
    assert content(folder) == first
    # two cases more: as many passes for each as before
    make_maps(folder, pictures(8), network_of(model), batch_size=4)
    assert sum(passes) == n_first / 6 * 2
    passes.clear()
    # one map lost
    lost = folder / table(folder).set_index(["case", "task"]).loc[("case03", "Mass"), "path"]
    kept = lost.read_bytes()
    lost.unlink()
    make_maps(folder, pictures(8), network_of(model), batch_size=4)
    assert sum(passes) < 5
    np.testing.assert_allclose(np.load(lost), np.load(_file(folder.parent, kept)), atol=SINGLE)
    passes.clear()
    # a method more: the first one's maps stay
    make_maps(folder, images, network_of(model), methods=["gradcam", "hirescam"], batch_size=4)
    assert sum(passes) == n_first


def _file(folder, content):
    file = folder / "kept.npy"
    file.write_bytes(content)
    return file


def test_an_interrupted_run_goes_on_and_ends_with_the_same_bytes(folder, tmp_path):
    images = pictures(9)
    make_maps(tmp_path / "whole", images, network_of(cnn()), methods=["gradcam", "layercam"], batch_size=4)
    model = cnn()
    passes = count_passes(model)

    def stop(module, inputs):
        if len(passes) == 9:
            raise KeyboardInterrupt

    handle = model.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        make_maps(folder, images, network_of(model), methods=["gradcam", "layercam"], batch_size=4)
    handle.remove()
    n_made = len(table(folder))
    assert 0 < n_made < 36
    assert not [p for p in folder.rglob("*") if p.name.startswith(".salstats-") and p.suffix == ".npy"]
    make_maps(folder, images, network_of(model), methods=["gradcam", "layercam"], batch_size=4)
    assert content(folder) == content(tmp_path / "whole")
    assert model.training


def test_score_reads_what_was_made(folder):
    images = pictures(4)
    truth = np.zeros((24, 32), bool)
    truth[6:18, 8:24] = True
    keys = [(case, task) for case in images for task in OUTPUTS]
    make_maps(
        folder, images, network_of(cnn(), seed=3), truths=dict.fromkeys(keys, truth),
        human=dict.fromkeys(keys, truth), labels=dict.fromkeys(keys, 1),
        patients={case: f"p{i // 2}" for i, case in enumerate(images)},
    )  # fmt: skip
    scores = ss.score(read_map_folder(folder), metrics=["iou", "hit"])
    assert set(scores["method"]) == {"gradcam", "human"}
    assert scores.loc[scores["method"] == "human", "score"].dropna().eq(1).all()
    own = scores[scores["method"] == "gradcam"]
    assert set(own["model"]) == {"cnn"}
    assert set(own["seed"]) == {"3"}
    assert set(own["patient"]) == {"p0", "p1"}
    assert own["label"].eq(1).all()
    # the map that is scored is the one that explain returns at the image's size
    saliency = explain(cnn(), images["case01"][None], OUTPUTS["Mass"])[0]
    direct = ss.study_from_arrays({("case01", "Mass"): truth}, {("case01", "Mass", "gradcam"): saliency})
    expected = ss.score(direct, metrics="iou")["score"].iloc[0]
    found = own[(own["case"] == "case01") & (own["task"] == "Mass") & (own["metric"] == "iou")]["score"].iloc[
        0
    ]
    assert found == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("fit", ["stretch", "inside", "cover"])
def test_maps_lie_on_the_image_whatever_the_network_was_given(folder, fit):
    # a bright square on a dark image; the activation of a network that passes it on is the image itself
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 1, 1, bias=False), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    )
    model[0].weight.data.fill_(1.0)
    image = np.zeros((90, 60), np.uint8)
    image[40:52, 20:32] = 255
    prepare = Preparation((32, 32), fit=fit, channels=1)
    network = Network("pass", model, tasks={"square": 0}, layer="0", preparation=prepare)
    make_maps(folder, {"a": image}, network, methods="activation", resolution="network")
    kept = map_of(folder, "a", "square", "activation", "pass")
    assert max(kept.shape) <= 48
    on_image = resize(kept, (90, 60)).astype(float)
    on_image[on_image < on_image.max() / 2] = 0
    centre = [np.average(np.arange(n), weights=on_image.sum(axis=a)) for a, n in ((1, 90), (0, 60))]
    # a pixel of the network is up to 2.8 of the image
    np.testing.assert_allclose(centre, [45.5, 25.5], atol=0.5)
    assert (table(folder)["height"][0], table(folder)["width"][0]) == (90, 60)
    make_maps(folder.with_name("large"), {"a": image}, network, methods="activation", resolution="image")
    assert map_of(folder.with_name("large"), "a", "square", "activation", "pass").shape == (90, 60)


def test_images_are_read_one_after_the_other_and_only_where_they_are_needed(folder, tmp_path):
    from PIL import Image

    asked = []

    def image_of(case):
        asked.append(case)
        return np.full((20, 20, 3), 100, np.uint8)

    file = tmp_path / "image.png"
    Image.fromarray(np.full((20, 20), 100, np.uint8)).save(file)
    prepare = Preparation((16, 16), channels=1)
    network = network_of(cnn(), preparation=prepare)
    images = {"a": lambda: image_of("a"), "b": file, "c": lambda: image_of("c"), "d": str(file)}
    make_maps(folder, images, network)
    assert asked == ["a", "c"]
    # a file, and an array that says the same
    np.testing.assert_allclose(
        map_of(folder, "a", "Mass", "gradcam"), map_of(folder, "b", "Mass", "gradcam"), atol=SINGLE
    )
    asked.clear()
    make_maps(folder, iter([*images.items(), ("e", lambda: image_of("e"))]), network)
    assert asked == ["e"]


def test_a_changed_network_or_option_is_refused(folder):
    images = pictures(2)
    make_maps(folder, images, network_of(cnn()), methods=["occlusion"], options={"occlusion": {"window": 8}})
    before = content(folder)
    again = dict(methods=["occlusion"], options={"occlusion": {"window": 8}})
    other = dict(methods=["occlusion"], options={"occlusion": {"window": 8, "stride": 4}})
    for network, arguments in (
        (network_of(cnn(1)), again),
        (network_of(cnn()), other),
        (network_of(cnn()), again | {"resolution": "image"}),
        (network_of(cnn(), probability="softmax"), again),
    ):
        with raises(InputFileError, option="overwrite", value="occlusion:cnn"):
            make_maps(folder, images, network, **arguments)
        assert content(folder) == before
    # another name is another series
    make_maps(folder, images, network_of(cnn(1), name="other"), **again)
    assert set(table(folder)["model"]) == {"cnn", "other"}
    make_maps(folder, images, network_of(cnn()), overwrite=True, **other)
    assert len(table(folder)) == 8


def test_another_output_of_a_task_is_refused(folder):
    images, network = pictures(2), Network("cnn", cnn(), layer=None)
    make_maps(folder, images, network, tasks={"Edema": 1})
    before = content(folder)
    with raises(
        InputFileError,
        option="overwrite",
        value=("gradcam:cnn", "Edema"),
        # what the maps are of, and what is wanted
        match=r"'output 1', .*'output 0'",
    ):
        make_maps(folder, images, network, tasks={"Edema": 0})
    assert content(folder) == before
    # a task more is none that has changed
    make_maps(folder, images, network, tasks={"Edema": 1, "Mass": 0})
    make_maps(folder, images, network, tasks={"Edema": 0}, overwrite=True)
    assert set(table(folder)["task"]) == {"Edema"}


def test_a_run_whose_table_lost_its_rows_loses_no_map(folder):
    images = pictures(3)
    make_maps(folder, images, network_of(cnn()))
    before = content(folder)
    header = (folder / "maps.csv").read_text().split("\n")[0]
    (folder / "maps.csv").write_text(header + "\n")
    make_maps(folder, {"case00": images["case00"]}, network_of(cnn()))
    after = content(folder)
    assert before.keys() <= after.keys()
    # those of case00 were made again, in a batch of its own, and may differ in their last digits
    kept = [name for name in before if name.endswith(".npy") and "case00" not in name]
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert len(kept) == 4


def test_an_ensemble_is_the_mean_of_its_networks(folder):
    images = pictures(5)
    networks = [network_of(lambda s=s: cnn(s), name=f"run{s}") for s in range(3)]
    make_maps(folder, images, networks, ensemble=True, batch_size=4, cases_at_once=2)
    expected = explain_ensemble(networks, np.stack(list(images.values())), resolution="network")
    rows = table(folder)
    assert set(rows["model"]) == {"ensemble"}
    assert len(rows) == 10
    for i, case in enumerate(images):
        found = map_of(folder, case, "Mass", "gradcam", "ensemble")
        np.testing.assert_allclose(found, expected.maps[i, 1], atol=SINGLE)
        prob = rows.loc[(rows["case"] == case) & (rows["task"] == "Mass"), "prob"]
        np.testing.assert_allclose(prob, expected.probs[i, 1], atol=SINGLE)
    # what is wanted now
    with raises(InputFileError, option="overwrite", value="gradcam:ensemble", match="mean of 2 networks"):
        make_maps(folder, images, networks[:2], ensemble=True)


def test_an_ensemble_keeps_one_network_in_memory_and_loads_it_once_per_part(folder):
    import weakref

    alive, n_loaded = [], []

    def load(seed):
        assert [m for m in alive if m() is not None] == []
        model = cnn(seed)
        alive.append(weakref.ref(model))
        n_loaded.append(seed)
        return model

    networks = [network_of(lambda s=s: load(s), name=f"run{s}") for s in range(3)]
    make_maps(folder, pictures(6), networks, ensemble="mean of three", cases_at_once=3)
    # once to know it again, then for each part of the cases
    assert n_loaded == [0, 1, 2] * 3
    n_loaded.clear()
    make_maps(folder, pictures(6), networks, ensemble="mean of three")
    assert n_loaded == [0, 1, 2]
    assert set(table(folder)["model"]) == {"mean of three"}


def test_each_task_may_have_networks_of_its_own(folder):
    a, b = (network_of(lambda s=s: cnn(s), name=f"run{s}") for s in range(2))
    images = pictures(2)
    make_maps(folder, images, {"Mass": [a, b], "Edema": [b]}, ensemble=True)
    expected = explain_ensemble(
        {"Mass": [a, b], "Edema": [b]}, np.stack(list(images.values())), resolution="network"
    )
    for place, task in enumerate(expected.tasks):
        found = map_of(folder, "case01", task, "gradcam", "ensemble")
        np.testing.assert_allclose(found, expected.maps[1, place], atol=SINGLE)


def test_random_methods_draw_by_case_and_seed(folder):
    images = pictures(3)
    rise = {"rise": {"n_masks": 16, "probability": "sigmoid"}}
    methods = ["rise", "gradcam"]
    make_maps(folder, images, network_of(cnn()), methods=methods, options=rise, seeds=[5, 6])
    rows = table(folder)
    assert rows.fillna({"seed": ""}).groupby(["method", "seed"]).size().to_dict() == {
        ("gradcam", ""): 6, ("rise", "5"): 6, ("rise", "6"): 6,
    }  # fmt: skip
    image = images["case01"][None]
    expected = explain(
        cnn(),
        image,
        2,
        method="rise",
        resolution="network",
        seeds=[case_seed(5, 0, "case01")],
        **rise["rise"],
    )[0]
    found = map_of(folder, "case01", "Mass", "rise", seed="5")
    np.testing.assert_allclose(found, expected, atol=SINGLE)
    assert not np.allclose(found, map_of(folder, "case01", "Mass", "rise", seed="6"), atol=1e-3)
    # which other cases there are changes nothing
    make_maps(
        folder.with_name("one"),
        {"case01": images["case01"]},
        network_of(cnn()),
        methods="rise",
        options=rise,
        rng=5,
    )
    np.testing.assert_allclose(map_of(folder.with_name("one"), "case01", "Mass", "rise"), found, atol=SINGLE)
    with raises(SalstatsError, option="seeds", value="cnn:1"):
        make_maps(folder.with_name("two"), images, network_of(cnn(), seed=1), methods="rise", seeds=[1, 2])


def test_trainings_of_one_network_are_compared_by_their_seeds(folder):
    trainings = [network_of(lambda s=s: cnn(s), seed=s) for s in range(3)]
    truth = {("case00", task): np.eye(24, 32, dtype=bool) for task in OUTPUTS}
    make_maps(folder, pictures(2), trainings, truths=truth)
    found = map_repeatability(read_map_folder(folder), threshold=0.5)
    assert set(found["model"]) == {"cnn"}
    assert set(found["n_maps"]) == {3}
    stack = [map_of(folder, "case00", "Mass", "gradcam", seed=str(s)) for s in range(3)]
    on_image = [rescale(resize(saliency, (24, 32))) for saliency in stack]
    expected = agreement_among_maps(on_image, [m > 0.5 for m in on_image])
    rows = found[(found["case"] == "case00") & (found["task"] == "Mass")].set_index("metric")["score"]
    np.testing.assert_allclose(rows["map_sd"], expected.sd, atol=SINGLE)
    np.testing.assert_allclose(rows["map_ncc"], expected.ncc, atol=SINGLE)


def test_a_method_may_stand_under_several_names(folder):
    options = {
        "occlusion8": {"method": "occlusion", "window": 8, "stride": 8},
        "occlusion4": {"method": "occlusion", "window": 4, "stride": 4},
    }
    make_maps(folder, pictures(1), network_of(cnn()), methods=list(options), options=options)
    assert set(table(folder)["method"]) == set(options)
    assert not np.array_equal(
        map_of(folder, "case00", "Mass", "occlusion8"), map_of(folder, "case00", "Mass", "occlusion4")
    )


def test_nan_is_named_with_case_task_and_network(folder):
    class Broken(torch.nn.Module):
        """Gives NaN for the gradient of dark images: the root of 0."""

        def __init__(self):
            super().__init__()
            self.conv, self.pool = torch.nn.Conv2d(1, 3, 1, bias=False), torch.nn.AdaptiveAvgPool2d(1)
            self.conv.weight.data.fill_(1.0)

        def forward(self, images):
            return self.pool(self.conv(images).sqrt()).flatten(1)

    images = {"bright": np.ones((1, 8, 8), np.float32), "dark": np.zeros((1, 8, 8), np.float32)}
    network = Network("broken", Broken(), tasks={"Edema": 0, "Mass": 1}, layer="conv")
    # the network and the method
    with raises(SalstatsError, value=("dark", "Edema"), match="'broken'.*'gradcam'.*NaN"):
        make_maps(folder, images, network, batch_size=1)
    # what was made before is kept
    assert set(table(folder)["case"]) == {"bright"}
    images["dark"] = -images["bright"]
    with raises(SalstatsError, rows=(0,), match="'dark'.*'broken'.* NaN"):
        make_maps(folder, images, network)


def test_too_little_memory_is_said_with_what_would_do(folder):
    model = cnn()

    def fail(module, inputs):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate")

    model.register_forward_pre_hook(fail)
    with raises(SalstatsError, option="batch_size", value=8, match="'cnn'"):
        make_maps(folder, pictures(1), network_of(model), batch_size=8)


@pytest.mark.parametrize(
    ("arguments", "kind", "fields"),
    [
        (dict(methods="gradcan"), ValueRangeError, {"option": "method", "value": "gradcan"}),
        (dict(methods=[]), SalstatsError, {"option": "methods"}),
        (dict(options={"rise": {}}), SalstatsError, {"option": "options", "value": "rise"}),
        (dict(options={"gradcam": {"windw": 3}}), SalstatsError, {"option": "windw"}),
        (dict(options={"gradcam": {"batch_size": 3}}), SalstatsError, {"value": "batch_size"}),
        (dict(rng=np.random.default_rng(0)), ValueRangeError, {"option": "rng"}),
        (dict(resolution="half"), ValueRangeError, {"option": "resolution", "value": "half"}),
        (dict(scale="all"), ValueRangeError, {"option": "scale", "value": "all"}),
        (dict(batch_size=0), ValueRangeError, {"option": "batch_size"}),
        (dict(tasks={"Fracture": 9}), SalstatsError, {"option": "tasks", "value": "Fracture"}),
    ],
)
def test_bad_requests_are_named_before_anything_is_written(folder, arguments, kind, fields):
    with raises(kind, **fields):
        make_maps(folder, pictures(1), network_of(cnn()), **arguments)
    assert not folder.exists()


def test_all_cases_have_a_patient_or_none(folder):
    with raises(SalstatsError, option="patients", value="case00"):
        make_maps(folder, pictures(1), network_of(cnn()), patients={"b": "p"})


def test_a_second_run_says_patients_and_labels_of_maps_that_are_there(folder):
    images = pictures(3)
    make_maps(folder, images, network_of(cnn()))
    before = {file: file.read_bytes() for file in folder.rglob("*.npy")}
    labels = {("case01", "Mass"): 1}
    make_maps(folder, images, network_of(cnn()), patients=dict.fromkeys(images, "p0"), labels=labels)
    table = pd.read_csv(folder / "maps.csv")
    assert table["patient"].eq("p0").all()
    assert table.query("label == 1")[["case", "task"]].to_numpy().tolist() == [["case01", "Mass"]]
    assert {file: file.read_bytes() for file in folder.rglob("*.npy")} == before
    # where nothing is said, what is there stays
    make_maps(folder, images, network_of(cnn()))
    assert pd.read_csv(folder / "maps.csv").equals(table)


def test_a_truth_of_another_size_than_its_image_is_named_before_maps_of_it_are_made(folder):
    truths = {("case00", "Edema"): np.ones((3, 3), bool)}
    with raises(ShapeError, option="shape", value=(24, 32)):
        make_maps(folder, pictures(1), network_of(cnn()), truths=truths)
    assert not (folder / "maps").exists()


@pytest.mark.parametrize(
    ("images", "kind", "option", "match"),
    [
        (None, SalstatsError, "images", "NoneType"),
        ({}, SalstatsError, "images", None),
        (["image.png"], SalstatsError, "images", "str"),
        ({"a": "none.png"}, InputFileError, None, "^case 'a': .*none.png"),
    ],
)
def test_bad_images_are_named(folder, images, kind, option, match):
    with raises(kind, option=option, match=match):
        make_maps(folder, images, network_of(cnn()))
