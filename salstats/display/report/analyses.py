"""What a report computes: which analyses the columns at hand allow, and their frames."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from salstats.checks import check_columns, quoted
from salstats.display.report.calls import COMPARED, SCORED, assigned, call_text
from salstats.display.report.document import Settings
from salstats.display.report.ranking import compared_rows, first_means
from salstats.display.report.wording import pooled_rows
from salstats.display.text.format import counted, joined
from salstats.display.text.labels import LAST, Labels
from salstats.errors import ColumnError, SalstatsError, distinct_warnings
from salstats.frames import (
    DEFAULT_BY,
    IDENTIFIER_COLUMNS,
    ColumnCodes,
    valid_scores,
    warn_of_doubtful_scores,
)
from salstats.jobs import not_counting
from salstats.metrics.registry import has_true_zero, registered_metric
from salstats.stats.contrasts import lowest_scores
from salstats.stats.engine.cautions import rows_by_caution
from salstats.stats.engine.equivalence import check_margin, split_verdicts
from salstats.stats.engine.intervals import interval_names
from salstats.stats.engine.label_columns import holds_labels
from salstats.stats.engine.paired_tests import TESTS
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.study import HUMAN

#: Columns that are never covariates of a score.
_NOT_COVARIATES = (
    *IDENTIFIER_COLUMNS, "score", "label", "prob", "reason", "slice", "threshold", "cutoff", "smooth",
    "colormap",
)  # fmt: skip
#: What scores are made of, sizes that the share of the image says better, and how gaze was scored: covariates
#: by name only.
_BY_NAME = (
    "tp", "fp", "fn", "tn", "height", "width", "area_px", "perimeter_px",
    "phase", "n_readers", "n_unseen", "n_samples", "floor",
)  # fmt: skip
#: Columns of which a report takes one value at a time: their means would mix what is not alike.
_ONE_VALUE = ("dataset", "model")
#: Analyses without which there is no report.
_NEEDED = ("flow", "describe", "means")


def settled(scores: pd.DataFrame, asked: Settings) -> tuple[pd.DataFrame, Settings]:
    """Rows that a report is on, and its settings with what nobody chose filled in, all checked."""
    # what is doubtful in the rows that are reported on is warned of with the analyses
    scores = valid_scores(scores).frame
    for column, value in (asked.only or {}).items():
        check_columns(scores, [column])
        kept = scores[column].astype(str) == str(value)
        if not kept.any():
            there = quoted(sorted(scores[column].dropna().astype(str).unique())[:5])
            raise SalstatsError(f"no row has {value!r} in column {column!r}; it has {there}")
        scores = scores[kept]
    scores = scores.reset_index(drop=True)
    _check_rows(scores)
    if asked.margin is not None:
        check_margin(asked.margin, scores["metric"].unique())
    methods, reference = set(scores["method"].astype(str)), asked.reference
    if reference is not None and reference not in methods:
        raise SalstatsError(f"reference={reference!r} is none of the methods {quoted(sorted(methods))}")
    if reference is None and HUMAN in methods and len(methods) > 1:
        reference = HUMAN
    own = asked.unit in scores.columns or not asked.unit
    unit = (asked.unit or None) if own else asked.unit.split(", ")
    units = resolve_unit(ColumnCodes(scores), unit)
    if units.n < 2:
        raise SalstatsError(
            f"there is one {units.name} only, so nothing can be said of others; a report needs two or more"
        )
    weights = [asked.weights] if isinstance(asked.weights, str) else []
    covariates = _covariates(scores.drop(columns=weights, errors="ignore"), asked.covariates)
    if units.name not in scores.columns or units.n_alone:
        # told by several columns, or by the names of the cases, or not of all
        scores = scores.assign(**{units.name: units.codes})
    else:
        unit = units.name
    return scores, replace(asked, reference=reference, unit=units.name, unit_said=unit, covariates=covariates)


def _check_rows(scores: pd.DataFrame) -> None:
    """Raise where scores are undefined, of several data sets or units, or of a task named as an average."""
    for column in _ONE_VALUE:
        if several(scores, column):
            values = sorted(scores[column].dropna().astype(str).unique())
            raise SalstatsError(
                f"column {column!r} has {len(values)} values ({quoted(values[:3])}); a report is on one of "
                f"them at a time: pass only={{{column!r}: {values[0]!r}}} (--only {column}={values[0]})"
            )
    if not scores["score"].notna().any():
        raise SalstatsError(f"none of the {len(scores)} scores is defined, so there is nothing to report")
    for name in LAST:
        if "task" in scores.columns and (scores["task"] == name).any():
            raise ColumnError(
                f"column 'task' holds {name!r}, the name of a report's rows over all tasks; rename it, or "
                "leave these rows out"
            )
    if "distance_unit" in scores.columns:
        for metric, rows in scores.dropna(subset="distance_unit").groupby("metric"):
            units = sorted(rows["distance_unit"].unique())
            if len(units) > 1:
                raise SalstatsError(
                    f"scores of {metric!r} are in {joined(units)}, and a mean over both means nothing; "
                    "score all cases in one unit, or keep the rows of one"
                )


def _covariates(scores: pd.DataFrame, asked: Any) -> tuple[str, ...]:
    """Covariates that were named, else all numeric columns that vary and are no key and no score."""
    if asked is None:
        one = scores.groupby([c for c in ("case", "task") if c in scores.columns], observed=True)
        columns = scores.select_dtypes("number").columns.difference([*_NOT_COVARIATES, *_BY_NAME], sort=False)
        columns = [
            c for c in columns if not holds_labels(c, scores[c].to_numpy(dtype=float, na_value=np.nan))
        ]
        # what differs between the rows of one case and task, as a row number does, is no covariate of it
        return tuple(c for c in columns if several(scores, c) and one[c].nunique().max() <= 1)
    named = (asked,) if isinstance(asked, str) else tuple(asked)
    check_columns(scores, named)
    for column in named:
        if column in _NOT_COVARIATES:
            raise ColumnError(f"column {column!r} is no covariate of a report; leave it out")
        if not pd.api.types.is_numeric_dtype(scores[column]):
            raise ColumnError(f"covariate {column!r} is not numeric; a report takes numeric covariates")
        if not several(scores, column):
            raise ColumnError(f"covariate {column!r} does not vary, so no score can go with it; leave it out")
    return named


def several(scores: pd.DataFrame, column: str) -> bool:
    """Whether a column is there and has more than one value."""
    return column in scores.columns and scores[column].nunique() > 1


def metric_order(scores: pd.DataFrame) -> list[str]:
    """Metrics at hand, those of the registry first and in its order."""
    return Labels().order("metric", sorted(scores["metric"].astype(str).unique()))


def compared_methods(scores: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Scores of every method but the reference."""
    return scores if settings.reference is None else scores[scores["method"] != settings.reference]


