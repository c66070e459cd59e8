"""Frames for tests of the report's words: small ones typed by hand, and those of the embedded study."""

import functools
import re
import warnings

import numpy as np
import pandas as pd
from report_text import frames_of

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.report.result_sentences import result_sentences
from salstats.display.report.settings import Settings
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels

COVARIATES = ("n_instances", "area_ratio", "elongation", "irrectangularity")
SETTINGS = Settings("human", "patient", n_replicates=1000, covariates=COVARIATES)


def mean_row(method, estimate, low=None, high=None, *, task=None, metric="iou", **other):
    """One row as `summarize` gives it."""
    row = {"metric": metric, "method": method, "task": task, "term": "mean", "estimate": estimate}
    row |= {"conf_low": low, "conf_high": high, "conf_level": 0.95, "interval": "percentile"}
    row |= {"unit": "patient", "n": 50, "n_missing": 0, "n_units": 40, "n_undefined": 0}
    return row | other


def contrast_row(method, estimate, low, high, verdict, *, task=None, metric="iou", p=0.001, **other):
    """One row as `percent_decrease` gives it."""
    row = {"metric": metric, "task": task, "method": method, "reference": "human"}
    row |= {"term": "percent_decrease", "estimate": estimate, "p_value": p, "p_adjusted": p}
    row |= {"conf_low": low, "conf_high": high, "conf_level": 0.95, "interval": "percentile"}
    row |= {"unit": "patient", "n": 50, "n_missing": 0, "n_units": 40, "n_undefined": 0}
    row |= {"reference_mean": 0.5, "method_mean": 0.4, "n_pairs": 50, "verdict": verdict}
    row |= {"test": "bootstrap", "n_replicates": 1000, "n_tests": 6, "procedure": "holm"}
    return row | other


def slope_row(method, covariate, estimate, p, *, metric="iou", reference=None, task=True, **other):
    """One row as `regress` gives it, with the adjustment of `adjust`."""
    row = {"method": method, "formula": f"{metric} ~ {covariate}{' + task' if task else ''}"}
    row |= {"term": covariate, "estimate": estimate, "std_error": 0.1, "p_value": p, "p_adjusted": p}
    row |= {"conf_low": estimate - 0.2, "conf_high": estimate + 0.2, "conf_level": 0.95, "interval": "t"}
    row |= {"unit": "patient", "n": 50, "n_missing": 0, "n_units": 40, "family": "gaussian"}
    row |= {"errors": "cr2", "exponentiated": False, "reference": reference, "n_tests": 4}
    return row | {"procedure": "holm"} | other


def correlation_row(method, estimate, p, *, task=None, metric="iou", **other):
    """One row as `correlate` gives it."""
    row = {"method": method, "task": task, "term": "spearman", "estimate": estimate, "p_value": p}
    row |= {"conf_low": estimate - 0.1, "conf_high": estimate + 0.1, "conf_level": 0.95}
    row |= {"interval": "fisher", "unit": "patient", "n": 40, "n_missing": 0, "n_units": 40}
    return row | {"x": metric, "y": "prob"} | other


def area_row(task, estimate, low=np.nan, high=np.nan, **other):
    """One row as `auroc` gives it."""
    row = {"task": task, "term": "auroc", "estimate": estimate, "p_value": 0.01, "conf_low": low}
    row |= {"conf_high": high, "conf_level": 0.95, "interval": "delong", "unit": "case", "n": 30}
    return row | {"predictor": "prob", "response": "label", "n_positive": 10, "n_negative": 20} | other


def frame(*rows):
    """Rows as a frame; a column that none of them fills is left out, as the functions do."""
    made = pd.DataFrame(list(rows))
    return made.drop(columns=[c for c in ("task", "reference") if c in made and made[c].isna().all()])


def five_tasks(**changes):
    """Grad-CAM against the human benchmark in tasks A to E and averaged over them, lower throughout."""
    rows = {
        name: contrast_row("gradcam", 30.0 + i, 20.0 + i, 40.0 + i, "lower", task=name)
        for i, name in enumerate("ABCDE")
    }
    rows["Average"] = contrast_row("gradcam", 37.4, 34.4, 40.2, "lower", task="Average", p=0.024)
    for name, change in changes.items():
        rows[name] |= change
    return frame(*rows.values())


def said(key, table, settings=SETTINGS, labels=None):
    """The result sentences of a frame as one text."""
    wording = Wording(settings, Labels(labels))
    return " ".join(result_sentences(key, read_estimates(table, key), wording))


@functools.cache
def simulated_frames():
    """The frames of a report on the embedded study."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.errors.SalstatsWarning)
        return frames_of(ss.datasets.load_simulated(), n_replicates=1000)


#: What no sentence may say: claims that the frames cannot carry, and missing values.
FORBIDDEN = re.compile(
    r"\b(significant\w*|prove[sn]?|caused?|because of|due to|confirm\w*|demonstrat\w+|clearly|trend|"
    r"outperform\w*|superior\w*|inferior\w*|equivalent|nan|None(?! of)|inf)\b"
)


def faults(text):
    """What is wrong with a sentence's form, or with what it claims."""
    found = [f"says {word!r}" for word in FORBIDDEN.findall(text)]
    if not text.endswith(".") or text.endswith(".."):
        found.append("has no full stop, or two")
    found += [
        f"has {mark!r}" for mark in ("  ", " ,", " .", " ;", "()", ",,", ";.", ":.", "—") if mark in text
    ]
    found += [f"unbalanced {a}{b}" for a, b in ("()", "[]") if text.count(a) != text.count(b)]
    # one thing in the plural, several in the singular
    if re.search(
        r"(?<![\d.,])1 (tasks|methods|metrics|cases|patients|scores|slopes|estimates|tests)\b", text
    ):
        found.append("counts one in the plural")
    if re.search(
        r"(?<![\d.,])([2-9]|\d\d+) (task|method|metric|case|patient|score|slope|estimate|test)\b", text
    ):
        found.append("counts several in the singular")
    if re.search(
        r"no difference(?! (between \S.*?was shown|from \S.*?was shown|was shown)|; | was shown)", text
    ):
        found.append("claims that there is no difference")
    return found
