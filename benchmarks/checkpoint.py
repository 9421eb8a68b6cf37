"""How long does a checkpoint stop training?

python benchmarks/checkpoint.py [--gigabytes 2] [--folder DIR]

A replay buffer of episodes of 27m_vs_30m's shape is filled to the given size. Then, in one process:

- "all at once": everything that the buffer holds is saved with torch.save and synced, as a plain checkpoint would
- "first": the first checkpoint of a run whose buffer is full already, the worst case: all of it is written
- "next": one after another 64 episodes, the usual case
- "resume": reading it back

For the two of ours, "stopped" is how long `begin` takes, "on the disk" when the folder is whole, and "updates" how much
slower updates of a network are meanwhile.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch as th

from checkpoints.segments import read_segment, segments_of
from checkpoints.store import newest_checkpoint
from checkpoints.writer import CheckpointWriter
from components.buffers.episodes import EpisodeReplay
from components.episode_buffer import EpisodeBatch, ReplayBuffer
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec

SHAPE = {"n_agents": 27, "n_actions": 36, "obs_shape": 285, "state_shape": 1170}
STEPS, EPISODES = 181, 64


def new_batch(seed: int) -> EpisodeBatch:
    """64 whole episodes of random numbers."""
    scheme, groups, preprocess = scheme_of(pymarl_spec(SHAPE))
    batch = EpisodeBatch(scheme, groups, EPISODES, STEPS, preprocess=preprocess)
    generator = th.Generator().manual_seed(seed)
    for key in ("obs", "state", "reward"):
        batch[key].copy_(th.rand(batch[key].shape, generator=generator))
    batch.update({"actions": th.randint(SHAPE["n_actions"], batch["actions"].shape, generator=generator)})
    return batch


def new_buffer(gigabytes: float) -> EpisodeReplay:
    """An empty buffer for whole batches of about this size."""
    scheme, groups, preprocess = scheme_of(pymarl_spec(SHAPE))
    episode = ReplayBuffer(scheme, groups, 1, STEPS, preprocess=preprocess, device="meta").nbytes
    size = max(1, round(gigabytes * 2**30 / episode / EPISODES)) * EPISODES
    args = SimpleNamespace(buffer_size=size, batch_size=1, buffer_dtype="float32", buffer_cpu_only=True, device="cpu")
    console = SimpleNamespace(console_logger=logging.getLogger("benchmark"))
    return EpisodeReplay(scheme, groups, STEPS, preprocess, args, console)


class Updates:
    """Stands for the learner: updates of a network, counted and timed."""

    def __init__(self):
        self.net = th.nn.Sequential(th.nn.Linear(512, 512), th.nn.ReLU(), th.nn.Linear(512, 1))
        self.optimiser = th.optim.Adam(self.net.parameters(), fused=True)
        self.inputs = th.rand(2048, 512)

    def one(self) -> None:
        self.optimiser.zero_grad()
        self.net(self.inputs).square().mean().backward()
        self.optimiser.step()

    def seconds(self, goes_on) -> tuple[float, float]:
        """Seconds of an update while `goes_on()`, and seconds in all."""
        started, count = time.perf_counter(), 0
        while count < 3 or goes_on():
            self.one()
            count += 1
        passed = time.perf_counter() - started
        return passed / count, passed


def checkpoint(writer: CheckpointWriter, updates: Updates, t_env: int, usual: float, what: str, size: float) -> float:
    """Write one, print its figures, and return how long it stopped training."""
    started = time.perf_counter()
    writer.begin({"t_env": t_env, "token": "run", "config": {}}, {"net": updates.net.state_dict()}, lambda folder: None)
    stopped = time.perf_counter() - started
    update, _ = updates.seconds(lambda: writer.busy)
    whole = time.perf_counter() - started
    writer.wait()
    print(f"{what:12} {size:5.2f} GiB  stopped {stopped * 1000:8.1f} ms  on the disk {whole:6.2f} s  ", end="")
    print(f"updates {update / usual:4.2f} times as long")
    return stopped


def all_at_once(buffer: ReplayBuffer, path: Path) -> float:
    """Seconds of torch.save and fsync."""
    started = time.perf_counter()
    with path.open("wb") as file:
        th.save(buffer.data.transition_data, file)
        file.flush()
        os.fsync(file.fileno())
    passed = time.perf_counter() - started
    path.unlink()
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the replay buffer (default 2)")
    parser.add_argument("--folder", default=None, help="where to write (default: the system's temporary folder)")
    arguments = parser.parse_args()
    th.set_num_threads(1)
    buffer, updates = new_buffer(arguments.gigabytes), Updates()
    episodes = buffer.episodes
    for k in range(episodes.buffer_size // EPISODES):
        buffer.insert(new_batch(k))
    size = episodes.nbytes / 2**30
    print(f"{episodes.buffer_size} episodes of 27m_vs_30m's shape, {size:.2f} GiB")
    updates.seconds(lambda: False)
    ends = time.perf_counter() + 2
    usual, _ = updates.seconds(lambda: time.perf_counter() < ends)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        plain = all_at_once(episodes, Path(folder) / "plain.th")
        print(f"{'all at once':12} {size:5.2f} GiB  stopped {plain * 1000:8.1f} ms")
        run_folder = Path(folder) / "run"
        writer = CheckpointWriter(run_folder, {"": buffer.journal}, keep=2)
        first = checkpoint(writer, updates, 1, usual, "first", size)
        part = size * EPISODES / episodes.buffer_size
        nexts = []
        for k in range(2, 5):
            buffer.insert(new_batch(k))
            nexts.append(checkpoint(writer, updates, k, usual, "next", part))
        print(f"all at once / first: {plain / first:.0f}   all at once / next: {plain / min(nexts):.0f}")
        started = time.perf_counter()
        newest, _ = newest_checkpoint(run_folder)
        copy = new_buffer(arguments.gigabytes)
        copy.load_state_dict(buffer.state_dict())
        for segment in segments_of(newest.folder, newest.manifest):
            read_segment(segment, copy.journal)
        print(f"{'resume':12} {size:5.2f} GiB  checked and read in {time.perf_counter() - started:.2f} s")
        writer.close()


if __name__ == "__main__":
    main()