@dataclass
class Analyses:
    """Frames of a report and how they came about.

    `frames` and the Python `calls` that give them by key, why an analysis was `skipped`, and what all of them
    warned of, each `warnings` once. `unit` is the unit as calls on the scores as they were given say it;
    `count` is told of each analysis.
    """

    unit: Unit = None
    count: Callable[..., None] = not_counting

    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    #: Messages by what they are about.
    warnings: dict[object, str] = field(default_factory=dict)

    def run(
        self,
        key: str,
        function: Callable[..., pd.DataFrame],
        scores: pd.DataFrame,
        *arguments: Any,
        of: str = "scores",
        **options: Any,
    ) -> None:
        """Run one public function on scores, which the call names `of`."""
        call = self.call(function, of, *arguments, **options)
        self.attempt(key, call, lambda: function(scores, *arguments, **options))

    def call(self, function: Callable[..., object], *said: object, **options: object) -> str:
        """Call of a public function on the scores as they were given."""
        return call_text(function, *said, **options | ({"unit": self.unit} if "unit" in options else {}))

    def attempt(self, key: str, call: str, compute: Callable[[], pd.DataFrame]) -> None:
        """Run one analysis; one that cannot be run is noted with its reason, unless the report needs it."""
        self.count(0, f"Statistics: {key}")
        with self.watched():
            try:
                self.frames[key], self.calls[key] = compute(), call
            except SalstatsError as error:
                if key in _NEEDED:
                    raise
                self.skipped[key] = str(error)
        self.count(1)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keep what a step warns of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for subject, warning in distinct_warnings(caught).items():
            self.warnings.setdefault(subject, str(warning))


