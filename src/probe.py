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
    parser.add_argument("--games", metavar="NAMES", help="of them only these, such as delay,memory")
    return parser


def _probe(words: list[str]) -> None:
    options = _parser().parse(words)

    from cli.probing import FAILED, line_of, outcomes_of, require_config, require_games
    from cli.settings import check_settings, texts_as_typed
    from utils.errors import MusterError

    settings, games = check_settings(options.words), require_games(options.games)
    algorithm, texts = require_config(options.config), texts_as_typed(options.words)
    failed = 0
    for outcome in outcomes_of(algorithm, settings, texts, games):
        print(line_of(outcome), flush=True)
        failed += outcome.verdict == FAILED
    if failed:
        raise MusterError(f"{failed} of {len(games)} probes failed.")


main = program(_probe, "the probes that were played are above.")

if __name__ == "__main__":
    start(main)
