"""Multi-agent controllers (MACs): observations in, actions out."""

from dataclasses import replace

from utils.config.normaliser_options import NORMALISER_COUNT
from utils.config.options import EXPERIENCE, SHAPES, SHARED, STEPS, WIDTH, Option
from utils.config.reach import NOWHERE
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("controller")
NOISE = {
    "noise": Option(
        "none",
        "added to actions in training: gaussian, ou (Ornstein-Uhlenbeck), epsilon (random actions at times), none; "
        "auto: gaussian, or none where actions are choices, which are drawn",
        choices=("none", "auto", "gaussian", "ou", "epsilon"),
    ),
    "noise_scale": Option(
        0.1,
        "gaussian: deviation, ou: of its steps, in halves of the actions' ranges; epsilon: share of random actions",
        at_least=0,
        schedule=True,
    ),
    "noise_epsilon": Option(
        0.0,
        "gaussian and ou: share of actions that are random, over all of their range, and not those with noise",
        at_least=0,
        at_most=1,
        schedule=True,
    ),
    "noise_theta": Option(0.15, "ou: how fast it returns to noise_mean, per step", at_least=0, at_most=1),
    "noise_mean": Option(0.0, "ou: where it starts and returns to (mu), in halves of the actions' ranges"),
    "noise_reset": Option(True, "ou: it starts from noise_mean in each episode, not only in the first one"),
    "noise_clip": Option(
        True,
        "actions with noise are kept within their bounds; False: batches have them as they are, and only the "
        "environment clips them",
    ),
}
INPUTS = {
    "share_params": Option(True, "one network for all agents; False: separate weights for each agent", resume=SHAPES),
    "agent": Option(SHARED, "network of an agent (registry: agents)", resume=SHAPES, reaches=NOWHERE),
    "agent_output_type": Option(
        SHARED,
        "the agent's outputs: q (action values) or pi_logits (policy logits)",
        choices=("q", "pi_logits"),
        resume=SHAPES,
    ),
    "obs_agent_id": Option(SHARED, "append the agent's one-hot number to its observation", resume=SHAPES),
    "obs_last_action": Option(SHARED, "append the agent's last action, one-hot, to its observation", resume=SHAPES),
    "obs_mean_action": Option(
        False,
        "append the mean of the other agents' last actions, one-hot, to each agent's observation (mean field)",
        resume=SHAPES,
    ),
    "keep_memory": Option(
        False, "batches keep agents' memory after each decision, as the field hidden_state", resume=EXPERIENCE
    ),
}
BASIC = {
    **INPUTS,
    "action_selector": Option(
        SHARED,
        "how actions are chosen from the agent's outputs (registry: action selectors)",
        reaches=NOWHERE,
    ),
    "mask_before_softmax": Option(
        True, "pi_logits: give illegal actions probability 0 before the softmax, not after it"
    ),
}
REGISTRY.declare(
    "basic_mac",
    "controllers.basic_controller:BasicMAC",
    "one network shared by all agents (PyMARL)",
    options=BASIC,
)
REGISTRY.declare(
    "maven_mac",
    "controllers.maven_controller:MAVENMAC",
    "the same, acting by a latent variable that it draws at the start of each episode (MAVEN)",
    learners=("maven_learner",),
    options=BASIC,
)
EOI_HIDDEN = {
    "eoi_hidden_dim": Option(
        64,
        "units of the layers of EOI's networks, of who sees what and of its values",
        at_least=1,
        at_most=WIDTH,
        resume=SHAPES,
    )
}
REGISTRY.declare(
    "eoi_mac",
    "controllers.eoi_controller:EOIMAC",
    "the same, acting at times by intrinsic values, of which an agent is known by what it sees (EOI)",
    learners=("eoi_learner",),
    options={
        **BASIC,
        **EOI_HIDDEN,
        "episode_ratio": Option(0.4, "share of the episodes in which agents act so", at_least=0, at_most=1),
        "explore_ratio": Option(0.2, "share of the steps of these in which one agent does", at_least=0, at_most=1),
    },
)
REGISTRY.declare(
    "dcg_mac",
    "controllers.dcg_controller:DCGMAC",
    "agents on a coordination graph, which find the best joint action by messages (DCG)",
    agents=("dcg",),
    learners=("dcg_learner",),
    options=BASIC,
)
REGISTRY.declare(
    "rode_mac",
    "controllers.rode_controller:RODEMAC",
    "agents that choose a role now and then, and act within its actions (RODE)",
    agents=("rode",),
    learners=("rode_learner",),
    options=BASIC,
)
POLICY = {
    **INPUTS,
    "orthogonal_init": Option(True, "orthogonal initial weights, and biases of 0"),
    "policy_gain": Option(0.01, "gain of the last layer's orthogonal weights", above=0),
    "deviation": Option(
        "parameter",
        "of continuous actions: a parameter, an output of the network, or none (off-policy learners)",
        choices=("parameter", "network", "none"),
        resume=SHAPES,
    ),
    "first_deviation": Option(
        1.0, "the first deviation of continuous actions, in halves of their ranges", above=0, at_most=5
    ),
    "log_std": Option(
        "clip",
        "how the logarithms of a network's deviations stay between log_std_least and log_std_largest: clip, or tanh "
        "(CleanRL's SAC, with -5 and 2, and first_deviation=0.2231, the middle)",
        choices=("clip", "tanh"),
    ),
    "log_std_least": Option(-20.0, "the least logarithm of a deviation", at_least=-20, at_most=0),
    "log_std_largest": Option(2.0, "the largest logarithm of a deviation", at_least=0, at_most=5),
    "squash": Option(
        "clip",
        "how continuous actions keep to their bounds: clip (by the environment), or tanh (of a Gaussian)",
        choices=("clip", "tanh"),
    ),
    "density_epsilon": Option(
        0.0,
        "squash=tanh: added to 1 - tanh(x)^2 in densities, against logarithms of 0 (0.000001 in Digideep and in SAC's "
        "own code); 0: the exact density",
        at_least=0,
        at_most=1,
    ),
    "bernoulli": Option(False, "one output, not two, for each choice between two", resume=SHAPES),
    "normalise_observations": Option(
        False, "scale observations by their running mean and deviation, to between -10 and 10", resume=SHAPES
    ),
    "normaliser_count": NORMALISER_COUNT,
}
REGISTRY.declare(
    "policy_mac",
    "controllers.policy_controller:PolicyMAC",
    "a stochastic policy over actions of any kind, for actor-critic learners",
    takes=("continuous", "branches", "other_actions"),
    reads=("test_greedy", "critic"),
    values=True,
    options={
        **POLICY,
        "noise": Option(
            "none",
            "added to actions in training: epsilon (random choices at times), none",
            choices=("none", "epsilon"),
        ),
        "noise_scale": Option(0.0, "noise=epsilon: share of random choices", at_least=0, at_most=1, schedule=True),
    },
)
REGISTRY.declare(
    "actor_mac",
    "controllers.actor_controller:ActorMAC",
    "the same without a memory, with noise and random first steps, for off-policy actor-critics",
    takes=("continuous", "branches", "other_actions"),
    reads=("test_greedy", "critic"),
    options={
        **POLICY,
        **NOISE,
        "random_steps": Option(
            0,
            "steps of the run in which actions are uniformly random, over all of their range",
            at_least=0,
            at_most=STEPS,
        ),
    },
)
REGISTRY.declare(
    "mat_mac",
    "controllers.mat_controller:MATMAC",
    "a transformer over agents, which decide one after another, for actor-critic learners (MAT)",
    takes=("continuous", "branches", "other_actions"),
    agents=("mat", "mat_dec", "mat_dec_actions", "commformer", "commformer_graph"),
    critics=("trunk",),
    learners=("ppo_learner", "a2c_learner", "commformer_learner", "bc_learner"),
    reads=("test_greedy", "critic"),
    values=True,
    options={
        **{key: option for key, option in POLICY.items() if key not in ("orthogonal_init", "policy_gain")},
        "deviation": replace(POLICY["deviation"], choices=("parameter", "network")),
    },
)
REGISTRY.declare(
    "entity_mac",
    "controllers.entity_controller:EntityMAC",
    "one network sees all entities and acts for all of their actors, for actor-critic learners",
    takes=("entities",),
    agents=("rogue_net",),
    reads=("test_greedy", "critic"),
    values=True,
    options={key: INPUTS[key] for key in ("agent", "agent_output_type")},
)

__getattr__ = lazy_classes(__name__, REGISTRY)
