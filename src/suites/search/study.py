"""What Optuna knows of a search: a study in memory, made from the files of the trials, which are the only record."""

import json
import logging
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from suites.plan.search import Range, Search
from suites.search.guide import Suggestion
from suites.state.runs import DONE, FAILED
from suites.state.trials import PRUNED, Trial
from utils.errors import ConfigError
from utils.files.whole_files import write_whole
from utils.plain_values import quoted

INSTALL = "pip install -r requirements-cluster.txt"


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
    """The study of one search; `course`: the values of a trial after each of its tests so far."""

    def __init__(self, search: Search, course: Callable[[Trial], list[float]]):
        require_optuna()
        self._search, self._course = search, course
        self._distributions = {".".join(path): _distribution(one) for path, one in search.space.items()}
        self.forget()

    def forget(self) -> None:
        """Begin again without trials."""
        import optuna

        self._journal = _journal()
        # Optuna's objects of the trials by number; how many tests of each were reported; the trials that have ended
        self._known: dict[int, Any] = {}
        self._tests: dict[int, int] = {}
        self._ended: set[int] = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study = optuna.create_study(
                study_name="search",
                storage=optuna.storages.JournalStorage(self._journal),
                direction=self._search.options["direction"],
                pruner=self._pruner(),
            )

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take in what is new in the files of the trials; ConfigError: one has settings that are not of this search."""
        from optuna.trial import TrialState

        states = {DONE: TrialState.COMPLETE, PRUNED: TrialState.PRUNED, FAILED: TrialState.FAIL}
        if any(trial.end is None and trial.number in self._ended for trial in trials):
            self.forget()  # a trial that failed is tried again
        for trial in trials:
            if trial.number not in self._known:
                self._add(trial)
            if trial.end is not None and trial.number not in self._ended:
                self.report(trial)  # later trials are compared with its last tests, too
                value = trial.end.value if trial.end.state == DONE else None
                self._study.tell(self._known[trial.number], value, states[trial.end.state])
                self._ended.add(trial.number)

    def ask(self, number: int) -> Suggestion:
        """The next trial; with the same trials before it, it is always the same."""
        import optuna

        options = self._search.options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study.sampler = optuna.samplers.TPESampler(
                n_startup_trials=options["startup"], constant_liar=True, seed=(options["seed"] * 8191 + number) % 2**32
            )
        params = self._asked(number).params
        settings: dict[tuple[str, ...], Any] = {}
        exact: dict[str, float] = {}
        for path, one in self._search.space.items():
            param = params[".".join(path)]
            match one.kind:
                case "choice":
                    labels = map(_label, one.bounds)
                    at = next(i for i, label in enumerate(labels) if type(label) is type(param) and label == param)
                    settings[path] = one.bounds[at]
                case "int":
                    settings[path] = int(param)
                case _:
                    settings[path], exact[".".join(path)] = one.readable(param), param
        return Suggestion(settings, exact)

    def is_stuck(self, trials: Sequence[Trial]) -> bool:
        """It never is."""
        return False

    def report(self, trial: Trial) -> bool:
        """Report the tests of a trial that Optuna does not know; whether it would end the trial after one of them."""
        if not self._search.prunes:
            return False
        live, known, poor = self._known[trial.number], self._tests[trial.number], False
        course = trial.end.course if trial.end and trial.end.course else self._course(trial)
        for step, value in enumerate(course[known:], known + 1):
            live.report(value, step)
            poor = live.should_prune() or poor
        self._tests[trial.number] = max(known, len(course))
        return poor

    def write_journal(self, path: Path) -> None:
        """Write what Optuna knows, as its dashboard reads it."""
        with suppress(OSError):
            write_whole(str(path), "".join(f"{line}\n" for line in self._journal.lines).encode())

    def _asked(self, number: int) -> Any:
        self._known[number], self._tests[number] = self._study.ask(self._distributions), 0
        self._known[number].set_user_attr("trial", number)
        return self._known[number]

    def _add(self, trial: Trial) -> None:
        """Tell Optuna of a trial that this process has not asked for."""
        params = {**trial.settings, **trial.exact}
        if not self._search.holds(params):
            raise ConfigError(f"{trial.name}: its settings are not of this search.")
        choices = {".".join(path) for path, one in self._search.space.items() if one.kind == "choice"}
        self._study.enqueue_trial({key: _label(one) if key in choices else one for key, one in params.items()})
        self._asked(trial.number)
        self.report(trial)

    def _pruner(self) -> Any:
        import optuna

        warmup = self._search.options["warmup"]
        match self._search.options["pruning"]:
            case "median":
                return optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=warmup)
            case "hyperband":
                return optuna.pruners.HyperbandPruner(min_resource=warmup)
        return optuna.pruners.NopPruner()


def _journal() -> Any:
    """The storage of a study: Optuna's journal, in memory."""
    from optuna.storages.journal import BaseJournalBackend

    class Journal(BaseJournalBackend):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
            return map(json.loads, self.lines[log_number_from:])

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            self.lines.extend(map(json.dumps, logs))

    return Journal()


def _distribution(one: Range) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match one.kind:
        case "choice":
            return CategoricalDistribution(list(map(_label, one.bounds)))
        case "int":
            return IntDistribution(*one.bounds)
    least, greatest = map(float, one.bounds)
    return FloatDistribution(least, greatest, log=one.kind == "log_uniform")


def _label(choice: Any) -> Any:
    """A choice as Optuna takes it: it compares choices, and knows neither lists nor mappings."""
    return choice if isinstance(choice, str | int | float | None) else quoted(choice, 10**6)
