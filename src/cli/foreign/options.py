"""What stands here for options of other trainers' programs, which people type out of habit."""

from utils.errors import ConfigError

# program -> where all of its options are listed
PAGES = {
    "Digideep": "docs/digideep.md, 'Theirs and ours', has all of them.",
    "mlagents-learn": "docs/dots.md, 'Trainer files and options', has all of them.",
}
# of `digideep.main` (commit e42f10a)
INSTEAD_OF_DIGIDEEPS = {
    "--params": (
        "--config=NAME: digideep_ppo, digideep_ppo_pictures, digideep_ddpg, digideep_sac, digideep_sac_v2, or a "
        "file of yours, --config=my_params.py"
    ),
    "--play": "--evaluate=RUN, and python src/watch.py RUN shows it",
    "--load-checkpoint": "--resume=RUN or --evaluate=RUN, by a number, a name, a folder or latest",
    "--create-session-only": "the commands print_config and save_config, which show and write a run's parameters",
    "--session-path": "with local_results_path=FOLDER",
    "--session-name": "with run_name=NAME",
    "--msg": "with message=TEXT",
    "--save-modules": "with plugins=[...]: a run's record has the sources of all that it imports",
    "--log-level": "-l LEVEL, such as -l WARNING",
    "--profiler-level": "with timer=on, and python src/diagnose.py RUN --depth=N",
    "--tensorboard": "with use_tensorboard=True",
}
NO_DIGIDEEPS = {
    "--visdom": "it does nothing there either; use_tensorboard=True shows curves",
    "--visdom-port": "it does nothing there either; use_tensorboard=True shows curves",
    "--repeal": "it does nothing there either; with KEY=VALUE changes a key of the config",
    "--no-monitor-cpu": "the machine is sampled only with machine_interval=SECONDS",
    "--no-monitor-gpu": "the machine is sampled only with machine_interval=SECONDS",
}
INSTEAD_OF_MLAGENTS = {
    "--env": "with env_args.executable=PATH",
    "--run-id": "with run_name=NAME",
    "--initialize-from": "with checkpoint_path=results/models/RUN",
    "--load": "--resume=RUN",
    "--inference": "--evaluate=RUN",
    "--deterministic": "with test_greedy=True, which tests are by default",
    "--seed": "with seed=N",
    "--num-envs": "with batch_size_run=N",
    "--env-args": """with env_args.args='["--level","3"]'""",
    "--results-dir": "with local_results_path=FOLDER",
    "--time-scale": "with env_args.engine.time_scale=N",
    "--width": "with env_args.engine.width=N env_args.engine.height=N",
    "--height": "with env_args.engine.width=N env_args.engine.height=N",
    "--quality-level": "with env_args.engine.quality_level=N",
    "--target-frame-rate": "with env_args.engine.target_frame_rate=N",
    "--capture-frame-rate": "with env_args.engine.capture_frame_rate=N",
    "--no-graphics": """with env_args.args='["-nographics","-batchmode"]'""",
    "--timeout-wait": "with env_args.launch_timeout=SECONDS env_args.timeout=SECONDS",
    "--max-lifetime-restarts": "with max_worker_restarts=N",
    "--torch-device": "with use_cuda=False or learner_device=cuda",
}
NO_MLAGENTS = {
    "--base-port": "simulators and trainer share memory, and need no ports",
    "--num-areas": "the simulator decides how many areas it has",
    "--train": "runs train",
    "--torch": "networks are PyTorch's",
    "--tensorflow": "networks are PyTorch's",
    "--restarts-rate-limit-n": "max_worker_restarts limits the restarts of a run",
    "--restarts-rate-limit-period-s": "max_worker_restarts limits the restarts of a run",
    "--no-graphics-monitor": "simulators are started as they are",
}


def refuse_foreign(option: str) -> None:
    """Refuse an option of another trainer's program, with its counterpart.

    Raises:
        ConfigError: it is one.
    """
    for program, instead, needless in (
        ("Digideep", INSTEAD_OF_DIGIDEEPS, NO_DIGIDEEPS),
        ("mlagents-learn", INSTEAD_OF_MLAGENTS, NO_MLAGENTS),
    ):
        if option in instead:
            raise ConfigError(f"{option} is an option of {program}; here it is: {instead[option]}. {PAGES[program]}")
        if option in needless:
            raise ConfigError(f"{option} is an option of {program}; leave it out: {needless[option]}. {PAGES[program]}")
