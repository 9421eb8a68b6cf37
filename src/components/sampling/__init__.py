"""Transforms: functions `(batch, context, **options) -> batch`, chained by store_transforms and sample_transforms.

A transform of the user's own is a function in a plugin: `REGISTRY["mine"] = function`, or `REGISTRY.declare` with

    takes: the forms of batches that it takes; none: any
    gives: the form that it makes of them; none: the same
    needs: fields that the batch must have
    needs_meaning: the environment must say what its observations are made of; the learner has a replay buffer
    undoes: transforms whose rewards it replaces, so that it may not stand behind them
    adds_up: whether it adds up the rewards of its option `steps`
    leaves: a function `(following, **options)`: how many steps follow the first of each row, of those that did before
        (None: not known); none: as many

Forms: "drawn", steps that a buffer of transitions has drawn and not read yet (`sampling.drawn`); "columns", sequences
of several steps (`EpisodeBatch`); "steps", rows of one step; "parts", several such batches (`sampling.minibatches`).
"""

from utils.config.options import COPIES, STEPS, Option
from utils.config.registry import Registry

REGISTRY = Registry("transform")
GAMMA = Option(None, "discount per step; null: that of the run", nullable=True, kind=float, at_least=0, at_most=1)
MINIBATCHES = {
    "parts": Option(1, "parts of a pass, as equal as may be", at_least=1, at_most=COPIES),
    "epochs": Option(1, "passes, each in another order", at_least=1, at_most=COPIES),
}
REGISTRY.declare(
    "next_states",
    "components.sampling.windows:next_states",
    "drawn steps with what follows each: two time steps",
    options={},
    takes=("drawn",),
    gives="columns",
    leaves=lambda following: 1,
)
REGISTRY.declare(
    "window",
    "components.sampling.windows:window",
    "drawn steps with several that follow each, up to the end of its episode",
    options={"steps": Option(1, "how many follow", at_least=1, at_most=10**4)},
    takes=("drawn",),
    gives="columns",
    leaves=lambda following, steps: steps,
)
REGISTRY.declare(
    "last_chunk",
    "components.sampling.windows:last_chunk",
    "the newest steps of each sequence, and the one after them",
    options={"steps": Option(1, "how many", at_least=1, at_most=STEPS)},
    takes=("columns",),
    leaves=lambda following, steps: None if following is None else min(following, steps),
)
REGISTRY.declare(
    "truncate",
    "components.sampling.windows:truncate",
    "without the last time steps",
    options={"columns": Option(1, "how many are left out", at_least=1, at_most=STEPS)},
    takes=("columns",),
    leaves=lambda following, columns: None if following is None else max(0, following - columns),
)
REGISTRY.declare(
    "flatten",
    "components.sampling.windows:flatten",
    "every filled step as a row",
    options={"counted": Option(False, "only steps that an actor-critic learner counts, by its field mask")},
    takes=("columns",),
    gives="steps",
)
REGISTRY.declare(
    "n_step",
    "components.sampling.estimates:n_step",
    "two time steps: several rewards as one, the state after them, and the field discount",
    options={
        "steps": Option(3, "the most rewards", at_least=1, at_most=STEPS),
        "gamma": GAMMA,
        "greedy_only": Option(False, "stop before an action, other than the first, that was not greedy"),
    },
    takes=("columns",),
    needs=("reward", "terminated"),
    adds_up=True,
    leaves=lambda following, **_: 1,
)
REGISTRY.declare(
    "mini_race",
    "components.sampling.mini_races:mini_race",
    "samples of n_step as parts of races of a few seconds, whose ends are ends (Linesight)",
    options={
        "horizon": Option(140, "steps of a mini-race", at_least=1, at_most=STEPS),
        "early": Option(40, "times up to it, less 2 `late`, are drawn twice as often", at_least=0, at_most=STEPS),
        "late": Option(5, "half of how much more often time 0 is drawn", at_least=0, at_most=STEPS),
        "field": Option(
            "", "the observation that shows the time, or several as a|b, of which the first counts; empty: none"
        ),
        "index": Option(0, "its place in that observation"),
        "per_step": Option(1.0, "how much the time grows in a step", kind=float),
    },
    takes=("columns",),
    needs=("reward", "terminated", "n_steps"),
    undoes=("mini_race", "potential_shaping"),
)
REGISTRY.declare(
    "potential_shaping",
    "components.sampling.mini_races:potential_shaping",
    "adds the discounted next potential, less the present one, to the reward of two time steps",
    options={
        "field": Option("state_potential", "the field of potentials"),
        "optional": Option(False, "leave rewards as they are where there is no such field"),
    },
    takes=("columns",),
    needs=("reward", "terminated"),
)
REGISTRY.declare(
    "random_crop",
    "components.sampling.pictures:random_crop",
    "observed pictures moved at random, all of a sample the same way",
    options={"pixels": Option(2, "the most, in each direction", at_least=0, at_most=10**4)},
    takes=("columns", "steps"),
)
REGISTRY.declare(
    "normalise_image",
    "components.sampling.pictures:normalise_image",
    "observed pictures between -1 and 1; acting shows them the same way",
    options={},
    takes=("columns", "steps"),
)
REGISTRY.declare(
    "permuted_entities",
    "components.sampling.permuted:permuted_entities",
    "samples in which the entities that agents see have changed places, and then the sample itself, an update each",
    options={"times": Option(3, "such samples", at_least=1, at_most=COPIES)},
    takes=("columns",),
    gives="parts",
    needs=("actions", "avail_actions"),
    needs_meaning=True,
)
REGISTRY.declare(
    "returns",
    "components.sampling.estimates:returns",
    "adds returns: discounted rewards to the end; after a truncation, and in the last step, with the field value",
    options={"gamma": GAMMA},
    takes=("columns",),
    needs=("reward", "terminated"),
)
REGISTRY.declare(
    "gae",
    "components.sampling.estimates:gae",
    "adds generalised advantages, and their returns, by the field value",
    options={
        "gamma": GAMMA,
        "gae_lambda": Option(0.95, "lambda, 0 to 1", at_least=0, at_most=1),
        "normalise": Option(False, "scale advantages by their mean and deviation"),
    },
    takes=("columns",),
    needs=("reward", "terminated", "value"),
)
REGISTRY.declare(
    "shuffled_minibatches",
    "components.sampling.minibatches:shuffled_minibatches",
    "single steps in parts drawn at random",
    options=MINIBATCHES,
    takes=("steps",),
    gives="parts",
)
REGISTRY.declare(
    "recurrent_minibatches",
    "components.sampling.minibatches:recurrent_minibatches",
    "whole rows in parts drawn at random, for networks with a memory",
    options=MINIBATCHES,
    takes=("columns",),
    gives="parts",
)
REGISTRY.declare(
    "cut_rows",
    "components.sampling.parts:cut_rows",
    "rollouts in shorter rows, each from the memory that the policy had there; of actor-critic learners",
    options={
        "length": Option(1, "steps of a row", at_least=1, at_most=STEPS),
        "burn_in": Option(0, "steps before these, that nothing is learned from", at_least=0, at_most=STEPS),
    },
    takes=("columns",),
    of_learners=True,
)
REGISTRY.declare(
    "cut_across",
    "components.sampling.parts:cut_across",
    "rows of consecutive entries at one step, as if they were steps (PyMARLzoo+'s mistake); of actor-critic learners",
    options={"length": Option(1, "entries of a row", at_least=1, at_most=STEPS)},
    takes=("columns",),
    of_learners=True,
)
REGISTRY.declare(
    "normalise",
    "components.sampling.normalise:Normalise",
    "fields by the running mean and deviation of all that passed; saved in checkpoints",
    options={
        "fields": Option([], "their names"),
        "clip": Option(10.0, "normalised values are kept between -clip and clip", kind=float, above=0),
    },
)
REGISTRY.declare(
    "scale_rewards",
    "components.sampling.normalise:ScaleRewards",
    "rewards by the running deviation of their discounted sums, at storing; saved in checkpoints",
    options={"gamma": Option(0.99, "discount of these sums", at_least=0, at_most=1)},
    takes=("columns",),
    needs=("reward", "terminated", "truncated"),
)
REGISTRY.declare(
    "clip_rewards",
    "components.sampling.normalise:clip_rewards",
    "rewards within bounds, as of Atari's games; statistics and tests have them as they are",
    options={"most": Option(1.0, "rewards are kept between -most and most", kind=float, above=0)},
    takes=("columns", "steps"),
    needs=("reward",),
)
REGISTRY.declare(
    "check_nan",
    "components.sampling.debugging:check_nan",
    "stops at a number that is not finite, and names transform, file, field and index",
    options={},
    checks=True,
)
REGISTRY.declare(
    "check_shape",
    "components.sampling.debugging:check_shape",
    "logs the shapes of all fields when they change, and stops where they are not those of the scheme",
    options={},
    checks=True,
)
REGISTRY.declare(
    "check_stats",
    "components.sampling.debugging:check_stats",
    "logs mean, deviation, least and largest value of all fields now and then",
    options={"every": Option(1000, "batches from one line to the next", at_least=1, at_most=STEPS)},
    checks=True,
)
