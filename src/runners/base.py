"""The common part of all runners besides stepping environments: batches, counters, statistics."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.sizing import batch_bytes
from controllers.contract import controller
from envs.contract.infos import is_true
from runners import REGISTRY
from runners.best_episodes import best_episodes_of
from runners.contract import Runner, Stats
from runners.episode_figures import COUNT_OF, EPISODES, LENGTH, EpisodeFigures
from utils.config.merging import with_defaults
from utils.processes.available_memory import require_memory
from utils.tensors.devices import acting_device, device_memory

# attributes that a run resumes with
COUNTS = (
    "t_env episodes_brought train_returns test_returns train_stats test_stats crashed_episodes test_unfinished "
    "log_train_stats_t"
).split()


def calls_of_a_test(runner: Runner, episodes: int) -> int:
    """How many calls of a runner with `test_mode` play so many episodes."""
    return -(-episodes // runner.test_batch_size)


class BaseRunner(Runner):
    """Keeps the step count `t_env` and the statistics of finished episodes, under PyMARL's names."""

    episode_limit: int
    plays_matches = True

    def __init__(self, args, logger):
        self.args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.logger = logger
        self.batch_size = self.args.batch_size_run
        self.test_batch_size = self.args.test_batch_size or self.batch_size
        self.t = 0
        self.t_env = 0
        self.episodes_brought = self.batch_size
        self.train_returns: list[float] = []
        self.test_returns: list[float] = []
        self.train_stats: Stats = {}
        self.test_stats: Stats = {}
        self.figures = EpisodeFigures(vars(self.args).get("teams") or (), logger.console_logger)
        self.crashed_episodes = 0
        # the first episodes are logged
        self.log_train_stats_t = -1000000

    def setup(self, scheme, groups, preprocess, mac) -> None:
        """Set the scheme of the batches and the controller that acts.

        Raises:
            MusterError: a batch of whole episodes does not fit the memory there is.
        """
        device = acting_device(self.args)
        self._require_memory(
            scheme, groups, preprocess, self.episode_limit + 1, rows=max(self.batch_size, self.test_batch_size)
        )
        self.new_batch = partial(
            EpisodeBatch,
            scheme,
            groups,
            batch_size=self.batch_size,
            max_seq_length=self.episode_limit + 1,
            preprocess=preprocess,
            device=device,
        )
        self.mac, self.scheme, self.groups, self.preprocess = mac, scheme, groups, preprocess
        self.best_episodes = best_episodes_of(self.args, scheme)

    def _require_memory(self, scheme, groups, preprocess, columns: int, batches: int = 1, rows: int = 0) -> None:
        """Refuse batches of so many columns if they do not fit the memory.

        `batches`: their number at a time; `rows` of each, 0: as many as training plays.
        """
        rows = rows or self.batch_size
        key = "batch_size_run" if rows == self.batch_size else "test_batch_size"
        batches += self.args.collection != "sync"  # the runner plays one while the learner trains on the last one
        size = batches * batch_bytes(scheme, groups, preprocess, rows, columns)
        require_memory(
            f"The batch of runner={self.args.runner} ({rows} episodes of up to {columns} steps)",
            size,
            device_memory(acting_device(self.args)),
            f"Choose a smaller {key}, shorter episodes or smaller observations.",
        )

    def state_dict(self) -> dict:
        """Counts, statistics in progress and environments, between two calls of `run`."""
        best = None if self.best_episodes is None else self.best_episodes.state_dict()
        counts = {name: getattr(self, name) for name in COUNTS}
        return counts | {"environments": self.environments_state(), "best_episodes": best}

    def load_state_dict(self, state: dict) -> None:
        """Resume, after `setup`, from where `state_dict` was taken."""
        for name in COUNTS:
            setattr(self, name, state[name])
        self.environments_restored = self.load_environments_state(state["environments"])
        if self.best_episodes is not None and state.get("best_episodes"):
            self.best_episodes.load_state_dict(state["best_episodes"])

    def environments_state(self) -> dict:
        """The state of the environments, as far as it can be saved."""
        return {}

    def load_environments_state(self, state: dict) -> bool:
        """Resume the environments from there. Returns whether they could."""
        return not state

    @property
    def worker_restarts(self) -> int:
        """How often environments, or their processes, were re-created because they failed."""
        return 0

    def _take_ends(self, batch: EpisodeBatch, infos: dict[tuple[int, int], dict], test_mode: bool) -> None:
        """Keep the last infos of the episodes that ended in a batch, and the best of them."""
        self.last_infos = infos
        if self.best_episodes is not None and not (test_mode and self.on_match_episode is not None):
            self.best_episodes.take(batch, infos, self.t_env, test_mode)

    def _record(
        self,
        returns: list[float],
        lengths: list[int],
        infos: list[dict],
        test_mode: bool,
        steps: int | None = None,
        of_groups: list[dict[str, float]] | None = None,
        whole: list[bool] | None = None,
    ) -> None:
        """Take finished episodes into the statistics, and log these when they are due.

        `steps`: the advance of `t_env`; None: the lengths of these episodes. `of_groups`: the returns of groups of
        each, by statistic, if they have some. `whole`: which began in the rollout in which they ended; None: all.

        Means are over all episodes; of the figures that the info's `only_of` lists, over the episodes that have them.
        Returns of groups have deviations, too, as EPyMARL's of agents.
        An episode whose environment crashed (`crashed` in its last info) is in none: it was neither won nor lost.
        A test counts exactly `test_nepisode` episodes. If the last rollout of a test brings more, those of the
        first environments count, in any order of their ends: taking the fastest would favour short episodes.
        """
        if not test_mode:
            self.t_env += sum(lengths) if steps is None else steps
        cur_returns = self.test_returns if test_mode else self.train_returns
        cur_stats = self.test_stats if test_mode else self.train_stats
        rows = zip(range(len(returns)), returns, lengths, infos, of_groups or [{}] * len(returns), strict=True)
        finished = [row for row in rows if not is_true(row[3], "crashed")]
        self.crashed_episodes += len(returns) - len(finished)
        if test_mode and self.on_match_episode is not None:
            for _, episode_return, _, info, own in finished:
                self.on_match_episode({**info, **own, "return": episode_return})
            return
        if not test_mode and self.on_whole_episode is not None:
            for row, *_, info, own in finished:
                if whole is None or whole[row]:
                    self.on_whole_episode({**info, **own})
        if test_mode:
            self.test_unfinished = True
            finished = finished[: self.args.test_nepisode - len(cur_returns)]
        together = None if test_mode or not finished else self._figures_together(finished)
        if together is not None:
            cur_returns += [row[1] for row in finished]
            for key, numbers in together.items():
                cur_stats[key] = _added(cur_stats.get(key, 0), numbers)
            for *_, own in finished:
                _keep(cur_stats, own)
            finished = []
        for copy, episode_return, length, info, own in finished:
            if test_mode and self.on_test_episode is not None:
                self.on_test_episode(copy, episode_return, length, info)
            cur_returns.append(episode_return)
            figures = {EPISODES: 1, LENGTH: length, **self.figures.of(info)}
            for key, number in figures.items():
                if key not in own:
                    cur_stats[key] = cur_stats.get(key, 0) + number
            _keep(cur_stats, own)

        if test_mode:
            if len(cur_returns) == self.args.test_nepisode:
                self._log(cur_returns, cur_stats, "test_")
                self.test_unfinished = False
        elif self.t_env - self.log_train_stats_t >= self.args.runner_log_interval:
            self.log_pending()

    def _figures_together(self, finished: list[tuple]) -> Mapping[str, Sequence[float] | np.ndarray] | None:
        """The figures of all these episodes by name, in the order of episodes; None: they differ in what they have."""
        _, _, lengths, infos, of_groups = zip(*finished, strict=True)
        figures, names = self.figures.of_all(infos), of_groups[0].keys()
        if figures is None or names & figures.keys() or any(own.keys() != names for own in of_groups):
            return None
        return {EPISODES: [1] * len(finished), LENGTH: lengths, **figures}

    def log_pending(self) -> None:
        """Log the training episodes that have ended since the last time, if there are any."""
        if not self.train_returns:
            return
        if self.crashed_episodes:
            self.logger.log_stat("crashed_episodes", self.crashed_episodes, self.t_env)
        if self.worker_restarts:
            self.logger.log_stat("worker_restarts", self.worker_restarts, self.t_env)
        self._log(self.train_returns, self.train_stats, "")
        for key, epsilon in controller(self.mac).epsilons.items():
            self.logger.log_stat(key, epsilon, self.t_env)
        self.log_train_stats_t = self.t_env

    def _log(self, returns: list[float], stats: Stats, prefix: str) -> None:
        self.logger.log_stat(prefix + "return_mean", np.mean(returns), self.t_env)
        self.logger.log_stat(prefix + "return_std", np.std(returns), self.t_env)
        returns.clear()
        for key, total in stats.items():
            if isinstance(total, list):
                self.logger.log_stat(f"{prefix}{key}_mean", np.mean(total), self.t_env)
                self.logger.log_stat(f"{prefix}{key}_std", np.std(total), self.t_env)
            elif key != EPISODES and not key.startswith(COUNT_OF):
                episodes = stats.get(COUNT_OF + key, stats[EPISODES])
                self.logger.log_stat(f"{prefix}{key}_mean", total / episodes, self.t_env)
        stats.clear()


def _keep(stats: Stats, own: Mapping[str, float]) -> None:
    """Take the returns of groups in one episode; of a checkpoint from before there were deviations, sums are left."""
    for key, number in own.items():
        if not isinstance(stats.get(key), list):
            stats[key] = []
        stats[key].append(number)


def _added(total: float, numbers: Sequence[float] | np.ndarray) -> float:
    """The total and these numbers, added one after the other: `sum`, of Python or NumPy, would round otherwise."""
    with np.errstate(all="ignore"):
        return np.add.accumulate(np.concatenate(([total], numbers)))[-1].item()
