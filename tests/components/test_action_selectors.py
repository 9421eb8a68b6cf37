"""Which actions are chosen, and how often."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.action_selectors import REGISTRY, EpsilonGreedyActionSelector
from helpers import make_args

AVAIL = st.lists(st.lists(st.booleans(), min_size=4, max_size=4).filter(any), min_size=3, max_size=3)


@pytest.mark.slow
@given(AVAIL, st.sampled_from(sorted(REGISTRY)), st.floats(0, 1), st.booleans(), st.integers(0, 99))
def test_no_selector_takes_an_illegal_action(avail, name, epsilon, test_mode, seed):
    avail = th.tensor([avail]).int()
    outputs = th.rand(1, 3, 4, generator=th.Generator().manual_seed(seed)) + 0.1
    args = make_args(epsilon_start=epsilon, epsilon_finish=epsilon)
    actions = REGISTRY[name](args).select_action(outputs, avail, 0, test_mode=test_mode)
    assert actions.shape == (1, 3)
    assert actions.dtype == th.long
    assert avail.gather(2, actions.unsqueeze(2)).min() == 1


def test_on_a_cpu_the_choice_is_that_of_an_exponential_race():
    """The same random numbers make the same choices as on a GPU's path, and as before there was another one."""
    q, avail = th.randn(50, 3, 9), th.randint(2, (50, 2, 3, 9), dtype=th.int)[:, 1]
    selector = EpsilonGreedyActionSelector(make_args(epsilon=0.5))
    th.manual_seed(1)
    found, after = selector.select_action(q, avail, 0), th.rand(1)
    th.manual_seed(1)
    greedy = q.masked_fill(avail == 0, -float("inf")).argmax(dim=2)
    explore = th.rand_like(q[:, :, 0]) < 0.5
    at_random = (avail.float() / th.empty(q.shape).exponential_()).argmax(dim=2)
    assert th.equal(found, th.where(explore, at_random, greedy))
    assert th.equal(after, th.rand(1))
    drawn = th.get_rng_state()
    assert th.equal(selector.select_action(q, avail, 0, test_mode=True), greedy)
    assert th.equal(th.get_rng_state(), drawn), "greedy play draws nothing"


NOISE = {"epsilon": 0.0, "epsilon_boltzmann": ["linear", [0, 0.0], [10, 0.5]], "boltzmann_noise": 0.01}
STEPS = {"epsilon_start": 1.0, "epsilon_finish": 0.04, "epsilon_anneal_time": 100}
CLOSE, POLICY, LEGAL = [1.0, 1.01, 0.0], [0.1, 0.5, 0.2, 0.2], [1, 0, 1, 1]
DOUBLING = [0.0, 2 * np.log(2), 4 * np.log(2), 9.0]


