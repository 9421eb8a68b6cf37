"""What Optuna knows of a search: its study, in a journal that can be rebuilt from the files of the trials.

Whoever calls this has the lock of the search: nobody else reads or writes the journal meanwhile.
"""

import logging
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from suites.plan.search import NO_PRUNING, Search, readable
from suites.state.trials import DONE, FAILED, PRUNED, Trial
from utils.errors import ConfigError
from utils.files.whole_files import set_aside
from utils.plain_values import shown

JOURNAL = "optuna.journal"
INSTALL = "pip install -r requirements-cluster.txt"
# the attribute of Optuna's trials that has the number of ours
_OURS = "trial"


def require_optuna() -> None:
    """Raises: ConfigError: Optuna, or something it needs, is not installed."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"search.method=tpe needs the package '{error.name}', which is not installed. Install it with: {INSTALL}"
        ) from None
    optuna.logging.set_verbosity(logging.WARNING)


class Study:
    """The study of one search.

    Args:
        folder: of the search's files.
        course: the values of a trial after each of its tests so far.
    """

    def __init__(self, folder: Path, search: Search, course: Callable[[Trial], list[float]]):
        require_optuna()
        self._journal, self._search, self._course = folder / JOURNAL, search, course
        self._distributions = {".".join(path): _distribution(*one) for path, one in search.space.items()}
        self._prunes = search.options["pruning"] != NO_PRUNING
        self._inode = 0
        self._study: Any = None
        self._numbers: dict[int, int] = {}

    def match(self, trials: Sequence[Trial]) -> None:
        """Bring the journal in line with the files of the trials, which decide.

        A trial of Optuna's without a file was being made when its launcher was killed: it has failed, and its
        parameters are queued again.
        """
        from optuna.trial import TrialState

        try:
            found = self._opened()
        except (ValueError, KeyError, TypeError, IndexError):
            set_aside(str(self._journal))  # it is damaged
            found = self._opened()
        ours = {trial.number for trial in trials}
        self._numbers = {}
        for one in found:
            number = one.user_attrs.get(_OURS)
            if number in ours:
                self._numbers[number] = one.number
            elif one.state == TrialState.RUNNING:
                self._study.tell(one.number, state=TrialState.FAIL)
                if one.params:
                    self._study.enqueue_trial(one.params)
        for trial in trials:
            if trial.number not in self._numbers:
                self._add(trial)

    def ask(self, number: int) -> dict[tuple[str, ...], Any]:
        """The settings of the next trial, by path. With the same trials before it they are always the same."""
        import optuna

        options = self._search.options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study.sampler = optuna.samplers.TPESampler(
                n_startup_trials=options["startup"], constant_liar=True, seed=(options["seed"] * 8191 + number) % 2**32
            )
            asked = self._study.ask(self._distributions)
        asked.set_user_attr(_OURS, number)
        self._numbers[number] = asked.number
        return {path: _value(kind, bounds, asked.params[".".join(path)])
                for path, (kind, bounds) in self._search.space.items()}  # fmt: skip

    def lose(self, number: int) -> None:
        """Forget a trial that was asked for: another launcher has made the one with this number."""
        from optuna.trial import TrialState

        lost = self._study.get_trials(deepcopy=False)[self._numbers.pop(number)]
        self._study._storage.set_trial_user_attr(lost._trial_id, _OURS, 0)
        self._study.tell(lost.number, state=TrialState.FAIL)

    def state(self, trial: Trial) -> str | None:
        """How a trial has ended for Optuna; None: it has not."""
        return _names().get(self._frozen(trial).state)

    def tell(self, trial: Trial, state: str, value: float | None = None) -> None:
        """Say how a trial has ended, if that is news."""
        if self.state(trial) is None:
            if self._prunes:
                self._report(trial)  # later trials are compared with its last tests, too
            code = next(code for code, name in _names().items() if name == state)
            self._study.tell(self._numbers[trial.number], value if state == DONE else None, code)

    def is_poor(self, trial: Trial) -> bool:
        """Whether a trial that is under way should be ended, by its tests so far."""
        live = self._report(trial)
        return live is not None and live.should_prune()

    def _report(self, trial: Trial) -> Any:
        """Report the tests of a trial under way that Optuna does not know; return its view of the trial, or None: all
        were known."""
        import optuna

        frozen, course = self._frozen(trial), self._course(trial)
        known = frozen.last_step or 0
        if len(course) <= known:
            return None
        live = optuna.trial.Trial(self._study, frozen._trial_id)
        for step, value in enumerate(course[known:], known + 1):
            live.report(value, step)
        return live

    def retry(self, trial: Trial) -> None:
        """Queue a trial again that has failed."""
        self._add(Trial(trial.number, trial.settings, trial.runs))

    def _frozen(self, trial: Trial) -> Any:
        return self._study.get_trials(deepcopy=False)[self._numbers[trial.number]]

    def _opened(self) -> list[Any]:
        """The trials of the journal, which is opened, or made, or opened again if another launcher has rebuilt it."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        _cut_torn_line(self._journal)
        with suppress(FileNotFoundError):
            if os.stat(self._journal).st_ino != self._inode:
                self._study = None
        if self._study is None or not self._journal.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                storage = JournalStorage(JournalFileBackend(str(self._journal), _NoLock()))
                self._study = optuna.create_study(
                    study_name="search",
                    storage=storage,
                    load_if_exists=True,
                    direction=self._search.options["direction"],
                    pruner=self._pruner(),
                )
            self._inode = os.stat(self._journal).st_ino
        return self._study.get_trials(deepcopy=False)

    def _pruner(self) -> Any:
        import optuna

        warmup = self._search.options["warmup"]
        match self._search.options["pruning"]:
            case "median":
                return optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=warmup)
            case "hyperband":
                return optuna.pruners.HyperbandPruner(min_resource=warmup)
        return optuna.pruners.NopPruner()

    def _add(self, trial: Trial) -> None:
        """Give Optuna a trial that it does not know."""
        from optuna.trial import TrialState, create_trial

        state = {name: code for code, name in _names().items()}[trial.end.state] if trial.end else TrialState.RUNNING
        names = {".".join(path): one for path, one in self._search.space.items()}
        params = {name: _param(*one, trial.settings[name]) for name, one in names.items() if name in trial.settings}
        if params.keys() != names.keys():
            raise ConfigError(f"{self._journal.parent}: t{trial.number} has other settings than the search.")
        course = self._course(trial) if self._prunes else []
        self._study.add_trial(
            create_trial(
                state=state,
                value=trial.end.value if trial.end and trial.end.state == DONE else None,
                params=params,
                distributions=self._distributions,
                user_attrs={_OURS: trial.number},
                intermediate_values=dict(enumerate(course, 1)),
            )
        )
        self._numbers[trial.number] = len(self._study.get_trials(deepcopy=False)) - 1


