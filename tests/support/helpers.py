"""Arguments and batches that tests share."""

import contextlib
import copy
import io
import signal
import subprocess
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from checks.options import completed, declared
from checks.pairings import check_pairings
from checks.parts import ChosenParts
from checks.sizes import check_sizes
from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec

DEFAULTS = {key: option.default for key, option in declared().items()}
SIZES = {"n_agents": 2, "n_actions": 3, "state_shape": 4, "obs_shape": 5}


def make_args(**changes):
    """Every documented key at its default, small sizes, and `changes`."""
    changes = {"device": "cpu", "use_cuda": False, "seed": 1, **changes}
    return SimpleNamespace(**{**copy.deepcopy(DEFAULTS), **SIZES, **changes})


def check_chosen_parts(config):
    """Refuse parts and sizes that do not go together, as `check_config` does."""
    parts = ChosenParts(completed(config))
    check_pairings(parts)
    check_sizes(parts)


def empty_batch(batch_size, max_seq_length, **sizes):
    """An EpisodeBatch with the scheme of a run."""
    scheme, groups, preprocess = scheme_of(pymarl_spec({**SIZES, **sizes}))
    return EpisodeBatch(scheme, groups, batch_size, max_seq_length, preprocess=preprocess)


def random_batch(lengths, max_seq_length, ends="terminated", seed=0, **sizes):
    """Episodes of the given lengths, filled as runners fill them.

    Args:
        lengths: steps of each episode, below `max_seq_length`.
        ends: how each ends, or all: "terminated" or "truncated".
    """
    rng = np.random.default_rng(seed)
    ends = [ends] * len(lengths) if isinstance(ends, str) else ends
    batch = empty_batch(len(lengths), max_seq_length, **sizes)
    n_agents, n_actions = batch["avail_actions"].shape[2:]
    for row, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        for t in range(length + 1):
            actions = rng.integers(n_actions, size=(n_agents, 1))
            avail = rng.integers(2, size=(n_agents, n_actions))
            np.put_along_axis(avail, actions, 1, axis=1)
            batch.update(
                {
                    "state": rng.normal(size=batch["state"].shape[2:]),
                    "obs": rng.normal(size=batch["obs"].shape[2:]),
                    "avail_actions": avail,
                    "actions": actions,
                },
                bs=row,
                ts=t,
            )
            if t < length:
                last = t == length - 1
                outcome = {"reward": rng.normal(), "terminated": last and end == "terminated"}
                batch.update({**outcome, "truncated": last and end == "truncated"}, bs=row, ts=t)
    return batch


def recreation_seed_by_hand(first_seed, recreated):
    """The documented seed of an environment's k-th re-creation."""
    return int(np.random.SeedSequence([first_seed, recreated]).generate_state(1)[0]) % 2**31


def fill(parameters, seed=0, scale=0.3):
    """Give parameters reproducible random values."""
    generator = th.Generator().manual_seed(seed)
    with th.no_grad():
        for parameter in parameters:
            parameter.copy_(scale * th.randn(parameter.shape, generator=generator))


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
