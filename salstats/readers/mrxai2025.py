"""Read a study in the layout of the public lower-grade-glioma MRI set: image and mask side by side."""

from collections.abc import Mapping
from pathlib import Path

from salstats.checks import and_more
from salstats.errors import InputFileError, warn
from salstats.files.inputs import read_json
from salstats.images.masks import Rle, area
from salstats.readers.case_json import check_name
from salstats.readers.case_tables import read_predictions
from salstats.readers.cells import PathLike
from salstats.readers.image_files import image_shape
from salstats.readers.map_files import MASK_SUFFIXES, find_case_files, read_rle
from salstats.readers.predictions import (
    NAN,
    Sources,
    check_cases,
    files_in_folders,
    find_maps,
    prediction,
    series_sources,
)
from salstats.study import Case, Study, Truth

_SUFFIXES = (".tif", ".tiff")
#: What the name of a mask has after that of its image.
_MASK = "_mask"


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

    The explanations come from tools outside, as they are: masks (LIME, ReX), or maps that `score` makes
    masks of. They are opened when they are scored; the truth is read here and kept as run lengths.

    Parameters
    ----------
    folder : path
        One folder per patient, in it PATIENT/NAME.tif, the image, and PATIENT/NAME_mask.tif, the truth. The
        case is NAME. Of the image only the size is read.
    masks : path or dict, optional
        The folder of a tool's masks by case, CASE.png, .tif, .npy, .npz or .json (a COCO run-length code);
        or one JSON file, case -> code or case -> task -> code, as `write_masks` writes. Several as in
        `{"lime": DIR, "rex": FILE}`, whose names are method[:model[:seed]].
    maps : path or dict, optional
        The folder of a method's maps by case, CASE.npy, .npz, .png or .tif; or several, as for `masks`.
    predictions : path, optional
        Table of the model's answers: columns `case`, `prob` and, where it is there, `label`.
    task : str, default "tumour"
        What the masks mark.
    method : str, default "saliency"
        What the masks or maps of one folder or file are called.

    Returns
    -------
    Study
        Cases in the order of their names, all of them annotated, one task. `label` is 1 where the truth
        marks anything, unless `predictions` says it. What a tool gave no file for is scored as "no map".

    Raises
    ------
    InputFileError
        No such pair of files; an image without a mask or a mask without an image (the first, and how
        many); two cases of one name; a mask of another size than its image, or that is no mask; a
        tool's files have no case in common with the study.
    SalstatsError
        A method's name cannot be; a table of predictions that is none, see `read_predictions`.

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
    here = Path(folder)
    check_name(task, "task=")
    pairs = _pairs(here)
    found_maps = find_maps(series_sources(maps, method, "maps"), pairs, here)
    mask_places = series_sources(masks, method, "masks")
    found_masks = {one: _masks_by_case(Path(place), task) for one, place in mask_places.items()}
    for one, place in mask_places.items():
        check_cases(found_masks[one], pairs, place, here)
    said = {}
    if predictions is not None:
        said = read_predictions(predictions)
        check_cases(said, pairs, predictions, here)
        known = {case for case, (prob, _) in said.items() if prob == prob}
        without = [case for case in pairs if case not in known]
        if without:
            warn(f"{predictions}: case {without[0]!r}{and_more(without)} of the study has no probability")
    series = tuple(dict.fromkeys([*found_maps, *found_masks]))
    cases, contradicted = [], []
    for name, (image, mask) in pairs.items():
        shape, truth = _truth(image, mask)
        prob, label = said.get(name, (NAN, NAN))
        drawn = float(area(truth) > 0)
        if label == 1 - drawn:
            contradicted.append(name)
        answers = []
        for one in series:
            map_file, own = found_maps.get(one, {}).get(name), found_masks.get(one, {}).get(name)
            if map_file is not None or own is not None or prob == prob:
                source = f"{mask_places.get(one, image)}, case {name}"
                answers.append(prediction(task, one, shape, source, map_file=map_file, mask=own, prob=prob))
        cases.append(
            Case(
                case=name,
                shape=shape,
                truths={task: Truth.of(truth)},
                predictions=tuple(answers),
                patient=image.parent.name,
                labels={task: drawn if label != label else label},
            )
        )
    if contradicted:
        warn(
            f"{predictions}: case {contradicted[0]!r}{and_more(contradicted)} has a label that its mask "
            "contradicts; the label of the table counts as label, the mask as truth"
        )
    return Study(tuple(cases), (task,), series, str(here))


def recognise(folder: Path) -> bool:
    """Whether a folder holds masks as this layout has them: */*_mask.tif."""
    found = folder.glob(f"*/[!.]*{_MASK}.*")
    return any(file.suffix.lower() in _SUFFIXES for file in found)


def _pairs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Image and mask of each case, in the order of their names."""
    images: dict[str, Path] = {}
    masks: dict[str, Path] = {}
    for file in files_in_folders(folder, _SUFFIXES, f"PATIENT/NAME.tif beside NAME{_MASK}.tif"):
        kind = masks if file.stem.endswith(_MASK) else images
        case = check_name(file.stem.removesuffix(_MASK), f"{file.parent}: a file's case")
        other = kind.setdefault(case, file)
        if other != file:
            raise InputFileError(
                f"case {case} has two files, {other} and {file}; every image needs its own name"
            )
    for here, there, what in ((images, masks, "image has no mask"), (masks, images, "mask has no image")):
        alone = sorted(c for c in here if c not in there or there[c].parent != here[c].parent)
        if alone:
            raise InputFileError(f"{here[alone[0]]}{and_more(alone)}: the {what} beside it")
    return {case: (images[case], masks[case]) for case in sorted(images)}


def _truth(image: Path, mask: Path) -> tuple[tuple[int, int], Rle]:
    """The size of an image and its truth, which must be of that size."""
    shape, truth = image_shape(image), read_rle(mask)
    if truth.shape != shape:
        sizes = [f"{height} x {width}" for height, width in (truth.shape, shape)]
        raise InputFileError(f"{mask}: is {sizes[0]}, its image {image.name} {sizes[1]}")
    return shape, truth


def _masks_by_case(place: Path, task: str) -> Mapping[str, Path | Rle]:
    """A tool's masks by case: files to be read later, or the codes of one JSON file."""
    if place.suffix.lower() != ".json":
        return find_case_files(place, MASK_SUFFIXES)
    content = read_json(place)
    if not isinstance(content, dict) or not content:
        raise InputFileError(f"{place}: not an object of cases")
    found: dict[str, Path | Rle] = {}
    for case, entry in content.items():
        where = f"{place}, case {case}"
        if isinstance(entry, dict) and "counts" not in entry:
            if task not in entry:
                named = ", ".join(map(repr, entry)) or "none"
                raise InputFileError(
                    f"{where}: has no task {task!r} (tasks: {named}); task= says what it is called"
                )
            entry = entry[task]
        found[check_name(case, f"{place}: the case")] = Rle.from_coco(entry, where)
    return found
