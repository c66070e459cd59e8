"""What a report computes: which analyses the columns at hand allow, and their frames."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

import salstats as ss
from salstats.checks import ColumnError, SalstatsError, SalstatsWarning, check_columns, quoted
from salstats.display.report.model import Choices, Settings
from salstats.display.text.labels import Labels
from salstats.frames import DEFAULT_BY, IDENTIFIER_COLUMNS, ColumnCodes, warn_of_range
from salstats.metrics.registry import has_true_zero, known_metric
from salstats.stats.design import resolve_unit
from salstats.study import HUMAN

#: Columns that are never covariates of a score.
_NOT_COVARIATES = (
    *IDENTIFIER_COLUMNS, "score", "label", "prob", "reason", "slice", "threshold", "cutoff", "smooth",
)  # fmt: skip
#: Pixels: what scores are made of, and sizes that the share of the image says better. By name only.
_PIXELS = ("tp", "fp", "fn", "tn", "height", "width", "area_px", "perimeter_px")
#: How gaze was scored: of the image or of the comparison, none of the map. By name only.
_OF_GAZE = ("phase", "n_readers", "n_unseen", "n_samples", "floor")
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

        def attempt() -> None:
            try:
                self.frames[key], self.calls[key] = compute(), call
            except SalstatsError as error:
                if needed:
                    raise
                self.skipped[key] = str(error)

        self.watch(attempt)

    def watch(self, step: Callable[[], None]) -> None:
        """Take a step and keep what it warns of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step()
        for warning in caught:
            text = str(warning.message)
            if issubclass(warning.category, SalstatsWarning) and text not in self.warnings:
                self.warnings.append(text)


def settings_for(scores: pd.DataFrame, choices: Choices) -> Settings:
    """Settings of a report on these scores, with what nobody chose filled in."""
    reference, covariates = choices.reference, choices.covariates
    methods = scores["method"].astype(str)
    if reference is not None and reference not in set(methods):
        raise SalstatsError(
            f"reference={reference!r} is none of the methods {quoted(sorted(methods.unique()))}"
        )
    for column in _ONE_VALUE:
        if several(scores, column):
            values = sorted(scores[column].dropna().astype(str).unique())
            raise SalstatsError(
                f"column {column!r} has {len(values)} values ({quoted(values[:3])}); a report is on one of "
                f"them at a time: pass only={{{column!r}: {values[0]!r}}} (--only {column}={values[0]})"
            )
    if not scores["score"].notna().any():
        raise SalstatsError(f"none of the {len(scores)} scores is defined, so there is nothing to report")
    units = resolve_unit(ColumnCodes(scores), choices.unit)
    if units.n < 2:
        raise SalstatsError(
            f"there is one {units.name} only, so nothing can be said of others; a report needs two or more"
        )
    if reference is None and HUMAN in set(methods) and methods.nunique() > 1:
        reference = HUMAN
    if covariates is None:
        covariates = list(_covariates(scores))
    else:
        covariates = [covariates] if isinstance(covariates, str) else list(covariates)
        check_columns(scores, covariates)
        keys = [c for c in covariates if c in _NOT_COVARIATES]
        if keys:
            raise ColumnError(f"column {quoted(keys)} is no covariate of a report; leave it out")
        text = [c for c in covariates if not pd.api.types.is_numeric_dtype(scores[c])]
        if text:
            raise ColumnError(f"covariate {quoted(text)} is not numeric; a report takes numeric covariates")
        fixed = [c for c in covariates if scores[c].nunique() < 2]
        if fixed:
            raise ColumnError(
                f"covariate {quoted(fixed)} does not vary, so no score can go with it; leave it out"
            )
    return Settings(
        reference=reference,
        unit=units.name,
        level=choices.level,
        interval=choices.interval,
        n_replicates=choices.n_replicates,
        seed=choices.rng,
        test=choices.test,
        adjust=choices.adjust,
        style=choices.style,
        covariates=tuple(covariates),
    )


