"""Read a study in the layout of the public lower-grade-glioma MRI set: image and mask side by side."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import InputFileError, and_more, check_folder, warn
from salstats.files.inputs import read_json
from salstats.images.masks import Rle, area
from salstats.readers.case_json import check_name
from salstats.readers.case_tables import read_predictions
from salstats.readers.cells import PathLike
from salstats.readers.grey_images import image_shape
from salstats.readers.map_files import MAP_SUFFIXES, MASK_SUFFIXES, find_case_files, read_map, read_rle
from salstats.readers.series_names import Sources, sources
from salstats.study import Case, Content, Prediction, Study, Truth

_SUFFIXES = (".tif", ".tiff")
#: What the name of a mask has after that of its image.
_MASK = "_mask"
_NAN = float("nan")


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
    ColumnError
        A table of predictions that is none, see `read_predictions`.
    SalstatsError
        A method's name cannot be.

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
    given = {
        "maps": sources(maps, method, "maps"),
        "masks": sources(masks, method, "masks"),
    }
    pairs = _pairs(here)
    found_maps = {s: find_case_files(place, MAP_SUFFIXES) for s, place in given["maps"].items()}
    found_masks = {s: _masks_by_case(Path(place), task) for s, place in given["masks"].items()}
    for option, found in (("maps", found_maps), ("masks", found_masks)):
        for one, by_case in found.items():
            _check_cases(by_case, pairs, str(given[option][one]), here)
    said = {} if predictions is None else read_predictions(predictions)
    if predictions is not None:
        _check_predictions(said, pairs, str(predictions), here)
    series = tuple(dict.fromkeys([*found_maps, *found_masks]))
    cases, contradicted = [], []
    for name, (image, mask) in pairs.items():
        shape, truth = _truth(image, mask)
        prob, label = said.get(name, (_NAN, _NAN))
        drawn = float(area(truth) > 0)
        if label == 1 - drawn:
            contradicted.append(name)
        answers = []
        for one in series:
            map_file = found_maps.get(one, {}).get(name)
            own_mask = found_masks.get(one, {}).get(name)
            if isinstance(own_mask, Rle):
                _check_size(own_mask, shape, f"{given['masks'][one]}, case {name}")
            if map_file is None and own_mask is None and prob != prob:
                continue
            files = [p for p in (map_file, own_mask) if isinstance(p, Path)]
            # another process may work in another folder
            read = partial(_explanation, name, shape, _absolute(map_file), _absolute(own_mask), prob)
            source = str(files[0] if files else image)
            answers.append(Prediction(task, one, read, source, has_saliency=map_file is not None))
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
            f"{predictions}: {_first(contradicted, 'case')} has a label that its mask contradicts; the label "
            "of the table counts as label, the mask as truth"
        )
    return Study(tuple(cases), (task,), series, str(here))


def recognise(folder: Path) -> bool:
    """Whether a folder holds masks as this layout has them: */*_mask.tif."""
    return any(
        file.stem.endswith(_MASK) and file.suffix.lower() in _SUFFIXES
        for place in _patients(folder)
        for file in place.iterdir()
    )


def _patients(folder: Path) -> list[Path]:
    """The folders of the patients; hidden ones and links are left out."""
    check_folder(folder)
    return sorted(
        p for p in folder.iterdir() if not p.name.startswith(".") and p.is_dir() and not p.is_symlink()
    )


def _pairs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Image and mask of each case, in the order of their names."""
    images: dict[str, Path] = {}
    marked: dict[str, Path] = {}
    patients = _patients(folder)
    # what may hold images and is passed over: links to folders, images outside a patient's folder
    passed = [
        p
        for p in folder.iterdir()
        if (p.is_dir() and p.is_symlink()) or (p.is_file() and p.suffix.lower() in _SUFFIXES)
    ]
    for place in patients:
        for file in sorted(place.iterdir()):
            if file.name.startswith("."):
                continue
            if file.is_dir():
                passed.append(file)
                continue
            if file.suffix.lower() not in _SUFFIXES:
                continue
            of_mask = file.stem.endswith(_MASK)
            case = check_name(file.stem.removesuffix(_MASK), f"{file.parent}: a file's case")
            there = marked if of_mask else images
            if case in there:
                kind = "masks" if of_mask else "images"
                raise InputFileError(
                    f"case {case} has two {kind}, {there[case]} and {file}; every image needs its own name"
                )
            there[case] = file
    if not marked:
        raise InputFileError(
            f"{folder}: holds no PATIENT/NAME{_MASK}.tif; name the folder in which each patient has one "
            "(links to folders are not searched)"
        )
    for missing, what in (
        (sorted(images.keys() - marked.keys()), f"image has no mask (NAME{_MASK}.tif beside it)"),
        (sorted(marked.keys() - images.keys()), "mask has no image (NAME.tif beside it)"),
    ):
        if missing:
            file = (images | marked)[missing[0]]
            raise InputFileError(f"{file}{and_more(missing)}: the {what}")
    passed = [file for file in passed if not file.name.startswith(".")]
    if passed:
        warn(
            f"{min(passed)}{and_more(passed)}: left out; images are read from PATIENT/NAME.tif, and links to "
            "folders are not searched"
        )
    apart = sorted(c for c in images if images[c].parent != marked[c].parent)
    if apart:
        raise InputFileError(
            f"{images[apart[0]]}{and_more(apart)}: its mask is in another folder, {marked[apart[0]]}"
        )
    return {case: (images[case], marked[case]) for case in sorted(images)}


def _truth(image: Path, mask: Path) -> tuple[tuple[int, int], Rle]:
    """The size of an image and its truth, which must be of that size."""
    shape = image_shape(image)
    truth = read_rle(mask)
    if truth.shape != shape:
        raise InputFileError(f"{mask}: is {_shown(truth.shape)}, its image {image.name} {_shown(shape)}")
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


def _check_cases(found: Iterable[str], pairs: Mapping[str, Any], place: str, folder: Path) -> None:
    """Raise where no name is that of a case, warn where some are not."""
    unknown = [case for case in found if case not in pairs]
    if len(unknown) == len(list(found)):
        raise InputFileError(
            f"{place} and {folder} have no case in common ({min(unknown)!r} here, {min(pairs)!r} there)"
        )
    if unknown:
        warn(f"{place}: {_first(unknown, 'case')} has no image in {folder} and is left out")


def _check_predictions(
    said: Mapping[str, tuple[float, float]], pairs: Mapping[str, Any], place: str, folder: Path
) -> None:
    """Raise or warn as for a tool's files, and warn of cases that have no probability."""
    _check_cases(said, pairs, place, folder)
    without = [case for case in pairs if np.isnan(said.get(case, (_NAN, _NAN))[0])]
    if without:
        warn(f"{place}: {_first(without, 'case')} of the study has no probability")


def _explanation(
    case: str, shape: tuple[int, int], map_file: Path | None, mask: Path | Rle | None, prob: float
) -> Content:
    """What a tool says of a case."""
    made = read_rle(mask) if isinstance(mask, Path) else mask
    if made is not None:
        _check_size(made, shape, f"{mask}, case {case}" if isinstance(mask, Path) else f"case {case}")
    saliency = None if map_file is None else read_map(map_file)
    return Content(saliency=saliency, mask=made, prob=prob, shape=shape)


def _check_size(mask: Rle, shape: tuple[int, int], where: str) -> None:
    """Raise where a tool's mask has not the size of its image."""
    if mask.shape != shape:
        raise InputFileError(
            f"{where}: the mask is {_shown(mask.shape)}, its image {_shown(shape)} (height x width)"
        )


def _absolute(held: Any) -> Any:
    """A path from the root on; anything else as it is."""
    return held.absolute() if isinstance(held, Path) else held


def _shown(shape: tuple[int, int]) -> str:
    """A size for a message."""
    return f"{shape[0]} x {shape[1]}"


def _first(names: list[str], word: str) -> str:
    """The first of some names and how many more there are."""
    return f"{word} {min(names)!r}{and_more(names)}"
