"""What the agents of one behaviour show in a turn, and what they are to do."""

from collections.abc import Sequence

import numpy as np

from dots_simulator.groups import GroupLayout
from dots_simulator.rows import Cuts, Rows


class Behaviour:
    """Agents that see and do the same; made by `Simulator.behaviour`.

    In each turn every agent may ask for an action (`decide`) or end its episode (`end`), or do neither, or both: the
    row of `decide` then is the first of its next episode. Either may be called several times in a turn.

    Args:
        layout: of its group, in protocol 0.3.2.
    """

    def __init__(self, layout: GroupLayout):
        self.layout = layout
        self.name = layout.spec.name
        self.views: dict[str, np.ndarray] = {}
        self._actions = Cuts([])
        self.decisions, self.ended = Rows(layout.spec, "decisions"), Rows(layout.spec, "ended")
        # decisions of the last turn, to which actions have come
        self.asked = 0
        self._mask_shape = (sum(layout.spec.branches),)
        self._is_masked = False

    def show_in(self, views: dict[str, np.ndarray]) -> None:
        """Write rows into these arrays from now on; named as `GroupLayout` names those of protocol 0.3.2."""
        self.views = views
        self._actions = Cuts([views["actions/continuous"], views["actions/discrete"]])
        self.decisions.bind(views)
        self.ended.bind(views)

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
        rows = self.decisions.write(agent_ids, observations, rewards)
        if masks is not None:
            if masks.shape != (len(agent_ids), *self._mask_shape):
                wanted = (len(agent_ids), *self._mask_shape)
                raise ValueError(f"masks of '{self.name}' have shape {masks.shape}; it must be {wanted}")
            self.views["decisions/mask"][rows] = masks
            self._is_masked = True
        elif self._is_masked:
            self.views["decisions/mask"][rows] = False

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
        self.views["ended/status"][self.ended.write(agent_ids, observations, rewards)] = interrupted

    @property
    def continuous(self) -> np.ndarray:
        """(k, floats) float32: the actions of the agents that asked in the last turn, in their order."""
        return self._actions.first(self.asked)[0].copy()

    @property
    def discrete(self) -> np.ndarray:
        """(k, branches) int32."""
        return self._actions.first(self.asked)[1].copy()

    def count(self, decisions: int, ended: int) -> None:
        """Say in the arrays how many rows the trainer shall see."""
        self.decisions.counted[0], self.ended.counted[0] = decisions, ended

    def clear(self) -> None:
        """Forget the rows of this turn."""
        self.decisions.shown = self.ended.shown = 0
