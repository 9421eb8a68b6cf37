"""PyMARL's path of `EpisodeBatch` and `ReplayBuffer`."""

from components.buffers.replay_buffer import ReplayBuffer
from components.episode_batch import EpisodeBatch

__all__ = ["EpisodeBatch", "ReplayBuffer"]
