"""Random effects of mixed models: their variances and shares, their values, and the groups they are of."""

import numpy as np
import pandas as pd

from salstats.stats.models.mixed_fits import MixedInference
from salstats.stats.models.models import Fitted, Model


def inference_of(model: Model) -> MixedInference | None:
    """What a mixed model says, None where there are no estimates or no random effects."""
    found = None if model.solution is None else model.solution.inference
    return found if isinstance(found, MixedInference) else None


def of_mixed_models(fitted: Fitted) -> dict[str, object]:
    """The columns of `fit_statistics` that only mixed models have."""
    if fitted.reml is None:
        return {}
    known = [inference_of(model) for model in fitted.models]
    names = dict.fromkeys(effect.name for model in fitted.models for effect in model.formula.random)
    groups = {
        name: [
            next((g.term.n_levels for g in one.grouped if g.effect.name == name), np.nan) if one else np.nan
            for one in known
        ]
        for name in names
    }
    singular = pd.array([None if one is None else one.solution.singular for one in known], dtype="boolean")
    return {"reml": fitted.reml, "singular": singular} | {f"n_{name}": n for name, n in groups.items()}
