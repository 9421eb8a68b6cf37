"""`train`: one run, from Python."""

import os
from typing import Any

from muster.configs import new_config
from muster.errors import short
from muster.recording import recorded
from muster.trained import Run


@short
def train(
    algorithm: str | os.PathLike[str], env: Any = None, *, callbacks: Any = (), quiet: bool = False, **settings: Any
) -> Run:
    """Train an algorithm on an environment and return the recorded run.

    `muster.train("qmix_fast", "skirmish", map_name="3m", t_max=200_000, seed=1)` is `muster --config=qmix_fast
    --env-config=skirmish with env_args.map_name=3m t_max=200000 seed=1`: same checks, same files, same numbers.

    Args:
        algorithm: the name of a file in config/algs, or the path of your own.
        env: the name of an environment; or a class, a function that makes one, or an object of Gymnasium (`Env`), of
            PettingZoo (`ParallelEnv`, `AECEnv`) or with the methods of `MultiAgentEnv`. An object is played by one copy
            and stays open. None: the algorithm's file chooses it.
        callbacks: what the loop calls, `muster.Callback`: classes, objects, functions or "file.py:Name", one or a list.
        quiet: print warnings only. The record has all messages.
        settings: keys of the config (docs/reference.md), and arguments of the environment, such as `map_name`. A part
            may be a class in place of a name: `learner=MyLearner`, `mixer=MyMixer`. `on_test=function` is a
            callback, and so are `on_setup`, `on_rollout`, `on_train_step` and `on_end`.

    Returns:
        the run, with its folder, config, metrics, models.

    Raises:
        ConfigError: something is wrong with the config; nothing has started and nothing was written.
        MusterError: the run had to stop; what it has kept stays.
        KeyboardInterrupt: Ctrl-C (in a notebook: "interrupt"), after a checkpoint.
    """
    config, note = new_config(algorithm, env, callbacks, settings)
    if config.get("seed") is None:
        config["seed"] = int.from_bytes(os.urandom(4), "little") // 4
    results = config["local_results_path"]
    return Run(recorded(config, quiet, [note] if note else []), results)
