"""Read a study in the format of COCO: annotations as truth, results as masks, maps beside them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pycocotools import mask as coco_masks

from salstats.checks import quoted
from salstats.errors import InputFileError, Message, SalstatsError, Setting
from salstats.files.input_files import read_json
from salstats.images.masks import Rle, empty, union_of
from salstats.images.run_lengths import check_shape, shortened_repr
from salstats.readers.case_json import check_name
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MAP_SUFFIXES, find_case_files
from salstats.readers.prediction_files import (
    NAN,
    Sources,
    check_cases_and_warn_of_unknown,
    prediction,
    source_by_series,
)
from salstats.study import Case, Series, Study, Truth, selected_names

#: Patterns of file names, as COCO and the tools that export it give them.
ANNOTATION_FILES = ("instances*.json", "*.coco.json", "annotations.json")
RESULT_FILES_PATTERN = "*results*.json"
DEFAULT_MIN_SCORE = 0.5
#: Fields of an image, of a category, and of an annotation or result, with the types that each may have.
_IMAGE_FIELDS = {"id": (int, str), "file_name": (str,), "height": (int,), "width": (int,)}
_CATEGORY_FIELDS = {"id": (int, str), "name": (str,)}
_MARK_FIELDS = {"image_id": (int, str), "category_id": (int, str), "segmentation": (list, dict)}
#: Largest distance of a vertex from the centre of its image, in multiples of the image's longer side; COCO's
#: drawing takes time that grows with the length of the edges.
_MAX_VERTEX_DISTANCE = 2


class CocoImage(NamedTuple):
    """The case of an image, and its (height, width)."""

    case: str
    shape: tuple[int, int]


class Mark(NamedTuple):
    """The mask of one annotation or result."""

    mask: Rle
    #: Score of a result; NaN for an annotation.
    score: float
    #: An annotation of a crowd, whose instances are not counted.
    is_crowd: bool


#: (image id, category id) -> marks.
_Marks = dict[tuple[Any, Any], list[Mark]]


def read_coco(
    folder: PathLike,
    *,
    truth: PathLike | None = None,
    masks: Sources | None = None,
    maps: Sources | None = None,
    tasks: Sequence[str] | None = None,
    min_score: float = DEFAULT_MIN_SCORE,
    method: str = "saliency",
) -> Study:
    r"""Read a study in the format of COCO.

    Parameters
    ----------
    folder : path
        It holds the annotations, `instances*.json`, `*.coco.json` or `annotations.json`, and where there are
        some, results, `*results*.json`.
    truth : path, optional
        The annotations: an object with `images`, `categories` and `annotations`, whose `segmentation` is a
        list of polygons or a run-length code. By default the file in the folder.
    masks : path or dict, optional
        Results: a list of `image_id`, `category_id`, `segmentation` (a run-length code) and `score`; several
        as in `{"maskrcnn": FILE, "detr": FILE}`, whose names are method[:model[:seed]]. By default the files
        in the folder: one has the name `method`, several the names of their files.
    maps : path or dict, optional
        The folder of a method's maps, CATEGORY/CASE.npy, .npz, .png or .tif; or several, as for `masks`.
    tasks : list of str, optional
        Only these categories, in this order.
    min_score : float, default 0.5
        Results below this score are left out.
    method : str, default "saliency"
        Name of results or maps that are given as a single path.

    Returns
    -------
    Study
        Cases in the order of their names: an image's `file_name` without folder and ending. Tasks are the
        names of categories, in the file's order. The truth of a task is the union of its annotations,
        `iscrowd` or not; where an image has none, the finding is absent and `label` is 0. The mask of a
        method is the union of its results, empty where it has none, and `prob` is their largest score.
        Results and maps of one name are one prediction, whose mask is that of the results.

    Raises
    ------
    InputFileError
        No file of annotations, or several; an image, category, segmentation or score in a file is not in the
        format; the size of a mask is not that of its image; two images have one name; maps have no case in
        common with the annotations.
    SalstatsError
        A category or a method's name is invalid.

    Warns
    -----
    SalstatsWarning
        Maps have no image of their name.

    Notes
    -----
    Polygons are drawn as COCO draws them (`pycocotools.mask.frPyObjects`). An annotation that has keypoints
    or a box but no segmentation is an error.

    References
    ----------
    Lin TY, Maire M, Belongie S, et al. Microsoft COCO: common objects in context. ECCV 2014.
    https://doi.org/10.1007/978-3-319-10602-1_48. Format: https://cocodataset.org/#format-data

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from salstats.readers.coco import read_coco
    >>> content = {
    ...     "images": [{"id": 1, "file_name": "a.jpg", "height": 4, "width": 6}],
    ...     "categories": [{"id": 3, "name": "cat"}],
    ...     "annotations": [
    ...         {"id": 1, "image_id": 1, "category_id": 3, "iscrowd": 0, "segmentation": [[1, 1, 4, 1, 4, 3]]}
    ...     ],
    ... }
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = (pathlib.Path(place) / "instances.json").write_text(json.dumps(content))
    ...     read_coco(place)
    <Study instances.json: 1 cases, 1 tasks, methods: none>
    """
    root = Path(folder)
    file = _annotation_file(root) if truth is None else Path(truth)
    content = read_json(file)
    images = _images_by_id(content, file)
    name_of_category = _category_names_by_id(content, file)
    category_of_name = {name: category for category, name in name_of_category.items()}
    task_names = selected_names(tasks, [*category_of_name], "category", file, required=True)
    annotations = _marks_by_image_and_category(
        _checked_entries(content, "annotations", file, _MARK_FIELDS), file, images, name_of_category
    )
    result_files = (
        _result_file_by_series(root, method) if masks is None else source_by_series(masks, method, "masks")
    )
    results: dict[Series, _Marks] = {}
    for series, path in result_files.items():
        entries = _checked_entries(read_json(Path(path)), "results", Path(path), _MARK_FIELDS)
        results[series] = _marks_by_image_and_category(
            entries, Path(path), images, name_of_category, min_score
        )
    case_names = [image.case for image in images.values()]
    map_files: dict[Series, dict[tuple[str, str], Path]] = {}
    for series, path in source_by_series(maps, method, "maps").items():
        map_files[series] = _map_by_task_and_case(Path(path), task_names)
        check_cases_and_warn_of_unknown({case for _, case in map_files[series]}, case_names, path, file)
    all_series = tuple(dict.fromkeys([*results, *map_files]))
    cases = []
    for image, (case, shape) in sorted(images.items(), key=lambda entry: entry[1]):
        truths: dict[str, Truth] = {}
        predictions = []
        for task in task_names:
            key = (image, category_of_name[task])
            if key in annotations:
                truths[task] = _truth_of_marks(annotations[key])
            for series in all_series:
                map_file = map_files.get(series, {}).get((task, case))
                mask = None
                prob = NAN
                if series in results:
                    mask, prob = _union_and_best_score(results[series].get(key, []), shape)
                elif map_file is None:
                    continue
                # a case has one prediction of a series and task, with its map, its mask or both
                predictions.append(
                    prediction(
                        task,
                        series,
                        shape,
                        result_files.get(series, file),
                        map_file=map_file,
                        mask=mask,
                        prob=prob,
                    )
                )
        labels = {task: float(task in truths) for task in task_names}
        cases.append(Case(case, shape, truths, tuple(predictions), labels=labels))
    return Study(tuple(cases), tuple(task_names), all_series, file.name)


def _map_by_task_and_case(folder: Path, tasks: Sequence[str]) -> dict[tuple[str, str], Path]:
    """Return the files CATEGORY/CASE of the maps of some categories, by (task, case)."""
    files: dict[tuple[str, str], Path] = {}
    for task in tasks:
        if (folder / task).is_dir():
            for case, file in find_case_files(folder / task, MAP_SUFFIXES).items():
                files[task, case] = file
    if not files:
        raise InputFileError(
            f"{folder}: holds no map CATEGORY/CASE of a category of the annotations", path=folder
        )
    return files


def _truth_of_marks(marks: Sequence[Mark]) -> Truth:
    """Return the union of annotations as the truth, with their number where none is of a crowd."""
    n_instances = None if any(mark.is_crowd for mark in marks) else len(marks)
    return Truth.of(union_of([mark.mask for mark in marks]), n_instances)


def _union_and_best_score(marks: Sequence[Mark], shape: tuple[int, int]) -> tuple[Rle, float]:
    """Return the union of results and the largest score; an empty mask and NaN where there are none."""
    if not marks:
        return empty(shape), NAN
    return union_of([mark.mask for mark in marks]), max(mark.score for mark in marks)


def recognise(folder: Path) -> bool:
    """Return whether a folder holds annotations named as in COCO."""
    return any(any(folder.glob(pattern)) for pattern in ANNOTATION_FILES)


def _annotation_file(folder: Path) -> Path:
    """Return the file of annotations in a folder; raise where there is none, or several."""
    files: set[Path] = set()
    for pattern in ANNOTATION_FILES:
        files.update(folder.glob(pattern))
    files.difference_update(folder.glob(RESULT_FILES_PATTERN))
    names = sorted(file.name for file in files)
    if len(names) != 1:
        content = f"no {', '.join(ANNOTATION_FILES)}"
        if names:
            content = quoted(names)
        raise InputFileError(
            f"{folder}: holds {content}",
            hint=Message("name the file of the annotations with ", Setting("truth")),
            option="truth",
            choices=names,
            path=folder,
        )
    return folder / names[0]


def _result_file_by_series(folder: Path, method: str) -> dict[Series, PathLike]:
    """Return the files of results in a folder by series: of one file `method`, of several their names."""
    files = sorted(folder.glob(RESULT_FILES_PATTERN))
    if not files:
        return {}
    if len(files) == 1:
        return source_by_series(files[0], method, option="masks")
    # in a series' name a colon divides method and model
    return source_by_series({file.stem.replace(":", "_"): file for file in files}, method, option="masks")


def _checked_entries(
    content: Any, list_name: str, file: Path, types_by_field: Mapping[str, tuple[type, ...]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each entry of a list in a file after its location in words; raise where a field has a wrong type.

    A file of results is such a list itself; a file of annotations is an object that has it as `list_name`.
    """
    if list_name != "results":
        if not isinstance(content, dict) or list_name not in content:
            raise InputFileError(
                f"{file}: not an object with images, categories and annotations", column=list_name, path=file
            )
        content = content[list_name]
    if not isinstance(content, list):
        raise InputFileError(
            f"{file}: its {list_name} must be a list, not {shortened_repr(content)}",
            column=list_name,
            path=file,
        )
    for row, entry in enumerate(content):
        location = f"{file}, entry {row + 1} of {list_name}"
        for field, types in types_by_field.items():
            if not isinstance(entry, dict) or field not in entry:
                raise InputFileError(
                    f"{location}: no {field!r}; COCO has {', '.join(types_by_field)}",
                    choices=types_by_field,
                    column=field,
                    rows=[row],
                    path=file,
                )
            # bool is a subclass of int
            if not isinstance(entry[field], types) or isinstance(entry[field], bool):
                raise InputFileError(
                    f"{location}: {field} cannot be {shortened_repr(entry[field])}",
                    value=entry[field],
                    column=field,
                    rows=[row],
                    path=file,
                )
        yield location, entry