class _NoLock:
    """The lock of the search is held: Optuna's own would be left behind by a killed launcher, for half a minute."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _names() -> dict[Any, str]:
    from optuna.trial import TrialState

    return {TrialState.COMPLETE: DONE, TrialState.PRUNED: PRUNED, TrialState.FAIL: FAILED}


def _cut_torn_line(path: Path) -> None:
    """Remove the line that a launcher was writing when it was killed; Optuna would add the next one to it."""
    with suppress(FileNotFoundError):
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)


def _distribution(kind: str, bounds: list) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match kind:
        case "choice":
            return CategoricalDistribution(_labels(bounds))
        case "int":
            return IntDistribution(*bounds)
    return FloatDistribution(*map(float, bounds), log=kind == "log_uniform")


def _labels(choices: list) -> list:
    """Choices as Optuna takes them: it compares them, and knows neither lists nor mappings."""
    return [one if isinstance(one, str | int | float | None) else shown(one, 10**6) for one in choices]


def _value(kind: str, bounds: list, param: Any) -> Any:
    """Our value of one of Optuna's parameters."""
    if kind == "choice":
        at = next(at for at, one in enumerate(_labels(bounds)) if type(one) is type(param) and one == param)
        return bounds[at]
    return int(param) if kind == "int" else readable(param, bounds)


def _param(kind: str, bounds: list, value: Any) -> Any:
    """The other way round."""
    return _labels([value])[0] if kind == "choice" else value
