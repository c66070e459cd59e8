"""Read a study in the format of the CheXlocalize release: maps, masks, outlines, points and labels."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from salstats.checks import InputFileError, SalstatsError, check_choice, quoted
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_files import PATTERNS, SPLITS, check_splits, find_files, find_maps, is_map
from salstats.readers.chexlocalize_maps import task_name
from salstats.readers.chexlocalize_study import PATIENT, Parts
from salstats.readers.series_names import Sources, series_of, sources
from salstats.readers.shapes import check_pattern
from salstats.study import Series, Study

#: What maps are called where nobody says it.
METHOD = "saliency"


def read_chexlocalize(
    folder: PathLike | None = None,
    *,
    maps: Sources | None = None,
    masks: Sources | None = None,
    truth: PathLike | None = None,
    annotations: PathLike | None = None,
    human: PathLike | None = None,
    human_annotations: PathLike | None = None,
    points: PathLike | None = None,
    labels: PathLike | None = None,
    method: str = METHOD,
    split: str | None = None,
    tasks: Sequence[str] | None = None,
    patient_from: str | None = PATIENT,
) -> Study:
    r"""Read a study in the format of the CheXlocalize release. Maps are opened only when they are scored.

    Parameters
    ----------
    folder : path, optional
        A folder whose files are told by their names: `*_map.pkl` there or below, and in the folder itself
        `gt_segmentations*.json`, `gt_annotations*.json`, `hb_segmentations*.json`,
        `hb_annotations*.json`, `hb_salient_pt*.json`, and `valid.csv`, `test.csv`, `val_labels.csv`,
        `valid_labels.csv` or `test_labels.csv`. What is given by name below is not searched for.
    maps : path or dict, optional
        The folder of heat maps, named CASE_TASK_map.pkl; or several, as in
        `{"gradcam": DIR, "ig:densenet121": DIR}`, whose names are method[:model[:seed]].
    masks : path or dict, optional
        Masks made of maps already, a JSON file of segmentations; or several, as for `maps`. Beside them
        the maps of the folder are read only where `maps` says so.
    truth, human : path, optional
        Segmentations of the truth and of the human benchmark: JSON, case -> task -> COCO run-length code.
    annotations : path, optional
        Outlines of the truth: JSON, case -> task -> list of polygons (x, y), and `img_size` as (height,
        width). They give the number of instances; without segmentations the masks are drawn from them.
    human_annotations : path, optional
        Outlines of the human benchmark, in the same form; without segmentations its masks are drawn from
        them.
    points : path, optional
        Most representative points that people marked: JSON, case -> task -> list of (x, y).
    labels : path, optional
        Image-level truth: a table with a column `Path` (or `case`) and one for each task.
    method : str, default "saliency"
        What the maps or masks of one folder or file are called, as method[:model[:seed]].
    split : {"val", "test"}, optional
        Which files of a folder that holds both.
    tasks : list of str, optional
        Only these tasks, in this order. A task beyond the release's ten that stands in file names of maps
        only must be named here: maps of the other four classes of CheXpert are left out otherwise, any other
        name is an error. "Lung Opacity" is "Airspace Opacity".
    patient_from : str or None
        Regular expression with one group that finds the patient in the case id. By default a number after
        "patient", where the ids begin so. None: no patients.

    Returns
    -------
    Study
        Cases in the order of their names: those of the truth, the maps, the masks and the people. Tasks
        in the release's order, then others by name. Series in the order given, `human` last. People have
        answered for every case and task: where their files hold nothing, they marked nothing.

    Raises
    ------
    InputFileError
        There is no truth; a file is missing, found twice, cut short, or not what it should be; a map
        stands twice, or is one of an unknown task; two files disagree on the size of an image; the cases
        of two files have no name in common.
    SalstatsError
        An option cannot be; `patient_from` finds a patient in some cases but not in others.

    Warns
    -----
    SalstatsWarning
        Outlines or points lie outside their image (how many, and the first). Maps of classes without truth
        are left out.

    Notes
    -----
    In these files `img_size` and run-length codes are height first, `cxr_dims` of a map is width first,
    and outlines and points are (x, y). A study is (height, width) and (row, col) throughout.

    Pickles are read by an allow-list (`read_pickle`); torch is not needed. Links to files are followed,
    links to folders are not searched. A map may hold the probabilities of all fourteen classes instead
    of one; they stand in the order of the release's scripts, in which Lung Lesion comes before Airspace
    Opacity (in the tables of labels it comes after).

    References
    ----------
    Saporta A, Gui X, Agrawal A, et al. Benchmarking saliency methods for chest X-ray interpretation.
    Nature Machine Intelligence 4, 867-878 (2022). https://doi.org/10.1038/s42256-022-00536-x

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from salstats.readers.chexlocalize import read_chexlocalize
    >>> square = [[[1, 1], [3, 1], [3, 2], [1, 2]]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "gt_annotations.json"
    ...     _ = file.write_text(json.dumps({"patient1_study1": {"img_size": [4, 6], "Edema": square}}))
    ...     study = read_chexlocalize(folder)
    >>> case = study.cases[0]
    >>> case.patient, case.shape, case.truths["Edema"].n_instances, study.tasks
    ('patient1', (4, 6), 1, ('Edema',))
    """
    given = {
        "truth": truth,
        "annotations": annotations,
        "human": human,
        "human_annotations": human_annotations,
        "points": points,
        "labels": labels,
    }
    pattern = check_pattern(patient_from)
    wanted = _wanted(tasks)
    files = {kind: Path(file) for kind, file in given.items() if file is not None}
    named = [option for option in (maps, masks) if option is not None]
    if method != METHOD and named and all(isinstance(option, Mapping) for option in named):
        raise SalstatsError(f"method={method!r} names the maps of one folder; maps= and masks= name theirs")
    map_files: dict[Series, list[Path]] = {}
    for series, place in sources(maps, method, "maps").items():
        map_files[series] = find_maps(Path(place))
        if not map_files[series]:
            raise InputFileError(f"{place}: no file named CASE_TASK_map.pkl")
    mask_files = sources(masks, method, "masks")
    if folder is not None:
        here = Path(folder)
        if split is not None:
            check_choice(split, SPLITS, "split")
        found = find_files(here, files, split)
        below = find_maps(here, split) if maps is None and masks is None else []
        if split is None:
            check_splits(here, found.values(), below)
        files |= found
        if below:
            map_files[series_of(method, "method")] = below
    elif split is not None:
        raise SalstatsError(
            "split= chooses among the files of a folder; give the folder, or leave split= out"
        )
    if "truth" not in files and "annotations" not in files:
        raise InputFileError(
            f"{folder if folder is not None else 'the study'} has no truth; it is in gt_segmentations*.json "
            "or gt_annotations*.json, or give it as truth= or annotations="
        )
    parts = Parts.read(files, mask_files, map_files, wanted)
    return parts.study(str(folder if folder is not None else _first(files)), wanted, pattern)


def _wanted(tasks: Sequence[str] | None) -> list[str] | None:
    """The tasks asked for, under the names they have in frames."""
    if tasks is None:
        return None
    names = [task_name(t) for t in ([tasks] if isinstance(tasks, str) else tasks)]
    if not names or len(set(names)) < len(names):
        raise SalstatsError(f"tasks= must name each task once, not {quoted(names) or 'none'}")
    return names


def _first(files: Mapping[str, Path]) -> Path:
    """The file that a study is named after."""
    return next(iter(files.values()))


def recognise(folder: Path) -> bool:
    """Whether a folder's names are those of a study in this format: its truth, or maps below."""
    kinds = ("truth", "annotations", "human", "human_annotations", "points")
    names = [p.name for p in folder.iterdir() if p.is_file()]
    if any(PATTERNS[kind].fullmatch(name) for kind in kinds for name in names):
        return True
    return any(is_map(name) for _, _, below in os.walk(folder) for name in below)
