"""Trains learners of the PyMARL family: `python epymarl_child.py CHECKOUT IN OUT`, in a process without our modules.

The checkout is of EPyMARL, PyMARL2, PyMARL3 or PyMARLzoo+. IN is a list of tasks: the preset's name, changes of its
keys, sizes, the batch's fields, weights by network, the number of updates, and what PyMARL3 looks up by the map's name.
OUT gets, for each, the statistics of each update and the weights after the last.
"""

import copy
import importlib
import json
import re
import sys
import types
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch as th
import yaml

CRITICS = {
    "ac_critic": ("ac", "ACCritic"),
    "ac_critic_ns": ("ac_ns", "ACCriticNS"),
    "cv_critic": ("centralV", "CentralVCritic"),
    "cv_critic_ns": ("centralV_ns", "CentralVCriticNS"),
    "coma_critic": ("coma", "COMACritic"),
    "coma_critic_ns": ("coma_ns", "COMACriticNS"),
    "pac_critic": ("pac_ac", "PACCritic"),
    "pac_critic_ns": ("pac_ac_ns", "PACCriticNS"),
    "pac_dcg_critic_ns": ("pac_dcg_ns", "DCGCriticNS"),
    "maddpg_critic": ("maddpg", "MADDPGCritic"),
    "maddpg_critic_ns": ("maddpg_ns", "MADDPGCriticNS"),
    "happo_critic": ("happo", "HAPPOCritic"),
    "mat_critic": ("mat", "MATCritic"),
    "commformer_critic": ("commformer_critic", "CommFormerCritic"),
}
LEARNERS = {
    "q_learner": "QLearner",
    "coma_learner": "COMALearner",
    "actor_critic_learner": "ActorCriticLearner",
    "ppo_learner": "PPOLearner",
    "maddpg_learner": "MADDPGLearner",
    "pac_learner": "PACActorCriticLearner",
    "pac_dcg_learner": "PACDCGLearner",
    "qtran_learner": "QLearner",
    "nq_learner": "NQLearner",
    "dmaq_qatten_learner": "DMAQ_qattenLearner",
    "max_q_learner": "MAXQLearner",
    "lica_learner": "LICALearner",
    "q_learner_data_augmentation": "NQLearnerDataAugmentation",
    "fmac_learner": "FMACLearner",
    "policy_gradient_v2": "PGLearner_v2",
    "maven_learner": "MavenLearner",
    "offpg_learner": "OffPGLearner",
    "maser_q_learner": "MASERQLearner",
    "emc_qplex_curiosity_vdn_learner": "EMC_qplex_curiosity_vdn_Learner",
    "happo_learner": "HAPPOLearner",
    "mat_learner": "MATLearner",
    "commformer_learner": "CommFormerLearner",
}
# whose files have other names
FILES = {
    "pac_learner": "actor_critic_pac_learner",
    "pac_dcg_learner": "actor_critic_pac_dcg_learner",
    "q_learner_data_augmentation": "nq_learner_data_augmentation",
}
# a package that all modules of the checkout are in, with a dot; PyMARLzoo+'s
package = ""
NETWORKS = "critic", "mixer", "central_mixer", "state_value"


def module_of(name: str) -> types.ModuleType:
    return importlib.import_module(package + name)


def import_parts(src: Path) -> None:
    """Make its modules importable, and fill its registry of critics."""
    sys.path.insert(0, str(src))
    # packages whose own __init__ imports what is not installed
    folders = {f"{package}learners": "learners", f"{package}modules.critics": "modules/critics"}
    if package:
        folders = {package.rstrip("."): "."} | folders
    for name, folder in folders.items():
        made = types.ModuleType(name)
        made.__path__, made.REGISTRY = [str(src / folder)], {}
        sys.modules[name] = made
    critics = sys.modules[f"{package}modules.critics"]
    critics.register_pac_critics = lambda: None
    # what EPyMARL's PAC uses of two packages
    sys.modules["einops"] = types.SimpleNamespace(repeat=_repeat, rearrange=None)
    sys.modules["torch_scatter"] = types.SimpleNamespace(scatter_add=_scatter_add)
    # PyMARL2's learners import environments for what they print, and its QPLEX wants a GPU
    if (src / "envs" / "matrix_game").exists():
        printing = types.ModuleType("envs.matrix_game")
        printing.print_matrix_status = lambda *_: None
        sys.modules |= {"envs": types.ModuleType("envs"), "envs.matrix_game": printing}
        th.Tensor.cuda = lambda tensor: tensor
    for name, (module, attribute) in CRITICS.items():
        if not (src / "modules" / "critics" / f"{module}.py").exists():
            continue
        critics.REGISTRY[name] = getattr(module_of(f"modules.critics.{module}"), attribute)


