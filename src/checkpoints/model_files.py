"""Saved models: folders `<checkpoint_path>/<step>/` with PyMARL's files (`agent.th`, `mixer.th`, `opt.th`, ...).

A folder of any other name is a saved model, too, if its `best.json` gives the step (`records.best_model`), or if it is
a checkpoint of enn-trainer (`checkpoints.enn_checkpoints`).
"""

import io
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from checkpoints.enn_checkpoints import enn_checkpoints, enn_state, is_enn_checkpoint
from checkpoints.model_manifests import add_manifest, require_intact
from checkpoints.plain_files import load_plain, not_finite
from records.best_model import RankedModel, SavedModel, best_of, last_test_in, reason_to_play, recorded_best, to_play
from records.find_run import shipped_model, shipped_models
from records.layout import BEST
from records.recorded import manifests
from utils.errors import ConfigError
from utils.files.folders import replace_folder
from utils.nearest import did_you_mean
from utils.plain_values import quoted


def load_weights(target: Any, path: str | Path, names: Sequence[str] = ()) -> None:
    """Load a state dict from `path` into a network or an optimiser; code in the file is never run.

    Args:
        names: of an optimiser, those of its parameters: checkpoints of enn-trainer have them in another order.

    Raises:
        ConfigError: the file is missing, is not a state dict, has NaN or infinite numbers, or does not fit `target`.
    """
    state = enn_state(Path(path), target, names) if is_enn_checkpoint(Path(path).parent) else _read(path)
    if (place := not_finite(state)) is not None:
        raise ConfigError(f"{path} has weights that cannot be used, in {place}. Load the model of another step.")
    try:
        _check_same_optimiser(target, state)
        target.load_state_dict(state)
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = "; ".join(line.strip() for line in str(error).split("\n")[:4] if line.strip())
        raise ConfigError(
            f"{path} does not fit this experiment's networks ({type(target).__name__}): {reason}\n"
            "Start it with the algorithm, map and network sizes that it was saved with."
        ) from None


def is_saved(path: str | Path) -> bool:
    """Whether a model has what `load_weights` would read from `path`."""
    return is_enn_checkpoint(Path(path).parent) or os.path.isfile(path)


