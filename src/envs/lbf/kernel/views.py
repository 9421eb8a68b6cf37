"""What the agents see."""

from envs.lbf.kernel import compiled


@compiled()
def write_view(obs, players, foods, world):
    """All observations of a game, `[n, d]`."""
    for i in range(players.size):
        if world.rules.grid:
            write_grid(obs[i], i, players, foods, world)
        else:
            write_foods(obs[i], players[i].cell, foods, world)
            write_players(obs[i], i, players, 3 * foods.size, world)


@compiled()
def write_changes(obs, moved, players, foods, world):
    """What is new where no food has gone.

    Args:
        moved: a bit for each player.
    """
    rules, first = world.rules, 3 * foods.size
    if rules.whole and not rules.grid:
        for i in range(players.size):
            if moved >> i & 1:
                write_place(obs, i, players, first, world)
    elif moved and rules.grid:
        write_view(obs, players, foods, world)
    elif moved:
        for i in range(players.size):
            if moved >> i & 1:
                write_foods(obs[i], players[i].cell, foods, world)
            write_players(obs[i], i, players, first, world)


@compiled()
def write_place(obs, i, players, first, world):
    """Player i where it is now, in the observations of all agents, all of whom see the whole board."""
    numbers, place = world.rules.numbers, world.places[players[i].cell]
    for j in range(players.size):
        slot = 0 if j == i else (i + 1 if i < j else i)  # its own comes first
        obs[j, first + numbers * slot] = place.row
        obs[j, first + numbers * slot + 1] = place.column


@compiled()
def write_foods(view, cell, foods, world):
    """Row, column and level of each food within sight of that cell, counted from the corner of what is seen from it;
    -1 -1 0 stand for nothing."""
    rules, place = world.rules, world.places[cell]
    top, left = max(place.row - rules.sight, 0.0), max(place.column - rules.sight, 0.0)
    k = 0
    for f in range(foods.size):  # without branches, which would often be guessed wrongly
        food = world.places[foods[f].cell]
        near = (abs(food.row - place.row) <= rules.sight) & (abs(food.column - place.column) <= rules.sight)
        view[k], view[k + 1], view[k + 2] = food.row - top, food.column - left, foods[f].level
        k += 3 * (near & (foods[f].level > 0))
    while k < 3 * foods.size:
        view[k], view[k + 1], view[k + 2] = -1.0, -1.0, 0.0
        k += 3


@compiled()
def write_players(view, i, players, first, world):
    """The same of agent i, then of the others, whom it sees further than food where the edge of the board cuts its view
    at the top or on the left."""
    rules, place = world.rules, world.places[players[i].cell]
    top, left, most = max(place.row - rules.sight, 0.0), max(place.column - rules.sight, 0.0), 2.0 * rules.sight
    numbers, k = rules.numbers, first
    for j in range(-1, players.size):
        if j == i:
            continue
        player = players[i if j < 0 else j]
        y, x = world.places[player.cell].row - top, world.places[player.cell].column - left
        view[k], view[k + 1] = y, x
        if numbers == 3:
            view[k + 2] = player.level
        k += numbers * ((y >= 0.0) & (x >= 0.0) & (y <= most) & (x <= most))
    while k < view.size:
        view[k], view[k + 1] = -1.0, -1.0
        if numbers == 3:
            view[k + 2] = 0.0
        k += numbers


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