def _covariates(scores: pd.DataFrame) -> Iterable[str]:
    """Yield the numeric columns that vary and are no key, no score and not the model's confidence."""
    one = scores.groupby([c for c in ("case", "task") if c in scores.columns], observed=True)
    for column in scores.columns:
        values = scores[column]
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        # what differs between the rows of one case and task, as a row number does, is no covariate of it
        candidate = column not in (*_NOT_COVARIATES, *_PIXELS, *_OF_GAZE) and numeric and values.nunique() > 1
        if candidate and one[column].nunique().max() <= 1:
            yield str(column)


def several(scores: pd.DataFrame, column: str) -> bool:
    """Whether a column is there and has more than one value."""
    return column in scores.columns and scores[column].nunique() > 1


def metric_order(scores: pd.DataFrame) -> list[str]:
    """Metrics at hand, those of the registry first and in its order."""
    return Labels().order("metric", sorted(scores["metric"].astype(str).unique()))


def run_analyses(scores: pd.DataFrame, settings: Settings) -> Analyses:
    """Every analysis that the columns of `scores` allow."""
    done = Analyses()
    done.watch(lambda: warn_of_range(scores, lambda row: f"scores, row {row + 1}"))
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
        f"ss.describe(scores, by=['metric', 'method'], unit={settings.unit!r})",
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
        drawn |= {"reference": reference, "average": average, "test": settings.test}
        _run_contrasts(done, scores, settings, drawn, text)
    if "prob" in scores.columns:
        _run_confidence(done, scores, settings)
    if settings.covariates:
        _run_covariates(done, scores, settings)
    return done


def _run_contrasts(
    done: Analyses, scores: pd.DataFrame, settings: Settings, options: dict[str, Any], text: str
) -> None:
    """Compare every method with the reference.

    Whether a method differs is asked once, of the difference; the decrease tells the same in percent.
    """
    by = [c for c in ("metric", "task") if c in scores.columns]
    said = f"reference={settings.reference!r}, by={by}, {text}, test={settings.test!r}, "
    done.run(
        "difference",
        f"ss.difference(scores, {said}adjust={settings.adjust!r})",
        lambda: ss.difference(scores, by=by, adjust=settings.adjust, **options),
    )
    ratios = scores[scores["metric"].isin([m for m in metric_order(scores) if _is_ratio(m)])]
    if len(ratios) and "difference" in done.frames:
        # Fieller's is the t interval of a ratio
        ratio = options | ({"interval": "fieller"} if settings.interval == "t" else {})
        chosen = "" if len(ratios) == len(scores) else "[scores['metric'].isin(...)]"
        done.run(
            "decrease",
            f"ss.percent_decrease(scores{chosen}, {said[:-2]})  # P values and verdicts of the difference",
            lambda: _judged(ss.percent_decrease(ratios, by=by, **ratio), done.frames["difference"]),
        )


def _is_ratio(metric: str) -> bool:
    """Whether a percentage of a metric is known to mean something."""
    return known_metric(metric) is not None and has_true_zero(metric)


def _judged(decrease: pd.DataFrame, difference: pd.DataFrame) -> pd.DataFrame:
    """Decreases with the P values, their family and the verdicts of the differences."""
    judged = ["statistic", "df", "p_value", "p_adjusted", "verdict", "test", "n_tests", "procedure"]
    judged = [c for c in judged if c in difference.columns]
    keys = list(difference.columns[: difference.columns.get_loc("term")])
    found = decrease[keys].merge(difference[[*keys, *judged]], on=keys, how="left", validate="one_to_one")
    own = decrease.drop(columns=[c for c in judged if c in decrease.columns])
    both = pd.concat([own, found[judged]], axis=1)
    order = [c for c in difference.columns if c in both.columns]
    return both[[*order, *(c for c in both.columns if c not in order)]]


