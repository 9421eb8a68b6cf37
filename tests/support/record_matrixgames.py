"""Record every joint action, twice, in every game of EPyMARL's package matrixgames, with a Python that has it:

python tests/support/record_matrixgames.py tests/envs/matrixgames/episodes.json.gz

Left out is `twostep-2p-v0`, which raises an error at its first step.
"""

import gzip
import json
import sys
import warnings
from typing import Any

import gymnasium
import matrixgames  # type: ignore[import-not-found]  # noqa: F401
import numpy as np


def recorded(key: str, rng: np.random.Generator) -> dict[str, list]:
    """Actions, rewards and ends `[T, ...]`, observations `[T + 1, n, ...]`, flattened where they are vectors."""
    counts = [space.n for space in gymnasium.make(key, disable_env_checker=True).action_space]
    joint = rng.permutation(2 * list(np.ndindex(*counts))).tolist()
    env: Any = gymnasium.make(key, ep_length=len(joint), disable_env_checker=True)
    observations = [env.reset(seed=0)[0]]
    played: dict[str, list] = {"actions": [], "rewards": [], "ends": []}
    for actions in joint:
        seen, rewards, terminated, truncated, _ = env.step(tuple(actions))
        observations.append(seen)
        for name, value in zip(
            played, (actions, [float(one) for one in rewards], terminated or truncated), strict=True
        ):
            played[name].append(value)
    return played | {"observations": [[np.ravel(one).tolist() for one in seen] for seen in observations]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    entries = gymnasium.registry.values()
    keys = [one.id for one in entries if str(one.entry_point).startswith("matrixgames.games:MatrixGame")]
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
        file.write(json.dumps({key: recorded(key, rng) for key in keys}).encode())
    print(len(keys), "games")
