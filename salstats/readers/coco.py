"""Read a study in the format of COCO: annotations as truth, results as masks, maps beside them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pycocotools import mask as coco

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

#: Names of the files in a folder, as COCO and the tools that export it give them.
ANNOTATIONS = ("instances*.json", "*.coco.json", "annotations.json")
RESULTS = "*results*.json"
#: Results below this score are left out.
SCORE = 0.5
#: Fields of an image, of a category, and of an annotation or result, with the types that each may have.
_IMAGE = {"id": (int, str), "file_name": (str,), "height": (int,), "width": (int,)}
_CATEGORY = {"id": (int, str), "name": (str,)}
_MARK = {"image_id": (int, str), "category_id": (int, str), "segmentation": (list, dict)}
#: Longest distance of a vertex from the middle of its image, in longer sides of the image; COCO's drawing
#: takes time by the length of the edges.
_FARTHEST_SIDES = 2


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


#: (image, category) by the file's numbers -> marks.
_Marks = dict[tuple[Any, Any], list[Mark]]


def read_coco(
    folder: PathLike,
    *,
    truth: PathLike | None = None,
    masks: Sources | None = None,
    maps: Sources | None = None,
    tasks: Sequence[str] | None = None,
    min_score: float = SCORE,
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
        in the folder: one is called by `method`, several by their names.
    maps : path or dict, optional
        The folder of a method's maps, CATEGORY/CASE.npy, .npz, .png or .tif; or several, as for `masks`.
    tasks : list of str, optional
        Only these categories, in this order.
    min_score : float, default 0.5
        Results below this score are left out.
    method : str, default "saliency"
        What the results or maps of one place are called.

    Returns
    -------
    Study
        Cases in the order of their names: an image's `file_name` without folder and ending. Tasks are the
        names of categories, in the file's order. The truth of a task is what any of its annotations marks,
        `iscrowd` or not; where an image has none, the finding is absent and `label` is 0. Of results, a mask
        is what any of those that count marks, none where there are none, and `prob` is the largest score.
        Results and maps of one name are one answer, whose mask is that of the results.

    Raises
    ------
    InputFileError
        No annotations, or several; a file is not in the format: image, category, segmentation or score are
        named with their place; a mask has not the size of its image; two images have one name; maps have
        no case in common with the annotations.
    SalstatsError
        A category or a method's name cannot be.

    Warns
    -----
    SalstatsWarning
        Maps are of no image.

    Notes
    -----
    Polygons are drawn as COCO draws them (`pycocotools.mask.frPyObjects`). Keypoints and boxes without a
    segmentation are none of a mask and are refused.

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
        _entries(content, "annotations", file, _MARK), file, images, name_of_category
    )
    result_files = _result_files(root, method) if masks is None else source_by_series(masks, method, "masks")
    results: dict[Series, _Marks] = {}
    for series, path in result_files.items():
        entries = _entries(read_json(Path(path)), "results", Path(path), _MARK)
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
                truths[task] = _truth(annotations[key])
            for series in all_series:
                map_file = map_files.get(series, {}).get((task, case))
                mask = None
                prob = NAN
                if series in results:
                    mask, prob = _union_and_best_score(results[series].get(key, []), shape)
                elif map_file is None:
                    continue
                # results and maps of one name are one answer, as a case has one of each series
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
    """Find the maps CATEGORY/CASE of some categories: (task, case) -> file."""
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


def _truth(marks: Sequence[Mark]) -> Truth:
    """Return the union of annotations, with their number where none is of a crowd."""
    n_instances = None if any(mark.is_crowd for mark in marks) else len(marks)
    return Truth.of(union_of([mark.mask for mark in marks]), n_instances)


def _union_and_best_score(marks: Sequence[Mark], shape: tuple[int, int]) -> tuple[Rle, float]:
    """Return the union of results and the largest score; an empty mask and NaN where there are none."""
    if not marks:
        return empty(shape), NAN
    return union_of([mark.mask for mark in marks]), max(mark.score for mark in marks)


def recognise(folder: Path) -> bool:
    """Return whether a folder holds annotations by COCO's names."""
    return any(any(folder.glob(pattern)) for pattern in ANNOTATIONS)


