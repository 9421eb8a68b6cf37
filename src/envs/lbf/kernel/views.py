"""What the agents see."""

from envs.lbf.kernel import compiled


@compiled()
def write_view(obs, players, foods, world):
    """All observations of a game, `[n, d]`."""
    for i in range(players.size):
        if world.rules.grid:
            write_grid(obs[i], i, players, foods, world)
        else:
            write_vector(obs[i], i, players, foods, world)


@compiled()
def write_moves(obs, i, players, foods, world):
    """Player i where it is now, in the observations of all agents, all of whom see the whole board."""
    numbers, first = world.rules.numbers, 3 * foods.size
    row, column = world.places[players[i].cell].row, world.places[players[i].cell].column
    for j in range(players.size):
        slot = 0 if j == i else (i + 1 if i < j else i)  # its own comes first
        obs[j, first + numbers * slot] = row
        obs[j, first + numbers * slot + 1] = column


@compiled()
def write_vector(view, i, players, foods, world):
    """Row, column and level of each food within sight, of the agent, and of the others.

    They count from the corner of what it sees, -1 -1 0 stand for nothing. It sees players further than food where the
    edge of the board cuts its view at the top or on the left.
    """
    rules, cell = world.rules, players[i].cell
    row, column, sight = world.places[cell].row, world.places[cell].column, rules.sight
    top, left = max(row - sight, 0.0), max(column - sight, 0.0)
    k = 0
    for f in range(foods.size):
        if foods[f].level > 0:
            y, x = world.places[foods[f].cell].row, world.places[foods[f].cell].column
            if rules.whole or (abs(y - row) <= sight and abs(x - column) <= sight):
                view[k], view[k + 1], view[k + 2] = y - top, x - left, foods[f].level
                k += 3
    first = 3 * foods.size
    while k < first:
        view[k], view[k + 1], view[k + 2] = -1.0, -1.0, 0.0
        k += 3
    k = write_player(view, k, players[i], top, left, world)
    for j in range(players.size):
        if j != i:
            k = write_player(view, k, players[j], top, left, world)
    while k < view.size:
        view[k], view[k + 1] = -1.0, -1.0
        if rules.numbers == 3:
            view[k + 2] = 0.0
        k += rules.numbers


@compiled()
def write_player(view, k, player, top, left, world):
    y, x, most = world.places[player.cell].row - top, world.places[player.cell].column - left, 2.0 * world.rules.sight
    if y < 0.0 or x < 0.0 or y > most or x > most:
        return k
    view[k], view[k + 1] = y, x
    if world.rules.numbers == 3:
        view[k + 2] = player.level
    return k + world.rules.numbers


@compiled()
def write_grid(view, i, players, foods, world):
    """Three layers round the agent, row by row: levels of players, levels of food, cells that are free."""
    rules = world.rules
    sight = int(rules.sight)
    side = 2 * sight + 1
    area = side * side
    row, column = int(world.places[players[i].cell].row), int(world.places[players[i].cell].column)
    for k in range(view.size):
        view[k] = 0.0
    for y in range(max(row - sight, 0), min(row + sight + 1, rules.rows)):
        start = 2 * area + (y - row + sight) * side - column + sight
        for x in range(max(column - sight, 0), min(column + sight + 1, rules.columns)):
            view[start + x] = 1.0
    for j in range(players.size):
        y, x = int(world.places[players[j].cell].row) - row, int(world.places[players[j].cell].column) - column
        if abs(y) <= sight and abs(x) <= sight:
            place = (y + sight) * side + x + sight
            view[place] = players[j].level if rules.numbers == 3 else 1.0
            view[2 * area + place] = 0.0
    for f in range(foods.size):
        y, x = int(world.places[foods[f].cell].row) - row, int(world.places[foods[f].cell].column) - column
        if foods[f].level > 0 and abs(y) <= sight and abs(x) <= sight:
            place = (y + sight) * side + x + sight
            view[area + place] = foods[f].level
            view[2 * area + place] = 0.0
