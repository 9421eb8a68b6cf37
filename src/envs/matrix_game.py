"""PyMARL2's path of the functions that print the values of a matrix game; the game itself is in envs/small/payoffs.py.

The two lie apart because PyMARL2's folder `matrix_game`, put beside this file, takes its place.
"""

from typing import Any

import numpy as np

from envs.small.payoffs import MatrixGame

__all__ = ["MatrixGame", "print_matrix_status"]


def print_matrix_status(batch: Any, mixer: Any, mac_out: Any) -> None:
    """Print the team's value of every joint action in the first step, and each agent's values of its own actions.

    A row for each action of the first agent, a column for each joint action of the others; means over the batch.

    Args:
        batch: EpisodeBatch of B episodes.
        mixer: values `[B, 1, n]` and states `[B, 1, S]` -> `[B, 1, 1]`.
        mac_out: values `[B, T, n, A]`, or `[B, T, n, A, K]` of K estimates, which the mixer gets as `[B, 1, n, K]`.
    """
    mac_out = mac_out.detach()
    n_agents, n_actions = mac_out.shape[2:4]
    agents, states = list(range(n_agents)), batch["state"][:, :1]
    table = np.array(
        [
            mixer(mac_out[:, :1, agents, list(joint)], states).mean().item()
            for joint in np.ndindex(*[n_actions] * n_agents)
        ]
    )
    own = mac_out.flatten(4).mean(dim=-1) if mac_out.dim() > 4 else mac_out
    for title, values in (
        ("team", table.reshape(n_actions, -1)),
        ("agents", own.mean(dim=(0, 1)).cpu().numpy()),
    ):
        print(f"{title}:\n{np.array2string(values, precision=1, suppress_small=True)}")
