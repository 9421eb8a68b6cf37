"""The files of a run that Linesight saves: `save/<run>/weights1.torch`, and what is beside it. No code in them runs."""

import ast
import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from checkpoints.plain_files import load_plain, not_finite
from utils.errors import ConfigError
from utils.files.regular_files import read_regular

WEIGHTS, OPTIMISER, STATISTICS = "weights1.torch", "optimizer1.torch", "accumulated_stats.joblib"
NORMALISATION = "state_normalization.py"
LARGEST = 2**26  # bytes of statistics, and of a file in Python
COMPILED = "_orig_mod."  # before the names of a network that torch.compile has wrapped
# what pickles of plain numbers name
HARMLESS = {
    ("collections", "defaultdict"): defaultdict,
    ("builtins", "int"): int,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "scalar"): None,
    ("numpy._core.multiarray", "scalar"): None,
}


def read_weights(folder: Path) -> dict[str, Any]:
    """The network's weights by Linesight's names.

    Raises:
        ConfigError: there are none, or they are damaged, not finite, or something else.
    """
    state = _loaded(folder / WEIGHTS, f"There is no {WEIGHTS}; name a folder that Linesight saved, such as save/<run>.")
    if not isinstance(state, dict) or not all(hasattr(value, "shape") for value in state.values()):
        raise ConfigError(f"{folder / WEIGHTS} has no weights by names.")
    if (place := not_finite(state)) is not None:
        raise ConfigError(f"{folder / WEIGHTS} has weights that cannot be used, in {place}.")
    return {str(name).removeprefix(COMPILED): value for name, value in state.items()}


def read_optimiser(folder: Path) -> dict[int, dict[str, Any]] | None:
    """What the optimiser knows of each weight, by its number; None: there is no such file.

    Raises:
        ConfigError: it is damaged, not finite, or something else.
    """
    if not (folder / OPTIMISER).exists():
        return None
    state = _loaded(folder / OPTIMISER, "")
    moments = state.get("state") if isinstance(state, dict) else None
    if not isinstance(moments, dict) or not all(isinstance(one, dict) for one in moments.values()):
        raise ConfigError(f"{folder / OPTIMISER} is the state of no optimiser.")
    if (place := not_finite(moments)) is not None:
        raise ConfigError(f"{folder / OPTIMISER} has numbers that cannot be used, in {place}.")
    return moments


def read_statistics(folder: Path) -> dict[str, Any]:
    """The counts and best times of the run, `accumulated_stats`; {}: there is no such file.

    Raises:
        ConfigError: it holds more than numbers, texts and mappings of them, or is damaged.
    """
    path = folder / STATISTICS
    if not path.exists():
        return {}
    try:
        found = _Numbers(io.BytesIO(read_regular(path, LARGEST, follow_links=True))).load()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception:  # unexpected bytes raise many kinds
        raise ConfigError(f"{path} is damaged, or holds more than numbers: code, say, which is never run.") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} holds no counts by names.")
    return dict(found)


class _Numbers(pickle.Unpickler):
    """Reads nothing but plain values, and numbers of NumPy."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in HARMLESS:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return HARMLESS[module, name] or _number


def _number(kind: np.dtype, data: bytes) -> Any:
    if kind.kind not in "biuf":
        raise pickle.UnpicklingError(str(kind))
    return np.frombuffer(data, kind, count=1)[0].item()


def read_normalisation(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The means and deviations by which Linesight scales its floats, float64 `[F]` each, of its state_normalization.py.

    The file is read, and not run: both are lists of numbers there.

    Raises:
        ConfigError: it cannot be read, or has no such lists.
    """
    try:
        tree = ast.parse(read_regular(path, LARGEST, follow_links=True))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConfigError(f"{path} is no Python.") from None
    values = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    mean, deviation = (_numbers(path, name, values.get(name)) for name in ("float_inputs_mean", "float_inputs_std"))
    if mean.shape != deviation.shape or not (deviation > 0).all():
        raise ConfigError(f"{path}: float_inputs_std must have {len(mean)} numbers above 0, as float_inputs_mean has.")
    return mean, deviation


def _numbers(path: Path, name: str, node: ast.expr | None) -> np.ndarray:
    if isinstance(node, ast.Call) and node.args:  # np.array([...])
        node = node.args[0]
    try:
        values = np.array([] if node is None else ast.literal_eval(node), dtype=np.float64)
        if values.ndim == 1 and len(values) and np.isfinite(values).all():
            return values
    except (ValueError, TypeError, SyntaxError):
        pass
    raise ConfigError(f"{path}: {name} must be a list of numbers, as in Linesight's file.")


def _loaded(path: Path, hint: str) -> Any:
    try:
        return load_plain(path, follow_links=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}. {hint}".rstrip()) from None
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read as weights: {error}.") from None
