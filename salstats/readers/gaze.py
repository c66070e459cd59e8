"""Read recordings of gaze in the format of the REFLACX release, and the maps to compare them with."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import check_count, quoted
from salstats.coded_text import TEXT
from salstats.errors import InputFileError, warn
from salstats.images.mixing import MIXING_RULES
from salstats.readers.cells import PathLike
from salstats.readers.gaze_files import (
    CHEST_BOX_FILE,
    DISCARDED,
    FIXATIONS_FILE,
    exclusion_reason_or_none,
    metadata_file_of_phase,
    n_points_outside,
    read_fixations,
    read_fixations_and_n_overlapping,
    read_inside_box_or_exclusion_reason,
    read_metadata,
)
from salstats.readers.gaze_maps import find_predictions, map_sources
from salstats.readers.prediction_files import Sources
from salstats.study import Case, Recording, Study, returned_unchanged


def read_gaze(
    folder: PathLike,
    *,
    maps: Sources | None = None,
    masks: Sources | None = None,
    class_maps: Sources | None = None,
    lungs: PathLike | None = None,
    clean_lungs: bool = True,
    mixing: str | Sequence[str] = MIXING_RULES,
    padded: bool | None = None,
    phases: int | Iterable[int] | None = None,
) -> Study:
    r"""Read recordings of gaze in the format of the REFLACX release.

    Every file of fixations is read once, here: damaged files are found before anything is scored, and
    recordings that cannot be used are counted. Maps are opened when they are scored.

    Parameters
    ----------
    folder : path
        The release's `main_data`: `metadata_phase_*.csv`, and for each recording in it a folder named by its
        `id`, with `fixations.csv` and `chest_bounding_box.csv`.
    maps : path or dict, optional
        A folder of maps, one file an image (as `read_map` reads); or several, as in
        `{"gradcam": DIR, "gradcam:densenet:1": DIR}`, whose names are method[:model[:seed]]. A map of
        another size than its image is stretched to it when it is scored (bilinear, half-pixel centres).
    masks : path or dict, optional
        Folders of masks of the image's size, scored as maps of 0 and 1.
    class_maps : path or dict, optional
        Folders of .npz files with the arrays `maps` (classes, height, width), `probs` (classes,) and
        optionally `classes` (their names). Each makes a series for every rule of `mixing`, see
        `mixed_map_of_classes`. The class of no finding is the one named "no finding"; without names, the
        first. With names of which none is "no finding", the thresholded map of an image without a class above
        the threshold is constant, which means that it has none.
    lungs : path, optional
        A folder of masks of the lungs, whose convex hull becomes the method `convex`. A square mask of
        another size than the image is taken as one of the image padded to a square.
    clean_lungs : bool
        Whether small regions and regions that touch the border are removed from the lungs before the hull is
        drawn, as the study does with the masks of its network; see `large_regions_off_border_mask`.
    mixing : str or sequence of str
        One or several of "thresholded", "weighted", "uniform": how `class_maps` are mixed. Each is a method
        of its own in scores, with a name such as `gradcam_weighted`.
    padded : bool, optional
        True: square maps of another size than the image lie on the image padded to a square, as networks of
        the study see it; they are resized to the longer side, and the padding is cut off. False: they are
        stretched to the image. None: the same, with a warning. Other maps are always stretched.
    phases : int or iterable of int, optional
        Only these phases. The study of Bigolin Lanfredi et al. used 1 and 2; a third has most of the
        release's readings, one for each image.

    Files of maps and masks are named after the case; after the image (`dicom_id`); or after phase and
    trial, as in `p1_t0.npy`: the trial is the place, from 0, of the image among those of its phase in the
    order of their paths, without images whose recordings are all discarded. Folders written by the study's
    own code are read as well: `phase_1_0.98/0.npy`, a dict with one array; a file `0_am1.npy` beside it is a
    map of the method `am1`.

    Returns
    -------
    Study
        Cases in the order of phases and image paths. A case is a `dicom_id`; where an image stands in
        several phases, each has a case, such as `ID_phase2`. The patient is the `subject_id`.

        Readers are "0", "1", ...: the order of an image's recordings in the metadata, without discarded
        ones. Reader "0" of two images need not be the same person.

    Raises
    ------
    InputFileError
        A file or column is missing, or a cell has an invalid value (file, row and column are named); a
        recording or fixation is given twice; rows disagree on an image or a patient (10000 and 10000.0); no
        file of a folder is named after an image, or two are of one image.
    SalstatsError
        An option has a value that it does not support, or two series have one name.

    Warns
    -----
    SalstatsWarning
        Recordings or chest boxes are left out: how many, and why; folders of recordings are in no metadata
        (without `phases`); files of maps are of no image; maps are stretched out of proportion, square ones
        only if `padded` is None.

    See Also
    --------
    score_gaze, recordings, majority_labels

    Notes
    -----
    Left out and counted (`recordings(study)` lists them): recordings that the metadata marks
    `eye_tracking_data_discarded`, whose files are not opened; those without fixations, or with fixations of 0
    seconds alone; those in which the part of the image on screen leaves the image, or is far from every
    fixation. Of a recording whose chest box is missing, has no size or leaves the image, only the box is left
    out.

    Fixations outside the image are kept, since the tails of their Gaussians count, and so are those that
    last 0 seconds, whose weight is 0; both are counted, and so are fixations that begin before another has
    ended, which keep their duration as their weight.

    References
    ----------
    Bigolin Lanfredi R, Zhang M, Auffermann WF, et al. REFLACX, a dataset of reports and eye-tracking data
    for localization of abnormalities in chest x-rays. Scientific Data 9, 350 (2022).
    https://doi.org/10.1038/s41597-022-01441-z

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from salstats.readers.gaze import read_gaze
    >>> files = {
    ...     "metadata_phase_1.csv": "id,eye_tracking_data_discarded,image,dicom_id,subject_id,image_size_x,"
    ...     "image_size_y\nP1,False,a.dcm,a,7,80,90",
    ...     "P1/chest_bounding_box.csv": "xmin,ymin,xmax,ymax\n10,5,70,80",
    ...     "P1/fixations.csv": "timestamp_start_fixation,timestamp_end_fixation,x_position,y_position,"
    ...     "angular_resolution_x_pixels_per_degree,angular_resolution_y_pixels_per_degree,"
    ...     "xmin_shown_from_image,ymin_shown_from_image,xmax_shown_from_image,ymax_shown_from_image\n"
    ...     "0.5,1.25,30,40,5,5,0,0,80,90",
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (pathlib.Path(folder) / "P1").mkdir()
    ...     for name, text in files.items():
    ...         _ = (pathlib.Path(folder) / name).write_text(text)
    ...     study = read_gaze(folder)
    ...     look = study.cases[0].recordings[0].read()
    >>> study.cases[0].case, study.cases[0].shape, study.cases[0].box
    ('a', (90, 80), Box(top=5.0, left=10.0, bottom=80.0, right=70.0))
    >>> look.points, look.duration
    (array([[40., 30.]]), array([0.75]))
    """
    root = Path(folder)
    sources = map_sources(maps, masks, class_maps, lungs, clean_lungs, mixing, bool(padded))
    chosen_phases = None
    if phases is not None:
        phase_list = phases if isinstance(phases, Iterable) else [phases]
        chosen_phases = [check_count(phase, "phases", 0) for phase in phase_list]
    files = metadata_file_of_phase(root, chosen_phases)
    metadata = [read_metadata(file).assign(phase=phase) for phase, file in files.items()]
    metadata = [frame for frame in metadata if len(frame)]
    if not metadata:
        raise InputFileError(
            f"{root}: no recording in the metadata of phase {quoted(files)}",
            option="phases",
            value=list(files),
            path=root,
        )
    rows = pd.concat(metadata, ignore_index=True)
    _check_ids_unique_and_images_consistent(rows)
    rows = _with_case_column(rows)
    cases = _cases_with_recordings_only(root, rows)
    if phases is None:
        _warn_of_unlisted_recordings(root, set(rows["id"]))
    image_of_case = dict(zip(rows["case"], rows["dicom_id"], strict=True))
    predictions = find_predictions(sources, cases, image_of_case, padded)
    cases_with_maps = []
    for case in cases:
        case_predictions = [by_case[case.case] for by_case in predictions.values() if case.case in by_case]
        cases_with_maps.append(replace(case, predictions=tuple(case_predictions)))
    study = Study(tuple(cases_with_maps), (), tuple(predictions), str(folder))
    _warn_of_excluded_recordings_and_chest_boxes(study)
    return study


def _warn_of_unlisted_recordings(folder: Path, listed_recordings: set[str]) -> None:
    """Warn of folders with fixations whose names are not in `listed_recordings`, the metadata's ids."""
    unlisted = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in listed_recordings and (path / FIXATIONS_FILE).is_file()
    )
    if unlisted:
        plural = "s" if len(unlisted) > 1 else ""
        warn(
            f"{folder}: {len(unlisted)} folder{plural} with {FIXATIONS_FILE} in no metadata and not read "
            f"(first: {unlisted[0]})",
            value=unlisted,
            path=folder,
        )


