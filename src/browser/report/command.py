"""What a report's command does, once its options are read."""

from collections.abc import Callable, Sequence

from browser.report.arguments import Options
from browser.report.content import Metric
from browser.report.writing import write_report
from utils.page_packages import require


def report(options: Options, more: Callable[[Sequence[Metric]], str] | None = None) -> None:
    """Write the report, and print its tables and the names of its files; see `write_report`.

    Raises:
        ConfigError: a package is missing, no run has anything to show, or a file cannot be written.
    """
    if options.images():
        require(", ".join(f"--{suffix}" for suffix in options.images()), "matplotlib")
    if options.style:
        require("--style", "tueplots")
    tables, written = write_report(options, more)
    print(tables)
    for path in written:
        print(path)
