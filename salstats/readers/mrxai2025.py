"""Read a study in the layout of the public lower-grade-glioma MRI set: image and mask side by side."""

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from salstats.checks import and_n_more_after_first
from salstats.errors import InputFileError, Message, Setting, warn
from salstats.files.input_files import read_json
from salstats.images.masks import Rle, area
from salstats.readers.case_json import check_name
from salstats.readers.case_tables import CasePrediction, read_prob_and_label_by_case
from salstats.readers.cells import PathLike
from salstats.readers.image_files import image_shape
from salstats.readers.map_files import MASK_SUFFIXES, find_case_files, read_rle
from salstats.readers.prediction_files import (
    NAN,
    Sources,
    check_cases_and_warn_of_unknown,
    find_maps_by_series_and_case,
    images_in_folders,
    prediction,
    source_by_series,
)
from salstats.study import Case, Study, Truth

_IMAGE_SUFFIXES = (".tif", ".tiff")
#: End of a mask's name, after its image's name.
_MASK_NAME_END = "_mask"


def read_mrxai2025(
    folder: PathLike,
    *,
    masks: Sources | None = None,
    maps: Sources | None = None,
    predictions: PathLike | None = None,
    task: str = "tumour",
    method: str = "saliency",
) -> Study:
    """Read a study of explanations on the lower-grade-glioma MRI set, as Blake et al. 2025 used it.

    The explanations are files of other tools: masks (LIME, ReX), or maps, of which `score` makes masks. They
    are opened when they are scored; the truth is read here and kept as run lengths.

    Parameters
    ----------
    folder : path
        It has a folder for each patient with PATIENT/NAME.tif, the image, and PATIENT/NAME_mask.tif, the
        truth. The case is NAME. Of the image only the size is read.
    masks : path or dict, optional
        The folder of a tool's masks by case, CASE.png, .tif, .npy, .npz or .json (a COCO run-length code);
        or one JSON file, case -> code or case -> task -> code, as `write_masks` writes. Several as in
        `{"lime": DIR, "rex": FILE}`, whose names are method[:model[:seed]].
    maps : path or dict, optional
        The folder of a method's maps by case, CASE.npy, .npz, .png or .tif; or several, as for `masks`.
    predictions : path, optional
        Table of the model's predictions: columns `case`, `prob` and optionally `label`.
    task : str, default "tumour"
        Name of the finding that the masks mark.
    method : str, default "saliency"
        Name of the masks or maps of one folder or file.

    Returns
    -------
    Study
        Cases in the order of their names, all of them annotated, one task. `label` is that of `predictions`,
        or else 1 where the truth marks anything. A case without a tool's file is scored as "no map".

    Raises
    ------
    InputFileError
        No such pair of files; an image without a mask or a mask without an image (the first, and how
        many); two cases of one name; a file of the truth that is not a mask, or not of its image's size; a
        tool's files have no case in common with the study.
    SalstatsError
        A method's name is invalid; `predictions` is not a table of probabilities, see
        `read_prob_and_label_by_case`.

    Warns
    -----
    SalstatsWarning
        A tool's file or a prediction has no image here; links to folders, and images that lie elsewhere than
        in a patient's folder, are left out; a case has no prediction; a label contradicts the
        mask (how many, and the first).

    See Also
    --------
    score : with metrics such as "dice", "hausdorff" and "pdc".

    Notes
    -----
    Links to files are followed, links to folders are not searched.

    References
    ----------
    Blake et al. (2025), MRxaI. CEUR Workshop Proceedings 4059, paper 9.

    Buda M, Saha A, Mazurowski MA. Association of genomic subtypes of lower-grade gliomas with shape
    features automatically extracted by a deep learning algorithm. Computers in Biology and Medicine 109
    (2019). doi:10.1016/j.compbiomed.2019.05.002

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import cv2, numpy as np
    >>> from salstats.readers.mrxai2025 import read_mrxai2025
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     patient = pathlib.Path(folder) / "TCGA_1"
    ...     patient.mkdir()
    ...     _ = cv2.imwrite(str(patient / "TCGA_1_7.tif"), np.zeros((4, 6, 3), np.uint8))
    ...     _ = cv2.imwrite(str(patient / "TCGA_1_7_mask.tif"), np.eye(4, 6, dtype=np.uint8) * 255)
    ...     case = read_mrxai2025(folder).cases[0]
    >>> case.case, case.patient, case.shape, case.labels
    ('TCGA_1_7', 'TCGA_1', (4, 6), {'tumour': 1.0})
    """
    root = Path(folder)
    check_name(task, Setting("task"))
    pairs = _image_and_mask_by_case(root)
    map_files = find_maps_by_series_and_case(source_by_series(maps, method, "maps"), pairs, root)
    mask_sources = source_by_series(masks, method, "masks")
    tool_masks = {series: _masks_by_case(Path(path), task) for series, path in mask_sources.items()}
    for series, path in mask_sources.items():
        check_cases_and_warn_of_unknown(tool_masks[series], pairs, path, root)
    table: dict[str, CasePrediction] = {}
    if predictions is not None:
        table = read_prob_and_label_by_case(predictions)
        check_cases_and_warn_of_unknown(table, pairs, predictions, root)
        _warn_of_missing_probabilities(table, pairs, predictions)
    all_series = tuple(dict.fromkeys([*map_files, *tool_masks]))
    cases = []
    contradicted = []
    for case, (image, mask) in pairs.items():
        shape, truth = _shape_and_truth(image, mask)
        prob, label = table.get(case, CasePrediction(NAN, NAN))
        label_of_mask = float(area(truth) > 0)
        if np.isnan(label):
            label = label_of_mask
        elif label != label_of_mask:
            contradicted.append(case)
        case_predictions = []
        for series in all_series:
            map_file = map_files.get(series, {}).get(case)
            tool_mask = tool_masks.get(series, {}).get(case)
            if map_file is None and tool_mask is None and np.isnan(prob):
                continue
            source = f"{mask_sources.get(series, image)}, case {case}"
            case_predictions.append(
                prediction(task, series, shape, source, map_file=map_file, mask=tool_mask, prob=prob)
            )
        cases.append(
            Case(
                case=case,
                shape=shape,
                truths={task: Truth.of(truth)},
                predictions=tuple(case_predictions),
                patient=image.parent.name,
                labels={task: label},
            )
        )
    if contradicted:
        warn(
            f"{predictions}: case {contradicted[0]!r}{and_n_more_after_first(contradicted)} has a label "
            "that its mask contradicts",
            hint="the label of the table counts as label, the mask as truth",
            value=contradicted,
            column="label",
            path=str(predictions),
        )
    return Study(tuple(cases), (task,), all_series, str(root))


