"""Folders `runs/<token>/`: runs that left no record with Sacred, and those whose token Sacred does not know yet."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from browser.reading.configs import flatten
from browser.reading.files import ResultsFiles
from browser.reading.json_files import parse, plain
from browser.reading.session import Session
from records.layout import DIAGNOSTICS, METRICS, RUNS
from records.tokens import parts_of, run_token

# the token is made when torch has been imported and plugins have been read
LATEST = timedelta(minutes=10)


def log_path(token: str) -> tuple[str, str, str]:
    """Where a token's metric log is, below the results folder."""
    return RUNS, token, METRICS


def diagnostics_path(token: str) -> tuple[str, str, str]:
    """Where a token's log of diagnostics is, below the results folder."""
    return RUNS, token, DIAGNOSTICS


def session_of_token(files: ResultsFiles, token: str) -> Session:
    """A session from its folder runs/<token>: config.json there if there is one, else what the token's parts say."""
    problems = ["Sacred has no record of this run."]
    config: dict = {}
    started = None
    if parts := parts_of(token):
        config = {"name": parts.name, "seed": parts.seed, "env_args.map_name": parts.map_name}
        started = parts.made and parts.made.astimezone(UTC)
    try:
        value = parse(files.read(RUNS, token, "config.json")).value
        config = flatten(plain(value))[0] if isinstance(value, dict) else config
    except OSError:
        problems.append("Name, seed and map are those in its token.")
    problems += filter(None, (files.problem(RUNS, token, "config.json"), files.problem(*log_path(token))))
    stamp = files.stamp(*log_path(token))
    heartbeat = datetime.fromtimestamp(stamp[1] / 1e9, UTC) if stamp else None
    return Session(
        id=f"runs/{token}", config=config, started=started, heartbeat=heartbeat, token=token, problems=tuple(problems)
    )


def with_tokens(sessions: Sequence[Session], tokens: Sequence[str]) -> list[Session]:
    """The sessions, those that are starting with the token that is theirs: Sacred names it at its first heartbeat.

    A token is a session's if it is what the run's algorithm, seed and map make, and was made within LATEST of its
    start; of several the earliest.

    Args:
        tokens: folders in runs/ that no session names as its own.
    """
    free = sorted((parts.made, token) for token in tokens if (parts := parts_of(token)) and parts.made is not None)
    found = []
    for session in sessions:
        starting = session.token is None and session.status == "RUNNING" and isinstance(session.seed, int)
        if starting and session.started is not None:
            for made, token in free:
                # the clock of a token is that of its machine's time zone
                named = run_token(session.name, session.seed, session.map_name, made) == token
                if named and timedelta() <= made - session.started <= LATEST:
                    free.remove((made, token))
                    session = replace(session, token=token)
                    break
        found.append(session)
    return found
