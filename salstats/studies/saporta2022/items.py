"""Every result of saporta2022 in its order, and what each needs."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

from salstats.studies.items import Item, made_if_possible
from salstats.studies.saporta2022.beside import side_by_side
from salstats.studies.saporta2022.comparison import choices, comparison
from salstats.studies.saporta2022.covariates import (
    by_confidence,
    distributions,
    summary_statistics,
    table_2,
)
from salstats.studies.saporta2022.frames import Choice, Frames, check_positives, count_tasks
from salstats.studies.saporta2022.localisation import (
    classifiers,
    ensemble_and_checkpoints,
    figure_2,
    full_slice,
    lost_to_people,
    pooled,
    several_models,
    table_1,
    thresholds,
    tuned_thresholds,
)
from salstats.studies.saporta2022.needs import (
    CHECKPOINTS,
    MAPS,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL,
    SWEEP,
    THRESHOLDS,
)
from salstats.studies.saporta2022.sensitivity import sensitivity
from salstats.studies.saporta2022.words import cutoff_note


@dataclass(frozen=True)
class Part:
    """Results that are made together.

    Attributes
    ----------
    name : str
        What they are.
    make : callable, optional
        None for what is only a part of another result, which is made without it.
    needs : tuple of str
        All of them have to be there.
    """

    name: str
    make: Callable[[Frames, Choice], Iterator[Item]] | None
    needs: tuple[str, ...] = ()


def _comparison(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield every headline number as published and clustered."""
    rows = side_by_side(frames, choice.n_replicates)
    yield comparison(rows, frames.main, cutoff_note(frames, choice))


def _sensitivity(frames: Frames, choice: Choice) -> Iterator[Item]:
    """Yield what other choices change."""
    yield choices(sensitivity(frames, choice.n_replicates))


#: In the order of the files; the summary of the tasks stands before them.
PARTS = (
    Part("Table 1", table_1),
    Part("Fig. 2a", partial(figure_2, metric="iou"), (MAPS, SEGMENTATIONS)),
    Part("Fig. 2b", partial(figure_2, metric="hit"), (MAPS, POINTS)),
    Part("Extended Data 5", partial(lost_to_people, metric="iou"), (MAPS, SEGMENTATIONS)),
    Part("Extended Data 6", partial(lost_to_people, metric="hit"), (MAPS, POINTS)),
    Part("Extended Data 1a", thresholds, (SWEEP,)),
    Part("Extended Data 1b and 1c", tuned_thresholds, (MAPS, THRESHOLDS)),
    Part("Extended Data 2", pooled),
    Part("Extended Data 3", several_models, (SEVERAL,)),
    Part("Extended Data 7", ensemble_and_checkpoints, (CHECKPOINTS,)),
    Part("Extended Data 4", full_slice),
    Part("maps in Table 1 and Extended Data 2 and 4", None, (MAPS,)),
    Part("people in Table 1 and Extended Data 2 to 4", None, (PEOPLE,)),
    Part("Extended Data 8", distributions),
    Part("Table 2", table_2, (MAPS,)),
    Part("Table 2 for human minus saliency", None, (MAPS, PEOPLE)),
    Part("Table 3", partial(by_confidence, metric="iou"), (PROBABILITIES,)),
    Part("Extended Data 9", partial(by_confidence, metric="hit"), (PROBABILITIES,)),
    Part("Supplementary Table S1", classifiers, (PROBABILITIES,)),
    Part("the numbers as published and clustered", _comparison),
    Part("the sensitivity table", _sensitivity, (MAPS,)),
    # made of the study and not of its frames
    Part("Fig. 1 and examples picked by IoU", None, (MAPS,)),
)


def missing_parts(there: Collection[str]) -> list[str]:
    """Return a sentence for each need that is not met, which names the results that are not made.

    Examples
    --------
    >>> missing_parts({MAPS, PEOPLE, SEGMENTATIONS, POINTS, PROBABILITIES, SEVERAL, CHECKPOINTS, SWEEP})
    ['Extended Data 1b and 1c: not made, needs --threshold, or --validation with maps']
    """
    by_needs: dict[tuple[str, ...], list[str]] = {}
    for part in PARTS:
        lacks = tuple(need for need in part.needs if need not in there)
        if lacks:
            by_needs.setdefault(lacks, []).append(part.name)
    return [f"{'; '.join(names)}: not made, needs {' and '.join(lacks)}" for lacks, names in by_needs.items()]


def make_items(frames: Frames, choice: Choice, min_positives: int) -> Iterator[Item]:
    """Yield the results that can be made, tasks with fewer positives than asked for left out.

    One that the data do not allow is named in a warning, see `made_if_possible`.
    """
    check_positives(frames.features, min_positives)
    counts = count_tasks(frames, min_positives)
    yield summary_statistics(frames, counts)
    frames = frames.with_tasks(list(counts.loc[~counts["left_out"], "task"]))
    for part in PARTS:
        if part.make is not None and set(part.needs) <= frames.there:
            with made_if_possible(part.name):
                yield from part.make(frames, choice)