def run_analyses(
    scores: pd.DataFrame, settings: Settings, count: Callable[..., None] = not_counting
) -> Analyses:
    """Every analysis that the columns of `scores` allow."""
    done = Analyses(settings.unit_said, count)
    reference, unit = settings.reference, settings.unit
    average = "task" if several(scores, "task") else None
    drawn: dict[str, Any] = {
        "average": average, "unit": unit, "interval": settings.interval, "level": settings.level,
        "n_replicates": settings.n_replicates, "rng": settings.seed,
        "weights": settings.weights,
    }  # fmt: skip
    with done.watched():
        warn_of_doubtful_scores(ColumnCodes(scores), lambda row: f"scores, row {row + 1}")
    for caution, rows in rows_by_caution(scores).items():
        done.warnings[caution.name] = f"{counted(rows.sum(), 'score')}: {caution.note}"
    done.run("flow", ss.case_flow, scores, reference=reference, unit=unit)
    done.run("describe", ss.describe, scores, by=["metric", "method"], unit=unit)
    by = [c for c in DEFAULT_BY if c in scores.columns]
    of_means = settings.interval if settings.interval in interval_names("mean") else None
    done.run("means", ss.summarize, scores, by=by, **drawn | {"interval": of_means})
    options = drawn | {"test": settings.test}
    _run_best(done, scores, settings, options)
    if reference is not None:
        _run_contrasts(done, scores, settings, {"reference": reference, **options})
    if "prob" in scores.columns:
        _run_confidence(done, scores, settings)
    if settings.covariates:
        _run_covariates(done, scores, settings)
    return done


def _run_best(done: Analyses, scores: pd.DataFrame, settings: Settings, options: dict[str, Any]) -> None:
    """Compare every method with the one that has the best first mean, where there are several.

    Bonferroni's procedure over these comparisons makes up for choosing that method by the same scores.
    """
    best = compared_rows(first_means(done.frames["means"], settings.reference), settings.reference)
    if len(best) < 2:
        return
    metric, reference = (str(best[c].iloc[0]) for c in ("metric", "method"))
    compared, own = compared_methods(scores, settings), _compared(settings)
    by = [c for c in ("metric", "task") if c in scores.columns]
    options = {"by": by, "reference": reference, **options}

    def gaps() -> pd.DataFrame:
        found = ss.difference(compared[compared["metric"] == metric], **options)
        found = found[pooled_rows(found)].reset_index(drop=True) if options["average"] else found
        return ss.adjust(found, procedure="bonferroni") if "p_value" in found.columns else found

    rows = f"{own}[{own}['metric'] == {metric!r}]"
    found = "found[found['task'] == 'Average']" if options["average"] else "found"
    if settings.test != TESTS[-1]:
        found = call_text(ss.adjust, found, procedure="bonferroni")
    done.attempt("best", f"found = {done.call(ss.difference, rows, **options)}\n{found}", gaps)


def _run_contrasts(done: Analyses, scores: pd.DataFrame, settings: Settings, options: dict[str, Any]) -> None:
    """Compare every method with the reference.

    Whether a method differs is asked once, of the difference; the decrease tells the same in percent.
    """
    by = [c for c in ("metric", "task") if c in scores.columns]
    judged: dict[str, Any] = {"adjust": settings.adjust, "margin": settings.margin}
    done.run("difference", ss.difference, scores, by=by, **options, **judged)
    lowest = lowest_scores(scores)
    metrics = [m for m in metric_order(scores) if registered_metric(m) is not None and has_true_zero(m)]
    metrics = [m for m in metrics if not lowest[m] < 0]
    ratios = scores[scores["metric"].isin(metrics)]
    if len(ratios) and "difference" in done.frames:
        # Fieller's is the t interval of a ratio
        if settings.interval == "t":
            options = options | {"interval": "fieller"}
        of = "scores" if len(ratios) == len(scores) else f"scores[scores['metric'].isin({metrics})]"
        own = done.call(ss.percent_decrease, of, by=by, **options)
        difference = done.frames["difference"]
        done.attempt(
            "decrease",
            f"{assigned('difference', done.calls['difference'])}\n{_judged_call(own, difference)}",
            lambda: _judged(ss.percent_decrease(ratios, by=by, **options), difference),
        )


#: What a decrease takes from the difference: its test, its family and what is shown.
_JUDGED = (
    "statistic", "df", "p_value", "p_adjusted", "verdict", "test", "n_tests", "procedure", "p_floor",
    "p_adjusted_floor",
)  # fmt: skip


