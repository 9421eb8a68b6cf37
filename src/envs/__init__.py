"""Environments: what is played. Registered here, imported when chosen."""

from collections.abc import Mapping
from typing import Any

from envs.contract.about import NOTHING, About
from envs.multiagentenv import MultiAgentEnv
from utils.config.options import Option
from utils.config.reach import Reach
from utils.config.registry import Registry, loaded

REGISTRY = Registry("environment")
# `light`: a step takes less time than a message to another process
REGISTRY.declare(
    "two_step",
    "envs.small.two_step:TwoStepGame",
    "two-step cooperative matrix game of the QMIX paper",
    reaches="envs.small.two_step:REACHES",
    light=True,
    about="envs.small.about:TWO_STEP",
)
REGISTRY.declare(
    "matrix",
    "envs.small.payoffs:MatrixGame",
    "one-state matrix games: climbing, penalty, QTRAN's, your own",
    reaches="envs.small.payoffs:REACHES",
    light=True,
    about="envs.small.about:MATRIX",
)
REGISTRY.declare(
    "lbf",
    "envs.small.lbf:Foraging",
    "level-based foraging, compiled or the package lbforaging's",
    batched="envs.small.lbf:batch",
    batched_if="envs.small.lbf:is_compiled",
    reaches="envs.small.lbf:REACHES",
    light=True,
    about="envs.small.about:LBF",
)
REGISTRY.declare(
    "smaclite",
    "envs.small.smaclite:SMAClite",
    "SMAC's battles without StarCraft II, SMAClite (package smaclite)",
    reaches="envs.small.smaclite:REACHES",
    about="envs.small.about:SMACLITE",
)
REGISTRY.declare(
    "recorded",
    "envs.recorded.environment:Recorded",
    "the fields of a data set (dataset=FOLDER), which is learned from without its environment; nothing can be played",
    reaches="envs.recorded.environment:REACHES",
    light=True,
    about="envs.recorded.environment:ABOUT",
)
# `reaches`: what its arguments may do beyond the results of a run (`envs.contract.reaches`); of one that
# declares none any may do anything
# `about`: what its arguments mean, and the numbers in its last infos (`envs.contract.about`)
# `batched`: the form of many copies; `batched_if`: says for which arguments it exists; `together_if`: for which its
# copies cannot begin an episode while others play: a function of them that returns why, or ""
REGISTRY.declare(
    "pettingzoo",
    "envs.pettingzoo.environment:PettingZoo",
    "any PettingZoo parallel environment, as one team or in groups",
    reaches="envs.pettingzoo.games:REACHES",
    light=True,
    about="envs.pettingzoo.about:PETTINGZOO",
)
REGISTRY.declare(
    "mpe",
    "envs.pettingzoo.environment:PettingZoo",
    "the same: multi-agent particle environments (package mpe2)",
    reaches="envs.pettingzoo.games:REACHES",
    light=True,
    about="envs.pettingzoo.about:PETTINGZOO",
)
REGISTRY.declare(
    "particles",
    "envs.particles.environment:Particles",
    "the nine scenarios of the particle environments (MPE), compiled",
    batched="envs.particles.environment:ParticlesBatch",
    reaches="envs.particles.options:REACHES",
    about="envs.particles.about:ABOUT",
)
REGISTRY.declare(
    "openspiel",
    "envs.openspiel.environment:OpenSpiel",
    "games of OpenSpiel, opposed or together (package open_spiel)",
    reaches="envs.openspiel.environment:REACHES",
    light=True,
    about="envs.openspiel.about:ABOUT",
    exact="envs.openspiel.tree:tree_of",
)
REGISTRY.declare(
    "gymma",
    "envs.pettingzoo.gymma:Gymma",
    "EPyMARL's: any game of several agents by an id of Gymnasium, PettingZoo or VMAS",
    batched="envs.pettingzoo.gymma:batch",
    batched_if="envs.pettingzoo.gymma:has_batch",
    reaches="envs.pettingzoo.games:REACHES",
    light=True,
    about="envs.pettingzoo.about:GYMMA",
)
REGISTRY.declare(
    "gymnasium",
    "envs.gymnasium.form:Gymnasium",
    "any environment of Gymnasium, one agent; vectorised ones, and EnvPool's, as one batch",
    batched="envs.gymnasium.form:batch",
    batched_if="envs.gymnasium.form:has_batch",
    together_if="envs.gymnasium.form:why_together",
    reaches="envs.gymnasium.form:REACHES",
    light=True,
    about="envs.gymnasium.about:ABOUT",
)
REGISTRY.declare(
    "skirmish",
    "envs.skirmish.environment:SkirmishEnv",
    "battles with SMAC's contract, simulated: no StarCraft needed",
    batched="envs.skirmish.environment:SkirmishBatch",
    pettingzoo="envs.skirmish.pettingzoo:SkirmishParallelEnv",
    counts_copies=True,
    reaches="envs.skirmish.options:REACHES",
    about="envs.skirmish.about:ABOUT",
)
REGISTRY.declare(
    "rware",
    "envs.rware.environment:Rware",
    "the multi-robot warehouse RWARE, compiled: shelves to goals",
    batched="envs.rware.environment:RwareBatch",
    reaches="envs.rware.options:REACHES",
    light=True,
    about="envs.rware.about:ABOUT",
)
REGISTRY.declare(
    "pressureplate",
    "envs.grids.environment:PressurePlate",
    "PyMARLzoo+'s: rooms whose doors open while an agent stands on a plate, compiled",
    batched="envs.grids.environment:PressurePlateBatch",
    reaches="envs.grids.options:PRESSURE_PLATE_REACHES",
    light=True,
    about="envs.grids.about:PRESSURE_PLATE",
)
REGISTRY.declare(
    "capturetarget",
    "envs.grids.environment:CaptureTarget",
    "PyMARLzoo+'s: two agents that must reach a fleeing target at once, compiled",
    batched="envs.grids.environment:CaptureTargetBatch",
    reaches="envs.grids.options:CAPTURE_TARGET_REACHES",
    light=True,
    about="envs.grids.about:CAPTURE_TARGET",
)
REGISTRY.declare(
    "boxpushing",
    "envs.grids.environment:BoxPushing",
    "PyMARLzoo+'s: two agents that push small boxes alone, or the big one together, compiled",
    batched="envs.grids.environment:BoxPushingBatch",
    reaches="envs.grids.options:BOX_PUSHING_REACHES",
    light=True,
    about="envs.grids.about:BOX_PUSHING",
)
REGISTRY.declare(
    "stag_hunt",
    "envs.stag_hunt.environment:StagHunt",
    "PyMARL2's: predators that catch stags together, and hares alone, compiled",
    batched="envs.stag_hunt.environment:StagHuntBatch",
    reaches="envs.stag_hunt.options:REACHES",
    light=True,
    about="envs.stag_hunt.about:ABOUT",
)
REGISTRY.declare(
    "overcooked",
    "envs.overcooked.environment:Overcooked",
    "two cooks in a kitchen, Overcooked-AI's rules, compiled",
    batched="envs.overcooked.environment:OvercookedBatch",
    reaches="envs.overcooked.options:REACHES",
    light=True,
    about="envs.overcooked.about:ABOUT",
)
REGISTRY.declare(
    "jax",
    "envs.jax_games.environment:JaxEnv",
    "environments written in JAX: SMAX, MABrax and others of JaxMARL, Jumanji's, files of your own",
    batched="envs.jax_games.environment:JaxBatch",
    reaches="envs.jax_games.options:REACHES",
    about="envs.jax_games.about:ABOUT",
)
REGISTRY.declare(
    "entities",
    "envs.entities.adapter:EntityEnv",
    "environments of entities, in the words of entity-gym: the user's own, and games",
    batched="envs.entities.batch:EntityBatch",
    reaches="envs.entities.reaches:REACHES",
    light=True,
    about="envs.entities.about:ABOUT",
)
# `has_best`: the last infos of episodes declare what makes one the best (`runners.best_episodes`)
# `streams`: its agents are such (`stream_fields`)
# `carries`: makes of its arguments those for other processes, which have not imported the plugins
# `live`: the arguments that may change over a run (name -> `utils.config.options.Option`); its objects have a method
# `take_live(name, value)`
# `greedy_by`: the argument by which it has the record `explores`, of who may explore (docs/fields.md)
# `sole_if`: says for which arguments a run can have one only, on which training and tests take turns: a function of
# them that returns why, or ""
# `pettingzoo`: its own form for PettingZoo, in which agents leave, say (`muster.make`)
# `counts_copies`: it is made with `test_mode` and with its `place` among the copies of a run
REGISTRY.declare(
    "racing",
    "envs.racing.environment:RacingEnv",
    "cars on tracks with walls, simulated: one or several a race, floats or pictures",
    batched="envs.racing.environment:RacingBatch",
    counts_copies=True,
    has_best=True,
    live="envs.racing.rules:WEIGHTS",
    greedy_by="greedy_every",
    reaches="envs.racing.options:REACHES",
    about="envs.racing.about:ABOUT",
)
REGISTRY.declare(
    "trackmania",
    "envs.trackmania.environment:TrackManiaEnv",
    "TrackMania Nations / United Forever through TMInterface (needs the game), with racing's fields",
    counts_copies=True,
    has_best=True,
    live="envs.racing.rules:WEIGHTS",
    greedy_by="greedy_every",
    reaches="envs.trackmania.options:REACHES",
    about="envs.trackmania.about:ABOUT",
)
REGISTRY.declare(
    "dots",
    "envs.dots.environment:DotsEnv",
    "simulators in another process that share memory: Unity builds of ML-Agents DOTS, your own",
    counts_copies=True,
    carries="envs.dots.side_channels:carried",
    streams=True,
    sole_if="envs.dots.options:sole",
    reaches="envs.dots.options:REACHES",
    about="envs.dots.about:ABOUT",
)
REGISTRY.declare(
    "sc2",
    "envs.starcraft:StarCraft2",
    "StarCraft II micromanagement, SMAC (package smac and the game)",
    reaches="envs.starcraft.reaches:REACHES",
    about="envs.starcraft.about:SMAC",
)
REGISTRY.declare(
    "sc2_v2",
    "envs.starcraft:StarCraft2v2",
    "the same with drawn teams, SMACv2 (package smacv2)",
    reaches="envs.starcraft.reaches:REACHES",
    about="envs.starcraft.about:SMACV2",
)


