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
from salstats.metrics.records import Metric
from salstats.readers.formats import Format
from salstats.stats.engine import limits
from salstats.stats.engine.intervals import Interval

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@dataclasses.dataclass(frozen=True)
class Registry:
    """Where the records of a table are documented and tested."""

    #: The page, from `docs`; the folder of papers has one for each study.
    page: str
    #: The argument, option or command before the name of a record where a user types it.
    option: str
    #: Files and folders, from `tests`, in which tests choose a record by its name.
    choosing: tuple[str, ...] = ()
    #: Lists, parameters and functions to which tests give its name there, besides the option.
    given_to: tuple[str, ...] = ()
    #: Files and folders in which tests call the function of a record.
    calling: tuple[str, ...] = ()


REGISTRIES = {
    "cli.app._STANDALONE": Registry(
        "reference/calls.md", "salstats", ("command_line.py",), given_to=("COMMANDS",)
    ),
    "cli.commands.COMMANDS": Registry(
        "reference/calls.md", "salstats", ("command_line.py",), given_to=("COMMANDS",)
    ),
    "display.export.figure_files.FIGURE_SUFFIXES": Registry(
        "howto/export.md",
        "save_figure",
        ("display/export/test_figure_files.py",),
        given_to=("suffix",),
    ),
    "display.tables.file_formats.TABLE_FORMATS": Registry(
        "howto/export.md",
        "save_table",
        ("display/export/test_table_files.py", "display/export/test_table_png.py"),
        given_to=("STARTS",),
    ),
    "display.text.format.STYLES": Registry(
        "howto/journals.md", "style", ("display/text/test_format.py",), given_to=("p_text",)
    ),
    "explain.methods.METHODS": Registry(
        "reference/methods.md",
        "method",
        (
            "explain/test_attention.py",
            "explain/test_cams.py",
            "explain/test_gradients.py",
            "explain/test_perturbations.py",
            "explain/test_request.py",
            "explain/test_superpixels.py",
        ),
        given_to=("METHODS", "ask"),
    ),
    "files.frame_files.WRITABLE_SUFFIXES": Registry(
        "howto/export.md", "write_frame", ("files/test_frame_files.py",), given_to=("suffix",)
    ),
    "images.consensus.CONSENSUS_RULES": Registry(
        "reference/formats.md", "truth", ("images/test_consensus.py",), given_to=("consensus",)
    ),
    "images.thresholds.THRESHOLDS": Registry(
        "reference/thresholds.md",
        "threshold",
        ("images/test_maps.py", "images/test_thresholds.py"),
        given_to=("LIBRARY",),
    ),
    "metrics.registry.METRICS": Registry(
        "reference/metrics.md",
        "metrics",
        # the metrics of several maps are computed together, those of Saliency-Bench by one function
        (
            "metrics/test_curves.py",
            "metrics/test_fixation.py",
            "scoring/test_repeatability.py",
            "scoring/test_xaibenchmark.py",
        ),
        given_to=("AGAINST_DENSITY", "METRICS", "expected_scores"),
        calling=("metrics",),
    ),
    "readers.formats.FORMATS": Registry(
        "reference/formats.md", "format", ("readers/test_case_folders.py",), calling=("readers",)
    ),
    "stats.adjust.RECORDS": Registry(
        "reference/intervals.md",
        "adjust",
        ("stats/test_adjust.py", "stats/test_comparison_frames.py", "stats/models/test_margins.py"),
        given_to=("procedure", "adjust_p_values"),
    ),
    "stats.agreement.records.RECORDS": Registry(
        "reference/intervals.md", "kind", ("stats/agreement/test_estimates.py",)
    ),
    "stats.engine.coefficients.RECORDS": Registry(
        "reference/intervals.md", "test", ("stats/test_correlation.py",)
    ),
    "stats.engine.effect_sizes.RECORDS": Registry(
        "reference/intervals.md",
        "effect_size",
        ("stats/engine/test_effect_sizes.py",),
        given_to=("name",),
    ),
    "stats.engine.intervals.RECORDS": Registry(
        "reference/intervals.md",
        "interval",
        (
            "stats/engine/test_intervals.py",
            "stats/engine/test_limits.py",
            "stats/agreement/test_estimates.py",
            "stats/models/test_quantile_regression.py",
            "stats/test_auroc.py",
            "stats/test_medians.py",
        ),
        given_to=("interval_by_name", "limits_of", "name"),
        calling=("stats/engine/test_limits.py",),
    ),
    "stats.engine.paired_tests.RECORDS": Registry(
        "reference/intervals.md", "test", ("stats/engine/test_paired_tests.py",)
    ),
    "stats.engine.rank_schemes.RECORDS": Registry(
        "reference/intervals.md", "scheme", ("stats/engine/test_rank_schemes.py",), given_to=("SIGNS",)
    ),
    "stats.models.error_kinds.ERRORS": Registry(
        "reference/families.md",
        "errors",
        (
            "stats/models/test_error_kinds.py",
            "stats/models/test_gee.py",
            "stats/models/test_marginal_hypotheses.py",
            "stats/models/test_sampling.py",
        ),
    ),
    "stats.models.families.FAMILIES": Registry("reference/families.md", "family", ("stats/models",)),
    "stats.mrmc.covariances.RECORDS": Registry(
        "reference/intervals.md",
        "covariance",
        ("stats/mrmc/test_designs.py", "stats/mrmc/test_method_comparison.py"),
        given_to=("BY_NAME",),
    ),
    "stats.mrmc.figures_of_merit.RECORDS": Registry(
        "reference/intervals.md",
        "figure",
        ("stats/mrmc/test_figures_of_merit.py", "stats/mrmc/test_analysis.py"),
    ),
    "studies.declarations.KEYS": Registry(
        "papers", "reproduce", ("studies/test_reproduction.py",), given_to=("GRID",)
    ),
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
        "agreement auroc correlate decrease difference features median-difference medians mrmc overlap "
        "power quantile-regress rank-agreement ranks rates read segment significance-map tune"
    ),
    "display.export.figure_files.FIGURE_SUFFIXES": ".pdf .svg .png .tif .tiff",
    "display.tables.file_formats.TABLE_FORMATS": ".html .tex .docx .csv .png",
    "display.text.format.STYLES": "nature radiology ama brackets",
    "explain.methods.METHODS": (
        "gradcam gradcam++ eigencam scorecam layercam hirescam xgradcam ablationcam activation "
        "integrated_gradients input_x_gradient deeplift gradient_shap lrp occlusion lime "
        "kernel_shap rise attention_rollout"
    ),
    "files.frame_files.WRITABLE_SUFFIXES": ".csv .parquet .xlsx",
    "images.consensus.CONSENSUS_RULES": "majority",
    "metrics.registry.METRICS": (
        "iou dice precision recall specificity mcc hit hit_any energy hausdorff hd95 assd nsd boundary_iou "
        "pdc ncc sncc auc sauc auc_points sauc_points auc_judd nss information_gain sim kl insertion "
        "deletion map_sd map_iou map_ncc emd"
    ),
    "readers.formats.FORMATS": "maps chexlocalize mrxai2025 saliency_bench",
    "stats.adjust.RECORDS": "holm hochberg hommel BH BY fdr none",
    "stats.agreement.records.RECORDS": ("icc krippendorff cohen fleiss conger light ac1 ccc bland-altman"),
    "stats.engine.coefficients.RECORDS": "spearman pearson kendall",
    "stats.engine.intervals.RECORDS": (
        "order basic normal t cr2 wilson_t wild wilson exact logit bootstrap_t_log delta jackknife bca "
        "studentized fieller woodruff mover rank_score bonett-wright obuchowski mcgraw-wong "
        "fleiss-cohen-everitt fleiss lin bland-altman obuchowski-rockette wald"
    ),
    "stats.engine.paired_tests.RECORDS": "bootstrap t cr2 wilcoxon mcnemar signflip wild",
    "stats.engine.rank_schemes.RECORDS": "mean median mean-rank median-rank",
    "stats.models.error_kinds.ERRORS": (
        "cluster classical hc0 hc1 hc2 hc3 mancl-derouen cr0 satterthwaite kenward-roger"
    ),
    "stats.models.families.FAMILIES": "gaussian binomial fractional ordered-beta zero-one-inflated-beta",
    "stats.mrmc.covariances.RECORDS": "jackknife bootstrap delong unbiased",
    "stats.mrmc.figures_of_merit.RECORDS": "mean auc",
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