class _Nearest:
    """sklearn.neighbors.KDTree of rows, for the nearest one."""

    def __init__(self, rows: np.ndarray):
        self._rows = rows.copy()

    def query(self, keys: list, k: int) -> tuple[np.ndarray, np.ndarray]:
        distances = np.linalg.norm(self._rows - keys[0], axis=1)
        nearest = np.argsort(distances)[None, :k]
        return distances[nearest], nearest


def _repeat(x, pattern: str, **sizes: int) -> th.Tensor:
    """einops.repeat of a pattern that adds axes."""
    before, after = (side.split() for side in pattern.split("->"))
    lengths = dict(zip(before, x.shape, strict=True)) | sizes
    shape = [lengths[name] if name in before else 1 for name in after]
    return x.reshape(shape).expand([lengths[name] for name in after])


def _scatter_add(src, index, dim: int, dim_size: int) -> th.Tensor:
    """torch_scatter.scatter_add."""
    shape = list(src.shape)
    shape[dim] = dim_size
    return src.new_zeros(shape).index_add(dim, index, src)


def trained(src: Path, task: dict) -> dict:
    """The statistics of each update of a task, and the weights after the last."""
    EpisodeBatch = module_of("components.episode_buffer").EpisodeBatch
    OneHot = module_of("components.transforms").OneHot
    controllers = module_of("controllers").REGISTRY
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
        "reward": {"vshape": (fields["reward"].size(2),)},
        "terminated": {"vshape": (1,), "dtype": th.uint8},
    }
    if "probs" in fields:
        scheme["probs"] = {"vshape": (args.n_actions,), "group": "agents"}
    if "noise" in fields:
        scheme["noise"] = {"vshape": (args.noise_dim,)}
    sizes = {"log_probs": 1, "values": 1, "hidden_states": 0, "hidden_states_critic": 0}
    for key in getattr(args, "extra_in_buffer", ()):
        scheme[key] = {"vshape": (sizes[key] or args.hidden_dim,), "group": "agents"}
    groups = {"agents": args.n_agents}
    preprocess = {"actions": ("actions_onehot", [OneHot(out_dim=args.n_actions)])}
    batch = EpisodeBatch(scheme, groups, size, columns, preprocess=preprocess)
    for key, values in fields.items():
        batch.data.transition_data[key].copy_(values)

    # PyMARL3's ASN looks here for what it sees
    Path("obs_config.json").write_text(json.dumps(task["maps"]))
    if args.mac == "maddpg_mac":
        controllers[args.mac] = module_of("controllers.maddpg_controller").MADDPGMAC
    mac = controllers[args.mac](batch.scheme, groups, args)
    logged = []
    console = SimpleNamespace(info=lambda *_: None)
    logger = SimpleNamespace(log_stat=lambda key, x, t: logged[-1][key].append(float(x)), console_logger=console)
    module = module_of(f"learners.{FILES.get(args.learner, args.learner)}")
    learner = getattr(module, LEARNERS[args.learner])(mac, batch.scheme, logger, args)
    networks = {name: getattr(learner, name) for name in NETWORKS if getattr(learner, name, None) is not None}
    if getattr(mac.agent, "critic", None) is not None:  # a part of the agent, which has its weights
        del networks["critic"]
    if "dropout" in task["changes"]:
        for part in mac.agent.modules():
            if hasattr(part, "dropout"):
                part.dropout = task["changes"]["dropout"]
    # a critic that is a controller
    networks = {name: getattr(network, "agent", network) for name, network in networks.items()}
    targets = {name: getattr(learner, f"target_{name}") for name in networks if hasattr(learner, f"target_{name}")}
    if hasattr(learner, "state_value_target"):
        targets["state_value"] = learner.state_value_target
    if hasattr(learner, "central_mac"):
        networks["central_agent"] = learner.central_mac.agent
        targets["central_agent"] = learner.target_central_mac.agent
    if hasattr(learner, "discrim"):  # MAVEN's two networks as ours has them, in one
        networks["discriminator"] = th.nn.Module()
        networks["discriminator"].rnn, networks["discriminator"].model = learner.rnn_agg.rnn, learner.discrim.model
    if hasattr(learner, "explorer"):  # CDS's
        for name, key in (("predictor", "predict_without_id"), ("predictor_with_id", "predict_with_id")):
            networks[name] = getattr(learner.explorer, f"eval_{key}")
            targets[name] = getattr(learner.explorer, f"target_{key}")
    if hasattr(learner, "distance"):  # MASER's, which learns nothing
        learner.distance.load_state_dict(task["weights"]["distance"])
    explorer = None
    if getattr(args, "explorer", None) == "eoi":
        made = module_of("modules.explorers.EOI").Explorer(batch.scheme, groups, args, columns - 1, logger)
        explorer = made
        networks |= {"classifier": made.eoi_net, "ivf": made.ivf, "target_ivf": made.ivf_tar}
    memory = None
    if hasattr(learner, "vdn_learner"):
        memory = _memory(args, fields, scheme)
        curious = learner.vdn_learner
        networks |= {"curiosity_values": curious.mac.agent, "curiosity_predictor": curious.predict_mac.agent}
        networks["curiosity_followed"] = curious.soft_target_mac.agent
        targets["curiosity_values"] = curious.target_mac.agent
    for name, network in networks.items():
        if network.state_dict():
            _load(network, task["weights"][name])
            if name in targets:
                _load(targets[name], task["weights"][name])
    agent = mac.agent
    if hasattr(learner, "learners"):  # HAPPO's, one of each agent
        agent, networks["critic"] = th.nn.Module(), th.nn.Module()
        agent.agents = th.nn.ModuleList(one.mac.agent for one in learner.learners)
        networks["critic"].critics = th.nn.ModuleList(one.critic for one in learner.learners)
        _load(agent, task["weights"]["agent"])
        _load(networks["critic"], task["weights"]["critic"])
    for name in ("mac", "target_mac", "old_mac"):
        if hasattr(learner, name):
            _load(getattr(learner, name).agent, task["weights"]["agent"])
    th.manual_seed(task["seed"])
    np.random.seed(task["seed"])
    with _chance(args.learner):
        for update in range(task["updates"]):
            logged.append(defaultdict(list))
            if explorer is not None:
                explorer.train(batch)
            if getattr(args, "extra_in_buffer", ()):
                batch = acted(learner, batch)
            # a copy, as its buffer draws: MASER writes into it
            _train(learner, copy.deepcopy(batch), task.get("rows"), 10 * (update + 1), update, memory)
    # of what is logged several times the last, but of HAPPO's agents the mean
    several = len(getattr(learner, "learners", [0]))
    logged = [{key: sum(values[-several:]) / several for key, values in stats.items()} for stats in logged]
    trained = {"agent": agent, **networks, **{f"target_{name}": target for name, target in targets.items()}}
    return {"stats": logged, "weights": {name: _state(network) for name, network in trained.items()}}


