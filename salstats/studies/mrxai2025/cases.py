"""Which cases the tools are compared on, which explanations failed, and what a failure costs at worst."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_numeric, quoted
from salstats.errors import ColumnError, SalstatsError, warn
from salstats.frames import KEY_COLUMNS, case_key, check_scores
from salstats.metrics.registry import METRICS, registered_metric
from salstats.scoring.cases import ABSENT, EMPTY, NO_MAP, NO_MASK, NOT_FINITE
from salstats.scoring.distances import DISTANCES

#: What the penalised Dice is, said wherever one stands.
RECONSTRUCTED = METRICS["pdc"].note
#: Tools and metrics in print; the last is the share of empty explanations.
NAMES = {"rex": "ReX", "empty_explanation": "Share of empty explanations"}
#: Why a case is left out, beside the finding that is absent.
FALSE_ALARM = "finding absent, and the model says otherwise"
MISSED = "the model misses the finding"
NO_PROB = "no probability of the model"
NOBODY = "undefined for every tool, no reason given"
LEFT_OUT = (ABSENT, FALSE_ALARM, MISSED, NO_PROB, NOBODY)
#: Why an explanation that a tool owes is not there; where a file gives no reason it counts as empty.
NO_ROW, UNSAID = "no row", "undefined, no reason given"
EMPTIES = (EMPTY, UNSAID)
NOT_GIVEN = (NO_MAP, NO_MASK, NOT_FINITE, NO_ROW)
#: Columns that belong to a row and not to its case.
_OF_METHOD = (
    "tp", "fp", "fn", "tn", "slice", "threshold", "cutoff", "smooth", "colormap", "distance_unit",
    "distance_options", "pdc_options", "undefined", "empty_mask",
)  # fmt: skip
#: Columns that name the sets of a frame; one of each is compared.
_SETS = ("dataset", "task", "model", "seed", "reader")


@dataclass(frozen=True)
class ComparedScores:
    """The scores that the tools are compared on."""

    #: The scores frame; those of cases left out are NaN, `reason` says why.
    everything: pd.DataFrame
    #: Those of the other cases, a row for each tool, metric and case; a tool that lacks a row has NaN there,
    #: and `reason` "no row".
    kept: pd.DataFrame
    #: Whether the model's probability was known and its mistakes are left out.
    by_model: bool
    #: Probability from which on the model says that the finding is there.
    cutoff: float


def keep_cases(scores: pd.DataFrame, *, reference: str | None = None, cutoff: float = 0.5) -> ComparedScores:
    """The scores of the cases that have the finding and that the model gets right."""
    frame = check_scores(scores).reset_index(drop=True)
    for column in _SETS:
        if column in frame.columns and frame[column].nunique(dropna=False) > 1:
            raise SalstatsError(
                f"the scores have several values of {column!r} ({quoted(frame[column].unique())}); "
                "keep the rows of one, tools are compared within it"
            )
    if "distance_unit" in frame.columns and frame["distance_unit"].nunique() > 1:
        units = quoted(frame["distance_unit"].dropna().unique())
        raise SalstatsError(f"the scores have distances in several units ({units}); score all cases in one")
    if reference is not None:
        check_choice(reference, [str(m) for m in frame["method"].unique()], "reference")
    if not 0 <= cutoff <= 1:
        raise SalstatsError(f"the cut-off must be a probability from 0 to 1, not {cutoff!r}")
    if "empty_mask" in frame.columns:
        # an empty mask may have been scored, as with undefined="worst" or on the full slice
        if "undefined" in frame.columns and frame["undefined"].notna().any():
            warn(
                "scores at the worst that empty masks were given are taken out; the sensitivity table puts "
                "them there itself"
            )
        marked = frame["empty_mask"].astype("boolean").fillna(False).to_numpy(dtype=bool)
        frame["score"] = frame["score"].where(~marked)
    frame["reason"] = _reasons(frame)
    left_out = _left_out(frame, cutoff)
    out = frame["case"].map(left_out).astype("str")
    everything = frame.assign(
        score=frame["score"].where(out.isna()), reason=frame["reason"].where(out.isna(), out)
    )
    kept = _complete(frame[out.isna()])
    if kept.empty:
        raise SalstatsError(
            f"no case is left: of {frame['case'].nunique()} every one lacks the finding or is one that the "
            f"model gets wrong (probability below {cutoff:g})"
        )
    return ComparedScores(everything, kept, _knows(frame, "prob"), cutoff)


def failed(kept: pd.DataFrame) -> pd.DataFrame:
    """For each tool and case whether its explanation is empty, or was not given at all."""
    names = [*case_key(kept), *(c for c in ("patient",) if c in kept.columns), "method"]
    marks = kept[names].assign(empty=kept["reason"].isin(EMPTIES), not_given=kept["reason"].isin(NOT_GIVEN))
    # what is empty is so for every metric; a metric that has no row is no failure of the explanation
    found = marks.groupby(names, sort=False, dropna=False)[["empty", "not_given"]].agg(
        {"empty": "any", "not_given": "all"}
    )
    return found.reset_index()


def at_worst(kept: pd.DataFrame, diagonals: pd.Series | None = None) -> pd.DataFrame:
    """The scores with every failed explanation at the worst score there is.

    Overlap and penalised Dice are 0, a distance is the diagonal of the image: of `diagonals` by case, else of
    the columns `height` and `width` in pixels; where neither tells it stays undefined.
    """
    wrong = kept["score"].isna() & kept["reason"].isin((*EMPTIES, *NOT_GIVEN))
    far = kept["metric"].isin(DISTANCES)
    known = kept["metric"].map(_least)
    worst = known.where(~far, kept["case"].map(_diagonals(kept) if diagonals is None else diagonals))
    return kept.assign(score=kept["score"].where(~wrong, worst.astype(np.float64)))


def _least(metric: str) -> float:
    """The lowest score of a metric of which more is better and 0 is nothing, else NaN."""
    known = registered_metric(metric)
    bounded = known is not None and known.larger_is_better and known.low == 0 and known.true_zero
    return 0.0 if bounded else float("nan")


def _diagonals(kept: pd.DataFrame) -> pd.Series:
    """The diagonal of each case's image in pixels, from the columns that say its size."""
    nothing = pd.Series(dtype=np.float64)
    if not {"height", "width"} <= set(kept.columns):
        return nothing
    if "distance_unit" in kept.columns and (kept["distance_unit"].dropna() != "px").any():
        return nothing
    sizes = kept.dropna(subset=["height", "width"]).drop_duplicates("case").set_index("case")
    return pd.Series(np.hypot(sizes["height"], sizes["width"]), index=sizes.index, dtype=np.float64)


