"""Asking any controller for its decisions: the actions, and what batches keep beside them."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch
from utils.errors import ConfigError


class Decider:
    """Asks `mac` for what it does at one step of `batch`, whatever form of PyMARL's `select_actions` it has.

    A controller may do without the argument `bs`. It returns the actions, or the actions and what came with them: a
    mapping from the names of batch fields to tensors with a row for each episode asked about, or, as PyMARL2's
    selectors return it, one tensor, which is the field "probs". Fields that the batch does not have are left out.

    Args:
        mac: the controller.
        batch: it acts on; a scheme's entry with `"decision": True` is a field that comes with the actions.
    """

    def __init__(self, mac: Any, batch: EpisodeBatch):
        self._mac, self._batch = mac, batch
        parameters = inspect.signature(mac.select_actions).parameters
        self._takes_rows = "bs" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self._fields = [key for key, info in batch.scheme.items() if info.get("decision")]

    def decide(self, t: int, t_env: int, rows: np.ndarray | None = None, test_mode: bool = False) -> dict:
        """Decisions at step `t` of the episodes `rows` (ascending; None: all): field -> array `[len(rows), n, ...]`.

        "actions" is int64 `[len(rows), n, 1]`.

        Raises:
            ConfigError: the controller does not offer a field that the batch has for it.
        """
        some = {"bs": slice(None) if rows is None else rows.tolist()} if self._takes_rows else {}
        chosen = self._mac.select_actions(self._batch, t_ep=t, t_env=t_env, **some, test_mode=test_mode)
        actions, offered = chosen if isinstance(chosen, tuple) else (chosen, {})
        if not isinstance(offered, Mapping):
            offered = {"probs": offered}
        values = {"actions": actions.long().unsqueeze(-1)} | {key: self._offered(key, offered) for key in self._fields}
        if rows is not None and not self._takes_rows:
            values = {key: value[rows.tolist()] for key, value in values.items()}
        return {key: value.detach().cpu().numpy() for key, value in values.items()}

    def _offered(self, key: str, offered: Mapping[str, th.Tensor]) -> th.Tensor:
        if key in offered:
            return offered[key]
        selector = getattr(self._mac, "action_selector", None)
        raise ConfigError(
            f"The learner needs the batch field '{key}', which mac={type(self._mac).__name__} with "
            f"action_selector={type(selector).__name__} does not offer; it offers "
            f"{', '.join(offered) or 'actions only'}. See docs/own_learner.md, 'Fields of its own'."
        )
