"""Arguments and batches that tests share."""

import contextlib
import io
import signal
import subprocess
import zipfile

import numpy as np
import pytest
import torch as th

from checks.options import completed
from checks.pairings import check_pairings
from checks.parts import ChosenParts
from checks.sizes import check_sizes
from muster.testing import SIZES, empty_batch, fill, make_args, random_batch

__all__ = ["SIZES", "empty_batch", "fill", "make_args", "random_batch"]


def check_chosen_parts(config):
    """Refuse parts and sizes that do not go together, as `check_config` does."""
    parts = ChosenParts(completed(config))
    check_pairings(parts)
    check_sizes(parts)


def recreation_seed_by_hand(first_seed, recreated):
    """The documented seed of an environment's k-th re-creation."""
    return int(np.random.SeedSequence([first_seed, recreated]).generate_state(1)[0]) % 2**31


def compressed(path, state):
    """A file of torch's with everything in it compressed, which torch itself never does."""
    buffer = io.BytesIO()
    th.save(state, buffer)
    with zipfile.ZipFile(buffer) as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in plain.infolist():
            packed.writestr(entry.filename, plain.read(entry))
    return path


def hear_ctrl_c():
    """For a process that a test starts (`preexec_fn`): tests in a shell's background ignore SIGINT, and so would it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def small_disk(folder, size="64k"):
    """A file system of this size at `folder` while the block runs; skips the test where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small disk needs the right to mount: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder):
    """Use up all that is left; returns the file to remove."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    return path
