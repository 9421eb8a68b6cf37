"""Replays as moving pictures, through imageio."""

import importlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import numpy as np

from utils.errors import ConfigError

INSTALL = "pip install -r requirements-browser.txt"


def write_gif(path: str | Path, frames: Iterable[np.ndarray], fps: float) -> int:
    """Write an animation that repeats; returns the number of its frames.

    Raises:
        ConfigError: imageio is missing, or the file cannot be written.
    """
    return _write(path, frames, ("imageio",), {"format": "GIF", "duration": 1000 / fps, "loop": 0})


def write_mp4(path: str | Path, frames: Iterable[np.ndarray], fps: float) -> int:
    """Write a film (H.264); returns the number of its frames.

    Raises:
        ConfigError: imageio or imageio-ffmpeg is missing, or the file cannot be written.
    """
    options = {"format": "FFMPEG", "fps": fps, "codec": "libx264", "macro_block_size": 2, "quality": 8}
    return _write(path, frames, ("imageio", "imageio_ffmpeg"), options)


def _write(path: str | Path, frames: Iterable[np.ndarray], packages: tuple[str, ...], options: dict) -> int:
    imageio, *_ = (_require(package) for package in packages)
    count, path = 0, Path(path)
    # the ending chooses the form of a film
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        with imageio.get_writer(unfinished, **options) as writer:
            for frame in frames:
                writer.append_data(frame)
                count += 1
        os.replace(unfinished, path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:  # half an animation helps nobody
        unfinished.unlink(missing_ok=True)
    return count


def _require(package: str) -> ModuleType:
    try:
        return importlib.import_module(f"{package}.v2" if package == "imageio" else package)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Animations need the package '{error.name}', which is not installed. Install it with: {INSTALL}"
        ) from None
