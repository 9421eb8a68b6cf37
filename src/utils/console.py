"""Text on a terminal: fitted to its width, and without errors when its reader is gone."""

import io
import os
import re
import sys
import textwrap
from typing import Any, TextIO

# narrower than this, lines are left to the terminal
NARROWEST = 20
# what a terminal shows from the cursor on goes
ERASE_BELOW = "\x1b[J"


def terminal_width(stream: Any) -> int | None:
    """Columns of the terminal that `stream` writes to; None if it is not a terminal, or one of unknown width."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (AttributeError, OSError, ValueError):  # a stream of a notebook, say, or one that is closed
        return None
    return columns if columns >= NARROWEST else None


def fitted(text: str, width: int | None) -> str:
    """`text` with its long lines broken between words; a word that is longer than a line, such as a path, stays whole.

    The rest of a broken line continues below its second column, if it has columns (two blanks or more between them),
    else two places right of its indentation.
    """
    if width is None:
        return text
    return "\n".join(_broken(line, width) if len(line) > width else line for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    start = len(line) - len(line.lstrip(" "))
    columns = re.match(r" *\S+(?: \S+)* {2,}(?=\S)", line)
    below = columns.end() if columns and columns.end() <= width // 2 else start + 2
    first = line[: columns.end()] if columns else line[:start]
    return textwrap.fill(
        line[len(first) :],
        width,
        initial_indent=first,
        subsequent_indent=" " * below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def outlive_readers() -> None:
    """Let this process continue when the reader of its output, such as `head`, has ended.

    `sys.stdout` and `sys.stderr` then drop all output; no BrokenPipeError is raised, not even at exit.
    """
    sys.stdout, sys.stderr = _outliving(sys.stdout), _outliving(sys.stderr)


class _Outliving(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def _outliving(stream: TextIO | None) -> TextIO | None:
    if not isinstance(stream, io.TextIOWrapper):  # none from the start, or one that a program has put there
        return stream
    try:
        stream.flush()
        raw = _Outliving(stream.fileno(), "w", closefd=False)
    except (OSError, ValueError):  # closed, or no file
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
