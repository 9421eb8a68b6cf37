"""Several environments, each in a process of its own, stepped together."""

import numpy as np

from components.episode_buffer import EpisodeBatch
from envs.instances import environment_factory
from runners.base import BaseRunner
from runners.workers import EnvironmentWorkers


class ParallelRunner(BaseRunner):
    """PyMARL's `parallel` runner: `batch_size_run` whole episodes a call; finished environments wait."""

    def __init__(self, args, logger):
        super().__init__(args, logger)
        factories = [
            {test_mode: environment_factory(self.args, index, test_mode) for test_mode in (False, True)}
            for index in range(self.batch_size)
        ]
        self.workers = EnvironmentWorkers(factories, separate_test_env=self.args.separate_test_env)
        try:
            self.env_info = self.workers.call([0], "get_env_info")[0]
        except BaseException:
            self.workers.close()
            raise
        self.episode_limit = self.env_info["episode_limit"]

    def get_env_info(self) -> dict:
        return self.env_info

    def save_replay(self) -> None:
        """Let the first environment save its replay."""
        if (refusal := self.workers.call([0], "save_replay")[0]) is not None:
            raise NotImplementedError(refusal)

    def close_env(self) -> None:
        self.workers.close()

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play one episode in each environment; row i of the batch is environment i."""
        batch = self.batch = self.new_batch()
        everyone = list(range(self.batch_size))
        batch.update(_stacked(self.workers.call(everyone, "reset", [test_mode] * len(everyone))), ts=0)
        self.mac.init_hidden(batch_size=self.batch_size)
        self.t = 0
        returns = [0.0] * self.batch_size
        lengths = [0] * self.batch_size
        infos: list[dict] = [{}] * self.batch_size
        playing = everyone
        # environments that still get an action: those that play, and those that have just reached their closing state
        acting = everyone

        while True:
            actions = self.mac.select_actions(batch, t_ep=self.t, t_env=self.t_env, bs=acting, test_mode=test_mode)
            actions = actions.cpu().numpy()
            batch.update({"actions": actions[:, None]}, bs=acting, ts=self.t, mark_filled=False)
            if not playing:
                break
            rows = [row for row, index in enumerate(acting) if index in playing]
            results = self.workers.call(playing, "step", [actions[row] for row in rows])

            truncated = []
            for index, result in zip(playing, results, strict=True):
                returns[index] += float(result["reward"])
                lengths[index] += 1
                infos[index] = result["info"]
                truncated.append(bool(result["terminated"] and result["info"].get("episode_limit", False)))
            outcome = {
                "reward": [[r["reward"]] for r in results],
                "terminated": [[r["terminated"] and not t] for r, t in zip(results, truncated, strict=True)],
                "truncated": [[t] for t in truncated],
            }
            outcome = {key: value for key, value in outcome.items() if key in batch.scheme}
            batch.update(outcome, bs=playing, ts=self.t, mark_filled=False)
            self.t += 1
            batch.update(_stacked([r["observed"] for r in results]), bs=playing, ts=self.t)

            acting = playing
            playing = [index for index, r in zip(playing, results, strict=True) if not r["terminated"]]

        self._record(returns, lengths, infos, test_mode)
        return batch


def _stacked(observed: list[dict]) -> dict[str, np.ndarray]:
    """One dict of arrays `[environments, 1, ...]` from one dict for each environment."""
    return {key: np.stack([np.asarray(o[key]) for o in observed])[:, None] for key in observed[0]}
