"""What users choose by name has a reference entry, a test, and a line of news.

Tables of records are found in the package: a new one has to be listed here, with its page.
"""

import ast
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
from salstats.display.tables.file_formats import TableFormat
from salstats.readers.formats import Format

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@dataclasses.dataclass(frozen=True)
class Registry:
    """The page of a table of records, from `docs`, and its tests, from `tests`."""

    page: str
    #: Files and folders in which a test quotes the name of a record.
    quoting: tuple[str, ...] = ()
    #: Files and folders in which a test calls the function of a record.
    calling: tuple[str, ...] = ()


#: The folder of papers has a page for each study.
REGISTRIES = {
    "cli.app._STANDALONE": Registry("reference/calls.md", ("command_line.py",)),
    "cli.commands.COMMANDS": Registry("reference/calls.md", ("command_line.py",)),
    "display.export.figure_files.FIGURE_SUFFIXES": Registry(
        "howto/export.md", ("display/export/test_figure_files.py",)
    ),
    "display.tables.file_formats.TABLE_FORMATS": Registry(
        "howto/export.md", ("display/export/test_table_files.py",)
    ),
    "display.text.format.STYLES": Registry("howto/journals.md", ("display/text/test_format.py",)),
    "explain.methods.METHODS": Registry(
        "reference/methods.md",
        (
            "explain/test_attention.py",
            "explain/test_cams.py",
            "explain/test_gradients.py",
            "explain/test_map_runs.py",
            "explain/test_perturbations.py",
            "explain/test_request.py",
            "explain/test_superpixels.py",
        ),
    ),
    "files.frame_files.WRITABLE_SUFFIXES": Registry(
        "howto/export.md", ("files/test_frame_files.py", "files/test_outputs.py")
    ),
    "images.consensus.CONSENSUS_RULES": Registry("reference/formats.md", ("images/test_consensus.py",)),
    "images.thresholds.THRESHOLDS": Registry("reference/thresholds.md", ("images/test_thresholds.py",)),
    "metrics.registry.METRICS": Registry(
        "reference/metrics.md",
        # the metrics of several maps are computed together, those of Saliency-Bench by one function
        ("scoring/test_repeatability.py", "scoring/test_xaibenchmark.py"),
        calling=("metrics", "explain/test_faithfulness.py"),
    ),
    "readers.formats.FORMATS": Registry(
        "reference/formats.md", ("readers/test_case_folders.py",), calling=("readers",)
    ),
    "stats.adjust.RECORDS": Registry(
        "reference/intervals.md",
        ("stats/test_adjust.py", "stats/test_comparison_frames.py", "stats/models/test_margins.py"),
    ),
    "stats.agreement.records.RECORDS": Registry(
        "reference/intervals.md", ("stats/agreement/test_estimates.py",)
    ),
    "stats.engine.coefficients.RECORDS": Registry("reference/intervals.md", ("stats/test_correlation.py",)),
    "stats.engine.effect_sizes.RECORDS": Registry(
        "reference/intervals.md", ("stats/engine/test_effect_sizes.py",)
    ),
    "stats.engine.intervals.RECORDS": Registry(
        "reference/intervals.md",
        (
            "stats/engine/test_intervals.py",
            "stats/engine/test_limits.py",
            "stats/agreement/test_estimates.py",
            "stats/models/test_quantile_regression.py",
            "stats/mrmc/test_method_comparison.py",
            "stats/test_auroc.py",
            "stats/test_medians.py",
        ),
        calling=("stats/engine/test_limits.py",),
    ),
    "stats.engine.paired_tests.RECORDS": Registry(
        "reference/intervals.md", ("stats/engine/test_paired_tests.py",)
    ),
    "stats.engine.rank_schemes.RECORDS": Registry(
        "reference/intervals.md", ("stats/engine/test_rank_schemes.py",)
    ),
    "stats.models.error_kinds.ERRORS": Registry(
        "reference/families.md",
        (
            "stats/models/test_error_kinds.py",
            "stats/models/test_gee.py",
            "stats/models/test_marginal_hypotheses.py",
            "stats/models/test_sampling.py",
        ),
    ),
    "stats.models.families.FAMILIES": Registry("reference/families.md", ("stats/models/test_families.py",)),
    "stats.mrmc.covariances.RECORDS": Registry("reference/intervals.md", ("stats/mrmc/test_designs.py",)),
    "stats.mrmc.figures_of_merit.RECORDS": Registry(
        "reference/intervals.md", ("stats/mrmc/test_figures_of_merit.py", "stats/mrmc/test_analysis.py")
    ),
    "studies.declarations.KEYS": Registry("papers", ("studies/test_reproduction.py",)),
}
TABLES = [
    pytest.param(table, marks=pytest.mark.torch if table.startswith("explain.") else ())
    for table in REGISTRIES
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


def table_of(name):
    """Return a table of the package."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"salstats.{module}"), attribute)


def name_of(record):
    """Return the name that users type for a record."""
    if isinstance(record, str):
        return record
    return record.suffix if isinstance(record, TableFormat) else record.name


def names_of(table):
    """Return the names that users type for the records of a table."""
    return [name_of(record) for record in records_of(table_of(table))]


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


def files_at(places):
    """Return the files of tests in files and folders."""
    files = []
    for place in places:
        path = ROOT / "tests" / place
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return files


@cache
def tree_of(file):
    """Return the syntax of a file."""
    return ast.parse(file.read_text())


def strings_in(file):
    """Return the strings of a file but for columns of frames and parameters of tests."""
    strings = set()
    skipped = set()
    for node in ast.walk(tree_of(file)):
        match node:
            case ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Constant() as column])):
                skipped.add(column)
            case ast.Subscript(slice=ast.Constant() as column):
                skipped.add(column)
            case ast.Subscript(slice=ast.List(elts=columns)):
                skipped.update(columns)
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[parameters, *_]):
                skipped.update(ast.walk(parameters))
            case ast.Constant(value=str()):
                strings.add(node)
    return {node.value for node in strings - skipped}


def functions_in(file):
    """Return the names of functions of salstats that a file calls or hands on."""
    nodes = list(ast.walk(tree_of(file)))
    modules = set()
    imported = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "salstats":
            folder = ROOT.joinpath(*node.module.split("."))
            for alias in node.names:
                is_module = (folder / alias.name).is_dir() or (folder / f"{alias.name}.py").is_file()
                names = modules if is_module else imported
                names.add(alias.asname or alias.name)
    functions = set()
    for node in nodes:
        match node:
            case ast.Name(id=name) if name in imported:
                functions.add(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
                functions.add(name)
    return functions


def untested(table, records):
    """Return the names of records that the tests of a table neither quote nor call."""
    registry = REGISTRIES[table]
    strings = set().union(*map(strings_in, files_at(registry.quoting)))
    strings |= {Path(string).suffix for string in strings}
    functions = set().union(*map(functions_in, files_at(registry.calling)))
    missing = []
    for record in records:
        function = record.reader if isinstance(record, Format) else name_of(record)
        if name_of(record) not in strings and function not in functions:
            missing.append(name_of(record))
    return missing


@pytest.mark.parametrize("table", TABLES)
def test_every_record_has_a_reference_entry(table):
    names = names_of(table)
    if REGISTRIES[table].page == "papers":
        assert [name for name in names if not (DOCS / "papers" / f"{name}.md").is_file()] == []
    else:
        assert missing_names(names, code_in(page_text(REGISTRIES[table].page))) == []


@pytest.mark.parametrize("table", TABLES)
def test_a_test_names_every_record(table):
    records = records_of(table_of(table))
    if table == "metrics.registry.METRICS":
        # one without a kernel is only a label of scores that were computed elsewhere
        records = [record for record in records if record.kernel is not None]
    assert untested(table, records) == []


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("cli.commands.COMMANDS", "check"),
        ("images.thresholds.THRESHOLDS", "half"),
        ("metrics.registry.METRICS", "area"),
        ("metrics.registry.METRICS", "overlap"),
        ("stats.engine.intervals.RECORDS", "count"),
        ("stats.models.families.FAMILIES", "linear"),
    ],
)
def test_a_word_that_tests_use_otherwise_is_no_test_of_a_record(table, word):
    record = dataclasses.replace(records_of(table_of(table))[0], name=word)
    assert untested(table, [record]) == [word]


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
                    if table in REGISTRIES:
                        chosen.add(kind)
                    elif not kind.startswith("_"):
                        found[kind] = table
    assert {kind: table for kind, table in found.items() if kind not in chosen | NOT_CHOSEN} == {}
