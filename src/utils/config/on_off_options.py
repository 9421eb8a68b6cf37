"""Keys of samples that have newest episodes and old ones, which the buffer and learners read."""

from utils.config.options import EPISODES, Option

OFF_BATCH_SIZE = Option(
    0,
    "episodes of a sample that are drawn from all of the buffer, beside the batch_size newest (buffer=on_off); 0: none",
    at_least=0,
    at_most=EPISODES,
)
