"""The config keys that every runner reads."""

from utils.config.options import COPIES, EPISODES, EXPERIENCE, FREE, SHARED, STEPS, Option
from utils.config.reach import NOWHERE

OPTIONS = {
    "batch_size_run": Option(
        SHARED, "number of environments that run side by side", at_least=1, at_most=COPIES, resume=EXPERIENCE
    ),
    "vector_env": Option(
        SHARED,
        "where environments live (registry: sources): batched, in_process, workers; auto: by runner and environment",
        resume=EXPERIENCE,
        reaches=NOWHERE,
    ),
    "bootstrap_truncated": Option(
        SHARED,
        "learners bootstrap from the last state of an episode that time or a wrapper has cut off; False: a cut is an "
        "end of the game, as EPyMARL takes it in gymma",
        resume=EXPERIENCE,
    ),
    "separate_test_env": Option(
        SHARED, "tests play on separate environments and do not change training", resume=EXPERIENCE
    ),
    "test_batch_size": Option(
        SHARED,
        "number of environments that tests play side by side, on separate ones of this process; 0: batch_size_run",
        at_least=0,
        at_most=COPIES,
        resume=EXPERIENCE,
    ),
    "test_nepisode": Option(
        SHARED, "number of episodes of one test, exactly; 0: no tests", at_least=0, at_most=EPISODES, resume=FREE
    ),
    "save_best_episodes": Option(
        SHARED,
        "keep the best episodes, of environments that have such: the fastest race of each map (docs/racing.md)",
        resume=FREE,
    ),
    "runner_log_interval": Option(
        SHARED,
        "steps between logged statistics of training episodes",
        at_least=1,
        at_most=STEPS,
        resume=FREE,
        live=True,
    ),
}
