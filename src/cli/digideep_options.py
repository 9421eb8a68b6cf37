"""What stands here for the options of `digideep.main` (commit e42f10a), which people type out of habit."""

from utils.errors import ConfigError

TABLE = "docs/digideep.md, 'Theirs and ours', has all of them."
INSTEAD = {
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
NEEDLESS = {
    "--visdom": "it does nothing there either; use_tensorboard=True shows curves",
    "--visdom-port": "it does nothing there either; use_tensorboard=True shows curves",
    "--repeal": "it does nothing there either; with KEY=VALUE changes a key of the config",
    "--no-monitor-cpu": "the machine is sampled only with machine_interval=SECONDS",
    "--no-monitor-gpu": "the machine is sampled only with machine_interval=SECONDS",
}


def refuse_digideeps(option: str) -> None:
    """
    Raises:
        ConfigError: it is an option of Digideep; the message has its counterpart.
    """
    if option in INSTEAD:
        raise ConfigError(f"{option} is an option of Digideep; here it is: {INSTEAD[option]}. {TABLE}")
    if option in NEEDLESS:
        raise ConfigError(f"{option} is an option of Digideep; leave it out: {NEEDLESS[option]}. {TABLE}")
