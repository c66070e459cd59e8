"""Items of reporting guidelines: those that a report answers, and those that its author has to add.

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

from salstats.display.report.document import MissingItem
from salstats.files.input_files import data_folder
from salstats.stats.engine.score_reasons import count_missing_without_absent_findings

#: Condition of items on undefined scores; the other conditions of items are keys of frames.
_UNDEFINED = "undefined"


def applicable_guideline_items(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the items that apply to a report with these frames, in the order of the checklists.

    An item applies if the frame that it needs, if any, has rows, and the frame that excludes it has none.
    Items on undefined scores apply if scores are undefined, or if no frame counts them.

    Parameters
    ----------
    frames : Mapping of str to DataFrame
        The frames of the report by key.

    Returns
    -------
    DataFrame
        `guideline`, `item` (its number and subject), `answered` (whether the report answers it, at least in
        part) and `text`: how it is answered, or what an author has to add.
    """
    items = pd.read_csv(data_folder() / "report" / "guidelines.csv", keep_default_na=False)
    conditions = {key for key, frame in frames.items() if not frame.empty}
    if "describe" not in conditions or (count_missing_without_absent_findings(frames["describe"]) > 0).any():
        conditions.add(_UNDEFINED)
    has_required_frame = items["needs"].isin({"", *conditions})
    has_excluding_frame = items["lacks"].isin(conditions)
    columns = ["guideline", "item", "answered", "text"]
    items = items.loc[has_required_frame & ~has_excluding_frame, columns].reset_index(drop=True)
    return items.assign(answered=items["answered"] == "yes")


def guideline_items_left_to_author(frames: Mapping[str, pd.DataFrame]) -> tuple[MissingItem, ...]:
    """Return the guideline items that an author has to add; see `applicable_guideline_items`."""
    items = applicable_guideline_items(frames)
    missing = items.loc[~items["answered"], ["guideline", "item", "text"]]
    return tuple(MissingItem(*row) for row in missing.itertuples(index=False, name=None))
