import pandas as pd
import pytest

import salstats as ss
from salstats.cli.app import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a pilot of one metric and method in it."""
    monkeypatch.chdir(tmp_path)
    pilot = ss.datasets.load_simulated().query("metric == 'iou' and method != 'occlusion'")
    pilot.to_csv("pilot.csv", index=False)
    return tmp_path


def test_a_plan_is_written_and_its_sentence_said(capsys, folder):
    options = "--reference human --by metric --n-cases 20,40 --effect -0.12 --studies 50 --replicates 200"
    assert run(["power", "pilot.csv", *options.split(), "-o", "plan.csv"]) == 0
    out, err = capsys.readouterr()
    expected = ss.power(
        ss.read_scores("pilot.csv"), reference="human", by="metric", n_cases=[20, 40], effect=-0.12,
        n_studies=50, n_replicates=200,
    )  # fmt: skip
    pd.testing.assert_frame_equal(ss.read_data("plan.csv")[["power", "width"]], expected[["power", "width"]])
    assert err.strip() == ss.power_sentence(expected)
    assert out == ""


def test_components_of_readers_are_planned_from_a_file(capsys, folder):
    terms = {"error": 8e-4, "cov1": 3.5e-4, "cov2": 3.4e-4, "cov3": 2.4e-4, "method:reader": 2e-4}
    pd.DataFrame({"term": list(terms), "estimate": list(terms.values()), "n_units": 114}).to_csv(
        "parts.csv", index=False
    )
    options = "--term mrmc --n-readers 4,6 --n-cases 100 --effect 0.05 --readers fixed"
    assert run(["power", "parts.csv", *options.split(), "-o", "plan.csv"]) == 0
    assert ss.read_data("plan.csv")["inference_to"].unique() == ["these readers"]
    assert "speaking of these readers" in capsys.readouterr().err


def test_what_cannot_be_planned_leaves_no_file(capsys, folder):
    assert run(["power", "pilot.csv", "--reference", "human", "-o", "plan.csv"]) == 2
    assert "which true effect the study is to find" in capsys.readouterr().err
    assert not (folder / "plan.csv").exists()
