"""Writing a replay, a line at a time."""

import json
from pathlib import Path
from typing import Any

from replays.plain import plain, plain_info

FORMAT, VERSION = "muster-replay", 1
SUFFIX = ".jsonl"


class ReplayWriter:
    """A replay that can be read while it is being written. docs/replays.md explains the fields.

    Args:
        folder: made if it is missing.
        stem: of the file's name; a number is added where there is such a file already. Nothing is ever overwritten.
        header: the facts from before the first step.
    """

    def __init__(self, folder: Path, stem: str, header: dict[str, Any]):
        self.path, self._file = _create(Path(folder), stem)
        self._return, self._length = 0.0, 0
        self._write({"type": "header", "format": FORMAT, "version": VERSION, **header})

    def step(
        self,
        snapshot: dict,
        *,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: dict,
        actions: Any = None,
        avail_actions: Any = None,
        acts: Any = None,
        decisions: dict[str, Any] | None = None,
        q_values: Any = None,
        policy: Any = None,
        q_tot: float | None = None,
    ) -> None:
        """Write one step: its first state, the values and actions there, and the outcome.

        `acts`: which agents have something to do, where that changes. `decisions`: of environments with other actions
        than PyMARL's, each agent's by the paths of the actions.
        """
        self._return += float(reward)
        decision = {"actions": actions, "avail_actions": avail_actions}
        decision |= {"q_values": q_values, "policy": policy, "q_tot": q_tot}
        decision |= {} if acts is None else {"acts": acts}
        if decisions is not None:
            decision = {"decisions": decisions}
        outcome = {"reward": float(reward), "return": self._return, "terminated": terminated, "truncated": truncated}
        line = {"type": "step", "t": self._length, "snapshot": snapshot, **decision, **outcome}
        self._write({**line, "info": plain_info(info)})
        self._length += 1

    def end(self, snapshot: dict, terminated: bool, truncated: bool, info: dict) -> None:
        """Write the closing state and the footer, and close the file."""
        info = plain_info(info)
        self._write({"type": "step", "t": self._length, "snapshot": snapshot, "return": self._return})
        won = next((bool(info[key]) for key in ("battle_won", "won") if info.get(key) is not None), None)
        outcome = {"return": self._return, "length": self._length, "won": won}
        self._write({"type": "footer", **outcome, "terminated": terminated, "truncated": truncated, "info": info})
        self.close()

    def close(self) -> None:
        """Close the file, complete or not; may be called twice."""
        self._file.close()

    def _write(self, line: dict) -> None:
        text = json.dumps(plain(line), allow_nan=False, separators=(",", ":")) + "\n"
        # at once and unbuffered: concurrent readers see whole lines, and a full disk raises here
        left = memoryview(text.encode("ascii"))
        while left:
            left = left[self._file.write(left) :]


def _create(folder: Path, stem: str):
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"{stem}{'' if number == 1 else f'_{number}'}{SUFFIX}"
        try:
            return path, open(path, "xb", buffering=0)
        except FileExistsError:
            number += 1
