"""The functions that Python calls: the beginning of an episode, a step and a view of many copies."""

from envs.compiled.chance import below
from envs.rware.kernel import compiled
from envs.rware.kernel.moves import decide
from envs.rware.kernel.observe import write_obs
from envs.rware.state import EMPTY, GLOBAL, INDIVIDUAL, LEFT, RIGHT, SHELVES, TOGGLE_LOAD, TWO_STAGE

N_ACTIONS = 5


@compiled()
def begin(state, which, outputs, world, rules):
    """Begin the next episode of the copies `which[b]`."""
    for b in range(which.size):
        if which[b]:
            copy = state.copies[b]
            copy.episode += 1
            copy.draws = copy.t = copy.inactive = copy.ended = 0
            place_agents(copy, state.agents[b], state.agent_at[b], world)
            for k in range(world.homes.size):
                state.shelf_cells[b, k] = world.homes[k]
            request(copy, state.requested[b], rules[0].requests)
            outputs.rewards[b] = 0.0
            outputs.terminated[b] = outputs.truncated[b] = False
    refresh(state, which, outputs, world, rules)


@compiled()
def place_agents(copy, agents, agent_at, world):
    """Put agents without shelves into cells of their own, all equally likely."""
    agent_at[:] = 0
    for i in range(agents.size):
        agent = agents[i]
        agent.shelf, agent.delivered, agent.message = EMPTY, 0, 0
        agent.cell = world.inside[below(copy, world.inside.size)]
        while agent_at[agent.cell]:
            agent.cell = world.inside[below(copy, world.inside.size)]
        agent_at[agent.cell] = i + 1
        agent.direction = below(copy, 4)


@compiled()
def request(copy, requested, requests):
    requested[:] = 0
    for _ in range(requests):
        shelf = below(copy, requested.size)
        while requested[shelf]:
            shelf = below(copy, requested.size)
        requested[shelf] = 1


@compiled()
def refresh(state, which, outputs, world, rules):
    """Work out from the agents, the shelves' cells and the requests all that follows from them, and write the views."""
    for b in range(which.size):
        if not which[b]:
            continue
        agents, codes = state.agents[b], state.codes[b]
        state.agent_at[b], state.shelf_at[b], codes[:] = 0, EMPTY, 0
        for k in range(world.homes.size):
            cell = state.shelf_cells[b, k]
            state.shelf_at[b, cell] = k
            codes[cell] = 5 + 5 * state.requested[b, k]
        for i in range(agents.size):
            state.agent_at[b, agents[i].cell] = i + 1
            codes[agents[i].cell] += 1 + agents[i].direction
        write_obs(agents, state.agent_at[b], codes, world, rules[0].msg_bits, outputs.obs[b])


@compiled()
def step(state, actions, outputs, world, rules):
    """One step of all copies; one that has ended stays as it is, and earns nothing."""
    for b in range(actions.shape[0]):
        outputs.rewards[b] = 0.0
        if not state.copies[b].ended:
            step_copy(b, state, actions[b], outputs, world, rules[0])


@compiled()
def step_copy(b, state, actions, outputs, world, rules):
    copy, agents, rewards = state.copies[b], state.agents[b], outputs.rewards[b]
    agent_at, shelf_at, codes = state.agent_at[b], state.shelf_at[b], state.codes[b]
    for i in range(agents.size):
        agents[i].action = actions[i]
        if rules.msg_bits:
            agents[i].action, agents[i].message = actions[i] % N_ACTIONS, actions[i] // N_ACTIONS
    decide(agents, agent_at, shelf_at, state.wanted[b], state.nodes[b], state.table[b], world)
    move(agents, agent_at, shelf_at, state.shelf_cells[b], state.requested[b], codes)
    for i in range(agents.size):
        agent = agents[i]
        if agent.action == LEFT or agent.action == RIGHT:
            turn(agent, codes)
        elif agent.action == TOGGLE_LOAD:
            rewards[i] += toggle_load(agent, shelf_at, world, rules.reward_type)
    delivered = deliver(copy, state, b, rewards, world, rules)
    copy.t += 1
    copy.inactive = 0 if delivered > 0 else copy.inactive + 1
    terminated = rules.max_inactivity > 0 and copy.inactive >= rules.max_inactivity
    copy.ended = terminated or copy.t >= rules.time_limit
    outputs.terminated[b], outputs.truncated[b] = terminated, copy.ended and not terminated
    write_obs(agents, agent_at, codes, world, rules.msg_bits, outputs.obs[b])


@compiled()
def move(agents, agent_at, shelf_at, shelf_cells, requested, codes):
    """Take away all agents who move, then put them down."""
    for i in range(agents.size):
        agent = agents[i]
        if agent.moves:
            agent_at[agent.cell] = 0
            codes[agent.cell] -= 1 + agent.direction
            if agent.shelf != EMPTY:
                shelf_at[agent.cell] = EMPTY
                codes[agent.cell] = 0
    for i in range(agents.size):
        agent = agents[i]
        if agent.moves:
            agent.cell = agent.target
            agent_at[agent.cell] = i + 1
            codes[agent.cell] += 1 + agent.direction
            if agent.shelf != EMPTY:
                shelf_at[agent.cell] = agent.shelf
                shelf_cells[agent.shelf] = agent.cell
                codes[agent.cell] += 5 + 5 * requested[agent.shelf]


@compiled()
def turn(agent, codes):
    before = agent.direction
    agent.direction = (3, 2, 0, 1)[before] if agent.action == RIGHT else (2, 3, 1, 0)[before]
    codes[agent.cell] += agent.direction - before


@compiled()
def toggle_load(agent, shelf_at, world, reward_type):
    """Load the shelf above, or put down the carried one where shelves belong. Returns the reward."""
    if agent.shelf == EMPTY:
        agent.shelf = shelf_at[agent.cell]
        return 0.0
    if world.ground[agent.cell] != SHELVES:
        return 0.0
    reward = 0.5 if agent.delivered and reward_type == TWO_STAGE else 0.0
    agent.shelf, agent.delivered = EMPTY, 0
    return reward


@compiled()
def deliver(copy, state, b, rewards, world, rules):
    """Replace each requested shelf that has reached a goal by another request, drawn among all other shelves.

    Returns their number.
    """
    agents, requested, codes, delivered = state.agents[b], state.requested[b], state.codes[b], 0
    for k in range(world.goals.size):
        goal = world.goals[k]
        shelf = state.shelf_at[b, goal]
        if shelf == EMPTY or not requested[shelf]:
            continue
        new = state.next_requests[b, delivered]
        if new == EMPTY:
            new = other_shelf(copy, requested, rules.n_shelves - rules.requests)
        delivered += 1
        requested[shelf], requested[new] = 0, 1
        codes[goal] -= 5
        codes[state.shelf_cells[b, new]] += 5
        i = state.agent_at[b, goal] - 1
        if rules.reward_type == GLOBAL:
            for j in range(rewards.size):
                rewards[j] += 1.0
        elif rules.reward_type == INDIVIDUAL:
            rewards[i] += 1.0
        else:
            rewards[i] += 0.5
            agents[i].delivered = 1
    return delivered


@compiled()
def other_shelf(copy, requested, others):
    """One of so many shelves that are not requested."""
    left, shelf = below(copy, others), 0
    while requested[shelf] or left:
        left -= not requested[shelf]
        shelf += 1
    return shelf
