"""A simulator of both DOTS protocols for the tests, written from the facts with struct and mmap alone.

It shares no code with `dots_simulator` or `envs.dots`: who disagrees with it disagrees with the facts. What it shows
and what it expects to be given are functions of the turn (`dots_turns`), which the tests call as well. It compares
every byte of the files with what they must be when its turn comes, and exits with code 9 at the first difference.

    python dots_standin.py SCENARIO.json --memory-path PATH
"""

import json
import sys

from dots_standin_0 import StandIn0
from dots_standin_0_3_2 import StandIn032


def main():
    with open(sys.argv[1]) as file:
        scenario = json.load(file)
    path = sys.argv[sys.argv.index("--memory-path") + 1]
    (StandIn0 if scenario.get("protocol") == "0" else StandIn032)(scenario, path).play()


if __name__ == "__main__":
    main()
