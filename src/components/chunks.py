"""Rollouts cut into shorter ones, for recurrent networks that learn from parts of sequences."""

from types import SimpleNamespace

import torch as th

from components.episode_batch import EpisodeBatch
from utils.rl_utils import episode_starts


def with_fields(batch: EpisodeBatch, keys: list[str], columns: int, fields: dict[str, th.Tensor]) -> EpisodeBatch:
    """The first columns of some fields of a batch, all constant ones, and new fields `[B, columns, ...]`.

    "filled" is kept, and "starts" added: the episodes' starts, which their parts no longer show.
    """
    fields = {**fields, "starts": episode_starts(batch)[:, :columns].unsqueeze(2).to(th.uint8)}
    data = SimpleNamespace(
        transition_data={key: batch[key][:, :columns] for key in [*keys, "filled"]} | fields,
        episode_data=dict(batch.data.episode_data),
    )
    scheme = {key: batch.scheme[key] for key in (*data.transition_data, *data.episode_data) if key not in fields}
    scheme |= {key: {"vshape": tuple(x.shape[2:]), "dtype": x.dtype} for key, x in fields.items()}
    return EpisodeBatch(scheme, batch.groups, batch.batch_size, columns, data=data, device=batch.device)


def cut(batch: EpisodeBatch, length: int, before: dict[str, th.Tensor]) -> EpisodeBatch:
    """Rows of `length` columns: row b * K + k has the columns from k * length on of row b.

    Args:
        batch: of K * length columns, as `with_fields` returns it.
        before: the constant fields of a rollout (memory, last actions) from before each row's first column,
            `[B, K, ...]`.
    """
    count = batch.max_seq_length // length
    data = SimpleNamespace(
        transition_data={
            key: x.reshape(batch.batch_size * count, length, *x.shape[2:])
            for key, x in batch.data.transition_data.items()
        },
        episode_data={key: x.flatten(0, 1) for key, x in before.items()},
    )
    scheme = {key: batch.scheme[key] for key in (*data.transition_data, *data.episode_data)}
    return EpisodeBatch(scheme, batch.groups, batch.batch_size * count, length, data=data, device=batch.device)
