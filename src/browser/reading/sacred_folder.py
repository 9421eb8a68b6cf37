"""One folder of Sacred's file observer as a `Session`, and the provenance that Sacred noted.

Each file is reduced to the few values that a run's record needs (its part), which is what the cache keeps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from browser.reading.configs import flatten
from browser.reading.files import is_file_name
from browser.reading.json_files import JsonObject, parse, plain
from browser.reading.limits import (
    LONGEST_TRACE,
    MOST_ARTIFACTS,
    MOST_CONFIG_KEYS,
    MOST_SOURCES,
    cut,
    cut_end,
    cut_value,
)
from browser.reading.session import BEAT_SECONDS, UNKNOWN, Host, ResumedFrom, Session, Source

# of these run.json has some from the first moment; a file that has none is another program's
_SACRED_KEYS = ("experiment", "status", "command", "meta", "start_time", "heartbeat", "host")
FILES = ("run.json", "config.json", "info.json")
# seconds; more would be a run that is never taken for dead
LONGEST_BEAT = 86_400.0


def part_of(name: str, data: bytes) -> tuple[dict | None, bool]:
    """Reduce one file to its part.

    Args:
        name: one of FILES.
        data: its bytes.

    Returns:
        The part as JSON values (None: the file is not Sacred's), and whether the file was whole.
    """
    if name == "info.json":
        return _info_part(data)
    value, whole = parse(data)
    if not isinstance(value, dict):
        return (None if whole else {}), whole
    if name == "config.json":
        config, left_out = flatten(plain(value))
        return {"config": config, "left_out": left_out}, whole
    if whole and not any(key in value for key in _SACRED_KEYS):
        return None, whole
    return _run_part(value), whole


def _run_part(run: dict) -> dict:
    experiment, host = _mapping(run.get("experiment")), _mapping(run.get("host"))
    repositories = experiment.get("repositories") or []
    repository = _mapping(repositories[0] if isinstance(repositories, list) and repositories else None)
    gpus = _mapping(host.get("gpus")).get("gpus")
    return {
        "experiment": _text(experiment.get("name")),
        "status": _text(run.get("status")),
        "result": cut_value(plain(run.get("result"))),
        "started": _text(run.get("start_time")),
        "stopped": _text(run.get("stop_time")),
        "heartbeat": _text(run.get("heartbeat")),
        "beat": _beat(_mapping(_mapping(run.get("meta")).get("options"))),
        "host": {
            "name": _text(host.get("hostname")),
            "os": " ".join(_text(part) for part in host["os"][:9]) if isinstance(host.get("os"), list) else "",
            "cpu": _text(host.get("cpu")),
            "python": _text(host.get("python_version")),
            "gpus": [_text(_mapping(gpu).get("model")) for gpu in gpus[:99]] if isinstance(gpus, list) else [],
        },
        "source": {
            "commit": _text(repository.get("commit")),
            "dirty": repository["dirty"] if isinstance(repository.get("dirty"), bool) else None,
            "url": _text(repository.get("url")),
            "main_file": _text(experiment.get("mainfile")),
        },
        "artifacts": _artifact_names(run.get("artifacts")),
        "fail_trace": _trace(run.get("fail_trace")),
    }


def _info_part(data: bytes) -> tuple[dict, bool]:
    info = JsonObject(data)
    token, resumed = info.get("unique_token"), plain(info.get("resumed_from"))
    part: dict[str, Any] = {"token": token if isinstance(token, str) and is_file_name(token) else None}
    if isinstance(resumed, dict):
        sacred_id, t_env = resumed.get("sacred_id"), resumed.get("t_env")
        sacred_id = None if sacred_id is None else _text(sacred_id)
        part["resumed_from"] = [sacred_id, t_env if _is_number(t_env) else None]
    return part, info.whole


def session_from(
    session_id: str, folder: Path, parts: Mapping[str, dict | None], problems: tuple[str, ...] = ()
) -> Session:
    """Put a session together from the parts of its files; a file without a part is unknown."""
    record, config, info = (parts.get(name) or {} for name in FILES)
    if config.get("left_out"):
        problems += (f"config.json has {config['left_out']:,} more keys than the {MOST_CONFIG_KEYS:,} that are shown.",)
    resumed = info.get("resumed_from")
    host = record.get("host", {})
    return Session(
        id=session_id,
        folder=folder,
        experiment=record.get("experiment", ""),
        status=record.get("status") or UNKNOWN,
        config=config.get("config", {}),
        result=record.get("result"),
        started=_time(record.get("started")),
        stopped=_time(record.get("stopped")),
        heartbeat=_time(record.get("heartbeat")),
        beat_seconds=record.get("beat") or BEAT_SECONDS,
        host=Host(**{**host, "gpus": tuple(host.get("gpus", ()))}),
        source=Source(**record.get("source", {})),
        artifacts=tuple(record.get("artifacts", ())),
        token=info.get("token"),
        resumed_from=ResumedFrom(resumed[0], None if resumed[1] is None else int(resumed[1])) if resumed else None,
        fail_trace=record.get("fail_trace", ""),
        problems=problems,
    )


@dataclass(frozen=True)
class Provenance:
    """Packages and source files of a run; empty where Sacred recorded none.

    Attributes:
        dependencies: versions by package.
        sources: by path, the name under which Sacred keeps the file, which has its digest.
    """

    dependencies: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


def provenance_of(experiment: Any) -> Provenance:
    """From the part `experiment` of run.json, without values that are not lists of texts."""
    if not isinstance(experiment, Mapping):
        return Provenance()
    listed = {
        key: value if isinstance(value := experiment.get(key), list) else [] for key in ("dependencies", "sources")
    }
    texts = (text for text in listed["dependencies"][:MOST_SOURCES] if isinstance(text, str))
    pairs = (pair for pair in listed["sources"][:MOST_SOURCES] if isinstance(pair, list) and len(pair) == 2)
    return Provenance(
        {cut(name): cut(version) for name, _, version in (text.partition("==") for text in texts)},
        {cut(path): cut(stored).rpartition("/")[2] for path, stored in pairs if {type(path), type(stored)} == {str}},
    )


def _mapping(value: Any) -> Mapping:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return cut(value) if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _beat(options: Mapping) -> float | None:
    """Seconds between heartbeats, from Sacred's command line."""
    try:
        seconds = float(options.get("--beat-interval", options.get("--beat_interval")))
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds <= LONGEST_BEAT else None


def _artifact_names(artifacts: Any) -> list[str]:
    """Names of artifacts; some versions of Sacred wrote mappings with a name."""
    items = artifacts if isinstance(artifacts, list) else []
    names = (item.get("name") if isinstance(item, dict) else item for item in items)
    return [name for name in islice(names, MOST_ARTIFACTS) if isinstance(name, str) and is_file_name(name)]


def _trace(trace: Any) -> str:
    lines = trace if isinstance(trace, list) else [trace]
    return cut_end("".join(line for line in lines if isinstance(line, str)), LONGEST_TRACE)


def _time(text: Any) -> datetime | None:
    """Sacred's times: UTC without saying so."""
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
