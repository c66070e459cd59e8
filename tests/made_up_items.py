"""Items of a study made up for the tests of the engine."""

import pandas as pd
import plotnine as p9

import salstats as ss
from salstats.errors import SalstatsError
from salstats.studies.declarations import ItemResult, PrintedNumbers, StudyItem

FRAME = pd.DataFrame({"task": ["a", "b"], "estimate": [0.1235, 0.5], "unit": "case", "interval": "t"})


def shown(frame, **more):
    """A result with a table and a figure."""
    table = ss.table_estimates(frame.assign(metric="iou", conf_low=0.0, conf_high=1.0), rows="task")
    figure = p9.ggplot(frame, p9.aes("task", "estimate")) + p9.geom_point()
    return ItemResult(frame, table, figure, **more)


def lacking(_):
    raise SalstatsError("there is no score")


def broken(_):
    raise KeyError("model")


PRINTED = PrintedNumbers(
    lambda: FRAME.assign(estimate=[0.124, 0.5])[["task", "estimate"]], ("task",), ("estimate",)
)
GOOD = StudyItem("table_1", "Table 1: means", lambda _: shown(FRAME, note="few cases"), printed=PRINTED)
LACKING = StudyItem("table_2", "Table 2: slopes", lacking)
NEEDY = StudyItem("table_3", "Table 3: maps", lambda _: shown(FRAME), needs=("maps",), part_needs=("people",))
