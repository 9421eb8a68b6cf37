"""What a data set has, and data sets in other formats: `python src/data_set.py FOLDER`."""

from cli.command import program, start
from utils.command_line import OptionParser

FORMATS = ("vault", "minari", "recording")


def _parser() -> OptionParser:
    parser = OptionParser(
        "data_set.py",
        "Print what a data set has, or write it in another format (docs/data_sets.md).",
    )
    parser.add_argument("data", metavar="FOLDER", help="of record_data, of Minari or a vault; or minari:ID")
    parser.add_argument("--to", choices=FORMATS, help="write it in this format, too: vault (OG-MARL's), minari, ...")
    parser.add_argument("--out", metavar="FOLDER", help="the folder that --to makes")
    return parser


def _show(words: list[str]) -> None:
    from cli.data_set import show, write

    options = _parser().parse(words)
    (write if options.to else show)(options)


main = program(_show, "what was written is incomplete.")

if __name__ == "__main__":
    start(main)
