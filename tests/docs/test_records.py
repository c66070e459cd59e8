"""What users choose by name has a reference entry, a test, and a line of news.

Tables of records are found in the package: a new one has to be listed here, with its page.
"""

import dataclasses
import importlib
import pkgutil
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import salstats

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Page of each table, from `docs`; the folder of papers has a page for each study.
PAGES = {
    "cli.app._STANDALONE": "reference/calls.md",
    "cli.commands.COMMANDS": "reference/calls.md",
    "display.export.figure_files.FIGURE_SUFFIXES": "howto/export.md",
    "display.tables.file_formats.TABLE_FORMATS": "howto/export.md",
    "display.text.format.STYLES": "howto/journals.md",
    "explain.methods.METHODS": "reference/methods.md",
    "files.frame_files.WRITABLE_SUFFIXES": "howto/export.md",
    "images.consensus.CONSENSUS_RULES": "reference/formats.md",
    "images.thresholds.THRESHOLDS": "reference/thresholds.md",
    "metrics.registry.METRICS": "reference/metrics.md",
    "readers.formats.FORMATS": "reference/formats.md",
    "stats.adjust.RECORDS": "reference/intervals.md",
    "stats.agreement.records.RECORDS": "reference/intervals.md",
    "stats.engine.coefficients.RECORDS": "reference/intervals.md",
    "stats.engine.effect_sizes.RECORDS": "reference/intervals.md",
    "stats.engine.intervals.RECORDS": "reference/intervals.md",
    "stats.engine.paired_tests.RECORDS": "reference/intervals.md",
    "stats.engine.rank_schemes.RECORDS": "reference/intervals.md",
    "stats.models.error_kinds.ERRORS": "reference/families.md",
    "stats.models.families.FAMILIES": "reference/families.md",
    "stats.mrmc.covariances.RECORDS": "reference/intervals.md",
    "stats.mrmc.figures_of_merit.RECORDS": "reference/intervals.md",
    "studies.declarations.KEYS": "papers",
}
TABLES = [
    pytest.param(table, marks=pytest.mark.torch if table.startswith("explain.") else ()) for table in PAGES
]
#: Classes of records that nobody chooses by name.
NOT_CHOSEN = {"Caution", "Option", "SectionPlan", "Signature", "StudyItem", "Term"}
#: Records of 0.2.0 and before that NEWS.md does not name. It names all later ones, so that this list stays.
OLD = {
    "cli.commands.COMMANDS": (
        "median-difference overlap quantile-regress rank-agreement rates significance-map"
    ),
    "display.export.figure_files.FIGURE_SUFFIXES": ".pdf .svg .png .tif .tiff",
    "display.tables.file_formats.TABLE_FORMATS": ".html .tex .docx .csv .png",
    "display.text.format.STYLES": "nature radiology ama brackets",
    "explain.methods.METHODS": (
        "gradcam++ eigencam scorecam layercam hirescam xgradcam ablationcam activation "
        "integrated_gradients input_x_gradient deeplift gradient_shap lrp occlusion lime "
        "kernel_shap rise attention_rollout"
    ),
    "files.frame_files.WRITABLE_SUFFIXES": ".csv .parquet .xlsx",
    "metrics.registry.METRICS": (
        "dice precision recall specificity hit hit_any ncc auc sauc auc_points sauc_points "
        "auc_judd nss information_gain sim kl map_sd map_iou map_ncc emd"
    ),
    "readers.formats.FORMATS": "chexlocalize",
    "stats.adjust.RECORDS": "holm hochberg hommel BH BY fdr",
    "stats.agreement.records.RECORDS": ("icc krippendorff cohen fleiss conger light ac1 ccc bland-altman"),
    "stats.engine.coefficients.RECORDS": "spearman pearson kendall",
    "stats.engine.intervals.RECORDS": (
        "order basic normal t delta jackknife bca studentized fieller woodruff mover rank_score "
        "bonett-wright obuchowski mcgraw-wong fleiss-cohen-everitt fleiss lin bland-altman "
        "obuchowski-rockette"
    ),
    "stats.engine.paired_tests.RECORDS": "t wilcoxon mcnemar",
    "stats.engine.rank_schemes.RECORDS": "median mean-rank median-rank",
    "stats.models.error_kinds.ERRORS": (
        "cluster classical hc0 hc2 hc3 mancl-derouen cr0 satterthwaite kenward-roger"
    ),
    "stats.mrmc.covariances.RECORDS": "jackknife unbiased",
    "stats.mrmc.figures_of_merit.RECORDS": "auc",
}


