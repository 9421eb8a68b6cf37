"""The config keys of the experiment itself: its parts, its length, and its files."""

from utils.config.options import (
    COPIES,
    EPISODES,
    EXPERIENCE,
    FREE,
    IDENTITY,
    SECONDS,
    SHAPES,
    SHARED,
    START,
    STEPS,
    Option,
)
from utils.config.reach import CODE, FILES, MODULE, NOWHERE, READ_ONLY

OPTIONS = {
    "name": Option(
        SHARED,
        "name of the experiment; the first part of the names of its result folders",
        resume=IDENTITY,
        reaches=NOWHERE,
    ),
    "env": Option(
        SHARED,
        "environment (registry: environments); PyMARL: sc2, which cannot be installed everywhere",
        resume=EXPERIENCE,
        reaches=NOWHERE,
    ),
    "env_args": Option(SHARED, "arguments of the environment's constructor", resume=EXPERIENCE, reaches=NOWHERE),
    "runner": Option(
        SHARED,
        "how experience is gathered (registry: runners); collectors: by other processes, as collectors.runner says",
        resume=EXPERIENCE,
        reaches=NOWHERE,
    ),
    "mac": Option(SHARED, "multi-agent controller (registry: controllers)", resume=SHAPES, reaches=NOWHERE),
    "learner": Option(SHARED, "how the weights are improved (registry: learners)", reaches=NOWHERE),
    "buffer": Option(
        SHARED,
        "the kept experience: episodes, transitions (single steps), rollout (the newest one only), auto (as the "
        "learner needs)",
        resume=EXPERIENCE,
        reaches=NOWHERE,
    ),
    "dataset": Option(
        SHARED,
        "a data set to learn from in place of rollouts: a folder of record_data, of Minari or a vault, or minari:ID "
        "(docs/data_sets.md); empty: none",
        resume=EXPERIENCE,
        reaches=READ_ONLY,
    ),
    "record_data": Option(
        SHARED,
        "a folder into which rollouts, or the episodes of an evaluation, are recorded as a data set; empty: none",
        resume=FREE,
        reaches=FILES,
    ),
    "record_data_as": Option(
        SHARED,
        "also, at the end, a format in which others read the recording: vault (OG-MARL's, into FOLDER.vlt/0), minari "
        "(of one agent, into FOLDER_minari); recording: none",
        choices=("recording", "vault", "minari"),
        resume=FREE,
        reaches=NOWHERE,
    ),
    "record_data_from": Option(
        SHARED, "steps of the run before record_data begins to record", at_least=0, at_most=STEPS, resume=FREE
    ),
    "teams": Option(
        SHARED,
        "several teams, each with its own algorithm: {team: {groups: [...], config: preset, ...}} (docs/fields.md)",
        reaches=NOWHERE,
    ),
    "opponents": Option(
        SHARED,
        "who plays groups that do not learn (registry: opponents): latest (all learn), pool (past models: self-play), "
        "prioritised (by win rates) or league (players of several runs)",
        reaches=NOWHERE,
    ),
    "plugins": Option(
        SHARED,
        "files and folders (beside the config that names them, or in the current one) or modules that register parts",
        resume=FREE,
        reaches=MODULE,
    ),
    "callbacks": Option(
        SHARED,
        "code that the loop calls: [file.py:Name] of a class or function with on_setup, on_rollout, on_train_step, "
        "on_test or on_end (docs/python_api.md)",
        resume=FREE,
        reaches=CODE,
    ),
    "parameter_file": Option(
        "", "the parameter file that `cpanel` belongs to (docs/parameter_files.md)", resume=FREE, reaches=NOWHERE
    ),
    "cpanel": Option(
        {}, "control panel of a parameter file; what it decides is checked key by key", resume=FREE, reaches=NOWHERE
    ),
    "run_name": Option(
        SHARED,
        "name of the run and of its folders, unique among the results; empty: name, seed, map and time",
        resume=IDENTITY,
        reaches=NOWHERE,
    ),
    "message": Option(SHARED, "what the run is for, in your words", resume=FREE, reaches=NOWHERE),
    "t_max": Option(
        SHARED, "stop after the rollout that reaches this many steps", at_least=1, at_most=STEPS, resume=FREE, live=True
    ),
    "max_hours": Option(
        SHARED,
        "also stop after this many hours since the start, with tests, and what came before a resumption; 0: no limit",
        kind=float,
        at_least=0,
        at_most=SECONDS,
        resume=FREE,
        live=True,
    ),
    "stop_at": Option(
        SHARED,
        "also stop after this many environment steps, while schedules go by t_max; 0: no limit",
        at_least=0,
        at_most=STEPS,
        resume=FREE,
        live=True,
    ),
    "max_updates": Option(
        SHARED,
        "also stop after this many updates of the learner; 0: no limit",
        at_least=0,
        at_most=STEPS,
        resume=FREE,
        live=True,
    ),
    "sigusr1": Option(
        SHARED,
        "on the signal SIGUSR1: save (write a checkpoint and continue), or stop (as on SIGTERM)",
        choices=("save", "stop"),
        resume=FREE,
    ),
    "test_interval": Option(
        SHARED, "steps between tests; one more at the end", at_least=1, at_most=STEPS, resume=FREE, live=True
    ),
    "log_interval": Option(
        SHARED, "steps between summaries on the console", at_least=1, at_most=STEPS, resume=FREE, live=True
    ),
    "updates_per_rollout": Option(
        SHARED, "gradient updates after each rollout, however many episodes it brought", at_least=1, at_most=COPIES
    ),
    "samples_per_insert": Option(
        SHARED,
        "in place of updates_per_rollout: how often each transition is sampled on average, such as 0.25 or 4; 0: off",
        kind=float,
        at_least=0,
        at_most=COPIES,
        driven=True,
    ),
    "replay_pace": Option(
        SHARED,
        "what samples_per_insert counts: even, all transitions as they come; linesight, those beyond buffer_min that "
        "are not held out, with one update lent, and an update as four while a buffer of more than 200,000 steps fills",
        choices=("even", "linesight"),
    ),
    "common_reward": Option(
        SHARED, "False: a reward for each agent, in environments that have them (as env_args.reward=each)"
    ),
    "reward_scalarisation": Option(
        SHARED,
        "the team's reward from those of its agents, where the environment has them (as env_args.reward): sum or mean",
        choices=("sum", "mean"),
    ),
    "torch_threads": Option(
        SHARED,
        "CPU threads of torch; networks of this size are slower with more",
        at_least=1,
        at_most=1024,
        resume=FREE,
    ),
    "use_cuda": Option(SHARED, "use a GPU when there is one", resume=FREE),
    "learner_device": Option(
        SHARED,
        "where the learner computes: cpu, cuda, cuda:N (card N, from 0), mps, or auto (cuda if use_cuda is on and "
        "there is one)",
        resume=FREE,
        reaches=NOWHERE,
    ),
    "acting_device": Option(
        SHARED,
        "where the networks that act compute: cpu, cuda, cuda:N, mps, or auto (where the learner computes, or the CPU "
        "if it is faster for few agents)",
        resume=FREE,
        reaches=NOWHERE,
    ),
    "collection": Option(
        SHARED,
        "when to play rollouts: sync (between updates), async (the next one during updates, with older weights), "
        "collectors (other processes play: the keys of collectors; also runner=collectors), or data (dataset means "
        "this)",
        reaches=NOWHERE,
    ),
    "overlap": Option(SHARED, "True: the same as collection=async"),
    "compile": Option(
        SHARED,
        "compile mixers and critics (torch.compile, needs a C++ compiler): on, off, auto (off; docs/performance.md)",
        choices=("auto", "on", "off"),
        resume=FREE,
    ),
    "local_results_path": Option(
        SHARED,
        "folder for Sacred runs, TensorBoard logs, models and replays; relative to the current folder",
        resume="where its results are",
        reaches=NOWHERE,
    ),
    "save_model": Option(
        SHARED,
        "save weights under models/, each save in a folder named by its step; best/: those that tested best; null: of "
        "recorded runs, the last and the best",
        nullable=True,
        kind=bool,
        resume=FREE,
    ),
    "save_model_interval": Option(
        SHARED, "steps between saves; one more at the end", at_least=1, at_most=STEPS, resume=FREE
    ),
    "summary": Option(
        SHARED,
        "at its end, write a page of curves and figures into the run's folder (needs requirements-browser.txt)",
        resume=FREE,
    ),
    "checkpoint_interval": Option(
        SHARED,
        "steps between checkpoints, from which --resume continues exactly; 0: none by steps",
        at_least=0,
        at_most=STEPS,
        resume=FREE,
    ),
    "checkpoint_minutes": Option(
        SHARED,
        "minutes between checkpoints; 0: none by time. SIGTERM, Ctrl-C and SIGUSR1 write one in any case",
        kind=float,
        at_least=0,
        at_most=SECONDS,
        resume=FREE,
    ),
    "last_checkpoint": Option(
        SHARED,
        "write a checkpoint at the end of training, of recorded runs and those with checkpoint_interval: a longer run "
        "resumes from it",
        resume=FREE,
    ),
    "keep_checkpoints": Option(
        SHARED,
        "number of newest checkpoints to keep; the one with the best test return is kept, too",
        at_least=1,
        at_most=EPISODES,
        resume=FREE,
    ),
    "checkpoint_path": Option(
        SHARED,
        "folder of saved models (its subfolders are step numbers) to start from; or a run's folder best, or a "
        "checkpoint of enn-trainer",
        resume=START,
        reaches=READ_ONLY,
    ),
    "branch_from": Option(
        SHARED,
        "a run (its folder or name), from whose newest checkpoint this new one continues, with other settings "
        "(docs/resuming.md)",
        resume=START,
        reaches=NOWHERE,
    ),
    "load_step": Option(
        SHARED,
        "step of the model in checkpoint_path: the nearest one; 0: the newest; with evaluate the one that tested best, "
        "if that is recorded there",
        at_least=0,
        at_most=STEPS,
        resume=START,
    ),
    "evaluate": Option(
        SHARED,
        "play test_nepisode test episodes with the loaded controller, log them, write episodes.csv and stop",
        resume=START,
    ),
    "absolute_metric": Option(
        SHARED,
        "at the end, play ten times the test episodes with the model that tested best, with other seeds, and log their "
        "figures as absolute_*; suites have it on (docs/results.md)",
        resume=FREE,
    ),
    "save_replay": Option(
        SHARED, "with checkpoint_path: as evaluate; and in any case record the last test (docs/replays.md)", resume=FREE
    ),
    "replay_episodes": Option(
        SHARED, "number of recorded episodes of that test, a file each", at_least=1, at_most=EPISODES, resume=FREE
    ),
    "repeat_id": Option(SHARED, "number of the repetition", resume=IDENTITY),
    "label": Option(SHARED, "any text", resume=FREE, reaches=NOWHERE),
    "seed": Option(
        None,
        "seed of Python, NumPy, torch and the environments; null: a random one",
        nullable=True,
        kind=int,
        at_least=0,
        at_most=2**32 - 1,  # the largest seed of NumPy and torch
        resume="its random numbers",
    ),
}
