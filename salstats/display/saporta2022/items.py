"""Every result of saporta2022 in its order."""

from collections.abc import Iterator

from salstats.display.items import Item
from salstats.display.saporta2022.beside import side_by_side
from salstats.display.saporta2022.comparison import choices, comparison
from salstats.display.saporta2022.covariates import (
    by_confidence,
    distributions,
    summary_statistics,
    table_2,
)
from salstats.display.saporta2022.frames import (
    Choice,
    Frames,
    count_tasks,
)
from salstats.display.saporta2022.localisation import (
    full_slice,
    localisation,
    pooled,
    several_models,
    thresholds,
)
from salstats.display.saporta2022.sensitivity import sensitivity


def make_items(frames: Frames, choice: Choice, min_positives: int) -> Iterator[Item]:
    """Yield the results, tasks with fewer positives than asked for left out."""
    counts = count_tasks(frames, min_positives)
    yield summary_statistics(frames, counts)
    frames = frames.with_tasks(list(counts.loc[~counts["left_out"], "task"]))
    yield from localisation(frames, choice)
    yield from thresholds(frames, choice)
    yield pooled(frames, choice)
    yield from several_models(frames, choice)
    yield full_slice(frames, choice)
    yield distributions(frames)
    yield table_2(frames, choice)
    yield from by_confidence(frames, choice)
    yield comparison(side_by_side(frames, choice.n_replicates), frames.main)
    yield choices(sensitivity(frames, choice.n_replicates))
