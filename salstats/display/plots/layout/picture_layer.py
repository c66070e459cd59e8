"""A plotnine layer that draws a map laid over its image as one picture, not as a row of data per pixel."""

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.image import AxesImage

from salstats.checks import check_choice, check_number
from salstats.display.plots.layout.legends import continuous_colour_bar
from salstats.display.plots.layout.theme import TEXT_PT
from salstats.errors import SalstatsError

#: Grey of the ground where there is no image, from 0 (black) to 1.
GROUND = 0.45
#: Colour map of saliency by default. Of a map that begins dark only the lighter range is used, since its dark
#: end would hide the image.
COLOUR_MAP = "inferno"
_LIGHT_RANGE = (0.30, 0.95)
#: Luminance, from 0 to 1, below which the first colour of a map is dark.
_DARK = 0.2
_LUMINANCE_WEIGHTS = (0.2126, 0.7152, 0.0722)
#: Opacity of the colour of high saliency by default, and the saliency from which on opacity no longer grows.
OPACITY = 0.62
_FULL_SALIENCY = 0.5


@dataclass(frozen=True)
class MapStyle:
    """How maps are coloured over their images.

    Attributes
    ----------
    cmap : str
        Name of a colour map of Matplotlib.
    alpha : float
        Opacity of the colours of high saliency, from 0 to 1.
    limits : tuple of float, optional
        Values of a map that have the first and the last colour, the same in all maps; by default each map has
        its own, its smallest and its largest value.
    """

    cmap: str = COLOUR_MAP
    alpha: float = OPACITY
    limits: tuple[float, float] | None = None

    def tinted_image(self, grey: np.ndarray, saliency: np.ndarray | None) -> np.ndarray:
        """Return an image with a saliency map over it, as an RGB picture of uint8, shape (rows, cols, 3).

        `grey`, shape (rows, cols), is from 0 (black) to 1. `saliency`, of the same shape, is from 0, which
        leaves the image unchanged, to 1; None leaves the whole image unchanged.
        """
        rgb = np.repeat(grey[:, :, None].astype(np.float64), 3, axis=2)
        if saliency is not None:
            opacity = self.opacity(saliency)[:, :, None]
            rgb = (1 - opacity) * rgb + opacity * self.rgb_of(saliency)
        return np.asarray(np.round(255 * np.clip(rgb, 0, 1)), dtype=np.uint8)

    def scaled_to_limits(self, values: np.ndarray) -> np.ndarray:
        """Return a map scaled to 0 to 1 between the limits, else between its smallest and largest value."""
        low, high = self.limits or (values.min(), values.max())
        if high == low:
            return np.zeros_like(values)
        return np.asarray(np.clip((values - low) / (high - low), 0, 1))

    def opacity(self, saliency: np.ndarray) -> np.ndarray:
        """Return the opacity of the colour of each saliency over the image, 0 to 1."""
        return np.asarray(self.alpha * np.clip(saliency / _FULL_SALIENCY, 0, 1))

    def rgb_of(self, saliency_0_to_1: np.ndarray) -> np.ndarray:
        """Return red, green and blue of each saliency, 0 to 1, along a new last axis."""
        colour_map = mpl.colormaps[self.cmap]
        first = 0.0
        last = 1.0
        if np.dot(colour_map(0.0)[:3], _LUMINANCE_WEIGHTS) < _DARK:
            first, last = _LIGHT_RANGE
        return np.asarray(colour_map(first + (last - first) * saliency_0_to_1)[..., :3])

    def scale_colours(self, n_steps: int = 21) -> list[str]:
        """Return hexadecimal colours of saliency from 0 to 1 over a middle grey, in `n_steps` steps."""
        saliency = np.linspace(0, 1, n_steps)[None, :]
        colours = self.tinted_image(np.full(saliency.shape, GROUND), saliency)[0]
        return [f"#{red:02X}{green:02X}{blue:02X}" for red, green, blue in colours]


#: Colours of maps where nothing else was chosen.
DEFAULT_STYLE = MapStyle()


def map_style(cmap: str, alpha: float) -> MapStyle:
    """Return the style of maps; raise unless `cmap` is a colour map of Matplotlib and `alpha` is 0 to 1."""
    check_choice(cmap, tuple(mpl.colormaps), "cmap")
    return MapStyle(cmap, check_number(alpha, "alpha", 1.0))


def colour_bar(title: str, width_pt: float) -> Any:
    """Return the legend of the colours of maps, a bar below the pictures with a width in points."""
    return continuous_colour_bar(
        order=3,
        position="bottom",
        direction="horizontal",
        alpha=1,
        title=title,
        theme=p9.theme(
            legend_title=p9.element_text(size=TEXT_PT, va="top", margin={"r": 4, "unit": "pt"}),
            legend_title_position="left",
            legend_key_width=width_pt,
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
        """Raise where a position is missing, as outside the limits of a scale; no picture is dropped."""
        is_outside = data[list(self.REQUIRED_AES)].isna().any(axis=1)
        if is_outside.any():
            name = data.loc[is_outside, "label"].iloc[0]
            raise SalstatsError(
                f"picture {name!r} lies outside the figure's limits",
                hint="leave the limits as they are",
                value=name,
            )
        return data

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the pictures of one panel to its axes."""
        rows = coord.transform(data, panel_params)
        for row in rows.itertuples():
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
