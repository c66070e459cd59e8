"""Read a study in the format of the CheXlocalize release: maps, masks, outlines, points and labels."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from salstats.checks import check_choice, quoted
from salstats.errors import InputFileError, Message, SalstatsError, Setting
from salstats.files.paths import check_is_existing_folder
from salstats.images.consensus import CONSENSUS_RULES
from salstats.readers.case_json import check_name
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_maps import MAP_SUFFIX, canonical_task_name
from salstats.readers.chexlocalize_study import PATIENT_PATTERN, read_study_files_except_maps, study_of_files
from salstats.readers.map_files import files_below
from salstats.readers.prediction_files import Sources, series_of_method_model_seed_text, source_by_series
from salstats.readers.score_layouts import compiled_patient_pattern
from salstats.study import Series, Study

#: Method of maps and masks that are given without a method's name.
DEFAULT_METHOD = "saliency"
#: Kind of a file, which is the option that takes it -> pattern of its name in a folder.
FILE_NAME_PATTERNS = {
    "truth": re.compile(r"gt_segmentations(_.*)?\.json"),
    "annotations": re.compile(r"gt_annotations(_.*)?\.json"),
    "human": re.compile(r"hb_segmentations(_.*)?\.json"),
    "human_annotations": re.compile(r"hb_annotations(_.*)?\.json"),
    "points": re.compile(r"hb_salient_pt.*\.json"),
    "labels": re.compile(r"valid\.csv|test\.csv|(val|valid|test)_labels\.csv"),
}
#: Word in the name of a file or folder -> the split that it names.
_SPLIT_BY_WORD = {"val": "val", "valid": "val", "validation": "val", "test": "test"}
SPLITS = ("val", "test")


# each option has a check or a default of its own
def read_chexlocalize(  # noqa: C901, PLR0912
    folder: PathLike | None = None,
    *,
    maps: Sources | None = None,
    masks: Sources | None = None,
    truth: PathLike | None = None,
    annotations: PathLike | None = None,
    human: Sources | None = None,
    human_annotations: Sources | None = None,
    points: PathLike | None = None,
    labels: PathLike | None = None,
    method: str = DEFAULT_METHOD,
    split: str | None = None,
    tasks: Sequence[str] | None = None,
    patient_from: str | None = PATIENT_PATTERN,
) -> Study:
    r"""Read a study in the format of the CheXlocalize release. Maps are opened only when they are scored.

    Parameters
    ----------
    folder : path, optional
        A folder whose files are found by their names: `*_map.pkl` there or below, and in the folder itself
        `gt_segmentations*.json`, `gt_annotations*.json`, `hb_segmentations*.json`,
        `hb_annotations*.json`, `hb_salient_pt*.json`, and `valid.csv`, `test.csv`, `val_labels.csv`,
        `valid_labels.csv` or `test_labels.csv`. An option below takes the place of what the folder holds.
    maps : path or dict, optional
        The folder of heat maps, named CASE_TASK_map.pkl; or several, as in
        `{"gradcam": DIR, "ig:densenet121": DIR}`, whose names are method[:model[:seed]].
    masks : path or dict, optional
        Masks already made of maps, a JSON file of segmentations; or several, as for `maps`. With them, the
        maps in `folder` are not read; give `maps` for those.
    truth : path, optional
        Segmentations of the truth: JSON, case -> task -> COCO run-length code. "majority" or "staple": the
        consensus of several readers, see `Study.with_truth`.
    human : path or dict, optional
        Segmentations of the human benchmark, in the same form; a dict `{"R1": FILE, "R2": FILE}` names
        several readers. A named reader did not read a case that is not in the reader's file.
    annotations : path, optional
        Outlines of the truth: JSON, case -> task -> list of polygons (x, y), and `img_size` as (height,
        width). They give the number of instances; without segmentations the masks are drawn from them.
    human_annotations : path or dict, optional
        Outlines of the human benchmark, in the form of `annotations`; without segmentations its masks are
        drawn from them. Several readers are given as for `human`.
    points : path, optional
        Most representative points that people marked: JSON, case -> task -> list of (x, y).
    labels : path, optional
        Image-level truth: a table with a column `Path` (or `case`) and one for each task.
    method : str, default "saliency"
        Name of the maps or masks of one folder or file, as method[:model[:seed]].
    split : {"val", "test"}, optional
        The split to read from a folder that holds both.
    tasks : list of str, optional
        Only these tasks, in this order. A task beyond the release's ten that stands in file names of maps
        only must be named here: otherwise maps of the other four classes of CheXpert are left out, and any
        other name is an error. "Lung Opacity" is "Airspace Opacity".
    patient_from : str or None
        Regular expression with one group that finds the patient in the case id. By default "patient" and a
        number at its beginning, where any case has it. None: no patients.

    Returns
    -------
    Study
        Cases in the order of their names: those of the truth, the maps, the masks and the people. Tasks
        in the release's order, then others by name. Series in the order given, `human` last. People read
        every case (a named reader: the cases of the reader's files); where their files hold nothing for a
        task, they marked nothing.

    Raises
    ------
    InputFileError
        There is no truth; a file is missing, found twice, damaged, or of another task or image size than
        others say; the cases of two files have no name in common.
    SalstatsError
        An option has a value that it does not support; `patient_from` finds a patient in some cases but not
        in others.

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
    people: dict[str, Mapping[str | None, Path]] = {}
    if human is not None:
        people["human"] = _file_by_reader(human, "human")
    if human_annotations is not None:
        people["human_annotations"] = _file_by_reader(human_annotations, "human_annotations")
    consensus = truth if isinstance(truth, str) and truth in CONSENSUS_RULES else None
    file_options = {
        "truth": None if consensus else truth,
        "annotations": annotations,
        "points": points,
        "labels": labels,
    }
    pattern = compiled_patient_pattern(patient_from)
    task_names = None
    if tasks is not None:
        task_list = [tasks] if isinstance(tasks, str) else tasks
        task_names = [canonical_task_name(task) for task in task_list]
    if split is not None:
        check_choice(split, SPLITS, "split")
    files = {kind: Path(file) for kind, file in file_options.items() if file is not None}
    map_files: dict[Series, list[Path]] = {}
    for series, map_folder in source_by_series(maps, method, "maps").items():
        map_files[series] = _map_files_below(Path(map_folder))
        if not map_files[series]:
            raise InputFileError(f"{map_folder}: no file named CASE_TASK{MAP_SUFFIX}", path=str(map_folder))
    if folder is not None:
        # kinds of files that options give
        excluded_kinds = {*files, *people}
        if consensus:
            excluded_kinds |= {"truth", "annotations"}
        find_maps = maps is None and masks is None
        folder_files, folder_maps = _file_by_kind_and_maps(Path(folder), excluded_kinds, split, find_maps)
        for kind in ("human", "human_annotations"):
            if kind in folder_files:
                people[kind] = {None: folder_files.pop(kind)}
        files |= folder_files
        if folder_maps:
            map_files[series_of_method_model_seed_text(method, "method")] = folder_maps
    named_readers = {
        reader for file_of_reader in people.values() for reader in file_of_reader if reader is not None
    }
    if "truth" not in files and "annotations" not in files and len(named_readers) < 2:
        raise InputFileError(
            f"{folder if folder is not None else 'the study'} has no truth",
            hint=Message(
                "it is in gt_segmentations*.json or gt_annotations*.json, or give it as ",
                Setting("truth"),
                " or ",
                Setting("annotations"),
            ),
            option="truth",
            path=None if folder is None else str(folder),
        )
    mask_files = source_by_series(masks, method, "masks")
    study_files = read_study_files_except_maps(files, people, mask_files, map_files, task_names)
    if folder is not None:
        source = str(folder)
    else:
        all_files = list(files.values())
        for file_of_reader in people.values():
            all_files += file_of_reader.values()
        source = str(all_files[0])
    study = study_of_files(study_files, source, task_names, pattern)
    if consensus is not None:
        return study.with_truth(consensus)
    return study


def _file_by_reader(sources: Sources, option: str) -> dict[str | None, Path]:
    """Return the file of each reader by name; None is the name for a single file."""
    if not isinstance(sources, Mapping):
        return {None: Path(sources)}
    if not sources:
        raise SalstatsError(Setting(option), " names no reader")
    owner = Message(Setting(option), ": a reader")
    return {check_name(str(reader), owner): Path(file) for reader, file in sources.items()}


def recognise(folder: Path) -> bool:
    """Return whether a folder holds files named as in this format: masks or points in it, or maps below."""
    file_names = [path.name for path in folder.iterdir() if path.is_file()]
    for kind, pattern in FILE_NAME_PATTERNS.items():
        # other formats have tables of labels, too
        if kind != "labels" and any(pattern.fullmatch(name) for name in file_names):
            return True
    return any(_is_map_file_name(name) for _, _, names in os.walk(folder) for name in names)


def split_in_name(name: str) -> str | None:
    """Return the split ("val" or "test") that the name of a file or folder contains, None for no split."""
    for word in re.split(r"[_.\W]+", name):
        if word in _SPLIT_BY_WORD:
            return _SPLIT_BY_WORD[word]
    return None


def _file_by_kind_and_maps(
    folder: Path, excluded_kinds: Collection[str], split: str | None, find_maps: bool
) -> tuple[dict[str, Path], list[Path]]:
    """Return the files of a folder by kind and, with `find_maps`, its maps; all must be of one split."""
    check_is_existing_folder(folder)
    names = sorted(path.name for path in folder.iterdir() if not path.is_dir())
    files: dict[str, Path] = {}
    # split -> the first file or folder whose name contains it
    name_of_split: dict[str, str] = {}
    for kind, pattern in FILE_NAME_PATTERNS.items():
        if kind in excluded_kinds:
            continue
        matching = [
            name for name in names if pattern.fullmatch(name) and _may_be_of_split(split_in_name(name), split)
        ]
        if len(matching) > 1:
            raise _several_files_error(folder, kind, matching)
        for name in matching:
            files[kind] = folder / name
            file_split = split_in_name(name)
            if file_split is not None:
                name_of_split.setdefault(file_split, name)
    maps = []
    all_maps = _map_files_below(folder) if find_maps else []
    for file in all_maps:
        map_split, parent = _split_and_folder_naming_it(file.relative_to(folder))
        if _may_be_of_split(map_split, split):
            maps.append(file)
            if map_split is not None:
                name_of_split.setdefault(map_split, parent)
    if len(name_of_split) > 1:
        names_with_split = [f"{name} ({file_split})" for file_split, name in sorted(name_of_split.items())]
        raise InputFileError(
            f"{folder} holds files of both splits, {' and '.join(names_with_split)}",
            hint=Message("choose with ", Setting("split", "val"), " or ", Setting("split", "test")),
            option="split",
            value=list(name_of_split.values()),
            path=folder,
        )
    return files, maps


def _several_files_error(folder: Path, option: str, names: Sequence[str]) -> InputFileError:
    """Make the error of a folder that holds several files of a kind, where only one can be read."""
    choice = Message()
    if {split_in_name(name) for name in names} == {"val", "test"}:
        choice = Message(Setting("split", "val"), " or ", Setting("split", "test"), ", or ")
    return InputFileError(
        f"{folder} holds {quoted(names)}, of which only one can be read",
        hint=Message("choose with ", choice, Setting(option)),
        option=option,
        choices=names,
        path=folder,
    )


def _may_be_of_split(file_split: str | None, split: str | None) -> bool:
    """Return True for a file of the split to read, and for a file with no split in its name.

    `file_split` is the split in the file's name, None for no split; `split` is the one to read, None for all.
    """
    return split is None or file_split is None or file_split == split


def _split_and_folder_naming_it(file: Path) -> tuple[str | None, str]:
    """Return the split in the names of a file's folders, and the first folder that names it; or None, ""."""
    for parent in file.parts[:-1]:
        parent_split = split_in_name(parent)
        if parent_split is not None:
            return parent_split, parent
    return None, ""


def _map_files_below(folder: Path) -> list[Path]:
    """List the maps in a folder and below, in the order of their paths."""
    return [file for file in files_below(folder) if _is_map_file_name(file.name)]


def _is_map_file_name(name: str) -> bool:
    """Return whether a file is a map by its name; hidden ones are not."""
    return name.endswith(MAP_SUFFIX) and not name.startswith(".")
