"""How large batches become, worked out without allocating them."""

from collections.abc import Mapping

import torch as th

from components.episode_batch import EpisodeBatch

# what a buffer takes, in the words of a sentence with its bytes behind them
REPLAY, SAMPLE = "a replay buffer of up to", "training samples of up to"


def batch_bytes(
    scheme: Mapping[str, dict],
    groups: Mapping[str, int],
    preprocess: Mapping[str, tuple] | None,
    batch_size: int,
    max_seq_length: int,
    kind: type[EpisodeBatch] = EpisodeBatch,
) -> int:
    """Bytes of a batch of so many episodes and time steps.

    Args:
        scheme: of one step; it must fit the available memory (`envs.contract.declarations.check_sizes`).
        kind: EpisodeBatch, or ReplayBuffer, which keeps its fields in smaller types.
    """
    # on the device `meta` tensors have shapes and no memory; of a single step their sizes cannot overflow
    data = kind(scheme, groups, 1, 1, preprocess=preprocess, device="meta").data
    step, constant = (_bytes(tensors) for tensors in (data.transition_data, data.episode_data))
    return batch_size * (max_seq_length * step + constant)


def _bytes(tensors: Mapping[str, th.Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())
