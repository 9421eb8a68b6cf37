"""What stands here for the options of `mlagents-learn`, which people type out of habit."""

from utils.errors import ConfigError

TABLE = "docs/dots.md, 'Trainer files and options', has all of them."
INSTEAD = {
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
NEEDLESS = {
    "--base-port": "simulators and trainer share memory, and need no ports",
    "--num-areas": "the simulator decides how many areas it has",
    "--train": "runs train",
    "--torch": "networks are PyTorch's",
    "--tensorflow": "networks are PyTorch's",
    "--restarts-rate-limit-n": "max_worker_restarts limits the restarts of a run",
    "--restarts-rate-limit-period-s": "max_worker_restarts limits the restarts of a run",
    "--no-graphics-monitor": "simulators are started as they are",
}


def refuse_option(option: str) -> None:
    """
    Raises:
        ConfigError: it is an option of `mlagents-learn`; the message has its counterpart.
    """
    if option in INSTEAD:
        raise ConfigError(f"{option} is an option of mlagents-learn; here it is: {INSTEAD[option]}. {TABLE}")
    if option in NEEDLESS:
        raise ConfigError(f"{option} is an option of mlagents-learn; leave it out: {NEEDLESS[option]}. {TABLE}")
