"""What runners share that play on one environment object."""

from collections.abc import Callable
from typing import Any

from envs.saving import state_or_none
from envs.sizes import check_sizes
from runners.base import BaseRunner


class EnvironmentRunner(BaseRunner):
    """One environment, batched or not, for training; another for tests if `separate_test_env`, made when needed."""

    def __init__(self, args, logger):
        super().__init__(args, logger)
        self.env = self._factory(test_mode=False)()
        self.test_env = None
        # how often each was created anew because its state could not be saved
        self._recreated = {"training": 0, "test": 0}
        env_info = self.env.get_env_info()
        check_sizes(env_info, self.batch_size)
        # looks on while tests are played, see `replays.recorder.Recorder`
        self.recorder = None
        self.episode_limit = env_info["episode_limit"]

    def _factory(self, test_mode: bool) -> Callable:
        """What makes the environment; `factory(k)` makes its k-th re-creation."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it plays on")

    def get_env_info(self) -> dict:
        return self.env.get_env_info()

    def save_replay(self) -> None:
        """Let the environment that tests play on save its replay."""
        (self.test_env or self.env).save_replay()

    def close_env(self) -> None:
        for env in (self.env, self.test_env):
            if env is not None:
                env.close()

    def environments_state(self) -> dict[str, Any]:
        """Where the environments are, in plain values, between two calls of `run`; raises nothing.

        Returns:
            for `training` and `test`: None if there is no such environment (yet), else `recreated` and `state`, which
            is None if the environment cannot be saved.
        """
        environments = {"training": self.env, "test": self.test_env}
        return {
            name: None if env is None else {"recreated": self._recreated[name], "state": state_or_none(env)}
            for name, env in environments.items()
        }

    def load_environments_state(self, state: dict[str, Any]) -> bool:
        """Go on from what `environments_state` returned, in a runner of the same arguments.

        An environment without a state is created anew, with the next seed of its own stream.

        Returns:
            whether `env` goes on from where it was; if not, it is another object, before its first episode.
        """
        goes_on = True
        for name, saved in state.items():
            if saved is None or (name == "test" and not self.args.separate_test_env):
                continue
            anew = saved["state"] is None
            recreated = saved["recreated"] + anew
            if anew or recreated != self._recreated[name]:
                self._create(name, recreated)
                goes_on &= name != "training"
            elif name == "test":
                self._playing(test_mode=True)
            if not anew:
                (self.env if name == "training" else self.test_env).load_state_dict(saved["state"])
        return goes_on

    def _create(self, name: str, recreated: int) -> None:
        attribute, test_mode = ("test_env", True) if name == "test" else ("env", False)
        old = getattr(self, attribute)
        if old is not None:
            old.close()
        self._recreated[name] = recreated
        setattr(self, attribute, self._factory(test_mode)(recreated))

    def _playing(self, test_mode: bool):
        if not test_mode or not self.args.separate_test_env:
            return self.env
        if self.test_env is None:
            self.test_env = self._factory(test_mode=True)()
        return self.test_env
