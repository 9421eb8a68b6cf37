"""Muster's commands as the user types them: `python src/watch.py` in the checkout, `muster watch` by the command.

Texts in the sources, help pages and messages among them, have the checkout's words; `as_typed` translates them where
they are shown.
"""

import os
import re
import shutil
import sys

from utils.own_modules import DOORS, PREFIX

# how the command was typed, for this process and those that it starts
VARIABLE = "MUSTER_COMMAND"
# options of main.py that are verbs of the command
VERBS_OF_MAIN = ("resume", "evaluate", "list", "export")
# programs whose verb is another word: `data.py` would hide a user's module of that name
OTHER_VERBS = {"data_set": "data"}
DISTRIBUTION = "muster-marl"

_PROGRAMS = "|".join(name for name in DOORS if name not in ("run", "command"))
_COMMAND = re.compile(
    rf"(?P<whole>python\s+src/|(?<![\w/.='-])src/|(?<![\w/.='-]))(?P<program>{_PROGRAMS})\.py\b"
    rf"(?: --(?P<verb>{'|'.join(VERBS_OF_MAIN)})(?:=| (?=[\w*])))?"
    r"|make (?P<browse>browse)\b(?: RESULTS=)?"
    r"|(?<!-m )(?P<pip>pip install (?=\S))"
)
_INSTALLATION = re.compile(r"(?P<pip>pip install -r )?requirements(?:-(?P<extra>[a-z]+(?:-[a-z]+)*))?\.txt")


def call_it(typed: str) -> None:
    """From now on messages name the command `muster` as it was typed, such as `./muster`."""
    os.environ[VARIABLE] = typed


def typed_name() -> str:
    """How the command was typed that this process runs: `muster` where it is the one on the user's path."""
    typed = sys.argv[0]
    if os.path.basename(typed) == "__main__.py":
        return "python -m muster"
    found = shutil.which("muster")
    return "muster" if found is not None and os.path.realpath(found) == os.path.realpath(typed) else typed


def by_verbs() -> bool:
    """Whether the user types `muster VERB`, and not `python src/VERB.py`."""
    return bool(PREFIX) or VARIABLE in os.environ


def as_typed(text: str) -> str:
    """A text of ours with its commands as the user types them.

    Of `python src/watch.py latest` or `watch.py latest`, by the command `muster`, this makes `muster watch latest`; of
    `python src/main.py --resume=RUN`, `muster resume RUN`; of `make browse`, `muster browse`; of `pip install`,
    in the checkout, `./muster pip install`. Where Muster is installed, the optional packages of
    `requirements-envs.txt` are `muster-marl[envs]`.
    """
    if by_verbs():
        text = _translated(text, os.environ.get(VARIABLE, "muster"))
    return _INSTALLATION.sub(_as_extra, text) if PREFIX else text


def as_documented(text: str) -> str:
    """A text of ours with its commands as pages and configs have them."""
    return _translated(text, "./muster")


def _translated(text: str, word: str) -> str:
    return _COMMAND.sub(lambda found: _by_verb(found, word), text)


def _by_verb(found: re.Match, word: str) -> str:
    if found["pip"]:
        # the translation of a translation is the same
        known = PREFIX or found.string[: found.start()].endswith(f"{word} ")
        return found[0] if known else f"{word} {found[0]}"
    if found["browse"]:
        return f"{word} browse{' ' if found[0].endswith('=') else ''}"
    if found["verb"]:
        return f"{word} {found['verb']} "
    return word if found["program"] == "main" else f"{word} {OTHER_VERBS.get(found['program'], found['program'])}"


def _as_extra(found: re.Match) -> str:
    distribution = f"{DISTRIBUTION}[{found['extra']}]" if found["extra"] else DISTRIBUTION
    return f'pip install "{distribution}"' if found["pip"] else distribution
