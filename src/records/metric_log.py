"""Writing the full series of a run: one line of metrics.csv for each value that was logged (`records.metric_lines`)."""

import logging
import os
import zlib

from records.append_file import AppendFile
from records.metric_lines import HEADER, MetricRow, parse_metric_log, quoted
from utils.files.regular_files import open_regular


class MetricLog:
    """An append-only CSV file, one write for a row; AppendFile defines the handling of failed writes.

    Args:
        console: where faults are reported.
        what: its name in messages.
    """

    def __init__(self, console: logging.Logger, what: str = "The metric log"):
        self._console, self._what = console, what
        self._file = AppendFile(None, what, console, head=HEADER)

    @property
    def path(self) -> str | None:
        """The file, once `open` has named it."""
        return self._file.path

    def open(self, path: str) -> None:
        """Write into this file from now on, starting with all values so far."""
        self._file.move(path)

    def append(self, *rows: MetricRow) -> None:
        """Log rows, in one write; before `open` they are kept in memory."""
        lines = (f"{row.t_env},{row.episode},{row.seconds:.3f},{quoted(row.key)},{row.value!r}\n" for row in rows)
        self._file.append("".join(lines).encode("utf-8", "backslashreplace"))

    def flush(self, to_disk: bool = False) -> bool:
        """Write rows that wait; whether everything is in the file now."""
        return self._file.flush(to_disk)

    def position(self) -> dict[str, int]:
        """How far the file is surely written: `bytes`, and their `crc32`."""
        return {"bytes": self._file.size, "crc32": self._file.crc32}

    def unwritten(self) -> str:
        """The lines that are not surely written."""
        return self._file.pending.decode()

    def resume(self, path: str, position: dict[str, int]) -> list[MetricRow]:
        """Continue a log of an earlier session: cut it back to `position` and return the rows up to there.

        A warning reports a missing or changed log; a new one starts with its readable rows, and the damaged file is set
        aside.
        """
        self._file = AppendFile(path, self._what, self._console, head=HEADER)
        if position["bytes"] == 0 and not os.path.lexists(path):  # nothing had been written yet
            return []
        content, reason = b"", "it was changed"
        try:
            with open_regular(path) as file:
                content = file.read(position["bytes"])
        except OSError as error:
            reason = error.strerror or reason
        else:
            if len(content) == position["bytes"] and zlib.crc32(content) == position["crc32"]:
                self._file.adopt(position["bytes"], position["crc32"])
                return parse_metric_log(content)
            if len(content) < position["bytes"]:
                reason = "it is shorter than it was"
        rows = parse_metric_log(content)
        self._console.warning(
            f"{self._what} {path} differs from the checkpoint's: {reason}. Training continues, and its curves "
            f"keep the {len(rows)} readable values."
        )
        for row in rows:  # into a new file; the damaged one is set aside
            self.append(row)
        return rows
