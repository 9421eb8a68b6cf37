"""Why a run does not learn: `python src/doctor.py RUN` prints what its metrics show, the cause, and what to change."""

from cli.command import program, start
from utils.command_line import RUN, OptionParser


def _parser() -> OptionParser:
    parser = OptionParser(
        "doctor.py",
        "Print what is wrong with a run, as far as its metrics show it, and which keys to change (docs/debugging.md).",
    )
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("--results", default="results", help="folder of the results (default: results)")
    return parser


def _print(words: list[str]) -> None:
    from records.find_run import find_run
    from records.symptoms.recorded import evidence_of
    from records.symptoms.rules import findings_of, text_of

    options = _parser().parse(words)
    found = find_run(options.run, options.results)
    evidence = evidence_of(found)
    print(f"{found.token}\n\n{text_of(findings_of(evidence))}")
    if not evidence.ended:
        print("\nThe run has not reached its end: rules that need it were left out.")


main = program(_print, "the report is incomplete.")

if __name__ == "__main__":
    start(main)
