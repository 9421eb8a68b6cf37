"""Runs that log, but whose token Sacred does not name before its first heartbeat."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from browser.reading.record import Run
from records.tokens import parts_of, run_token

# the token is made when torch has been imported and plugins have been read
LATEST = timedelta(minutes=10)


def with_tokens(runs: Sequence[Run], tokens: Sequence[str]) -> list[Run]:
    """The runs, those that are starting with the token that is theirs.

    A token is a run's if it is what the run's algorithm, seed and map make, and was made within LATEST of its start; of
    several the earliest.

    Args:
        tokens: folders in runs/ that no run names as its own.
    """
    free = sorted((parts.made, token) for token in tokens if (parts := parts_of(token)) and parts.made is not None)
    found = []
    for run in runs:
        if run.token is None and run.status == "RUNNING" and run.started is not None and isinstance(run.seed, int):
            own = [entry for entry in free if timedelta() <= entry[0] - run.started <= LATEST and _is_of(run, entry)]
            if own:
                free.remove(own[0])
                run = replace(run, token=own[0][1])
        found.append(run)
    return found


def _is_of(run: Run, entry: tuple) -> bool:
    made, token = entry
    # the clock of a token is that of its machine's time zone
    return run_token(run.name, run.seed, run.map_name, made) == token
