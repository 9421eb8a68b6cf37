"""Critics: the value estimates of actor-critic learners."""

from dataclasses import replace

from modules.coordination_options import GRAPH
from utils.config.options import SHAPES, WIDTH, Option
from utils.config.reach import NOWHERE
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("critic")
AGENT_ID = Option(True, "append the agent's one-hot number to what the critic sees", resume=SHAPES)
SHARE = Option(True, "one critic for all agents; False: separate weights for each agent", resume=SHAPES)
LAST_ACTIONS = Option(
    None,
    "the critic sees the last actions of all agents (critic=maddpg, own_rnn: the agent's own); null: COMA's does, "
    "others do not",
    nullable=True,
    kind=bool,
    resume=SHAPES,
)
ACTIONS = {
    "critic_hidden_dim": Option(
        128, "units of the hidden layers of COMA's critic", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "share_critic_params": SHARE,
    "critic_agent_id": AGENT_ID,
    "critic_own_obs": Option(True, "COMA's critic sees the agent's own observation", resume=SHAPES),
    "critic_last_actions": LAST_ACTIONS,
}
VALUES = {
    "critic_hidden_dim": Option(
        64, "units of the hidden layers of a critic of state values", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "share_critic_params": SHARE,
    "critic_agent_id": AGENT_ID,
    "critic_all_obs": Option(False, "append the observations of all agents to what the critic sees", resume=SHAPES),
    "critic_last_actions": LAST_ACTIONS,
    "orthogonal_init": Option(True, "orthogonal initial weights, and biases of 0"),
    "critic_layer_norm": Option(False, "layer normalisation in a critic of state values", resume=SHAPES),
    "critic_rnn": Option(False, "a GRU cell before the last layer of a critic of state values", resume=SHAPES),
}
LIKE_AGENT = {
    **{key: option for key, option in VALUES.items() if key != "critic_rnn"},
    "critic_layer_norm": replace(
        VALUES["critic_layer_norm"], sentence="critic=own_rnn: layer normalisation of its memory's outputs"
    ),
    "critic_gain": Option(1.0, "orthogonal_init: gain of the last layer of critic=own_rnn and state_mappo", above=0),
}
LIKE_MAPPO = {
    **{key: VALUES[key] for key in ("critic_hidden_dim", "share_critic_params", "critic_agent_id")},
    **{key: VALUES[key] for key in ("critic_all_obs", "critic_last_actions", "orthogonal_init")},
    "critic_gain": LIKE_AGENT["critic_gain"],
}
ACTION_VALUES = {
    "critic_hidden_dim": Option(
        256, "units of the hidden layers of a critic of action values", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "share_critic_params": SHARE,
    "critic_agent_id": AGENT_ID,
    "critics": Option(1, "how many estimate an action's value; targets take the least", at_least=1, at_most=64),
    "critic_last_range": Option(
        None, "the last layer's weights start within it; null: as the others", nullable=True, kind=float, above=0
    ),
}
OTHERS_ACTIONS = {
    "critic_hidden_dim": Option(
        64, "units of the hidden layers of PAC's critics", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "share_critic_params": SHARE,
    "critic_agent_id": AGENT_ID,
    "critic_all_obs": VALUES["critic_all_obs"],
    "critic_last_actions": LAST_ACTIONS,
    "orthogonal_init": VALUES["orthogonal_init"],
    "pac_agent_id": Option(
        True,
        "with critic_agent_id, critic=pac sees the agent's number; False: only PAC's state value does (EPyMARL)",
        resume=SHAPES,
    ),
}
COORDINATION_GRAPH = {
    "critic_hidden_dim": OTHERS_ACTIONS["critic_hidden_dim"],
    "share_critic_params": SHARE,
    "critic_agent_id": AGENT_ID,
    "critic_all_obs": VALUES["critic_all_obs"],
    "critic_last_actions": LAST_ACTIONS,
    "orthogonal_init": VALUES["orthogonal_init"],
    **GRAPH,
}
REGISTRY.declare(
    "coma",
    "modules.critics.coma:COMACritic",
    "values of an agent's actions, given the others' (COMA)",
    options=ACTIONS,
    values="actions",
)
REGISTRY.declare(
    "own",
    "modules.critics.values:OwnCritic",
    "values of an agent's own observation (IPPO)",
    options=VALUES,
    values="states",
    takes=("no_state",),
)
REGISTRY.declare(
    "own_rnn",
    "modules.critics.values:OwnRNNCritic",
    "values of an agent's own observation and last action, by a network like agent=rnn (PyMARL2's IPPO)",
    options=LIKE_AGENT,
    values="states",
    memory=True,
    takes=("no_state",),
)
REGISTRY.declare("state", "modules.critics.values:StateCritic", "values of the state", options=VALUES, values="states")
REGISTRY.declare(
    "all_obs",
    "modules.critics.values:AllObservationsCritic",
    "values of the observations of all agents",
    options=VALUES,
    values="states",
    takes=("no_state",),
)
REGISTRY.declare(
    "state_own",
    "modules.critics.values:StateAndOwnCritic",
    "values of the state and an agent's observation (MAPPO)",
    options=VALUES,
    values="states",
)
REGISTRY.declare(
    "state_entities",
    "modules.critics.state_entities:StateEntitiesCritic",
    "values of the entities that an agent sees and those of the state, pooled, whatever their number",
    options={
        **VALUES,
        "critic_pool_dim": Option(
            32, "numbers of an entity that critic=state_entities pools", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
    },
    values="states",
    needs_state_entities=True,
)
REGISTRY.declare(
    "state_mappo",
    "modules.critics.mappo_values:MAPPOCritic",
    "values of the state by a network like agent=rnn_mappo (MAPPO's code)",
    options=LIKE_MAPPO,
    values="states",
    memory=True,
)
REGISTRY.declare(
    "q_own",
    "modules.critics.action_values:ActionValueCritic",
    "values of an agent's observation and action (DDPG, TD3, SAC)",
    options=ACTION_VALUES,
    values="state_actions",
    takes=("no_state",),
)
REGISTRY.declare(
    "quantiles_own",
    "modules.critics.action_values:QuantilesOfActions",
    "quantiles of returns by an agent's observation and action (TQC)",
    options={
        **ACTION_VALUES,
        "critic_quantiles": Option(
            25, "quantiles of each estimate of critic=quantiles_own", at_least=2, at_most=1000, resume=SHAPES
        ),
    },
    values="state_action_quantiles",
    takes=("no_state",),
)
REGISTRY.declare(
    "q_own_normalised",
    "modules.critics.normalised_values:NormalisedActionValues",
    "values of an agent's observation and action, with batch renormalisation (CrossQ)",
    options=ACTION_VALUES,
    values="normalised_state_actions",
    takes=("no_state",),
)
REGISTRY.declare(
    "q_central_normalised",
    "modules.critics.normalised_values:CentralNormalisedValues",
    "values of the state and the actions of all agents, with batch renormalisation (CrossQ)",
    options=ACTION_VALUES,
    values="normalised_state_actions",
    takes=("no_state",),
)
REGISTRY.declare(
    "q_central",
    "modules.critics.action_values:CentralActionValues",
    "values of the state and the actions of all agents (MADDPG, MASAC)",
    options=ACTION_VALUES,
    values="state_actions",
    takes=("no_state",),
)
REGISTRY.declare(
    "maddpg",
    "modules.critics.joint_actions:JointActionCritic",
    "values of the state and the actions of all agents, at the steps of episodes (EPyMARL's MADDPG)",
    options={
        "critic_hidden_dim": Option(
            128, "units of the hidden layers of critic=maddpg", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
        "share_critic_params": SHARE,
        "critic_agent_id": AGENT_ID,
        "critic_own_obs": Option(False, "critic=maddpg sees the agent's own observation", resume=SHAPES),
        "critic_last_actions": LAST_ACTIONS,
    },
    values="joint_actions",
)
REGISTRY.declare(
    "lica",
    "modules.critics.joint_policies:JointPoliciesCritic",
    "values of the state and of all agents' probabilities of actions, by a hypernetwork (LICA)",
    options={
        "lica_mixing_embed_dim": Option(
            64, "units of the hidden layer that mixes policies", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
        "hypernet_embed_dim": Option(
            64, "hidden units of the hypernetworks of critic=lica", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
    },
    values="joint_policies",
)
REGISTRY.declare(
    "own_policies",
    "modules.critics.joint_policies:OwnPoliciesCritic",
    "values of an agent's observation and of its probabilities of actions (RIIT)",
    options={
        "critic_hidden_dim": Option(
            128, "units of the hidden layers of critic=own_policies", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
        "critic_agent_id": AGENT_ID,
    },
    values="own_policies",
)
REGISTRY.declare(
    "own_actions",
    "modules.critics.own_actions:OwnActionsCritic",
    "values of an agent's actions by the state and its observation, whatever the others do (DOP)",
    options={
        "critic_hidden_dim": Option(
            256, "units of the hidden layers of critic=own_actions", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
        "share_critic_params": SHARE,
        "critic_agent_id": AGENT_ID,
    },
    values="own_actions",
)
REGISTRY.declare(
    "pac",
    "modules.critics.others_actions:OthersActionsCritic",
    "values of an agent's actions for any actions of the others (PAC)",
    options=OTHERS_ACTIONS,
    values="for_any_others",
)
REGISTRY.declare(
    "pac_dcg",
    "modules.critics.coordination_graph:CoordinationGraph",
    "values of joint actions by a coordination graph (DCG)",
    options=COORDINATION_GRAPH,
    values="of_a_graph",
)
REGISTRY.declare(
    "trunk",
    "modules.critics.values:TrunkValues",
    "values from the network that acts (policy_mac)",
    options={},
    values="states",
    of_mac=True,
    takes=("no_state", "entities"),
)
REGISTRY.declare(
    "entities",
    "modules.critics.entity_values:EntityValues",
    "values of frames of entities, by a network of their own (rogue-net)",
    options={
        "vf_net": Option(
            {},
            "critic=entities: settings of its network, d_model: 64 and others of agent=rogue_net",
            resume=SHAPES,
            reaches=NOWHERE,
        )
    },
    values="states",
    takes=("no_state", "entities"),
    controllers=("entity_mac",),
    check="modules.entities.options:check_critic",
)

__getattr__ = lazy_classes(__name__, REGISTRY)
