"""What a run looks like from inside: `python src/diagnose.py RUN` prints times, monitored values and its machine."""

from cli.command import program, start
from utils.command_line import RUN, OptionParser


def _parser() -> OptionParser:
    parser = OptionParser(
        "diagnose.py",
        "Print where a run spent its time, the values that it monitored, and what it took of its machine "
        "(docs/debugging.md).",
    )
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("--results", default="results", help="folder of the results (default: results)")
    parser.add_argument("--depth", type=int, default=-1, help="of the timer's paths: 0 for the top only (default: all)")
    return parser


def _print(words: list[str]) -> None:
    from records.diagnosis import diagnosed, text_of
    from records.find_run import find_run
    from records.layout import DIAGNOSTICS
    from records.metric_rows import read_rows, whole_lines
    from utils.errors import ConfigError
    from utils.files.regular_files import open_regular

    options = _parser().parse(words)
    found = find_run(options.run, options.results)
    path = found.folder / DIAGNOSTICS
    try:
        with open_regular(path) as file:
            body = whole_lines(file.read())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); runs write it with each summary.") from None
    if not body:
        raise ConfigError(f"{path} holds nothing yet: runs write it with each summary (log_interval).")
    print(f"{found.token}\n\n{text_of(diagnosed(read_rows(body, resumed=True)), options.depth)}")


main = program(_print, "the report is incomplete.")

if __name__ == "__main__":
    start(main)