def _images_by_id(content: Any, file: Path) -> dict[Any, CocoImage]:
    """Return the case and shape of each image by its id; ids and cases must be unique."""
    images: dict[Any, CocoImage] = {}
    names: set[str] = set()
    for row, (location, image) in enumerate(_checked_entries(content, "images", file, _IMAGE_FIELDS)):
        case = check_name(Path(image["file_name"].replace("\\", "/")).stem, f"{location}: the case")
        _check_is_new("id", image["id"], images, location, row, file)
        _check_is_new("file_name", case, names, location, row, file)
        try:
            shape = check_shape((image["height"], image["width"]), "height and width")
        except SalstatsError as error:
            raise InputFileError(
                f"{location}: {error}", value=error.value, column="height", rows=[row], path=file
            ) from error
        images[image["id"]] = CocoImage(case, shape)
        names.add(case)
    if not images:
        raise InputFileError(f"{file}: holds no image", column="images", path=file)
    return images


def _category_names_by_id(content: Any, file: Path) -> dict[Any, str]:
    """Return the name of each category by its id; ids and names must be unique."""
    name_of_category: dict[Any, str] = {}
    names: set[str] = set()
    for row, (location, category) in enumerate(
        _checked_entries(content, "categories", file, _CATEGORY_FIELDS)
    ):
        name = check_name(category["name"], f"{location}: the task")
        _check_is_new("id", category["id"], name_of_category, location, row, file)
        _check_is_new("name", name, names, location, row, file)
        name_of_category[category["id"]] = name
        names.add(name)
    return name_of_category


