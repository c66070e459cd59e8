"""Read a data set in the layout of Saliency-Bench: images by class, and tables of annotations."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from salstats.checks import and_n_more_after_first, as_generator, check_choice
from salstats.errors import InputFileError, Message, SalstatsError, Setting, ValueRangeError, warn
from salstats.images import masks
from salstats.readers.attention_tables import (
    IMAGE_COLUMN,
    Annotation,
    BoxesXYWH,
    draw_boxes,
    read_mask_or_boxes_by_image_name,
    resize_truth,
)
from salstats.readers.case_json import check_name
from salstats.readers.case_tables import read_prob_and_label_by_case
from salstats.readers.cells import PathLike
from salstats.readers.image_files import image_shape
from salstats.readers.prediction_files import (
    NAN,
    Sources,
    check_cases_and_warn_of_unknown,
    find_maps_by_series_and_case,
    images_in_folders,
    prediction,
    source_by_series,
)
from salstats.study import Case, Study, Truth, selected_names

IMAGE_FOLDER = "image"
ANNOTATION_FOLDER = "attention_label"
_IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")
#: Choices of `pixels`.
PIXELS = ("annotation", "image")
#: Names of the parts of a data set.
SPLITS = ("train", "validation", "test")


# each option is checked and looked up in the order of its parameters
def read_saliency_bench(  # noqa: C901, PLR0912
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
    r"""Read one data set of Saliency-Bench, with maps of its images.

    Parameters
    ----------
    folder : path
        It has `image/CLASS/*.jpg` or `.png`, and `attention_label/*.csv` with columns `img_idx`, the file
        name of an image, and `attention`, a JSON array of rows (224 x 224); or boxes, see Notes. The case
        is the file name without its ending.
    maps : path or dict, optional
        The folder of a method's maps by case, CASE.npy, .npz, .png or .tif, each the map of the class of its
        image; or several as in `{"gradcam:resnet18": DIR}`, whose names are method[:model[:seed]].
    predictions : path, optional
        Table of the model's probability for each image's class: columns `case`, `prob`. Needs `maps`.
    classes : str or sequence of str, optional
        Folders of `image` to read, in this order; by default all, in the order of their names.
    task : str, optional
        Name of one task for all classes, the evidence of an image's own class. By default every class is a
        task, present on the images of its folder.
    annotations : path or sequence of paths, optional
        The tables to read; by default all of `attention_label`.
    pixels : {"annotation", "image"}
        Grid of pixels on which maps and truth are compared. "annotation": the annotation's, as in the
        benchmark, so that the truth is not resampled (for boxes, the image's). "image": the image's, to which
        the truth is resized by nearest neighbour.
    threshold : float, optional
        Pixels are marked where an annotation exceeds this; by default its numbers must be 0 and 1, or 0 and
        255, or one of these alone.
    split : {"train", "validation", "test"}, optional
        The part of the data set to read; by default all.
    shares : sequence of three float
        The parts' shares, see Notes.
    rng : int or numpy.random.Generator
        Seed of the split.
    method : str, default "saliency"
        Name of the maps of one folder.

    Returns
    -------
    Study
        Cases in the order of their names. An image without an annotation is not annotated: it has no score on
        the true-positive slice. One whose annotation marks nothing has an empty truth. `labels` is 1 for an
        image's own class and 0 for the others; with `task` there are none.

    Raises
    ------
    InputFileError
        Another layout; an image's name is in two classes; a file is not a table of annotations; no annotation
        is of an image; a file cannot be read.
    SalstatsError
        A class, part or choice does not exist; shares do not add up to 1; `predictions` is not a table of
        probabilities (`read_prob_and_label_by_case`), or is given without `maps`; a method's name is invalid.

    Warns
    -----
    SalstatsWarning
        Images have no annotation, one that marks nothing, or boxes that reach beyond them; annotations, maps
        or predictions are of no image; there are other files or folders in `image`.

    See Also
    --------
    score : scores by this package's definitions.
    metrics.xaibenchmark : those of the benchmark, by its rules.

    Notes
    -----
    The benchmark's models see images stretched to 224 x 224, the annotation's pixels, so that with
    `pixels="annotation"` shapes are stretched as well (for `features`, use `pixels="image"`).

    Split: the images of each class are shuffled and spread evenly over one order, of which the first
    int(0.7 n) are for training, the next int(0.15 n) for validation, the rest for testing (int rounds down,
    as in the benchmark). So every class has nearly its share in each part, within a few images where the
    classes' sizes are very different. The split is over all classes of the folder and all images, annotated
    or not, and depends on their names and `rng` only: not on the order on disk, and not on `classes`. The
    article says 70/15/15; the benchmark's loader takes 60/20/20 without a seed, from the order on disk.

    The benchmark's loader uses the first of two rows for an image; here they must be equal. For an image
    without a row, the loader uses an empty annotation.

    Boxes: the benchmark's loader reads arrays only. Columns `bbox` or `boxes` hold JSON, [x, y, w, h] or a
    list of such; or each row has x, y, w, h (or width, height), or xmin, ymin, xmax, ymax. All are edges in
    pixels of the image, from 0 at its left and top; a pixel belongs to a box in which its centre lies.

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
    root = Path(folder)
    check_choice(pixels, PIXELS, "pixels")
    if split is not None:
        check_choice(split, SPLITS, "split")
    if task is not None:
        check_name(task, Setting("task"))
    map_folders = source_by_series(maps, method, "maps")
    if predictions is not None and not map_folders:
        raise SalstatsError(
            Setting("predictions"),
            " are of the model whose maps are read, and there are no maps",
            hint=Message("name the folder of maps with ", Setting("maps")),
            value=predictions,
        )
    images = _image_by_case(root)
    class_of_case = {case: file.parent.name for case, file in images.items()}
    all_classes = sorted(set(class_of_case.values()))
    labels = selected_names(classes, all_classes, "class", root / IMAGE_FOLDER, required=True)
    split_of_case = split_by_image(class_of_case, shares=shares, rng=rng)
    case_names = []
    for case in images:
        is_in_split = split is None or split == split_of_case[case]
        if class_of_case[case] in labels and is_in_split:
            case_names.append(case)
    annotation_of_case = _annotation_by_case(root, annotations, images, threshold)
    map_files = find_maps_by_series_and_case(map_folders, images, root)
    probabilities: dict[str, float] = {}
    if predictions is not None:
        table = read_prob_and_label_by_case(predictions)
        check_cases_and_warn_of_unknown(table, images, predictions, root)
        probabilities = {case: prob for case, (prob, _) in table.items()}
    # an image without annotation has the size of all annotations, if they share one
    mask_shapes = {
        annotation.mask.shape for annotation in annotation_of_case.values() if annotation.mask is not None
    }
    common_shape = None
    if len(mask_shapes) == 1 and pixels == "annotation":
        common_shape = mask_shapes.pop()
    cases_cut_off = []
    cases = []
    for case in case_names:
        annotation = annotation_of_case.get(case)
        case_task = class_of_case[case] if task is None else task
        truths: dict[str, Truth] = {}
        if annotation is None:
            shape = common_shape or image_shape(images[case])
        elif annotation.mask is not None and pixels == "annotation":
            shape = annotation.mask.shape
            truths[case_task] = Truth.of(annotation.mask)
        else:
            shape = image_shape(images[case])
            truths[case_task] = _truth_on_image(annotation, shape)
            if _any_box_reaches_beyond_image(annotation.boxes, shape):
                cases_cut_off.append(case)
        prob = probabilities.get(case, NAN)
        case_predictions = []
        for series, files in map_files.items():
            if case in files or not np.isnan(prob):
                case_predictions.append(
                    prediction(case_task, series, shape, images[case], map_file=files.get(case), prob=prob)
                )
        case_labels: dict[str, float] = {}
        if task is None:
            case_labels = {label: float(label == case_task) for label in labels}
        cases.append(
            Case(
                case=case,
                shape=shape,
                truths=truths,
                predictions=tuple(case_predictions),
                annotated=annotation is not None,
                labels=case_labels,
            )
        )
    _warn_of_incomplete_annotations(root, case_names, annotation_of_case, cases_cut_off)
    tasks = labels if task is None else (task,)
    return Study(tuple(cases), tasks, tuple(map_folders), str(root))


def split_by_image(
    labels: Mapping[str, str],
    *,
    shares: Sequence[float] = (0.7, 0.15, 0.15),
    rng: int | np.random.Generator = 0,
) -> dict[str, str]:
    """Return each image's part of the data set, one of `SPLITS`; every class is spread evenly over the parts.

    `labels` is the class of each image, in any order; `shares` are those of "train", "validation" and "test".
    Of n images int(share * n) are for training, and int(share * n) by its share for validation; the rest are
    for testing.
    """
    numbers = [float(share) for share in shares]
    are_shares = len(numbers) == len(SPLITS) and all(number >= 0 for number in numbers)
    if not are_shares or abs(sum(numbers) - 1) > 1e-9:
        raise ValueRangeError(
            f"shares must be three numbers from 0 that add up to 1 ({', '.join(SPLITS)}), not {list(shares)}",
            option="shares",
            value=shares,
        )
    generator = as_generator(rng)
    # of each image its position from 0 to 1, its class and its name
    positioned: list[tuple[float, str, str]] = []
    for label in sorted(set(labels.values())):
        members = sorted(image for image, image_label in labels.items() if image_label == label)
        # a class's images lie at equal steps from 0 to 1, the first at random within the first step
        positions = (np.arange(len(members)) + generator.random()) / len(members)
        shuffled = generator.permutation(np.array(members, dtype=object))
        for position, image in zip(positions, shuffled, strict=True):
            positioned.append((position, label, image))
    positioned.sort()
    # rounded to 9 digits before int() cuts off, as 0.7 * 90 is 62.999... in floats
    train_share, validation_share, _ = numbers
    n_train = int(round(train_share * len(positioned), 9))
    n_validation = int(round(validation_share * len(positioned), 9))
    split_of_image = {}
    for number, (_, _, image) in enumerate(positioned):
        if number < n_train:
            split_of_image[image] = "train"
        elif number < n_train + n_validation:
            split_of_image[image] = "validation"
        else:
            split_of_image[image] = "test"
    return dict(sorted(split_of_image.items()))


def recognise(folder: Path) -> bool:
    """Return whether a folder holds a data set in this layout: image/CLASS and attention_label/*.csv."""
    return (folder / IMAGE_FOLDER).is_dir() and bool(_annotation_table_paths(folder))


def _image_by_case(folder: Path) -> dict[str, Path]:
    """Return the file of each case's image, in the order of the cases; its folder has the class's name."""
    root = folder / IMAGE_FOLDER
    if not root.is_dir():
        problem = f"has no folder {IMAGE_FOLDER!r}" if folder.exists() else "no such folder"
        raise InputFileError(
            f"{folder}: {problem}",
            hint=f"a data set has {IMAGE_FOLDER}/CLASS/*.jpg and {ANNOTATION_FOLDER}/*.csv",
            path=folder,
        )
    images: dict[str, Path] = {}
    for file in images_in_folders(root, _IMAGE_SUFFIXES, f"{IMAGE_FOLDER}/CLASS/NAME.jpg or .png"):
        check_name(file.parent.name, f"{root}: the class")
        case = check_name(file.stem, f"{file.parent}: an image's case")
        first_file = images.setdefault(case, file)
        if first_file != file:
            raise InputFileError(
                f"case {case} has two images, {first_file} and {file}",
                hint="annotations name images by file name alone, so every image needs its own",
                value=case,
                path=file,
            )
    return dict(sorted(images.items()))


def _annotation_table_paths(folder: Path) -> list[Path]:
    """List the tables of annotations in a data set's folder."""
    files = (folder / ANNOTATION_FOLDER).glob("*.[cC][sS][vV]")
    return sorted(file for file in files if not file.name.startswith("."))


def _annotation_by_case(
    folder: Path,
    tables: PathLike | Sequence[PathLike] | None,
    images: Mapping[str, Path],
    threshold: float | None,
) -> dict[str, Annotation]:
    """Read the annotation of each case that has one; warn of annotations that are of no image."""
    if tables is None:
        files = _annotation_table_paths(folder)
    elif isinstance(tables, Sequence) and not isinstance(tables, str):
        files = [Path(str(file)) for file in tables]
    else:
        files = [Path(str(tables))]
    if not files:
        raise InputFileError(
            f"{folder / ANNOTATION_FOLDER}: holds no table of annotations (*.csv)",
            hint=Message("name it with ", Setting("annotations")),
            option="annotations",
            path=folder / ANNOTATION_FOLDER,
        )
    case_of_image = {file.name: case for case, file in images.items()}
    annotation_of_case: dict[str, Annotation] = {}
    # name of an image that does not exist -> location of its annotation
    unknown: dict[str, str] = {}
    for name, annotation in read_mask_or_boxes_by_image_name(files, threshold=threshold).items():
        # some tables name images without the ending
        case = case_of_image.get(name, name)
        if case not in images:
            unknown[name] = annotation.row_location
        elif case in annotation_of_case:
            first = annotation_of_case[case].row_location
            raise InputFileError(
                f"{annotation.row_location}: case {case} is in {first} too", hint="keep one", value=case
            )
        else:
            annotation_of_case[case] = annotation
    if unknown and not annotation_of_case:
        raise InputFileError(
            f"{next(iter(unknown.values()))}: no {IMAGE_COLUMN} of the tables is an image of "
            f"{folder / IMAGE_FOLDER}",
            column=IMAGE_COLUMN,
            value=list(unknown),
            path=folder / IMAGE_FOLDER,
        )
    if unknown:
        warn(
            f"{next(iter(unknown.values()))}{and_n_more_after_first(list(unknown))}: no image of this name "
            f"in {folder / IMAGE_FOLDER}",
            hint="left out",
            column=IMAGE_COLUMN,
            value=list(unknown),
            path=folder / IMAGE_FOLDER,
        )
    return annotation_of_case


def _truth_on_image(annotation: Annotation, shape: tuple[int, int]) -> Truth:
    """Return the truth on an image's pixels: a mask, to be resized when it is read, or boxes, drawn now."""
    if annotation.mask is not None:
        return Truth(partial(resize_truth, annotation.mask, shape))
    return Truth.of(masks.encode(draw_boxes(annotation.boxes, shape)), len(annotation.boxes))


def _any_box_reaches_beyond_image(boxes: BoxesXYWH, shape: tuple[int, int]) -> bool:
    """Return whether a box lies partly outside an image of (height, width)."""
    height, width = shape
    for x, y, box_width, box_height in boxes:
        if x < 0 or y < 0 or x + box_width > width or y + box_height > height:
            return True
    return False


def _marks_nothing(annotation: Annotation) -> bool:
    """Return whether an annotation has neither a marked pixel nor a box."""
    if annotation.mask is not None:
        return masks.area(annotation.mask) == 0
    return not annotation.boxes


def _warn_of_incomplete_annotations(
    folder: Path,
    cases: Sequence[str],
    annotation_of_case: Mapping[str, Annotation],
    cases_cut_off: Sequence[str],
) -> None:
    """Warn of images without annotation, with one that marks nothing, and with boxes beyond their edge."""
    without = [case for case in cases if case not in annotation_of_case]
    if without:
        warn(
            f"{folder}: {len(without)} of {len(cases)} images have no annotation (first: {without[0]})",
            value=without,
            path=folder,
        )
    annotated = [case for case in cases if case in annotation_of_case]
    empty = [case for case in annotated if _marks_nothing(annotation_of_case[case])]
    if empty:
        warn(
            f"{folder}: the annotations of {len(empty)} of {len(cases)} images mark nothing "
            f"(first: {empty[0]})",
            hint="no pixel can be right there, so that scores are undefined",
            value=empty,
            path=folder,
        )
    if cases_cut_off:
        warn(
            f"case {cases_cut_off[0]!r}{and_n_more_after_first(cases_cut_off)}: boxes reach beyond their "
            "image and are cut off",
            value=cases_cut_off,
            path=folder,
        )
