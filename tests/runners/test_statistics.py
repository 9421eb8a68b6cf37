"""The statistics of runners, on episodes with known figures."""

import math
import re
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from checkpoints.tree import load_tree, save_tree
from fakes import RecordingLogger
from helpers import make_args
from runners import episode_figures
from runners.auto_reset import FinishedEpisode
from runners.base import BaseRunner
from runners.started import kept


class _Mac:
    class action_selector:
        epsilon = 0.25


def _runner(**changes):
    runner = BaseRunner(make_args(**changes), RecordingLogger())
    runner.mac = _Mac()
    return runner


def test_training_figures_are_means_over_the_episodes_since_the_last_log():
    runner = _runner(runner_log_interval=100)
    runner._record([2.0], [10], [{"battle_won": True}], test_mode=False)
    assert runner.t_env == 10
    assert runner.logger.last() == {
        "return_mean": 2.0,
        "return_std": 0.0,
        "ep_length_mean": 10.0,
        "battle_won_mean": 1.0,
        "epsilon": 0.25,
    }
    runner._record([1.0, 3.0], [40, 50], [{"battle_won": 1}, {"battle_won": 0}], test_mode=False)
    assert len(runner.logger.values["return_mean"]) == 1, "90 steps later nothing is due"
    runner._record([5.0], [30], [{"battle_won": 0}], test_mode=False)
    assert runner.logger.values["return_mean"][-1] == (130, 3.0)
    assert math.isclose(runner.logger.values["return_std"][-1][1], np.std([1.0, 3.0, 5.0]))
    assert runner.logger.values["ep_length_mean"][-1] == (130, 40.0)
    assert math.isclose(runner.logger.values["battle_won_mean"][-1][1], 1 / 3)


def _own(*returns):
    return [{"agent_0_return": float(a), "agent_1_return": float(b), "total_return": float(a + b)} for a, b in returns]


def test_returns_of_agents_have_epymarls_statistics(tmp_path):
    """Deviations are NumPy's, of the episodes since the last log; a figure of the same name in an info has no part."""
    runner = _runner(runner_log_interval=100)
    runner.log_train_stats_t = 0
    infos = [{"won": 1, "agent_0_return": 99.0}, {"agent_0_return": 98.0}]
    runner._record([3.0, 7.0], [30, 30], infos, test_mode=False, of_groups=_own((1, 2), (3, 4)))
    save_tree({key: getattr(runner, key) for key in ("train_returns", "train_stats")}, tmp_path / "state")
    saved = load_tree(tmp_path / "state")
    runner.train_returns, runner.train_stats = saved["train_returns"], saved["train_stats"]
    runner._record([12.0, 0.0], [30, 30], [{}, {}], test_mode=False, of_groups=_own((8, 4), (0, 0)))
    expected = {"agent_0_return": [1, 3, 8, 0], "agent_1_return": [2, 4, 4, 0], "total_return": [3, 7, 12, 0]}
    logged = runner.logger.last()
    for name, values in expected.items():
        assert (logged[f"{name}_mean"], logged[f"{name}_std"]) == (np.mean(values), np.std(values))
    assert "won_mean" in logged and {key for key in logged if "agent_2" in key} == set()


def test_returns_of_agents_are_in_tests_too():
    runner = _runner(test_nepisode=2)
    runner._record([3.0, 7.0], [30, 30], [{}, {}], test_mode=True, of_groups=_own((1, 2), (3, 4)))
    logged = runner.logger.last()
    assert (logged["test_agent_1_return_std"], logged["test_total_return_std"]) == (1.0, 2.0)


def _info(k, rng):
    return {
        "won": bool(k % 3),
        "kills": k,
        "share": float(rng.standard_normal() * 10.0 ** rng.integers(-9, 9)),
        "map": "3m",
    }


