"""How the site is built: `make docs`, offline, with every warning an error."""

import sys
from pathlib import Path

import salstats

sys.path.insert(0, str(Path(__file__).parent))
import gallery

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
# a notebook that sphinx-gallery writes is not a page of myst-nb
exclude_patterns = ["_build", "_gallery", "gallery/*.ipynb"]
html_theme = "pydata_sphinx_theme"
html_title = "salstats"
html_static_path = ["_static"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

gallery.write_scripts(gallery.HERE / "_gallery")
sphinx_gallery_conf = {
    "examples_dirs": "_gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "example_",
    "image_scrapers": ("gallery.scrape",),
    "capture_repr": ("__repr__",),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "abort_on_example_error": True,
}
default_role = "py:obj"
