"""How many threads step the copies of a batch."""

import inspect
from types import SimpleNamespace

from envs import REGISTRY
from utils.config.registry import loaded
from utils.processes.cores import usable_cores
from vector_envs.instances import env_parameters

# copies whose step takes long enough to wake a thread for them, unless the environment says another number
COPIES_PER_THREAD = 64


def takes_threads(name: str) -> bool:
    """Whether the batched form of an environment takes `threads`, and not as an argument of the environment's own."""
    batched = loaded(REGISTRY.entry(name).traits["batched"])
    # a class may announce what its environment takes instead
    made_by = batched.__init__ if isinstance(batched, type) else batched  # type: ignore[misc]
    return "threads" in inspect.signature(made_by).parameters and "threads" not in (
        env_parameters(REGISTRY[name]) or ()
    )


def names_with_threads() -> list[str]:
    """Environments whose batched form takes threads."""
    return [name for name in REGISTRY if "batched" in REGISTRY.entry(name).traits and takes_threads(name)]


def threads_of(args: SimpleNamespace, env_threads: int, copies: int) -> int:
    """The threads of a batch of `copies`.

    The collectors of a run on one machine share its cores; one of Ray's has the CPUs that Ray counts for it.

    Raises:
        ConfigError: $MUSTER_CORES is invalid.
    """
    several = vars(args).get("collector") is not None or vars(args).get("collection") == "collectors"
    collectors = args.collectors["processes"] if several else 1
    if env_threads:
        return max(1, env_threads // collectors)
    cores = usable_cores()
    if several and args.collectors["transport"] == "ray":
        cores = min(cores, int(args.collectors["cpus"]))
    else:
        cores //= collectors
    batched = loaded(REGISTRY.entry(args.env).traits["batched"])
    number = getattr(batched, "copies_per_thread", None)
    each = COPIES_PER_THREAD if number is None else number(**args.env_args)
    return max(1, min(cores, copies // each))
