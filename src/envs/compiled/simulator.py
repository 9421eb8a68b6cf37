"""Many copies of a simulated world, in structs of plain numbers, that one call of a compiled kernel steps."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from envs.compiled.kernel import Kernel
from envs.contract.seeds import SEED_LIMIT, copies_seeds
from utils.processes.available_memory import available_memory, require_memory
from utils.processes.thread_shares import ThreadShares


class Simulator:
    """B copies of a world. Episode k of a copy depends on the copy's seed and on k alone, not on B, on the order in
    which episodes end, or on the number of threads.

    A family's class sets `kernel` and `plural` and writes `set_up`, `allocate`, `begin`, `play` and `compile_all`. Its
    compiled functions take `(state, per_copy, outputs, *constants)`, where `per_copy` has an entry for each copy: its
    actions, or whether it is meant. `state` and `outputs` are named tuples of arrays with an entry for each copy; the
    first array of the state has structs with the fields `seed`, `episode` (-1 before the first one) and `ended`.

    Args:
        options: the arguments of the family. Of these, `seed` is a list of B seeds; a number s, of which copy b takes
            `environment_seed(s, b)`; or None: random ones.
        batch_size: B.
        threads: how many share the copies, at most one a copy; 1: the calling one alone.

    Raises:
        ConfigError: an argument that makes no sense, or more copies than fit into the memory.
    """

    kernel: ClassVar[Kernel]
    plural: ClassVar[str]  # what messages and saved states call the copies
    state: Any
    outputs: Any
    constants: tuple[Any, ...]  # of the world, for the kernel
    n_agents: int  # of a copy, each with one action

    def __init__(self, options: Any, batch_size: int, threads: int):
        self.prepare()
        self.options, self.batch_size = options, batch_size
        self.shares = ThreadShares(batch_size, threads)
        self.alone = len(self.shares) == 1
        self._parts: list[tuple[Any, slice, Any]] = []  # of each thread: its state, which copies, its outputs
        self._parts_of: Any = None  # the outputs that were divided
        self.set_up()
        one = [array for arrays in self.allocate(1) for array in arrays]
        require_memory(
            f"A batch of {batch_size} {self.title}",
            batch_size * sum(array.nbytes for array in one),
            available_memory(),
            "Choose a smaller batch_size_run.",
        )
        self.state, self.outputs = self.allocate(batch_size)
        self.seed(options.seed)

    @property
    def title(self) -> str:
        """What the copies are called where the memory does not suffice."""
        return self.plural

    def set_up(self) -> None:
        """Work out `constants` and `n_agents` from the options."""
        raise NotImplementedError

    def allocate(self, copies: int) -> tuple[Any, Any]:
        """State and outputs of so many copies."""
        raise NotImplementedError

    def begin(self, which: np.ndarray) -> None:
        """Begin the next episode of the copies `which` (bool `[B]`) and write their outputs."""
        raise NotImplementedError

    def play(self, actions: np.ndarray, outputs: Any) -> None:
        """Refuse illegal actions (int64 `[B, n]`) with a ValueError, set `outputs` and play one step of all copies."""
        raise NotImplementedError

    def cannot(self, actions: np.ndarray, choices: np.ndarray | int) -> ValueError:
        """What to raise for the first action that is none of 0 to `choices` - 1 (one number, or one for each agent)."""
        b, agent = np.argwhere((actions < 0) | (actions >= choices))[0]
        most = np.broadcast_to(choices, actions.shape)[b, agent] - 1
        return ValueError(
            f"Agent {agent} of copy {b} cannot take action {actions[b, agent]}; its actions are 0 to {most}."
        )

    @classmethod
    def compile_all(cls) -> None:
        """Use everything once. It is called in a process of its own."""
        raise NotImplementedError

    @classmethod
    def prepare(cls) -> None:
        """Compile everything, unless that was done before."""
        cls.kernel.ensure_compiled(cls.compile_all)

    def run(self, work: Callable, per_copy: np.ndarray, shared: bool = True) -> None:
        """Call a compiled function for all copies, in all threads (or in this one): no copy knows of another."""
        if self.alone or not shared:
            work(self.state, per_copy, self.outputs, *self.constants)
            return
        if self._parts_of is not self.outputs:
            self._parts_of = self.outputs
            cut = self.shares.cut
            self._parts = list(zip(cut(self.state), self.shares.slices, cut(self.outputs), strict=True))
        self.shares.do(work, [(state, per_copy[part], out, *self.constants) for state, part, out in self._parts])

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Seed the copies, as the constructor does, and count their episodes from 0 again."""
        copies = self.state[0]
        copies["seed"] = copies_seeds(secrets.randbelow(SEED_LIMIT) if seed is None else seed, self.batch_size)
        copies["episode"] = -1
        copies["ended"] = 1

    def reset(self, which: np.ndarray | None = None, outputs: Any = None) -> Any:
        """Begin the next episode of the copies `which` (bool `[B]`; None: all).

        Returns:
            where their first views were written: `outputs` if given, else where the last call wrote.
        """
        self.outputs = outputs or self.outputs
        self.begin(np.ones(self.batch_size, dtype=bool) if which is None else np.asarray(which, dtype=bool))
        return self.outputs

    def step(self, actions: np.ndarray, outputs: Any = None) -> Any:
        """One step of all copies; one that has ended stays as it is until it is reset.

        Args:
            actions: whole numbers `[B, n]`.
            outputs: where to write; None: where the last call wrote.

        Returns:
            where it was written.

        Raises:
            ValueError: an illegal action, or a wrong shape; nothing has happened then.
        """
        actions = np.ascontiguousarray(actions, dtype=np.int64)
        if actions.shape != (self.batch_size, self.n_agents):
            raise ValueError(f"actions have the shape {actions.shape}, not {(self.batch_size, self.n_agents)}.")
        self.play(actions, outputs or self.outputs)
        return self.outputs

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"{self.plural}.{name}": value for name, value in self.state._asdict().items()}
        return arrays | {f"outputs.{name}": value for name, value in self.outputs._asdict().items()}

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of everything that a step reads or leaves: all copies continue identically from them."""
        return {name: value.copy() for name, value in self._arrays().items()}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Continue from where `state_dict` was taken, in a batch of the same size with the same arguments. Raises
        ValueError: it does not fit; nothing has happened then."""
        for name, array in self._arrays().items():
            if name not in state or np.shape(state[name]) != array.shape:
                found = np.shape(state[name]) if name in state else "missing"
                raise ValueError(f"The state does not fit these {self.plural}: {name} is {found}, not {array.shape}.")
        for name, array in self._arrays().items():
            array[...] = state[name]
