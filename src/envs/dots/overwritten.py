"""Protocol 0 with discrete actions, as Unity builds write it: masks lie over time limits and the ids of agents.

Unity's `SharedMemoryCom.WriteWorld` (ml-agents-dots 2ea58e4 to 662d1a9) copies the masks of the k agents that it shows,
k times (sum of branches) bytes of 0 and 1, to the place of `max_step`. That hides the time limits of all k, and, beyond
the `max_agents` bytes of `max_step`, their ids. The masks themselves are of no use either: what was masked once for a
row is never cleared.
"""

import numpy as np

from dots_simulator.groups import GroupSpec

AUTO, AGENTS, ROWS = "auto", "agents", "rows"
IDS = (AUTO, AGENTS, ROWS)


class Overwritten:
    """Whether the simulator of one session writes so, and what of its groups is lost then.

    A simulator that writes correctly shows ids with bytes other than 0 and 1, sooner or later. One that overwrites
    shows what cannot be: an agent twice, a time limit for an agent that continues, or more agents than the group has.
    Until either is seen, fields are taken as they stand.

    Args:
        ids: what agents are told apart by: "agents", their ids; "rows"; or "auto", which finds out.
    """

    def __init__(self, ids: str = AUTO):
        self._always_rows = ids == ROWS
        # None: not known yet
        self._proven: bool | None = {AGENTS: False, ROWS: True}.get(ids)
        self._by_row: dict[str, GroupSpec] = {}
        # undecided: ids of agents that have not ended, by group, from turns in which masks may lie over ids
        self._alive: dict[str, np.ndarray] = {}
        self._unclear: GroupSpec | None = None

    def trust(self) -> None:
        """The simulator is no Unity build: it knows wake-ups."""
        if not self._always_rows:
            self._proven = False

    def begin(self) -> None:
        self._alive.clear()

    def look(self, spec: GroupSpec, masks: np.ndarray, rows: dict[str, np.ndarray]) -> None:
        """See what a turn of k agents proves, from the bytes where masks would lie, uint8 `[k * sum(branches)]`, and
        from their "done", "max_step" and "agent_id"."""
        if self._proven is None and len(masks):
            self._proven = self._judged(spec, masks, rows)
            if self._proven is None and rows["done"].any():
                self._unclear = spec
        if self._proven and (self._always_rows or len(masks) > spec.max_agents):
            self._by_row[spec.name] = spec

    @property
    def decided_against(self) -> bool:
        """Whether fields are known to be what they say."""
        return self._proven is False

    @property
    def hides_limits(self) -> bool:
        """Whether max_step is not what it says."""
        return bool(self._proven)

    def hides_ids(self, name: str) -> bool:
        """Whether a group's agents are told apart by their rows."""
        return name in self._by_row

    @property
    def lost(self) -> str:
        """What is lost, for the log; empty: nothing that is known."""
        if self._proven is None and self._unclear is not None:
            return (
                f"Agents of '{self._unclear.name}' end, and what the simulator shows of them does not tell whether it "
                "writes their time limits, or masks over them, as Unity builds of protocol 0 do: if it does, agents "
                "that a time limit ends count as terminated. To answer: env_args.ids=rows if it is such a build, else "
                "env_args.ids=agents."
            )
        if not self._proven:
            return ""
        told = "masks hide no ids yet, so agents keep them"
        if self._by_row:
            told = (
                f"agents of {', '.join(map(repr, self._by_row))} are told apart by their rows, which is right if all "
                "ask in every turn and in the same order"
            )
        return (
            "The simulator writes protocol 0 as Unity builds do, which copy the masks of discrete actions over other "
            f"fields: {told}; agents that a time limit ends count as terminated; no action is masked. "
            "If it is no such build: env_args.ids=agents."
        )

    def _judged(self, spec: GroupSpec, masks: np.ndarray, rows: dict[str, np.ndarray]) -> bool | None:
        """True: it overwrites; False: it does not; None: neither is proven by this turn."""
        if masks.max() > 1:
            return False
        done, ids = rows["done"] != 0, rows["agent_id"]
        if (rows["max_step"][~done] != 0).any():
            return True
        if any(len(np.unique(some)) < len(some) for some in (ids[done], ids[~done])):
            return True
        if len(masks) <= spec.max_agents:  # no id can be overwritten
            return None
        before = np.setdiff1d(self._alive.get(spec.name, ids[:0]), ids[done])
        self._alive[spec.name] = alive = np.union1d(before, ids[~done])
        return True if len(alive) > spec.max_agents else None