def _chance(learner: str):
    """As ours in this test: HAPPO's agents come in their order, and CommFormer's noise is always 0."""
    if learner == "happo_learner":
        return patch.object(th, "randperm", lambda number: th.arange(number))
    if learner == "commformer_learner":
        return patch.object(th.Tensor, "exponential_", lambda x: x.fill_(1.0))
    return nullcontext()


def _memory(args, fields: dict, scheme: dict):
    """EMC's, of returns from all states of the batch but closing ones of episodes that were cut off."""
    # a package that it uses; torch looks whether it is there
    sys.modules |= {"sklearn": types.ModuleType("sklearn"), "sklearn.neighbors": types.SimpleNamespace(KDTree=_Nearest)}
    made = module_of("components.episodic_memory_buffer").EpisodicMemoryBuffer(args, scheme)
    del sys.modules["sklearn"], sys.modules["sklearn.neighbors"]
    for row in range(len(fields["filled"])):
        steps = slice(None, None if fields["terminated"][row].any() else -1)
        episode = {key: fields[key][row : row + 1, steps] for key in ("state", "actions", "reward")}
        made.update_ec(_Episode(episode))
    made.update_kdtree()
    return made


class _Episode(dict):
    @property
    def max_seq_length(self) -> int:
        return self["state"].shape[1]


def _train(learner, batch, rows: int | None, t_env: int, episode: int, memory=None) -> None:
    """One update, as its run loop makes it; if it calls the learner several times, with `rows` episodes each."""
    if rows is None:
        learner.train(batch, t_env, episode, **({} if memory is None else {"ec_buffer": memory}))
        return
    if hasattr(learner, "train_critic_best"):  # DOP's
        log = defaultdict(list)
        learner.train_critic(batch[:rows], best_batch=batch[rows : 2 * rows], log=log)
        learner.train(batch[2 * rows :], t_env, log)
        return
    learner.train(batch[:rows], t_env, episode, off=True)
    learner.train(batch[rows:], t_env, episode, off=False)