def _warn_of_excluded_recordings_and_chest_boxes(study: Study) -> None:
    """Warn once of recordings and chest boxes that are left out: how many, and why."""
    # for each recording or box the reason why it is left out, None where it is used
    recording_reasons = [recording.excluded for case in study for recording in case.recordings]
    box_reasons = [recording.box_excluded for case in study for recording in case.used]
    sentences = [
        _exclusion_sentence("recordings", recording_reasons),
        _exclusion_sentence("chest boxes of those used", box_reasons),
    ]
    text = "; ".join(sentence for sentence in sentences if sentence)
    if text:
        reasons = [reason for reason in [*recording_reasons, *box_reasons] if reason is not None]
        warn(f"{study.source}: {text}", value=dict(Counter(reasons)), path=study.source)


def _exclusion_sentence(name: str, reasons: Sequence[str | None]) -> str:
    """Return how many of `name` are left out and why, as text; "" where none is.

    `reasons` has an entry for each recording or box, None where it is used.
    """
    counts = Counter(reason for reason in reasons if reason is not None)
    n_excluded = counts.total()
    if not n_excluded:
        return ""
    verb = "is" if n_excluded == 1 else "are"
    counted_reasons = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    return f"{n_excluded} of {len(reasons)} {name} {verb} left out ({counted_reasons})"