def is_entry(name, page):
    """Return whether a page has a name alone between backticks, as the text of a link, or beside endings."""
    return re.search(rf"`(\.\w+ )*{re.escape(name)}( \.\w+| <[\w.]+>)*`", page) is not None


def is_typed(name, option, text):
    """Return whether a text has a name as users type it: `option="name"`, `--option name`, or in such a list.

    The ending of a file stands alone.
    """
    if name.startswith("."):
        return is_entry(name, text)
    # code that is listed is read as one piece: `option="first"`, `"second"` and `"third"`
    code = "\n".join(re.findall(r"`([^`]+)`", re.sub(r"`,?\s+(and )?`", ", ", text)))
    quoted = rf'\b{option}[=(\[]+("[^"]*"(,\s+| \| ))*"{re.escape(name)}"'
    plain = rf"\b{option} ([\w.-]+(, | \| ))*{re.escape(name)}(?![\w+=(.-])"
    return re.search(f"{quoted}|{plain}", code) is not None


@cache
def page_tables(page):
    """Return the tables of a page, also those that its cells make of records."""
    text = (DOCS / page).read_text()
    shown = [line for line in text.splitlines() if line.startswith("|")]
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


def strings_in(values, place=0):
    """Return a string, or those of a list, of the keys of a dict, and at one place of the tuples in these."""
    match values:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.BinOp(op=ast.Div(), right=ast.Constant(value=str(file))):
            return {Path(file).suffix}
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(keys=items):
            strings = set()
        case _:
            return set()
    for item in items:
        match item:
            case ast.Starred(value=others):
                strings |= strings_in(others, place)
            case ast.Tuple(elts=row) | ast.Call(args=row):
                strings |= set().union(*map(strings_in, row[place : place + 1]))
            case _:
                strings |= strings_in(item)
    return strings


