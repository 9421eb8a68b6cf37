"""What agents see."""

from envs.rware.kernel import compiled
from envs.rware.state import EMPTY, WAY


@compiled()
def write_obs(agents, agent_at, codes, world, msg_bits, obs):
    """Observations `[n, 8 + K * (7 + msg_bits)]`: x, y, whether it carries, direction (4), whether it is on a way; of
    each cell that it sees, row by row: an agent, its direction (4), its message, a shelf, whether it is requested."""
    for i in range(agents.size):
        agent, seen = agents[i], obs[i]
        seen[0], seen[1] = world.own[agent.cell, 0], world.own[agent.cell, 1]
        seen[2] = agent.shelf != EMPTY
        for k in range(4):
            seen[3 + k] = agent.direction == k
        seen[7] = world.ground[agent.cell] == WAY
        if msg_bits:
            write_window_with_messages(agent.cell, agents, agent_at, codes, world, msg_bits, seen)
        else:
            for j in range(world.window.size):
                code = codes[agent.cell + world.window[j]]
                for k in range(7):
                    seen[8 + 7 * j + k] = world.patterns[code, k]


@compiled()
def write_window_with_messages(cell, agents, agent_at, codes, world, msg_bits, seen):
    place = 8
    for j in range(world.window.size):
        there = cell + world.window[j]
        code, other = codes[there], agent_at[there] - 1
        for k in range(5):
            seen[place + k] = world.patterns[code, k]
        for k in range(msg_bits):
            seen[place + 5 + k] = 0 if other < 0 else (agents[other].message >> k) & 1
        for k in range(2):
            seen[place + 5 + msg_bits + k] = world.patterns[code, 5 + k]
        place += 7 + msg_bits
