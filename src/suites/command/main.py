"""The command line of suites."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from records.layout import SUITES
from suites.launch.leases import LEASE
from suites.state.state import SuiteFolder, suite_names
from utils.command_line import OptionParser, number
from utils.config.merging import CONFIG_DIR
from utils.console import fitted, terminal_width
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_commands import as_typed
from utils.own_modules import PREFIX
from utils.plain_values import quoted

COMMANDS = {
    "run": "start the runs of a suite, or resume it: what is done stays done",
    "estimate": "measure short trainings, and say how long a suite will take on this machine",
    "status": "a table of its algorithms and maps: runs done, steps, speed, time left, the last error",
    "stop": "let its runs save and stop, wherever they are",
    "report": "figures, tables (LaTeX, Markdown) and marl-eval's JSON of the runs that are done",
    "export": "the test curves of the runs that are done, as one small file to keep and to publish",
    "tables": "tables of such files, beside published figures (docs/tables.md)",
    "list": "the suites there are",
}
# that `estimate` may measure
MINUTES = 10.0
# files of curves: those that come with Muster, and where the user's are written, which in the checkout is the same
COMES = CONFIG_DIR.parent / "docs" / "tables"
WRITTEN = Path("tables") if PREFIX else COMES
LAUNCHERS = ("local", "slurm", "ray")
EPILOG = """\
commands:
{commands}

SUITE is the name of a file under config/suites/, or a path that ends in .yaml; docs/suites.md explains it.

examples:
  python src/suite.py run skirmish_quick
  python src/suite.py run skirmish_quick --only=algorithm=mappo_smac --only=seed=1,2
  python src/suite.py status skirmish_quick --watch
  python src/suite.py report skirmish_quick
