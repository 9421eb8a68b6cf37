"""The config key of the parts that keep running means: policies and actor-critic learners."""

from utils.config.options import Option

NORMALISER_COUNT = Option(
    0.0,
    "how many values the mean of 0 and the variance of 1 count as, from which normalisers of observations and rewards "
    "start (0.0001 in Digideep, where 1e-8 is added to variances, too); 0: only what was seen counts",
    at_least=0,
)
