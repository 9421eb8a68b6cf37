"""Sources of environments: where they live. How they are played is the runners' matter."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("source of environments")
REGISTRY.declare(
    "native", "vector_envs.sources:native", "one batch of copies, stepped by one call (skirmish)", reads=()
)
REGISTRY.declare("in_process", "vector_envs.sources:in_process", "in this process, stepped in turn", reads=())
REGISTRY.declare(
    "workers",
    "vector_envs.sources:workers",
    "in other processes, stepped side by side",
    reads=("env_transport", "envs_per_worker", "worker_timeout", "on_worker_fault", "max_worker_restarts"),
)

TRANSPORTS = Registry("transport")
TRANSPORTS.declare(
    "pipe",
    "vector_envs.pipe:PipeTransport",
    "actions and observations are pickled and sent through pipes",
    reads=(),
)
TRANSPORTS.declare(
    "shared_memory",
    "vector_envs.shared_memory:SharedMemoryTransport",
    "actions and observations lie in memory that trainer and workers share; one byte in a pipe wakes the other side",
    reads=(),
)

__getattr__ = lazy_classes(__name__, TRANSPORTS)
