"""Read recordings of gaze in the format of the REFLACX release, and the maps to compare them with."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import check_count, quoted
from salstats.errors import InputFileError, warn
from salstats.readers.cells import PathLike
from salstats.readers.gaze_files import (
    CHEST_BOX,
    DISCARDED,
    FIXATIONS,
    find_phases,
    n_outside,
    read_box,
    read_fixation_rows,
    read_fixations,
    read_metadata,
    why_excluded,
)
from salstats.readers.gaze_maps import MIXINGS, find_maps, map_sources
from salstats.readers.predictions import Sources
from salstats.study import Case, Recording, Study, in_memory


def read_gaze(
    folder: PathLike,
    *,
    maps: Sources | None = None,
    masks: Sources | None = None,
    class_maps: Sources | None = None,
    lungs: PathLike | None = None,
    clean_lungs: bool = True,
    mixing: str | Sequence[str] = MIXINGS,
    padded: bool | None = None,
    phases: int | Iterable[int] | None = None,
) -> Study:
    r"""Read recordings of gaze in the format of the REFLACX release.

    Every file of fixations is read once, here: what is damaged is found before anything is scored, and what
    cannot be used is counted. Maps are opened when they are scored.

    Parameters
    ----------
    folder : path
        The release's `main_data`: `metadata_phase_*.csv`, and for each recording of it a folder of that
        name with `fixations.csv` and `chest_bounding_box.csv`.
    maps : path or dict, optional
        A folder of maps, one file an image (what `read_map` reads); or several, as in
        `{"gradcam": DIR, "gradcam:densenet:1": DIR}`, whose names are method[:model[:seed]]. A map of
        another size than its image is stretched to it when it is scored (bilinear, half-pixel centres).
    masks : path or dict, optional
        Folders of masks of the image's size, scored as maps of 0 and 1.
    class_maps : path or dict, optional
        Folders of .npz files with the arrays `maps` (classes, height, width), `probs` (classes,) and, if
        wished, `classes` (their names). Each makes a series for every rule of `mixing`, see `mix_classes`.
        The class of no finding is the one called so; the first, where there are no names. With names of
        which none is "no finding", an image without a class above the threshold has no thresholded map:
        it is constant.
    lungs : path, optional
        A folder of masks of the lungs, whose convex hull becomes the method `convex`. A square mask of
        another size than the image is taken as one of the image padded to a square.
    clean_lungs : bool
        Whether small regions and what touches the border are taken out of the lungs before
        the hull, as the study does with the masks of its network; see `inner_regions`.
    mixing : str or sequence of str
        Of "thresholded", "weighted", "uniform": how `class_maps` are mixed. Each is a method of its own
        in scores, called `gradcam_weighted`.
    padded : bool, optional
        Whether square maps of another size than the image lie on the image padded to a square, as networks
        of the study see it: they are then resized to the longer side, and the padding is cut off. Otherwise
        they are stretched, with a warning where this is not said (None). Others are taken as of the image.
    phases : int or iterable of int, optional
        Only these phases. The study of Bigolin Lanfredi et al. used 1 and 2; a third has most of the
        release's readings, one an image.

    Files of maps and masks are named after the case; after the image (`dicom_id`); or after phase and
    trial, as in `p1_t0.npy`: the trial is the place of the image among those of its phase in the order of
    their paths, where discarded recordings do not count. The study's own folders are read, too:
    `phase_1_0.98/0.npy`, a dict with one array; where `0_am1.npy` lies beside it, that is of the method
    called `am1`.

    Returns
    -------
    Study
        Cases in the order of phases and image paths. A case is a `dicom_id`; where an image stands in
        several phases, each has a case, such as `ID_phase2`. The patient is the `subject_id`.

        Readers are "0", "1", ...: the order of an image's recordings in the metadata, discarded ones left
        out. "0" of two images need not be the same person.

    Raises
    ------
    InputFileError
        A file or column is missing, or a cell is not what it should be (file, row and column are named); a
        recording or fixation stands twice; rows disagree on an image or a patient (10000 and 10000.0); no
        file of a folder is named after an image, or two are of one image.
    SalstatsError
        An option cannot be, or two series have one name.

    Warns
    -----
    SalstatsWarning
        Recordings or chest boxes are left out: how many, and why; folders of recordings are in no metadata
        (where no `phases` are asked for); files of maps are of no image; maps are stretched out of
        proportion, square ones where `padded` does not say how they lie.

    See Also
    --------
    score_gaze, recordings, majority_labels

    Notes
    -----
    Left out and counted (`recordings(study)` lists them): recordings that the metadata marks
    `eye_tracking_data_discarded`, whose files are not opened; those without fixations, or none of which
    lasts; those in which the part of the image on screen leaves the image, or is far from every fixation.
    Of a recording whose chest box is missing, has no size or leaves the image, only the box is left out.

    Fixations outside the image are kept, since the tails of their Gaussians count, and so are those that
    last 0 seconds, which weigh nothing; both are counted, and so are those that begin before another has
    ended, each of which weighs as long as it lasts.

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
    here = Path(folder)
    given = map_sources(maps, masks, class_maps, lungs, clean_lungs, mixing, bool(padded))
    wanted = None
    if phases is not None:
        asked = phases if isinstance(phases, Iterable) else [phases]
        wanted = [check_count(phase, "phases=", 0) for phase in asked]
    files = find_phases(here, wanted)
    read = [read_metadata(file).assign(phase=phase) for phase, file in files.items()]
    if not any(map(len, read)):
        raise InputFileError(f"{here}: no recording in the metadata of phase {quoted(files)}")
    rows = pd.concat([frame for frame in read if len(frame)], ignore_index=True)
    _check_rows(rows)
    cases = _cases(here, rows)
    if phases is None:
        _say_unlisted(here, set(rows["id"]))
    found = find_maps(given, cases, dict(zip(rows["case"], rows["dicom_id"], strict=True)), padded)
    cases = [
        replace(c, predictions=tuple(of[c.case] for of in found.values() if c.case in of)) for c in cases
    ]
    study = Study(tuple(cases), (), tuple(found), str(folder))
    said = _left_out(study)
    if said:
        warn(said)
    return study


