"""Who moves, where several agents want the same cells."""

from envs.rware.kernel import compiled
from envs.rware.kernel.ties import write_ranks
from envs.rware.state import EMPTY, FORWARD, OUTSIDE


@compiled()
def decide(agents, agent_at, shelf_at, wanted, nodes, table, world):
    """Write each agent's `target` and whether it `moves`."""
    if want(agents, agent_at, shelf_at, wanted, world):
        resolve(agents, agent_at, wanted, nodes, table, world.hashes)
    for i in range(agents.size):
        wanted[agents[i].target] = 0


@compiled()
def want(agents, agent_at, shelf_at, wanted, world):
    """Let all agents move who want another cell. Returns whether two want the same one, or one that is taken."""
    contested = False
    for k in range(agents.size):
        i = agents.size - 1 - k  # so that the lists `wanted`, `also` are in the order of the agents
        agent = agents[i]
        target = target_of(agent, agents, agent_at, shelf_at, world)
        agent.target = target
        agent.moves = target != agent.cell
        if agent.moves:
            contested |= wanted[target] != 0 or agent_at[target] != 0
            agent.also = wanted[target]
            wanted[target] = i + 1
    return contested


@compiled()
def target_of(agent, agents, agent_at, shelf_at, world):
    """The cell ahead, if it goes forward and neither a wall nor, with a shelf, a shelf that stands there stops it."""
    if agent.action != FORWARD:
        return agent.cell
    target = agent.cell + world.ahead[agent.direction]
    if world.ground[target] == OUTSIDE:
        return agent.cell
    if agent.shelf != EMPTY and shelf_at[target] != EMPTY:
        other = agent_at[target] - 1
        if other < 0 or agents[other].shelf == EMPTY:
            return agent.cell
    return target


@compiled()
def resolve(agents, agent_at, wanted, nodes, table, hashes):
    """Of those who queue for a free cell the longest queue moves, and so does a ring of three or more; no one else."""
    for i in range(agents.size):
        agents[i].behind = 0
    for i in range(agents.size):
        if agents[i].moves and wanted[agents[i].cell] == 0:
            count_queue(i, agents, agent_at)
    for i in range(agents.size):
        agent = agents[i]
        if agent.moves:
            agent.moves = in_ring(i, agents, agent_at)
    for i in range(agents.size):
        target = agents[i].target
        if wanted[target] == i + 1 and agent_at[target] == 0:
            let_longest_move(target, agents, agent_at, wanted, nodes, table, hashes)


@compiled()
def ahead_of(i, agents, agent_at):
    """The agent in the cell that agent i wants, or -1: nobody, or i itself."""
    if agents[i].target == agents[i].cell:
        return -1
    return agent_at[agents[i].target] - 1


@compiled()
def count_queue(last, agents, agent_at):
    """Count from the last of a queue to its head. In a ring there is no head: the count ends with all agents."""
    i, length = last, 1
    while i >= 0 and length <= agents.size and agents[i].behind < length:
        agents[i].behind = length
        i = ahead_of(i, agents, agent_at)
        length += 1


@compiled()
def in_ring(first, agents, agent_at):
    i = first
    for length in range(1, agents.size + 1):
        i = ahead_of(i, agents, agent_at)
        if i < 0:
            return False
        if i == first:
            return length > 2
    return False


@compiled()
def let_longest_move(end, agents, agent_at, wanted, nodes, table, hashes):
    """Let the longest queue for the free cell `end` move."""
    ranked = False
    cell = end
    while wanted[cell] != 0:
        best = wanted[cell] - 1
        i = agents[best].also - 1
        while i >= 0:
            if agents[i].behind == agents[best].behind:
                if not ranked:
                    write_ranks(end, agents, agent_at, wanted, nodes, table, hashes)
                    ranked = True
                if agents[i].rank < agents[best].rank:
                    best = i
            elif agents[i].behind > agents[best].behind:
                best = i
            i = agents[i].also - 1
        agents[best].moves = True
        cell = agents[best].cell
