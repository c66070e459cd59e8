"""Read a study in the format of COCO: annotations as truth, results as masks, maps beside them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools import mask as coco

from salstats.checks import quoted
from salstats.errors import InputFileError, SalstatsError
from salstats.files.inputs import read_json
from salstats.images.masks import Rle, empty, union_of
from salstats.images.run_lengths import check_shape, shortened
from salstats.readers.case_json import check_name
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MAP_SUFFIXES, find_case_files
from salstats.readers.predictions import NAN, Sources, check_cases, prediction, series_sources
from salstats.study import Case, Series, Study, Truth, selected_names

#: Names of the files in a folder, as COCO and the tools that export it give them.
ANNOTATIONS = ("instances*.json", "*.coco.json", "annotations.json")
RESULTS = "*results*.json"
#: Results below this score count as not found.
SCORE = 0.5
#: What an entry of each list has, and of which types.
_IMAGE = {"id": (int, str), "file_name": (str,), "height": (int,), "width": (int,)}
_CATEGORY = {"id": (int, str), "name": (str,)}
_MARK = {"image_id": (int, str), "category_id": (int, str), "segmentation": (list, dict)}
#: Number of an image -> its case and (height, width).
_Images = dict[Any, tuple[str, tuple[int, int]]]
#: (image, category) by the file's numbers -> masks, each with its score and whether it is of a crowd.
_Marks = dict[tuple[Any, Any], list[tuple[Rle, float, bool]]]


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
    here = Path(folder)
    file = _annotations(here) if truth is None else Path(truth)
    content = read_json(file)
    images = _images(content, file)
    categories = _categories(content, file)
    numbers = {name: number for number, name in categories.items()}
    names = {
        numbers[task]: task for task in selected_names(tasks, [*numbers], "category", file, required=True)
    }
    marked = _marks(_entries(content, "annotations", file, _MARK), images, categories)
    places = _results(here, method) if masks is None else series_sources(masks, method, "masks")
    results = {}
    for one, place in places.items():
        entries = _entries(read_json(Path(place)), "results", Path(place), _MARK)
        results[one] = _marks(entries, images, categories, min_score)
    cases_there = [case for case, _ in images.values()]
    maps_of: dict[Series, dict[tuple[str, str], Path]] = {}
    for one, place in series_sources(maps, method, "maps").items():
        maps_of[one] = {
            (task, case): path
            for task in names.values()
            if (Path(place) / task).is_dir()
            for case, path in find_case_files(Path(place) / task, MAP_SUFFIXES).items()
        }
        if not maps_of[one]:
            raise InputFileError(f"{place}: holds no map CATEGORY/CASE of a category of the annotations")
        check_cases({case for _, case in maps_of[one]}, cases_there, place, file)
    cases = []
    for number, (case, shape) in sorted(images.items(), key=lambda pair: pair[1]):
        truths, answers = {}, []
        for category, task in names.items():
            own = marked.get((number, category), [])
            if own:
                n_instances = None if any(crowd for _, _, crowd in own) else len(own)
                truths[task] = Truth.of(union_of([mask for mask, _, _ in own]), n_instances)
            for one, found in results.items():
                there = found.get((number, category), [])
                mask = union_of([mask for mask, _, _ in there]) if there else empty(shape)
                prob = max((score for _, score, _ in there), default=NAN)
                answers.append(prediction(task, one, shape, places[one], mask=mask, prob=prob))
            for one, files in maps_of.items():
                if (task, case) in files:
                    answers.append(prediction(task, one, shape, file, map_file=files[task, case]))
        labels = {task: float(task in truths) for task in names.values()}
        cases.append(Case(case, shape, truths, tuple(answers), labels=labels))
    return Study(tuple(cases), tuple(names.values()), tuple(dict.fromkeys([*results, *maps_of])), file.name)


def recognise(folder: Path) -> bool:
    """Whether a folder holds annotations by COCO's names."""
    return any(True for pattern in ANNOTATIONS for _ in folder.glob(pattern))


def _annotations(folder: Path) -> Path:
    """The annotations in a folder."""
    found = sorted(
        {file for pattern in ANNOTATIONS for file in folder.glob(pattern)} - {*folder.glob(RESULTS)}
    )
    if len(found) != 1:
        what = f"holds no {', '.join(ANNOTATIONS)}" if not found else f"holds {quoted(f.name for f in found)}"
        raise InputFileError(f"{folder}: {what}; say which file has the annotations with truth=")
    return found[0]


