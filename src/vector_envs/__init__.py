"""Transports: how a runner talks to environments in other processes."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("transport")
REGISTRY.declare(
    "pipe",
    "vector_envs.pipe:PipeTransport",
    "actions and observations are pickled and sent through pipes",
    reads=(),
)
REGISTRY.declare(
    "shared_memory",
    "vector_envs.shared_memory:SharedMemoryTransport",
    "actions and observations lie in memory that trainer and workers share; one byte in a pipe wakes the other side",
    reads=(),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
