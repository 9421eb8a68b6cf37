"""How much memory does a full replay buffer take? Resident memory on three of SMAC's maps, against PyMARL's layout.

python benchmarks/memory.py
python benchmarks/memory.py --maps 3m --episodes 500

Each figure is measured in a separate process that fills a buffer for `--episodes` episodes with episodes as long as
the limit, and is scaled to 5000. PyMARL's layout is the same fields as float32, int64, int32 and uint8, one-hot actions
included, allocated as PyMARL does: with `torch.zeros`.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

BUFFER_SIZE = 5000
MAPS = {
    "3m": {"n_agents": 3, "obs_shape": 30, "state_shape": 48, "n_actions": 9, "episode_limit": 60},
    "8m": {"n_agents": 8, "obs_shape": 80, "state_shape": 168, "n_actions": 14, "episode_limit": 120},
    "27m_vs_30m": {"n_agents": 27, "obs_shape": 285, "state_shape": 1170, "n_actions": 36, "episode_limit": 180},
}
LAYOUTS = ("pymarl", "float32", "float16")


def resident() -> int:
    """Bytes of this process that are in main memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def fill(name: str, layout: str, episodes: int) -> None:
    """Print how many bytes an empty and a full buffer of `episodes` episodes take."""
    import torch as th

    from components.episode_buffer import EpisodeBatch, ReplayBuffer
    from components.scheme import scheme_of
    from envs.contract.fields import pymarl_spec

    sizes = MAPS[name]
    length = sizes["episode_limit"] + 1
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes), "float32" if layout == "pymarl" else layout)
    episode = EpisodeBatch(scheme, groups, 1, length, preprocess=preprocess)
    numbers = {key: th.rand_like(episode[key]) for key in ("obs", "state", "reward")}
    choices = {key: th.ones_like(episode[key]) for key in ("actions", "avail_actions", "terminated", "truncated")}
    episode.update(numbers | choices)
    # the figures exclude one-time costs of the first insert and the first random numbers
    ReplayBuffer(scheme, groups, 1, length, preprocess=preprocess).insert_episode_batch(episode)

    start = resident()
    if layout == "pymarl":
        buffer = EpisodeBatch(scheme, groups, episodes, length, preprocess=preprocess)
        empty = resident() - start
        for row in range(episodes):
            for key, values in episode.data.transition_data.items():
                buffer.data.transition_data[key][row] = values[0]
    else:
        buffer = ReplayBuffer(scheme, groups, episodes, length, preprocess=preprocess)
        empty = resident() - start
        for _ in range(episodes):
            buffer.insert_episode_batch(episode)
    print(empty, resident() - start)


def measured(name: str, layout: str, episodes: int) -> tuple[float, float]:
    """GiB of an empty and of a full buffer of `BUFFER_SIZE` episodes, scaled from a smaller one."""
    command = [sys.executable, __file__, "--fill", name, layout, "--episodes", str(episodes)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    empty, full = (int(figure) / 2**30 * BUFFER_SIZE / episodes for figure in done.stdout.split())
    return empty, full


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--maps", nargs="+", choices=tuple(MAPS), default=list(MAPS))
    parser.add_argument("--episodes", type=int, default=250, help="how many are really inserted")
    parser.add_argument("--fill", nargs=2, metavar=("MAP", "LAYOUT"), help="measure one in this process")
    options = parser.parse_args()
    if options.fill:
        fill(*options.fill, options.episodes)
        return
    print(f"resident memory of {BUFFER_SIZE} episodes, GiB (measured with {options.episodes} and scaled)\n")
    print(f"{'map':<12}{'layout':<10}{'empty':>9}{'full':>9}{'of PyMARL':>12}")
    for name in options.maps:
        for layout in LAYOUTS:
            empty, full = measured(name, layout, options.episodes)
            if layout == "pymarl":
                theirs = full
            print(f"{name:<12}{layout:<10}{empty:>9.2f}{full:>9.2f}{full / theirs:>11.0%}", flush=True)


if __name__ == "__main__":
    main()
