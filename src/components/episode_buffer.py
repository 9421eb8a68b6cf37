"""PyMARL's path of `EpisodeBatch` and `ReplayBuffer`."""

from components.episode_batch import EpisodeBatch
from components.replay_buffer import ReplayBuffer

__all__ = ["EpisodeBatch", "ReplayBuffer"]