def _results(folder: Path, method: str) -> dict[Series, PathLike]:
    """The results in a folder, by series."""
    files = sorted(folder.glob(RESULTS))
    if len(files) < 2:
        return series_sources(files[0], method, "masks") if files else {}
    return series_sources({file.stem.replace(":", "_"): file for file in files}, method, "masks")


def _entries(
    content: Any, name: str, file: Path, fields: Mapping[str, tuple[type, ...]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of a list in a file, each with its place; `fields` are what each has, of which type."""
    if name != "results":
        if not isinstance(content, dict) or name not in content:
            raise InputFileError(f"{file}: not an object with images, categories and annotations")
        content = content[name]
    if not isinstance(content, list):
        raise InputFileError(f"{file}: its {name} are no list but {shortened(content)}")
    for place, entry in enumerate(content, start=1):
        where = f"{file}, entry {place} of {name}"
        for field, kind in fields.items():
            if not isinstance(entry, dict) or field not in entry:
                raise InputFileError(f"{where}: no {field!r}; COCO has {', '.join(fields)}")
            # a truth value is a number to Python
            if not isinstance(entry[field], kind) or isinstance(entry[field], bool):
                raise InputFileError(f"{where}: {field} cannot be {shortened(entry[field])}")
        yield where, entry


def _images(content: Any, file: Path) -> _Images:
    """The images by their number."""
    images: _Images = {}
    names = set()
    for where, image in _entries(content, "images", file, _IMAGE):
        case = check_name(Path(image["file_name"].replace("\\", "/")).stem, f"{where}: the case")
        if image["id"] in images or case in names:
            raise InputFileError(
                f"{where}: id {image['id']!r} or file {case!r} stands twice; a case needs its own"
            )
        try:
            shape = check_shape((image["height"], image["width"]), "height and width")
        except SalstatsError as error:
            raise InputFileError(f"{where}: {error}") from error
        images[image["id"]] = case, shape
        names.add(case)
    if not images:
        raise InputFileError(f"{file}: holds no image")
    return images


def _categories(content: Any, file: Path) -> dict[Any, str]:
    """The names of the categories by their number."""
    found: dict[Any, str] = {}
    names = set()
    for where, category in _entries(content, "categories", file, _CATEGORY):
        name = check_name(category["name"], f"{where}: the task")
        if category["id"] in found or name in names:
            raise InputFileError(f"{where}: id {shortened(category['id'])} or name {name!r} stands twice")
        found[category["id"]] = name
        names.add(name)
    return found


def _marks(
    entries: Iterator[tuple[str, dict[str, Any]]],
    images: _Images,
    categories: Mapping[Any, str],
    least: float | None = None,
) -> _Marks:
    """What annotations, or results of at least a score, mark on each image for each category."""
    found: _Marks = {}
    for where, entry in entries:
        key = entry["image_id"], entry["category_id"]
        for number, known, what in zip(key, (images, categories), ("image", "category"), strict=True):
            if number not in known:
                raise InputFileError(f"{where}: {what}_id {number!r} is no {what} of the annotations")
        score = entry.get("score", NAN)
        if least is not None:
            if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
                raise InputFileError(f"{where}: score {shortened(score)} is not between 0 and 1")
            if score < least:
                continue
        mask = _mask(entry["segmentation"], images[key[0]][1], where)
        crowd = least is None and bool(entry.get("iscrowd", 0))
        found.setdefault(key, []).append((mask, score, crowd))
    return found


def _mask(given: Any, shape: tuple[int, int], where: str) -> Rle:
    """The mask of a segmentation: polygons, or a run-length code of the image's size."""
    if isinstance(given, dict):
        rle = Rle.from_coco(given, where)
        if rle.shape != shape:
            raise InputFileError(
                f"{where}: its mask is {rle.shape[0]} x {rle.shape[1]} (height x width), its image "
                f"{shape[0]} x {shape[1]}"
            )
        return rle
    polygons = []
    for polygon in given:
        try:
            points = np.array(polygon, dtype=np.float64).reshape(-1, 2)
        except (TypeError, ValueError) as error:
            raise InputFileError(f"{where}: a polygon is not x, y, x, y, ... of numbers") from error
        # what COCO draws takes time by the length of its edges
        if len(points) < 3 or not (np.abs(points - np.array(shape[::-1]) / 2) <= 2 * max(shape) + 2).all():
            raise InputFileError(
                f"{where}: a polygon has fewer than three points, or lies far outside its image"
            )
        polygons.append(points.ravel().tolist())
    if not polygons:
        raise InputFileError(f"{where}: its segmentation is empty")
    return Rle.from_coco(coco.merge(coco.frPyObjects(polygons, *shape)), where)
