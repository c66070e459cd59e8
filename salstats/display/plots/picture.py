"""Pictures as a layer: arrays of colours drawn in their place, without a row of data for each pixel."""

from typing import Any

import pandas as pd
import plotnine as p9
from matplotlib.image import AxesImage

from salstats.checks import SalstatsError


class geom_picture(p9.geoms.geom.geom):
    """Draw the picture that `label` names over the rectangle of `xmin, xmax, ymin, ymax`.

    The parameter `pictures` is a mapping of names to arrays of uint8, shape (rows, cols, 3), row 0 on top.
    """

    REQUIRED_AES = {"xmin", "xmax", "ymin", "ymax", "label"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = {  # noqa: RUF012
        "stat": "identity",
        "position": "identity",
        "na_rm": False,
        "pictures": None,
    }

    def handle_na(self, data: pd.DataFrame) -> pd.DataFrame:
        """Raise where a picture has no place, as outside the limits of a scale: none is dropped."""
        lost = data[list(self.REQUIRED_AES)].isna().any(axis=1)
        if lost.any():
            name = data.loc[lost, "label"].iloc[0]
            raise SalstatsError(f"picture {name!r} lies outside the figure's limits; leave these as they are")
        return data

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the pictures of one panel to its axes."""
        placed = coord.transform(data, panel_params)
        for row in placed.itertuples():
            ax.add_image(
                AxesImage(
                    ax,
                    data=self.params["pictures"][row.label],
                    origin="upper",
                    extent=(row.xmin, row.xmax, row.ymin, row.ymax),
                    interpolation="antialiased",
                    zorder=self.params["zorder"],
                )
            )
