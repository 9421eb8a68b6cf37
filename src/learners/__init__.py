"""Learners: batches of episodes in, better weights out."""

from learners import logged
from learners.actor_critic_options import ACTOR_CRITIC, COMA, COMMFORMER, DOP, LICA, PPO, RIIT, TRPO
from learners.off_policy_options import DETERMINISTIC, SOFT, TRUNCATED, WITHOUT_TARGETS
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
    TARGETS,
    TD_LAMBDA,
)
from learners.q_learning_options import (
    CDS,
    DCG,
    EMC,
    MASER,
    MAVEN,
    Q_LEARNING,
    QTRAN,
    REFIL,
    RODE,
    ROMA,
    WEIGHTED,
    latent_field,
)
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("learner", OPTIONS)
OF_VALUES = {"kind": "value decomposition", "learns_from": "q"}
REGISTRY.declare(
    "q_learner",
    "learners.q_learner:QLearner",
    "Q-learning of each agent or of the team: IQL, VDN, QMIX, Qatten, QPLEX",
    **OF_VALUES,
    weighs=True,
    takes=("agent_rewards",),
    mixes=("nothing", "chosen_values", "choices"),
    logs=logged.Q_LEARNER,
    options=Q_LEARNING,
)
REGISTRY.declare(
    "maven_learner",
    "learners.maven_learner:MAVENLearner",
    "MAVEN: QMIX that explores by a latent variable of each episode",
    **OF_VALUES,
    weighs=True,
    mixes=("choices",),
    controllers=("maven_mac",),
    agents=("rnn_maven",),
    buffers=("episodes",),
    needs_episodes=True,
    batch_fields=latent_field,
    reads=("noise_dim",),
    logs=logged.MAVEN,
    options=Q_LEARNING | MAVEN,
)
REGISTRY.declare(
    "maser_learner",
    "learners.maser_learner:MASERLearner",
    "MASER: Q-learning of the team with subgoals of each agent from what it has played",
    **OF_VALUES,
    weighs=True,
    mixes=("chosen_values", "choices"),
    needs_episodes=True,
    logs=logged.MASER,
    options=Q_LEARNING | MASER,
)
REGISTRY.declare(
    "cds_learner",
    "learners.cds_learner:CDSLearner",
    "CDS: Q-learning of a team whose agents share weights and are paid for differing",
    **OF_VALUES,
    mixes=("chosen_values", "choices"),
    controllers=("basic_mac",),
    agents=("rnn_cds",),
    needs_episodes=True,
    logs=logged.CDS,
    options=Q_LEARNING | CDS,
)
REGISTRY.declare(
    "emc_learner",
    "learners.emc_learner:EMCLearner",
    "Q-learning of a team with an episodic memory of returns: EMC, with intrinsic=emc",
    **OF_VALUES,
    mixes=("chosen_values", "choices"),
    needs_episodes=True,
    check="learners.emc_learner:check",
    logs=logged.EMC,
    options=Q_LEARNING | EMC,
)
REGISTRY.declare(
    "wqmix_learner",
    "learners.wqmix_learner:WQMIXLearner",
    "weighted QMIX with a central value: OW-QMIX, CW-QMIX",
    **OF_VALUES,
    mixes=("chosen_values",),
    controllers=("basic_mac",),
    logs=logged.WQMIX,
    options=MIXER | TD_LAMBDA | TARGETS | WEIGHTED,
)
REGISTRY.declare(
    "qtran_learner",
    "learners.qtran_learner:QLearner",
    "QTRAN-base: a joint value with a factorised argmax",
    **OF_VALUES,
    mixes=("joint_action",),
    logs=logged.QTRAN,
    options=QTRAN,
)
REGISTRY.declare(
    "qtran_alt_learner",
    "learners.qtran_learner:QTRANAltLearner",
    "QTRAN-alt: the same with a stronger condition, from joint values of each agent's actions",
    **OF_VALUES,
    mixes=("joint_action_by_agent",),
    logs=logged.QTRAN,
    options=QTRAN,
)
REGISTRY.declare(
    "roma_learner",
    "learners.roma_learner:ROMALearner",
    "Q-learning of a team whose agents infer roles: ROMA",
    **OF_VALUES,
    weighs=True,
    mixes=("nothing", "chosen_values", "choices"),
    controllers=("basic_mac",),
    agents=("roma",),
    check="learners.options:check_draws",
    logs=logged.ROMA,
    options=Q_LEARNING | ROMA,
)
REGISTRY.declare(
    "refil_learner",
    "learners.refil_learner:REFILLearner",
    "Q-learning of the team, and of values as if agents knew but one of two random groups of entities: REFIL",
    **OF_VALUES,
    mixes=("chosen_values",),
    mixers=("flex_qmix",),
    controllers=("basic_mac",),
    agents=("entity_attend_rnn",),
    check="learners.options:check_draws",
    logs=logged.REFIL,
    options=Q_LEARNING | REFIL,
)
REGISTRY.declare(
    "rode_learner",
    "learners.rode_learner:RODELearner",
    "Q-learning of actions within roles, and of roles, which are clusters of actions of like effects: RODE",
    **OF_VALUES,
    weighs=True,
    mixes=("chosen_values", "choices"),
    controllers=("rode_mac",),
    agents=("rode",),
    action_selectors=("epsilon_greedy",),
    needs_episodes=True,
    logs=logged.RODE,
    options=Q_LEARNING | RODE,
)
REGISTRY.declare(
    "dcg_learner",
    "learners.dcg_learner:DCGLearner",
    "Q-learning of joint actions on a coordination graph: DCG",
    **OF_VALUES,
    mixes=("nothing",),
    controllers=("dcg_mac",),
    agents=("dcg",),
    logs=logged.VALUES,
    options=TD_LAMBDA | DOUBLE_Q | TARGETS | DCG,
)
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
    agents=("commformer",),
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