@pytest.mark.parametrize("dtype", [th.float32, th.float64])  # the second takes the way of a GPU
@pytest.mark.parametrize(
    ("name", "changes", "outputs", "legal", "t_env", "shares", "tested"),
    [
        # over three legal actions each random one has 0.2, the best one 0.4 more
        ("epsilon_greedy", {"epsilon": 0.6}, [1.0, 9.0, 3.0, 2.0], LEGAL, 0, [0.2, 0, 0.6, 0.2], [0, 0, 1, 0]),
        ("epsilon_greedy", {"epsilon": 1.0}, [5.0, 9.0, -1.0, 2.0], LEGAL, 0, [1 / 3, 0, 1 / 3, 1 / 3], [1, 0, 0, 0]),
        # by then 0.52, 0.2 and 0.2
        ("epsilon_greedy", STEPS, [0.0, 1.0], [1, 1], 50, [0.26, 0.74], [0, 1]),
        ("epsilon_greedy", {**STEPS, "epsilon_decay": "exp"}, [0.0, 1.0], [1, 1], 50, [0.1, 0.9], [0, 1]),
        (
            "epsilon_greedy",
            {"epsilon": ["staircase", [0, 0.6], [100, 0.2]]},
            [0.0, 1.0],
            [1, 1],
            150,
            [0.1, 0.9],
            [0, 1],
        ),
        # values that differ by the noise's deviation d: N(0, d) - N(0, d) > d with probability 0.2398
        ("epsilon_boltzmann", NOISE, CLOSE, [1, 1, 0], 0, [0, 1, 0], [0, 1, 0]),
        ("epsilon_boltzmann", NOISE, CLOSE, [1, 1, 0], 10, [0.1199, 0.8801, 0], [0, 1, 0]),
        # e^(v / 2): 1, 2 and 4 of 7
        (
            "boltzmann",
            {"boltzmann_temperature": 2.0},
            DOUBLING,
            [1, 1, 1, 0],
            0,
            [1 / 7, 2 / 7, 4 / 7, 0],
            [0, 0, 1, 0],
        ),
        *(
            (name, {"test_greedy": greedy}, POLICY, LEGAL, 0, [0.2, 0, 0.4, 0.4], [0, 0, 1, 0] if greedy else None)
            for name in ("multinomial", "soft_policies", "gumbel")
            for greedy in (True, False)
        ),
        # mixed in by the selector: half of the policy, and half of three choices
        (
            "multinomial",
            {"epsilon_in": "acting", "epsilon": 0.5},
            POLICY,
            LEGAL,
            0,
            [0.1 + 1 / 6, 0, 0.2 + 1 / 6, 0.2 + 1 / 6],
            [0, 0, 1, 0],
        ),
    ],
)
def test_each_action_has_its_share(name, changes, outputs, legal, t_env, shares, tested, dtype):
    """`tested`: in tests; None: as in training."""
    selector, many = REGISTRY[name](make_args(**changes)), lambda x: th.tensor(x).expand(20000, 1, -1)
    for test_mode, expected in ((False, shares), (True, shares if tested is None else tested)):
        th.manual_seed(0)
        actions = selector.select_action(many(outputs).to(dtype), many(legal), t_env, test_mode=test_mode)
        found = np.bincount(actions.flatten().numpy(), minlength=len(outputs)) / 20000
        assert found == pytest.approx(expected, abs=0 if test_mode and tested else 0.02)


def _exploring(epsilon, steps, agents=20_000, **changes):
    """Steps of agents for whom action 0 is the best of five: their actions, and for how long they would repeat them."""
    selector = REGISTRY["ez_greedy"](make_args(epsilon=epsilon, **changes))
    values, legal = th.tensor([1.0, 0.0, 0.0, 0.0, 0.0]).expand(1, agents, 5), th.ones(1, agents, 5)
    th.manual_seed(0)
    before, seen = None, []
    for _ in range(steps):
        actions = selector.select_action(values, legal, 0, **({} if before is None else {"before": before}))
        before = {"actions": actions, **selector.remembered}
        seen.append((actions[0], selector.remembered["explores_for"][0]))
    return [th.stack(each).numpy() for each in zip(*seen, strict=True)]


def test_random_actions_last_for_zeta_distributed_times():
    """Of up to three steps with the exponent 2, the shares are as 1 to 1/4 to 1/9."""
    (left,) = _exploring(1.0, 1, explore_longest=3)[1]
    assert np.bincount(left) / len(left) == pytest.approx(np.array([36, 9, 4]) / 49, abs=0.01)
    (left,) = _exploring(1.0, 1, explore_longest=255, explore_exponent=1.01)[1]
    assert left.max() == 254


def test_a_random_action_is_repeated_until_its_time_is_over():
    actions, left = _exploring(0.3, 40, explore_exponent=1.0, explore_longest=8)
    repeats = left[:-1] > 0
    assert 0.3 < repeats.mean() < 0.7
    assert (actions[1:][repeats] == actions[:-1][repeats]).all()
    assert (left[1:][repeats] == left[:-1][repeats] - 1).all()
    # those who do not repeat choose as by epsilon-greedy: 0.7 and a fifth of 0.3 take the best
    assert (actions[1:][~repeats] == 0).mean() == pytest.approx(0.76, abs=0.01)


