"""A metric log (`records.metric_log`) as it is read: all its rows, or arrays of the rows of its keys."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from records.limits import LONGEST_KEY, MOST_METRICS
from records.metric_log import (
    HEADER,
    LARGEST_STEP,
    LONGEST_LINE,
    QUOTE,
    MetricRow,
    csv_cell,
    numbers_in,
    parse_metric_log,
    parts_of,
    rows_in,
)


class Rows(NamedTuple):
    """The rows of one key, in order: float64 arrays of one length."""

    t_env: np.ndarray
    episode: np.ndarray
    seconds: np.ndarray
    value: np.ndarray


def read_metric_log(path: str | Path) -> list[MetricRow]:
    """Read a metric log; a last line that is still being written, and lines that are damaged, are left out.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        return parse_metric_log(file.read())


def whole_lines(data: bytes) -> bytes | None:
    """The log without its header and without a last line that is still being written; None if it is not such a log."""
    header, _, body = data.partition(b"\n")
    if header.strip() != HEADER.strip():
        return None
    return body[: body.rfind(b"\n") + 1]


def read_rows(body: bytes, keys: Iterable[str] | None = None, resumed: bool = False) -> dict[str, Rows]:
    """Rows by key.

    A resumed run goes back to its last checkpoint and logs all later values again; the outdated rows are left out.

    Args:
        body: from `whole_lines`.
        keys: which to read; all by default. One without rows is left out.
        resumed: look for going back in all rows, not only in those of a key: exact, and slower for a few keys.
    """
    if keys is not None and not resumed:
        found = {key: _rows_of(body, key) for key in keys}
        return {key: rows for key, rows in found.items() if len(rows.t_env)}
    table, which, names = _all_rows(body)
    up_to_date = _never_undercut(table[1]) & _never_undercut(table[2])
    table, which = table[:, up_to_date], which[up_to_date]
    wanted = None if keys is None else set(keys)
    by_key = {}
    order = np.argsort(which, kind="stable")
    changes = np.flatnonzero(which[order][1:] != which[order][:-1]) + 1
    for positions in np.split(order, changes) if len(which) else []:
        key = names[which[positions[0]]]
        if wanted is None or key in wanted:
            by_key[key] = _up_to_date(Rows(*table[:, positions]))
    return by_key


def keys_of(body: bytes) -> list[str]:
    """The keys that have rows, sorted; at most MOST_METRICS."""
    keys: set[str] = set()
    for part in parts_of(body):
        if QUOTE in part:
            keys.update(rows_in(part)[1])
        else:
            found = {line.split(b",", 4)[3] for line in part.splitlines() if line.count(b",") == 4}
            keys.update(key.decode("utf-8", "replace") for key in found)
        if len(keys) > MOST_METRICS:
            break
    return sorted(key for key in keys if 0 < len(key) <= LONGEST_KEY)[:MOST_METRICS]


def last_values(body: bytes, keys: Iterable[str]) -> tuple[int | None, dict[str, float]]:
    """The environment step of the last row, and the last value of each of the keys that has one."""
    values = {}
    for key in keys:
        mark = _mark(key)
        at = body.rfind(mark)
        if at >= 0 and (numbers := numbers_in([body[at + len(mark) : body.find(b"\n", at)]])) is not None:
            values[key] = numbers[0]
    last = numbers_in([body[body.rfind(b"\n", 0, -1) + 1 :].partition(b",")[0]])
    return (int(last[0]) if last is not None and abs(last[0]) <= LARGEST_STEP else None), values


def _rows_of(body: bytes, key: str) -> Rows:
    """The rows of one key, found without looking at the others."""
    mark = _mark(key)
    fields: list[bytes] = []
    at = body.find(mark)
    while at >= 0:
        start, end = body.rfind(b"\n", 0, at) + 1, body.find(b"\n", at)
        if end - start <= LONGEST_LINE:
            fields += (body[start:at], body[at + len(mark) : end])
        at = body.find(mark, end)
    numbers = numbers_in(b",".join(fields).split(b",")) if fields else []
    if numbers is None or len(numbers) != 2 * len(fields):
        lines = [b"%s,%s" % pair for pair in zip(fields[::2], fields[1::2], strict=True)]
        numbers = [n for line in lines if (four := numbers_in(line.split(b","))) and len(four) == 4 for n in four]
    return _up_to_date(Rows(*np.array(numbers, dtype=np.float64).reshape(-1, 4).T))


def _all_rows(body: bytes) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Every well-formed row: numbers [4, rows], and which of the keys each has [rows]; at most MOST_METRICS keys."""
    tables, names = [np.empty((4, 0))], [np.empty(0, np.int32)]
    codes: dict[str, int] = {}
    for part in parts_of(body):
        numbers, keys = rows_in(part)
        table = np.array(numbers, dtype=np.float64)
        for key in dict.fromkeys(keys):
            if len(codes) < MOST_METRICS:
                codes.setdefault(key, len(codes))
        which = np.array([codes.get(key, -1) for key in keys], dtype=np.int32)
        tables.append(table[:, which >= 0])
        names.append(which[which >= 0])
    return np.concatenate(tables, axis=1), np.concatenate(names), list(codes)


def _mark(key: str) -> bytes:
    """How a row shows that it is the key's."""
    return f",{csv_cell(key)},".encode()


def _never_undercut(counter: np.ndarray) -> np.ndarray:
    """Which entries of a count that only grows within a session are not above any later one: bool [n]."""
    later = np.minimum.accumulate(np.r_[counter[1:], np.inf][::-1])[::-1]
    return counter <= later


def _up_to_date(rows: Rows) -> Rows:
    """Without rows at or after the step of a later row, and without rows whose step is not a number."""
    t_env = np.where(np.abs(rows.t_env) <= LARGEST_STEP, rows.t_env, np.inf)
    later = np.minimum.accumulate(np.r_[t_env[1:], np.inf][::-1])[::-1]
    keep = t_env < later
    return rows if keep.all() else Rows(*(column[keep] for column in rows))