def _check_is_new(
    field: str, value: object, earlier_values: Collection[object], location: str, row: int, file: Path
) -> None:
    """Raise where an earlier entry of the list has the value in the same field.

    `location` names the entry in the message, `row` is its index from 0.
    """
    if value in earlier_values:
        raise InputFileError(
            f"{location}: {field} {shortened_repr(value)} is that of an earlier entry",
            hint=f"give each entry its own {field}",
            value=value,
            column=field,
            rows=[row],
            path=file,
        )


def _marks_by_image_and_category(
    entries: Iterator[tuple[str, dict[str, Any]]],
    file: Path,
    images: Mapping[Any, CocoImage],
    categories: Mapping[Any, str],
    min_score: float | None = None,
) -> _Marks:
    """Return the marks of each image and category: annotations, or results of at least `min_score`."""
    marks: _Marks = {}
    for row, (location, entry) in enumerate(entries):
        image = entry["image_id"]
        category = entry["category_id"]
        if image not in images:
            raise InputFileError(
                f"{location}: image_id {image!r} is not an image of the annotations",
                value=image,
                column="image_id",
                rows=[row],
                path=file,
            )
        if category not in categories:
            raise InputFileError(
                f"{location}: category_id {category!r} is not a category of the annotations",
                value=category,
                column="category_id",
                rows=[row],
                path=file,
            )
        score = entry.get("score", NAN)
        if min_score is not None:
            if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
                raise InputFileError(
                    f"{location}: score {shortened_repr(score)} is not between 0 and 1",
                    value=score,
                    column="score",
                    rows=[row],
                    path=file,
                )
            if score < min_score:
                continue
        try:
            mask = _segmentation_mask(entry["segmentation"], images[image].shape, location)
        except InputFileError as error:
            raise error.prefixed(rows=[row], path=file) from error.__cause__
        is_crowd = min_score is None and bool(entry.get("iscrowd", 0))
        marks.setdefault((image, category), []).append(Mark(mask, score, is_crowd))
    return marks


