"""Read a data set in the layout of Saliency-Bench: images by class, and tables of annotations."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salstats.checks import (
    InputFileError,
    SalstatsError,
    and_more,
    check_choice,
    quoted,
    warn,
)
from salstats.images import masks
from salstats.readers.attention_tables import (
    IMAGE,
    Annotation,
    draw_boxes,
    reaches_beyond,
    read_annotations,
    resize_truth,
    warn_beyond,
)
from salstats.readers.case_json import check_name
from salstats.readers.case_tables import read_predictions
from salstats.readers.cells import PathLike
from salstats.readers.grey_images import image_shape
from salstats.readers.image_splits import PARTS, split_images
from salstats.readers.map_files import MAP_SUFFIXES, find_case_files, read_map
from salstats.readers.series_names import Sources, sources
from salstats.study import Case, Content, Prediction, Study, Truth

#: Where images and annotations lie in a data set's folder.
IMAGES, LABELS = "image", "attention_label"
_SUFFIXES = (".jpg", ".jpeg", ".png")
PIXELS = ("annotation", "image")
_NAN = float("nan")


class _Image(NamedTuple):
    """One image: its file and its class, the name of its folder."""

    file: Path
    label: str


def read_saliency_bench(
    folder: PathLike,
    *,
    maps: Sources | None = None,
    predictions: PathLike | None = None,
    classes: str | Sequence[str] | None = None,
    task: str | None = None,
    annotations: PathLike | Sequence[PathLike] | None = None,
    pixels: str = "annotation",
    threshold: float | None = None,
    split: str | None = None,
    shares: Sequence[float] = (0.7, 0.15, 0.15),
    rng: int | np.random.Generator = 0,
    method: str = "saliency",
) -> Study:
    r"""Read one data set of Saliency-Bench, with maps that were made of it.

    Parameters
    ----------
    folder : path
        In it `image/CLASS/*.jpg` or `.png`, and `attention_label/*.csv` with columns `img_idx`, the file
        name of an image, and `attention`, a JSON array of rows (224 x 224); or boxes, see Notes. The case
        is the file name without its ending.
    maps : path or dict, optional
        The folder of a method's maps by case, CASE.npy, .npz, .png or .tif, each of its image's class; or
        several as in `{"gradcam:resnet18": DIR}`, whose names are method[:model[:seed]].
    predictions : path, optional
        Table of the model's probability of each image's class: columns `case`, `prob`.
    classes : str or sequence of str, optional
        Folders of `image` to read, in this order; by default all, in the order of their names.
    task : str, optional
        One task for all classes: what is looked for is the evidence of an image's own class. By default
        every class is a task, which is there on the images of its folder.
    annotations : path or sequence of paths, optional
        The tables to read; by default all of `attention_label`.
    pixels : {"annotation", "image"}
        Where maps and truth meet. "annotation": on the annotation's own pixels, as the benchmark compares
        them, so that nothing of the truth is resampled (boxes: on the image's). "image": on the image's
        pixels, to which the truth is resized by the nearest pixel.
    threshold : float, optional
        Marks where an annotation exceeds this; by default it must hold 0 and one of 1 and 255.
    split : {"train", "validation", "test"}, optional
        The part of the data set to read; by default all.
    shares : sequence of three float
        The parts' shares, see Notes.
    rng : int or numpy.random.Generator
        Seed of the split.
    method : str, default "saliency"
        What the maps of one folder are called.

    Returns
    -------
    Study
        Cases in the order of their names. An image without an annotation is not annotated: no score is
        asked for on the true-positive slice. One whose annotation marks nothing has an empty truth.
        `labels` is 1 for an image's own class and 0 for the others; with `task` there are none.

    Raises
    ------
    InputFileError
        Another layout; an image's name stands in two classes; a table that is none, see
        `readers.attention_tables`; no annotation is of an image; maps of no case; a file cannot be read.
    ColumnError
        A table of predictions that is none, see `read_predictions`.
    SalstatsError
        A class that is not there; a method's name cannot be.
    ValueRangeError
        Unknown `pixels` or an unknown part; shares that do not add up to 1.

    Warns
    -----
    SalstatsWarning
        Images without an annotation, with one that marks nothing, with boxes that reach beyond them;
        annotations, maps or predictions of no image; other files or folders in `image`: how many each, and
        the first.

    See Also
    --------
    score : scores by this package's definitions.
    metrics.xaibenchmark : those of the benchmark, by its rules.

    Notes
    -----
    The benchmark's models see images stretched to 224 x 224, the annotation's pixels, so that on
    `pixels="annotation"` shapes are stretched too (`features`: use `pixels="image"`).

    Split: the images of each class are shuffled and spread evenly over the order, of which the first
    int(0.7 n) are for training, the next int(0.15 n) for validation, the rest for testing (as the benchmark
    counts: int cuts down). So every class has its share in each part, to one image. It is over all classes
    of the folder and all images, annotated or not, and depends on their names and `rng` only: not on the
    order on disk, and not on `classes`. The article says 70/15/15; the benchmark's loader takes 60/20/20
    without a seed, of the order on disk.

    Of two rows for an image the loader takes the first; here they must be equal. Where it meets no row it
    takes an empty annotation.

    Boxes: the loader knows arrays only. Columns `bbox` or `boxes` hold JSON, [x, y, w, h] or a list of
    such; or a row each has x, y, w, h (or width, height), or xmin, ymin, xmax, ymax. All are edges in
    pixels of the image, from 0 at its left and top; a pixel belongs to a box that holds its centre.

    References
    ----------
    Zhang et al. Saliency-Bench: A Comprehensive Benchmark for Evaluating Visual Explanations.
    doi:10.48550/arXiv.2310.08537. Layout: XAIdataset/XAIdataset.github.io, commit c8641d9,
    `xaibenchmark/dataloader.py`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import cv2, numpy as np
    >>> from salstats.readers.saliency_bench import read_saliency_bench
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = pathlib.Path(folder)
    ...     (here / "image" / "cat").mkdir(parents=True)
    ...     (here / "attention_label").mkdir()
    ...     _ = cv2.imwrite(str(here / "image" / "cat" / "tom.png"), np.zeros((4, 6, 3), np.uint8))
    ...     text = 'img_idx,attention\ntom.png,"[[0, 1], [0, 0]]"\n'
    ...     _ = (here / "attention_label" / "a.csv").write_text(text)
    ...     case = read_saliency_bench(folder).cases[0]
    ...     on_image = read_saliency_bench(folder, pixels="image").cases[0]
    >>> case.case, case.shape, case.labels, on_image.shape
    ('tom', (2, 2), {'cat': 1.0}, (4, 6))
    """
    here = Path(folder)
    check_choice(pixels, PIXELS, "pixels")
    given = sources(maps, method, "maps")
    everything = _images(here)
    labels = _classes(classes, everything, here)
    if task is not None:
        check_name(task, "task=")
    part = None if split is None else check_choice(split, PARTS, "split")
    parts = split_images({name: i.label for name, i in everything.items()}, shares=shares, rng=rng)
    wanted = {n: i for n, i in everything.items() if i.label in labels and part in (None, parts[n])}
    noted = _annotations(here, annotations, everything, threshold)
    found_maps = {s: find_case_files(place, MAP_SUFFIXES) for s, place in given.items()}
    for series, by_case in found_maps.items():
        _check_cases(by_case, everything, str(given[series]), here)
    said = {} if predictions is None else read_predictions(predictions)
    if predictions is not None:
        _check_cases(said, everything, str(predictions), here)
    _warn_of_annotations(here, wanted, noted)
    usual = _usual_grid(noted)
    beyond: list[str] = []
    cases = []
    for name, image in wanted.items():
        note = noted.get(name)
        own = image.label if task is None else task
        shape, truth = _truth(image.file, note, pixels, usual, beyond, name)
        answers = []
        for series in given:
            file = found_maps[series].get(name)
            prob = said.get(name, (_NAN, _NAN))[0]
            if file is None and prob != prob:
                continue
            read = partial(_explanation, None if file is None else file.absolute(), shape, prob)
            source = str(file or image.file)
            answers.append(Prediction(own, series, read, source, has_saliency=file is not None))
        cases.append(
            Case(
                case=name,
                shape=shape,
                truths={} if truth is None else {own: truth},
                predictions=tuple(answers),
                annotated=note is not None,
                labels={} if task is not None else {c: float(c == own) for c in labels},
            )
        )
    warn_beyond(beyond)
    tasks = labels if task is None else (task,)
    return Study(tuple(cases), tasks, tuple(given), str(here))


def recognise(folder: Path) -> bool:
    """Whether a folder holds a data set in this layout: image/CLASS and attention_label/*.csv."""
    labels, images = folder / LABELS, folder / IMAGES
    return (
        labels.is_dir()
        and images.is_dir()
        and any(file.suffix.lower() == ".csv" for file in labels.iterdir())
    )


def _images(folder: Path) -> dict[str, _Image]:
    """Every image by case, in the order of the cases."""
    root = folder / IMAGES
    if not root.is_dir():
        missing = "no such folder" if not folder.exists() else f"has no folder {IMAGES!r}"
        raise InputFileError(f"{folder}: {missing}; a data set has {IMAGES}/CLASS/*.jpg and {LABELS}/*.csv")
    found: dict[str, _Image] = {}
    passed = []
    for place in sorted(p for p in root.iterdir() if not p.name.startswith(".")):
        if not place.is_dir() or place.is_symlink():
            passed.append(place)
            continue
        label = check_name(place.name, f"{root}: the class")
        for file in sorted(f for f in place.iterdir() if not f.name.startswith(".")):
            if file.is_dir() or file.suffix.lower() not in _SUFFIXES:
                passed.append(file)
                continue
            case = check_name(file.stem, f"{place}: an image's case")
            if case in found:
                raise InputFileError(
                    f"case {case} has two images, {found[case].file} and {file}; annotations name images by "
                    "their file name alone, so every image needs its own"
                )
            found[case] = _Image(file, label)
    if not found:
        raise InputFileError(f"{root}: holds no CLASS/NAME.jpg or .png (links to folders are not searched)")
    if passed:
        warn(f"{min(passed)}{and_more(passed)}: left out; images are {IMAGES}/CLASS/NAME.jpg or .png")
    return dict(sorted(found.items()))


def _classes(
    asked: str | Sequence[str] | None, images: Mapping[str, _Image], folder: Path
) -> tuple[str, ...]:
    """The classes to read."""
    there = sorted({image.label for image in images.values()})
    if asked is None:
        return tuple(there)
    names = [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))
    unknown = [name for name in names if name not in there]
    if unknown or not names:
        what = f"{unknown[0]!r} is no class of" if unknown else "classes= names none of"
        raise SalstatsError(f"{what} {folder / IMAGES} with an image (classes: {quoted(there)})")
    return tuple(names)


def _annotations(
    folder: Path,
    asked: PathLike | Sequence[PathLike] | None,
    images: Mapping[str, _Image],
    threshold: float | None,
) -> dict[str, Annotation]:
    """The annotation of each case that has one."""
    if asked is None:
        root = folder / LABELS
        files = sorted(root.glob("*.[cC][sS][vV]")) if root.is_dir() else []
        files = [file for file in files if not file.name.startswith(".")]
        if not files:
            raise InputFileError(f"{root}: holds no table of annotations (*.csv); name it with annotations=")
    else:
        listed = asked if isinstance(asked, Sequence) and not isinstance(asked, str) else [asked]
        files = [Path(file) for file in listed]
        if not files:
            raise SalstatsError("annotations= names no table; leave it out to read all")
    noted = read_annotations(files, threshold=threshold)
    by_file = {image.file.name: case for case, image in images.items()}
    found: dict[str, Annotation] = {}
    unknown = []
    for name, note in noted.items():
        # some tables leave the ending out
        case = by_file.get(name, name if name in images else None)
        if case is None:
            unknown.append(note.where)
        elif case in found:
            raise InputFileError(f"{note.where}: case {case} is in {found[case].where} too; keep one")
        else:
            found[case] = note
    if noted and not found:
        raise InputFileError(f"{unknown[0]}: no {IMAGE} of the tables is an image of {folder / IMAGES}")
    if unknown:
        warn(f"{unknown[0]}{and_more(unknown)}: no image of this name in {folder / IMAGES}; left out")
    return found


def _warn_of_annotations(folder: Path, wanted: Mapping[str, _Image], noted: Mapping[str, Annotation]) -> None:
    """Warn of images without annotation, and of annotations that mark nothing."""
    without = [name for name in wanted if name not in noted]
    empty = [name for name in wanted if name in noted and not _marks(noted[name])]
    if without:
        warn(f"{folder}: {len(without)} of {len(wanted)} images have no annotation (first: {without[0]})")
    if empty:
        warn(
            f"{folder}: the annotations of {len(empty)} of {len(wanted)} images mark nothing "
            f"(first: {empty[0]}); nothing can be right there, and scores are undefined"
        )


def _marks(note: Annotation) -> bool:
    """Whether an annotation marks anything."""
    return bool(note.boxes) if note.mask is None else masks.area(note.mask) > 0


def _usual_grid(noted: Mapping[str, Annotation]) -> tuple[int, int] | None:
    """The size that all annotations share, None where there is no such."""
    shapes = {note.mask.shape for note in noted.values() if note.mask is not None}
    return shapes.pop() if len(shapes) == 1 else None


def _truth(
    image: Path,
    note: Annotation | None,
    pixels: str,
    usual: tuple[int, int] | None,
    beyond: list[str],
    name: str,
) -> tuple[tuple[int, int], Truth | None]:
    """The size that a case is compared at, and its truth."""
    if note is None:
        return (usual if pixels == "annotation" and usual is not None else image_shape(image)), None
    if note.mask is None:
        shape = image_shape(image)
        if reaches_beyond(note.boxes, shape):
            beyond.append(name)
        return shape, Truth.of(masks.encode(draw_boxes(note.boxes, shape)), len(note.boxes))
    if pixels == "annotation":
        return note.mask.shape, Truth.of(note.mask)
    shape = image_shape(image)
    return shape, Truth(partial(resize_truth, note.mask, shape))


def _explanation(file: Path | None, shape: tuple[int, int], prob: float) -> Content:
    """What a method says of a case."""
    return Content(saliency=None if file is None else read_map(file), prob=prob, shape=shape)


def _check_cases(found: Mapping[str, Any], images: Mapping[str, Any], place: str, folder: Path) -> None:
    """Raise where no name is that of an image, warn where some are not."""
    unknown = [case for case in found if case not in images]
    if found and len(unknown) == len(found):
        raise InputFileError(
            f"{place} and {folder} have no case in common ({min(unknown)!r} here, {min(images)!r} there)"
        )
    if unknown:
        warn(f"{place}: case {min(unknown)!r}{and_more(unknown)} has no image in {folder} and is left out")
