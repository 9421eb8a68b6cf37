"""The errors of transform lists: each names the key and a remedy, before anything starts."""

import pytest

from components.buffers.transform_lists import transforms_of
from components.sampling import REGISTRY
from helpers import make_args
from utils.errors import ConfigError

CATALOGUE = [
    ("transitions", {"sample_transforms": "n_step"}, r"sample_transforms=n_step: expected a list"),
    ("transitions", {"sample_transforms": ["next_state"]}, r"no transform 'next_state'\. Did you mean 'next_states'\?"),
    ("transitions", {"sample_transforms": [3]}, r"no transform '3'"),
    ("transitions", {"sample_transforms": [{"window": {}, "n_step": {}}]}, r"is not one transform with its options"),
    ("transitions", {"sample_transforms": [{"window": 3}]}, r"sample_transforms\.window=3: expected a mapping"),
    (
        "transitions",
        {"sample_transforms": [{"window": {"step": 3}}]},
        r"window has no option 'step'\. Did you mean 'steps'",
    ),
    ("transitions", {"sample_transforms": [{"window": {"steps": 0}}]}, r"window\.steps=0: it must be at least 1"),
    ("transitions", {"sample_transforms": [{"window": {"steps": "x"}}]}, r"window\.steps=x: expected a whole number"),
    (
        "transitions",
        {"sample_transforms": ["n_step"]},
        r"'n_step' stands first, on the buffer's steps that were drawn .* These make such: next_states, window",
    ),
    (
        "transitions",
        {"sample_transforms": ["next_states", "flatten", "n_step"]},
        r"'n_step' stands after 'flatten', which gives single steps; it takes sequences .* Put it before",
    ),
    (
        "transitions",
        {"sample_transforms": ["next_states", {"n_step": {"steps": 1}}, "potential_shaping", "mini_race"]},
        r"'mini_race' stands after 'potential_shaping', whose rewards it would replace; put it before",
    ),
    (
        "transitions",
        {"sample_transforms": ["next_states", {"n_step": {"steps": 1}}, "mini_race", "check_nan", "mini_race"]},
        r"'mini_race' stands after 'mini_race', .* once is enough",
    ),
    ("transitions", {"sample_transforms": ["check_nan"]}, r"must end with .* End with next_states or window"),
    ("transitions", {"sample_transforms": ["next_states", "window"]}, r"'window' stands after 'next_states'"),
    *(
        (
            "transitions",
            {"sample_transforms": [*before, {"n_step": {"steps": 5}}]},
            rf"n_step\.steps=5 adds up 5 rewards, but .* leave {left}\. Put window: \{{steps: 5\}} before it",
        )
        for before, left in (
            (["next_states"], 1),
            ([{"window": {"steps": 4}}], 4),
            ([{"window": {"steps": 6}}, {"truncate": {"columns": 2}}], 4),
            ([{"window": {"steps": 6}}, {"last_chunk": {"steps": 3}}], 3),
            ([{"window": {"steps": 6}}, {"n_step": {"steps": 2}}], 1),
        )
    ),
    (
        "episodes",
        {"sample_transforms": ["next_states"]},
        r"'next_states' stands first, on the buffer's sequences of several",
    ),
    ("episodes", {"store_transforms": ["flatten"]}, r"store_transforms ends with single steps.* Leave flatten out"),
    ("episodes", {"sample_transforms": ["cut_rows"]}, r"only learners call 'cut_rows'"),
    ("episodes", {"sample_transforms": ["shuffled_minibatches"]}, r"it takes single steps"),
]


@pytest.mark.parametrize(("buffer", "changes", "message"), CATALOGUE)
def test_wrong_lists_are_refused(buffer, changes, message):
    with pytest.raises(ConfigError, match=message) as caught:
        transforms_of({**vars(make_args()), "buffer": buffer, **changes})
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("buffer", "transforms"),
    [
        ("transitions", []),
        ("transitions", ["next_states", "check_nan"]),
        ("transitions", ["check_nan", {"window": {"steps": 3}}, {"n_step": None}]),
        ("transitions", [{"window": {"steps": 9}}, {"truncate": {"columns": 4}}, {"n_step": {"steps": 5}}]),
        ("episodes", [{"last_chunk": {"steps": 2}}, {"n_step": {"steps": 5}}]),
        ("episodes", ["truncate", "flatten", {"shuffled_minibatches": {"parts": 2}}, "check_stats"]),
        ("rollout", [{"recurrent_minibatches": {"parts": 2}}]),
    ],
)
def test_right_lists_are_taken(buffer, transforms):
    transforms_of({**vars(make_args()), "buffer": buffer, "sample_transforms": transforms})


class Mine:
    def __init__(self, weight=1):
        self.weight = weight

    def __call__(self, batch, info):
        return batch


@pytest.mark.parametrize("transform", [lambda batch, info, weight=1: batch, Mine])
def test_options_of_a_users_function_or_class_are_its_parameters(transform):
    REGISTRY["mine"] = transform
    try:
        for listed in ("mine", {"mine": {"weight": 2}}):
            transforms_of({**vars(make_args()), "buffer": "episodes", "sample_transforms": [listed]})
        with pytest.raises(ConfigError, match=r"sample_transforms\.mine: the .*'wait'.* Did you mean 'weight'\?"):
            transforms_of({**vars(make_args()), "buffer": "episodes", "sample_transforms": [{"mine": {"wait": 2}}]})
    finally:
        del REGISTRY["mine"]