def records_of(value):
    """Return the records of a table: a mapping or a tuple of them."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value)


def names_of(table):
    """Return the names that users type for the records of a table."""
    module, _, attribute = table.rpartition(".")
    records = records_of(getattr(importlib.import_module(f"salstats.{module}"), attribute))
    if table == "display.tables.file_formats.TABLE_FORMATS":
        return [record.suffix for record in records]
    return [record if isinstance(record, str) else record.name for record in records]


def missing_names(names, text):
    """Return the names that a text does not have as words; endings may follow the name of a file."""
    missing = []
    for name in names:
        before = "" if name.startswith(".") else r"(?<![\w+.-])"
        if not re.search(rf"{before}{re.escape(name)}(?![\w+-])", text):
            missing.append(name)
    return missing


def code_in(text):
    """Return what stands between backticks."""
    return "\n".join(re.findall(r"`+([^`]+)`+", text))


@cache
def page_text(page):
    """Return a page with the lists that its cells make of records."""
    text = (DOCS / page).read_text()
    shown = [text]
    names = {}
    with pytest.MonkeyPatch.context() as patched:
        # what shows a page is not installed with the tests, and only the text of it matters here
        display = SimpleNamespace(Markdown=shown.append)
        patched.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
        patched.setitem(sys.modules, "IPython.display", display)
        patched.setattr(pd.DataFrame, "to_markdown", pd.DataFrame.to_csv)
        cells = re.findall(r"^```\{code-cell\} python\n:tags: \[remove-input\]\n(.*?)^```", text, re.M | re.S)
        for cell in cells:
            exec(cell, names)
    return "\n".join(shown)


@cache
def text_of_tests():
    """Return the text of all tests but this one."""
    files = [file for file in sorted((ROOT / "tests").rglob("*.py")) if file != Path(__file__)]
    return "\n".join(file.read_text() for file in files)


@pytest.mark.parametrize("table", TABLES)
def test_every_record_has_a_reference_entry(table):
    names = names_of(table)
    if PAGES[table] == "papers":
        assert [name for name in names if not (DOCS / "papers" / f"{name}.md").is_file()] == []
    else:
        assert missing_names(names, code_in(page_text(PAGES[table]))) == []


@pytest.mark.parametrize("table", TABLES)
def test_a_test_names_every_record(table):
    assert missing_names(names_of(table), text_of_tests()) == []


@pytest.mark.parametrize("table", TABLES)
def test_news_name_every_record_since_0_2_0(table):
    new = [name for name in names_of(table) if name not in OLD.get(table, "").split()]
    assert missing_names(new, code_in((ROOT / "NEWS.md").read_text())) == []


def test_every_table_of_records_is_checked_here():
    chosen = set()
    found = {}
    for module in pkgutil.walk_packages(salstats.__path__, "salstats."):
        if module.name.startswith("salstats.explain") or module.name.endswith("__main__"):
            continue
        for attribute, value in vars(importlib.import_module(module.name)).items():
            if not isinstance(value, Mapping | tuple) or attribute.startswith("__"):
                continue
            for record in records_of(value):
                if dataclasses.is_dataclass(record) and hasattr(record, "name"):
                    kind = type(record).__name__
                    table = f"{module.name.removeprefix('salstats.')}.{attribute}"
                    if table in PAGES:
                        chosen.add(kind)
                    elif not kind.startswith("_"):
                        found[kind] = table
    assert {kind: table for kind, table in found.items() if kind not in chosen | NOT_CHOSEN} == {}
