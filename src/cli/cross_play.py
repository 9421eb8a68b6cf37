"""`play --cross RUN RUN ...`: saved models of several runs play together, and a matrix says how well."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from records.cross_play import CROSS_PLAY, MOST_MODELS, Cell, Estimate, Matrix, Model, write_matrix
from records.find_run import FoundRun, find_run
from records.layout import MODELS, POOL, REPLAYS
from utils.command_line import number
from utils.console import fitted, terminal_width
from utils.errors import ConfigError, MusterError
from utils.plain_values import counted, quoted

if TYPE_CHECKING:
    from experiment.loaded_run import LoadedRun

# of a printed table, which fits 80 columns
WIDTH, CELL = 80, 12
EPISODES = 100
# its options beside --cross itself
CROSS_ONLY = ("episodes", "first", "replays", "out")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --cross and what belongs to it."""
    parser.add_argument(
        "--cross",
        nargs="+",
        metavar="RUN",
        help="let models of two runs or more play together, each with each, and write the matrix; RUN@STEP is the "
        "model of that step, also of a run's pool of opponents",
    )
    parser.add_argument(
        "--episodes",
        type=number(1, 10**6, whole=True),
        help=f"--cross: of each pair; --best-response: of each test (default: {EPISODES})",
    )
    parser.add_argument(
        "--first",
        type=number(1, 10**4, whole=True),
        help="--cross: how many groups, or agents of a single group, the row's model plays (default: one group, or "
        "half of the agents); the column's plays the others",
    )
    parser.add_argument(
        "--replays",
        type=number(1, 1000, whole=True),
        metavar="N",
        help="--cross: record the first N episodes of each pair, for replay.py and the page",
    )
    parser.add_argument("--out", metavar="FOLDER", help="--cross: of the matrix (default: a new one among the results)")


def cross(options: argparse.Namespace) -> None:
    """Play all pairs of models, write the matrix and print it.

    Raises:
        ConfigError: options that do not go together, an unknown run or model, or models of different environments.
        MusterError: the matrix cannot be written.
    """
    from cli.settings import check_settings

    _check_options(options)
    settings = check_settings(options.words)
    found = [model_of(name, options) for name in options.cross]
    results, time = Path(options.results), datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")
    folder = Path(options.out) if options.out else results / CROSS_PLAY / time
    if options.out and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--out={quoted(options.out)}: it is there already. Name a new folder.")
    recorders = _Recorders(results / REPLAYS, time, options.replays or 0)
    matrix = _played(found, options, settings, recorders)
    try:
        write_matrix(matrix, folder)
    except OSError as error:
        raise MusterError(f"The matrix cannot be written in {folder}: {error.strerror}.") from None
    print("\n".join(lines_of(matrix)))
    print(f"\nMatrix: {folder}")
    for path in recorders.paths():
        print(f"Replay: {path}")


def _check_options(options: argparse.Namespace) -> None:
    others = {
        "what": "a game",
        "best_response": "--best-response",
        "steps": "--steps",
        "config": "--config",
        "env_config": "--env-config",
    }
    for option, words in {**others, "record": "--record", "restart": "--restart"}.items():
        if getattr(options, option):
            raise ConfigError(f"--cross does not go with {words}.")
    if not 2 <= len(options.cross) <= MOST_MODELS:
        raise ConfigError(f"--cross needs from 2 to {MOST_MODELS} runs; there are {len(options.cross)}.")


class _Recorders:
    """The recorders of all pairs: each pair has a folder among the replays, named by the time and both numbers."""

    def __init__(self, folder: Path, time: str, episodes: int):
        self._folder, self._time, self._episodes = folder, time, episodes
        self._made: list[Any] = []

    def of(self, args: SimpleNamespace, kinds: Sequence[str], row: int, column: int) -> Any:
        """That of a pair; None: nothing is recorded.

        Args:
            kinds: of all models, for the replays' algorithm.
        """
        from experiment.replay_recording import pair_recorder

        if not self._episodes:
            return None
        folder = self._folder / f"cross_{self._time}_{row + 1}-{column + 1}"
        names = f"{row + 1} {kinds[row]} and {column + 1} {kinds[column]}"
        self._made.append(pair_recorder(args, folder, names, self._episodes, print))
        return self._made[-1]

    def paths(self) -> list[Path]:
        """Of all replays so far. Says once why there are none."""
        if reasons := {recorder.refusal for recorder in self._made if recorder.refusal}:
            print(f"No replay was recorded: {', '.join(sorted(reasons))}.")
        return [path for recorder in self._made for path in recorder.paths]


def model_of(name: str, options: argparse.Namespace) -> tuple[FoundRun, Path, int]:
    """The run that is named, the folder of the models that has the chosen one, and its step."""
    from checkpoints.model_files import find_checkpoint
    from replays.best_model import find_model

    run, at, step = name.rpartition("@")
    if not at or not step.isdecimal():
        found = find_run(name, options.results)
        saved, _ = find_model(found, options.model)
        return found, saved.folder, saved.step
    found = find_run(run, options.results)
    places = [found.models, found.models / POOL]
    for place in places:
        if (place / step).is_dir():
            return found, place, find_checkpoint(str(place), int(step), key=name)[1]
    steps = {int(path.name) for place in places if place.is_dir() for path in place.iterdir() if path.name.isdecimal()}
    known = f"It has those of {', '.join(map(str, sorted(steps)))}" if steps else "It has none"
    raise ConfigError(f"{quoted(name)}: {found.token} has no model of step {quoted(step)} in {MODELS}. {known}.")


