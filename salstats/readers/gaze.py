"""Read recordings of gaze in the format of the REFLACX release, and the maps to compare them with."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from salstats.checks import InputFileError, check_count, quoted, warn
from salstats.images.fixations import Fixations
from salstats.readers.cells import PathLike
from salstats.readers.gaze_files import (
    CHEST_BOX,
    FIXATIONS,
    Reading,
    find_phases,
    is_outside,
    read_box,
    read_fixations,
    read_looks,
    read_metadata,
    why_excluded,
)
from salstats.readers.gaze_maps import MIXINGS, MapPlaces, given_maps
from salstats.readers.series_names import Sources
from salstats.study import DISCARDED, Case, Recording, Study, exclusions


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
    cannot be used is counted. The study holds the fixations. Maps
    are opened when they are scored.

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
        The metadata, a `fixations.csv` of a recording that is not discarded or a folder of maps is not
        there; a file lacks a column, or holds an empty cell, text, NaN or infinity where a number is
        wanted, a fixation that ends before it begins, a flag that is none, or a recording whose name is no
        plain name of a folder; a recording or a fixation stands twice; one patient is written in two ways
        (10000 and 10000.0); an image is too large; rows of one image differ in its size or patient;
        no file of a folder is named after an image, or two are of one image.
    SalstatsError
        An option cannot be, or says how to read what is not given.

    Warns
    -----
    SalstatsWarning
        Recordings or chest boxes are left out: how many, and why; folders of recordings are in no metadata
        (where no `phases` are asked for); files of maps are of no image; square maps of a method are
        stretched to oblong images, and `padded` does not say so; maps are neither square nor of their
        image's proportions.

    See Also
    --------
    score_gaze, recordings, majority_labels

    Notes
    -----
    Left out and counted (`recordings(study)` lists them): recordings that the metadata marks
    `eye_tracking_data_discarded`, whose files are not opened; those without fixations, or none of which
    lasts; those in which the part of the image on screen leaves the image, or is far from every fixation.
    A chest box that is missing, has no size or leaves the image is left out of the centre bias; the
    recording is used.

    Fixations outside the image are kept, since the tails of their Gaussians count, and so are those that
    last 0 seconds, which weigh nothing; both are counted, and so are those that begin before another has
    ended, each of which weighs as long as it lasts.

    A recording's folder may be a link.

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
    places = MapPlaces(maps, masks, class_maps, lungs, clean_lungs, mixing, padded)
    wanted = None
    if phases is not None:
        given = phases if isinstance(phases, Iterable) else [phases]
        wanted = [check_count(phase, "phases=", 0) for phase in given]
    readings = {phase: read_metadata(file) for phase, file in find_phases(here, wanted).items()}
    if not any(readings.values()):
        raise InputFileError(f"{here}: no recording in the metadata of phase {quoted(readings)}")
    _check_readings([reading for rows in readings.values() for reading in rows])
    cases, dicoms = _cases(here, readings)
    if phases is None:
        _say_unlisted(here, {r.recording for rows in readings.values() for r in rows})
    held = given_maps(cases, dicoms, places)
    cases = [
        replace(c, predictions=tuple(found[c.case] for found in held.values() if c.case in found))
        for c in cases
    ]
    study = Study(tuple(cases), (), tuple(held), str(folder))
    said = left_out(study)
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


def left_out(study: Study) -> str:
    """In a sentence how many recordings and chest boxes are left out and why; "" where none is."""
    totals = (sum(len(c.recordings) for c in study), sum(len(c.used) for c in study))
    parts = []
    for what, total, reasons in zip(
        ("recordings", "chest boxes of those used"), totals, exclusions(study), strict=True
    ):
        if reasons:
            n = sum(reasons.values())
            why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            parts.append(f"{n} of {total} {what} {'is' if n == 1 else 'are'} left out ({why})")
    return f"{study.source}: {'; '.join(parts)}" if parts else ""


def _check_readings(readings: Sequence[Reading]) -> None:
    """Raise where a recording stands twice, or rows of one image disagree on what it is."""
    of_recording: dict[str, Reading] = {}
    of_dicom: dict[str, Reading] = {}
    of_image: dict[tuple[Path, str], Reading] = {}
    of_patient: dict[str, Reading] = {}
    for reading in readings:
        first = of_recording.setdefault(reading.recording, reading)
        if first is not reading:
            raise InputFileError(
                f"{reading.file}, row {reading.row}: recording {reading.recording!r} stands in row "
                f"{first.row} of {first.file.name} already"
            )
        same = of_dicom.setdefault(reading.dicom, reading)
        for column, here, there in (
            ("image_size_y, image_size_x", reading.shape, same.shape),
            ("subject_id", reading.patient, same.patient),
        ):
            if here != there:
                raise InputFileError(
                    f"{reading.file}, row {reading.row}, column {column}: {here} where row {same.row} of "
                    f"{same.file.name} has {there} for the same image ({reading.dicom})"
                )
        # 10000.0 is 10000 in a column that once had a gap; as two patients they would be resampled apart
        alike = of_patient.setdefault(reading.patient.removesuffix(".0"), reading)
        if alike.patient != reading.patient:
            raise InputFileError(
                f"{reading.file}, row {reading.row}, column subject_id: {reading.patient!r} where row "
                f"{alike.row} of {alike.file.name} has {alike.patient!r}; write one patient alike"
            )
        path = of_image.setdefault((reading.file, reading.image), reading)
        if path.dicom != reading.dicom:
            raise InputFileError(
                f"{reading.file}, row {reading.row}, column dicom_id: {reading.dicom!r} where row {path.row} "
                f"has {path.dicom!r} for the same path ({reading.image})"
            )
        if same.file == reading.file and same.image != reading.image:
            raise InputFileError(
                f"{reading.file}, row {reading.row}, column image: {reading.image!r} where row {same.row} "
                f"has {same.image!r} for the same dicom_id ({reading.dicom})"
            )


def _cases(folder: Path, readings: dict[int, list[Reading]]) -> tuple[list[Case], dict[str, str]]:
    """The cases without maps, and the image of each."""
    n_phases: dict[str, int] = defaultdict(int)
    for rows in readings.values():
        for dicom in {r.dicom for r in rows}:
            n_phases[dicom] += 1
    cases, dicoms = [], {}
    for phase, rows in readings.items():
        by_image: dict[str, list[Reading]] = defaultdict(list)
        for reading in rows:
            by_image[reading.image].append(reading)
        trial = 0
        for image in sorted(by_image):
            own = by_image[image]
            kept = any(not r.discarded for r in own)
            first = own[0]
            name = first.dicom if n_phases[first.dicom] == 1 else f"{first.dicom}_phase{phase}"
            if name in dicoms:
                raise InputFileError(
                    f"{first.file}, row {first.row}: image {first.dicom!r} of several phases would be called "
                    f"{name!r}, which is another image's name; read one phase at a time (phases=)"
                )
            dicoms[name] = first.dicom
            looks = tuple(_recording(folder, r, i) for r, i in zip(own, _numbered(own), strict=True))
            cases.append(
                Case(
                    name, first.shape, patient=first.patient, recordings=looks, phase=phase,
                    trial=trial if kept else None,
                )
            )  # fmt: skip
            trial += kept
    return cases, dicoms


def _numbered(readings: Sequence[Reading]) -> list[str | None]:
    """The number of each recording of an image among those that are not discarded."""
    numbers: list[str | None] = []
    for reading in readings:
        n_before = sum(number is not None for number in numbers)
        numbers.append(None if reading.discarded else str(n_before))
    return numbers


def _recording(folder: Path, reading: Reading, reader: str | None) -> Recording:
    """A recording, its fixations checked and counted."""
    place = folder / reading.recording
    file = place / FIXATIONS
    known = Recording(
        reading.recording,
        reader,
        # absolute: a process that works on it later may be in another folder
        partial(read_fixations, file.absolute()),
        str(file),
        labels=reading.labels,
    )
    if reading.discarded:
        return replace(known, excluded=DISCARDED)
    try:
        there = file.is_file()
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read ({error.strerror or error})") from error
    if not there:
        raise InputFileError(
            f"{file}: no such file; recording {reading.recording!r} (row {reading.row} of "
            f"{reading.file.name}) needs it"
        )
    looks = read_looks(file)
    box, no_box = read_box(place / CHEST_BOX, reading.shape)
    return replace(
        known,
        # small beside any map: held, so that no file is read twice
        read=partial(Fixations, *looks[:-1]),
        excluded=why_excluded(looks, reading.shape),
        box=box,
        box_excluded=no_box,
        n_fixations=len(looks.points),
        n_outside=int(is_outside(looks.points, reading.shape).sum()),
        n_zero=int((looks.duration == 0).sum()),
        n_overlapping=looks.n_overlapping,
        duration=float(looks.duration.sum()),
    )
