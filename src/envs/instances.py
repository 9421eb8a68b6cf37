"""Which environments a run makes, and the seed of each."""

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from envs import REGISTRY

# Far from any number of parallel environments: test environments repeat none of the training ones
TEST_SEED_OFFSET = 1_000_003
SEED_LIMIT = 2**31


def constructor_of(factory: Callable) -> Callable:
    """The callable whose parameters are the environment's `env_args`.

    Looks through PyMARL's `partial(env_fn, env=X)`; a factory function may tell by its attribute `constructor`.
    """
    if isinstance(factory, partial):
        return factory.keywords.get("env", factory.func)
    if hasattr(factory, "constructor"):
        return factory.constructor()
    return factory


def env_parameters(factory: Callable) -> dict[str, inspect.Parameter] | None:
    """Named parameters that `env_args` may give; None if the constructor takes anything."""
    parameters = inspect.signature(constructor_of(factory)).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: p for name, p in parameters.items() if p.kind in named}


def recreation_seed(first_seed: int, recreated: int) -> int:
    """The seed of an environment's k-th re-creation (`recreated`), below `SEED_LIMIT`: a stream of its own.

    k = 0 is `first_seed` itself; from then on it is the first 32-bit word of
    `numpy.random.SeedSequence([first_seed, k])`, modulo `SEED_LIMIT`.
    """
    if not recreated:
        return first_seed
    return int(np.random.SeedSequence([first_seed, recreated]).generate_state(1)[0]) % SEED_LIMIT


def environment_factory(args: SimpleNamespace, index: int, test_mode: bool) -> Callable:
    """A factory of environment number `index` of a run: environment i is seeded `seed + i`.

    `factory()` makes it; `factory(k)` makes its k-th re-creation, seeded by `recreation_seed`. An environment without
    a parameter `seed` is made without one.
    """
    factory = REGISTRY[args.env]
    return partial(_make, factory, _seeded(args, env_parameters(factory), index, test_mode))


def batched_environment_factory(args: SimpleNamespace, test_mode: bool) -> Callable:
    """A factory of all environments of a run as one batched one, seeded as `environment_factory` seeds them.

    Of its k-th re-creation, copy b is seeded `recreation_seed(first seed of copy 0, k) + b`.
    """
    factory = REGISTRY.entry(args.env).traits["batched"]
    if isinstance(factory, str):
        module, _, name = factory.partition(":")
        factory = getattr(importlib.import_module(module), name)
    env_args = _seeded(args, env_parameters(REGISTRY[args.env]), 0, test_mode)
    return partial(_make, factory, {"batch_size": args.batch_size_run, **env_args})


def _make(factory: Callable, env_args: dict[str, Any], recreated: int = 0) -> Any:
    if recreated and env_args.get("seed") is not None:
        env_args = {**env_args, "seed": recreation_seed(env_args["seed"], recreated)}
    return factory(**env_args)


def _seeded(args: SimpleNamespace, parameters: dict | None, index: int, test_mode: bool) -> dict[str, Any]:
    env_args = dict(args.env_args)
    if parameters is not None and "seed" not in parameters:
        env_args.pop("seed", None)
    elif env_args.get("seed") is not None:
        offset = index + (TEST_SEED_OFFSET if test_mode else 0)
        env_args["seed"] = (int(env_args["seed"]) + offset) % SEED_LIMIT
    return env_args
