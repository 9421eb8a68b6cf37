"""The environments that a run makes, and the seed of each."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from envs import REGISTRY
from envs.contract.seeds import SEED_LIMIT, environment_seed, recreation_seed
from utils.config.registry import loaded

# far above any number of parallel environments: test environments never repeat the seeds of training ones
TEST_SEED_OFFSET = 1_000_003


def constructor_of(factory: Callable) -> Callable:
    """The callable whose parameters are the environment's `env_args`.

    Looks through PyMARL's `partial(env_fn, env=X)`; a factory function may name it in its attribute `constructor`.
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


def prepare_environments(args: SimpleNamespace) -> None:
    """Let the environment of a run prepare (as by compiling), before processes start that would wait for it."""
    constructor = constructor_of(REGISTRY[args.env])
    # a foreign environment may have a method of that name which is something else
    if isinstance(inspect.getattr_static(constructor, "prepare", None), classmethod):
        constructor.prepare(**args.env_args)  # type: ignore[attr-defined]


def environment_factory(args: SimpleNamespace, index: int, test_mode: bool) -> Callable:
    """A factory of environment number `index` of a run, which has its own seed (`first_seed`).

    `factory()` makes it; `factory(k)` makes its k-th re-creation, seeded by `seeds.recreation_seed`. An environment
    without a parameter `seed` is made without one.
    """
    factory = REGISTRY[args.env]
    return partial(_make, factory, _seeded(args, env_parameters(factory), [index], test_mode))


def copies_of(args: SimpleNamespace, test_mode: bool) -> int:
    """How many environments training plays on, or separate ones of tests."""
    return args.test_batch_size or args.batch_size_run if test_mode else args.batch_size_run


def batched_environment_factory(
    args: SimpleNamespace, test_mode: bool, indices: Sequence[int] | None = None, threads: int | None = None
) -> Callable:
    """A factory of the environments `indices` of a run (None: all) as one batched one, seeded as `environment_factory`
    seeds them.

    It gets the seeds as a list, one for each copy, and `threads`, unless it takes none (None).
    """
    indices = range(copies_of(args, test_mode)) if indices is None else indices
    factory = loaded(REGISTRY.entry(args.env).traits["batched"])
    env_args = _seeded(args, env_parameters(REGISTRY[args.env]), indices, test_mode)
    share = {} if threads is None else {"threads": threads}
    return partial(_make_batched, factory, {"batch_size": len(indices), **share, **env_args})


def first_seed(args: SimpleNamespace, seed: int, index: int, test_mode: bool) -> int:
    """The seed of environment number `index` of a run whose environments are seeded `seed`.

    Runs that differ in `seed` share none: `seeds.environment_seed`. Only an environment that was registered by plain
    assignment, PyMARL's way, gets PyMARL's `seed + index`.
    """
    if REGISTRY.entry(args.env).declared:
        return environment_seed(seed, index, test_mode)
    return (seed + index + (TEST_SEED_OFFSET if test_mode else 0)) % SEED_LIMIT


def _make(factory: Callable, env_args: dict[str, Any], recreated: int = 0) -> Any:
    """An environment; `env_args["seed"]` is None or a list of one, and so is its `place`, if it has one."""
    if "place" in env_args:
        env_args = {**env_args, "place": env_args["place"][0]}
    if env_args.get("seed") is not None:
        env_args = {**env_args, "seed": recreation_seed(env_args["seed"][0], recreated)}
    return factory(**env_args)


def _make_batched(factory: Callable, env_args: dict[str, Any], recreated: int = 0) -> Any:
    if env_args.get("seed") is not None:
        env_args = {**env_args, "seed": [recreation_seed(seed, recreated) for seed in env_args["seed"]]}
    return factory(**env_args)


def seed_of_environment(args: SimpleNamespace, index: int, test_mode: bool) -> int | None:
    """The seed that environment number `index` of a run is made with; None if it is made without one."""
    seeds = _seeded(args, env_parameters(REGISTRY[args.env]), [index], test_mode).get("seed")
    return None if seeds is None else recreation_seed(seeds[0], 0)


def _seeded(args: SimpleNamespace, parameters: dict | None, indices: Sequence[int], test_mode: bool) -> dict[str, Any]:
    """`env_args` with the seeds of these environments as a list in place of the run's."""
    env_args = dict(args.env_args)
    if parameters is not None and "seed" not in parameters:
        env_args.pop("seed", None)
    elif env_args.get("seed") is not None:
        env_args["seed"] = [first_seed(args, int(env_args["seed"]), index, test_mode) for index in indices]
    if REGISTRY.entry(args.env).traits.get("counts_copies"):
        env_args |= {"test_mode": test_mode, "place": _places(args, indices, test_mode)}
    if (carries := REGISTRY.entry(args.env).traits.get("carries")) is not None:
        env_args = loaded(carries)(env_args)
    return env_args


def _places(args: SimpleNamespace, indices: Sequence[int], test_mode: bool) -> list[list[int]]:
    """Of these copies: the number among those that share a cycle, how many these are, and the number among all.

    The copies of all collectors play one cycle together; `args.collector` is the index of one, in its process. Copies
    of tests have the last numbers among all, and so have those of training in the process of a run whose collectors
    play, as only tests are played on them.
    """
    size, collector = args.batch_size_run, vars(args).get("collector")
    several = collector is not None or vars(args).get("collection") == "collectors"
    collectors = args.collectors["processes"] if several else 0
    training = size * (collectors or 1)
    if test_mode or (collectors and collector is None):
        return [[index, copies_of(args, test_mode), training + index] for index in indices]
    first = size * (collector or 0)
    return [[first + index, training, first + index] for index in indices]