"""


def dispatch(argv: Sequence[str]) -> None:
    """Run one command.

    Raises:
        ConfigError: the command line or the suite is refused; nothing has started.
        MusterError: runs have failed.
        Interrupted: a signal stopped the launcher.
    """
    options = parse(argv)
    if options is None:
        return
    match options.command:
        case "run":
            from suites.command.launch import launch

            launch(options)
        case "estimate":
            from suites.command.estimate import estimate

            estimate(options)
        case "status":
            from suites.command.status import show_status

            show_status(folder_of(options), options.watch)
        case "stop":
            from suites.command.status import stop

            stop(folder_of(options))
        case "report":
            from suites.command.report import report, report_options

            given = {key: value for key, value in vars(options).items() if key not in ("command", "suite", "results")}
            folder = folder_of(options)
            report(folder, report_options(folder, given))
        case "export":
            from suites.command.tables import export

            export(folder_of(options), options)
            if options.models is not None:
                from suites.command.models import export_models

                export_models(folder_of(options), options.models)
        case "tables":
            from suites.command.tables import tables

            tables(options)
        case "list":
            _list(options)


def parse(argv: Sequence[str]) -> argparse.Namespace | None:
    """The parsed command line; None: the help was asked for, and printed."""
    words = list(argv)
    if not words and OptionParser.before_parsing is not None:
        chooser = OptionParser("suite.py", "")
        chooser.add_argument("command", choices=list(COMMANDS))
        chooser.parse(words)
    if not words or words[0] in ("-h", "--help"):
        print(fitted(as_typed(_help()), terminal_width(sys.stdout)), end="")
        return None
    if words[0] not in COMMANDS:
        raise ConfigError(f"There is no command '{quoted(words[0])}'.{suggestion(words[0], COMMANDS)}")
    return argparse.Namespace(command=words[0], **vars(_parser(words[0]).parse(words[1:])))


def folder_of(options: argparse.Namespace) -> SuiteFolder:
    """The folder of a suite that has been started, by its name or its file."""
    name = options.suite
    if name.endswith((".yaml", ".yml")):
        from suites.plan.suite_file import read_suite, suite_path

        name = read_suite(suite_path(name)).name
    folder = SuiteFolder(options.results, name)
    if "/" in name or not folder.manifest.is_file():
        names = suite_names(options.results)
        begun = suggestion(name, names) if names else f" {options.results / SUITES} has none."
        raise ConfigError(f"The suite '{quoted(name)}' has not been started.{begun}")
    return folder


def _parser(command: str) -> OptionParser:
    parser = OptionParser(f"suite.py {command}", COMMANDS[command])
    add = parser.add_argument
    if command in ("export", "tables"):
        add("--folder", type=Path, default=_folder_of_curves(command), metavar="FOLDER",
            help=f"of the files (default: {'tables' if PREFIX else 'docs/tables'})")  # fmt: skip
    if command == "tables":
        add("--page", type=Path, metavar="FILE", help="write them into this page, where its marks are (docs/suites.md)")
        add("--check", action="store_true", help="with --page: fail if it has other tables, and write nothing")
        return parser
    add("--results", type=Path, default=Path("results"), metavar="FOLDER", help="of all results (default: results)")
    if command == "list":
        return parser
    add("suite", metavar="SUITE", help="a name, or the path of a file")
    if command in ("run", "estimate"):
        add("--jobs", type=number(1, 4096, whole=True), default=0, metavar="N", help="runs at a time on this machine")
        add("--only", action="append", default=[], metavar="AXIS=VALUE[,VALUE]",
            help="only runs with these, such as --only=algorithm=mappo --only='map=rware:*'")  # fmt: skip
    if command == "estimate":
        add("--minutes", type=number(0.1, 10_000), default=MINUTES, metavar="M",
            help=f"that measuring may take, about (default: {MINUTES:g})")  # fmt: skip
        add("--again", action="store_true", help="measure also what was measured before")
    if command == "run":
        add("--launcher", type=_launcher, default=LAUNCHERS[0], metavar="|".join(LAUNCHERS),
            help="where runs start (default: local)")  # fmt: skip
        add("--address", metavar="HOST:PORT",
            help="of Ray's cluster, or auto (default: $RAY_ADDRESS, or one of its own)")  # fmt: skip
        add("--retry-failed", action="store_true", help="try runs again that have failed")
        add("--dry-run", action="store_true",
            help="check everything and list the runs (with SLURM, also its script); start none")  # fmt: skip
        add("--cold", action="store_true", help="start each run as an interpreter of its own (slower)")
        add("--lease", type=number(1, 86400), default=LEASE, metavar="SECONDS",
            help=f"take a run over when its machine is silent for so long (default: {LEASE:g})")  # fmt: skip
    if command == "status":
        add("--watch", action="store_true", help="show it again and again, until Ctrl-C")
    if command == "export":
        add("--metric", default="test_return_mean", metavar="KEY", help="statistic (default: test_return_mean)")
        add("--models", type=Path, metavar="FOLDER",
            help="copy each setting's best model there, too, with its config, without its optimisers")  # fmt: skip
    if command == "report":
        from suites.command.report import add_report_options

        add_report_options(parser)
    return parser


def _folder_of_curves(command: str) -> Path:
    return COMES if command == "tables" and not WRITTEN.is_dir() else WRITTEN


def _launcher(text: str) -> str:
    if text not in LAUNCHERS:
        raise argparse.ArgumentTypeError(f"there is no '{quoted(text)}'.{suggestion(text, LAUNCHERS)}".rstrip("."))
    return text


def _help() -> str:
    commands = "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    usage = "usage: suite.py COMMAND SUITE [options]; suite.py COMMAND --help lists them\n\n"
    return usage + "Many runs by one command: algorithms × maps × seeds.\n\n" + EPILOG.format(commands=commands)


def _list(options: argparse.Namespace) -> None:
    from suites.plan.suite_file import read_suite, suite_path
    from suites.plan.suite_file import suite_names as files

    started, width = suite_names(options.results), terminal_width(sys.stdout)
    for name in sorted({*files(), *started}):
        description = read_suite(suite_path(name)).description if name in files() else ""
        print(fitted(f"{name:<24} {'started' if name in started else '':<8}  {description}".rstrip(), width))
