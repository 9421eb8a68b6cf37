"""Reading what torch has saved: plain values and tensors, from files that may be damaged or hostile."""

import os
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.files.regular_files import open_regular

NOT_PLAIN = "it is damaged, or holds more than plain values and tensors: code, say, which is never run"


def load_plain(path: str | Path, follow_links: bool = False) -> Any:
    """What `torch.save` wrote into a file. Code in it does not run.

    Args:
        follow_links: the file may be a link.

    Raises:
        ValueError: it is something else; the text is a reason in words, not torch's, which advises to run the code.
        OSError: it is not there, or not a regular file.
    """
    import torch as th

    with open_regular(path, follow_links=follow_links) as file:
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            raise ValueError("it is empty")
        try:
            unpacked = _unpacked(file)
            file.seek(0)
            if unpacked <= size:
                return th.load(file, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:
            raise ValueError(NOT_PLAIN) from None
        except MemoryError:
            raise
        except Exception:  # torch and zipfile raise many kinds for unexpected bytes
            raise ValueError("it is truncated or damaged") from None
    # torch compresses nothing when it saves: a few kilobytes could become more than fits any memory
    raise ValueError(f"it has {size} bytes and would unpack to {unpacked}")


def _unpacked(file: Any) -> int:
    """The bytes in an archive; 0 for the form of torch before 1.6, which is none."""
    if not zipfile.is_zipfile(file):
        return 0
    with zipfile.ZipFile(file) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def not_finite(state: Any, where: str = "") -> str | None:
    """Which entry of a state dict has numbers that are NaN or infinite, for people; None: no tensor has."""
    import torch as th

    if isinstance(state, th.Tensor):
        if (state.is_floating_point() or state.is_complex()) and (wrong := int((~th.isfinite(state)).sum())):
            return f"{where or 'the tensor'}: {wrong} of {state.numel()} numbers are NaN or infinite"
    elif isinstance(state, Mapping | list | tuple):
        for key, value in state.items() if isinstance(state, Mapping) else enumerate(state):
            if (found := not_finite(value, f"{where}.{key}".lstrip("."))) is not None:
                return found
    return None
