"""Make the masks that `score` derives from maps, and write them to a file."""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from salstats.checks import quoted
from salstats.errors import Message, SalstatsError, Setting
from salstats.files.outputs import check_target, replacing_file
from salstats.images import masks
from salstats.images.maps import is_finite
from salstats.images.masks import Rle
from salstats.jobs import results_by_batch
from salstats.scoring.cases import agreed_shape
from salstats.scoring.masking import OTSU, MaskOption, MaskRule, mask_rule
from salstats.scoring.scores import study_of
from salstats.study import Case, Series, Study

Masks = dict[str, dict[str, Rle]]


def segment(
    study: Study | str | os.PathLike[str],
    *,
    method: str | None = None,
    threshold: MaskOption = OTSU,
    cutoff: MaskOption = None,
    smooth: MaskOption = None,
    colormap: str | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> Masks:
    """Make the masks that `score` derives from one method's maps.

    Parameters
    ----------
    study, threshold, cutoff, smooth, colormap, jobs, progress
        As for `score`.
    method : str, optional
        Whose maps, as `method[:model[:seed]]`; by default those of the only method that has maps.

    Returns
    -------
    dict of str to dict of str to Rle
        By case, then by task, in their order. Empty below a probability cut-off, of a map of one value, and
        where the probability is not known although there is a cut-off. A case and task without a map, or
        whose map is not finite, has no entry.

    Raises
    ------
    SalstatsError
        No such method, or several and none is named; the size of an image is not known.

    See Also
    --------
    write_masks : writes them as the CheXlocalize release does.
    read_chexlocalize : reads such a file with `masks=`.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.zeros((8, 8), bool)
    >>> truth[2:5, 2:5] = True
    >>> study = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 0.9})
    >>> ss.segment(study)["a"]["Edema"].to_coco()
    {'size': [8, 8], 'counts': 'b035000f0'}
    """
    study = study_of(study)
    series = _series_to_segment(study, method)
    rule = mask_rule(study, threshold=threshold, cutoff=cutoff, smooth=smooth, colormap=colormap)
    work = partial(_masks_by_case, series=series, rule=rule)
    masks_by_case: Masks = {}
    for some_masks in results_by_batch(work, study.cases, jobs=jobs, progress=progress, label="Making masks"):
        masks_by_case |= some_masks
    return masks_by_case


def write_masks(
    segmented: Mapping[str, Mapping[str, Rle]], path: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write masks as the CheXlocalize release does: JSON, by case and task, run lengths as COCO packs them.

    Parameters
    ----------
    segmented : dict of str to dict of str to Rle
        From `segment`.
    path : str or path
        Ends in `.json`.
    overwrite : bool
        Replace a file that is there already.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    InputFileError
        Another ending; the folder does not exist or may not be written in; the file exists and `overwrite`
        is False.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, salstats as ss
    >>> truth = np.eye(4, dtype=bool)
    >>> study = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 0.9})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ss.write_masks(ss.segment(study), pathlib.Path(folder) / "masks.json").read_text()
    '{"a": {"Edema": {"size": [4, 4], "counts": "01400000"}}}'
    """
    target = check_target(path, (".json",), overwrite=overwrite)
    content = {}
    for case, masks_by_task in segmented.items():
        content[case] = {task: mask.to_coco() for task, mask in masks_by_task.items()}
    with replacing_file(target) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
    return target


def _series_to_segment(study: Study, method: str | None) -> Series:
    """Return the series of a method that has maps, or the only one with maps if none is named."""
    series_with_maps = study.with_maps()
    if not series_with_maps:
        raise SalstatsError(
            f"{study.source} has no maps, so there are no masks to make", option="study", value=study.source
        )
    matching = [series for series in series_with_maps if method in (None, series.method, str(series))]
    if len(matching) != 1:
        names = [str(series) for series in series_with_maps]
        raise SalstatsError(
            f"{study.source} has maps of {quoted(names)}",
            hint=Message("name one of them as ", Setting("method")),
            option="method",
            value=method,
            choices=names,
        )
    return matching[0]


def _masks_by_case(cases: tuple[Case, ...], *, series: Series, rule: MaskRule) -> Masks:
    """Return the masks of one series by case and task; a map that is not finite has none."""
    masks_by_case: Masks = {}
    for case in cases:
        for prediction in case.predictions:
            if prediction.series != series or not prediction.has_saliency:
                continue
            content = prediction.read()
            if content.saliency is None or not is_finite(content.saliency):
                continue
            shape = agreed_shape(case.shape, content, case, prediction)
            assert shape is not None
            setting = rule.setting(prediction.task, series)
            mask = masks.empty(shape)
            if setting.prob_reaches_cutoff(content.prob):
                on_image = setting.on_image(content.saliency, shape)
                mask = masks.encode(on_image.mask(setting.threshold))
            masks_by_case.setdefault(case.case, {})[prediction.task] = mask
    return masks_by_case
