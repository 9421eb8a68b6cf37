"""Callbacks: code of the user's that the loop calls at five moments (docs/python_api.md)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from checks.callbacks import HOOKS, KEY, callbacks_of
from records.logger import Logger
from utils.config.user_modules import line_of
from utils.errors import MusterError
from utils.plain_values import quoted


class Callback:
    """A base for callbacks that want one; any class with some of these methods will do.

    One object of the class serves a run from its start to its end. With `state_dict` and `load_state_dict` it is saved
    in checkpoints, too.
    """

    def on_setup(self, run: "Training") -> None:
        """Everything is built, and of a resumed run restored; nothing has been played."""

    def on_rollout(self, run: "Training", batch: Any) -> None:
        """A rollout has been played: an `EpisodeBatch`, tensors `[B, T, ...]` by field. No learner has seen it yet."""

    def on_train_step(self, run: "Training", sample: Any) -> None:
        """The learner has made an update from this sample, an `EpisodeBatch`."""

    def on_test(self, run: "Training", figures: Mapping[str, float]) -> None:
        """A test is over: its statistics by name, such as "test_return_mean"."""

    def on_end(self, run: "Training") -> None:
        """Training ends; `run.error` is why, if it did not reach its end."""


class Training:
    """A run under way, as its callbacks see it.

    Attributes:
        args: the config, with the sizes of the environment.
        parts: everything that the run is made of (`experiment.assembly.Parts`).
        logger: of its statistics.
        error: what ended it too early, from `on_end` on; else None.
        stopped: whether a callback has asked it to stop.
    """

    def __init__(self, args: SimpleNamespace, parts: Any, logger: Logger, saver: Any):
        self.args, self.parts, self.logger, self._saver = args, parts, logger, saver
        self.error: BaseException | None = None
        self.stopped = False

    @property
    def t_env(self) -> int:
        """Steps of the environments so far."""
        return self.parts.collection.t_env

    @property
    def episode(self) -> int:
        """Training episodes so far."""
        return self.parts.loop.episode

    @property
    def updates(self) -> int:
        """Calls of the learners' `train` so far."""
        return self.parts.loop.updates

    @property
    def mac(self) -> Any:
        """The controller whose weights are trained."""
        return self.parts.mac

    @property
    def learner(self) -> Any:
        """The learner of the only team, or of the first."""
        return self.parts.learning[0].learner

    @property
    def folder(self) -> str | None:
        """The run's folder; None if it keeps none."""
        return str(self._saver.folder.path) if self._saver.folder.is_open else None

    def log_stat(self, key: str, value: float) -> None:
        """Log a figure of your own at this step: in metrics.csv, on the page and in every other sink."""
        self.logger.log_stat(key, value, self.t_env)

    def stop(self) -> None:
        """End training after this rollout, with its last test and checkpoint."""
        self.stopped = True


class Callbacks:
    """The callbacks of one run, in the order in which they are named.

    Args:
        entries: of the key `callbacks`.

    Raises:
        ConfigError: see `checks.callbacks.callbacks_of`.
        MusterError: a class cannot be made.
    """

    def __init__(self, entries: Sequence[Any]):
        self._calls: dict[str, list[tuple[str, Callable[..., Any]]]] = defaultdict(list)
        self._objects: dict[str, Any] = {}
        self._ended = False
        for i, one in enumerate(callbacks_of(entries)):
            if one.hook:
                self._calls[one.hook].append((one.name, one.found))
                continue
            made = self._made(one.name, one.found)
            self._objects[f"{i}/{one.name.rpartition(':')[2]}"] = made
            for hook in HOOKS:
                if callable(getattr(made, hook, None)):
                    self._calls[hook].append((one.name, getattr(made, hook)))

    @classmethod
    def of(cls, entries: Sequence[Any]) -> "Callbacks | None":
        """None: there are none."""
        return cls(entries) if entries else None

    def call(self, hook: str, *arguments: Any) -> None:
        """Call the callbacks of a moment.

        Raises:
            MusterError: one of them has raised an exception; the message has its name and line.
        """
        for name, function in self._calls[hook]:
            try:
                function(*arguments)
            except MusterError:
                raise
            except Exception as error:
                raise _failed(name, hook, error) from error

    def test(self, run: Training) -> None:
        """Call those that want a test, with its figures."""
        if self._calls["on_test"]:
            self.call("on_test", run, _figures(run.logger, run.t_env))

    def end(self, run: Training, error: BaseException | None = None) -> None:
        """Tell once that training ends; an error that ends it is not replaced by one of a callback."""
        if self._ended:
            return
        self._ended, run.error = True, error
        try:
            self.call("on_end", run)
        except MusterError as second:
            if error is None:
                raise
            run.logger.console_logger.error(str(second))

    def state_dict(self) -> dict[str, Any]:
        """Of the objects that have one."""
        return {name: made.state_dict() for name, made in self._objects.items() if hasattr(made, "state_dict")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """A run may be resumed with other callbacks: those that the checkpoint does not know start as new ones."""
        for name, made in self._objects.items():
            if name in state and hasattr(made, "load_state_dict"):
                made.load_state_dict(state[name])

    def _made(self, name: str, found: Any) -> Any:
        if not isinstance(found, type):
            return found
        try:
            return found()
        except Exception as error:
            raise _failed(name, "__init__", error) from error


def _failed(name: str, hook: str, error: Exception) -> MusterError:
    module = name.rpartition(":")[0]
    return MusterError(
        f"{KEY}={quoted(name, 200)}: {hook} failed{line_of(error, module)}: {type(error).__name__}: {error}"
    )


def _figures(logger: Logger, t_env: int) -> dict[str, float]:
    """The statistics of the test after `t_env` steps."""
    return {
        key: points[-1][1]
        for key, points in logger.stats.items()
        if key.startswith("test_") and points and points[-1][0] == t_env
    }
