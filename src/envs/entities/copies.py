"""One environment of entities with what belongs to it: its random numbers and its state."""

import random
from collections.abc import Mapping
from contextlib import nullcontext
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from envs.contract.saving import StateEncoder
from envs.entities.actions import MASK_OF, CategoricalAction
from envs.entities.environment import Environment
from envs.entities.making import asked, made
from envs.entities.observation import Entity, Observation, ObsSpace

# the modules of observations and actions, which an environment may keep
WORDS = (Observation.__module__, CategoricalAction.__module__)
# what describes an environment, and no step changes
CONSTANT = (FunctionType, BuiltinFunctionType, ModuleType, type, ObsSpace, Entity, *MASK_OF)


class Copy:
    """An environment, seeded, as `making.made` makes it.

    One that seeds itself has its own generators; any other one gets the global ones for itself while it plays.
    """

    def __init__(self, environment: str, kwargs: Mapping[str, Any] | None, seed: int):
        with OwnRandom(seed):
            self.env = made(environment, kwargs)
        self._seeds_itself = type(self.env).seed is not Environment.seed
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start its random numbers from there."""
        self.random = None if self._seeds_itself else OwnRandom(seed)
        # a context in which the global generators are its own
        self.alone: Any = nullcontext() if self.random is None else self.random
        if self._seeds_itself:
            with asked(self.env, f"seed({seed})"):
                self.env.seed(seed)

    @property
    def module(self) -> str:
        return type(self.env).__module__

    def state_dict(self) -> dict[str, Any]:
        """What the environment's own `state_dict` has, else its attributes, in plain values and arrays. Raises
        NotImplementedError: one cannot be saved."""
        if (env := self._saving()) is not None:
            return {"env": env.state_dict(), "random": self._random_state()}
        encoder, where = StateEncoder(self.module, WORDS), type(self.env).__name__
        attributes = {
            name: encoder.encoded(value, f"{where}.{name}")
            for name, value in vars(self.env).items()
            if not isinstance(value, CONSTANT)
        }
        return {"env": attributes, "random": self._random_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if (env := self._saving()) is not None:
            env.load_state_dict(state["env"])
        else:
            encoder = StateEncoder(self.module, WORDS)
            for name, value in state["env"].items():
                setattr(self.env, name, encoder.decoded(value))
        if self.random is not None:
            self.random.load_state_dict(state["random"])

    def _saving(self) -> Any:
        """The environment, if it saves itself."""
        return self.env if hasattr(self.env, "state_dict") and hasattr(self.env, "load_state_dict") else None

    def _random_state(self) -> dict[str, Any] | None:
        return None if self.random is None else self.random.state_dict()


class OwnRandom:
    """`random` and `numpy.random` as one environment's own, inside `with`: entity-gym's files draw from these.

    So it plays the same whichever environments share its process.
    """

    def __init__(self, seed: int):
        self._python = random.Random(seed).getstate()
        self._numpy = np.random.MT19937(np.random.SeedSequence(seed))
        self._others: Any = None

    def __enter__(self) -> None:
        self._others = random.getstate(), np.random.get_bit_generator()  # type: ignore[attr-defined]
        random.setstate(self._python)
        np.random.set_bit_generator(self._numpy)  # type: ignore[attr-defined]

    def __exit__(self, *exc: Any) -> None:
        self._python = random.getstate()
        python, numpy = self._others
        random.setstate(python)
        np.random.set_bit_generator(numpy)  # type: ignore[attr-defined]

    def state_dict(self) -> dict[str, Any]:
        version, numbers, gauss = self._python
        return {"python": [version, np.array(numbers, np.uint32), gauss], "numpy": self._numpy.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        version, numbers, gauss = state["python"]
        self._python = version, tuple(np.asarray(numbers).tolist()), gauss
        self._numpy.state = state["numpy"]
