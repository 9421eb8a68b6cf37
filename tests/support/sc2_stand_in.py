"""The real smac and smacv2 packages on a stand-in for the game: only where both are at hand.

The stand-in (fake_sc2) is looked for beside the checkout, or where MUSTER_FAKE_SC2 says.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FAKE = Path(os.environ.get("MUSTER_FAKE_SC2", CHECKOUT.parent / "shared" / "fake_sc2"))
NEEDED = ("smac", "smacv2", "pysc2", "s2clientprotocol", "absl", "websocket", "portpicker")


def missing() -> str | None:
    """Why the game cannot be stood in for here, if so."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (bash install_sc2.sh --packages-only)"
    return None if (FAKE / "install.py").is_file() else f"no stand-in for the game in {FAKE}"


needs_game = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def install(folder: Path) -> Path:
    """Lay the stand-in out like an installation of the game."""
    subprocess.run([sys.executable, str(FAKE / "install.py"), str(folder)], check=True, capture_output=True)
    (binary,) = folder.glob("Versions/Base*/SC2_x64")
    # the stand-in reads messages with the package's old code, which needs the slow parser
    slow = "import os\nos.environ['PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION'] = 'python'\nimport os,"
    binary.write_text(binary.read_text().replace("import os,", slow, 1))
    return folder


def play(env, episodes: int, rng: np.random.Generator) -> list[tuple[int, float, dict]]:
    """Random legal actions; length, return and last info of every episode."""
    played = []
    for _ in range(episodes):
        env.reset()
        steps, total, ended, info = 0, 0.0, False, {}
        while not ended:
            legal = np.array(env.get_avail_actions())
            reward, ended, info = env.step((rng.random(legal.shape) * legal).argmax(-1))
            assert np.isfinite(env.get_state()).all()
            assert np.isfinite(env.get_obs()).all()
            steps, total = steps + 1, total + reward
        played.append((steps, total, info))
    return played