def _recorded(count, together, change):
    """The sums after so many episodes, which end together or one by one, before and after others."""
    runner, rng = _runner(runner_log_interval=10**9), np.random.default_rng(1)
    runner.log_train_stats_t = 0
    infos = [_info(k, rng) for k in range(count)]
    change(infos)
    returns, lengths = rng.standard_normal(count).tolist(), rng.integers(1, 60, count).tolist()
    of_groups = [{"red/return": float(x)} for x in rng.standard_normal(count)]
    for _ in range(2):
        for part in [slice(None)] if together else [slice(k, k + 1) for k in range(count)]:
            runner._record(returns[part], lengths[part], infos[part], test_mode=False, of_groups=of_groups[part])
    return runner.train_stats, runner.train_returns, runner.t_env


@pytest.mark.parametrize(
    "change",
    [
        lambda infos: None,
        lambda infos: infos[3].update(episode_limit=True),
        lambda infos: infos[4].update(kills=10**4000),
        lambda infos: infos[5].update(kills=np.float32(0.1)),
        lambda infos: infos[5].update(share=math.nan),
        lambda infos: [info.update(only_of=["kills"]) for info in infos],
        lambda infos: infos[2].update(crashed=True),
    ],
    ids=["alike", "another key", "too large", "another type", "nan", "only of", "crashed"],
)
def test_episodes_that_end_together_give_the_sums_of_those_that_end_one_by_one(change):
    assert repr(_recorded(40, True, change)) == repr(_recorded(40, False, change))


def test_infos_that_are_alike_are_not_read_one_by_one(monkeypatch):
    read, of = [], episode_figures.EpisodeFigures.of
    monkeypatch.setattr(episode_figures.EpisodeFigures, "of", lambda self, info: read.append(info) or of(self, info))
    _recorded(40, True, lambda infos: None)
    assert len(read) == 40, "those in which the keys are new, and no more"


def test_a_test_counts_exactly_test_nepisode_episodes_of_the_first_environments():
    runner = _runner(test_nepisode=5, batch_size_run=4, buffer_size=32)
    runner._record([1, 2, 3, 4], [1, 1, 1, 1], [{}] * 4, test_mode=True)
    assert not runner.logger.values
    runner._record([10, 100, 100, 100], [6, 9, 9, 9], [{}] * 4, test_mode=True)
    assert runner.logger.values["test_return_mean"] == [(0, 4.0)]
    assert runner.logger.values["test_ep_length_mean"] == [(0, 2.0)]
    assert runner.t_env == 0, "test steps do not count"
    runner._record([7, 7, 7, 7], [1, 1, 1, 1], [{}] * 4, test_mode=True)
    runner._record([7, 0, 0, 0], [1, 1, 1, 1], [{}] * 4, test_mode=True)
    assert runner.logger.values["test_return_mean"][-1] == (0, 7.0), "the next test starts from nothing"


def test_episodes_whose_environment_crashed_are_in_no_statistic():
    """A won, a lost, a timed-out and a crashed one, side by side."""
    runner = _runner(test_nepisode=4, batch_size_run=4, buffer_size=32, runner_log_interval=1)
    won, lost = {"battle_won": True, "dead_allies": 1}, {"battle_won": False, "dead_allies": 3}
    timeout = {"battle_won": False, "dead_allies": 2, "episode_limit": True}
    crashed = {"crashed": True, "episode_limit": True}
    runner._record([20.0, 4.0, 6.0, 19.0], [10, 20, 60, 5], [won, lost, timeout, crashed], test_mode=False)
    assert runner.t_env == 95, "the steps were played"
    expected = {"return_mean": 10.0, "battle_won_mean": 1 / 3, "dead_allies_mean": 2.0, "ep_length_mean": 30.0}
    expected |= {"episode_limit_mean": 1 / 3, "crashed_episodes": 1}
    assert {key: pytest.approx(value) for key, value in expected.items()}.items() <= runner.logger.last().items()
    runner._record([9.0], [5], [crashed], test_mode=False)
    assert len(runner.logger.values["return_mean"]) == 1, "of nothing but crashed episodes there is nothing to log"

    runner._record([20.0, 9.0, 9.0, 4.0], [10, 1, 1, 20], [won, crashed, crashed, lost], test_mode=True)
    assert runner.test_unfinished, "two more are needed"
    assert "test_return_mean" not in runner.logger.values
    runner._record([9.0, 6.0, 2.0, 100.0], [1, 60, 20, 9], [crashed, timeout, lost, won], test_mode=True)
    assert not runner.test_unfinished
    assert runner.logger.values["test_return_mean"][-1][1] == 8.0
    assert runner.logger.values["test_battle_won_mean"][-1][1] == 0.25


