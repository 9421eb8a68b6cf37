"""A trained policy that advises a person who plays an environment of entities."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from checkpoints.model_files import model_to_play
from checks import check_config
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from controllers.contract import controller
from envs.contract.fields import declared_spec
from envs.entities.acting import actions_for
from envs.entities.actions import Action, SelectEntityActionSpace
from envs.entities.batch import EntityBatch
from envs.entities.cli_runner import Agent
from envs.entities.encoding import Encoder
from envs.entities.numbering import EntityNumbering
from envs.entities.observation import Observation
from experiment.loaded_run import LoadedRun, loaded_run
from records.logger import Logger
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.numbers.random_streams import seed_everything
from utils.tensors.devices import CPU, ON_CPU


@contextmanager
def advisor(config: Mapping[str, Any]) -> Iterator["Advisor"]:
    """The policy of a run's config, with the weights that `checkpoint_path` and `load_step` name.

    Raises:
        ConfigError: the config is invalid, there are no such weights, or the controller gives no decisions with extras.
    """
    console = logging.getLogger("muster.advising")
    console.setLevel(logging.WARNING)
    alone = {"evaluate": True, "batch_size_run": 1, "test_batch_size": 0, "vector_env": "auto", **ON_CPU}
    checked = check_config(recursive_dict_update(default_config(), {**config, **alone}))
    model, step, _ = model_to_play(checked["checkpoint_path"], checked["load_step"])
    seed_everything(checked["seed"])
    checked["env_args"]["seed"] = checked["seed"]
    args = SimpleNamespace(**checked, unique_token="", device=CPU)
    with loaded_run(args, Logger(console), model, step) as run:
        yield Advisor(run)


class Advisor(Agent):
    """Asks a controller for its decision on one observation, as in a test episode.

    Raises:
        ConfigError: the controller has no `decide` (`controllers.decisions`).
    """

    def __init__(self, run: LoadedRun):
        if not controller(run.mac).supports_decide:
            raise ConfigError(f"mac={run.args.mac} does not say how likely its choices are.")
        self._run = run
        env = EntityBatch(1, **run.args.env_args)
        self._layout, spec = env.layout, declared_spec(env)
        env.close()
        self._encoder = Encoder(spec, self._layout, 1)
        self._numbering = EntityNumbering(self._layout.obs_space, self._layout.action_space)
        scheme, groups, preprocess = scheme_of(spec, run.args.buffer_dtype)
        self._batch = EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess)

    def act(self, obs: Observation) -> tuple[dict[str, Action], float | None]:
        seen = self._numbering.seen(obs)
        self._encoder.write([0], [obs])
        self._batch.update(self._encoder.arrays, ts=0)
        self._run.mac.init_hidden(1)
        with th.no_grad():
            decision = self._run.mac.decide(self._batch, 0, self._run.step, test_mode=True)
        taken, probs, value = decision.actions["actions"][0], decision.extra("probs"), decision.extra("value")
        chosen: dict[str, np.ndarray] = {}
        shares: dict[str, np.ndarray] = {}
        for name, offer in seen.offers.items():
            first, space = self._layout.slots[name].start, self._layout.action_space[name]
            slots = slice(first, first + len(offer.actors))
            chosen[name] = taken[slots].reshape(-1).cpu().numpy()
            if probs is not None:
                choices = 0 if offer.actees is None else len(offer.actees)
                if not isinstance(space, SelectEntityActionSpace):
                    choices = len(space)
                shares[name] = probs[0, slots, :choices].cpu().numpy()
        advice = actions_for(seen, self._layout.action_space, chosen, shares)
        return advice, None if value is None else float(value[0, 0, 0])