def _played(
    found: Sequence[tuple[FoundRun, Path, int]],
    options: argparse.Namespace,
    settings: Mapping[str, Any],
    recorders: _Recorders,
) -> Matrix:
    import torch as th

    from experiment.cross_play import CrossPlay, Places

    with ExitStack() as opened:
        loaded = [_load(*one, options, settings, None if k else opened) for k, one in enumerate(found)]
        names = [f"{run.token}@{step}" for run, _, step in found]
        _require_same_environment([one.args for one in loaded], names)
        args, spec = loaded[0].args, loaded[0].runner.spec
        th.set_num_threads(args.torch_threads)
        if spec is None:
            raise ConfigError(f"Cross-play does not go with runner={args.runner}, which is not built in.")
        places, episodes = Places.of(spec, options.first), options.episodes or EPISODES
        recorder_of = partial(recorders.of, args, [str(one.args.name) for one in loaded])
        play = CrossPlay(loaded, names, places, episodes, recorder_of)
        cells: list[Cell] = []
        for row in range(len(loaded)):
            cells += [play.play(row, column) for column in range(len(loaded))]
            print(f"{names[row]} has played with {counted(len(loaded), 'model')}.", flush=True)
        models = [
            Model(run.token, one.step, str(one.args.name), run.config().get("seed"))
            for (run, _, _), one in zip(found, loaded, strict=True)
        ]
        env_args = {key: value for key, value in args.env_args.items() if key != "seed"}
        everyone = places.names()
        seats = (everyone[: places.first], everyone[places.first :])
        return Matrix(args.env, env_args, places.opposed, seats, episodes, args.seed, models, cells)


def _load(
    found: FoundRun,
    models: Path,
    step: int,
    options: argparse.Namespace,
    settings: Mapping[str, Any],
    opened: ExitStack | None,
) -> "LoadedRun":
    """A run's controller with the weights of a step; its environments stay open if `opened` is to close them."""
    from cli.recorded_runs import config_to_load, loaded_model, with_plugins
    from utils.tensors.devices import learner_device

    seed = {} if options.seed is None else {"seed": options.seed}
    config = config_to_load(found, models, step, with_plugins(settings, options.plugin, found.config()), seed)
    loading = loaded_model(config, found.token, learner_device(config))
    if opened is not None:
        return opened.enter_context(loading)
    with loading as loaded:
        return loaded


def _require_same_environment(all_args: Sequence[SimpleNamespace], names: Sequence[str]) -> None:
    first = all_args[0]
    for args, name in zip(all_args[1:], names[1:], strict=True):
        if args.env != first.env:
            raise ConfigError(f"{name} was trained on env={args.env}, and {names[0]} on env={first.env}.")
        for key in {**first.env_args, **args.env_args}:
            own, other = first.env_args.get(key), args.env_args.get(key)
            if key != "seed" and own != other:
                raise ConfigError(
                    f"{name} has env_args.{key}={quoted(other)}, and {names[0]} has {quoted(own)}. To play all in one "
                    f"environment, set it after 'with': env_args.{key}={quoted(own)}."
                )


def lines_of(matrix: Matrix) -> list[str]:
    """The matrix as text, within 80 columns."""
    width = min(terminal_width(sys.stdout) or WIDTH, WIDTH)
    numbers = [f"{k + 1}" for k in range(len(matrix.models))]
    lines = [""]
    for label, model in zip(numbers, matrix.models, strict=True):
        lines += fitted(f"{label:>3}  {model.token}, the model of step {model.step:,}", width).split("\n")
    first, others = (_some(names) for names in matrix.places)
    for figure, words in _figures(matrix):
        title = f"{words} (rows play {first}, columns {others}; {_mean(matrix.episodes)}):"
        lines += ["", *fitted(title, width).split("\n")]
        lines += _table(matrix, figure, numbers, width)
        for kind, mean in matrix.means(figure).items():
            lines.append(f"{kind + ':':<19}{_shown(mean)}")
    return lines


def _mean(episodes: int) -> str:
    return f"means and standard errors of {counted(episodes, 'episode')}"


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _figures(matrix: Matrix) -> list[tuple[str, str]]:
    figures = [("returns", "Return of the row's side" if matrix.opposed else "Return")]
    if any(cell.wins.mean is not None for cell in matrix.cells):
        figures.append(("wins", "Win rate of the row's side" if matrix.opposed else "Win rate"))
    return figures


def _table(matrix: Matrix, figure: str, numbers: Sequence[str], width: int) -> list[str]:
    """Rows of cells; of many models, so many columns at a time as fit."""
    at_once, lines = max(1, (width - 4) // CELL), []
    for start in range(0, len(numbers), at_once):
        columns = range(start, min(start + at_once, len(numbers)))
        lines.append("    " + "".join(f"{numbers[k]:>{CELL}}" for k in columns))
        for row, label in enumerate(numbers):
            cells = (_shown(getattr(matrix.cell(row, k), figure)) for k in columns)
            lines.append(f"{label:>4}" + "".join(f"{cell:>{CELL}}" for cell in cells))
    return lines


def _shown(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "-"
    digits = 2 if abs(estimate.mean) < 100 else 0
    error = "" if estimate.error is None else f"±{estimate.error:.{digits}f}"
    return f"{estimate.mean:.{digits}f}{error}"
