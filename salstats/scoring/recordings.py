"""List the recordings of a study of gaze as a frame."""

import pandas as pd

from salstats.scoring.rows import COUNT, FLAG, NUMBER, TEXT, WHOLE, frame_of
from salstats.study import Study, check_gaze

_COLUMNS = {
    "case": TEXT,
    "patient": TEXT,
    "phase": WHOLE,
    "trial": COUNT,
    "recording": TEXT,
    "reader": TEXT,
    "used": FLAG,
    "reason": TEXT,
    "box": TEXT,
    "n_fixations": COUNT,
    "n_outside": COUNT,
    "n_zero": COUNT,
    "n_overlapping": COUNT,
    "duration": NUMBER,
}


def recordings(study: Study) -> pd.DataFrame:
    """One row per recording of a study of gaze, including those that are left out.

    Parameters
    ----------
    study : Study
        What `read_gaze` returned.

    Returns
    -------
    DataFrame
        In the order of the study.

        case, patient, phase, trial, recording, reader
            Names. `reader` counts the recordings of an image in the order of the metadata, discarded ones
            left out: "0" of two images need not be the same person. Missing for a discarded one.
        used
            Whether it is scored.
        reason
            Why not: "discarded by its file", "no fixation", "no fixation lasts", "shown part outside the
            image", "all fixations far from the shown part"; missing where it is used.
        box
            "used", or why its chest box is left out of the centre bias: "no chest box", "chest box outside
            the image", "chest box of no size". Missing for a recording that is left out.
        n_fixations, n_outside, n_zero, n_overlapping
            Fixations, those outside the image (kept: the tails of their Gaussians count), those that last 0
            seconds (they weigh nothing), and those that begin before another has ended (each weighs as long
            as it lasts). Missing for a discarded recording.
        duration
            Seconds of all fixations together.

    Raises
    ------
    SalstatsError
        `study` is not what `read_gaze` returns.

    Examples
    --------
    >>> from salstats.scoring.recordings import recordings
    >>> from salstats.study import Case, Recording, Study
    >>> lost = Recording("P1", None, lambda: None, "P1/fixations.csv", excluded="discarded by its file")
    >>> study = Study((Case("image", (90, 80), patient="7", recordings=(lost,)),))
    >>> recordings(study)[["case", "recording", "used", "reason"]]
        case recording   used                 reason
    0  image        P1  False  discarded by its file
    """
    check_gaze(study)
    rows = []
    for case in study:
        for recording in case.recordings:
            box: str | None = recording.box_excluded or "used"
            if recording.excluded is not None:
                box = None
            row = {
                **vars(recording),
                "case": case.case,
                "patient": case.patient,
                "phase": case.phase,
                "trial": case.trial,
                "used": recording.excluded is None,
                "reason": recording.excluded,
                "box": box,
            }
            rows.append(row)
    return frame_of(rows, _COLUMNS)