def _judged_columns(difference: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Columns that tell the rows of differences apart, and those that decreases take from them."""
    keys = list(difference.columns[: difference.columns.get_loc("term")])
    return keys, [c for c in _JUDGED if c in difference.columns]


def _judged(decrease: pd.DataFrame, difference: pd.DataFrame) -> pd.DataFrame:
    """Decreases with the P values, their family and the verdicts of the differences.

    A margin is one of differences, and what it shows is told of these.
    """
    keys, judged = _judged_columns(difference)
    own = decrease.drop(columns=judged, errors="ignore")
    sides = difference.assign(verdict=split_verdicts(difference["verdict"])[0])
    return own.merge(sides[[*keys, *judged]], on=keys, how="left", validate="one_to_one")


def _judged_call(decrease: str, difference: pd.DataFrame) -> str:
    """Python that does with a call of `percent_decrease` what `_judged` does with its frame."""
    keys, judged = _judged_columns(difference)
    lines = [f"tested = difference[{[*keys, *judged]}]"]
    if "p_margin" in difference.columns:
        sides = "difference['verdict'].str.extract('(lower|higher)', expand=False).fillna('inconclusive')"
        lines.append(f"tested = tested.assign(verdict={sides})")
    lines.append(f"decrease = {decrease}.drop(columns={judged}, errors='ignore')")
    lines.append(f"decrease.merge(tested, on={keys}, how='left')  # the difference's P values")
    return "\n".join(lines)


def _run_confidence(done: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Relate scores to the model's confidence, and the confidence to the truth."""
    task = ["task"] if "task" in scores.columns else []
    level, unit = settings.level, settings.unit
    if several(scores, "label"):
        done.run("auroc", ss.auroc, scores, "prob", "label", by=task or None, unit=unit, level=level)
    compared, by = compared_methods(scores, settings), ["method", *task]
    metrics = metric_order(compared)
    options: dict[str, Any] = {"by": by, "unit": unit, "level": level}
    of = _compared(settings)
    each = [f"    {done.call(ss.correlate, of, m, 'prob', **options)},\n" for m in metrics]
    done.attempt(
        "correlation",
        f"found = pd.concat([\n{''.join(each)}], ignore_index=True)\n"
        f"{call_text(ss.adjust, 'found', procedure=settings.adjust)}",
        lambda: ss.adjust(
            pd.concat([ss.correlate(compared, m, "prob", **options) for m in metrics], ignore_index=True),
            procedure=settings.adjust,
        ),
    )
    first = first_means(done.frames["means"], settings.reference)["metric"].iloc[0]
    formula = f"{_name(str(first))} ~ prob"
    done.run("confidence", ss.fit_line, compared, formula, of=of, by=by, unit=unit, level=level)


def _run_covariates(done: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Regress every score, and its gap to the reference, on each covariate with tasks held fixed."""
    columns = list(settings.covariates or ())
    scored = scores[scores["score"].notna()]
    by = ["task"] if "task" in scores.columns else None
    done.run("covariates", ss.letter_values, scored, columns, of=SCORED, by=by)
    # the task first: what does not vary within tasks is then the one that cannot be told
    adjustment = "task + " if several(scores, "task") else ""
    formulas = [f"{_name(m)} ~ {adjustment}{_name(c)}" for m in metric_order(scores) for c in columns]
    options: dict[str, Any] = {
        "by": "method",
        "unit": settings.unit,
        "level": settings.level,
        "weights": settings.weights if isinstance(settings.weights, str) else None,
    }
    reference = settings.reference

    def regressions() -> pd.DataFrame:
        # the range of a covariate is over the cases that are compared
        normalized = ss.normalize(scored, columns)
        terms = ss.regress(compared_methods(normalized, settings), formulas, **options)
        if reference is not None:
            gaps = ss.regress(normalized, formulas, reference=reference, **options)
            terms = pd.concat([terms, gaps], ignore_index=True)[list(gaps.columns)]
        terms = terms[terms["term"].isin(columns)].reset_index(drop=True)
        return ss.adjust(terms, procedure=settings.adjust)

    own = "normalized" if reference is None else f"normalized[normalized['method'] != {reference!r}]"
    said = [done.call(ss.regress, f"{own}, formulas", **options)]
    if reference is not None:
        said.append(done.call(ss.regress, "normalized, formulas", reference=reference, **options))
    each = "".join(f"    {call},\n" for call in said)
    call = (
        f"formulas = {formulas}\n"
        f"normalized = {call_text(ss.normalize, SCORED, columns)}\n"
        f"terms = pd.concat([\n{each}], ignore_index=True)\n"
        f"terms = terms[terms['term'].isin({columns})]\n"
        f"{call_text(ss.adjust, 'terms', procedure=settings.adjust)}"
    )
    done.attempt("regression", call, regressions)


def _compared(settings: Settings) -> str:
    """What a call names the scores of every method but the reference."""
    return "scores" if settings.reference is None else COMPARED


def _name(column: str) -> str:
    """Column's name as a formula takes it."""
    quote = "'" if '"' in column else '"'
    return column if column.isidentifier() else f"Q({quote}{column}{quote})"
