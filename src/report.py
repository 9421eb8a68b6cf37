"""Reports of runs: `python src/report.py --help` explains it."""

from cli.command import program, start


def _report(words: list[str]) -> None:
    from browser.report.arguments import parse_arguments
    from utils.page_packages import require

    options = parse_arguments(words)  # --help needs no packages
    require("report.py", "scipy", "plotly")
    from browser.report.command import report

    report(options)


main = program(_report, "the report is missing or incomplete.")

if __name__ == "__main__":
    start(main)
