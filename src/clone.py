"""Train a policy to choose what was chosen in a recording: `python src/clone.py RECORDING`."""

from cli.command import program, start


def _clone(words: list[str]) -> None:
    from cli.clone import clone, parse

    clone(parse(words))


main = program(_clone, "nothing was saved.")

if __name__ == "__main__":
    start(main)
