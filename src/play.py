"""Play an environment of entities in the terminal: `python src/play.py GAME`, or RUN to see its policy's choices."""

from cli.command import program, start


def _play(words: list[str]) -> None:
    from cli.play import parse, play

    play(parse(words))


main = program(_play, "nothing was recorded.")

if __name__ == "__main__":
    start(main)
