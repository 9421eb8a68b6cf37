"""The memory of a team whose groups are played by several controllers.

Each controller has a row for each of its groups in each of the E episodes, in the order of its view; the team has the
same for all of its groups (`components.team_views`). Leaves are `[E * k, n, ...]` or `[E * k * n, ...]`.
"""

from collections.abc import Sequence

import torch as th

from components.team_views import TeamView
from utils.tensors.tensor_trees import Tree, map_tree


def memory_of_all(memories: Sequence[Tree], views: Sequence[TeamView], team: TeamView, episodes: int) -> Tree:
    """The team's memory, from those of its controllers and the views of these."""
    if len(memories) == 1:
        return memories[0]
    groups = [group for view in views for group in view.groups]
    order = [groups.index(group) for group in team.groups]

    def joined(*leaves: th.Tensor) -> th.Tensor:
        by_group = [x.reshape(episodes, view.episodes, -1) for x, view in zip(leaves, views, strict=True)]
        rows = len(leaves[0]) // views[0].episodes * team.episodes
        return th.cat(by_group, dim=1)[:, order].reshape(rows, *leaves[0].shape[1:])

    return map_tree(joined, *memories)


def memory_of_some(memory: Tree, view: TeamView, team: TeamView, episodes: int) -> Tree:
    """The memory of the groups of `view`, from that of the team."""
    if view is team:
        return memory
    chosen = [team.groups.index(group) for group in view.groups]
    return map_tree(lambda x: x.unflatten(0, (episodes, team.episodes, -1))[:, chosen].flatten(0, 2), memory)
