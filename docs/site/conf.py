"""Sphinx's settings for `make docs` (docs/site/build.py)."""

import sys
from pathlib import Path

SITE = Path(__file__).parent
sys.path.insert(0, str(SITE.parents[1] / "src"))

project = "Muster"
html_title = "Muster"
extensions = ["myst_parser", "sphinx_external_toc", "sphinx_copybutton"]
extensions += ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
external_toc_path = str(SITE / "_toc.yml")
html_theme = "furo"
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# tables made by `make tables` begin a level lower than the page
suppress_warnings = ["myst.header"]