def _check_ids_unique_and_images_consistent(rows: pd.DataFrame) -> None:
    """Raise where a recording is given twice, or rows of one image or patient disagree on it."""
    repeated = rows[rows["id"].duplicated()]
    if len(repeated):
        recording = repeated.iloc[0]
        raise InputFileError(
            f"{recording['location']}: recording {recording['id']!r} is given twice",
            column="id",
            value=recording["id"],
            rows=[recording["position"]],
            path=recording["file"],
        )
    # pandas writes 10000 as 10000.0 where the column had a gap; as two patients, they would be drawn apart
    keys = rows.assign(subject=rows["subject_id"].str.removesuffix(".0"))
    # rows that are equal in the key's columns must be equal in the other column
    for key, column in (
        (["dicom_id"], "shape"),
        (["dicom_id"], "subject_id"),
        (["subject"], "subject_id"),
        (["phase", "image"], "dicom_id"),
        (["phase", "dicom_id"], "image"),
    ):
        first = keys.groupby(key)[[column, "location"]].transform("first")
        differs = keys[column] != first[column]
        if differs.any():
            row = keys[differs].iloc[0]
            first_row = first[differs].iloc[0]
            raise InputFileError(
                f"{row['location']}: {column} {row[column]} where {first_row['location']} has "
                f"{first_row[column]} for the same {key[-1]} ({row[key[-1]]})",
                column=column,
                value=row[column],
                rows=[row["position"]],
                path=row["file"],
            )


def _with_case_column(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the column `case`: the image's id, with its phase where it is in several phases."""
    n_phases = rows.groupby("dicom_id")["phase"].transform("nunique")
    name_with_phase = rows["dicom_id"] + "_phase" + rows["phase"].astype(TEXT)
    return rows.assign(case=rows["dicom_id"].mask(n_phases > 1, name_with_phase))


def _cases_with_recordings_only(folder: Path, rows: pd.DataFrame) -> list[Case]:
    """Make a case of each image and phase, without predictions, in the order of phases and image paths."""
    cases = []
    for phase, phase_rows in rows.groupby("phase"):
        trial = 0
        for _, image_rows in phase_rows.groupby("image"):
            first = image_rows.iloc[0]
            is_discarded = bool(image_rows["discarded"].all())
            cases.append(
                Case(
                    first["case"],
                    first["shape"],
                    patient=first["subject_id"],
                    recordings=_recordings(folder, image_rows),
                    phase=int(str(phase)),
                    trial=None if is_discarded else trial,
                )
            )
            if not is_discarded:
                trial += 1
    return cases


def _recordings(folder: Path, image_rows: pd.DataFrame) -> tuple[Recording, ...]:
    """Read the recordings of an image; those that are not discarded have readers 0, 1, ..."""
    recordings = []
    n_readers = 0
    for row in image_rows.itertuples():
        reader = None
        if not row.discarded:
            reader = str(n_readers)
            n_readers += 1
        recordings.append(_recording(folder, row, reader))
    return tuple(recordings)


def _recording(folder: Path, row: Any, reader_unless_discarded: str | None) -> Recording:
    """Make the recording of a row of the metadata, its fixations read, checked and counted."""
    recording_folder = folder / row.id
    file = recording_folder / FIXATIONS_FILE
    # the file may be read by a process whose working directory differs
    read = partial(read_fixations, file.absolute())
    recording = Recording(row.id, reader_unless_discarded, read, str(file), labels=row.labels)
    if row.discarded:
        return replace(recording, excluded=DISCARDED)
    fixations, n_overlapping = read_fixations_and_n_overlapping(file)
    box, no_box = read_inside_box_or_exclusion_reason(recording_folder / CHEST_BOX_FILE, row.shape)
    return replace(
        recording,
        # fixations are small, so they are kept and no file is read twice
        read=partial(returned_unchanged, fixations),
        excluded=exclusion_reason_or_none(fixations, row.shape),
        box=box,
        box_excluded=no_box,
        n_fixations=len(fixations),
        n_outside=n_points_outside(fixations.points, row.shape),
        n_zero=int((fixations.duration == 0).sum()),
        n_overlapping=n_overlapping,
        duration=float(fixations.duration.sum()),
    )
