"""Whether a learner can learn: `python src/probe.py --config=ALG` plays six tiny games of one answer each with it."""

from cli.command import program, start
from utils.command_line import OptionParser

EPILOG = """\
Settings come last, as in: probe.py --config=vdn with plugins='["mine.py"]' learner=mine lr=0.001
They win over what the probes set: short runs, lr=0.005, gamma=0.5, small networks.
"""


def _parser() -> OptionParser:
    parser = OptionParser(
        "probe.py",
        "Play six tiny games of one answer each with an algorithm: what fails shows what is broken "
        "(docs/debugging.md).",
        EPILOG,
        with_settings=True,
    )
    parser.add_argument("--config", metavar="ALG", help="config/algs/ALG.yaml or .py, or a file of yours")
    parser.add_argument("--all", action="store_true", help="every preset in place of one, a line for each")
    parser.add_argument("--games", metavar="NAMES", help="of them only these, such as delay,memory")
    return parser


def _probe(words: list[str]) -> None:
    options = _parser().parse(words)

    from cli.probing import FAILED, line_of, outcomes_of, presets, require_config, require_games, row_of
    from cli.settings import check_settings, texts_as_typed
    from utils.errors import ConfigError, MusterError

    settings, games = check_settings(options.words), require_games(options.games)
    texts, failed = texts_as_typed(options.words), 0
    if options.all:
        if options.config:
            raise ConfigError("--all plays every preset; leave --config out.")
        for preset in presets():
            row, passed = row_of(preset, outcomes_of(preset, settings, texts, games))
            print(row, flush=True)
            failed += not passed
        if failed:
            raise MusterError(f"{failed} of {len(presets())} presets failed.")
        return
    for outcome in outcomes_of(require_config(options.config), settings, texts, games):
        print(line_of(outcome), flush=True)
        failed += outcome.verdict == FAILED
    if failed:
        raise MusterError(f"{failed} of {len(games)} probes failed.")


main = program(_probe, "the probes that were played are above.")

if __name__ == "__main__":
    start(main)
