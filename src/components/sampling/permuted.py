"""Samples in which entities have changed places: augmented data (Hao et al. 2023, compared there as "DA")."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.compose import Minibatches
from components.sampling.fields import with_more
from utils.errors import ConfigError
from utils.meanings import OF_ITSELF, Group, Meaning, require_one_target, seen_by_all
from utils.tensors.devices import to_device

READER = "permuted_entities"


def permuted_entities(batch: EpisodeBatch, context: Any, times: int) -> Minibatches:
    """`times` copies with the entities of each kind in another order, the same for all rows, then the batch itself.

    What agents see of an entity moves to another one's place, and actions, legal and taken, whose target it is with it.
    States stay as they are.

    Raises:
        ConfigError: agents see different groups; entities of one kind have different numbers of actions; healers have
            targets of their own.
    """
    meaning, n_agents = context.args.meaning, context.args.n_agents
    return Minibatches(_parts(batch, *_of_entities(meaning, n_agents), meaning, times))


def _parts(
    batch: EpisodeBatch, groups: list[Group], numbers: Mapping, meaning: Meaning, times: int
) -> Iterator[EpisodeBatch]:
    for _ in range(times):
        orders = {group.kind: np.random.permutation(group.rows) for group in groups}
        fields = _moved_columns(batch, groups, orders)
        if meaning.actions:
            fields |= _moved_actions(batch, numbers, orders, len(meaning.actions))
        permuted = with_more(batch, fields)
        if (course := batch.course()) is not batch:
            permuted.know_course(course.data.transition_data)
        yield permuted
    yield batch


def _moved_columns(batch: EpisodeBatch, groups: list[Group], orders: Mapping) -> dict[str, th.Tensor]:
    fields = {}
    for key in {group.field for group in groups}:
        rows = batch[key].flatten(3)
        columns = np.arange(rows.size(-1))
        for group in groups:
            if group.field == key:
                columns[np.array(group.columns)] = np.array(group.columns)[orders[group.kind]]
        fields[key] = rows.index_select(-1, _index(columns, rows)).view_as(batch[key])
    return fields


def _moved_actions(batch: EpisodeBatch, numbers: Mapping, orders: Mapping, n_actions: int) -> dict[str, th.Tensor]:
    before = np.arange(n_actions)
    for kind, by_row in numbers.items():
        before[by_row] = by_row[orders[kind]]
    of_choices = [key for key in ("avail_actions", "actions_onehot") if key in batch.scheme]
    fields: dict[str, th.Tensor] = {key: batch[key].index_select(-1, _index(before, batch[key])) for key in of_choices}
    after = _index(np.argsort(before), batch["actions"])
    return fields | {"actions": after[batch["actions"]]}


def _index(places: np.ndarray, like: th.Tensor) -> th.Tensor:
    return to_device(th.from_numpy(places), like.device)


@cache
def _of_entities(meaning: Meaning, n_agents: int) -> tuple[list[Group], dict[str, np.ndarray]]:
    """The groups whose rows change places, by kind, and of each kind that has them the actions `[rows, actions]`."""
    require_one_target(READER, meaning)
    seen = [group for group in seen_by_all(READER, meaning, n_agents) if group.kind not in OF_ITSELF]
    kinds = [group.kind for group in seen]
    # rows of a kind that is in several groups stay where they are
    groups = sorted((group for group in seen if kinds.count(group.kind) == 1), key=lambda group: group.kind)
    numbers = {}
    for group in groups:
        by_row = defaultdict(list)
        for number, action in enumerate(meaning.actions):
            if action.target is not None and action.target[0] == group.kind:
                by_row[action.target[1]].append(number)
        if not by_row:
            continue
        counts = {len(by_row[row]) for row in range(group.rows)}
        if len(counts) > 1:
            raise ConfigError(f"{READER}: entities of the kind '{group.kind}' have different numbers of actions.")
        numbers[group.kind] = np.array([by_row[row] for row in range(group.rows)])
    return groups, numbers
