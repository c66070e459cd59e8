"""What a report computes: which analyses the columns at hand allow, and their frames."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

import salstats as ss
from salstats.checks import ColumnError, SalstatsError, SalstatsWarning, check_columns, quoted
from salstats.display.report.model import Settings
from salstats.frames import DEFAULT_BY, IDENTIFIER_COLUMNS, check_scores
from salstats.metrics.registry import METRICS, has_true_zero
from salstats.stats.units import resolve_unit

#: Method that is the reference where nobody names another.
_HUMAN = "human"
#: Columns that are never covariates of a score.
_NOT_COVARIATES = (*IDENTIFIER_COLUMNS, "score", "label", "prob", "reason")
#: Columns of which a report takes one value at a time: their means would mix what is not alike.
_ONE_VALUE = ("dataset", "model")


@dataclass
class Analyses:
    """Frames of a report and how they came about.

    Attributes
    ----------
    frames : dict of str to DataFrame
        Result of each analysis that was run.
    calls : dict of str to str
        The Python call that gives each frame.
    skipped : dict of str to str
        Why an analysis that the columns would allow was not run.
    warnings : list of str
        What the analyses warned of, each once.
    """

    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def run(self, key: str, call: str, compute: Callable[[], pd.DataFrame], *, needed: bool = False) -> None:
        """Run one analysis; one that cannot be run is noted with its reason, unless the report needs it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.frames[key], self.calls[key] = compute(), call
            except SalstatsError as error:
                if needed:
                    raise
                self.skipped[key] = str(error)
        for warning in caught:
            text = str(warning.message)
            if issubclass(warning.category, SalstatsWarning) and text not in self.warnings:
                self.warnings.append(text)


def settings_for(
    scores: pd.DataFrame,
    *,
    reference: str | None,
    unit: str | None,
    covariates: Sequence[str] | None,
    **choices: Any,
) -> Settings:
    """Return the settings of a report on these scores, with what nobody chose filled in."""
    check_scores(scores)
    methods = scores["method"].astype(str)
    if reference is not None and reference not in set(methods):
        raise SalstatsError(
            f"reference={reference!r} is none of the methods {quoted(sorted(methods.unique()))}"
        )
    for column in _ONE_VALUE:
        if column in scores.columns and scores[column].nunique() > 1:
            values = sorted(scores[column].dropna().astype(str).unique())
            raise SalstatsError(
                f"column {column!r} has {len(values)} values ({quoted(values[:3])}); a report is on one of "
                f"them at a time: pass only={{{column!r}: {values[0]!r}}} (--only {column}={values[0]})"
            )
    if reference is None and _HUMAN in set(methods) and methods.nunique() > 1:
        reference = _HUMAN
    if covariates is None:
        covariates = list(_covariates(scores))
    else:
        check_columns(scores, covariates)
        text = [c for c in covariates if not pd.api.types.is_numeric_dtype(scores[c])]
        if text:
            raise ColumnError(f"covariate {quoted(text)} is not numeric; a report takes numeric covariates")
    return Settings(
        reference=reference,
        unit=resolve_unit(scores, unit).name,
        covariates=tuple(covariates),
        **choices,
    )


def _covariates(scores: pd.DataFrame) -> Iterable[str]:
    """Yield the numeric columns that vary and are no key, no score and not the model's confidence."""
    for column in scores.columns:
        values = scores[column]
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if column not in _NOT_COVARIATES and numeric and values.nunique() > 1:
            yield str(column)


def several(scores: pd.DataFrame, column: str) -> bool:
    """Return whether a column is there and has more than one value."""
    return column in scores.columns and scores[column].nunique() > 1


def metric_order(scores: pd.DataFrame) -> list[str]:
    """Return the metrics at hand, those of the registry first and in its order."""
    known = {name: i for i, name in enumerate(METRICS)}
    return sorted(scores["metric"].astype(str).unique(), key=lambda m: (known.get(m, len(known)), m))


def run_analyses(scores: pd.DataFrame, settings: Settings) -> Analyses:
    """Return every analysis that the columns of `scores` allow."""
    done = Analyses()
    by = [c for c in DEFAULT_BY if c in scores.columns]
    average = "task" if several(scores, "task") else None
    drawn: dict[str, Any] = {
        "unit": settings.unit,
        "interval": settings.interval,
        "level": settings.level,
        "n_replicates": settings.n_replicates,
        "rng": settings.seed,
    }
    text = ", ".join(f"{name}={value!r}" for name, value in {"average": average, **drawn}.items())
    reference = settings.reference
    done.run(
        "flow",
        f"ss.case_flow(scores, reference={reference!r}, unit={settings.unit!r})",
        lambda: ss.case_flow(scores, reference=reference, unit=settings.unit),
        needed=True,
    )
    done.run(
        "describe",
        "ss.describe(scores, by=['metric', 'method'])",
        lambda: ss.describe(scores, by=["metric", "method"], unit=settings.unit),
        needed=True,
    )
    done.run(
        "means",
        f"ss.summarize(scores, by={by}, {text})",
        lambda: ss.summarize(scores, by=by, average=average, **drawn),
        needed=True,
    )
    if reference is not None:
        drawn |= {"reference": reference, "adjust": settings.adjust, "average": average}
        _run_contrasts(done, scores, settings, drawn, text)
    if "prob" in scores.columns:
        _run_confidence(done, scores, settings)
    if settings.covariates:
        _run_covariates(done, scores, settings)
    return done


