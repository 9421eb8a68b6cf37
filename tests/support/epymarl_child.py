"""Trains EPyMARL's own learners: `python epymarl_child.py CHECKOUT IN OUT`, in a process without our modules.

IN is a list of tasks: the preset's name, changes of its keys, sizes, the batch's fields, weights by network and the
number of updates. OUT gets, for each, the statistics of each update and the weights after the last.
"""

import importlib
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import torch as th
import yaml

CRITICS = {
    "ac_critic": ("ac", "ACCritic"),
    "ac_critic_ns": ("ac_ns", "ACCriticNS"),
    "cv_critic": ("centralV", "CentralVCritic"),
    "cv_critic_ns": ("centralV_ns", "CentralVCriticNS"),
    "coma_critic": ("coma", "COMACritic"),
    "coma_critic_ns": ("coma_ns", "COMACriticNS"),
}
LEARNERS = {
    "q_learner": "QLearner",
    "coma_learner": "COMALearner",
    "actor_critic_learner": "ActorCriticLearner",
    "ppo_learner": "PPOLearner",
}


def import_parts(src: Path) -> None:
    """Make its modules importable, and fill its registry of critics."""
    sys.path.insert(0, str(src))
    # packages whose own __init__ imports what is not installed
    for name, folder in (("learners", "learners"), ("modules.critics", "modules/critics")):
        package = types.ModuleType(name)
        package.__path__, package.REGISTRY = [str(src / folder)], {}
        sys.modules[name] = package
    for name, (module, attribute) in CRITICS.items():
        sys.modules["modules.critics"].REGISTRY[name] = getattr(
            importlib.import_module(f"modules.critics.{module}"), attribute
        )


def trained(src: Path, task: dict) -> dict:
    """The statistics of each update of a task, and the weights after the last."""
    from components.episode_buffer import EpisodeBatch
    from components.transforms import OneHot
    from controllers import REGISTRY as controllers

    config = {}
    for file in ("default.yaml", f"algs/{task['preset']}.yaml"):
        config |= yaml.safe_load((src / "config" / file).read_text())
    config |= {"use_cuda": False, "device": "cpu", "learner_log_interval": 1, **task["sizes"], **task["changes"]}
    args = SimpleNamespace(**config)
    fields = task["batch"]
    size, columns = fields["filled"].shape[:2]
    scheme = {
        "state": {"vshape": args.state_shape},
        "obs": {"vshape": args.obs_shape, "group": "agents"},
        "actions": {"vshape": (1,), "group": "agents", "dtype": th.long},
        "avail_actions": {"vshape": (args.n_actions,), "group": "agents", "dtype": th.int},
        "reward": {"vshape": (1 if args.common_reward else args.n_agents,)},
        "terminated": {"vshape": (1,), "dtype": th.uint8},
    }
    groups = {"agents": args.n_agents}
    preprocess = {"actions": ("actions_onehot", [OneHot(out_dim=args.n_actions)])}
    batch = EpisodeBatch(scheme, groups, size, columns, preprocess=preprocess)
    for key, values in fields.items():
        batch.data.transition_data[key].copy_(values)

    mac = controllers[args.mac](batch.scheme, groups, args)
    logged = []
    logger = SimpleNamespace(log_stat=lambda key, value, t: logged[-1].update({key: value}))
    module = importlib.import_module(f"learners.{args.learner}")
    learner = getattr(module, LEARNERS[args.learner])(mac, batch.scheme, logger, args)
    networks = {
        name: getattr(learner, name) for name in ("critic", "mixer") if getattr(learner, name, None) is not None
    }
    targets = {name: getattr(learner, f"target_{name}") for name in networks}
    for name, network in networks.items():
        if network.state_dict():
            _load(network, task["weights"][name])
            _load(targets[name], task["weights"][name])
    for name in ("mac", "target_mac", "old_mac"):
        if hasattr(learner, name):
            getattr(learner, name).agent.load_state_dict(task["weights"]["agent"])
    for update in range(task["updates"]):
        logged.append({})
        learner.train(batch, 10 * (update + 1), update)
    trained = {"agent": mac.agent, **networks, **{f"target_{name}": target for name, target in targets.items()}}
    return {"stats": logged, "weights": {name: _state(network) for name, network in trained.items()}}


def _load(network, weights: dict) -> None:
    if not hasattr(network, "critics"):
        network.load_state_dict(weights)
        return
    network.load_state_dict(
        [
            {
                key.removeprefix(f"critics.{i}."): value
                for key, value in weights.items()
                if key.startswith(f"critics.{i}.")
            }
            for i in range(len(network.critics))
        ]
    )


def _state(network) -> dict:
    state = network.state_dict()
    if isinstance(state, list):
        return {f"critics.{i}.{key}": value for i, part in enumerate(state) for key, value in part.items()}
    return dict(state)


if __name__ == "__main__":
    th.set_num_threads(1)
    src = Path(sys.argv[1]) / "src"
    import_parts(src)
    th.save([trained(src, task) for task in th.load(sys.argv[2], weights_only=False)], sys.argv[3])