def _reasons(frame: pd.DataFrame) -> pd.Series:
    """Why each score is undefined, missing where it is not."""
    undefined = frame["score"].isna()
    said = (
        frame["reason"].astype("str") if "reason" in frame.columns else pd.Series(pd.NA, frame.index, "str")
    )
    said = said.where(said.ne(""), None)
    if "label" in frame.columns:
        said = said.mask(said.isna() & (frame["label"] == 0), ABSENT)
    if "empty_mask" in frame.columns:
        said = said.mask(said.isna() & frame["empty_mask"].astype("boolean").fillna(False), EMPTY)
    return said.fillna(UNSAID).where(undefined, None).astype("str")


def _knows(frame: pd.DataFrame, column: str) -> bool:
    """Whether a column is there and says anything."""
    return column in frame.columns and bool(frame[column].notna().any())


def _left_out(frame: pd.DataFrame, cutoff: float) -> dict[str, str]:
    """Why each case is left out, those that are."""
    label, prob = (_one_value(frame, column) for column in ("label", "prob"))
    absent = frame["reason"].eq(ABSENT).groupby(frame["case"]).any()
    unsaid = frame["reason"].eq(UNSAID).groupby(frame["case"]).all()
    found: dict[str, str] = {}
    for case in frame["case"].unique():
        p = prob.get(case, np.nan)
        if label.get(case, 1.0) == 0 or absent[case]:
            found[case] = FALSE_ALARM if p >= cutoff else ABSENT
        elif p < cutoff:
            found[case] = MISSED
        elif np.isnan(p) and _knows(frame, "prob"):
            found[case] = NO_PROB
        elif unsaid[case]:
            found[case] = NOBODY
    return found


def _one_value(frame: pd.DataFrame, column: str) -> dict[str, float]:
    """The value of each case, which all its rows must share that have one."""
    if column not in frame.columns:
        return {}
    check_numeric(frame, column)
    values = frame[["case", column]].dropna().drop_duplicates()
    twice = values["case"].duplicated()
    if twice.any():
        case = values.loc[twice, "case"].iloc[0]
        both = quoted(values.loc[values["case"] == case, column])
        raise ColumnError(f"case {case!r} has several values of {column!r} ({both}); keep one model")
    return dict(zip(values["case"], values[column].astype(np.float64), strict=True))


def _complete(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with one more for each tool that lacks a case which another tool has."""
    if frame.empty:
        return frame
    ofcase = [c for c in frame.columns if c not in ("method", "metric", "score", "reason", *_OF_METHOD)]
    cases = frame.drop_duplicates("case")[ofcase]
    scored = frame[["method", "metric"]].drop_duplicates()
    grid = cases.merge(scored, how="cross")
    keys = [c for c in KEY_COLUMNS if c in frame.columns]
    lacking = grid.merge(frame[keys].assign(available=True), on=keys, how="left")
    lacking = lacking[lacking["there"].isna()].drop(columns="there")
    if lacking.empty:
        return frame.reset_index(drop=True)
    return pd.concat([frame, lacking.assign(score=np.nan, reason=NO_ROW)], ignore_index=True)


def in_note(*sentences: str) -> str:
    """Sentences as the note of an item, which begins small and ends without a stop."""
    text = " ".join(s for s in sentences if s).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}" if text[1:2].islower() else text