def strings_given(tree, names):
    """Return the strings that code gives to arguments, parameters, variables and functions of some names."""
    strings = set()
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=name, value=values) if name in names:
                strings |= strings_in(values)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in names:
                        strings |= strings_in(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=values) if name in names:
                strings |= strings_in(values)
            case ast.Subscript(value=ast.Name(id=name), slice=values) if name in names:
                strings |= strings_in(values)
            case ast.For(target=target, iter=values):
                variables = target.elts if isinstance(target, ast.Tuple) else [target]
                for place, variable in enumerate(variables):
                    if isinstance(variable, ast.Name) and variable.id in names:
                        strings |= strings_in(values, place)
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[parameters, values, *_]):
                parameters = ast.literal_eval(parameters)
                if isinstance(parameters, str):
                    parameters = (parameters,)
                for place, parameter in enumerate(parameters):
                    if parameter in names:
                        strings |= strings_in(values, place)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=values) if name in names:
                strings |= set().union(*map(strings_in, values))
    return strings


@cache
def functions_in(file):
    """Return the functions that a file calls or hands on, each with the module that it takes them from."""
    nodes = list(ast.walk(tree_of(file)))
    modules = {}
    imported = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "salstats":
            folder = ROOT.joinpath(*node.module.split("."))
            for alias in node.names:
                name = alias.asname or alias.name
                if (folder / alias.name).is_dir() or (folder / f"{alias.name}.py").is_file():
                    modules[name] = f"{node.module}.{alias.name}"
                else:
                    imported[name] = (node.module, alias.name)
    functions = set()
    for node in nodes:
        match node:
            case ast.Name(id=name) if name in imported:
                functions.add(imported[name])
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
                functions.add((modules[module], name))
    return functions


def function_of(record):
    """Return the module and the name of the function that computes or reads a record; None without one."""
    match record:
        case Format():
            return f"salstats.readers.{record.module}", record.reader
        case Interval():
            return limits.__name__, record.name
        case Metric():
            return record.kernel.__module__, record.name
    return None


def is_called(function, functions):
    """Return whether a function is among functions that come from its module, or from a folder above it."""
    module, name = function
    return any(name == other and f"{module}.".startswith(f"{source}.") for source, other in functions)


def untested(table, records):
    """Return the names of records that the tests of a table neither choose nor call."""
    registry = REGISTRIES[table]
    names = {registry.option, *registry.given_to}
    chosen = set()
    for file in files_at(registry.choosing):
        chosen |= strings_given(tree_of(file), names)
    called = set().union(*map(functions_in, files_at(registry.calling)))
    missing = []
    for record in records:
        function = function_of(record)
        is_tested = name_of(record) in chosen or (function is not None and is_called(function, called))
        if not is_tested:
            missing.append(name_of(record))
    return missing


def undocumented(table, names):
    """Return the names that the page of a table does not have."""
    registry = REGISTRIES[table]
    if registry.page == "papers":
        return [name for name in names if not (DOCS / "papers" / f"{name}.md").is_file()]
    text = page_tables(registry.page)
    if registry.option == "salstats":
        return [name for name in names if not is_typed(name, "salstats", text)]
    return [name for name in names if not is_entry(name, text)]


def without_news(table, names):
    """Return the names that NEWS.md does not have as users type them."""
    news = (ROOT / "NEWS.md").read_text()
    registry = REGISTRIES[table]
    option = "|".join((registry.option, *registry.given_to))
    return [name for name in names if not is_typed(name, f"({option})", news)]


