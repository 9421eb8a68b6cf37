"""Data sets by their place: Muster's recordings, vaults, Minari's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from envs.recorded.description import Description
from envs.recorded.episodes import Steps
from envs.recorded.minari_data import METADATA as MINARI_METADATA
from envs.recorded.minari_data import PREFIX, MinariData
from envs.recorded.recording import HEADER, Recording
from envs.recorded.vault import METADATA, Vault
from utils.errors import ConfigError
from utils.plain_values import quoted


class DataSet(Protocol):
    """Steps of whole episodes."""

    format: str
    folder: Path
    files: list[Path]
    description: Description

    def parts(self) -> Iterator[Steps]:
        """The steps, part by part; an episode is in one part."""


def open_data(place: str | Path) -> DataSet:
    """The data set at a place: a folder, or `minari:<id>`.

    Raises:
        ConfigError: there is none, or it is damaged.
    """
    if str(place).startswith(PREFIX):
        return MinariData(place)
    folder = Path(place).expanduser()
    if not str(place) or not folder.is_dir():
        raise ConfigError(f"dataset={quoted(str(place), 300)}: there is no such folder.")
    if (folder / HEADER).exists():
        return Recording(folder)
    if any((folder / name / MINARI_METADATA).exists() for name in ("data", ".")) and not _is_vault(folder):
        return MinariData(folder)
    if any(folder.glob(f"*/{METADATA}")) or (folder / METADATA).exists():
        return Vault(folder)
    raise ConfigError(
        f"dataset={quoted(str(place), 300)}: it is no data set. It needs {HEADER} (record_data), {METADATA} of a "
        "vault, or data/ of Minari."
    )


def _is_vault(folder: Path) -> bool:
    return (folder / METADATA).exists() and any(folder.glob("manifest.ocdbt"))