def _segmentation_mask(segmentation: Any, shape: tuple[int, int], location: str) -> Rle:
    """Return the mask of a segmentation: polygons, or a run-length code of the image's size."""
    if isinstance(segmentation, dict):
        rle = Rle.from_coco(segmentation, location)
        if rle.shape != shape:
            raise InputFileError(
                f"{location}: its mask is {rle.shape[0]} x {rle.shape[1]} (height x width), its image "
                f"{shape[0]} x {shape[1]}",
                value=rle.shape,
                column="size",
            )
        return rle
    height, width = shape
    centre = np.array([width / 2, height / 2])
    polygons = []
    for polygon in segmentation:
        try:
            points = np.array(polygon, dtype=np.float64).reshape(-1, 2)
        except (TypeError, ValueError) as error:
            raise InputFileError(
                f"{location}: a polygon is not x, y, x, y, ... of numbers",
                value=polygon,
                column="segmentation",
            ) from error
        is_near = bool((np.abs(points - centre) <= _MAX_VERTEX_DISTANCE * max(shape)).all())
        if len(points) < 3 or not is_near:
            raise InputFileError(
                f"{location}: a polygon has fewer than three points, or lies far outside its image",
                value=polygon,
                column="segmentation",
            )
        polygons.append(points.ravel().tolist())
    if not polygons:
        raise InputFileError(f"{location}: its segmentation is empty", column="segmentation")
    return Rle.from_coco(coco_masks.merge(coco_masks.frPyObjects(polygons, height, width)), location)
