"""Marks of the results that this user's own runs wrote: a copied or changed folder, or another user's, has none.

A run's folder has `own.txt`, with a keyed digest of where the folder is and of what its config may do beyond the
results. The key is outside of all results, in a file that only this user can read; without it nobody can make a mark.
Where no such file can be kept, nothing is marked, and nothing is anybody's own.
"""

import hmac
import json
import os
import stat
from pathlib import Path

from records.layout import OWN
from utils.files.regular_files import open_regular, read_regular
from utils.files.whole_files import create_whole, write_whole

KEY, KEY_BYTES = "key", 32
# a line for each of the different settings that a run was resumed with
LONGEST, MOST_MARKS = 2**14, 100


def state_folder() -> Path | None:
    """Where this user's programs keep what is neither settings nor results ($XDG_STATE_HOME); None: nowhere."""
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named if os.path.isabs(named) else os.path.expanduser("~/.local/state"))
    return base / "muster" if base.is_absolute() else None


def mark(folder: Path, statement: str) -> None:
    """Mark a run's folder as this user's own, with these settings; where that is impossible it stays unmarked."""
    if not statement:
        return
    try:
        key = _key() or _make_key()
        if key is None:
            return
        marks, digest = _marks(folder), _digest(key, folder, statement)
        if digest not in marks:
            write_whole(str(folder / OWN), ("\n".join([*marks, digest][-MOST_MARKS:]) + "\n").encode())
    except (OSError, RuntimeError):
        return


def is_own(folder: Path, statement: str) -> bool:
    """Whether this user's own run has marked the folder, where it is now, with this statement."""
    try:
        key = _key()
        if key is None:
            return False
        digest = _digest(key, folder, statement)
        return any(hmac.compare_digest(digest, one) for one in _marks(folder))
    except (OSError, RuntimeError):
        return False


def _marks(folder: Path) -> list[str]:
    try:
        text = read_regular(folder / OWN, LONGEST).decode("ascii")
    except (OSError, ValueError):
        return []
    return [line for line in text.split() if len(line) == 64]


def _digest(key: bytes, folder: Path, statement: str) -> str:
    # the number in the file system: another folder that has taken its place is another one
    place = [str(folder.resolve()), os.stat(folder).st_ino, statement]
    return hmac.new(key, json.dumps(place).encode(), "sha256").hexdigest()


def _key() -> bytes | None:
    """This user's key; None if there is none, or others may have read or written it."""
    folder = state_folder()
    if folder is None:
        return None
    try:
        with open_regular(folder / KEY, KEY_BYTES) as file:
            status, key = os.fstat(file.fileno()), file.read()
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077):
        return None
    return key if len(key) == KEY_BYTES else None


def _make_key() -> bytes | None:
    """Raises: OSError: it cannot be written."""
    folder = state_folder()
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    create_whole(str(folder / KEY), os.urandom(KEY_BYTES))
    return _key()
