"""Sphinx's settings for `make docs` (docs/site/build.py)."""

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

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
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
# $SHELL words are no formulas
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
html_math_renderer = "mathml"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# tables made by `make tables` begin a level lower than the page
suppress_warnings = ["myst.header"]


def setup(app: Any) -> None:
    """Equations become MathML, which browsers draw themselves: no script, and nothing from another server."""

    def write(translator: Any, node: Any) -> None:
        block = isinstance(node, nodes.math_block)
        formula = tex2mathml(node.astext(), as_block=block)
        # in browsers without a font for formulas, bars and hats as accents would lie on their letters
        formula = formula.replace('<mover accent="true">', '<mover accent="false">')
        translator.body.append(f'<div style="margin: 1em 0; overflow-x: auto">{formula}</div>' if block else formula)
        raise nodes.SkipNode

    app.add_html_math_renderer("mathml", (write, None), (write, None))
