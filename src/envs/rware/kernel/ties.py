"""Ties of queues of the same length: the package decides by the order in which networkx lists the cells.

That is the order in which the cells came into its graph, if the queue has at least half of them, and otherwise the
order of a Python set of tuples (x, y), which depends on CPython's hash tables.
"""

from envs.rware.kernel import compiled
from envs.rware.state import EMPTY


@compiled()
def write_ranks(end, agents, agent_at, wanted, nodes, table, hashes):
    """Rank all agents who queue for the free cell `end`."""
    found = find_queue(end, agents, agent_at, wanted, nodes[0])
    in_graph = agents.size
    for i in range(agents.size):
        target = agents[i].target
        in_graph += agent_at[target] == 0 and wanted[target] == i + 1
    if 2 * found >= in_graph:
        for k in range(found):
            i = agent_at[nodes[0, k]] - 1
            if i >= 0:
                # cells come into the graph agent by agent, first its own and then the one that it wants
                first = wanted[agents[i].cell] - 1
                agents[i].rank = 2 * i if first < 0 else min(2 * i, 2 * first + 1)
        return
    order_of_set(found, nodes, table, hashes)
    order_of_set(found, nodes, table, hashes)
    for k in range(found):
        i = agent_at[nodes[0, k]] - 1
        if i >= 0:
            agents[i].rank = k


@compiled()
def find_queue(end, agents, agent_at, wanted, nodes):
    """The cells of all agents who queue for the free cell `end`, and that one, as networkx searches them: in breadth
    from the first agent's, the cell ahead before those behind. Returns their number."""
    nodes[0], found, k = end, 1, 0
    while k < found:
        found = add_behind(nodes[k], agents, wanted, nodes, found)
        k += 1
    first = agents.size
    for k in range(found):
        i = agent_at[nodes[k]] - 1
        if 0 <= i < first:
            first = i
    nodes[0], found, k = agents[first].cell, 1, 0
    while k < found:
        i = agent_at[nodes[k]] - 1
        if i >= 0:
            found = add(agents[i].target, nodes, found)
        found = add_behind(nodes[k], agents, wanted, nodes, found)
        k += 1
    return found


@compiled()
def add_behind(cell, agents, wanted, nodes, found):
    i = wanted[cell] - 1
    while i >= 0:
        found = add(agents[i].cell, nodes, found)
        i = agents[i].also - 1
    return found


@compiled()
def add(cell, nodes, found):
    for k in range(found):
        if nodes[k] == cell:
            return found
    nodes[found] = cell
    return found + 1


@compiled()
def order_of_set(found, nodes, table, hashes):
    """Put the first `found` of `nodes[0]` into the order of a set to which they have been added one by one."""
    size = 8
    table[:size] = EMPTY
    for k in range(found):
        insert(nodes[0, k], table, size, hashes)
        if 5 * (k + 1) >= 3 * (size - 1):
            used = listed(table, size, nodes[1])
            while size <= 4 * (k + 1):
                size *= 2
            table[:size] = EMPTY
            for j in range(used):
                insert(nodes[1, j], table, size, hashes)
    listed(table, size, nodes[0])


@compiled()
def listed(table, size, nodes):
    found = 0
    for k in range(size):
        if table[k] != EMPTY:
            nodes[found] = table[k]
            found += 1
    return found


@compiled()
def insert(cell, table, size, hashes):
    """CPython's `set_add_entry`: ten slots in a row, then a jump."""
    mask = size - 1
    rest = hashes[cell]
    slot = rest & mask
    while True:
        last = slot + 9 if slot + 9 <= mask else slot
        for k in range(slot, last + 1):
            if table[k] == EMPTY:
                table[k] = cell
                return
        rest = (rest >> 5) & 0x07FFFFFFFFFFFFFF  # as of an unsigned number
        slot = (slot * 5 + 1 + rest) & mask
