"""The traits that parts of each kind may declare in their registry, and what each means."""

_GOES_WITH = {
    "controllers": "names of the controllers that it goes with",
    "agents": "names of the agents that it goes with",
    "action_selectors": "names of the action selectors that it goes with",
    "learners": "names of the learners that it goes with",
    "buffers": "names of the buffers that it goes with; of a learner, the first is what buffer=auto means",
    "mixers": "names of the mixers that it goes with",
    "critics": "names of the critics that it goes with",
    "runners": "names of the runners that it goes with",
}
_ALL = {
    "check": 'a function of the config, or its "module:name", that raises a ConfigError',
    "reads": "keys that other kinds of parts declare",
    "inert": "keys that it takes and does not read",
}
_TAKES = "what PyMARL's environments lack and it can handle (checks/requirements.py)"
# by kind of part; those of _ALL and _GOES_WITH are every kind's
TRAITS: dict[str, dict[str, str]] = {
    "learner": {
        "kind": "the group of --list algorithms that its presets are in",
        "learns_from": 'the agent\'s outputs that it needs: "q" or "pi_logits" (agent_output_type)',
        "takes": _TAKES,
        "mixes": 'what its mixer may mix, names of kinds; "nothing" for no mixer',
        "values": 'the values that its critic must have: "states", "actions", "joint_actions" or another kind',
        "on_policy": "it learns only from rollouts of the newest weights",
        "needs_episodes": "it learns only from whole episodes",
        "needs_acting": "outputs of the controller that are stored with every decision, or a function of the config",
        "batch_fields": "fields that it needs in batches beside the environment's, or a function of the config",
        "logs": "the statistics that it logs, and their meaning (learners/logged.py)",
        "weighs": "it weighs what a buffer draws by priority, and says its new priorities (priority_alpha)",
        "captured": "its updates can be repeated as captured graphs (cuda_graphs)",
    },
    "mixer": {
        "mixes": 'what it mixes: "chosen_values", "choices", "joint_action" or a kind of one\'s own',
        "sees": 'mixes="choices": what it takes beside values and states, in this order (learners/mixing.py)',
        "needs_state_entities": "the environment's meaning() says which entities the state has",
        "recurrent": "its output at a time step depends on the steps before: it needs whole episodes",
        "stepwise": "its output at a time step depends on that step alone: it is computed without padding",
        "regularised": "it adds something to the loss of those that learn with it (its method `regulariser`)",
        "takes": _TAKES,
    },
    "agent": {
        "memory": "it remembers earlier steps",
        "communicates": "agents of a team send each other messages within a step: it computes all of them together",
        "sees_rows": "it sees pictures as rows of numbers, which deserves a warning",
        "needs_pictures": "it must see a picture",
        "needs_entities": "it must see units, by parts",
        "needs_meaning": "it must know what observations and actions mean: the environment has a meaning()",
    },
    "critic": {
        "values": 'the values that it has: "states", "actions", "joint_actions" or another kind',
        "of_mac": "it is a part of the controller's network",
        "memory": "it remembers earlier steps, whatever critic_rnn says",
        "needs_state_entities": "the environment's meaning() says which entities the state has",
        "takes": _TAKES,
    },
    "intrinsic reward": {"logs": "the statistics that it adds, and their meaning (learners/logged.py)"},
    "controller": {"takes": _TAKES, "values": "it has values of states itself"},
    "action selector": {
        "takes": 'the agent\'s outputs that it takes: "q" or "pi_logits"',
        "batch_fields": "fields of decisions by which it remembers (components/action_selectors.py)",
    },
    "runner": {
        "lives": "the source of its environments",
        "max_environments": "how many environments a runner has at most",
        "cuts_episodes": "a rollout is of so many steps, across the ends of episodes",
        "outlasts": "the settings, possibly none, with which its episodes outlast a rollout",
    },
    "buffer": {
        "gives": '"drawn": a sample is of single steps, which transforms read; none: of whole time steps',
        "rows": "the key with the number of episodes or rollouts in a sample",
    },
    "transform": {
        "takes": "the forms of batches that it takes; none: any",
        "gives": "the form that it makes of them; none: the same",
        "needs": "fields that the batch must have",
        "needs_meaning": "the environment has a meaning(), and the learner a replay buffer",
        "undoes": "transforms behind which it may not stand",
        "adds_up": "whether it adds up the rewards of its option `steps`",
        "leaves": "a function: how many steps follow the first of each row",
        "of_learners": "learners apply it themselves",
        "checks": "it only looks at batches",
    },
    "environment": {
        "about": 'what its arguments mean, a "module:NAME"',
        "batched": 'its batched form, a class or "module:name"',
        "batched_if": "a function of the arguments: whether they have the batched form",
        "together_if": "a function of the arguments: why its copies restart together only, or nothing",
        "sole_if": "a function of the arguments: why a run can have one copy only, or nothing",
        "counts_copies": "it is made with `test_mode` and with its `place` among the copies of a run",
        "reaches": "what its arguments may do beyond the results (envs/contract/reaches.py)",
        "carries": "a function that makes of its arguments those for other processes",
        "pettingzoo": "its form of PettingZoo, for muster.make",
        "light": "it can be made for a look at it at no cost",
        "live": "the arguments that may change over a run",
        "greedy_by": "the argument by which some episodes of training are greedy",
        "exact": "a function of the arguments: the tree of a game whose exploitability is known, or None",
        "has_best": "the last infos of its episodes say what makes one the best",
        "streams": "its agents come and go within an episode",
    },
    "source of environments": {"batches": "it needs an environment's batched form"},
    "way of acting": {"lag": "updates by which the weights that play lag behind"},
    "choice of opponents": {
        "needs_opposed": "it needs opposed groups, which past and fixed models play, too",
        "needs_learners": "its constructor takes the learners of the teams that learn, by name, too",
    },
}


def traits_of(kind: str) -> dict[str, str]:
    """The traits of a kind of part, as registries name it; none, if nothing is known of that kind."""
    return {**_ALL, **_GOES_WITH, **TRAITS[kind]} if kind in TRAITS else {}
