"""Texts below the axes of contrasts: on which side of the reference a method is better."""

from typing import Any

import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.text_columns import GEOM_PARAMS
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import MM_PER_PT, MUTED, TEXT_PT, font
from salstats.display.text.vocabulary import CONTRASTS
from salstats.metrics.registry import direction

#: Size of the texts in points.
_SIDE_PT = TEXT_PT - 1
#: Height in mm of the line of texts, and the distance of its upper edge from the panel.
SIDES_MM = 2.8
_BELOW_PANEL_MM = 4.3
#: Least room in mm between the two texts of a panel.
_GAP_MM = 2.5


def better_contrast_sign(metric: object, term: str | None) -> int:
    """Return the sign of contrasts of methods that are better than the reference, 0 where it is not known.

    A difference is the method minus the reference, while a percentage decrease is positive where the method
    is lower. A larger AUROC is better whatever the metric.
    """
    if term not in CONTRASTS:
        return 0
    if term == "auroc_difference":
        return 1
    if term == "percent_decrease":
        return -direction(metric)
    return direction(metric)


def better_side_signs_by_panel(frame: pd.DataFrame, term: str | None) -> pd.DataFrame:
    """Return the sign of the side of better methods by panel: columns `panel` and `better`, 1 or -1.

    `frame` has the rows of a figure of contrasts with their `panel` and `metric`. Panels are left out where
    the direction of the metric is not known, and where the mean of a reference is below 0, which turns the
    sign of percentage decreases.
    """
    if "metric" not in frame.columns:
        return pd.DataFrame({"panel": [], "better": []})
    signs = [better_contrast_sign(metric, term) for metric in frame["metric"]]
    sides = frame[["panel"]].assign(better=signs)
    has_sign = sides["better"] != 0
    if term == "percent_decrease" and "reference_mean" in frame.columns:
        panels_of_turned_sign = frame.loc[frame["reference_mean"] < 0, "panel"]
        has_sign &= ~sides["panel"].isin(panels_of_turned_sign)
    # all rows of a panel have one metric, and so one sign
    return sides[has_sign].drop_duplicates().reset_index(drop=True)


def side_texts(nonzero_better_sign: int, panel_width: float) -> tuple[str, str]:
    """Return the texts at the left and right end of an axis; short ones if a panel is too narrow for more."""
    texts = ("← method worse", "method better →")
    short_texts = ("← worse", "better →")
    if nonzero_better_sign < 0:
        texts = ("← method better", "method worse →")
        short_texts = ("← better", "worse →")
    if _texts_width_mm(texts) > panel_width:
        return short_texts
    return texts


def _texts_width_mm(texts: tuple[str, str]) -> float:
    """Return the width in mm of two texts beside each other."""
    return sum(text_width_mm(text, _SIDE_PT) for text in texts) + _GAP_MM


def axis_side_layers(sides: pd.DataFrame | None, panel_width: float) -> list[Any]:
    """Return the layer of texts below panels of a width in mm, none if no panel has any."""
    if sides is None or sides.empty:
        return []
    return [geom_better_worse_texts(p9.aes(better="better"), sides, panel_width_mm=panel_width)]


class geom_better_worse_texts(p9.geoms.geom.geom):
    """Texts below the numbers of an axis that say on which side a method is better."""

    REQUIRED_AES = {"better"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = GEOM_PARAMS | {"panel_width_mm": 0.0}

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the texts of one panel to its axes; they extend beyond a panel that is narrower than both."""
        panel_width_mm = self.params["panel_width_mm"]
        texts = side_texts(int(data["better"].iloc[0]), panel_width_mm)
        overhang_pt = max(_texts_width_mm(texts) - panel_width_mm, 0) / 2 / MM_PER_PT
        places = (("left", 0.0, -overhang_pt), ("right", 1.0, overhang_pt))
        for text, (alignment, x, offset_pt) in zip(texts, places, strict=True):
            ax.annotate(
                text,
                xy=(x, 0),
                xycoords="axes fraction",
                xytext=(offset_pt, -_BELOW_PANEL_MM / MM_PER_PT),
                textcoords="offset points",
                ha=alignment,
                va="top",
                family=font(),
                fontsize=_SIDE_PT,
                color=MUTED,
                annotation_clip=False,
            )
