"""Replays as animations: `python src/replay.py FILE --gif OUT.gif` or `--mp4 OUT.mp4`.

A FILE may be the folder of a run's best race: without `--gif` and `--mp4`, it becomes a replay. `--line OUT.npy` writes
the way of its car as a reference line.
"""

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cli.command import program, start
from records.layout import BEST_EPISODES, REPLAYS, RUNS
from utils.command_line import OptionParser, number
from utils.errors import ConfigError

if TYPE_CHECKING:
    from replays.reader import Replay


def _parser() -> OptionParser:
    parser = OptionParser("replay.py", "Make an animation of a replay (docs/replays.md).")
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help="a replay: results/replays/<token>/<t_env>_<k>.jsonl; or a best race, results/runs/<token>/best_episodes/"
        "<map>, of which a replay is made if there is neither --gif nor --mp4",
    )
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--gif", metavar="OUT", help="write an animated GIF")
    target.add_argument("--mp4", metavar="OUT", help="write a film")
    target.add_argument("--line", metavar="OUT", type=Path, help="write the way of its car as a reference line, .npy")
    parser.add_argument(
        "--game",
        metavar="PORT",
        type=number(1024, 65_535, whole=True),
        help="in place of FILE: the next race in TrackMania",
    )
    parser.add_argument("--map", metavar="PATH", default="", help="with --game: load this map first")
    parser.add_argument("--ghost", metavar="FILE", type=Path, help="another race on the same track, drawn beside it")
    parser.add_argument(
        "--fps", type=number(0.01, 999), default=6, help="environment steps shown in a second (default: 6)"
    )
    parser.add_argument(
        "--scale", type=number(0.01, 999), help="pixels of a world unit (default: 480 for the longer side)"
    )
    return parser


def _export(words: list[str]) -> None:
    options = _parser().parse(words)
    if (options.file is None) == (options.game is None):
        raise ConfigError("Name a FILE, or the port of a game with --game.")
    if options.line is None and (options.game is not None or options.map):
        raise ConfigError("--game and --map belong to --line: a line is what is recorded in the game.")
    if options.line is not None:
        if options.ghost is not None or (options.map and options.game is None):
            raise ConfigError("--line takes a FILE, or --game with --map, and no --ghost.")
        from cli.race_line import write_line

        write_line(options.file, options.line, options.game or 0, options.map)
        return
    if not options.gif and not options.mp4:
        _write_best(options)
        return

    from replays.export import write_gif, write_mp4
    from replays.frames import frames

    replay = _replay(options.file)
    ghost = None if options.ghost is None else _replay(options.ghost)
    write, path = (write_gif, options.gif) if options.gif else (write_mp4, options.mp4)
    count = write(path, frames(replay, options.scale, ghost), options.fps)
    print(f"{path}: {count} frames")


def _replay(path: Path) -> "Replay":
    """A replay with at least one step; the folder of a best race is driven again."""
    from replays.reader import read_replay

    if path.is_dir():
        from envs.racing.rerun import replay_best

        with tempfile.TemporaryDirectory() as folder:
            return read_replay(replay_best(path, folder))
    replay = read_replay(path)
    if not replay.steps:
        raise ConfigError(f"{path} has no steps yet.")
    return replay


def _write_best(options: argparse.Namespace) -> None:
    """Make a replay of a best race, beside the others of its run."""
    path = options.file.resolve()
    if not path.exists():
        raise ConfigError(f"{options.file}: there is no such file or folder.")
    if not path.is_dir():
        raise ConfigError(f"{options.file}: name a file for the animation, with --gif or --mp4.")
    if options.ghost is not None:
        raise ConfigError("--ghost belongs to an animation, --gif or --mp4; the web browser offers replays as ghosts.")
    runs, token, best, _ = ("", "", "", "", *path.parts)[-4:]
    if (runs, best) != (RUNS, BEST_EPISODES):
        raise ConfigError(f"{options.file} is not results/{RUNS}/<token>/{BEST_EPISODES}/<map>.")

    from envs.racing.rerun import replay_best

    print(replay_best(path, path.parents[3] / REPLAYS / token))


main = program(_export, "nothing was written.")

if __name__ == "__main__":
    start(main)
