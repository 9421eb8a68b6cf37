"""One group's play: from the rows of a turn to the arrays of a step, and from actions back to rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.validation import InvalidEnvironmentError
from envs.dots.fields import GroupFields
from envs.dots.group import Group
from envs.dots.streams import Streams


class GroupPlay:
    """The arrays of one group, of `max_agents` rows each; `observed` and `outcomes` by path.

    Args:
        fields: of the group.
        by_branch: masks lie branch by branch, not agent by agent.
    """

    def __init__(self, fields: GroupFields, by_branch: bool = False):
        self.fields, self._by_branch = fields, by_branch
        self.streams = Streams(fields.spec.max_agents)
        n = fields.spec.max_agents
        declared = fields.fields()
        arrays = {path: np.zeros((n, *one.shape), one.dtype) for path, one in declared.items() if one.kind != "action"}
        self.outcomes = {path: x for path, x in arrays.items() if declared[path].kind == "outcome"}
        self.observed = {path: x for path, x in arrays.items() if path not in self.outcomes}
        self._starts = np.cumsum([0, *fields.spec.branches])
        # of the rows that ask now, in the simulator's order
        self._asking = np.zeros(0, dtype=np.int64)

    def begin(self) -> None:
        """All episodes of its agents are over; the next turn is the first."""
        self.streams.clear()

    def take(self, group: Group | None) -> None:
        """Fill the arrays from a turn; None: the simulator has not shown the group yet."""
        fields = self.fields
        for array in self.outcomes.values():
            array[...] = 0
        observed = self.observed
        observed[fields.present][...] = False
        observed[fields.begins][...] = False
        for mask in fields.masks:
            observed[mask][...] = 0
            observed[mask][:, 0] = 1
        self._asking = np.zeros(0, dtype=np.int64)
        if group is None:
            return
        if group.ended:
            self._end(group)
        if group.asking:
            self._ask(group)

    def state_dict(self) -> dict[str, Any]:
        observed = {path: array.copy() for path, array in self.observed.items()}
        return {"streams": self.streams.state_dict(), "shown": observed, "asking": self._asking.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Show the same again; the simulator shows the rows of then."""
        self.streams.load_state_dict(state["streams"])
        for path, array in self.observed.items():
            array[...] = state["shown"][path]
        self._asking = np.array(state["asking"], dtype=np.int64)

    def act(self, group: Group, actions: Mapping[str, np.ndarray]) -> None:
        fields, rows = self.fields, self._asking
        floats = np.asarray(actions[fields.floats])[rows] if fields.floats else None
        choices = None
        if fields.choices:
            choices = np.stack([np.asarray(actions[path])[rows] for path in fields.choices], axis=1)
        group.act(floats, choices)

    def _end(self, group: Group) -> None:
        fields, ended = self.fields, group.endings()
        rows, known = self.streams.end(ended.agent_id, ended.reward)
        self.outcomes[fields.reward][rows] += ended.reward[known]
        interrupted = ended.interrupted[known]
        self.outcomes[fields.terminated][rows] = ~interrupted
        self.outcomes[fields.truncated][rows] = interrupted
        for path, seen in zip(fields.closing, ended.obs, strict=True):
            self.observed[path][rows] = seen[known]

    def _ask(self, group: Group) -> None:
        fields, asking = self.fields, group.decisions(self._by_branch)
        rows, begins = self.streams.ask(asking.agent_id, asking.reward)
        self._asking = rows
        self.outcomes[fields.reward][rows[~begins]] += asking.reward[~begins]
        observed = self.observed
        observed[fields.present][rows] = True
        observed[fields.begins][rows] = begins
        for path, seen in zip(fields.obs, asking.obs, strict=True):
            observed[path][rows] = seen
        if not fields.masks:
            return
        if asking.mask is None:
            for mask in fields.masks:
                observed[mask][rows] = 1
            return
        for i, mask in enumerate(fields.masks):
            legal = ~self._mask_of(asking.mask, i)
            if not (some := legal.any(axis=1)).all():
                raise InvalidEnvironmentError(
                    f"The simulator masks all {legal.shape[1]} choices of {fields.choices[i]} for its agent "
                    f"{asking.agent_id[~some][0]}; one must be left."
                )
            observed[mask][rows] = legal

    def _mask_of(self, mask: np.ndarray, branch: int) -> np.ndarray:
        begin, end = self._starts[branch : branch + 2]
        return mask[:, begin:end]