def _say_unlisted(folder: Path, recordings: set[str]) -> None:
    """Warn of recordings that no metadata lists: it may be cut short, or that of a phase may be missing."""
    places = sorted(
        p.name for p in folder.iterdir() if p.name not in recordings and (p / FIXATIONS).is_file()
    )
    if places:
        warn(
            f"{folder}: {len(places)} folder{'s' if len(places) > 1 else ''} with {FIXATIONS} in no metadata "
            f"and not read (first: {places[0]})"
        )


def _left_out(study: Study) -> str:
    """In a sentence how many recordings and chest boxes are left out and why; "" where none is."""
    parts = []
    for what, given in (
        ("recordings", [r.excluded for c in study for r in c.recordings]),
        ("chest boxes of those used", [r.box_excluded for c in study for r in c.used]),
    ):
        reasons = Counter(reason for reason in given if reason is not None)
        if n := reasons.total():
            why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            parts.append(f"{n} of {len(given)} {what} {'is' if n == 1 else 'are'} left out ({why})")
    return f"{study.source}: {'; '.join(parts)}" if parts else ""


def _check_rows(rows: pd.DataFrame) -> None:
    """Raise where a recording stands twice, or rows of one image or patient disagree on what it is."""
    twice = rows[rows["id"].duplicated()]
    if len(twice):
        raise InputFileError(f"{twice['place'].iloc[0]}: recording {twice['id'].iloc[0]!r} stands twice")
    # 10000.0 is 10000 in a column that once had a gap; as two patients they would be resampled apart
    keys = rows.assign(subject=rows["subject_id"].str.removesuffix(".0"))
    for same, column in (
        (["dicom_id"], "shape"),
        (["dicom_id"], "subject_id"),
        (["subject"], "subject_id"),
        (["phase", "image"], "dicom_id"),
        (["phase", "dicom_id"], "image"),
    ):
        first = keys.groupby(same)[[column, "place"]].transform("first")
        odd = keys[column] != first[column]
        if odd.any():
            here, there = keys[odd].iloc[0], first[odd].iloc[0]
            raise InputFileError(
                f"{here['place']}: {column} {here[column]} where {there['place']} has {there[column]} for "
                f"the same {same[-1]} ({here[same[-1]]})"
            )


def _cases(folder: Path, rows: pd.DataFrame) -> list[Case]:
    """The cases without maps, in the order of phases and image paths; `rows` gets the name of each."""
    phases = rows.groupby("dicom_id")["phase"].transform("nunique")
    rows["case"] = rows["dicom_id"].mask(
        phases > 1, rows["dicom_id"] + "_phase" + rows["phase"].astype("str")
    )
    cases = []
    for phase, of_phase in rows.groupby("phase"):
        trials = count()
        for _, own in of_phase.groupby("image"):
            readers = count()
            first = own.iloc[0]
            cases.append(
                Case(
                    first["case"],
                    first["shape"],
                    patient=first["subject_id"],
                    recordings=tuple(
                        _recording(folder, row, None if row.discarded else str(next(readers)))
                        for row in own.itertuples()
                    ),
                    phase=int(str(phase)),
                    trial=None if own["discarded"].all() else next(trials),
                )
            )
    return cases


def _recording(folder: Path, row: Any, reader: str | None) -> Recording:
    """A recording of a row of the metadata, its fixations read, checked and counted."""
    place = folder / row.id
    file = place / FIXATIONS
    # absolute: a process that works on it later may be in another folder
    known = Recording(row.id, reader, partial(read_fixations, file.absolute()), str(file), labels=row.labels)
    if row.discarded:
        return replace(known, excluded=DISCARDED)
    fixations, n_overlapping = read_fixation_rows(file)
    box, no_box = read_box(place / CHEST_BOX, row.shape)
    return replace(
        known,
        # small beside any map: held, so that no file is read twice
        read=partial(in_memory, fixations),
        excluded=why_excluded(fixations, row.shape),
        box=box,
        box_excluded=no_box,
        n_fixations=len(fixations),
        n_outside=n_outside(fixations.points, row.shape),
        n_zero=int((fixations.duration == 0).sum()),
        n_overlapping=n_overlapping,
        duration=float(fixations.duration.sum()),
    )
