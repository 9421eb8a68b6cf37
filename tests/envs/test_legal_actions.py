"""Legal actions in every form that Gymnasium, PettingZoo, RLlib and sb3-contrib have, and masks that are wrong."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import gym_tasks  # noqa: F401 - registers its environments
from envs.contract.fields import FieldSpec
from envs.contract.legal_actions import LegalActions
from envs.contract.spaces import acted
from envs.contract.validation import InvalidEnvironmentError
from envs.entities.copies import Copy
from envs.gymnasium.environment import GymnasiumEnv
from experiment.assembly import assemble
from fakes import RecordingLogger
from helpers import make_args
from utils.errors import ConfigError, MusterError

FORMS = {
    "info": {"avail_actions": 5},
    "method": {"avail_actions": 5},
    "observation": {"avail_actions": 5},
    "rllib": {"avail_actions": 5},
    "parts": {"avail_actions": 5},
    "branches": {"avail/0": 5, "avail/1": 2},
    "flat": {"avail/0": 5, "avail/1": 2},
    "switches": {"avail/0": 2, "avail/1": 2, "avail/2": 2},
    "flat switches": {"avail/0": 2, "avail/1": 2, "avail/2": 2},
    "dict": {"avail/turn": 5},
}


def turns(form, **kwargs):
    return GymnasiumEnv("Turns-v0", {"form": form, **kwargs}, seed=1)


def legal_choice(env, rng):
    """A random one, for each action."""
    seen, fields = env.observe(), env.fields()
    masks = {field.of: path for path, field in fields.items() if field.of}
    return {
        path: np.array([rng.choice(np.flatnonzero(seen[masks[path]][0]))])
        if path in masks
        else np.zeros((1, *field.shape))
        for path, field in fields.items()
        if field.kind == "action"
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_obeyed(form):
    """The environment raises at an illegal action."""
    env, rng = turns(form), np.random.default_rng(0)
    masks = {path: field.shape[0] for path, field in env.fields().items() if field.kind == "mask"}
    assert masks == FORMS[form]
    for _ in range(5):
        env.reset()
        for t in range(7):
            _, *ends, info = env.step(legal_choice(env, rng))
            assert ends == [t == 6, False]
            assert info == {}


@pytest.mark.parametrize("form", ["observation", "rllib"])
def test_the_mask_is_no_part_of_what_networks_see(form):
    env = turns(form)
    env.reset()
    assert env.fields()["obs"] == FieldSpec("observation", (2,), low=-9.0, high=9.0)
    assert env.observe()["state"].tolist() == [1, 0]
    parts = turns("parts").fields()
    assert [path for path, field in parts.items() if field.kind == "observation"] == ["obs/far", "obs/near"]


def test_entities_have_the_masks_of_branches():
    copy = Copy("gymnasium:Turns-v0", {"form": "branches"}, seed=1)
    actions = copy.env.reset().actions
    assert [actions[f"action/{k}"].mask.tolist() for k in (0, 1)] == [
        [[True, False, True, False, False]],
        [[True, False]],
    ]


def test_branches_without_masks_have_none():
    env = GymnasiumEnv("Kinds-v0", {"actions": "pair"})
    assert not [path for path, field in env.fields().items() if field.kind == "mask"]


@pytest.mark.parametrize(
    ("form", "wrong", "words"),
    [
        (
            "info",
            "missing",
            r"in step 3: info\['action_mask'\] is missing; an environment that marks what is legal does",
        ),
        ("method", "missing", r"in step 3: action_masks\(\) is missing"),
        ("observation", "missing", "in step 3: the observation's 'action_mask' is missing"),
        ("branches", "missing", "is missing"),
        ("info", [0] * 5, r"in step 3: info\['action_mask'\] marks no action as legal"),
        ("observation", [0] * 5, "the observation's 'action_mask' marks no action as legal"),
        ("info", [1], r"is an array of the shape \(1,\); of 5 choices it must be an array of 5 entries"),
        ("info", [[1] * 5] * 2, r"the shape \(2, 5\)"),
        ("info", [0, 1, 2, 0, 0], "has the value 2; each entry must be 0 or 1"),
        ("info", [0.0, -np.inf, 0, 0, 0], "has the value -inf"),
        ("info", ["a"] * 5, "must be an array of 5 entries"),
        (
            "flat",
            [1] * 5,
            r"action_masks\(\) is an array of the shape \(5,\); it must be a tuple of a mask for each of 2",
        ),
        ("flat", [1] * 5 + [0, 0], r"action_masks\(\), branch 1 marks no action as legal"),
        ("switches", [0, 1, 3], "has the value 3; each entry must be 0, 1 or 2"),
        ("switches", [0, 1], r"the shape \(2,\); it must be an array of the shape \(3,\)"),
        ("dict", [1] * 5, r"it must have speed, turn|it must have turn, speed"),
    ],
)
def test_a_mask_that_was_offered_is_right_at_every_step(form, wrong, words):
    env, rng = turns(form, wrong=wrong), np.random.default_rng(0)
    env.reset()
    for _ in range(2):
        env.step(legal_choice(env, rng))
    with pytest.raises(InvalidEnvironmentError, match=rf"env_args.key=Turns-v0, .*{words}"):
        env.step(legal_choice(env, rng))


def test_a_mask_may_not_appear_later_either(monkeypatch):
    env = turns("info")
    monkeypatch.setattr(env._env.unwrapped, "info", dict)
    env.reset()
    monkeypatch.undo()
    with pytest.raises(InvalidEnvironmentError, match=r"step 1: info\['action_mask'\] appears, which the first obs"):
        env.step({"actions": np.array([0])})


def test_a_declared_mask_may_not_be_missing_from_the_first_observation(monkeypatch):
    env = turns("observation")
    monkeypatch.setattr(env._env.unwrapped, "seen", lambda: {"observation": np.zeros(2, np.float32)})
    with pytest.raises(InvalidEnvironmentError, match=r"after reset\(\): the observation's 'action_mask' is missing"):
        env.reset()


@pytest.mark.parametrize("resumed", [False, True])
def test_that_a_mask_was_offered_is_kept_by_checkpoints(resumed):
    env, rng = turns("info", wrong="missing"), np.random.default_rng(0)
    env.reset()
    for _ in range(2):
        env.step(legal_choice(env, rng))
    if resumed:
        state, env = env.state_dict(), turns("info", wrong="missing")
        env.load_state_dict(state)
    with pytest.raises(InvalidEnvironmentError, match=r"in step 3: .* is missing"):
        env.step(legal_choice(env, rng))


def test_a_wrapper_may_not_hide_the_mask():
    with pytest.raises(
        ConfigError, match=r"env_args.wrappers: FlattenObservation hides the observation's 'action_mask'"
    ):
        GymnasiumEnv("Turns-v0", {"form": "observation"}, wrappers=["FlattenObservation"])


class Marking(gymnasium.Wrapper):
    """As sb3-contrib's ActionMasker: the mask is a wrapper's."""

    def action_masks(self):
        return self.unwrapped.mask()


def test_the_method_may_be_a_wrappers():
    env = GymnasiumEnv("Turns-v0", {"form": "none"}, wrappers=[f"{__name__}:Marking"])
    env.reset()
    assert env.observe()["avail_actions"].tolist() == [[1, 0, 1, 0, 0]]


def test_none_for_a_part_is_gymnasiums_word_for_all():
    space = spaces.Tuple([spaces.Discrete(2), spaces.MultiDiscrete([[2, 1]])])
    legal = LegalActions("red/actions", space, acted("red/actions", space)[0])
    assert {path: field.of for path, field in legal.fields().items()} == {
        "red/avail/0": "red/actions/0",
        "red/avail/1/0": "red/actions/1/0",
        "red/avail/1/1": "red/actions/1/1",
    }
    read = legal.read((None, (([0, 1], [1]),)), "it")
    assert [value.tolist() for value in read.values()] == [[1, 1], [0, 1], [1]]
    assert [value.tolist() for value in legal.first_only().values()] == [[1, 0], [1, 0], [1]]


@pytest.mark.parametrize(
    "way",
    [
        {"runner": "episode"},
        {"runner": "rollout", "vector_env": "in_process", "batch_size_run": 2},
        pytest.param({"runner": "parallel", "batch_size_run": 2}, marks=pytest.mark.slow),
    ],
    ids=["episode", "rollout", "parallel"],
)
def test_a_run_ends_with_words(way):
    keys = {"env_args": {"key": "gym_tasks:Turns-v0", "kwargs": {"wrong": "missing"}, "seed": 1}, **way}
    runner = assemble(make_args(env="gymnasium", **keys), RecordingLogger()).runner
    try:
        with pytest.raises(MusterError, match=r"gym_tasks:Turns-v0, in step 3: info\['action_mask'\] is missing"):
            for _ in range(3):
                runner.run()
    finally:
        runner.close_env()