@th.no_grad()
def acted(learner, batch):
    """The batch with what its runners store beside actions: by the present weights, zeros where nothing is filled."""
    seen, made = copy.deepcopy(batch), copy.deepcopy(batch)
    for key in ("terminated", "actions_onehot"):  # acting does not know them yet
        seen.data.transition_data[key].zero_()
    if hasattr(learner, "learners"):
        learner.init_hidden(batch.batch_size)
    for t in range(batch.max_seq_length):
        before = learner.get_hidden_states() if hasattr(learner, "learners") else {}
        for key, values in {**_decided(learner, seen, t, batch["actions"][:, t]), **before}.items():
            made.data.transition_data[key][:, t] = values.reshape(made[key][:, t].shape) * batch["filled"][:, t, None]
    return made


def _decided(learner, seen, t: int, actions: th.Tensor) -> dict:
    """Values, and log-probabilities of these actions `[B, n, 1]`."""
    if not hasattr(learner, "learners"):  # of a transformer over agents
        agent = learner.mac.agent
        inputs = learner.mac._build_inputs(seen, t).view(seen.batch_size, -1, agent.input_shape)
        values, *encoded = _as_tuple(agent.critic(seen, t))
        order = [*encoded[:1], inputs, actions, seen["avail_actions"][:, t], *encoded[1:]]
        return {"values": values, "log_probs": agent(*order)[0]}
    for i, one in enumerate(learner.learners):
        one.mac.action_selector = SimpleNamespace(select_action=_chosen(actions[:, i]))
    return learner.select_actions(seen, t, 0)[1]


def _as_tuple(found) -> tuple:
    return found if isinstance(found, tuple) else (found,)


def _chosen(actions: th.Tensor):
    """A selector that chooses these, `[B, 1]`."""
    return lambda probs, *_, **__: (actions, th.distributions.Categorical(probs).log_prob(actions))


# of networks that are not a module, the lists of modules that they consist of
LISTS = "critics", "agents", "utility_fun", "payoff_fun"


def _parts(network) -> dict:
    """The modules of a network that is not one, by the beginning of their weights' names."""
    return {f"{name}.{i}.": part for name in LISTS for i, part in enumerate(getattr(network, name, ()))}


def _beginning(network) -> str:
    """Of all its weights' names, where it only holds the network that ours is: PyMARLzoo+'s MADDPG critic."""
    return "critic." if all(key.startswith("critic.") for key in network.state_dict()) else ""


# buffers of attention
MASK = re.compile(r"attn\d?\.mask$")
# the end of the names of a GRU's weights, where ours is a cell
GRU = "_l0"


def _in_its_names(network, weights: dict) -> dict:
    """Our weights by the names that PyMARLzoo+ has for those of its GRU, and of CDS's layer of each agent."""
    keys = set(network.state_dict())
    named = {key if key in keys or key + GRU not in keys else key + GRU: x for key, x in weights.items()}
    for kind in ("weight", "bias"):
        if f"mlp.0.{kind}" in keys:
            named |= {f"mlp.{i}.{kind}": x for i, x in enumerate(named.pop(f"mlp.{kind}"))}
    return named


def _in_our_names(state: dict) -> dict:
    """The inverse."""
    state = {key.removesuffix(GRU): x for key, x in state.items()}
    for kind in ("weight", "bias"):
        layers = [key for key in state if key.startswith("mlp.") and key.endswith(f".{kind}")]
        if layers:
            state[f"mlp.{kind}"] = th.stack([state.pop(f"mlp.{i}.{kind}") for i in range(len(layers))])
    return state


def _load(network, weights: dict) -> None:
    if isinstance(network.state_dict(), dict):
        start, weights = _beginning(network), _in_its_names(network, weights)
        buffers = {key: x for key, x in network.named_buffers() if MASK.search(key)}
        network.load_state_dict({start + key: x for key, x in weights.items()} | buffers)
        return
    for start, part in _parts(network).items():
        part.load_state_dict({key.removeprefix(start): x for key, x in weights.items() if key.startswith(start)})


def _state(network) -> dict:
    state = network.state_dict()
    if isinstance(state, dict):
        state = {key: x for key, x in state.items() if not MASK.search(key)}
        return _in_our_names({key.removeprefix(_beginning(network)): x for key, x in state.items()})
    parts = _parts(network).items()
    return {f"{start}{key}": value.clone() for start, part in parts for key, value in part.state_dict().items()}


if __name__ == "__main__":
    th.set_num_threads(1)
    # as in PyMARL2's version of torch: padding has no probabilities
    th.distributions.Distribution.set_default_validate_args(False)
    src = Path(sys.argv[1]) / "src"
    if not src.exists():
        src, package = Path(sys.argv[1]) / "pymarlzooplus", "pymarlzooplus."
    import_parts(src)
    th.save([trained(src, task) for task in th.load(sys.argv[2], weights_only=False)], sys.argv[3])
