"""Play an environment of entities in the terminal, or let runs play together: `python src/play.py GAME`, or --cross."""

from cli.command import program, start


def _play(words: list[str]) -> None:
    from cli.play import parse, play

    options = parse(words)
    if options.cross:
        from cli.cross_play import cross

        cross(options)
    elif options.best_response:
        from cli.best_response import best_response

        best_response(options)
    else:
        play(options)


main = program(_play, "nothing was recorded.")

if __name__ == "__main__":
    start(main)
