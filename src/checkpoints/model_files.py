"""Saved models: folders `<checkpoint_path>/<step>/` with PyMARL's files (`agent.th`, `mixer.th`, `opt.th`, ...).

A folder of any other name is a saved model, too, if its `best.json` gives the step (`records.best_model`).
"""

import io
import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from records.best_model import RankedModel, SavedModel, best_of, reason_to_play, recorded_best, to_play, told_by
from records.layout import BEST
from records.recorded import manifests
from utils.errors import ConfigError
from utils.folders import replace_folder
from utils.plain_values import shown


def load_weights(target: Any, path: str | Path) -> None:
    """Load a state dict from `path` into a network or an optimiser; code in the file is never run.

    Raises:
        ConfigError: the file is missing, is not a state dict, or does not fit `target`.
    """
    import torch as th

    if not os.path.isfile(path):  # a pipe, say, would be waited for
        raise ConfigError(f"The checkpoint has no file {path}.")
    try:
        require_uncompressed(path)
        state = th.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged or hostile file
        reason = str(error).split("\n")[0]
        raise ConfigError(f"{path} cannot be read as weights: {reason}") from None
    try:
        _check_same_optimiser(target, state)
        target.load_state_dict(state)
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = "; ".join(line.strip() for line in str(error).split("\n")[:4] if line.strip())
        raise ConfigError(
            f"{path} does not fit this experiment's networks ({type(target).__name__}): {reason}\n"
            "Start it with the algorithm, map and network sizes that it was saved with."
        ) from None


def require_uncompressed(path: str | Path) -> None:
    """Refuse a file of torch's that would unpack to more than it is long: torch compresses nothing when it saves.

    Raises:
        ValueError: it does; a few kilobytes could become more than fits any memory.
        OSError: the file cannot be read.
    """
    if not zipfile.is_zipfile(path):  # the form of torch before 1.6
        return
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > (size := os.path.getsize(path)):
        raise ValueError(f"it has {size} bytes and would unpack to {unpacked}")


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
    root = Path(checkpoint_path)
    place, step = find_checkpoint(checkpoint_path, load_step)
    if load_step or place.parent != root:
        return place, step, ""
    figures = {step: told_by(manifest) for step, manifest in manifests(root).items()}
    found = [SavedModel(root, RankedModel(step, figures.get(step, {}))) for step in _steps(root)]
    best = recorded_best(root / BEST)
    if best is not None and _has_weights(best[0]):
        found.append(SavedModel(best[0], best_of(root)))
    chosen = to_play(found)
    place = root / str(chosen.step) if chosen.folder == root else chosen.folder
    return place, chosen.step, reason_to_play(found)


def find_checkpoint(checkpoint_path: str, load_step: int, key: str = "checkpoint_path") -> tuple[Path, int]:
    """Return the folder and step of the saved model nearest to `load_step` (0: the newest).

    `checkpoint_path` has a subfolder for each step, or is itself the folder `best` of a run. `key` is the config's
    that has the path, for errors.

    Raises:
        ConfigError: `checkpoint_path` holds no saved model; the message lists the expected files.
    """
    root = Path(checkpoint_path)
    expected = "It should have a subfolder for each saved step, such as 20000/ with agent.th in it."
    if (best := recorded_best(root)) is not None and _has_weights(best[0]):
        if load_step not in (0, best[1]["step"]):
            raise ConfigError(
                f"load_step={load_step}: {root} holds the model of step {best[1]['step']} only. Leave load_step out, "
                f"or give its parent: {key}={root.parent}."
            )
        return best[0], best[1]["step"]
    if not os.path.isdir(root):  # unlike Path.is_dir, False for a name that is too long, too
        raise ConfigError(f"{key}={shown(checkpoint_path, 300)}: there is no such folder. {expected}")
    try:
        steps = _steps(root)
    except OSError as error:
        raise ConfigError(f"{key}={checkpoint_path} cannot be read ({error.strerror}).") from None
    if not steps:
        hint = ""
        if (root / "agent.th").is_file():
            chosen = f" load_step={root.name}" if key == "checkpoint_path" else ""
            hint = f" It holds agent.th itself: give its parent, {key}={root.parent}{chosen}."
        raise ConfigError(f"{key}={checkpoint_path} holds no checkpoint.{hint} {expected}")
    step = max(steps) if load_step == 0 else min(steps, key=lambda s: (abs(s - load_step), -s))
    return root / str(step), step


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
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    # the same step again, e.g. in a resumed run: newer weights replace it
    replace_folder(unfinished, folder)
