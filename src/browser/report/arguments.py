"""The command line of report.py."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from browser.comparison import ONLY, SCORES
from browser.reading.curves import AXES
from browser.stats.bands import BANDS, DEFAULT_BAND
from records.run_score import LAST
from utils.command_line import OptionParser
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

_EPILOG = """examples:
  python src/report.py
  python src/report.py results --group-by name,lr --metric test_return_mean --png figures
  python src/report.py results --group-by name,lr --best-of name
  python src/report.py results --where env_args.map_name=3m --threshold 0.8 --svg figures
"""


@dataclass
class Options:
    """The parsed options; see `--help`. `tokens`: only runs with these names, as those of a suite; None: any."""

    results: Path = Path("results")
    group_by: list[str] = field(default_factory=lambda: ["name"])
    metrics: list[str] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)
    tokens: frozenset[str] | None = None
    axis: str = "steps"
    band: str = DEFAULT_BAND
    smoothing: int = 1
    score: str = "final"
    last: int = LAST
    only: list[str] = field(default_factory=list)
    best_of: str = ""
    threshold: float | None = None
    title: str = ""
    out: Path = Path("report.html")
    png: Path | None = None
    svg: Path | None = None
    marl_eval: Path | None = None
    cache: bool = True


def parse_arguments(argv: Sequence[str]) -> Options:
    """Parse the command line without the program's name; `--help` prints and exits.

    Raises:
        ConfigError: an unknown option or choice, or a value that cannot be one.
    """
    options = vars(_parser().parse(argv))
    for name, choices in (("axis", AXES), ("band", BANDS), ("score", SCORES)):
        if options[name] not in choices:
            raise ConfigError(f"--{name} has no choice '{options[name]}'.{suggestion(options[name], choices)}")
    for name in ("smoothing", "last"):
        if options[name] < 1:
            raise ConfigError(f"--{'smooth' if name == 'smoothing' else name} is a number of values, at least 1.")
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
            raise ConfigError(f"--only has no choice '{name}'.{suggestion(name, ONLY)}")
    options["where"] = dict(map(_condition, options["where"]))
    return Options(**options)


def _parser() -> OptionParser:
    description = "Compare the runs of a results folder in one HTML file that opens offline."
    parser = OptionParser("report.py", description, _EPILOG)
    add = parser.add_argument
    add("results", nargs="?", type=Path, default=Path("results"), help="results folder (default: results)")
    add("--group-by", default="name", metavar="KEYS", help="config keys, separated by commas (default: name)")
    add("--metric", dest="metrics", action="append", default=[], metavar="KEY", help="statistic; may be repeated")
    add("--where", action="append", default=[], metavar="KEY=VALUE", help="only runs with this config value")
    add("--axis", default="steps", help=f"{', '.join(AXES)} (default: steps)")
    add("--band", default=DEFAULT_BAND, help=f"{', '.join(BANDS)} (default: {DEFAULT_BAND})")
    add("--smooth", dest="smoothing", type=int, default=1, metavar="N", help="moving mean over N logged values")
    add(
        "--score",
        default="final",
        help="score of a run: " + ", ".join(f"{name} ({what})" for name, what in SCORES.items()),
    )
    add("--last", type=int, default=LAST, metavar="N", help=f"final is the mean of the last N values (default: {LAST})")
    what = "; ".join(f"{name}: {meaning}" for name, meaning in ONLY.items())
    add("--only", action="append", default=[], metavar="WHAT", help=f"leave out the rest; {what}; may be repeated")
    add(
        "--best-of",
        default="",
        metavar="KEY",
        help="one of --group-by: on each map, only the group with the best mean score of each of its values",
    )
    add("--threshold", type=float, help="also report when runs first reach this value of the first metric")
    add("--title", default="", help="heading of the report")
    add("--out", type=Path, default=Path("report.html"), metavar="FILE", help="default: report.html")
    add("--png", type=Path, metavar="DIR", help="also write the figures as PNG into this folder")
    add("--svg", type=Path, metavar="DIR", help="also write the figures as SVG into this folder")
    add("--marl-eval", type=Path, metavar="FILE", help="also export the metrics in marl-eval's JSON layout")
    add("--no-cache", dest="cache", action="store_false", help="read every file again")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _condition(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--where is KEY=VALUE, found '{text}'.")
    return key, value
