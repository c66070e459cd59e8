"""Read a study in the format of COCO: annotations as truth, results as masks, maps beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools import mask as coco

from salstats.checks import InputFileError, SalstatsError, quoted, warn
from salstats.files.inputs import read_json
from salstats.images.masks import Rle, empty, union_of
from salstats.images.run_lengths import check_shape, short
from salstats.readers.case_json import check_name
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MAP_SUFFIXES, find_case_files, read_map
from salstats.readers.series_names import Sources, sources
from salstats.study import Case, Content, Prediction, Series, Study, Truth

#: Names of the files in a folder, as COCO and the tools that export it give them.
ANNOTATIONS = ("instances*.json", "*.coco.json", "annotations.json")
RESULTS = "*results*.json"
#: Results below this score count as not found.
SCORE = 0.5


@dataclass(frozen=True)
class _Image:
    """One image: its case and (height, width)."""

    case: str
    shape: tuple[int, int]


@dataclass(frozen=True)
class _Found:
    """A mask with the score of its result; a crowd stands for several instances."""

    mask: Rle
    score: float = float("nan")
    crowd: bool = False


#: (image, category) by the file's numbers -> what is marked there.
_Marks = dict[tuple[Any, Any], list[_Found]]


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
    content = _object(read_json(file), ("images", "categories", "annotations"), str(file))
    images = _images(content["images"], file)
    categories = _categories(content["categories"], file)
    names = _wanted(tasks, categories, file)
    marked = _marks(content["annotations"], f"{file}, annotation", images, categories)
    given_masks = _results(here, method) if masks is None else sources(masks, method, "masks")
    results = {
        one: _marks(
            _list(read_json(Path(place)), str(place)), f"{place}, result", images, categories, min_score
        )
        for one, place in given_masks.items()
    }
    cases_there = {image.case for image in images.values()}
    given_maps = {
        one: _maps(Path(place), names.values(), cases_there)
        for one, place in sources(maps, method, "maps").items()
    }
    cases = []
    for number, image in sorted(images.items(), key=lambda pair: pair[1].case):
        truths, answers = {}, []
        for category, task in names.items():
            own = marked.get((number, category))
            if own:
                n_instances = None if any(each.crowd for each in own) else len(own)
                truths[task] = Truth.of(union_of([each.mask for each in own]), n_instances)
            for one, found in results.items():
                content_of = partial(_answer, tuple(found.get((number, category), ())), image.shape)
                answers.append(Prediction(task, one, content_of, str(given_masks[one]), has_saliency=False))
            for one, files in given_maps.items():
                if (task, image.case) in files:
                    path = files[task, image.case]
                    read = partial(_map, path.absolute(), image.shape)
                    answers.append(Prediction(task, one, read, str(path)))
        labels = {task: float(task in truths) for task in names.values()}
        cases.append(Case(image.case, image.shape, truths, tuple(answers), labels=labels))
    series = tuple(dict.fromkeys([*results, *given_maps]))
    return Study(tuple(cases), tuple(names.values()), series, file.name)


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
        return sources(files[0], method, "masks") if files else {}
    return sources({file.stem.replace(":", "_"): file for file in files}, method, "masks")


def _object(given: Any, keys: Sequence[str], where: str) -> dict[str, Any]:
    """An object that has some keys."""
    if not isinstance(given, dict):
        raise InputFileError(f"{where}: not an object with {', '.join(keys)} but {short(given)}")
    for key in keys:
        if key not in given:
            raise InputFileError(f"{where}: no {key!r}; COCO has {', '.join(keys)}")
    return given


def _list(given: Any, where: str) -> list[Any]:
    """A list."""
    if not isinstance(given, list):
        raise InputFileError(f"{where}: not a list but {short(given)}")
    return given


def _number(given: Any, where: str, what: str) -> Any:
    """The number, or the name, that one thing is known by."""
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise InputFileError(f"{where}: {what} {short(given)} is no number")
    return given


def _images(given: Any, file: Path) -> dict[Any, _Image]:
    """The images by their number."""
    images: dict[Any, _Image] = {}
    names: dict[str, str] = {}
    for place, entry in enumerate(_list(given, f"{file}, images"), start=1):
        where = f"{file}, image {place}"
        image = _object(entry, ("id", "file_name", "height", "width"), where)
        number = _number(image["id"], where, "id")
        case = check_name(Path(str(image["file_name"]).replace("\\", "/")).stem, f"{where}: the case")
        if number in images or case in names:
            raise InputFileError(
                f"{where}: id {number!r} or file {case!r} stands twice; a case needs its own"
            )
        try:
            shape = check_shape((image["height"], image["width"]), "height and width")
        except SalstatsError as error:
            raise InputFileError(f"{where}: {error}") from error
        images[number], names[case] = _Image(case, shape), where
    if not images:
        raise InputFileError(f"{file}: holds no image")
    return images


def _categories(given: Any, file: Path) -> dict[Any, str]:
    """The names of categories by their number."""
    found: dict[Any, str] = {}
    for place, entry in enumerate(_list(given, f"{file}, categories"), start=1):
        where = f"{file}, category {place}"
        category = _object(entry, ("id", "name"), where)
        number, name = (
            _number(category["id"], where, "id"),
            check_name(str(category["name"]), f"{where}: the task"),
        )
        if number in found or name in found.values():
            raise InputFileError(f"{where}: id {number!r} or name {name!r} stands twice")
        found[number] = name
    return found


def _wanted(tasks: Sequence[str] | None, categories: Mapping[Any, str], file: Path) -> dict[Any, str]:
    """The categories asked for, by their number."""
    if tasks is None:
        return dict(categories)
    numbers = {name: number for number, name in categories.items()}
    wanted = [tasks] if isinstance(tasks, str) else list(tasks)
    unknown = [task for task in wanted if task not in numbers]
    if unknown or not wanted:
        named = repr(unknown[0]) if unknown else "none"
        raise SalstatsError(f"tasks=: {file} has no category {named} (categories: {quoted(numbers)})")
    return {numbers[task]: task for task in wanted}


def _marks(
    given: Any,
    what: str,
    images: Mapping[Any, _Image],
    categories: Mapping[Any, str],
    least: float | None = None,
) -> _Marks:
    """What annotations, or results of at least a score, mark on each image for each category."""
    found: _Marks = {}
    needed = ("image_id", "category_id", "segmentation", *(() if least is None else ("score",)))
    for place, one in enumerate(_list(given, what), start=1):
        where = f"{what} {place}"
        entry = _object(one, needed, where)
        key = (
            _number(entry["image_id"], where, "image_id"),
            _number(entry["category_id"], where, "category_id"),
        )
        if key[0] not in images:
            raise InputFileError(f"{where}: image_id {key[0]!r} is no image of the annotations")
        if key[1] not in categories:
            raise InputFileError(f"{where}: category_id {key[1]!r} is no category of the annotations")
        score = entry.get("score", float("nan"))
        if least is not None:
            if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
                raise InputFileError(f"{where}: score {short(score)} is not between 0 and 1")
            if score < least:
                continue
        mask = _mask(entry["segmentation"], images[key[0]].shape, where)
        crowd = least is None and bool(entry.get("iscrowd", 0))
        found.setdefault(key, []).append(_Found(mask, float(score), crowd))
    return found


def _mask(given: Any, shape: tuple[int, int], where: str) -> Rle:
    """The mask of a segmentation: polygons, or a run-length code of the image's size."""
    if isinstance(given, Mapping):
        rle = Rle.from_coco(given, where)
        if rle.shape != shape:
            raise InputFileError(
                f"{where}: its mask is {rle.shape[0]} x {rle.shape[1]} (height x width), its image "
                f"{shape[0]} x {shape[1]}"
            )
        return rle
    polygons = []
    for polygon in _list(given, where):
        try:
            points = np.asarray(polygon, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputFileError(f"{where}: a polygon is not made of numbers") from error
        if points.ndim != 1 or points.size < 6 or points.size % 2:
            raise InputFileError(f"{where}: a polygon is not x, y, x, y, ... of three points or more")
        # what COCO draws takes time by the length of its edges
        if not (np.abs(points - np.tile(shape[::-1], points.size // 2) / 2) <= 2 * max(shape) + 2).all():
            raise InputFileError(f"{where}: a polygon lies far outside its image")
        polygons.append(points.tolist())
    if not polygons:
        raise InputFileError(f"{where}: its segmentation is empty")
    drawn = coco.merge(coco.frPyObjects(polygons, *shape))
    return Rle.from_coco(drawn, where)


def _maps(folder: Path, tasks: Any, cases: set[str]) -> dict[tuple[str, str], Path]:
    """The maps of a folder CATEGORY/CASE.npy, by task and case."""
    found = {
        (task, case): file
        for task in tasks
        if (folder / task).is_dir()
        for case, file in find_case_files(folder / task, MAP_SUFFIXES).items()
    }
    kept = {key: file for key, file in found.items() if key[1] in cases}
    if not kept:
        raise InputFileError(f"{folder}: holds no map CATEGORY/CASE of a case of the annotations")
    if len(kept) < len(found):
        first = next(str(file) for key, file in found.items() if key not in kept)
        warn(f"{folder}: {len(found) - len(kept)} maps are of no image of the annotations (first: {first})")
    return kept


def _answer(found: Sequence[_Found], shape: tuple[int, int]) -> Content:
    """What results mark of one image and category, together; nothing where there are none."""
    if not found:
        return Content(mask=empty(shape), shape=shape)
    return Content(
        mask=union_of([each.mask for each in found]), prob=max(each.score for each in found), shape=shape
    )


def _map(file: Path, shape: tuple[int, int]) -> Content:
    """A map."""
    return Content(saliency=read_map(file), shape=shape)