def _read(path: str | Path) -> Any:
    if not os.path.isfile(path):  # a pipe, say, would be waited for
        raise ConfigError(f"The checkpoint has no file {path}.")
    try:
        return load_plain(path, follow_links=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read as weights: {error.strerror}.") from None
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read as weights: {error}.") from None


def _check_same_optimiser(target: Any, state: dict) -> None:
    # torch would take another optimiser's settings and fail only at the next step
    settings = {"alpha", "betas"} & set(getattr(target, "defaults", ()))
    if settings and not settings <= set(state["param_groups"][0]):
        raise ValueError("it was saved by another optimiser (see the key 'optimizer')")


def model_to_play(checkpoint_path: str, load_step: int) -> tuple[Path, int, str]:
    """Return the folder and step of a saved model to play, and why this one, in a sentence that may be empty.

    `load_step` picks one as in `find_checkpoint`; with 0, `records.best_model.to_play` does.

    Raises:
        ConfigError: as `find_checkpoint`.
    """
    root = _folder(checkpoint_path)
    place, step = _found(checkpoint_path, load_step)
    reason = ""
    if not load_step and place.parent == root and not is_enn_checkpoint(place):
        place, step, reason = _to_play(root)
    require_intact(place)
    return place, step, reason


def _to_play(root: Path) -> tuple[Path, int, str]:
    figures = {step: last_test_in(manifest) for step, manifest in manifests(root).items()}
    found = [SavedModel(root, RankedModel(step, figures.get(step, {}))) for step in _steps(root)]
    recorded, best = recorded_best(root / BEST), best_of(root)
    if recorded is not None and best is not None and _has_weights(recorded[0]):
        found.append(SavedModel(recorded[0], best))
    chosen = to_play(found)
    place = root / str(chosen.step) if chosen.folder == root else chosen.folder
    return place, chosen.step, reason_to_play(found)


def find_checkpoint(checkpoint_path: str, load_step: int, key: str = "checkpoint_path") -> tuple[Path, int]:
    """Return the folder and step of the saved model nearest to `load_step` (0: the newest).

    `checkpoint_path` has a subfolder for each step, or is itself the folder `best` of a run, or is the name of a model
    that comes with Muster. `key` is the config's that has the path, for errors.

    Raises:
        ConfigError: `checkpoint_path` holds no saved model; the message lists the expected files. Or a file has changed
            since it was written.
    """
    place, step = _found(checkpoint_path, load_step, key)
    require_intact(place)
    return place, step


def _found(checkpoint_path: str, load_step: int, key: str = "checkpoint_path") -> tuple[Path, int]:
    root = _folder(checkpoint_path)
    expected = "It should have a subfolder for each saved step, such as 20000/ with agent.th in it."
    if (best := recorded_best(root)) is not None and _has_weights(best[0]):
        if load_step not in (0, best[1]["step"]):
            raise ConfigError(
                f"load_step={load_step}: {root} holds the model of step {best[1]['step']} only. Leave load_step out, "
                f"or give its parent: {key}={root.parent}."
            )
        return best[0], best[1]["step"]
    if not os.path.isdir(root):  # unlike Path.is_dir, False for a name that is too long, too
        known = did_you_mean(checkpoint_path, shipped_models())
        raise ConfigError(f"{key}={quoted(checkpoint_path, 300)}: there is no such folder.{known} {expected}")
    if theirs := enn_checkpoints(root):
        step = _nearest(theirs, load_step)
        return theirs[step], step
    try:
        steps = _steps(root)
    except OSError as error:
        raise ConfigError(f"{key}={checkpoint_path} cannot be read ({error.strerror}).") from None
    if not steps:
        hint = ""
        if (root / "agent.th").is_file():
            chosen = f" load_step={root.name}" if key == "checkpoint_path" else ""
            hint = f" It holds agent.th itself: give its parent, {key}={root.parent}{chosen}."
        if (root / "weights1.torch").is_file():
            hint = f" It holds weights of Linesight: `python src/convert.py {root}` makes a model of them (--help)."
        raise ConfigError(f"{key}={checkpoint_path} holds no checkpoint.{hint} {expected}")
    step = _nearest(steps, load_step)
    return root / str(step), step


def _folder(checkpoint_path: str) -> Path:
    path = Path(checkpoint_path)
    if os.path.isdir(path) or (model := shipped_model(checkpoint_path)) is None:
        return path
    return model / BEST if (model / BEST).is_dir() else model


def _nearest(steps: Iterable[int], load_step: int) -> int:
    return max(steps) if load_step == 0 else min(steps, key=lambda s: (abs(s - load_step), -s))


def _steps(root: Path) -> list[int]:
    return [int(path.name) for path in root.iterdir() if _is_step(path.name) and _has_weights(path)]


def _has_weights(folder: Path) -> bool:
    """Whether it has the models of one team, or a folder with such for each of several."""
    return any(folder.glob("*.th")) or any(folder.glob("*/*.th"))


def _is_step(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 20 and str(int(name)) == name


def saved_bytes(state: Any) -> memoryview:
    """The bytes that `torch.save` would write: in memory first, because its errors on a full disk hide the cause."""
    import torch as th

    buffer = io.BytesIO()
    th.save(state, buffer)
    return buffer.getbuffer()


def save_weights(part: Any, path: str | Path) -> None:
    """Write the state dict of a network or an optimiser, as `torch.save` does.

    Raises:
        OSError: the file cannot be written.
    """
    Path(path).write_bytes(saved_bytes(part.state_dict()))


def save_checkpoint(learner: Any, folder: str | Path, records: Mapping[str, str] | None = None) -> None:
    """Let `learner` save into `folder`, which appears only when it is complete.

    Args:
        records: texts to write beside its files, by file name.
    """
    folder = Path(folder)
    unfinished = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        learner.save_models(str(unfinished))
        for name, text in (records or {}).items():
            (unfinished / name).write_text(text, encoding="utf-8")
        if _has_weights(unfinished):
            add_manifest(unfinished)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    # the same step again, e.g. in a resumed run: newer weights replace it
    replace_folder(unfinished, folder)
