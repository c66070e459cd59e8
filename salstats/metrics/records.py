"""Records of metrics: a kernel on arrays, and the facts that are shown with its values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from math import inf
from typing import Any

#: Inputs of kernels. Scoring makes each of these once for all metrics that need it. Tables and figures order
#: metrics by their first need here.
NEEDS = {
    "counts": "numbers of pixels that mask and truth mark, an `overlap.Counts`",
    "marked_points_or_peak": "the points that a person marked, or the map's first maximum, shape (n, 2)",
    "marked_points_or_peaks": "the points that a person marked, or every maximum of the map, shape (n, 2)",
    "saliency": "the map at its own size",
    "distances": "distances between mask and truth in pixels or mm, a `distance.SurfaceDistances`",
    "mask": "the mask, an ndarray of bool",
    "densities": "where people look, `densities.Densities`; the kernel returns a score for each",
    "points": "fixations, shape (n, 2)",
    "density": "where people look, one density",
    "prob": "the network's probability while pixels are changed (the extra `explain`)",
    "agreement": "how alike several maps of one case are, a `repeats.MapAgreement`",
    # inputs that metrics take besides one of these
    "truth": "the truth, an ndarray of bool",
    "runs": "the truth, an `Rle`",
    "map_on_image": "the map at its image's size, an ndarray of float64",
    "ranked": "the same, sorted: a `ranks.RankedMap`",
    "others": "fixations on other images, shape (n, 2)",
    "center_bias": "where people look whatever the image, `densities.Densities` of one",
    "fraction": "the share of pixels changed",
}
#: Needs for which a mask is made.
MASK_NEEDS = frozenset({"counts", "distances", "mask"})
#: Parameter of kernels that is chosen once for all metrics together, so that it is no option of a single one.
_SHARED_OPTION = "undefined"


@dataclass(frozen=True)
class Metric:
    """A metric: its kernel, and the facts that are needed to show and to read its values.

    Attributes
    ----------
    name : str
        Name in the `metric` column.
    label : str
        Name for tables and figures.
    low, high : float
        Range of the score; infinite where unbounded.
    direction : {1, -1}
        1 where more is better, -1 where less is.
    true_zero : bool
        True if 0 means "none of it", so that a ratio of two means can be read. A correlation or an AUC has
        no such zero (chance is 0 or 0.5), and its percentage decrease means nothing.
    source : str
        Definition that is followed where definitions differ, with the DOI of the paper where there is one;
        empty for a metric that is not computed here.
    needs : tuple of str
        Inputs of the kernel, in the order of its arguments: keys of `NEEDS`; empty for a metric that is not
        computed here.
    kernel : callable, optional
        Takes the needs; its keyword-only parameters are the metric's options, with their defaults.
    note : str
        Note that is shown with the values; mostly empty.
    full : str
        Label without abbreviations.
    words : callable, optional
        Takes the options as keywords and returns them in words, for the column `column`.
    column : str
        Column of scores that has those words.
    """

    name: str
    label: str
    low: float
    high: float
    direction: int
    true_zero: bool
    source: str = ""
    needs: tuple[str, ...] = ()
    kernel: Callable[..., Any] | None = None
    note: str = ""
    full: str = ""
    words: Callable[..., str] | None = None
    column: str = "metric_options"

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """The kernel's options and their defaults."""
        options: dict[str, Any] = {}
        if self.kernel is None:
            return options
        for parameter in signature(self.kernel).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != _SHARED_OPTION:
                options[parameter.name] = parameter.default
        return options

    @cached_property
    def compares_mask(self) -> bool:
        """True if a mask is compared, rather than a map or points."""
        return not MASK_NEEDS.isdisjoint(self.needs)

    @cached_property
    def is_length(self) -> bool:
        """True if its values are in pixels or mm."""
        return "distances" in self.needs and self.high == inf

    @property
    def digits(self) -> int:
        """Decimals of its scores in print: tenths of a pixel or mm, else thousandths."""
        return 1 if self.is_length else 3

    @property
    def larger_is_better(self) -> bool:
        """True if more is better."""
        return self.direction > 0

    def options_text(self, options: Mapping[str, Any]) -> str | None:
        """Return options in words, with defaults for those not given; None for a metric without `words`."""
        if self.words is None:
            return None
        return self.words(**{**self.options, **options})
