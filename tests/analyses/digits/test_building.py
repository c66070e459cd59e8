"""The digits study is what its code makes: recomputed in parts at every run, and as a whole on demand."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")


from digits import building  # noqa: E402
from digits.building import QUICK, Plan, build_study  # noqa: E402
from digits.canvases import MAIN_DESIGN  # noqa: E402
from digits.maps import (  # noqa: E402
    method_maps,
    probabilities,
    score_annotator,
    score_insertion,
    score_maps,
)
from salstats.explain.digits import ARCHITECTURES, read_network  # noqa: E402

KEYS = ["dataset", "model", "seed", "case", "task", "method", "metric"]
#: Scores are stored to four decimals: half of the last one, and what binary numbers add.
ROUNDED = 0.5e-4 + 1e-9
#: Maps are computed in float32, whose rounding differs between processors: a pixel at the threshold may
#: change sides, and two equal peaks places. That share of the scores may differ, hits apart by no more.
SHARE, MOST = 0.02, 0.1
#: Probabilities are stored to six decimals; float32 outputs of other processors differ by some 1e-6.
PROB = 5e-6


@pytest.fixture(scope="module")
def folder():
    return ss.datasets.data_folder() / "digits"


@pytest.fixture(scope="module")
def scores():
    return ss.datasets.load_digits_scores(seed=None)


def assert_agree(made, kept):
    """Scores by key: nearly all equal to the digits stored, none far off, undefined ones the same."""
    both = kept.merge(made, on=KEYS, suffixes=("", "_made"), how="outer", indicator=True)
    assert (both["_merge"] == "both").all()
    assert (both["score"].isna() == both["score_made"].isna()).all()
    apart = (both["score"] - both["score_made"]).abs().fillna(0)
    assert (apart > ROUNDED).mean() <= SHARE
    assert (apart[both["metric"] != "hit"] <= MOST).all()


def test_the_settings_are_those_of_the_code(folder):
    kept = json.loads((folder / building.SETTINGS).read_text())
    now = json.loads(json.dumps(building.settings(Plan())))
    assert kept.pop("versions").keys() == now.pop("versions").keys()
    assert kept == now
    assert "simulated" in kept["what"]


# maps of large areas have their largest value at many pixels
@pytest.mark.filterwarnings("ignore:the largest value of:salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_maps_and_scores_from_the_committed_weights_are_those_committed(folder, scores, architecture):
    whole = Plan().test_set(MAIN_DESIGN)
    tests = whole.some([c.name for c in whole.canvases[:2]])
    network = read_network(architecture, folder / "weights" / f"{architecture}-0.npz")
    maps = method_maps(network, architecture, tests)
    made = pd.concat([score_maps(tests, maps), score_insertion(network, tests, maps)])
    made = made.dropna(subset="score").assign(dataset=MAIN_DESIGN, model=architecture, seed="0")
    own = scores[scores["case"].isin([c.name for c in tests.canvases]) & (scores["model"] == architecture)]
    own = own[(own["seed"] == "0") & (own["method"] != "human")]
    assert_agree(made[[*KEYS, "score"]], own.dropna(subset="score")[[*KEYS, "score"]])
    kept = own.drop_duplicates(["case", "task"]).set_index(["case", "task"])["prob"]
    places = [(c.name, f"digit {d}") for c in tests.canvases for d in range(10)]
    assert probabilities(network, tests).ravel() == pytest.approx(kept.loc[places].to_numpy(), abs=PROB)


def test_the_simulated_annotator_draws_what_is_committed(scores):
    made = score_annotator(Plan().test_set("quiet"))
    own = scores[
        (scores["method"] == "human") & (scores["dataset"] == "quiet") & (scores["model"] == "plain")
    ]
    both = made.merge(own, on=["case", "task", "metric"], suffixes=("_made", ""))
    assert len(both) == len(made) == len(own)
    pd.testing.assert_series_equal(
        both["score_made"].round(4), both["score"], check_names=False, check_exact=False, atol=ROUNDED
    )


def test_features_are_those_committed():
    made = building.study_features(Plan())
    pd.testing.assert_frame_equal(made, ss.datasets.load_digits_features(), check_dtype=False)


@pytest.mark.filterwarnings(
    "ignore:.*without its pixels an image has a mean probability:salstats.errors.SalstatsWarning"
)
# maps of large areas have their largest value at many pixels
@pytest.mark.filterwarnings("ignore:the largest value of:salstats.errors.SalstatsWarning")
@pytest.mark.slow
def test_a_quick_study_has_every_file_and_does_not_depend_on_the_processes(tmp_path):
    said = []
    for name, jobs in (("one", 1), ("two", 2)):
        build_study(tmp_path / name, plan=QUICK, jobs=jobs, say=said.append)
    sums = [(tmp_path / name / building.SUMS).read_text() for name in ("one", "two")]
    assert sums[0] == sums[1]
    assert {f.name for f in (tmp_path / "one").iterdir()} == {
        "scores.parquet", "features.csv", "auroc.csv", "weights", "examples", "build.json", "SHA256SUMS",
    }  # fmt: skip
    assert sorted(f.name for f in tmp_path.iterdir()) == ["one", "two"]
    assert said[-1].endswith("complete")


def test_a_folder_that_is_there_is_refused(tmp_path):
    with raises(InputFileError, path=tmp_path):
        build_study(tmp_path)


def test_a_study_that_was_interrupted_leaves_nothing(tmp_path, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "train", stop)
    with pytest.raises(KeyboardInterrupt):
        build_study(tmp_path / "digits", plan=QUICK, jobs=1, say=lambda text: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    not os.environ.get("SALSTATS_REBUILD"),
    reason="takes ten minutes: SALSTATS_REBUILD=1 pytest tests/analyses/digits",
)
def test_the_whole_study_built_anew_agrees_with_what_is_committed(folder, scores, tmp_path):
    made = build_study(tmp_path / "digits", say=lambda text: None)
    for file in sorted((folder / "weights").iterdir()):
        with np.load(file) as kept, np.load(made / "weights" / file.name) as again:
            assert kept.files == again.files
            for name in kept.files:
                # trained in float64, stored in float32: its last digits at most
                np.testing.assert_allclose(again[name], kept[name], rtol=1e-5, atol=1e-6)
    again = ss.read_scores(made / building.SCORES)
    assert_agree(again[[*KEYS, "score"]], scores[[*KEYS, "score"]])
    areas, kept = (pd.read_csv(f / building.AUROC) for f in (made, folder))
    # probabilities that differ in the sixth decimal may change places
    assert areas["estimate"].to_numpy() == pytest.approx(kept["estimate"].to_numpy(), abs=1e-3)
    shutil.rmtree(made)
