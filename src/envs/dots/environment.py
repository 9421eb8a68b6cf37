"""DOTS simulators as environments: each behaviour a group, each agent id a stream of its own."""

import logging
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dots_simulator.layout import LayoutError
from envs.contract.arguments import require_known, signature_of
from envs.contract.fields import FieldSpec
from envs.contract.infos import MEANINGS, without_meaning
from envs.dots import side_channels
from envs.dots.connecting import connect, forget
from envs.dots.faults import SimulatorFault
from envs.dots.fields import GroupFields, group_names
from envs.dots.group import Group
from envs.dots.group_play import GroupPlay
from envs.dots.options import Options
from envs.dots.session import Session
from envs.dots.side_channels.state import StateChannel

log = logging.getLogger("muster")
# what an info says of the agents whose streams have ended
OF_AGENTS = ("agent_return", "agent_length")


class DotsEnv:
    """One simulator in the form of `envs.contract.fields`; `fields.GroupFields` has the fields.

    A step is a turn of the simulator: the agents that ask in it are `present`. Others are not there, and get no action.
    An episode of the run is `time_limit` turns, after which the simulator is reset; the episodes of agents begin and
    end within it.

    Without `executable` it is the simulator that somebody else starts, such as an editor's: one for training and tests.

    Args:
        env_args: see `options.Options`.

    Raises:
        ConfigError: an argument that makes no sense.
        SimulatorFault: from any method: the simulator does not start, or has failed.
    """

    __signature__ = signature_of(Options)
    # of its arguments, those that are seconds for which it may wait
    answers_within = ("launch_timeout", "timeout")

    def __init__(self, **env_args: Any):
        require_known("dots", Options, env_args)
        self.options = Options(**env_args)
        self.episode_limit = self.options.time_limit
        self._engine, self._parameters = (
            side_channels.EngineConfigurationChannel(),
            side_channels.EnvironmentParametersChannel(),
        )
        self._statistics, self._state = side_channels.StatsSideChannel(), StateChannel()
        plugged = [channel() for channel in self.options.channels()]
        self._channels = side_channels.SideChannelManager(
            [
                self._engine,
                self._parameters,
                self._statistics,
                self._state,
                side_channels.FloatPropertiesChannel(),
                *plugged,
            ]
        )
        self._warned, self._found_stale = False, False
        self._ignored: set[str] = set()
        self._lost: set[str] = set()
        self._start()
        self.groups = {play.fields.name: play.fields.spec.max_agents for play in self._plays.values()}

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        require_known("dots", Options, env_args)
        Options(**env_args)

    @property
    def restarts_by_reset(self) -> bool:
        """Whether a new environment in its place would be no other: somebody has to press Play for it again."""
        return self.options.executable is None

    def fields(self) -> dict[str, FieldSpec]:
        return {path: spec for play in self._plays.values() for path, spec in play.fields.fields().items()}

    def _start(self) -> None:
        self._engine.set(self.options.engine)
        for key, value in self.options.parameters.items():
            self._parameters.set_float_parameter(key, float(value))
        self._begun, self._reseeded, self._steps = False, False, 0
        self._session: Session = connect(self.options.wanted())
        # also when nobody holds the environment any more, and at the interpreter's end
        weakref.finalize(self, self._session.close)
        try:
            self._plays = self._first_turns()
        except BaseException:
            self.close()
            raise

    def seed(self, seed: int | None = None) -> None:
        """Seed the episodes from the next reset on: the simulator is started again then, with the seed in `args`. One
        that was not started here has no seed of ours."""
        self.options.seed, self._reseeded = seed, self.options.executable is not None

    def reset(self) -> None:
        if self._reseeded:
            self.close()
            self._start()
        if self._begun:
            for play in self._plays.values():
                play.begin()
            self._turn(reset=True)
        self._begun, self._steps = True, 0
        self._statistics.get_and_reset_stats()
        for play in self._plays.values():
            play.streams.finished = type(play.streams.finished)()

    def observe(self) -> dict[str, np.ndarray]:
        return {path: array for play in self._plays.values() for path, array in play.observed.items()}

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        """See `envs.contract.fields`. The last info of an episode has the simulator's statistics, and `agent_return`
        and `agent_length`: means over the streams that have ended in it, by group if there are several."""
        for behaviour, play in self._plays.items():
            if behaviour in self._session.groups:
                play.act(self._session.groups[behaviour], actions)
        self._turn()
        self._steps += 1
        outcomes = {path: array for play in self._plays.values() for path, array in play.outcomes.items()}
        over = self._steps >= self.options.time_limit
        return outcomes, False, over, self._info() if over else {}

    def snapshot(self) -> dict[str, Any]:
        raise NotImplementedError("a DOTS simulator does not say where anything is, so it has no snapshots")

    def get_stats(self) -> dict[str, float]:
        return self._statistics.figures()

    def state_dict(self) -> dict[str, Any]:
        """At any time, of simulators that offer their state (`dots_simulator.channels`); others raise
        NotImplementedError, and their episode is begun again."""
        if not self._state.offered:
            if not self._warned:
                self._warned = True
                log.warning("The simulator offers no state to save: a resumed run begins its episode again.")
            raise NotImplementedError("this simulator cannot be saved")
        self._state.ask()
        self._exchange(query=True)
        saved = self._state.answer("saved")
        if saved is None:
            raise SimulatorFault("The simulator offers its state, and does not answer when asked for it.")
        return {
            "simulator": np.frombuffer(saved, np.uint8).copy(),
            "plays": {name: play.state_dict() for name, play in self._plays.items()},
            "steps": self._steps,
            "begun": self._begun,
            "statistics": self._statistics.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from where `state_dict` was taken, by a simulator of the same program and arguments."""
        self._state.hand_back(np.asarray(state["simulator"], np.uint8).tobytes())
        self._exchange(query=True)
        why = self._state.answer("loaded")
        if why != b"":
            said = "it does not answer" if why is None else why.decode("ascii", "replace")
            raise SimulatorFault(f"The simulator cannot resume from its saved state: {said}.")
        for name, saved in state["plays"].items():
            self._plays[name].load_state_dict(saved)
        self._steps, self._begun = state["steps"], state["begun"]
        self._statistics.load_state_dict(state["statistics"])

    def close(self) -> None:
        self._session.close()

    def _first_turns(self) -> dict[str, GroupPlay]:
        """Reset the simulator, and wait for its behaviours."""
        session, options = self._session, self.options
        try:
            self._exchange(reset=True)
        except SimulatorFault:
            forget(session, options.wanted())
            raise
        for _ in range(options.start_turns):
            missing = [name for name in options.behaviours if name not in session.groups]
            if session.groups and not missing:
                break
            self._act_nothing()
            self._exchange()
        else:
            raise SimulatorFault(
                f"The simulator has shown {', '.join(session.groups) or 'no behaviour'} in its first "
                f"{options.start_turns} turns (env_args.start_turns)"
                + (f", and not {', '.join(missing)} (env_args.behaviours)." if missing else ".")
            )
        # with behaviours that are waited for, turns have gone by that nobody has seen
        if options.behaviours or len(session.groups) > 1:
            self._act_nothing()
            self._exchange(reset=True)
        names = group_names(session.groups)
        plays = {
            name: GroupPlay(GroupFields(names[name], group.spec, session.protocol != "0"), options.masks == "branches")
            for name, group in session.groups.items()
        }
        for name, play in plays.items():
            play.take(session.groups[name])
        return plays

    def _turn(self, reset: bool = False) -> None:
        self._exchange(reset)
        groups = self._session.groups
        for name, play in self._plays.items():
            play.take(groups.get(name))
        if self._session.protocol == "0.3.2" and not (self._found_stale or self._session.wakes):
            self._look_for_stale(groups.values())
        if len(groups) > len(self._plays):
            self._ignore([name for name in groups if name not in self._plays])

    def _exchange(self, reset: bool = False, query: bool = False) -> None:
        session = self._session
        payload = session.exchange(self._channels.generate_side_channel_messages(), reset, query)
        # copies of one simulator lose the same
        if session.lost and session.lost not in self._lost and self.options.place[2] == 0:
            self._lost.add(session.lost)
            log.warning(session.lost)
        if payload:
            try:
                self._channels.process_side_channel_message(payload)
            except LayoutError as error:
                raise SimulatorFault(f"A message of the simulator is invalid: {error}.") from None

    def _act_nothing(self) -> None:
        for group in self._session.groups.values():
            group.act(None, None)

    def _look_for_stale(self, groups: Iterable[Group]) -> None:
        """Unity copies too little of all observations but the first; whoever knows wake-ups does not."""
        for group in groups:
            if len(group.spec.observations) > 1 and 0 < group.asking < group.spec.max_agents:
                self._found_stale = True
                log.warning(
                    f"Only {group.asking} of {group.spec.max_agents} agents of '{group.spec.name}' ask, and they have "
                    f"{len(group.spec.observations)} observations: Unity builds then write the first one only, and "
                    "what is seen of the others is old. Let all ask in each turn, or put them into one observation."
                )
                return

    def _ignore(self, names: list[str]) -> None:
        """Behaviours that have appeared since the run began: its data has no place for them."""
        for name in names:
            self._session.groups[name].act(None, None)
            if name not in self._ignored:
                self._ignored.add(name)
                log.warning(
                    f"The simulator's behaviour '{name}' has appeared after the start; its agents get actions 0 and "
                    f"are not trained. To wait for it: env_args.behaviours=[..., {name}]."
                )

    def _info(self) -> dict[str, Any]:
        own = [f"{play.fields.prefix}{name}" for play in self._plays.values() for name in OF_AGENTS]
        info = without_meaning(self._statistics.figures(), (*MEANINGS, *own))
        for play in self._plays.values():
            finished, prefix = play.streams.finished, play.fields.prefix
            if finished.returns:
                info[f"{prefix}agent_return"] = float(np.mean(finished.returns))
                info[f"{prefix}agent_length"] = float(np.mean(finished.lengths))
        info["only_of"] = own
        return info