def _warn_of_missing_probabilities(
    prediction_by_case: Mapping[str, CasePrediction], cases: Collection[str], file: PathLike
) -> None:
    """Warn of cases without a probability in a table of predictions."""
    with_probability = {case for case, (prob, _) in prediction_by_case.items() if not np.isnan(prob)}
    without = [case for case in cases if case not in with_probability]
    if without:
        warn(
            f"{file}: case {without[0]!r}{and_n_more_after_first(without)} of the study has no probability",
            column="prob",
            value=without,
            path=str(file),
        )


def recognise(folder: Path) -> bool:
    """Return whether a folder holds masks named as in this layout, */*_mask.tif."""
    files = folder.glob(f"*/[!.]*{_MASK_NAME_END}.*")
    return any(file.suffix.lower() in _IMAGE_SUFFIXES for file in files)


def _image_and_mask_by_case(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Return the image and the mask of each case as (image, mask), in the order of the cases' names."""
    images: dict[str, Path] = {}
    masks: dict[str, Path] = {}
    for file in images_in_folders(
        folder, _IMAGE_SUFFIXES, f"PATIENT/NAME.tif beside NAME{_MASK_NAME_END}.tif"
    ):
        files = masks if file.stem.endswith(_MASK_NAME_END) else images
        case = check_name(file.stem.removesuffix(_MASK_NAME_END), f"{file.parent}: a file's case")
        first_file = files.setdefault(case, file)
        if first_file != file:
            raise InputFileError(
                f"case {case} has two files, {first_file} and {file}",
                hint="every image needs its own name",
                value=case,
                path=file,
            )
    _check_counterparts(images, masks, "image has no mask")
    _check_counterparts(masks, images, "mask has no image")
    return {case: (images[case], masks[case]) for case in sorted(images)}


def _check_counterparts(files: Mapping[str, Path], counterparts: Mapping[str, Path], problem: str) -> None:
    """Raise where the folder of a file has no counterpart of the same case."""
    unpaired = sorted(
        case
        for case, file in files.items()
        if case not in counterparts or counterparts[case].parent != file.parent
    )
    if unpaired:
        file = files[unpaired[0]]
        raise InputFileError(
            f"{file}{and_n_more_after_first(unpaired)}: the {problem} beside it",
            value=unpaired,
            path=file,
        )


def _shape_and_truth(image: Path, mask: Path) -> tuple[tuple[int, int], Rle]:
    """Return the (height, width) of an image and its mask; raise where the mask has another size."""
    shape = image_shape(image)
    truth = read_rle(mask)
    if truth.shape != shape:
        raise InputFileError(
            f"{mask}: is {truth.shape[0]} x {truth.shape[1]}, its image {image.name} {shape[0]} x {shape[1]}",
            value=truth.shape,
            path=mask,
        )
    return shape, truth


def _masks_by_case(source: Path, task: str) -> Mapping[str, Path | Rle]:
    """Return a tool's masks by case: files to be read later, or the masks in one JSON file."""
    if source.suffix.lower() != ".json":
        return find_case_files(source, MASK_SUFFIXES)
    content = read_json(source)
    if not isinstance(content, dict) or not content:
        raise InputFileError(f"{source}: not an object of cases", path=source)
    masks: dict[str, Path | Rle] = {}
    for case, entry in content.items():
        location = f"{source}, case {case}"
        if isinstance(entry, dict) and "counts" not in entry:
            if task not in entry:
                tasks = ", ".join(map(repr, entry)) or "none"
                raise InputFileError(
                    f"{location}: has no task {task!r} (tasks: {tasks})",
                    hint=Message("give its name with ", Setting("task")),
                    option="task",
                    value=task,
                    choices=entry,
                    path=source,
                )
            entry = entry[task]
        masks[check_name(case, f"{source}: the case")] = Rle.from_coco(entry, location)
    return masks