def _run_contrasts(
    done: Analyses, scores: pd.DataFrame, settings: Settings, options: dict[str, Any], text: str
) -> None:
    """Compare every method with the reference."""
    by = [c for c in ("metric", "task") if c in scores.columns]
    ratios = scores[scores["metric"].map(has_true_zero).astype(bool)]
    said = f"reference={settings.reference!r}, by={by}, {text}, adjust={settings.adjust!r}"
    if len(ratios):
        only = "" if len(ratios) == len(scores) else "  # metrics whose zero means none"
        done.run(
            "decrease",
            f"ss.percent_decrease(scores, {said}){only}",
            lambda: ss.percent_decrease(ratios, by=by, **options),
        )
    done.run("difference", f"ss.difference(scores, {said})", lambda: ss.difference(scores, by=by, **options))


def _run_confidence(done: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Relate scores to the model's confidence, and the confidence to the truth."""
    task = ["task"] if "task" in scores.columns else []
    if several(scores, "label"):
        done.run(
            "auroc",
            f"ss.auroc(scores, 'prob', 'label', by={task or None}, unit={settings.unit!r})",
            lambda: ss.auroc(
                scores, "prob", "label", by=task or None, unit=settings.unit, level=settings.level
            ),
        )
    compared = compared_methods(scores, settings)
    by = ["method", *task]
    metrics = metric_order(compared)
    first = first_cases(compared, settings.unit)
    once = "" if len(first) == len(compared) else f"  # first_cases: one case per {settings.unit}"
    done.run(
        "correlation",
        f"ss.adjust(pd.concat([ss.correlate(first_cases, metric, 'prob', by={by}) for metric in {metrics}]), "
        f"procedure={settings.adjust!r}){once}",
        lambda: ss.adjust(
            pd.concat(
                [ss.correlate(first, m, "prob", by=by, level=settings.level) for m in metrics],
                ignore_index=True,
            ),
            procedure=settings.adjust,
        ),
    )
    formula = f"{_name(metrics[0])} ~ prob"
    done.run(
        "confidence",
        f"ss.fit_line(scores, {formula!r}, by={by}, errors='cr2', unit={settings.unit!r})",
        lambda: ss.fit_line(compared, formula, by=by, errors="cr2", unit=settings.unit, level=settings.level),
    )


def _run_covariates(done: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Regress every score, and its gap to the reference, on each covariate with tasks held fixed."""
    by = ["task"] if "task" in scores.columns else None
    columns = list(settings.covariates)
    done.run(
        "covariates",
        f"ss.letter_values(scores, {columns}, by={by})",
        lambda: ss.letter_values(scores, columns, by=by),
    )
    adjustment = " + task" if several(scores, "task") else ""
    metrics = metric_order(scores)
    formulas = [f"{_name(m)} ~ {_name(c)}{adjustment}" for m in metrics for c in columns]
    options = f"by='method', errors='cr2', unit={settings.unit!r}"

    def regressions() -> pd.DataFrame:
        common: dict[str, Any] = {"by": "method", "errors": "cr2"}
        common |= {"unit": settings.unit, "level": settings.level}
        normalized = ss.normalize(scores, columns)
        parts = [ss.regress(compared_methods(normalized, settings), formulas, **common)]
        if settings.reference is not None:
            parts.append(ss.regress(normalized, formulas, reference=settings.reference, **common))
        terms = pd.concat(parts, ignore_index=True)
        terms = terms[parts[-1].columns][terms["term"].isin(columns)].reset_index(drop=True)
        return ss.adjust(terms, procedure=settings.adjust)

    gap = f", and again with reference={settings.reference!r}" if settings.reference else ""
    done.run(
        "regression",
        f"ss.regress(ss.normalize(scores, {columns}), [{formulas[0]!r}, ...], {options}){gap}; "
        f"then ss.adjust(covariates' terms, procedure={settings.adjust!r})",
        regressions,
    )


def compared_methods(scores: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the scores of every method but the reference."""
    return scores if settings.reference is None else scores[scores["method"] != settings.reference]


def first_cases(scores: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the scores of each unit's first case by id, since a correlation takes rows for independent."""
    if unit == "case" or "case" not in scores.columns:
        return scores
    return scores[scores["case"] == scores.groupby(unit, observed=True)["case"].transform("min")]


def _name(column: str) -> str:
    """Return a column's name as a formula takes it."""
    return column if column.isidentifier() else f'Q("{column}")'
