"""Groups whose agents are streams: each asks when it likes, ends by itself, and may begin again at once.

Such a group declares, beside `present` (who asks now), a record `begins` (whose stream begins now), a record
`closing...` for each observation `obs...` (what agents saw at their end, of those that ended in the step before), and
the outcomes `terminated` and `truncated` by agent. A reward comes with the step in which it is known.
"""

from typing import NamedTuple

from envs.contract.fields import EnvSpec

BEGINS, CLOSING, OBS, PRESENT = "begins", "closing", "obs", "present"


class StreamGroup(NamedTuple):
    """The paths of a group of streams.

    Args:
        name: of the group.
        prefix: of its fields.
        closings: by the observation.
    """

    name: str
    prefix: str
    closings: dict[str, str]


def stream_groups(spec: EnvSpec) -> list[StreamGroup]:
    """The groups of an environment that are streams."""
    found = []
    for name in spec.groups:
        prefix = f"{name}/" if f"{name}/{PRESENT}" in spec.fields else ""
        if f"{prefix}{BEGINS}" not in spec.fields:
            continue
        observations = [
            path for path, field in spec.of_kind("observation").items() if path.startswith(f"{prefix}{OBS}")
        ]
        closings = {path: f"{prefix}{CLOSING}{path.removeprefix(prefix + OBS)}" for path in observations}
        found.append(StreamGroup(name, prefix, closings))
    return found