def _annotation_file(folder: Path) -> Path:
    """Return the file of annotations in a folder."""
    files: set[Path] = set()
    for pattern in ANNOTATIONS:
        files.update(folder.glob(pattern))
    files.difference_update(folder.glob(RESULTS))
    names = sorted(file.name for file in files)
    if len(names) != 1:
        content = f"no {', '.join(ANNOTATIONS)}"
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


def _result_files(folder: Path, method: str) -> dict[Series, PathLike]:
    """Return the files of results in a folder, by series."""
    files = sorted(folder.glob(RESULTS))
    if not files:
        return {}
    if len(files) == 1:
        return source_by_series(files[0], method, "masks")
    return source_by_series({file.stem.replace(":", "_"): file for file in files}, method, "masks")


def _entries(
    content: Any, list_name: str, file: Path, types_by_field: Mapping[str, tuple[type, ...]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of a list in a file, each with its location; their fields are of `types_by_field`."""
    if list_name != "results":
        if not isinstance(content, dict) or list_name not in content:
            raise InputFileError(
                f"{file}: not an object with images, categories and annotations", column=list_name, path=file
            )
        content = content[list_name]
    if not isinstance(content, list):
        raise InputFileError(
            f"{file}: its {list_name} are no list but {shortened_repr(content)}", column=list_name, path=file
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
            # to Python True and False are numbers
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
    """Return the images by their number."""
    images: dict[Any, CocoImage] = {}
    names = set()
    for row, (location, image) in enumerate(_entries(content, "images", file, _IMAGE)):
        case = check_name(Path(image["file_name"].replace("\\", "/")).stem, f"{location}: the case")
        if image["id"] in images or case in names:
            raise InputFileError(
                f"{location}: id {image['id']!r} or file {case!r} stands twice",
                hint="a case needs its own",
                value=image["id"] if image["id"] in images else case,
                column="id" if image["id"] in images else "file_name",
                rows=[row],
                path=file,
            )
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
    """Return the names of the categories by their number."""
    name_of_category: dict[Any, str] = {}
    names = set()
    for row, (location, category) in enumerate(_entries(content, "categories", file, _CATEGORY)):
        name = check_name(category["name"], f"{location}: the task")
        if category["id"] in name_of_category or name in names:
            raise InputFileError(
                f"{location}: id {shortened_repr(category['id'])} or name {name!r} stands twice",
                value=category["id"] if category["id"] in name_of_category else name,
                column="id" if category["id"] in name_of_category else "name",
                rows=[row],
                path=file,
            )
        name_of_category[category["id"]] = name
        names.add(name)
    return name_of_category


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
                f"{location}: image_id {image!r} is no image of the annotations",
                value=image,
                column="image_id",
                rows=[row],
                path=file,
            )
        if category not in categories:
            raise InputFileError(
                f"{location}: category_id {category!r} is no category of the annotations",
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
            mask = _mask(entry["segmentation"], images[image].shape, location)
        except InputFileError as error:
            raise error.prefixed(rows=[row], path=file) from error.__cause__
        is_crowd = min_score is None and bool(entry.get("iscrowd", 0))
        marks.setdefault((image, category), []).append(Mark(mask, score, is_crowd))
    return marks


def _mask(segmentation: Any, shape: tuple[int, int], location: str) -> Rle:
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
        is_near = bool((np.abs(points - centre) <= _FARTHEST_SIDES * max(shape)).all())
        if len(points) < 3 or not is_near:
            raise InputFileError(
                f"{location}: a polygon has fewer than three points, or lies far outside its image",
                value=polygon,
                column="segmentation",
            )
        polygons.append(points.ravel().tolist())
    if not polygons:
        raise InputFileError(f"{location}: its segmentation is empty", column="segmentation")
    return Rle.from_coco(coco.merge(coco.frPyObjects(polygons, height, width)), location)
