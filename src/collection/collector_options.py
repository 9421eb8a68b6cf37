"""The keys below `collectors`."""

from utils.config.options import COPIES, SECONDS, STEPS, Option
from utils.config.reach import ADDRESS, NOWHERE

OPTIONS = {
    "processes": Option(2, "number of collectors", at_least=1, at_most=1024),
    "runner": Option(
        "rollout", "the runner in each of them (registry: runners), for runner=collectors", reaches=NOWHERE
    ),
    "queue": Option(
        1, "rollouts of each that may wait for the learner, beside the one that is played", at_least=0, at_most=COPIES
    ),
    "max_lag": Option(
        None,
        "updated weights that may have been published since a rollout began, when it is learned from; null: twice as "
        "many as there are rollouts under way",
        nullable=True,
        kind=int,
        at_least=1,
        at_most=STEPS,
    ),
    "pull_steps": Option(
        20,
        "steps of a collector after which it fetches the newest weights again; 0: between rollouts only",
        at_least=0,
        at_most=STEPS,
    ),
    "deterministic": Option(False, "collectors take turns: the run is reproducible, and resumes exactly"),
    "transport": Option(
        "processes",
        "where they are: processes of this machine, or ray: actors on the machines of a cluster (docs/suites.md)",
        choices=("processes", "ray"),
    ),
    "address": Option(
        "", "of Ray's cluster, HOST:PORT or auto; empty: RAY_ADDRESS, else one of this machine alone", reaches=ADDRESS
    ),
    "cpus": Option(1.0, "CPUs of a machine that Ray counts for a collector", at_least=0, at_most=1024),
    "gpus": Option(0.0, "GPUs of a machine that it counts, and shows to the collector", at_least=0, at_most=64),
    "timeout": Option(
        300.0, "seconds after which a collector that does not act is restarted", above=0, at_most=SECONDS
    ),
    "restarts": Option(
        3, "restarts of a collector without a rollout between them, before the run stops", at_least=0, at_most=COPIES
    ),
}


def under_way(collectors: dict) -> int:
    """The most rollouts that are played, or wait to be learned from."""
    return collectors["processes"] * (1 if collectors["deterministic"] else collectors["queue"] + 1)
