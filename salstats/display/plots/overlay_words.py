"""What is said of overlays: names of methods, and sentences under the figures."""

from collections.abc import Sequence

import numpy as np

from salstats.display.format import joined
from salstats.display.labels import Labels
from salstats.display.plots.overlay_panels import Drawn, Panel
from salstats.study import Series

#: Height over width of a panel, between which it follows its images.
_LOWEST, _HIGHEST = 0.5, 1.6


def method_label(names: Labels, series: Sequence[Series]) -> str:
    """Return what a method is called, with what tells its series from others."""
    one = series[0]
    rest = [] if len(series) > 1 else [p for p in (one.model, one.seed, one.reader) if p is not None]
    return ", ".join([names.value("method", one.method), *rest])


def ratio(panels: Sequence[Panel]) -> float:
    """Return the height over the width of the panels: that of their highest image, within reason."""
    return float(np.clip(max(p.shape[0] / p.shape[1] for p in panels), _LOWEST, _HIGHEST))


def threshold_note(how: Drawn, panels: Sequence[Panel], names: Labels) -> str:
    """Return the sentence that says where the maps were cut."""
    tasks = dict.fromkeys(p.task for p in panels if p.has_map)
    if not tasks:
        return ""
    found = {task: how.threshold_of(task) for task in tasks}
    texts = {t: "Otsu's level" if isinstance(t, str) else f"{t:g}" for t in found.values()}
    if len(texts) == 1:
        above = next(iter(texts.values()))
    else:
        above = joined([f"{texts[t]} ({names.value('task', task)})" for task, t in found.items()])
    smoothed = f", of means over {how.smooth} x {how.smooth} pixels" if how.smooth else ""
    return f"Threshold: {above}{smoothed}."


def mask_name(panels: Sequence[Panel]) -> dict[str, str]:
    """Return what the outline of a method is called where it is not that of a map above a threshold."""
    from_maps = all(p.has_map for p in panels if "mask" in p.lines)
    return {} if from_maps else {"mask": "Predicted mask"}


def image_note(panels: Sequence[Panel]) -> str:
    """Return the sentence that says which cases have no image."""
    without = dict.fromkeys(p.case for p in panels if not p.has_image)
    if not without:
        return ""
    if all(not p.has_image for p in panels):
        return "Grey ground: no image was given."
    return f"Grey ground: no image was given of {joined(list(without))}."
