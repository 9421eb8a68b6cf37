"""Plays the probe games (`envs.probes`) with an algorithm, and says what those that fail show to be broken."""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from cli.probe_configs import CONTINUOUS, UnsuitedError, config_of, without_memory
from envs.contract.arguments import require_choice
from envs.probes import GAMES
from run import run
from utils.config.merging import choose_one, config_names, parameter_names
from utils.errors import ConfigError, MusterError
from utils.processes.stop_signals import Interrupted

# what a value may be off, an error of values at most, and a return at least (random play gets half of it or less)
NEAR, SMALL, GOOD, GOOD_CONTINUOUS = 0.09, 0.3, 0.9, 0.8
# statistics of the values of what was done, the first that a learner logs; the other one is QTRAN's
VALUES = ("q_taken_mean", "td_chosen_qs")
PASSED, FAILED, UNSUITED = "passed", "failed", "not played"


@dataclass(frozen=True)
class Probe:
    """One game: how many agents play it, what must come out, and what is broken otherwise.

    `judge`: of the last statistics, of the config, and of whether actions are continuous: whether it passed (None:
    these do not say), and why.
    """

    game: str
    n_agents: int
    judge: Callable[[Mapping[str, float], Mapping[str, Any], bool], tuple[bool | None, str]]
    broken: str


@dataclass(frozen=True)
class Outcome:
    """What came of a probe: PASSED, FAILED or UNSUITED, and why, in figures."""

    game: str
    verdict: str
    seen: str
    broken: str = ""
    seconds: float = 0.0


def _of_constant(figures: Mapping[str, float], config: Mapping[str, Any], _: bool) -> tuple[bool | None, str]:
    return _value(figures, 1.0)


def _of_delay(figures: Mapping[str, float], config: Mapping[str, Any], _: bool) -> tuple[bool | None, str]:
    """The mean over both steps, of which the first is worth gamma."""
    return _value(figures, (1 + float(config["gamma"])) / 2)


def _value(figures: Mapping[str, float], right: float) -> tuple[bool | None, str]:
    value = next((figures[key] for key in VALUES if key in figures), math.nan)
    if math.isnan(value):
        return None, "the learner logs no q_taken_mean"
    return abs(value - right) <= NEAR, f"mean value {value:.2f}, {right:g} is right"


def _error(figures: Mapping[str, float], config: Mapping[str, Any], _: bool) -> tuple[bool | None, str]:
    error = figures.get("td_error_abs", math.nan)
    if math.isnan(error):
        return None, "the learner logs no td_error_abs"
    return error <= SMALL, f"mean error of values {error:.2f}, 0 is right"


def _return(figures: Mapping[str, float], config: Mapping[str, Any], continuous: bool) -> tuple[bool | None, str]:
    value, least = figures["test_return_mean"], GOOD_CONTINUOUS if continuous else GOOD
    return value >= least, f"tests return {value:.2f}, 1 is right"


# in their order: what a later one needs, an earlier one shows
PROBES = (
    Probe("constant", 1, _of_constant, "values do not learn a reward that is always 1: loss, optimiser, mask, end"),
    Probe("observation", 1, _error, "values do not follow the observation: rows, inputs of the networks"),
    Probe("delay", 1, _of_delay, "targets: bootstrap, discount, target network, steps after the end"),
    Probe("action", 2, _return, "actions: which value or probability is taken, sign of the policy's loss"),
    Probe("joint", 2, _return, "agents: whose observation, action and value go together"),
    Probe("memory", 2, _return, "memory: hidden states over time, when they begin again"),
)


@dataclass
class _Figures:
    """Takes a run's statistics in place of Sacred's record."""

    info: dict[str, Any] = field(default_factory=dict)
    _id: None = None

    def log_scalar(self, key: str, value: float, t: int) -> None:
        """`info` has them already."""

    def last(self) -> dict[str, float]:
        return {key: values[-1] for key, values in self.info.items() if isinstance(values, list) and values}


def require_config(name: str | None) -> str:
    """The algorithm's name. Raises ConfigError: there is none."""
    if not name:
        raise ConfigError(f"--config is missing. {choose_one('algs')}")
    return name


def presets() -> list[str]:
    """The names of all algorithms that come with Muster."""
    return sorted([*config_names("algs"), *parameter_names()])


def require_games(named: str | None) -> list[str]:
    """The games of a list with commas, in the probes' order; all by default. Raises ConfigError: one is unknown."""
    names = [name.strip() for name in named.split(",")] if named else [*GAMES]
    for name in names:
        require_choice("--games", name, GAMES)
    return [game for game in GAMES if game in names]


def outcomes_of(
    algorithm: str, settings: Mapping[str, Any], texts: Mapping[str, str], games: Collection[str]
) -> Iterator[Outcome]:
    """Play the games, one after another.

    Args:
        algorithm: --config of main.py.
        settings: those after `with`, nested; they win over what the probes set. `texts`: how they were typed.
        games: names of those to play.

    Raises:
        ConfigError: the algorithm or a setting is refused.
    """
    for probe in PROBES:
        if probe.game in games:
            yield _outcome(probe, algorithm, settings, texts)


def _outcome(probe: Probe, algorithm: str, settings: Mapping[str, Any], texts: Mapping[str, str]) -> Outcome:
    try:
        config, form = config_of(probe.game, probe.n_agents, algorithm, settings, texts)
    except UnsuitedError as error:
        return Outcome(probe.game, UNSUITED, str(error))
    if probe.game == "memory" and (part := without_memory(config)):
        return Outcome(probe.game, UNSUITED, f"{part} has no memory")
    figures, started = _Figures(), time.monotonic()
    try:
        with TemporaryDirectory(prefix="muster-") as folder:
            run({**config, "local_results_path": folder}, figures, _quiet())
        passed, seen = probe.judge(figures.last(), config, form == CONTINUOUS)
    except Interrupted as stopped:  # its message says how to resume
        raise Interrupted(stopped.exit_code - 128, "interrupted; the probes that were played are above.") from None
    except ConfigError:
        raise
    except MusterError as error:
        passed, seen = False, str(error).splitlines()[0]
    verdict = UNSUITED if passed is None else PASSED if passed else FAILED
    broken = probe.broken if verdict == FAILED else ""
    return Outcome(probe.game, verdict, seen, broken, time.monotonic() - started)


def _quiet() -> logging.Logger:
    log = logging.getLogger("muster.probe")
    log.setLevel(logging.CRITICAL)
    return log


def line_of(outcome: Outcome) -> str:
    """One line for a game."""
    broken = f"\n             broken: {outcome.broken}" if outcome.broken else ""
    seconds = f" ({outcome.seconds:.0f} s)" if outcome.seconds >= 1 else ""
    return f"{outcome.game:<12} {outcome.verdict:<10} {outcome.seen}{seconds}{broken}"


def row_of(preset: str, outcomes: Iterable[Outcome]) -> tuple[str, bool]:
    """One line for an algorithm, and whether nothing failed; one that is refused has failed."""
    try:
        found = list(outcomes)
    except ConfigError as error:
        return f"{preset:<22} refused    {error}", False
    passed, seconds = sum(one.verdict == PASSED for one in found), sum(one.seconds for one in found)
    others: dict[str, list[str]] = {}
    for one in found:
        if one.verdict != PASSED:
            others.setdefault(f"{one.verdict}: {one.seen}", []).append(one.game)
    notes = "".join(f"; {', '.join(games)} {why}" for why, games in others.items())
    row = f"{preset:<22} {passed} of {len(found)} passed{notes} ({seconds:.0f} s)"
    return row, all(one.verdict != FAILED for one in found)
