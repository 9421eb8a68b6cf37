"""Sources of environments: where they live. How they are played is the runners' matter."""

from utils.config.options import COPIES, EPISODES, FREE, SECONDS, Option
from utils.config.reach import NOWHERE
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("source of environments")
REGISTRY.declare(
    "batched",
    "vector_envs.sources:batched",
    "one batch of copies, stepped by one call (docs/reference.md: which environments)",
    batches=True,
    options={
        "env_threads": Option(
            0,
            "threads that step the copies of a batch, of all collectors of the run together; results do not depend on "
            "them; 0: as many as the cores that the run may use, if a thread of their own pays for so many copies",
            at_least=0,
            at_most=1024,
            resume=FREE,
        ),
    },
)
REGISTRY.declare("in_process", "vector_envs.sources:in_process", "in this process, stepped in turn", options={})
REGISTRY.declare(
    "workers",
    "vector_envs.sources:workers",
    "in other processes, stepped side by side",
    options={
        "env_transport": Option(
            "shared_memory",
            "how steps travel to worker processes and back (registry: transports)",
            resume=FREE,
            reaches=NOWHERE,
        ),
        "envs_per_worker": Option(1, "environments of one process", at_least=1, at_most=COPIES, resume=FREE),
        "worker_timeout": Option(
            300,
            "seconds without an answer after which an environment process counts as hung; 0: never",
            kind=float,
            at_least=0,
            at_most=SECONDS,
            resume=FREE,
        ),
        "on_worker_fault": Option(
            "restart",
            "the response if an environment raises or its process dies or hangs: restart or stop",
            choices=("restart", "stop"),
            resume=FREE,
        ),
        "max_worker_restarts": Option(
            10,
            "with restart: faults that the whole run survives; one more stops it",
            at_least=0,
            at_most=EPISODES,
            resume=FREE,
        ),
    },
)

TRANSPORTS = Registry("transport")
TRANSPORTS.declare(
    "pipe",
    "vector_envs.pipe:PipeTransport",
    "actions and observations are pickled and sent through pipes",
    options={},
)
TRANSPORTS.declare(
    "shared_memory",
    "vector_envs.shared_memory:SharedMemoryTransport",
    "actions and observations lie in memory that trainer and workers share; one byte in a pipe wakes the other side",
    options={},
)

__getattr__ = lazy_classes(__name__, TRANSPORTS)
