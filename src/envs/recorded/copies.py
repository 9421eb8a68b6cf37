"""Data sets as copies in the formats of others."""

import shutil
from collections.abc import Callable
from pathlib import Path

from envs.recorded.description import EPISODE, Description
from envs.recorded.formats import DataSet
from envs.recorded.minari_data import check_minari, write_minari
from envs.recorded.recording import RecordingWriter
from envs.recorded.vault import check_vault, write_vault
from utils.errors import ConfigError
from utils.plain_values import quoted

RECORDING, VAULT, MINARI = "recording", "vault", "minari"


def check_copy(format: str, description: Description) -> None:
    """Refuse data that a format cannot have.

    Raises:
        ConfigError: names the field, or the package that is missing.
    """
    if format in _CHECKS:
        _CHECKS[format](description)


def write_copy(data: DataSet, format: str, folder: Path) -> int:
    """Write data in a format into a new folder; returns the number of steps.

    Raises:
        ConfigError: the folder exists, or the format does not take the data; nothing is left there.
    """
    if folder.exists():
        raise ConfigError(f"{quoted(str(folder), 300)} exists already.")
    try:
        return _WRITERS[format](data, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def beside(recording: str | Path, format: str) -> Path:
    """The place of a recording's copy: `<recording>.vlt/0`, `<recording>_minari`."""
    return Path(f"{recording}.vlt", "0") if format == VAULT else Path(f"{recording}_{format}")


def _write_recording(data: DataSet, folder: Path) -> int:
    writer = RecordingWriter(folder, data.description)
    for part in data.parts():
        writer.add({**part, EPISODE: part[EPISODE] - part[EPISODE].min()})
    return writer.steps


_CHECKS: dict[str, Callable[[Description], None]] = {VAULT: check_vault, MINARI: check_minari}
_WRITERS: dict[str, Callable[[DataSet, Path], int]] = {
    VAULT: write_vault,
    MINARI: write_minari,
    RECORDING: _write_recording,
}
