"""A metric that is not what its study printed says so below every table."""

import pytest

import salstats as ss
from salstats.metrics.registry import METRICS

TABLES = {
    "describe": lambda s: ss.table_describe(ss.describe(s, by=("metric", "method"))),
    "estimates": lambda s: ss.table_estimates(ss.summarize(s, n_replicates=100)),
    "decrease": lambda s: ss.table_decrease(ss.percent_decrease(s, reference="human", n_replicates=100)),
    "difference": lambda s: ss.table_decrease(ss.difference(s, reference="human", n_replicates=100)),
    "regression": lambda s: ss.table_regression(ss.regress(s, "pdc ~ elongation")),
    "covariate": lambda s: ss.table_regression(ss.regress(s, "prob ~ pdc")),
    "correlation": lambda s: ss.table_correlation(ss.correlate(s, "pdc", "prob", by=("method", "task"))),
}


@pytest.fixture(scope="module")
def penalised(scores):
    """The simulated scores as if they were Penalised Dice: the tables look at the name only."""
    rows = scores[scores["metric"] == "iou"]
    return rows.assign(metric="pdc").reset_index(drop=True)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_penalised_dice_says_that_it_is_a_reconstruction(name, penalised, read):
    assert METRICS["pdc"].note in read(TABLES[name](penalised)).note


def test_other_tables_do_not(scores, read):
    assert "reconstruction" not in read(TABLES["estimates"](scores)).note