def _run_confidence(done: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Relate scores to the model's confidence, and the confidence to the truth."""
    task = ["task"] if "task" in scores.columns else []
    if several(scores, "label"):
        done.run(
            "auroc",
            f"ss.auroc(scores, 'prob', 'label', by={task or None}, unit={settings.unit!r}, interval='logit', "
            f"level={settings.level})",
            lambda: ss.auroc(
                scores,
                "prob",
                "label",
                by=task or None,
                unit=settings.unit,
                interval="logit",
                level=settings.level,
            ),
        )
    compared = compared_methods(scores, settings)
    by = ["method", *task]
    metrics = metric_order(compared)
    first = first_cases(compared)
    once = "  # first_cases: one case per patient" if repeated_patients(compared) else ""
    correlated: dict[str, Any] = {"interval": "bonett-wright", "level": settings.level}
    done.run(
        "correlation",
        f"ss.adjust(pd.concat([ss.correlate(first_cases, metric, 'prob', by={by}, interval='bonett-wright', "
        f"level={settings.level}) for metric in {metrics}]), "
        f"procedure={settings.adjust!r}){once}",
        lambda: ss.adjust(
            pd.concat(
                [ss.correlate(first, m, "prob", by=by, **correlated) for m in metrics],
                ignore_index=True,
            ),
            procedure=settings.adjust,
        ),
    )
    formula = f"{_name(metrics[0])} ~ prob"
    done.run(
        "confidence",
        f"ss.fit_line(scores, {formula!r}, by={by}, errors='cr2', unit={settings.unit!r}, "
        f"level={settings.level})",
        lambda: ss.fit_line(compared, formula, by=by, errors="cr2", unit=settings.unit, level=settings.level),
    )


def _run_covariates(done: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Regress every score, and its gap to the reference, on each covariate with tasks held fixed."""
    by = ["task"] if "task" in scores.columns else None
    columns = list(settings.covariates)
    done.run(
        "covariates",
        f"ss.letter_values(scores[scores['score'].notna()], {columns}, by={by})",
        # of the cases that are compared: an absent finding has no size
        lambda: ss.letter_values(scores[scores["score"].notna()], columns, by=by),
    )
    # the task first: what does not vary within tasks is then the one that cannot be told
    adjustment = "task + " if several(scores, "task") else ""
    metrics = metric_order(scores)
    formulas = [f"{_name(m)} ~ {adjustment}{_name(c)}" for m in metrics for c in columns]
    options = f"by='method', errors='cr2', unit={settings.unit!r}, level={settings.level}"

    def regressions() -> pd.DataFrame:
        common: dict[str, Any] = {"by": "method", "errors": "cr2"}
        common |= {"unit": settings.unit, "level": settings.level}
        # the range of a covariate is over the cases that are compared
        normalized = ss.normalize(scores[scores["score"].notna()], columns)
        parts = [ss.regress(compared_methods(normalized, settings), formulas, **common)]
        if settings.reference is not None:
            parts.append(ss.regress(normalized, formulas, reference=settings.reference, **common))
        terms = pd.concat(parts, ignore_index=True)
        terms = terms[parts[-1].columns][terms["term"].isin(columns)].reset_index(drop=True)
        return ss.adjust(terms, procedure=settings.adjust)

    gap = f", and again with reference={settings.reference!r}" if settings.reference else ""
    done.run(
        "regression",
        f"ss.regress(ss.normalize(scores[scores['score'].notna()], {columns}), [{formulas[0]!r}, ...], "
        f"{options}){gap}; "
        f"then ss.adjust(covariates' terms, procedure={settings.adjust!r})",
        regressions,
    )


def compared_methods(scores: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Scores of every method but the reference."""
    return scores if settings.reference is None else scores[scores["method"] != settings.reference]


def repeated_patients(scores: pd.DataFrame) -> bool:
    """Whether a patient has several cases."""
    return "patient" in scores.columns and bool((scores.groupby("patient")["case"].nunique() > 1).any())


def first_cases(scores: pd.DataFrame) -> pd.DataFrame:
    """One score per patient (or case), since a correlation takes rows for independent.

    Of a patient's cases it is the first by id that has a score, for each method, metric and task; over
    seeds and readers of that case it is the mean.
    """
    defined = scores.dropna(subset=["score", "prob"])
    keys = [c for c in DEFAULT_BY if c in scores.columns]
    if repeated_patients(scores):
        first = defined.groupby(["patient", *keys], observed=True)["case"].transform("min")
        defined = defined[defined["case"] == first]
    groups = defined.groupby(["case", *keys], observed=True, sort=False, as_index=False)
    return groups[["score", "prob"]].mean() if defined.duplicated(["case", *keys]).any() else defined


def _name(column: str) -> str:
    """Column's name as a formula takes it."""
    quote = "'" if '"' in column else '"'
    return column if column.isidentifier() else f"Q({quote}{column}{quote})"
