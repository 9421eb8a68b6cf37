"""Replays as animations: `python src/replay.py FILE --gif OUT.gif` or `--mp4 OUT.mp4`."""

import argparse
import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers
from utils.errors import ConfigError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    options = _parser().parse_args(argv)
    return run_command(lambda: _export(options), "the animation is incomplete.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="replay.py", description="Make an animation of a replay (docs/replays.md).")
    parser.add_argument("file", metavar="FILE", help="a replay: results/replays/<token>/<t_env>_<k>.jsonl")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--gif", metavar="OUT", help="write an animated GIF")
    target.add_argument("--mp4", metavar="OUT", help="write a film")
    parser.add_argument("--fps", type=_positive, default=6, help="environment steps shown in a second (default: 6)")
    parser.add_argument("--scale", type=_positive, help="pixels of a world unit (default: 480 for the longer side)")
    return parser


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1000:
        raise argparse.ArgumentTypeError("it must be above 0 and below 1000")
    return number


def _export(options: argparse.Namespace) -> None:
    from replays.export import write_gif, write_mp4
    from replays.frames import frames
    from replays.reader import read_replay

    replay = read_replay(options.file)
    if not replay.steps:
        raise ConfigError(f"{options.file} has no steps yet.")
    write, path = (write_gif, options.gif) if options.gif else (write_mp4, options.mp4)
    count = write(path, frames(replay, options.scale), options.fps)
    print(f"{path}: {count} frames")


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
