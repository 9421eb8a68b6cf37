"""Stand-ins for programs that scripts call: they record their arguments and do as little as a test needs."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = """#!/bin/bash
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\n--\\n'; } >>"$STANDINS_LOG"
"""
# what the scripts may use of the system; anything else is there only as a stand-in
SYSTEM = "bash sh cat tr awk wc ls rm mv cp mkdir rmdir chmod cmp dirname id date head kill env sleep printf"


class Checkout:
    """A copy of some scripts in a separate folder, and a PATH on which every other program is a stand-in."""

    def __init__(self, folder: Path, *scripts: str):
        self.root = folder / "my checkout"
        self.bin = folder / "bin"
        self._log = folder / "calls"
        self.env = {"PATH": str(self.bin), "HOME": str(folder), "STANDINS_LOG": str(self._log), "LC_ALL": "C"}
        self.bin.mkdir()
        for name in SYSTEM.split():
            if found := shutil.which(name):
                os.symlink(found, self.bin / name)
        for script in scripts:
            (self.root / script).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / script, self.root / script)

    def stand_in(self, name: str, body: str = "") -> None:
        """Make the program `name` record its arguments and then run `body`, which is bash."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(RECORD + body)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, script: str, *words: str, cwd: Path | None = None, **env) -> subprocess.CompletedProcess:
        """Run `bash SCRIPT WORDS...`, with the variables `env` beside those of this checkout."""
        env = {**self.env, **{key: str(value) for key, value in env.items()}}
        command = ["bash", str(self.root / script), *words]
        return subprocess.run(
            command, cwd=cwd or self.root, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )

    def calls(self, *names: str) -> list[list[str]]:
        """Every call of the stand-ins (of those `names`) so far: the program and its arguments."""
        if not self._log.exists():
            return []
        records = self._log.read_text().split("\n--\n")[:-1]
        calls = [record.split("\0")[:-1] for record in records]
        return [call for call in calls if not names or call[0] in names]

    def forget_calls(self) -> None:
        """Empty `calls`."""
        self._log.unlink(missing_ok=True)

    def files(self) -> dict[str, tuple[int, int]]:
        """Size and time of everything in the checkout, to see whether anything was touched."""
        found = (path for path in self.root.rglob("*"))
        return {str(path.relative_to(self.root)): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}
