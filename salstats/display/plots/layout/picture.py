"""Pictures as a layer: a map laid over its image, drawn in its place without a row of data for each pixel."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.image import AxesImage

from salstats.checks import SalstatsError
from salstats.display.plots.layout.theme import TEXT_PT

#: Ground where there is no image, 0 (black) to 1.
GROUND = 0.45
#: Part of the colour scale that is used: its dark end would only hide the image.
_COLOURS, _FIRST, _LAST = "inferno", 0.30, 0.95
#: How much of the image the largest saliency covers, and from which saliency on this is so.
_COVER, _FULL = 0.62, 0.5


def tinted(grey: np.ndarray, saliency: np.ndarray | None) -> np.ndarray:
    """Picture of an image with a map over it.

    `grey` (rows, cols) is from 0, black, to 1, `saliency` from 0, which leaves the image as it is, to 1;
    bytes (rows, cols, 3) come back.
    """
    picture = np.repeat(grey[:, :, None].astype(np.float64), 3, axis=2)
    if saliency is not None:
        cover = cover_of(saliency)[:, :, None]
        picture = (1 - cover) * picture + cover * colours_of(saliency)
    return np.asarray(np.round(255 * np.clip(picture, 0, 1)), dtype=np.uint8)


def cover_of(saliency: np.ndarray) -> np.ndarray:
    """How much of the image each saliency covers, 0 to 1."""
    return np.asarray(_COVER * np.clip(saliency / _FULL, 0, 1))


def colours_of(saliency: np.ndarray) -> np.ndarray:
    """Colour of each saliency, 0 to 1 in red, green and blue along the last axis."""
    return np.asarray(mpl.colormaps[_COLOURS](_FIRST + (_LAST - _FIRST) * saliency)[..., :3])


def scale_colours(n: int = 21) -> list[str]:
    """Colours of the scale from 0 to 1 as they look over a middle grey."""
    steps = np.linspace(0, 1, n)[None, :]
    mixed = tinted(np.full(steps.shape, GROUND), steps)[0]
    return [f"#{r:02X}{g:02X}{b:02X}" for r, g, b in mixed]


def colour_bar(title: str, width: float) -> Any:
    """Legend of a map's colours below the pictures, `width` in points."""
    return p9.guide_colorbar(
        order=3,
        position="bottom",
        direction="horizontal",
        alpha=1,
        title=title,
        theme=p9.theme(
            legend_title=p9.element_text(size=TEXT_PT, va="top", margin={"r": 4, "unit": "pt"}),
            legend_title_position="left",
            legend_key_width=width,
            legend_key_height=6,
            legend_text=p9.element_text(size=TEXT_PT - 1),
        ),
    )


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
