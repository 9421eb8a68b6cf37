"""The entries of learners of action values, which replay episodes."""

from learners import logged
from learners.off_policy_options import CONSERVATIVE
from learners.options import DOUBLE_Q, MIXER, TARGETS, TD_LAMBDA
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
from utils.config.registry import Registry

OF_VALUES = {"kind": "value decomposition", "learns_from": "q"}


def declare_q_learners(learners: Registry) -> None:
    """Add them to the registry of learners."""
    learners.declare(
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
    learners.declare(
        "cql_learner",
        "learners.cql_learner:CQLLearner",
        "Q-learning that values the data's actions above others: IQL+CQL, QMIX+CQL, from data sets",
        **OF_VALUES,
        weighs=True,
        takes=("agent_rewards",),
        mixes=("nothing", "chosen_values", "choices"),
        logs=logged.CQL,
        options=Q_LEARNING | CONSERVATIVE,
    )
    learners.declare(
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
    learners.declare(
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
    learners.declare(
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
    learners.declare(
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
    learners.declare(
        "wqmix_learner",
        "learners.wqmix_learner:WQMIXLearner",
        "weighted QMIX with a central value: OW-QMIX, CW-QMIX",
        **OF_VALUES,
        mixes=("chosen_values",),
        controllers=("basic_mac",),
        logs=logged.WQMIX,
        options=MIXER | TD_LAMBDA | TARGETS | WEIGHTED,
    )
    learners.declare(
        "qtran_learner",
        "learners.qtran_learner:QLearner",
        "QTRAN-base: a joint value with a factorised argmax",
        **OF_VALUES,
        mixes=("joint_action",),
        logs=logged.QTRAN,
        options=QTRAN,
    )
    learners.declare(
        "qtran_alt_learner",
        "learners.qtran_learner:QTRANAltLearner",
        "QTRAN-alt: the same with a stronger condition, from joint values of each agent's actions",
        **OF_VALUES,
        mixes=("joint_action_by_agent",),
        logs=logged.QTRAN,
        options=QTRAN,
    )
    learners.declare(
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
    learners.declare(
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
    learners.declare(
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
    learners.declare(
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
