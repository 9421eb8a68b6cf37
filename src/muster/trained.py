"""A recorded run: its config, its figures, its models, and what can be done with it."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cli.recorded_runs import playing_config
from envs.contract.arguments import LARGEST, require_number
from muster.errors import short
from muster.process import process_left_alone
from muster.recording import resumed
from records.best_model import best_of
from records.console_log import own_logger
from records.find_run import LATEST, find_run
from records.layout import BEST, METRICS
from records.limits import LARGEST_LOG
from records.metric_rows import Rows, read_rows, whole_lines
from replays.best_model import find_model
from run import run
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.nearest import suggestion
from utils.plain_values import quoted

if TYPE_CHECKING:
    from muster.policy import Policy

RETURN = "test_return_mean"


class Curve(NamedTuple):
    """One statistic: float64 arrays `[k]`, environment steps and the value at each."""

    t_env: NDArray[np.float64]
    values: NDArray[np.float64]


class Run:
    """A run in a folder of results, trained from Python or from the command line, finished or not.

    Args:
        name: "latest", the name of the run, the number of its record, or the path of one of its folders.
        results: the folder of all results.

    Attributes:
        name: of its folders.
        folder: its own, `<results>/runs/<name>`, with metrics.csv and checkpoints.

    Raises:
        ConfigError: there is no such run; the message has the nearest names.
    """

    @short
    def __init__(self, name: str | Path = LATEST, results: str | Path | None = None):
        found = find_run(str(name), default_config()["local_results_path"] if results is None else results)
        self._found = found
        self.name, self.results, self.folder = found.token, found.results, found.folder

    def __repr__(self) -> str:
        result = self.result
        shown = "" if result is None else f", {RETURN}={result:.4g}"
        return f"Run({str(self.folder)!r}{shown})"

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its config as it ran, nested, its seed included."""
        return self._found.config()

    @property
    def result(self) -> float | None:
        """The mean return of its last test; None if it was not tested."""
        rows = self._rows([RETURN]).get(RETURN)
        return None if rows is None or not len(rows.value) else float(rows.value[-1])

    @property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """All statistics as columns, float64 arrays of one length: `pandas.DataFrame(run.metrics)` is a table.

        "t_env" has the environment steps at which anything was logged, ascending; a statistic has NaN where it was not
        logged. `curve` has one without gaps.
        """
        rows = self._rows(None)
        steps = np.unique(np.concatenate([one.t_env for one in rows.values()])) if rows else np.empty(0)
        columns: dict[str, NDArray[np.float64]] = {"t_env": steps}
        for key in sorted(rows):
            column = np.full(len(steps), np.nan)
            column[np.searchsorted(steps, rows[key].t_env)] = rows[key].value
            columns[key] = column
        return columns

    @short
    def curve(self, key: str = RETURN) -> Curve:
        """One statistic over the steps of the environment.

        Raises:
            ConfigError: there is none of this name; the message has the nearest.
        """
        rows = self._rows(None)
        if key not in rows:
            raise ConfigError(f"{self.name} has no statistic '{quoted(key)}'.{suggestion(key, rows, 8)}")
        return Curve(rows[key].t_env, rows[key].value)

    @property
    def best_model(self) -> Path | None:
        """The folder of the model that tested best, with `agent.th`; None if none was kept."""
        return self._found.models / BEST if best_of(self._found.models) is not None else None

    def load(self, model: str = "best") -> "Policy":
        """The trained policy, ready to act: the "best" model, or the "newest"."""
        from muster.policy import load

        return load(self._found.folder, self.results, model=model)

    @short
    def evaluate(
        self, episodes: int = 32, *, model: str = "best", quiet: bool = True, **settings: Any
    ) -> dict[str, float]:
        """Play test episodes with a saved model; the record stays as it is.

        Args:
            episodes: at least so many; copies of the environment play side by side.
            model: "best" or "newest".
            settings: keys of the config, as `test_greedy=False`, and `env_args={...}`.

        Returns:
            the statistics by name: "test_return_mean", "test_return_std", "test_ep_length_mean", ...
        """
        require_number("episodes", episodes, 1, LARGEST, whole=True)
        saved, _ = find_model(self._found, model)
        config = playing_config(self._found, saved.folder, saved.step, settings)
        copies = min(int(config["batch_size_run"]), episodes)
        played = {"test_nepisode": episodes, "batch_size_run": copies, "test_batch_size": 0}
        figures = SimpleNamespace(info={}, _id=None, log_scalar=lambda key, value, t: None)
        with process_left_alone():
            run(recursive_dict_update(config, {**played, **settings}), figures, own_logger(quiet))
        return {
            key: values[-1]
            for key, values in figures.info.items()
            if key.startswith("test_") and not key.endswith("_T") and isinstance(values, list)
        }

    @short
    def resume(self, t_max: int | None = None, *, callbacks: Any = (), quiet: bool = False, **settings: Any) -> "Run":
        """Train on from the newest checkpoint, with the numbers that an uninterrupted run would have had.

        Args:
            t_max: steps in all, those before included; None: those of its config.
            callbacks: as of `train`; the run's own are called again unless these take their place.
            settings: other keys that a resumed run may change.

        Returns:
            the run, which is still this one.

        Raises:
            ConfigError: there is no checkpoint, or a setting may not change.
        """
        changed: Mapping[str, Any] = settings if t_max is None else {"t_max": t_max, **settings}
        return Run(resumed(self.name, self.results, quiet, callbacks, changed), self.results)

    def _rows(self, keys: list[str] | None) -> dict[str, Rows]:
        try:
            log = read_regular(self.folder / METRICS, LARGEST_LOG)
        except OSError:
            return {}
        return read_rows(whole_lines(log) or b"", keys, resumed=True)
