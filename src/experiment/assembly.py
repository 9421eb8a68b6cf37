"""From a config to the parts of a run."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch as th

import collection
from checkpoints.journal import Journal
from checks.options import layer_widths
from checks.parts import ChosenParts
from checks.plugins import import_plugins
from checks.teams import of_team
from collection.contract import Collection, Opponents
from components.batch_items import MissingFieldError
from components.buffers.with_transforms import build_buffer
from components.episode_batch import EpisodeBatch
from components.scheme import KnownFields, scheme_of
from components.update_plan import UpdatePlan, UpdatesPerRollout, UsesFromTheStart, UsesPerTransition
from controllers import REGISTRY as mac_REGISTRY
from envs.contract.fields import pymarl_spec
from experiment.acting_place import acting_place
from experiment.callbacks import Callbacks
from experiment.contracts import PlainLearner
from experiment.data_recording import DataRecorder, recorder_of
from experiment.exploitability import Exploitability, exploitability_of
from experiment.live import LiveChanges, live_changes, start_schedules
from experiment.offline import run_data
from experiment.opponents import opponents_of
from experiment.state import LoopState, RunState
from experiment.teams import Member, TeamModels, controller_of, members_of
from learners import REGISTRY as le_REGISTRY
from learners.intrinsic.rewards import attach
from records.diagnostics import Diagnostics
from records.logger import Logger
from records.machine import MachineSampler
from runners import REGISTRY as r_REGISTRY
from runners.contract import Runner, as_runner
from utils.errors import ConfigError
from utils.numbers.random_streams import GlobalGenerators, RandomStream
from utils.processes.available_memory import require_memory
from utils.tensors import lazy_dynamo
from utils.tensors.devices import acting_device, collector_device, device_memory, move_to, waiting_for
from utils.timing import Timer
from vector_envs.instances import TEST_SEED_OFFSET, prepare_environments

# keys of the parts with weights, and of those that read them
LEARNING = ("mac", "agent", "action_selector", "learner", "mixer", "critic", "intrinsic")


@dataclass
class Players:
    """The runner, its controllers, and the fields of its batches; `acting_mac` is `mac` or a copy of it.

    `teams`: who controls the agents; `mac` asks their controllers. `schedules`: by team, of keys that the loop sets.
    """

    runner: Runner
    teams: list[Member]
    mac: Any
    acting_mac: Any
    scheme: dict
    groups: dict
    preprocess: dict
    schedules: dict[str, dict]


@dataclass
class Parts:
    """The parts of the loop; `acting_mac` is `mac` or a copy of it, which `acting` keeps up to date.

    `teams`: each with its buffer, update plan and learner. `models`: saves and loads those of all teams. `opponents`:
    who plays which group, or None (`collection.opponents`). `exploitability`: of small games, or None. `test_stream`:
    the random numbers of tests. `state`: all of them that have a state. `diagnostics`: timer, monitored values and
    machine. `live`: keys that change. `callbacks`: of the user's, None if there are none. `recorder`: of rollouts as
    data, or None. `fill`: puts the data set of a new run into its buffers, None without one.
    """

    runner: Runner
    collection: Collection
    teams: list[Member]
    mac: Any
    acting_mac: Any
    models: Any
    opponents: Opponents | None
    exploitability: Exploitability | None
    loop: LoopState
    test_stream: RandomStream
    state: RunState
    diagnostics: Diagnostics
    live: LiveChanges
    callbacks: Callbacks | None
    recorder: DataRecorder | None = None
    fill: Callable[[], None] | None = None

    @property
    def learning(self) -> list[Member]:
        """The teams that are trained."""
        return [team for team in self.teams if not team.frozen]

    @property
    def mixer(self) -> Any:
        """The mixer of the only team, by which replays show its value, or None."""
        return PlainLearner.of(self.teams[0].learner).mixer if self.teams[0].view is None else None

    @property
    def journals(self) -> dict[str, Journal]:
        """Those of the buffers that checkpoints save, by the names of their teams."""
        return {team.name: team.buffer.journal for team in self.learning if team.buffer.journal is not None}


def build_plan(args: SimpleNamespace, buffer: Any) -> UpdatePlan:
    """When to learn: `samples_per_insert` uses of each transition, or `updates_per_rollout`."""
    if args.samples_per_insert and args.replay_pace == "linesight":
        return UsesFromTheStart(args.samples_per_insert, buffer.sample_size, buffer.supply)
    if args.samples_per_insert:
        return UsesPerTransition(args.samples_per_insert, buffer.sample_size)
    return UpdatesPerRollout(args.updates_per_rollout)


def assemble_players(args: SimpleNamespace, logger: Logger, learns: bool = True) -> Players:
    """Build runner and controllers; adds the environment's sizes to `args`.

    The runner starts environments. If anything after it fails, they are closed again.

    Args:
        learns: False: the controllers only play, so they are where acting computes, which becomes `args.device`.
    """
    lazy_dynamo.defer()
    schedules = {"": start_schedules(args)}
    prepare_environments(args)
    runner = as_runner(r_REGISTRY[args.runner](args=args, logger=logger))
    try:
        # a runner derived from ours may change the sizes
        sizes, spec = runner.get_env_info(), runner.spec
        spec = pymarl_spec(sizes) if spec is None else replace(spec, env_info=sizes)
        teams = members_of(args, spec)
        schedules = {team.name: schedules[""] | start_schedules(team.args) for team in teams} | schedules
        scheme, groups, preprocess = scheme_of(spec, args.buffer_dtype)
        for team in teams:
            own_fields = team.fields()
            if taken := sorted({*scheme, "actions_onehot", "filled"} & set(own_fields)):
                raise ConfigError(
                    f"learner={team.args.learner} declares batch_fields that every batch has: {', '.join(taken)}."
                )
            scheme |= own_fields
        # a batch knows the fields that are derived, too
        full_scheme = EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess, device="meta").scheme
        for team in teams:
            team.made_of = team.scheme(full_scheme), team.groups(groups)
            seen = *team.made_of, team.args
            with of_team(team.name):
                _require_memory_for_networks(*seen, team.frozen, logger)
                team.mac = mac_REGISTRY[team.args.mac](*seen)
            scheme |= team.memory_fields()
        args.acts_on = acting_place(args, teams, full_scheme, logger.console_logger)
        if not learns:
            args.device = acting_device(args)
        mac = acting_mac = controller_of(teams)
        if collection.lag_of(args.collection) or acting_device(args) != args.device:
            acting_mac = copy.deepcopy(mac)
            move_to(acting_device(args), acting_mac)
        # before the runner asks for the memory that agents begin with, and for whatever else their networks make
        move_to(args.device, mac)
        runner.setup(scheme=scheme, groups=groups, preprocess=preprocess, mac=acting_mac)
    except BaseException:
        runner.close_env()
        raise
    return Players(runner, teams, mac, acting_mac, scheme, groups, preprocess, schedules)


def collector_players(args: SimpleNamespace, logger: Logger) -> tuple[Any, Any]:
    """Runner and controller of a collector, which plays in a process of its own (`collection.collectors`)."""
    import_plugins(args.plugins)
    # nothing learns there: there are no weights that acting could lag behind
    args.collection, args.device = "sync", collector_device(args)
    players = assemble_players(args, logger)
    return players.runner, players.mac


def assemble(args: SimpleNamespace, logger: Logger) -> Parts:
    """Build runner, controllers, and the buffer and the learner of each team; adds the environment's sizes to `args`.

    The runner starts environments. If anything after it fails, they are closed again.
    """
    players = assemble_players(args, logger)
    runner, mac, teams = players.runner, players.mac, players.teams
    try:
        scheme, columns = _seen_by_buffers(args, players)
        data = run_data(args, logger)
        for team in teams:
            if not team.frozen:
                with of_team(team.name):
                    if data is not None:
                        team.args.buffer_size = data.room(team.args)
                    _add_learner(team, scheme, players, columns, team.logger(logger))
        like = EpisodeBatch(scheme, players.groups, 1, 1, preprocess=players.preprocess, device="meta")
        playing = collection.build(args, runner, mac, players.acting_mac, logger, like=like)
        playing.collect_by(collector_players)
        playing.opponents = opponents_of(args, teams, mac, players.acting_mac, runner, logger)
        exploitability = exploitability_of(args, runner.spec, players.acting_mac, playing.opponents, logger)
        loop, test_stream = LoopState(), RandomStream(args.seed + TEST_SEED_OFFSET)
        state = RunState(logger.console_logger)
        # the first, under its first name: it waits for what is being played, which changes the others
        state.register("acting", playing)
        for team in teams:
            team.register(state, None if players.acting_mac is mac else players.acting_mac)
        state.register("opponents", playing.opponents, optional=True)
        state.register("loop", loop)
        state.register("logger", logger)
        state.register("test_stream", test_stream)
        state.register("generators", GlobalGenerators())
        diagnostics = diagnostics_of(args, logger)
        state.register("diagnostics", diagnostics, optional=True)
        live = live_changes(args, players.schedules, teams, playing, players.acting_mac, logger.console_logger)
        state.register("live", live)
        callbacks = Callbacks.of(args.callbacks)
        state.register("callbacks", callbacks, optional=True)
        recorder = recorder_of(args, runner, players.scheme)
        state.register("recorder", recorder, optional=True)
        state.register("dataset", data, optional=True)
    except BaseException:
        runner.close_env()
        raise
    models = TeamModels(teams) if args.teams else teams[0].learner
    opponents = playing.opponents
    acting_mac = players.acting_mac
    return Parts(
        runner,
        playing,
        teams,
        mac,
        acting_mac,
        models,
        opponents,
        exploitability,
        loop,
        test_stream,
        state,
        diagnostics,
        live,
        callbacks,
        recorder,
        partial(data.fill, teams, scheme, players.groups, players.preprocess, columns) if data else None,
    )


def diagnostics_of(args: SimpleNamespace, logger: Logger) -> Diagnostics:
    """See `records.diagnostics`; with `timer: cuda`, the timer waits for the GPUs on which the run computes."""
    synchronise = waiting_for({args.device, acting_device(args)}) if args.timer == "cuda" else None
    timer = None if args.timer == "off" else Timer(synchronise)
    interval = args.machine_interval
    sampler = partial(MachineSampler, interval, args.use_cuda) if interval else None
    return Diagnostics(logger.console_logger, logger, timer, sampler)


def learner_for(players: Players, logger: Any) -> Any:
    """A new learner of the only team, without a buffer."""
    (team,) = players.teams
    scheme = team.scheme(players.runner.batch_scheme or players.scheme)
    return _new_learner(team.mac, scheme, logger, team.args)


def _seen_by_buffers(args: SimpleNamespace, players: Players) -> tuple[dict, int]:
    """The fields of what buffers take in, and its most columns: of rollouts, or of the whole episodes of a data set."""
    runner = players.runner
    if args.dataset:
        return players.scheme, args.episode_limit + 1
    return runner.batch_scheme or players.scheme, runner.batch_columns or args.episode_limit + 1


def new_learner(mac: Any, scheme: dict, logger: Any, args: SimpleNamespace) -> Any:
    """A learner where it computes."""
    learner = _new_learner(mac, scheme, logger, args)
    move_to(args.device, learner)
    if args.compile == "on":
        _compile(learner)
    return learner


def _new_learner(mac: Any, scheme: dict, logger: Any, args: SimpleNamespace) -> Any:
    return attach(le_REGISTRY[args.learner](mac, scheme, logger, args), scheme, args)


def _add_learner(team: Member, scheme: dict, players: Players, columns: int, logger: Any) -> None:
    args = team.args
    fields = team.scheme(scheme), team.groups(players.groups), columns, team.preprocess(players.preprocess)
    team.buffer = build_buffer(ChosenParts(vars(args)).name("buffer"), *fields, args, logger)
    team.plan = build_plan(args, team.buffer)
    team.learner = new_learner(team.mac, team.buffer.scheme, logger, args)


def _require_memory_for_networks(
    scheme: dict, groups: dict, args: SimpleNamespace, frozen: bool, logger: Logger
) -> None:
    """Refuse networks that do not fit, by building them on the device `meta`, where tensors take no memory.

    Foreign parts are not built twice: their constructors may have side effects.

    Raises:
        ConfigError: a part reads a field that the environment does not have.
        MusterError: weights, gradients and the optimiser's averages are larger than the memory there is.
    """
    if any(not entry.declared for kind, entry in ChosenParts(vars(args)) if kind in LEARNING):
        return
    scheme, reader = KnownFields(scheme), f"mac={args.mac}, or its agent={args.agent},"
    try:
        with th.device("meta"):
            mac = mac_REGISTRY[args.mac](scheme, groups, args)
            reader = f"learner={args.learner}, or its critic={args.critic} or mixer={args.mixer},"
            learner = None if args.evaluate or frozen else _new_learner(mac, scheme, logger, args)
    except MissingFieldError as error:
        raise ConfigError(
            f"env={args.env} has {error}, and {reader} reads it. Choose parts for several fields (docs/fields.md), or "
            "an environment that has it."
        ) from None
    except RuntimeError as error:
        if "verflow" not in str(error):
            return  # the constructor reports the problem
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
    lazy_dynamo.load()
    for network in (*learner.networks.values(), *learner.target_networks.values()):
        # for any number of steps; in place, which keeps the names of the weights
        network.compile(dynamic=True)