def batched_names() -> list[str]:
    """Environments that also exist as many copies which one call steps (`vector_envs.contract.BatchedEnv`)."""
    return [name for name in REGISTRY if "batched" in REGISTRY.entry(name).traits]


def has_batched_form(name: str, env_args: Mapping[str, Any]) -> bool:
    """Whether an environment with these arguments does."""
    traits = REGISTRY.entry(name).traits
    return "batched" in traits and loaded(traits.get("batched_if", _always))(**env_args)


def why_sole(name: str, env_args: Mapping[str, Any]) -> str:
    """Why a run can have only one environment with these arguments, after "because"; "": it can have more."""
    return loaded(REGISTRY.entry(name).traits.get("sole_if", _never))(**env_args)


def why_together(name: str, env_args: Mapping[str, Any]) -> str:
    """Why the copies of the batch with these arguments begin their episodes together, or ""."""
    return loaded(REGISTRY.entry(name).traits.get("together_if", _never))(**env_args)


def live_options(name: str) -> Mapping[str, Option]:
    """The arguments of an environment that may change over a run; of an unknown one there are none."""
    return loaded(REGISTRY.entry(name).traits.get("live", {})) if name in REGISTRY else {}


def reaches_of(name: Any) -> Mapping[str, Reach]:
    """What the arguments of an environment declare that they may do beyond the results; of an unknown one nothing."""
    return loaded(REGISTRY.entry(name).traits.get("reaches", {})) if isinstance(name, str) and name in REGISTRY else {}


def about(name: str) -> About:
    """What an environment declares of its arguments and figures; of an unknown one nothing."""
    return loaded(REGISTRY.entry(name).traits.get("about", NOTHING)) if name in REGISTRY else NOTHING


def _always(**env_args: Any) -> bool:
    return True


def _never(**env_args: Any) -> str:
    return ""


def env_fn(env: type[MultiAgentEnv], **kwargs) -> MultiAgentEnv:
    """PyMARL's factory: `REGISTRY["x"] = partial(env_fn, env=X)`."""
    return env(**kwargs)


__all__ = [
    "REGISTRY",
    "MultiAgentEnv",
    "about",
    "batched_names",
    "env_fn",
    "has_batched_form",
    "live_options",
    "reaches_of",
    "why_sole",
    "why_together",
]
