"""What a result of saporta2022 needs, and what of it a study has."""

from collections.abc import Iterable

import numpy as np

from salstats.study import HUMAN, Series, Study

MAPS = "maps of --data"
PEOPLE = "people's segmentations or points of --data"
SEGMENTATIONS, POINTS = "people's segmentations of --data", "people's points of --data"
PROBABILITIES = "the model's probabilities in the maps"
SWEEP = "--validation with maps"
THRESHOLDS = "--threshold, or --validation with maps"
SEVERAL = "maps of several methods or models"
CHECKPOINTS = "maps of a model, the ensemble, and of its single trainings, METHOD:MODEL:SEED"


def held(
    series: Iterable[tuple[str, str | None, str | None]],
    *,
    segmentations: bool,
    points: bool,
    probabilities: bool,
    sweep: bool,
    thresholds: bool,
) -> frozenset[str]:
    """Return which of the needs are met.

    Parameters
    ----------
    series : iterable of (str, str or None, str or None)
        Method, model and seed of everybody who answers, people too.
    segmentations, points, probabilities, sweep, thresholds : bool
        Whether people have segmentations, and points; whether the main method's maps say the model's
        probability; whether thresholds are tried on a validation study; whether there are thresholds beside
        Otsu's.

    Examples
    --------
    >>> nothing = dict.fromkeys(["points", "probabilities", "sweep", "thresholds"], False)
    >>> sorted(held([("human", None, None)], segmentations=True, **nothing))
    ["people's segmentations of --data", "people's segmentations or points of --data"]
    """
    known = list(series)
    maps = list(dict.fromkeys(s for s in known if s[0] != HUMAN))
    first = maps[0][:2] if maps else None
    trainings = {seed for *series_of, seed in maps if tuple(series_of) == first}
    met = {
        MAPS: bool(maps),
        PEOPLE: any(s[0] == HUMAN for s in known),
        SEGMENTATIONS: segmentations,
        POINTS: points,
        PROBABILITIES: bool(maps) and probabilities,
        SWEEP: sweep,
        THRESHOLDS: bool(maps) and thresholds,
        SEVERAL: len({s[:2] for s in maps}) > 1,
        CHECKPOINTS: None in trainings and len(trainings) > 1,
    }
    return frozenset(need for need, there in met.items() if there)


def held_by(study: Study, validation: Study | None, *, thresholds: bool) -> frozenset[str]:
    """Return which needs are met by a study that is not scored yet; one map is opened.

    Parameters
    ----------
    study, validation : Study
        What is scored, and what is tuned on, if anything.
    thresholds : bool
        Whether thresholds are given.
    """
    main = main_series(study)
    own = next((p for case in study for p in case.predictions if p.series == main), None)
    people = [p for case in study for p in case.predictions if p.series.method == HUMAN]
    sweep = validation is not None and bool(validation.with_maps())
    return held(
        [(s.method, s.model, s.seed) for s in study.series],
        segmentations=any(p.read().mask is not None for p in people),
        # a file of points is of all cases
        points=any(p.read().points is not None for p in people[:1]),
        probabilities=own is not None and not np.isnan(own.read().prob),
        sweep=sweep,
        thresholds=sweep or thresholds,
    )


def main_series(study: Study) -> Series | None:
    """Return the series of single-method items: the first of maps."""
    return next((s for s in study.series if s.method != HUMAN), None)


def main_alone(study: Study) -> Study:
    """Return the study with its main series and people only."""
    main = main_series(study)
    return study.select(methods=[str(s) for s in study.series if s == main or s.method == HUMAN])
