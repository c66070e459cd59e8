import pytest
from mrmc_readings import mrmc_frame


@pytest.fixture(scope="session")
def vandyke(r_data):
    table = r_data("vandyke")
    return mrmc_frame(table, "rating", "rating").assign(truth=table["truth"])


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
