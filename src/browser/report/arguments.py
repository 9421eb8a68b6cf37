"""The options of a report, which report.py and `suite.py report` share."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from browser.comparison import ONLY, SCORES
from browser.reading.curves import AXES
from browser.stats.bands import BANDS, DEFAULT_BAND
from records.run_score import LAST
from utils.command_line import OptionParser, number
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

_EPILOG = """examples:
  python src/report.py
  python src/report.py results --group-by name,lr --metric test_return_mean --png
  python src/report.py results --group-by name,lr --best-of name
  python src/report.py results --pdf figures --latex --style icml --label qmix=QMIX --label vdn=VDN
"""
# names of files and folders beside the report, for options without a value
FIGURES, TABLES = "figures", "report.tex"
IMAGES = ("pdf", "svg", "png")


@dataclass
class Options:
    """The parsed options; see `--help`.

    Attributes:
        tokens: only runs with these names, as those of a suite; None: any.
        first: the statistic that comes first without `metrics`, where runs have it.
    """

    results: Path = Path("results")
    group_by: list[str] = field(default_factory=lambda: ["name"])
    metrics: list[str] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)
    tokens: frozenset[str] | None = None
    first: str = ""
    references: list[str] = field(default_factory=list)
    axis: str = "steps"
    band: str = DEFAULT_BAND
    smoothing: int = 1
    score: str = "final"
    last: int = LAST
    only: list[str] = field(default_factory=list)
    best_of: str = ""
    threshold: float | None = None
    title: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    out: Path = Path("report.html")
    pdf: Path | None = None
    svg: Path | None = None
    png: Path | None = None
    style: str = ""
    full_width: bool = False
    latex: Path | None = None
    markdown: Path | None = None
    marl_eval: Path | None = None
    cache: bool = True

    def images(self) -> dict[str, Path]:
        """The folders of images by their ending."""
        return {suffix: folder for suffix in IMAGES if (folder := getattr(self, suffix)) is not None}


def parse_arguments(argv: Sequence[str]) -> Options:
    """Parse report.py's command line without the program's name; `--help` prints and exits.

    Raises:
        ConfigError: an unknown option or choice, or a value that cannot be one.
    """
    description = "Compare the runs of a results folder: one HTML file that opens offline, and figures and tables."
    parser = OptionParser("report.py", description, _EPILOG)
    add = parser.add_argument
    add("results", nargs="?", type=Path, default=Path("results"), help="results folder (default: results)")
    add_options(parser, group_by="name", out=Path("report.html"))
    return options_of(vars(parser.parse(argv)))


def add_options(parser: argparse.ArgumentParser, group_by: str, out: Path, folder: str = "") -> None:
    """Declare everything but where the runs are.

    Args:
        out: the report's file, unless the command line names another.
        folder: where that is, for the help.
    """
    add = parser.add_argument
    add("--group-by", default=group_by, metavar="KEYS", help=f"config keys, separated by commas (default: {group_by})")
    add("--metric", dest="metrics", action="append", default=[], metavar="KEY", help="statistic; may be repeated")
    add("--where", action="append", default=[], metavar="KEY=VALUE", help="only runs with this config value")
    add("--reference", dest="references", action="append", default=[], metavar="NAME[:ALGORITHM]",
        help="also draw published curves: of a file that comes with Muster, such as presets:hpn_qmix, or of one that "
        "suite.py export wrote, by its path; may be repeated")  # fmt: skip
    add("--axis", default="steps", help=f"{', '.join(AXES)} (default: steps)")
    add("--band", default=DEFAULT_BAND, help=f"{', '.join(BANDS)} (default: {DEFAULT_BAND})")
    add("--smooth", dest="smoothing", type=number(1, 1_000_000, whole=True), default=1, metavar="N",
        help="moving mean over N logged values")  # fmt: skip
    scores = ", ".join(f"{name} ({what})" for name, what in SCORES.items())
    add("--score", default="final", help=f"score of a run: {scores}")
    add("--last", type=number(1, 1_000_000, whole=True), default=LAST, metavar="N",
        help=f"final is the mean of the last N values (default: {LAST})")  # fmt: skip
    what = "; ".join(f"{name}: {meaning}" for name, meaning in ONLY.items())
    add("--only", action="append", default=[], metavar="WHAT", help=f"leave out the rest; {what}; may be repeated")
    add("--best-of", default="", metavar="KEY",
        help="one of --group-by: on each map, only the best group (by mean score) of each of its values")  # fmt: skip
    add("--threshold", type=float, help="also report when runs first reach this value of the first metric")
    add("--title", default="", help="heading of the report")
    add("--label", dest="labels", action="append", default=[], metavar="NAME=TEXT",
        help="what figures and tables call an algorithm, a map or a statistic; may be repeated")  # fmt: skip
    add("--out", type=Path, default=out, metavar="FILE", help=f"default: {folder}{out.name}")
    for suffix in IMAGES:
        add(f"--{suffix}", nargs="?", const="", metavar="DIR",
            help=f"also write the figures as {suffix.upper()} (default: {FIGURES}/ beside the report)")  # fmt: skip
    add("--style", default="", metavar="NAME",
        help="fonts and widths of a conference: icml, neurips, iclr, aaai, aistats, uai, cvpr, eccv, jmlr, "
        "tmlr, or of a year, such as icml2022")  # fmt: skip
    add("--full-width", action="store_true", help="with --style: across all columns of a page, where it has two")
    add("--latex", nargs="?", const="", metavar="FILE",
        help=f"also write tables (booktabs) and figures (default: {TABLES} beside the report)")  # fmt: skip
    add("--markdown", type=Path, metavar="FILE", help="also write the tables as Markdown")
    add("--marl-eval", type=Path, metavar="FILE", help="also export the metrics in marl-eval's JSON layout")
    add("--no-cache", dest="cache", action="store_false", help="read every file again")


def options_of(parsed: Mapping[str, Any]) -> Options:
    """The options of a command line that `add_options` has parsed.

    Raises:
        ConfigError: an unknown choice, or a value that cannot be one.
    """
    options = dict(parsed)
    for name, choices in (("axis", AXES), ("band", BANDS), ("score", SCORES)):
        if options[name] not in choices:
            raise ConfigError(f"--{name} has no choice '{quoted(options[name])}'.{suggestion(options[name], choices)}")
    options["group_by"] = _names(options["group_by"])
    if options["best_of"] and options["best_of"] not in options["group_by"]:
        raise ConfigError(
            f"--best-of={quoted(options['best_of'])}: it must be one of the keys of --group-by: "
            f"{', '.join(options['group_by'])}."
        )
    options["metrics"] = [name for names in options["metrics"] for name in _names(names)]
    options["only"] = [name for names in options["only"] for name in _names(names)]
    for name in options["only"]:
        if name not in ONLY:
            raise ConfigError(f"--only has no choice '{quoted(name)}'.{suggestion(name, ONLY)}")
    options["where"] = dict(_pair(text, "--where is KEY=VALUE") for text in options["where"])
    options["labels"] = dict(_pair(text, "--label is NAME=TEXT") for text in options["labels"])
    for name, usual in (*((suffix, FIGURES) for suffix in IMAGES), ("latex", TABLES)):
        value = options[name]
        options[name] = options["out"].parent / usual if value == "" else None if value is None else Path(value)
    if not any(options[suffix] for suffix in IMAGES):
        for name, given in (("--style", options["style"]), ("--full-width", options["full_width"])):
            if given:
                raise ConfigError(f"{name} is about images: name --pdf, --svg or --png, too.")
    return Options(**options)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pair(text: str, what: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"{what}, found '{quoted(text)}'.")
    return key, value
