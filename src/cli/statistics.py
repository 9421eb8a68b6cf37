"""All statistics with their meaning, from what parts declare, for help and the reference."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from envs import REGISTRY as environments
from envs import about
from learners import REGISTRY as learners
from learners.intrinsic import REGISTRY as intrinsic_rewards
from learners.logged import INTRINSIC
from records.statistics import DIAGNOSTICS, EPISODES, MEAN, RUN, TEST
from utils.config.registry import Registry

ANY = re.compile(r"<[^>]+>")


class Statistic(NamedTuple):
    """`logged_by`: "every run", or the parts that log it: `learner=ppo_learner, a2c_learner`."""

    name: str
    meaning: str
    logged_by: str


def all_statistics() -> dict[str, list[Statistic]]:
    """By the heading of their table: those of episodes, of the run, of learners and of environments; diagnostics."""
    return {
        "Episodes": [Statistic(name, text, "every run") for name, text in EPISODES.items()],
        "The run": [Statistic(name, text, "every run") for name, text in RUN.items()],
        "Learners": [*_by_part("learner", "", _logs()), *_by_part("intrinsic", "", _logs(intrinsic_rewards))],
        "Environments": list(_by_part("env", MEAN, {env: dict(about(env).figures) for env in environments})),
        "Diagnostics": [Statistic(name, text, "every run") for name, text in DIAGNOSTICS.items()],
    }


def of_name(name: str) -> list[Statistic]:
    """The statistics of that name, or those of tests that it names; a name with any text in it fits last."""
    found = [one for table in all_statistics().values() for one in table]
    plain = [one for one in found if one.name in (name, name.removeprefix(TEST))]
    return plain or [one for one in found if _pattern(one.name).fullmatch(name.removeprefix(TEST))][:1]


def is_described(name: str, learner: str, env: str) -> bool:
    """Whether a statistic of a run with these parts, one of its groups' or teams' too, is among those declared."""
    # without those that would fit anything
    of_all = {*EPISODES, *RUN} - {f"<number>{MEAN}", "<team>/<statistic>"}
    own = {*of_all, *_logs()[learner], *INTRINSIC, *(f"{key}{MEAN}" for key in about(env).figures)}
    plain = name.removeprefix(TEST)
    return any(_pattern(key).fullmatch(one) for key in own for one in (name, plain, plain.rpartition("/")[2]))


def _logs(parts: Registry = learners) -> dict[str, dict[str, str]]:
    return {name: dict(parts.entry(name).traits.get("logs", {})) for name in parts}


def _by_part(kind: str, ending: str, parts: dict[str, dict[str, str]]) -> Iterator[Statistic]:
    """Each name and meaning once, with the parts that log it."""
    alike: dict[tuple[str, str], list[str]] = {}
    for part, said in parts.items():
        for name, text in said.items():
            alike.setdefault((name + ending, text), []).append(part)
    for (name, text), logging in alike.items():
        yield Statistic(name, text, f"{kind}={', '.join(logging)}")


def _pattern(name: str) -> re.Pattern:
    return re.compile(".+".join(map(re.escape, ANY.split(name))))
