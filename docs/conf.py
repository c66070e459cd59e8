"""How the site is built: `make docs`, offline, with every warning an error."""

import os
import re
import sys
from pathlib import Path
from typing import Any

# pages are made side by side, and threads of one that wait for those of another use up the processor
os.environ.setdefault("OMP_NUM_THREADS", "1")

import salstats
from salstats import metrics
from salstats.cli.demo import run_demo
from salstats.metrics.registry import METRICS
from salstats.readers.formats import FORMATS
from salstats.stats.engine.intervals import interval_names
from salstats.stats.models import error_kinds, families

sys.path.insert(0, str(Path(__file__).parent))
import commands
import gallery
import page_texts

project = "salstats"
author = "The salstats developers"
copyright = "The salstats developers"
version = release = salstats.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_gallery", "_extra"]
html_theme = "pydata_sphinx_theme"
html_title = "salstats"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
# the demo's report, made again when the package is newer
html_extra_path = ["_extra"]
demo = gallery.HERE / "_extra" / "demo"
source = max(file.stat().st_mtime for file in Path(salstats.__file__).parent.rglob("*.py"))
if not demo.is_dir() or demo.stat().st_mtime < source:
    demo.parent.mkdir(exist_ok=True)
    run_demo(demo, overwrite=True)
html_favicon = "_static/logo.svg"
templates_path = ["_templates"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "**": ["sidebar-nav-bs"]}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "salstats"},
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# code, without the prompts of docstrings; what it printed is not copied
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = ", ".join(
    f"div.{name} pre"
    for name in ("highlight-python", "highlight-Python", "highlight-ipython3", "highlight-bash", "doctest")
)
autosummary_generate = True
# not on the page of `fit` where a file system does not tell F from f
autosummary_filename_map = {"salstats.Fit": "salstats.Fit-class"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# what a page writes is not left in the repository; what it reads of it lies here
nb_execution_in_temp = True
os.environ["SALSTATS_DOCS"] = str(Path(__file__).parent)
nb_merge_streams = True

commands.write_pages(gallery.HERE / "reference" / "commands")
gallery.write_scripts(gallery.HERE / "_gallery", gallery.HERE / "gallery")
sphinx_gallery_conf = {
    "examples_dirs": "_gallery",
    "gallery_dirs": "gallery",
    "subsection_order": [f"_gallery/{name}" for name in gallery.QUESTIONS],
    "within_subsection_order": "gallery.position",
    "filename_pattern": "",
    "image_scrapers": ("gallery.scrape",),
    "thumbnail_size": gallery.THUMBNAIL_PX,
    "capture_repr": (),
    # reference pages of figures and tables show where they stand in the gallery
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("salstats",),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    # a page of times would load its scripts from the web
    "write_computation_times": False,
    "abort_on_example_error": True,
    "parallel": True,
}
default_role = "py:obj"
# quotes and hyphens of what is typed stay as they are typed
smartquotes = False


def write_list(name: str, title: str, functions: list[str]) -> None:
    """Write the page of what records lead to, from which autosummary makes a page of each."""
    text = f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: salstats\n\n.. autosummary::\n   :toctree: .\n"
    text += "   :nosignatures:\n\n" + "".join(f"   {function}\n" for function in functions)
    file = gallery.HERE / "reference" / "api" / f"{name}.rst"
    file.parent.mkdir(exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


write_list("kernels", "Metrics on arrays", [f"metrics.{n}" for n in METRICS if hasattr(metrics, n)])
readers = [row for row in FORMATS.values() if row.reader not in salstats.__all__]
write_list("readers", "More readers", [f"readers.{row.module}.{row.reader}" for row in readers])


def with_choices(text: str) -> str:
    """Return a docstring in which the choices of a record stand in the place of the record's name."""
    records = {"families.FAMILIES": families.FAMILIES, "error_kinds.CHOICES": error_kinds.CHOICES}
    for name, choices in records.items():
        text = text.replace(f"A name of `{name}`", f"One of {', '.join(choices)}")

    def names_of_intervals(reference: re.Match[str]) -> str:
        return f"One of {', '.join(interval_names(reference[1]))}"

    return re.sub(r'A name of `intervals\.interval_names\("(\w+)"\)`', names_of_intervals, text)


def setup(app: Any) -> None:
    """Let docstrings list the choices of a record, and the search show excerpts without a server."""

    def list_choices(*event: Any) -> None:
        event[-1][:] = with_choices("\n".join(event[-1])).split("\n")

    def load_texts(app: Any, page: str, *event: Any) -> None:
        if page == "search":
            app.add_js_file("search.js")

    def write_texts(app: Any, error: Exception | None) -> None:
        if error is None and app.builder.format == "html":
            page_texts.write_texts(sorted(app.env.found_docs), Path(app.outdir))

    app.connect("autodoc-process-docstring", list_choices)
    app.connect("html-page-context", load_texts)
    app.connect("build-finished", write_texts)
