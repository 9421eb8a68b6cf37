"""The console's log: each message with the time of day, no wider than the terminal, above progress bars."""

import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from records.progress import log_above_bars
from utils.console import ERASE_BELOW, fitted, terminal_width
from utils.own_commands import as_typed
from utils.plain_values import escaped


@dataclass
class RecentStats:
    """A log message: the summary of all statistics, by name. As text it has PyMARL's form, four to a line.

    `old`: the steps of the newest values of those that are not recent, which stand after their names.
    """

    t_env: int
    episode: int
    means: dict[str, float]
    old: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        cells = [f"{name:<25}{mean:>10.4f}" for name, mean in zip(self._names(), self.means.values(), strict=True)]
        rows = ["\t".join(cells[i : i + 4]) for i in range(0, len(cells), 4)]
        return "\n".join([self._title(), *rows])

    def fitted(self, width: int) -> str:
        """The same in as many columns as a terminal has room for."""
        names, figures = self._names(), [f"{mean:.4f}" for mean in self.means.values()]
        longest = max(map(len, names), default=0), max(map(len, figures), default=0)
        cells = [f"{name:<{longest[0]}} {mean:>{longest[1]}}" for name, mean in zip(names, figures, strict=True)]
        gap = "   "
        columns = max(1, (width + len(gap)) // (sum(longest) + 1 + len(gap)))
        return "\n".join([self._title(), *(gap.join(cells[i : i + columns]) for i in range(0, len(cells), columns))])

    def _names(self) -> list[str]:
        return [f"{key} @{self.old[key]}:" if key in self.old else f"{key}:" for key in self.means]

    def _title(self) -> str:
        return f"Recent Stats | t_env: {self.t_env:>10} | Episode: {self.episode:>8}"


class ConsoleHandler(logging.Handler):
    """Writes to the present `sys.stdout`, above progress bars and, on a terminal, no wider than that.

    Sacred's capture, files and pipes get every message as it is. A message may lay itself out: `fitted(width) -> str`.

    Args:
        over_others: the line of a terminal may be another process's progress bar, which draws it again.
    """

    def __init__(self, over_others: bool = False):
        super().__init__()
        self._erased = f"\r{ERASE_BELOW}" if over_others else ""

    def emit(self, record: logging.LogRecord) -> None:
        stream = sys.stdout
        try:
            recorded = f"{self.format(record)}\n"
            width = terminal_width(stream)
            shown = recorded if width is None else f"{self._erased}{self._fitted(record, width)}\n"
            with log_above_bars():
                if hasattr(stream, "write_laid_out"):
                    stream.write_laid_out(shown, recorded)
                else:
                    stream.write(shown)
                stream.flush()
        except Exception:  # as every handler of logging's does
            self.handleError(record)

    def _fitted(self, record: logging.LogRecord, width: int) -> str:
        if hasattr(record.msg, "fitted"):
            record = logging.makeLogRecord({**vars(record), "msg": record.msg.fitted(width)})
        return fitted(self.format(record), width)

    def handleError(self, record: logging.LogRecord) -> None:
        # a log file on a full disk: the stream keeps the line and tries again with the next one
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class _PlainFormatter(logging.Formatter):
    """Escapes control characters: messages contain texts of environments and plugins, too."""

    def format(self, record: logging.LogRecord) -> str:
        return "".join(c if c == "\t" else escaped(c) for c in as_typed(super().format(record)))


def get_logger(over_others: bool = False) -> logging.Logger:
    """The root logger, set up to print to standard output with the time of day, and nothing else; `over_others`: see
    `ConsoleHandler`."""
    logger = logging.getLogger()
    logger.handlers = []
    handler = ConsoleHandler(over_others)
    handler.setFormatter(_formatter())
    logger.addHandler(handler)
    logger.setLevel("INFO")
    return logger


def own_logger(quiet: bool) -> logging.Logger:
    """A logger that prints as `get_logger`'s, and leaves those of the process alone: for a run within other code.

    Args:
        quiet: warnings and errors only.
    """
    logger = logging.Logger("muster", logging.INFO)
    handler = ConsoleHandler()
    handler.setFormatter(_formatter())
    handler.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.addHandler(handler)
    return logger


def is_quiet(logger: logging.Logger) -> bool:
    """Whether the logger's console shows no more than warnings."""
    consoles = [handler for handler in logger.handlers if isinstance(handler, ConsoleHandler)]
    return bool(consoles) and all(handler.level > logging.INFO for handler in consoles)


def lines_of(path: Path) -> logging.Handler:
    """A handler that writes all messages into a file, for the user alone, which is made with the first of them."""
    handler = _File(path, delay=True, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(_formatter())
    return handler


class _File(logging.FileHandler):
    def _open(self):
        return open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # of a full disk, the run's other records warn
            super().handleError(record)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _formatter() -> logging.Formatter:
    return _PlainFormatter("[%(levelname)s %(asctime)s] %(name)s %(message)s", "%H:%M:%S")
