"""A model of the weights that Linesight has saved: `python src/convert.py FOLDER --config=NAME --env-config=NAME`."""

from cli.command import program, start


def _convert(words: list[str]) -> None:
    from cli.convert import convert, parse

    convert(parse(words))


main = program(_convert, "nothing was saved.")

if __name__ == "__main__":
    start(main)