def test_info_may_hold_anything_and_only_numbers_are_averaged():
    info = {
        "won": np.bool_(True),
        "score": np.float32(2.5),
        "array": np.array([3]),
        "text": "map",
        "vector": np.zeros(3),
        "nothing": None,
        "nested": {"a": 1},
        "complex": 1j,
    }
    runner = _runner()
    runner._record([0.0], [1], [info], test_mode=False)
    logged = runner.logger.last()
    assert {key for key in logged if key.endswith("_mean")} == {
        "return_mean",
        "ep_length_mean",
        "won_mean",
        "score_mean",
        "array_mean",
    }
    assert (logged["won_mean"], logged["score_mean"], logged["array_mean"]) == (1.0, 2.5, 3.0)


def test_a_key_that_only_some_infos_have_is_averaged_over_all_episodes():
    """As PyMARL does: what an info does not have counts as 0."""
    runner = _runner(test_nepisode=2)
    runner._record([0.0], [1], [{"won": 1}], test_mode=True)
    runner._record([0.0], [1], [{}], test_mode=True)
    assert runner.logger.last()["test_won_mean"] == 0.5


def test_the_means_of_rare_figures_are_over_the_episodes_that_have_them():
    """A race that was not finished has no time."""
    runner = _runner(test_nepisode=4, batch_size_run=4, buffer_size=32)
    times = [{"time": 30.0, "laps": 1}, {"laps": 0}, {"time": 40.0, "laps": 1}, {"laps": 0}]
    runner._record([0.0] * 4, [1] * 4, [{**info, "only_of": ["time", "other"]} for info in times], test_mode=True)
    figures = {key: values[-1][1] for key, values in runner.logger.values.items()}
    assert (figures["test_time_mean"], figures["test_laps_mean"]) == (35.0, 0.5)
    assert not [key for key in figures if "other" in key or "with" in key]


OWN_NAMES = [
    *("return", "ep_length", "n_episodes", "q_taken", "target", "advantage", "test_return", "test_battle_won"),
    *("test_return_mean", "episodes with won", "live/lr", "red/return", "prey/q_taken"),
]


@pytest.mark.parametrize("key", OWN_NAMES)
def test_an_environment_cannot_write_the_runs_own_statistics(key, caplog):
    runner = _runner(test_nepisode=2, runner_log_interval=0, teams={"prey": {}})
    runner.figures.rooms.add("red")
    own = [{"red/return": 1.5}] * 2
    for test_mode in (False, True):
        infos = [{key: 1000.0, "won": 1, "only_of": [key]}, {"won": 0}]
        runner._record([1.0, 2.0], [3, 5], infos, test_mode=test_mode, of_groups=own)
    expected = {"return_mean": 1.5, "return_std": 0.5, "ep_length_mean": 4.0, "won_mean": 0.5, "red/return_mean": 1.5}
    expected |= {"red/return_std": 0.0, f"env_{key}_mean": 1000.0}
    logged = runner.logger.last()
    assert logged == {"epsilon": 0.25, **expected, **{f"test_{name}": value for name, value in expected.items()}}
    assert all(len(values) == 1 for values in runner.logger.values.values()), "one value a step"
    assert [record.message for record in caplog.records] == [
        f"The environment's info has '{key}', but '{key}_mean' is the run's own statistic; the environment's entry is "
        f"logged as 'env_{key}_mean'."
    ]


def test_no_statistic_of_a_learner_is_forgotten():
    """The keys that they log under names that an environment could reach."""
    folder = Path(__file__).parents[2] / "src" / "learners"
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    own = set(re.findall(r'"(\w+)_mean"', text)) - {"divisor", "kl", "omar", "policy", "running"}  # no statistics
    assert "v" in own and own <= episode_figures.OWN


