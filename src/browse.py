"""The run browser: `python src/browse.py --help` explains it."""

from cli.command import program, start


def _browse(words: list[str]) -> None:
    from browser.page.server.arguments import parse_arguments
    from utils.page_packages import PAGE, require

    options = parse_arguments(words)
    require("browse.py", *PAGE)
    from browser.page.server.serving import serve

    try:
        serve(options)
    except KeyboardInterrupt:  # the way to end it
        print()


main = program(_browse, "nothing was served.")

if __name__ == "__main__":
    start(main)
