"""How far a run is, from the last line of its metric log."""

import os
from pathlib import Path

from records.layout import METRICS, RUNS
from records.metric_lines import parse_metric_log
from records.tokens import is_token
from utils.files.regular_files import open_regular

# bytes from the end; a line has at most a few hundred
_TAIL = 2**14


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
