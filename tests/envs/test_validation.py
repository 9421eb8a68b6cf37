"""Invalid observations, outcomes and actions of an environment, on every way in which runners reach it."""

import numpy as np
import pytest

from components.action_selectors import REGISTRY as SELECTORS
from envs import REGISTRY
from envs.contract.validation import InvalidEnvironmentError, as_numbers, outcome_of, problem_of_mask
from experiment.assembly import assemble
from fakes import RecordingLogger
from helpers import make_args
from odd_envs import Wrong, WrongBatch
from runners import step_checks
from utils.errors import MusterError

WAYS = [
    {"runner": "episode"},
    {"runner": "parallel", "env_transport": "pipe"},
    {"runner": "parallel", "env_transport": "shared_memory"},
    {"runner": "batched"},
    {"runner": "batched", "batched_mode": "continuous"},
    {"runner": "rollout"},
]
BATCHED = WAYS[3:]


def way_name(way):
    return " ".join(way.values())


@pytest.fixture
def play(monkeypatch):
    """Plays rollouts with environments of this fault until it is found."""
    monkeypatch.setitem(REGISTRY._entries, "wrong", None)
    REGISTRY.declare("wrong", Wrong, "breaks its contract", batched=WrongBatch)
    started = []

    def run(way, fault, rollouts=3, **keys):
        environments = {} if way["runner"] == "episode" else {"batch_size_run": 2}
        args = make_args(env="wrong", env_args={"seed": 1, **fault}, **way, **environments, **keys)
        started.append(assemble(args, RecordingLogger()).runner)
        for _ in range(rollouts):
            started[-1].run()

    yield run
    for runner in started:
        runner.close_env()


NOTHING, HALF, NEGATIVE = [0, 0, 0], [1, 0.5, 1], [1, -1, 1]


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_an_agent_without_legal_actions(play, way):
    with pytest.raises(InvalidEnvironmentError if way["runner"] != "parallel" else MusterError) as error:
        play(way, {"step": 2, "mask": NOTHING})
    assert "agent 1 has no legal action in get_avail_actions()" in str(error.value)
    assert "step 2" in str(error.value)
    assert "Environment 0" in str(error.value) or way["runner"] == "episode"
    assert "restart" not in str(error.value)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[3], WAYS[5]], ids=way_name)
@pytest.mark.parametrize("mask", [HALF, NEGATIVE, [1, float("nan"), 0], [2, 1, 1]])
def test_legality_that_is_neither_0_nor_1(play, way, mask):
    with pytest.raises(
        InvalidEnvironmentError, match=r"get_avail_actions\(\)\[1\]\[\d\] is .*; each entry must be 0 or"
    ):
        play(way, {"step": 0, "mask": mask})


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_observations_that_are_not_plain_numbers(play, way):
    with pytest.raises(MusterError, match="complex128"):
        play(way, {"dtype": "complex128"})


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_an_episode_that_does_not_end_in_time(play, way):
    with pytest.raises(InvalidEnvironmentError, match=r"Environment 0, step 6: the episode has not ended, .*=6\. "):
        play(way, {"endless": True})


class Careless(SELECTORS["epsilon_greedy"]):
    """Chooses what is illegal at the first step of an episode."""

    def select_action(self, agent_inputs, avail_actions, t_env, test_mode=False):
        return avail_actions.argmin(dim=2)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[2], *BATCHED], ids=way_name)
def test_an_illegal_choice(play, way, monkeypatch):
    monkeypatch.setitem(SELECTORS._entries, "careless", None)
    SELECTORS["careless"] = Careless
    words = r"^Environment 0, after reset\(\): the controller chose action 0 for agent 0, .*; legal are \[1, 2\]"
    with pytest.raises(MusterError, match=words):
        play(way, {}, action_selector="careless")


@pytest.mark.parametrize("action", [-1, 3, 2**40])
def test_an_action_that_there_is_not(play, monkeypatch, action):
    monkeypatch.setitem(SELECTORS._entries, "careless", None)
    SELECTORS["careless"] = Careless
    monkeypatch.setattr(Careless, "select_action", lambda self, q, avail, *_, **__: avail[..., 0].long() * 0 + action)
    with pytest.raises(MusterError, match=f"chose action {action} for agent 0"):
        play(WAYS[3], {}, action_selector="careless")