def test_who_cannot_repeat_chooses_again_and_tests_never_repeat():
    selector = REGISTRY["ez_greedy"](make_args(epsilon=0.0))
    values, legal = th.tensor([[[0.0, 1.0, 0.5]] * 2]), th.tensor([[[1, 1, 1], [0, 1, 1]]])
    before = {"actions": th.tensor([[0, 0]]), "explores_for": th.tensor([[4, 4]], dtype=th.uint8)}
    assert selector.select_action(values, legal, 0, before=before).tolist() == [[0, 1]]
    assert selector.remembered["explores_for"].tolist() == [[3, 0]]
    assert selector.select_action(values, legal, 0, test_mode=True, before=before).tolist() == [[1, 1]]
    assert selector.remembered["explores_for"].tolist() == [[0, 0]]


@pytest.mark.parametrize(("of", "share"), [("all", 0.3), ("others", 0.15)])
def test_noise_decides_linesights_share_of_all_actions(of, share):
    """It draws one number r: random below epsilon, noise below epsilon + epsilon_boltzmann. Here half are random."""
    args = make_args(epsilon=0.5, epsilon_boltzmann=0.3, boltzmann_noise=1e6, boltzmann_of=of)
    selector = REGISTRY["epsilon_boltzmann"](args)
    th.manual_seed(0)
    values = th.tensor([1.0, 0.0]).expand(40_000, 1, 2)
    best = (selector.select_action(values, th.ones_like(values), 0) == 0).float().mean()
    # half of the random ones, and of those that noise decides
    assert float(best) == pytest.approx(1 - 0.25 - share / 2, abs=0.01)


@pytest.mark.slow
def test_a_file_in_pymarls_place_takes_ours_place(tmp_path):
    """Its plain dict is the registry; everything else is found where it was."""
    source = Path(__file__).resolve().parents[2] / "src"
    for folder in (tmp_path, tmp_path / "components"):
        folder.mkdir(exist_ok=True)
        for path in (source / folder.relative_to(tmp_path)).iterdir():
            if path.name not in ("components", "action_selectors.py", "__pycache__"):
                (folder / path.name).symlink_to(path)
    (tmp_path / "components" / "action_selectors.py").write_text(
        "from .epsilon_schedules import DecayThenFlatSchedule\n"
        "REGISTRY = {}\n"
        "class First:\n"
        "    def __init__(self, args):\n"
        "        self.schedule = DecayThenFlatSchedule(1, 0, 9)\n"
        "    def select_action(self, agent_inputs, avail_actions, t_env, test_mode=False):\n"
        "        return avail_actions.argmax(dim=2)\n"
        'REGISTRY["first"] = First\n'
    )
    settings = "batch_size=1 test_nepisode=1 seed=1 learner_log_interval=1 env_args.game=qtran t_max=3".split()
    settings.append(f"local_results_path={tmp_path / 'results'}")
    command = ["--config=vdn", "--env-config=matrix", "with", *settings]
    program = (
        "import sys, main\n"
        "for name in ('first', 'firts'):\n"
        "    print('exit code', main.main([*sys.argv[1:], f'action_selector={name}']))\n"
    )
    words = [sys.executable, "-c", program, *command]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=100)
    assert re.findall("exit code (.)", done.stdout) == ["0", "2"], done.stderr
    assert re.search(r"test_return_mean: +8\.0000", done.stdout), "the first actions pay 8 in this game"
    assert "action_selector=firts" in done.stderr
    assert "Did you mean 'first'?" in done.stderr


def test_tests_explore_by_the_rate_of_evaluation():
    """EPyMARL's key: each action is random with that probability, whatever the rate of training."""
    q, avail = th.zeros(4000, 2, 5), th.ones(4000, 2, 5, dtype=th.int)
    q[:, :, 3] = 1.0
    args = make_args(epsilon_start=1.0, epsilon_finish=1.0, evaluation_epsilon=0.25)
    for name in ("epsilon_greedy", "epsilon_boltzmann"):
        chosen = REGISTRY[name](args).select_action(q, avail, 0, test_mode=True)
        assert abs((chosen != 3).float().mean() - 0.25 * 4 / 5) < 0.02
        assert (REGISTRY[name](make_args(epsilon=1.0)).select_action(q, avail, 0, test_mode=True) == 3).all()