@pytest.mark.parametrize("table", TABLES)
def test_every_record_has_a_reference_entry(table):
    page = REGISTRIES[table].page
    missing = undocumented(table, names_of(table))
    assert missing == [], f"docs/{page} has no entry of these"


@pytest.mark.parametrize("table", TABLES)
def test_a_test_names_every_record(table):
    records = records_of(table_of(table))
    if table == "metrics.registry.METRICS":
        # one without a kernel is only a label of scores that were computed elsewhere
        records = [record for record in records if record.kernel is not None]
    missing = untested(table, records)
    registry = REGISTRIES[table]
    files = ", ".join(registry.choosing + registry.calling)
    receivers = ", ".join((registry.option, *registry.given_to))
    assert missing == [], f"no test in {files} gives these to one of {receivers}, or calls their function"


@pytest.mark.parametrize("table", TABLES)
def test_news_name_every_record_since_0_2_0(table):
    new = [name for name in names_of(table) if name not in OLD.get(table, "").split()]
    missing = without_news(table, new)
    option = REGISTRIES[table].option
    typed = f'`{option}="NAME"`, `{option} NAME` or the ending of a file'
    assert missing == [], f"NEWS.md does not have these as users type them: {typed}"


def planted(table, word):
    """Return a record of a table under another name, with a function that no test calls."""
    record = records_of(table_of(table))[0]
    match record:
        case str():
            return f".{word}" if record.startswith(".") else word
        case TableFormat():
            return dataclasses.replace(record, suffix=f".{word}")
        case Format():
            return dataclasses.replace(record, name=word, reader=f"read_{word}")
    return dataclasses.replace(record, name=word)


@pytest.mark.parametrize("word", ["area", "case", "count", "estimate", "half", "linear", "method"])
@pytest.mark.parametrize("table", TABLES)
def test_a_word_that_pages_tests_and_news_use_otherwise_is_no_record(table, word):
    record = planted(table, word)
    name = name_of(record)
    assert undocumented(table, [name]) == [name]
    assert untested(table, [record]) == [name]
    assert without_news(table, [name]) == [name]


#: All that is written of a family of models that is called as a column.
WRITTEN = {
    "docs/made_up.md": "| `score` | Poisson |",
    "tests/test_made_up.py": 'fit(marks, "score ~ method", family="score")',
    "NEWS.md": '* Counts have Poisson models (`family="score"`).',
}
#: The same with the column instead of the family.
UNWRITTEN = {
    "docs/made_up.md": "The outcome is the column `score`.",
    "tests/test_made_up.py": 'fit(marks[["score"]], family=family, by="score")',
    "NEWS.md": '* `family="beta"` takes the column `score`.',
}


@pytest.mark.parametrize("lacking", [None, *WRITTEN])
def test_what_is_not_written_of_a_record_is_missing(lacking, tmp_path, monkeypatch):
    for file, text in WRITTEN.items():
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(UNWRITTEN[file] if file == lacking else text)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "DOCS", tmp_path / "docs")
    page_tables.cache_clear()
    monkeypatch.setitem(REGISTRIES, "made up", Registry("made_up.md", "family", ("test_made_up.py",)))
    missing = {
        "docs/made_up.md": undocumented("made up", ["score"]),
        "tests/test_made_up.py": untested("made up", ["score"]),
        "NEWS.md": without_news("made up", ["score"]),
    }
    assert [file for file, names in missing.items() if names] == [file for file in [lacking] if file]


@pytest.mark.parametrize(
    ("code", "strings"),
    [
        ('fit(scores, family="score")', {"score"}),
        ('options = {"family": ["score", "beta"]}', {"score", "beta"}),
        ('family = {"score": 1, "beta": 2}', {"score", "beta"}),
        ('family_by_name("score")', {"score"}),
        ('FAMILIES["score"]', {"score"}),
        ('for case, family in [("a", "score"), ("b", "beta")]: ...', {"score", "beta"}),
        ('pytest.mark.parametrize("family", ["score", *others])', {"score"}),
        ('pytest.mark.parametrize(("case", "family"), [("a", "score")])', {"score"}),
        ('pytest.mark.parametrize("family", [pytest.param("score", id="count")])', {"score"}),
        ('FAMILIES[table["score"]]', set()),
        ('fit(scores[["score", "case"]], family=scores["score"])', set()),
        ('assert found["family"] == "score"', set()),
    ],
)  # fmt: skip
def test_strings_count_where_they_are_given_to_a_name(code, strings):
    assert strings_given(ast.parse(code), {"family", "family_by_name", "FAMILIES"}) == strings


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
