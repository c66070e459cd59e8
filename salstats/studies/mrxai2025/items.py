"""Every result of mrxai2025 in its order: the simulations, and the comparison of tools."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from salstats.readers.case_images import ImageSource
from salstats.scoring.distances import DISTANCES, Spacing, distance_rule
from salstats.scoring.mask_simulation import simulate_masks
from salstats.studies.items import Item
from salstats.studies.mrxai2025.cases import Scored
from salstats.studies.mrxai2025.comparison import comparison_items
from salstats.studies.mrxai2025.estimates import Choice
from salstats.studies.mrxai2025.examples import examples
from salstats.studies.mrxai2025.simulations import simulation_items
from salstats.study import Study


def make_simulations() -> Iterator[Item]:
    """Yield Figs. 1 to 6, of a shape that is drawn here."""
    yield from simulation_items(simulate_masks())


def make_comparison(
    scored: Scored,
    choice: Choice,
    *,
    printed: pd.DataFrame | None = None,
    study: Study | None = None,
    spacing: Spacing = None,
    images: ImageSource | None = None,
) -> Iterator[Item]:
    """Yield the comparison of tools, and examples where there is a study to show them from.

    Parameters
    ----------
    scored : Scored
        Of `keep_cases`.
    choice : Choice
    printed : DataFrame, optional
        Means as the study printed them: `method, dice_mean, dice_sd`.
    study : Study, optional
        What was scored.
    spacing
        As the study was scored with.
    images : folder or mapping, optional
        The images behind the explanations.
    """
    diagonals = None if study is None else diagonals_of(study, spacing)
    yield from comparison_items(scored, choice, printed=printed, diagonals=diagonals)
    if study is not None:
        # scale bars are of square pixels of one size
        scale = float(spacing) if isinstance(spacing, int | float) else None
        method, metric = choice.picked_by(scored.kept)
        yield examples(
            study,
            scored,
            method=method,
            metric=metric,
            images=images,
            spacing=scale,
            unpenalised=choice.unpenalised,
        )


def diagonals_of(study: Study, spacing: Spacing = None) -> pd.Series:
    """Return the diagonal of each case's image, by case, in pixels or, with `spacing`, in mm."""
    sized = {c.case: c.shape for c in study if c.shape is not None}
    rule = distance_rule(DISTANCES, list(sized), spacing=spacing)
    found = {case: rule.diagonal(shape, case) for case, shape in sized.items()}
    return pd.Series(found, dtype=np.float64)
