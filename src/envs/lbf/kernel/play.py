"""One step of one game, and what is called for many."""

from envs.lbf.kernel import compiled
from envs.lbf.kernel.spawn import begin_episode
from envs.lbf.kernel.views import write_changes, write_view
from envs.lbf.state import EAST, LOAD, N_ACTIONS, NORTH, SOUTH, WEST


@compiled()
def claim(players, actions, board, world):
    """Each player's cell at which it wants to be, and the number of the food that it loads, or 0.

    Returns:
        whether somebody loads.
    """
    width, loading = world.rules.width, False
    for i in range(players.size):
        cell, food = players[i].cell, 0
        action = actions[i]
        down, right = int(action == SOUTH) - int(action == NORTH), int(action == EAST) - int(action == WEST)
        target = cell + width * down + right
        players[i].target = cell if board[target] != 0 else target  # a wall or food is in the way
        if action == LOAD:  # no cell has two foods beside it
            food = max(max(board[cell - width], board[cell + width]), max(board[cell - 1], board[cell + 1]))
            loading = loading or food > 0
        players[i].food = food
    return loading


@compiled()
def is_contested(players, i):
    """Whether another one claims the same cell, as who stays claims its own: then neither moves."""
    target, claims = players[i].target, 0
    for j in range(players.size):
        claims += players[j].target == target
    return claims > 1


@compiled()
def load(game, players, foods, board, rewards, rules):
    """All who load the same food do so together.

    Returns:
        whether a food is gone.
    """
    for i in range(players.size):
        if players[i].food > 0:
            foods[players[i].food - 1].loaders = 0
    for i in range(players.size):
        if players[i].food > 0:
            foods[players[i].food - 1].loaders += players[i].level
    gone = False
    for i in range(players.size):
        if players[i].food <= 0:
            continue
        food = foods[players[i].food - 1]
        if food.loaders < food.level:
            rewards[i] -= rules.penalty
            continue
        gone = True
        rewards[i] = float(players[i].level) * food.level
        if rules.normalised:
            rewards[i] /= float(food.loaders) * game.spawned
    if gone:
        for i in range(players.size):
            if players[i].food > 0:
                food = foods[players[i].food - 1]
                if food.level > 0 and food.loaders >= food.level:
                    food.level = board[food.cell] = 0
                    game.left -= 1
    return gone


@compiled()
def play(b, actions, state, outputs, world):
    game, players, foods, board = state.game[b], state.players[b], state.foods[b], state.board[b]
    rules, obs, rewards = world.rules, outputs.obs[b], outputs.rewards[b]
    game.t += 1
    loading = claim(players, actions, board, world)
    moved = 0
    for i in range(players.size):
        rewards[i] = 0.0
        target = players[i].cell if is_contested(players, i) else players[i].target
        moved |= (target != players[i].cell) << i
        players[i].cell = target
    if loading and load(game, players, foods, board, rewards, rules):
        write_view(obs, players, foods, world)
    else:
        write_changes(obs, moved, players, foods, world)
    outputs.terminated[b] = game.left == 0
    outputs.truncated[b] = game.left > 0 and game.t >= rules.limit
    game.ended = game.left == 0 or game.t >= rules.limit


@compiled()
def illegal(actions):
    """The number of the first action that does not exist; -1: there is none."""
    for b in range(actions.shape[0]):
        for i in range(actions.shape[1]):
            if actions[b, i] < 0 or actions[b, i] >= N_ACTIONS:
                return b * actions.shape[1] + i
    return -1


@compiled()
def step_games(state, actions, outputs, world):
    for b in range(actions.shape[0]):
        if not state.game[b].ended:
            play(b, actions[b], state, outputs, world)


@compiled()
def step_if_legal(state, actions, outputs, world):
    """`step_games`, unless an action is `illegal`, whose number is returned."""
    first = illegal(actions)
    if first < 0:
        step_games(state, actions, outputs, world)
    return first


@compiled()
def show_games(state, which, outputs, world):
    """Write the views of these games, which have just begun."""
    for b in range(which.size):
        if which[b]:
            outputs.rewards[b] = 0.0
            outputs.terminated[b] = outputs.truncated[b] = False
            write_view(outputs.obs[b], state.players[b], state.foods[b], world)


@compiled()
def begin_games(state, which, outputs, world):
    for b in range(which.size):
        if which[b]:
            begin_episode(state.game[b], state.players[b], state.foods[b], state.board[b], world)
    show_games(state, which, outputs, world)
