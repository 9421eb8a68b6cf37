"""The start of an episode: players, then food, each at a place and with a level that are drawn."""

from envs.compiled.chance import below
from envs.lbf.kernel import compiled

TRIES = 1000  # of each player, and of all foods together


@compiled()
def is_taken(players, count, cell):
    """Whether one of the first `count` players stands there."""
    there = 0
    for i in range(count):
        there += players[i].cell == cell
    return there > 0


@compiled()
def place_players(game, players, world):
    rules, n = world.rules, players.size
    for i in range(n):  # `target` has whose bounds of levels it gets
        players[i].target = i
    if rules.shuffles_players:
        for i in range(n - 1, 0, -1):
            j = below(game, i + 1)
            players[i].target, players[j].target = players[j].target, players[i].target
    for i in range(n):
        for _ in range(TRIES):
            cell = (below(game, rules.rows) + 1) * rules.width + below(game, rules.columns) + 1
            if not is_taken(players, i, cell):
                break
        while is_taken(players, i, cell):  # on a crowded board, the next free cell
            cell += 1
            if world.places[cell].column >= rules.columns:
                cell += 2
            if world.places[cell].row >= rules.rows:
                cell = rules.width + 1
        bounds = players[i].target
        least, most = world.levels[bounds, 0], world.levels[bounds, 1]
        players[i].cell = cell
        players[i].level = least + below(game, most - least + 1)


@compiled()
def lowest_levels(players):
    """The sum of the three lowest levels."""
    first = second = third = 1 << 20
    for i in range(players.size):
        level = players[i].level
        if level < first:
            first, second, third = level, first, second
        elif level < second:
            second, third = level, second
        elif level < third:
            third = level
    total = first
    if players.size > 1:
        total += second
    if players.size > 2:
        total += third
    return total


@compiled()
def is_crowded(board, cell, width):
    """Whether food lies in one of the eight cells around, or two cells ahead in one of the four directions."""
    for row in range(-1, 2):
        for column in range(-1, 2):
            if board[cell + row * width + column] > 0:
                return True
    far = max(max(board[cell - 2], board[cell + 2]), max(board[cell - 2 * width], board[cell + 2 * width]))
    return far > 0


@compiled()
def place_foods(game, players, foods, board, world):
    rules = world.rules
    for k in range(foods.size):
        if foods[k].level > 0:  # of the episode before
            board[foods[k].cell] = 0
        foods[k].level, foods[k].order = 0, k  # whose bounds of levels it gets
    if rules.shuffles_foods:
        for k in range(foods.size - 1, 0, -1):
            j = below(game, k + 1)
            foods[k].order, foods[j].order = foods[j].order, foods[k].order
    highest = lowest_levels(players)
    placed = 0
    for _ in range(TRIES):
        if placed == foods.size:
            break
        cell = (below(game, rules.rows - 2) + 2) * rules.width + below(game, rules.columns - 2) + 2
        if is_crowded(board, cell, rules.width) or is_taken(players, players.size, cell):
            continue
        bounds = players.size + foods[placed].order
        most = highest if rules.summed else world.levels[bounds, 1]
        least = most if rules.coop else world.levels[bounds, 0]
        foods[placed].cell = cell
        foods[placed].level = least + below(game, most - least + 1) if least < most else least
        board[cell] = 1
        placed += 1
    game.left, game.spawned = placed, 0
    for k in range(placed):
        game.spawned += foods[k].level
    number(foods, placed, board)


@compiled()
def number(foods, placed, board):
    """Sort the foods by their cells and write their numbers onto the board."""
    for k in range(1, placed):
        cell, level, j = foods[k].cell, foods[k].level, k - 1
        while j >= 0 and foods[j].cell > cell:
            foods[j + 1].cell, foods[j + 1].level = foods[j].cell, foods[j].level
            j -= 1
        foods[j + 1].cell, foods[j + 1].level = cell, level
    for k in range(placed):
        board[foods[k].cell] = k + 1


@compiled()
def begin_episode(game, players, foods, board, world):
    game.episode += 1
    game.draws = game.t = game.ended = 0
    place_players(game, players, world)
    place_foods(game, players, foods, board, world)
