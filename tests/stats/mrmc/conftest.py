import numpy as np
import pandas as pd
import pytest
from mrmc_readings import mrmc_frame


@pytest.fixture(scope="session")
def vandyke(r_data):
    table = r_data("vandyke")
    return mrmc_frame(table, "rating", "rating").assign(truth=table["truth"])


@pytest.fixture(scope="session")
def rated(drawn_readings):
    """Readings that are drawn here as a scores frame: five readers with two methods, the truth beside."""
    return mrmc_frame(drawn_readings).assign(truth=drawn_readings["truth"])


@pytest.fixture(scope="session")
def three_methods(rated):
    """These readings and those of a third method, which are those of the first with errors added."""
    first = rated[rated["method"] == "A"]
    errors = np.random.default_rng(22).normal(0, 0.1, len(first))
    third = first.assign(method="C", score=first["score"] + errors)
    return pd.concat([rated, third], ignore_index=True)


@pytest.fixture(scope="session")
def sets(r_data):
    """Inputs of the R oracle as scores frames."""
    synth, gaze = r_data("synth2"), r_data("gaze_sncc_ag_io").rename(columns={"source": "method"})
    return {
        "synth2_score": mrmc_frame(synth),
        "synth2_hit": mrmc_frame(synth.drop(columns="score"), "hit", "hit"),
        "real_mixing_sncc": mrmc_frame(r_data("gaze_mrmc_seed_mixing_sncc"), metric="sncc"),
        "real_mixing_sauc": mrmc_frame(r_data("gaze_mrmc_seed_mixing_sauc"), metric="sauc"),
        "real_io_ag_readers": mrmc_frame(gaze, metric="sncc"),
        "negcov": mrmc_frame(r_data("mrmc_negcov")),
    }