class _Hostile:
    def __float__(self):
        raise RuntimeError("no number here")

    __bool__ = __len__ = __float__


class _HostileNumber(_Hostile, Fraction):
    pass


ODD = {
    7: 1.5,
    "7": 2.5,
    (1, "a"): 1,
    None: 1,
    "": 3,
    "$set": 1,
    "py/object": 1,
    "line\nend": 1,
    "\x1b[31m": 1,
    "\ud800": 1,
    "long" * 1000: 1,
    "huge": 10**400,
    "fraction": Fraction(1, 2),
    "large fraction": Fraction(10**400),
    "decimal": Decimal("1.5"),
    "signalling": Decimal("sNaN"),
    "masked": np.ma.masked,
    "objects": np.array([10**400], dtype=object),
    "nan": float("nan"),
    "infinite": np.inf,
    "hostile": _Hostile(),
    "hostile number": _HostileNumber(1),
    "lock": threading.Lock(),
    'a/b, "c"': 1,
    "env_7": 4,
}


@pytest.mark.parametrize("test_mode", [False, True])
def test_nothing_in_an_info_ends_a_run(test_mode, caplog):
    runner, prefix = _runner(test_nepisode=4), "test_" if test_mode else ""
    odd = {"crashed": _Hostile(), "only_of": 5, **ODD}
    runner._record([1.0] * 4, [2] * 4, [odd, {"only_of": [[1], "7", {}]}, odd, {"7": 2.5}], test_mode)
    logged = {key.removeprefix(prefix): value for key, value in runner.logger.last().items()}
    assert (logged["return_mean"], logged["ep_length_mean"]) == (1.0, 2.0)
    assert all(name.isprintable() and len(name) < 220 and name.isascii() for name in logged)
    assert not [name for name in logged if name.startswith(("$", "py/", "_mean"))]
    assert logged["7_mean"] == 7.5 / 4, "the entry that has this name"
    assert (logged["env_7_mean"], logged["env_7_2_mean"]) == (2.0, 0.75)
    assert (logged["fraction_mean"], logged["decimal_mean"], logged["infinite_mean"]) == (0.25, 0.75, np.inf)
    assert math.isnan(logged["nan_mean"])
    assert not [name for name in logged if "masked" in name or "lock" in name or "hostile" in name or "huge" in name]
    warnings = [record.message for record in caplog.records if "not logged" in record.message]
    assert len(warnings) == 4, "once each"
    assert "'huge', a number that is too large for a float: it is not logged" in warnings[0]


def test_a_checkpoint_keeps_what_it_can_of_an_info(tmp_path):
    """Of episodes that have ended and are not in a batch that was handed out: a lock in one ended the run."""
    within = []
    within.append(within)
    episode = FinishedEpisode(0, 1.0, 2, {**ODD, "within": within, "longer": 10**4000}, {"red/return": 1.0})
    save_tree([kept(episode)], tmp_path / "state")
    loaded = FinishedEpisode(**load_tree(tmp_path / "state")[0])
    assert (loaded.episode_return, loaded.length, loaded.of_groups) == (1.0, 2, {"red/return": 1.0})
    assert (loaded.info["7"], loaded.info[7], loaded.info["huge"]) == (2.5, 1.5, 10**400)
    assert not {"lock", "hostile", "within", "longer", "objects"} & set(loaded.info)
    of_before = {key: value for key, value in vars(loaded).items() if key != "of_groups"}
    assert FinishedEpisode(**of_before).of_groups == {}


def test_new_keys_in_every_episode_do_not_fill_the_log(caplog):
    runner = _runner(test_nepisode=2)
    infos = [{f"{k}/{i}": 1 for i in range(900)} for k in range(2)]
    runner._record([1.0, 2.0], [3, 5], infos, test_mode=True)
    assert len(runner.logger.last()) == 1000 + 3 and runner.logger.last()["test_return_mean"] == 1.5
    assert [record.message for record in caplog.records] == [
        "The environment's info has had numbers under more than 1000 keys; '1/100' and other new ones are not logged."
    ]
