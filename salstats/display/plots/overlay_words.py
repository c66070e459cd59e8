"""What is said of overlays: names of methods, and sentences under the figures."""

from collections.abc import Sequence

import numpy as np

from salstats.display.plots.overlay_panels import Panel
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.scoring.masking import MaskRule, value_of
from salstats.study import HUMAN, Series

#: Height over width of a panel, between which it follows its images.
_LOWEST, _HIGHEST = 0.5, 1.6
#: Absent findings that are named one by one.
_FEW = 3


def method_label(names: Labels, series: Sequence[Series]) -> str:
    """Return what a method is called, with what tells its series from others."""
    one = series[0]
    rest = [] if len(series) > 1 else [p for p in (one.model, one.seed, one.reader) if p is not None]
    return ", ".join([names.value("method", one.method), *rest])


def ratio(panels: Sequence[Panel]) -> float:
    """Return the height over the width of the panels: that of their highest image, within reason."""
    return float(np.clip(max(p.shape[0] / p.shape[1] for p in panels), _LOWEST, _HIGHEST))


def threshold_note(rule: MaskRule, panels: Sequence[Panel], series: Sequence[Series], names: Labels) -> str:
    """Return the sentence that says where the maps were cut."""
    tasks = dict.fromkeys(p.task for p in panels if p.has_map)
    machine = [s for s in series if s.method != HUMAN]
    # stored masks have no threshold
    cut = {(t, s): v for t in tasks for s in machine if (v := value_of(rule.threshold, t, s)) is not None}
    if not cut:
        return ""
    texts = {t: "Otsu's level" if isinstance(t, str) else f"{t:g}" for t in cut.values()}
    if len(texts) == 1:
        above = next(iter(texts.values()))
    else:
        whose = {s: f", {method_label(names, [s])}" if len(machine) > 1 else "" for s in machine}
        above = joined(
            [f"{texts[t]} ({names.value('task', task)}{whose[s]})" for (task, s), t in cut.items()]
        )
    sizes = sorted({int(v) for t, s in cut if (v := value_of(rule.smooth, t, s))})
    smoothed = f", of means over {joined([f'{k} x {k}' for k in sizes])} pixels" if sizes else ""
    emptied = "; masks below the probability cut-off are empty" if rule.cutoff else ""
    return f"Threshold: {above}{smoothed}{emptied}."


def absent_note(panels: Sequence[Panel], names: Labels) -> str:
    """Return the sentence that says which findings the truth does not have."""
    absent = [p for p in panels if "truth" not in p.lines]
    shown = dict.fromkeys(f"{names.value('task', p.task)} of {names.value('case', p.case)}" for p in absent)
    if len(shown) > _FEW:
        return f"Absent in the truth: {len(shown)} of the findings shown."
    return f"Absent in the truth: {joined(list(shown))}." if shown else ""


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
