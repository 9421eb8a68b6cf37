"""From a config to the parts of a run."""

import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch as th

import acting
from acting.contract import Acting
from checks.options import layer_widths
from checks.registries import chosen, chosen_name
from components.buffers import REGISTRY as buffer_REGISTRY
from components.buffers.contract import Buffer
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from components.update_plan import UpdatePlan, UpdatesPerRollout, UsesPerTransition
from controllers import REGISTRY as mac_REGISTRY
from envs.fields import pymarl_spec
from experiment.state import LoopState, RunState
from learners import REGISTRY as le_REGISTRY
from learners.batch_fields import batch_fields
from records.logger import Logger
from runners import REGISTRY as r_REGISTRY
from utils.available_memory import require_memory
from utils.devices import acting_device, device_memory
from utils.errors import ConfigError
from utils.random_streams import GlobalGenerators, RandomStream
from vector_envs.instances import TEST_SEED_OFFSET, prepare_environments

# keys of the parts with weights, and of those that read them
LEARNING = ("mac", "agent", "action_selector", "learner", "mixer", "critic")
# sizes that parts written for PyMARL find in their arguments; None where an environment has no honest answer
SIZES = ("n_agents", "n_actions", "state_shape", "episode_limit")


@dataclass
class Parts:
    """The parts of the loop; `acting_mac` is `mac` or a copy of it, which `acting` keeps up to date.

    `test_stream`: the random numbers of tests. `state`: all of them that have a state.
    """

    runner: Any
    acting: Acting
    buffer: Buffer
    plan: UpdatePlan
    mac: Any
    acting_mac: Any
    learner: Any
    loop: LoopState
    test_stream: RandomStream
    state: RunState


def build_plan(args: SimpleNamespace, buffer: Buffer) -> UpdatePlan:
    """When to learn: `replay_ratio` uses of each transition, or `updates_per_rollout`."""
    if args.replay_ratio:
        return UsesPerTransition(args.replay_ratio, buffer.sample_size)
    return UpdatesPerRollout(args.updates_per_rollout)


@dataclass
class Players:
    """The runner, its controllers, and the fields of its batches."""

    runner: Any
    mac: Any
    acting_mac: Any
    scheme: dict
    groups: dict
    preprocess: dict


def assemble_players(args: SimpleNamespace, logger: Logger) -> Players:
    """Build runner and controller; adds the environment's sizes to `args`.

    The runner starts environments. If anything after it fails, they are closed again.
    """
    prepare_environments(args)
    runner = r_REGISTRY[args.runner](args=args, logger=logger)
    try:
        env_info = runner.get_env_info()
        # a runner of PyMARL's knows the sizes only
        spec = getattr(runner, "spec", None) or pymarl_spec(env_info)
        for key in SIZES:
            setattr(args, key, env_info.get(key))

        scheme, groups, preprocess = scheme_of(spec, args.buffer_dtype)
        own_fields = batch_fields(args.learner, env_info)
        if taken := sorted({*scheme, "actions_onehot", "filled"} & set(own_fields)):
            raise ConfigError(f"learner={args.learner} declares batch_fields that every batch has: {', '.join(taken)}.")
        scheme |= own_fields
        # a batch knows the fields that are derived, too
        full_scheme = EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess, device="meta").scheme
        _require_memory_for_networks(full_scheme, groups, args, logger)
        mac = mac_REGISTRY[args.mac](full_scheme, groups, args)
        acting_mac = mac
        if acting.lag_of(args.acting) or acting_device(args) != args.device:
            acting_mac = copy.deepcopy(mac)
            if acting_device(args) == "cuda":
                acting_mac.cuda()
        runner.setup(scheme=scheme, groups=groups, preprocess=preprocess, mac=acting_mac)
    except BaseException:
        runner.close_env()
        raise
    return Players(runner, mac, acting_mac, scheme, groups, preprocess)


def assemble(args: SimpleNamespace, logger: Logger) -> Parts:
    """Build runner, buffer, controller and learner; adds the environment's sizes to `args`.

    The runner starts environments. If anything after it fails, they are closed again.
    """
    players = assemble_players(args, logger)
    runner, mac = players.runner, players.mac
    try:
        # a runner whose batches are not whole episodes declares theirs
        scheme = getattr(runner, "batch_scheme", players.scheme)
        columns = getattr(runner, "batch_columns", args.episode_limit + 1)
        kind = buffer_REGISTRY[chosen_name(vars(args), "buffer")]
        buffer = kind(scheme, players.groups, columns, players.preprocess, args, logger)
        learner = le_REGISTRY[args.learner](mac, buffer.scheme, logger, args)
        if args.device == "cuda":
            learner.cuda()
        if args.compile == "on":
            _compile(learner)
        playing = acting.build(args, runner, mac, players.acting_mac, logger, like=buffer)
        plan, loop, test_stream = build_plan(args, buffer), LoopState(), RandomStream(args.seed + TEST_SEED_OFFSET)
        state = RunState(logger.console_logger)
        # acting comes first: it waits for a rollout in progress, which changes the others
        for name, part in {"acting": playing, "learner": learner, "mac": mac, "buffer": buffer, "plan": plan}.items():
            state.register(name, part)
        state.register("acting_mac", None if players.acting_mac is mac else players.acting_mac, optional=True)
        state.register("loop", loop)
        state.register("logger", logger)
        state.register("test_stream", test_stream)
        state.register("generators", GlobalGenerators())
    except BaseException:
        runner.close_env()
        raise
    return Parts(runner, playing, buffer, plan, mac, players.acting_mac, learner, loop, test_stream, state)


def _require_memory_for_networks(scheme: dict, groups: dict, args: SimpleNamespace, logger: Logger) -> None:
    """Refuse networks that do not fit, by building them on the device `meta`, where tensors take no memory.

    Foreign parts are not built twice: their constructors may have side effects.

    Raises:
        MusterError: weights, gradients and the optimiser's averages are larger than the memory there is.
    """
    if any(entry is not None and not entry.declared for key, entry in chosen(vars(args)) if key in LEARNING):
        return
    try:
        with th.device("meta"):
            mac = mac_REGISTRY[args.mac](scheme, groups, args)
            learner = None if args.evaluate else le_REGISTRY[args.learner](mac, scheme, logger, args)
    except RuntimeError as error:
        if "verflow" not in str(error):
            return  # the constructor will say itself what is wrong
        size = 2**63  # more than torch can count
    else:
        size = sum(w.nbytes for w in mac.parameters()) if learner is None else _bytes_for_learning(learner, args)
    require_memory(
        "The learner's memory for the weights of its networks",
        size,
        device_memory(args.device),
        f"Choose smaller layers: {', '.join(f'{key}={vars(args)[key]}' for key in layer_widths(vars(args)))}.",
    )


def _bytes_for_learning(learner: Any, args: SimpleNamespace) -> int:
    trained = [*learner.mac.parameters(), *(w for net in learner.networks.values() for w in net.parameters())]
    targets = [w for net in learner.target_networks.values() for w in net.parameters()]
    targets += learner.target_mac.parameters() if learner.target_mac is not None else []
    # a gradient, and one running average (RMSprop) or two (Adam)
    copies = 3 if args.optimizer == "rmsprop" else 4
    return sum(w.nbytes for w in trained) * copies + sum(w.nbytes for w in targets)


def _compile(learner: Any) -> None:
    """Have torch compile the networks that see whole batches; agents are unrolled by hand-written code."""
    for network in (*learner.networks.values(), *learner.target_networks.values()):
        # for any number of steps; in place, so that the names of the weights stay
        network.compile(dynamic=True)
