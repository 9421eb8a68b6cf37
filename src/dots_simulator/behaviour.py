"""What the agents of one behaviour show in a turn, and what they are to do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dots_simulator.groups import GroupLayout


class Behaviour:
    """Agents that see and do the same; made by `Simulator.behaviour`.

    In each turn every agent may ask for an action (`decide`) or end its episode (`end`), or do neither, or both: the
    row of `decide` then is the first of its next episode. Either may be called several times in a turn.

    Args:
        layout: of its group.
    """

    def __init__(self, layout: GroupLayout):
        self.layout = layout
        self.name = layout.spec.name
        self.rows: dict[str, np.ndarray] = {}
        self.counts: dict[str, np.ndarray] = {}
        self._observations: dict[str, list[np.ndarray]] = {}
        # rows of this turn, by block, and decisions of the last one, for which actions have come
        self.shown = {"decisions": 0, "ended": 0}
        self.asked = 0
        self._masked = False

    def show_in(self, rows: dict[str, np.ndarray]) -> None:
        """Write rows into these arrays from now on; named as `GroupLayout` names those of protocol 0.3.2."""
        self.rows = rows
        self.counts = {block: rows[f"{block}/count"] for block in self.shown}
        count = range(len(self.layout.spec.observations))
        self._observations = {block: [rows[f"{block}/obs/{i}"] for i in count] for block in self.shown}

    def decide(
        self,
        agent_ids: Sequence[int] | np.ndarray,
        observations: Sequence[np.ndarray],
        rewards: float | np.ndarray = 0.0,
        masks: np.ndarray | None = None,
    ) -> None:
        """Agents ask for actions.

        Args:
            agent_ids: k numbers, int32, different for all agents of all behaviours.
            observations: one array for each observation, with shape (k, *its shape).
            rewards: since the agents' last decisions, (k,).
            masks: True for choices that are not available, (k, sum of branches); None: all are.

        Raises:
            ValueError: shapes differ from the behaviour's, there are too many agents, or `exchange` was not called yet.
        """
        start, end = self._write("decisions", agent_ids, observations, rewards)
        if masks is not None:
            if np.shape(masks) != (end - start, sum(self.layout.spec.branches)):
                wanted = (end - start, sum(self.layout.spec.branches))
                raise ValueError(f"masks of '{self.name}' have shape {np.shape(masks)}; it must be {wanted}")
            self.rows["decisions/mask"][start:end] = masks
            self._masked = True
        elif self._masked:
            self.rows["decisions/mask"][start:end] = False

    def end(
        self,
        agent_ids: Sequence[int] | np.ndarray,
        observations: Sequence[np.ndarray],
        rewards: float | np.ndarray,
        interrupted: bool | np.ndarray = False,
    ) -> None:
        """Episodes of agents end.

        Args:
            agent_ids: k numbers.
            observations: the last ones, as in `decide`.
            rewards: since the agents' last decisions, (k,).
            interrupted: True where the episode could have continued, such as at a time limit, (k,).

        Raises:
            ValueError: as of `decide`.
        """
        start, end = self._write("ended", agent_ids, observations, rewards)
        self.rows["ended/status"][start:end] = interrupted

    @property
    def continuous(self) -> np.ndarray:
        """(k, floats) float32: the actions of the agents that asked in the last turn, in their order."""
        return self.rows["actions/continuous"][: self.asked].copy()

    @property
    def discrete(self) -> np.ndarray:
        """(k, branches) int32."""
        return self.rows["actions/discrete"][: self.asked].copy()

    @property
    def shows(self) -> bool:
        """Whether there are rows in this turn."""
        return any(self.shown.values())

    def clear(self) -> None:
        """Forget the rows of this turn."""
        self.shown = dict.fromkeys(self.shown, 0)

    def _write(self, block: str, agent_ids: Any, observations: Sequence[np.ndarray], rewards: Any) -> tuple[int, int]:
        """The first row written, and the one behind the last."""
        start = self.shown[block]
        end = start + len(agent_ids)
        self._check(end, observations, end - start)
        for rows, observation in zip(self._observations[block], observations, strict=True):
            rows[start:end] = observation
        self.rows[f"{block}/reward"][start:end] = rewards
        self.rows[f"{block}/agent_id"][start:end] = agent_ids
        self.shown[block] = end
        return start, end

    def _check(self, end: int, observations: Sequence[np.ndarray], count: int) -> None:
        spec = self.layout.spec
        if not self.rows:
            raise ValueError(f"'{self.name}' cannot show anything before the first exchange()")
        if end > spec.max_agents:
            raise ValueError(f"'{self.name}' shows {end} agents in a turn; it was registered with {spec.max_agents}")
        if len(observations) != len(spec.observations):
            raise ValueError(f"'{self.name}' has {len(spec.observations)} observations; {len(observations)} were given")
        for i, (observation, declared) in enumerate(zip(observations, spec.observations, strict=True)):
            if np.shape(observation) != (count, *declared.shape):
                wanted = (count, *declared.shape)
                raise ValueError(f"observation {i} of '{self.name}' has shape {observation.shape}; it must be {wanted}")
