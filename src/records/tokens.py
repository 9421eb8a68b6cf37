"""The name of a run, which its folders bear."""

import re
import unicodedata
from datetime import datetime

# a file name has at most 255 bytes, and what is made of a run's name adds a few
LONGEST = 200
LONGEST_SCENARIO = 60


def run_token(name: str, seed: int, scenario: str, now: datetime) -> str:
    """`<name>_seed<seed>_<scenario>_<time>`, fit for a file name anywhere and, to the microsecond, for this run alone.

    What is not a letter, digit, `_`, `-` or `.` becomes `-`, and what is too long is cut, the name first.
    """
    ending = f"_seed{seed}_{_cut(_plain(scenario), LONGEST_SCENARIO)}_{now.strftime('%Y-%m-%d_%H-%M-%S-%f')}"
    # no hidden folder, and none that looks like an option
    start = _plain(name).lstrip("-.") or "run"
    return _cut(start, LONGEST - len(ending.encode())) + ending


def _plain(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", str(text)))


def _cut(text: str, longest: int) -> str:
    """At most `longest` bytes of it."""
    return text.encode()[:longest].decode(errors="ignore")
