"""The form of a run's metric log, `runs/<token>/metrics.csv`: a row for each logged value.

    t_env,episode,seconds,key,value
    2048,64,3.512,return_mean,11.25

`pandas.read_csv(path)` reads it, and so does `records.metric_rows.read_metric_log`; here it is written.
Supervisors of runs read its end, and do without NumPy, whose import takes longer than all else that they import.
"""

import csv
import io
import logging
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from records.append_file import AppendFile
from records.layout import METRICS, RUNS
from records.limits import LONGEST_KEY
from records.tokens import is_token
from utils.files.regular_files import open_regular

HEADER = b"t_env,episode,seconds,key,value\n"
QUOTE = b'"'
# more steps than any run takes, and as int64 exact
LARGEST_STEP = 2.0**53
# bytes of a line that can be a row; bytes of a block
LONGEST_LINE = 8 * LONGEST_KEY
_PART = 4 * 2**20
# bytes from the end of a log; a line has at most a few hundred
_TAIL = 2**14


class MetricRow(NamedTuple):
    """One logged value.

    Attributes:
        t_env: environment steps when it was logged, at most 2**53.
        episode: training episodes that the loop had counted.
        seconds: training seconds of all sessions of the run.
        key: the statistic's name.
        value: a float, exactly as it was logged; may be nan or infinite.
    """

    t_env: int
    episode: int
    seconds: float
    key: str
    value: float


class MetricLog:
    """An append-only CSV file, one write for a row; AppendFile defines the handling of failed writes."""

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
        lines = (f"{row.t_env},{row.episode},{row.seconds:.3f},{csv_cell(row.key)},{row.value!r}\n" for row in rows)
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


def parse_metric_log(content: bytes) -> list[MetricRow]:
    """The rows of a metric log's bytes, with or without the header, as `read_metric_log`."""
    rows = []
    for part in parts_of(content[: content.rfind(b"\n") + 1].removeprefix(HEADER)):
        (*counts, values), keys = rows_in(part)
        for t_env, episode, seconds, key, value in zip(*counts, keys, values, strict=True):
            if abs(t_env) <= LARGEST_STEP and abs(episode) <= LARGEST_STEP:
                rows.append(MetricRow(int(t_env), int(episode), float(seconds), key, float(value)))
    return rows


def progress(results: Path, token: str) -> tuple[int, float] | None:
    """(environment steps, seconds of training in all sessions) at a run's last logged value.

    None before the first, and for a name that no run can have.
    """
    if not is_token(token):
        return None
    try:
        with open_regular(results / RUNS / token / METRICS) as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
            tail = file.read(_TAIL)
    except OSError:
        return None
    # the first line may be cut off
    rows = parse_metric_log(tail if len(tail) < _TAIL else tail.partition(b"\n")[2])
    return (rows[-1].t_env, rows[-1].seconds) if rows else None


def csv_cell(key: str) -> str:
    """A key as it stands in a row: in quotes if it has a comma, a quote or a line's end."""
    return '"' + key.replace('"', '""') + '"' if any(c in key for c in ',"\r\n') else key


def parts_of(body: bytes) -> Iterator[bytes]:
    """The log a few thousand lines at a time: as Python's objects they take twenty times the memory."""
    start = 0
    while start < len(body):
        end = body.rfind(b"\n", start, start + _PART) + 1 or body.find(b"\n", start) + 1 or len(body)
        while body.count(QUOTE, start, end) % 2 and end < len(body):  # within a key that has a line's end
            end = body.find(b"\n", end) + 1 or len(body)
        if end - start <= 2 * _PART:
            yield body[start:end]
        start = end


def rows_in(part: bytes) -> tuple[list[list[float]], list[str]]:
    """Every well-formed row of whole lines: numbers [4, rows], and keys."""
    text = part.decode("utf-8", "replace")
    if QUOTE in part:
        return _table([row for row in _csv_rows(text) if len(row) == 5 and numbers_in(row[:3] + row[4:]) is not None])
    cells = text.replace("\n", ",").split(",")[:-1]
    columns = [numbers_in(cells[column::5]) for column in (0, 1, 2, 4)]
    numbers = [column for column in columns if column is not None]
    if len(cells) % 5 or len(numbers) < 4:
        rows = [line.split(",") for line in text.split("\n")]  # not splitlines: keys may have other ends of lines
        return _table([row for row in rows if len(row) == 5 and numbers_in(row[:3] + row[4:]) is not None])
    return numbers, cells[3::5]


def _csv_rows(text: str) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error:  # a cell that is longer than the module reads
            continue


def _table(rows: list[list[str]]) -> tuple[list[list[float]], list[str]]:
    numbers = [[float(row[column]) for row in rows] for column in (0, 1, 2, 4)]
    return numbers, [row[3] for row in rows]


def numbers_in(cells: list[bytes] | list[str]) -> list[float] | None:
    """The cells as numbers; None if one is something else."""
    try:
        return list(map(float, cells))
    except ValueError:
        return None
