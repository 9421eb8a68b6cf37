"""Learners: batches of episodes in, better weights out."""

from learners import logged
from learners.actor_critic_options import ACTOR_CRITIC, COMA, COMMFORMER, DOP, EOI, ICQ, LICA, PPO, RIIT, TRPO
from learners.off_policy_options import (
    CONSERVATIVE,
    DETERMINISTIC,
    IMPLICIT,
    RECTIFIED,
    SOFT,
    TRUNCATED,
    WITHOUT_TARGETS,
)
from learners.options import (
    DOUBLE_Q,
    EPOCHS,
    IQN,
    LR_FINISH,
    MADDPG,
    MIXER,
    OPTIONS,
    PAC,
    PAC_DCG,
    TD_LAMBDA,
)
from learners.q_learning_entries import OF_VALUES, declare_q_learners
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("learner", OPTIONS)
declare_q_learners(REGISTRY)
WHOLE_EPISODES = {
    "kind": "policy gradients",
    "learns_from": "pi_logits",
    "takes": ("agent_rewards",),
    "mixes": ("nothing",),
    "on_policy": True,
    "needs_episodes": True,
}
REGISTRY.declare(
    "coma_learner",
    "learners.coma_learner:COMALearner",
    "COMA: policy gradients with a counterfactual baseline, on-policy",
    **WHOLE_EPISODES,
    values="actions",
    logs=logged.COMA,
    options=COMA,
    # keys of PyMARL's own coma.yaml, which its learner does not read either
    inert=("critic_q_fn", "critic_baseline_fn", "critic_train_mode", "critic_train_reps"),
)
REGISTRY.declare(
    "lica_learner",
    "learners.lica_learner:LICALearner",
    "LICA: policies up the gradient of a critic of all agents' probabilities",
    kind="actor-critic",
    learns_from="pi_logits",
    values="joint_policies",
    mixes=("nothing",),
    controllers=("basic_mac",),
    buffers=("episodes",),
    needs_episodes=True,
    logs=logged.LICA,
    options=LICA,
)
REGISTRY.declare(
    "riit_learner",
    "learners.riit_learner:RIITLearner",
    "RIIT: LICA with a critic of each agent's policy, mixed monotonically; from old and from the newest episodes",
    kind="actor-critic",
    learns_from="pi_logits",
    values="own_policies",
    mixes=("chosen_values",),
    controllers=("basic_mac",),
    buffers=("episodes", "on_off"),
    needs_episodes=True,
    check="learners.options:check_old_episodes",
    logs=logged.LICA,
    options=RIIT,
)
REGISTRY.declare(
    "dop_learner",
    "learners.dop_learner:DOPLearner",
    "DOP: policies by values that a mixer weighs by the state; its critic learns from old episodes, too",
    kind="actor-critic",
    learns_from="pi_logits",
    values="own_actions",
    mixes=("chosen_values",),
    mixers=("linear", "qmix"),
    controllers=("basic_mac",),
    buffers=("episodes", "on_off"),
    needs_episodes=True,
    check="learners.options:check_old_episodes",
    reads=("batch_size",),
    logs=logged.DOP,
    options=DOP,
)
REGISTRY.declare(
    "icq_learner",
    "learners.icq_learner:ICQLearner",
    "ICQ: values and policies of the data's actions only, the better ones more, from data sets",
    kind="actor-critic",
    learns_from="pi_logits",
    values="own_actions",
    mixes=("chosen_values",),
    mixers=("linear",),
    controllers=("basic_mac",),
    buffers=("episodes",),
    logs=logged.ICQ,
    options=ICQ,
)
REGISTRY.declare(
    "pqn_learner",
    "learners.pqn_learner:PQNLearner",
    "PQN: Q(lambda) on the newest rollout, without replay and target networks, on-policy",
    **OF_VALUES,
    takes=("agent_rewards",),
    mixes=("nothing", "chosen_values", "choices"),
    on_policy=True,
    buffers=("rollout",),
    captured=True,
    logs=logged.VALUES,
    options=MIXER | TD_LAMBDA | EPOCHS | {"lr_finish": LR_FINISH},
)
POLICY_GRADIENTS = {
    "kind": "policy gradients",
    "learns_from": "pi_logits",
    "values": "states",
    "takes": ("agent_rewards", "continuous", "branches", "other_actions", "entities"),
    "mixes": ("nothing",),
    "on_policy": True,
    "buffers": ("rollout",),
    "check": "learners.update_order:check",
}
REGISTRY.declare(
    "eoi_learner",
    "learners.eoi_learner:EOILearner",
    "A2C whose agents act at times by values of being known by what they see: EOI, on-policy",
    **{**POLICY_GRADIENTS, "takes": ("agent_rewards",)},
    needs_episodes=True,
    controllers=("eoi_mac",),
    logs=logged.EOI,
    options=EOI,
)
REGISTRY.declare(
    "ppo_learner",
    "learners.ppo_learner:PPOLearner",
    "PPO: clipped policy gradients in several epochs: IPPO, MAPPO, on-policy",
    **{**POLICY_GRADIENTS, "buffers": ("rollout", "episodes")},
    captured=True,
    logs=logged.PPO,
    options=PPO,
)
REGISTRY.declare(
    "commformer_learner",
    "learners.commformer_learner:CommFormerLearner",
    "PPO that also learns which agents hear each other: CommFormer, on-policy",
    **{
        **POLICY_GRADIENTS,
        "takes": ("agent_rewards", "continuous", "branches", "other_actions"),
        "check": "learners.update_order:check_with_draws",
    },
    controllers=("mat_mac",),
    agents=("commformer", "commformer_graph"),
    logs=logged.COMMFORMER,
    options=COMMFORMER,
)
REGISTRY.declare(
    "a2c_learner",
    "learners.a2c_learner:A2CLearner",
    "A2C: policy gradients with a critic: IA2C, MAA2C, with a mixer of its values VDAC, on-policy",
    **{**POLICY_GRADIENTS, "mixes": ("nothing", "chosen_values")},
    logs=logged.A2C,
    options=ACTOR_CRITIC,
)
REGISTRY.declare(
    "trpo_learner",
    "learners.trpo_learner:TRPOLearner",
    "TRPO: a step of the policy within a trust region: TRPO, HATRPO, on-policy",
    **{**POLICY_GRADIENTS, "takes": ("agent_rewards", "continuous", "branches", "other_actions")},
    controllers=("policy_mac",),
    # those whose layers have second derivatives
    agents=("rnn", "rnn_layernorm", "ff", "lstm", "cnn"),
    logs=logged.TRPO,
    options=TRPO,
)
REGISTRY.declare(
    "iqn_learner",
    "learners.iqn_learner:IQNLearner",
    "Q-learning of distributions of returns, off-policy: IQN, QR-DQN, C51",
    kind="one agent",
    learns_from="q",
    takes=("agent_rewards",),
    mixes=("nothing",),
    buffers=("transitions",),
    controllers=("basic_mac",),
    agents=("iqn",),
    needs_acting=("action_was_greedy", "q_values"),
    captured=True,
    weighs=True,
    logs=logged.IQN,
    options={**DOUBLE_Q, **IQN},
)
REGISTRY.declare(
    "pac_learner",
    "learners.pac_learner:PACLearner",
    "PAC: policy gradients towards what is best for all agents, on-policy",
    **WHOLE_EPISODES,
    values="for_any_others",
    logs=logged.PAC,
    options=PAC,
)
REGISTRY.declare(
    "pac_dcg_learner",
    "learners.pac_dcg_learner:PACDCGLearner",
    "PAC with a coordination graph in place of all joint actions, on-policy",
    **WHOLE_EPISODES,
    values="of_a_graph",
    logs=logged.PAC_DCG,
    options=PAC_DCG,
)
FROM_TRANSITIONS = {
    "kind": "actor-critic",
    "takes": ("agent_rewards", "continuous", "branches", "other_actions"),
    "captured": True,
    "weighs": True,
    "learns_from": "pi_logits",
    "values": "state_actions",
    "mixes": ("nothing",),
    "buffers": ("transitions",),
    "controllers": ("actor_mac",),
    "check": "learners.update_order:check",
}
REGISTRY.declare(
    "ddpg_learner",
    "learners.ddpg_learner:DDPGLearner",
    "gradients of critics for deterministic policies, and for choices by Gumbel-softmax: DDPG, TD3, MADDPG, FACMAC, "
    "off-policy",
    **{**FROM_TRANSITIONS, "mixes": ("nothing", "chosen_values")},
    logs=logged.DDPG,
    options=DETERMINISTIC,
)
REGISTRY.declare(
    "maddpg_learner",
    "learners.maddpg_learner:MADDPGLearner",
    "MADDPG for choices, from episodes, with recurrent policies (EPyMARL's), off-policy",
    kind="actor-critic",
    learns_from="pi_logits",
    values="joint_actions",
    takes=("agent_rewards",),
    mixes=("nothing",),
    controllers=("policy_mac",),
    buffers=("episodes",),
    check="learners.options:check_draws",
    logs=logged.DDPG,
    options=MADDPG,
)
REGISTRY.declare(
    "sac_learner",
    "learners.sac_learner:SACLearner",
    "soft actor-critic, for continuous actions and choices: SAC, MASAC, off-policy",
    **FROM_TRANSITIONS,
    logs=logged.SAC,
    options=SOFT,
)
REGISTRY.declare(
    "cql_actor_learner",
    "learners.cql_actor_learner:CQLActorLearner",
    "SAC whose critics value the data's actions above others: CQL, from data sets",
    **FROM_TRANSITIONS,
    logs=logged.CQL_ACTOR,
    options=SOFT | CONSERVATIVE,
)
REGISTRY.declare(
    "omar_learner",
    "learners.omar_learner:OMARLearner",
    "TD3 with conservative values, whose policies also go towards the best of actions that are tried: OMAR, from data "
    "sets",
    **FROM_TRANSITIONS,
    logs=logged.OMAR,
    options=RECTIFIED,
)
REGISTRY.declare(
    "implicit_q_learner",
    "learners.implicit_q_learner:ImplicitQLearner",
    "implicit Q-learning: values and policies of the data's actions only, from data sets",
    **FROM_TRANSITIONS,
    logs=logged.IMPLICIT_Q,
    options=IMPLICIT,
)
REGISTRY.declare(
    "bc_learner",
    "learners.bc_learner:BCLearner",
    "behavioural cloning: the policy learns to do what was done, from data sets",
    kind="policy gradients",
    learns_from="pi_logits",
    takes=("agent_rewards", "continuous", "branches", "other_actions", "entities"),
    mixes=("nothing",),
    buffers=("episodes",),
    controllers=("policy_mac", "entity_mac", "mat_mac", "actor_mac"),
    logs=logged.BC,
    options={},
)
REGISTRY.declare(
    "tqc_learner",
    "learners.tqc_learner:TQCLearner",
    "SAC with quantiles of returns, of which targets leave out the largest: TQC, off-policy",
    **{**FROM_TRANSITIONS, "values": "state_action_quantiles"},
    logs=logged.TQC,
    options=TRUNCATED,
)
REGISTRY.declare(
    "crossq_learner",
    "learners.crossq_learner:CrossQLearner",
    "SAC with batch renormalisation in its critics and without target networks: CrossQ, off-policy",
    **{**FROM_TRANSITIONS, "values": "normalised_state_actions"},
    logs=logged.SAC,
    options=WITHOUT_TARGETS,
)

__getattr__ = lazy_classes(__name__, REGISTRY)
