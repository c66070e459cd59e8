"""What reporting guidelines ask for: what a report answers, and what its author has to add.

The items stand in `data/report/guidelines.csv`: their numbers are those of the two published checklists,
their subjects in our own words.

References
----------
Tejani AS, Klontzas ME, Gatti AA, et al. Checklist for Artificial Intelligence in Medical Imaging (CLAIM):
2024 update. Radiol Artif Intell 2024;6(4):e240300. doi:10.1148/ryai.240300

Sounderajah V, Guni A, Liu X, et al. The STARD-AI reporting guideline for diagnostic accuracy studies using
artificial intelligence. Nat Med 2025;31:3283-3289. doi:10.1038/s41591-025-03953-8
"""

from collections.abc import Mapping

import pandas as pd

from salstats.files.inputs import data_folder
from salstats.stats.engine.score_reasons import missing_scores

#: Stands beside the frames' keys where there are undefined scores.
_UNDEFINED = "undefined"


def guideline_items(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Items that apply to a report with these frames, in the order of the checklists.

    Parameters
    ----------
    frames : Mapping of str to DataFrame
        The frames of the report by key, as for `methods_text`.

    Returns
    -------
    DataFrame
        `guideline`, `item` (its number and subject), `answered` (whether the report answers it, at least in
        part) and `text`: how it is answered, or what an author has to add.
    """
    items = pd.read_csv(data_folder() / "report" / "guidelines.csv", keep_default_na=False)
    there = {key for key, frame in frames.items() if not frame.empty}
    if "describe" not in there or (missing_scores(frames["describe"]) > 0).any():
        there.add(_UNDEFINED)
    apply = items["needs"].isin({"", *there}) & ~items["lacks"].isin(there)
    columns = ["guideline", "item", "answered", "text"]
    return items.loc[apply, columns].assign(answered=items["answered"] == "yes").reset_index(drop=True)


def not_covered(frames: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, str, str], ...]:
    """What an author has to add: guideline, item and text; see `guideline_items`."""
    items = guideline_items(frames)
    asked = items.loc[~items["answered"], ["guideline", "item", "text"]]
    return tuple(asked.itertuples(index=False, name=None))
