"""How figures for papers look: the house's own style, and those of conferences by the package tueplots."""

import inspect
from dataclasses import dataclass, field
from typing import Any

from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

_USUAL = {
    "font.size": 10,
    "axes.titlesize": "medium",
    "axes.labelsize": "medium",
    "legend.fontsize": "small",
    "xtick.labelsize": "small",
    "ytick.labelsize": "small",
}
# of any style: letters stay letters in PDF, as conferences demand (no fonts of type 3), nothing of TeX's is needed, and
# the same figure makes the same SVG
_ALWAYS = {"pdf.fonttype": 42, "ps.fonttype": 42, "text.usetex": False, "svg.hashsalt": "muster"}
# come with matplotlib, for machines that lack a style's fonts
_SPARE_FONTS = {"font.serif": "STIXGeneral", "font.sans-serif": "DejaVu Sans"}
# inches: of a panel at least, and of a figure without a style's width
LEAST_PANEL = 1.5
_PANEL, _ALONE, _MOST = 3.2, 5.0, 3


@dataclass(frozen=True)
class Style:
    """The look of a figure.

    Attributes:
        settings: matplotlib's.
        width: of all figures, in inches; None: as wide as their panels need.
    """

    settings: dict[Any, Any] = field(default_factory=lambda: {**_USUAL, **_ALWAYS})
    width: float | None = None

    def columns(self, panels: int) -> int:
        """How many of the panels stand beside one another."""
        most = _MOST if self.width is None else max(1, int(self.width / LEAST_PANEL))
        rows = -(-panels // most)
        return max(1, -(-panels // max(1, rows)))

    def width_of(self, columns: int) -> float:
        """The width of a figure with so many panels in a row, in inches."""
        return self.width or max(_ALONE, _PANEL * columns)


def style_of(name: str, full_width: bool = False) -> Style:
    """A conference's style: "icml" is the newest that the package knows, "icml2022" that of a year.

    Args:
        name: empty for the house's own.
        full_width: across all columns of a page, where it has several.

    Raises:
        ConfigError: there is no such style.
    """
    if not name:
        return Style()
    from tueplots import bundles

    made = {one: make for one, make in vars(bundles).items() if _is_bundle(make)}
    newest = {one.rstrip("0123456789"): one for one in sorted(made)}
    known = {**{one: one for one in made}, **newest}
    if name not in known:
        raise ConfigError(f"--style has no choice '{quoted(name)}'.{suggestion(name, sorted(newest))}")
    make = made[known[name]]
    takes = inspect.signature(make).parameters
    wide = {"column": "full" if full_width else "half"} if "column" in takes else {}
    settings = dict(make(**wide, **({"usetex": False} if "usetex" in takes else {})))
    width, _ = settings.pop("figure.figsize")
    for key, font in _SPARE_FONTS.items():
        settings[key] = [*settings.get(key, ()), font]
    settings["mathtext.fontset"] = "stix"
    return Style({**_USUAL, **settings, **_ALWAYS}, width)


def _is_bundle(make: Any) -> bool:
    """Whether it makes the settings of a page, and not of slides or of dark ones."""
    return inspect.isfunction(make) and make.__name__[-4:].isdigit()