@pytest.mark.parametrize("way", [WAYS[0], WAYS[3], WAYS[5]], ids=way_name)
@pytest.mark.parametrize("policy", [{}, {"agent_output_type": "pi_logits", "action_selector": "soft_policies"}])
def test_the_choice_is_looked_at_always(play, way, policy, monkeypatch):
    """Also when the first moments are over, and where a selector cannot choose without legal actions."""
    for module in ("runners.step_checks", "vector_envs.environment_row"):
        monkeypatch.setattr(f"{module}.FIRST_MOMENTS", 0)
    with pytest.raises(InvalidEnvironmentError, match="agent 1 has no legal action"):
        play(way, {"step": 3, "mask": NOTHING}, **policy)


@pytest.mark.parametrize("fault", [{"reward": (2, 1)}, {"ended": (2,)}, {"obs": (2, 2, 4)}])
@pytest.mark.parametrize("way", BATCHED, ids=way_name)
def test_arrays_of_a_batch_in_other_shapes(play, way, fault, monkeypatch):
    step, observed = WrongBatch.step, WrongBatch.observed
    if "obs" in fault:
        monkeypatch.setattr(WrongBatch, "observed", lambda self: {**observed(self), "obs": np.zeros(fault["obs"])})
        name = "obs"
    elif "reward" in fault:
        monkeypatch.setattr(WrongBatch, "step", lambda self, a: (np.zeros(fault["reward"]), *step(self, a)[1:]))
        name = "reward"
    else:
        monkeypatch.setattr(WrongBatch, "step", lambda self, a: (step(self, a)[0], np.zeros(2), np.zeros(2)))
        name = "terminated"
    with pytest.raises(InvalidEnvironmentError, match=rf"The environments' {name} is float64 .*; as announced it"):
        play(way, {})


@pytest.mark.parametrize("way", BATCHED, ids=way_name)
@pytest.mark.parametrize("mask", [np.ones((2, 2, 1)), None], ids=["shape", "missing"])
def test_a_mask_of_a_batch_that_changes_later(play, way, mask, monkeypatch):
    """When the first moments are over, the mask is still looked at."""
    monkeypatch.setattr("runners.step_checks.FIRST_MOMENTS", 0)
    observed = WrongBatch.observed
    monkeypatch.setattr(WrongBatch, "observed", lambda self: {**observed(self), "avail_actions": mask})
    with pytest.raises(MusterError, match="The environments' avail_actions is "):
        play(way, {})


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ((1j, False, {}), "1j as the reward"),
        ((np.complex64(1), False, {}), "as the reward"),
        (([1.0, 2.0], False, {}), r"\[1.0, 2.0\] as the reward"),
        ((None, False, {}), "None as the reward"),
        (("1", False, {}), "'1' as the reward"),
        ((1.0, [False, False], {}), r"\[False, False\] as terminated"),
        ((1.0, {"a": True}, {}), "as terminated"),
        ((1.0, 2, {}), "2 as terminated"),
        ((1.0, None, {}), "None as terminated"),
        ((None, 1.0, False, "no", {}), "'no' as terminated"),
        ((1.0, True, None), "None as info"),
        ((1.0, True, "won\x1b[2J"), r"won\\x1b\[2J' as info"),
    ],
)
def test_invalid_outcomes_of_a_step(returned, words):
    with pytest.raises(InvalidEnvironmentError, match=words):
        outcome_of(returned)


@pytest.mark.parametrize("value", [np.float32(1), np.array([1]), 1, True, np.array(1.0)])
def test_numbers_of_any_library_are_taken(value):
    assert outcome_of((value, np.bool_(True), {})) == (1.0, True, False, {})
    assert outcome_of((1.0, np.array([1]), {})).ended is True


@pytest.mark.parametrize("value", [[[1.0], [1.0, 2.0]], [["a"]], [[None]], [[1j]]])
def test_other_values_than_arrays_of_numbers(value):
    with pytest.raises(InvalidEnvironmentError, match=r"get_obs\(\)"):
        as_numbers("get_obs()", value)


def test_masks():
    assert problem_of_mask(np.array([[0, 1], [1, 1]])) is None
    assert problem_of_mask(np.array([[True, False]])) is None
    assert "agent 0 has no legal action" in problem_of_mask(np.array([[0, 0], [1, 1]]))
    assert problem_of_mask(np.array([[0, 1], [1, 7]])).startswith("get_avail_actions()[1][1] is 7")


@pytest.mark.parametrize("way", BATCHED, ids=way_name)
def test_masks_of_all_copies_are_looked_at_together(play, way, monkeypatch):
    looked_at = []
    monkeypatch.setattr(step_checks, "problem_of_mask", lambda mask, name="": looked_at.append(mask.ndim))
    play(way, {"step": 10**9})
    assert set(looked_at) == {3}
