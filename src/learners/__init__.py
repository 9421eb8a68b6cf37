"""Learners: batches of episodes in, better weights out."""

from learners.options import DOUBLE_Q, MIXER, OPTIONS, TARGETS, TD_LAMBDA
from utils.options import COPIES, SHAPES, SHARED, Option
from utils.registry import Registry, lazy_classes

REGISTRY = Registry("learner", OPTIONS)
REGISTRY.declare(
    "q_learner",
    "learners.q_learner:QLearner",
    "Q-learning of each agent or of the team: IQL, VDN, QMIX",
    learns_from="q",
    takes=("agent_rewards",),
    mixes=("nothing", "chosen_values"),
    options=MIXER | TD_LAMBDA | DOUBLE_Q | TARGETS,
)
REGISTRY.declare(
    "qtran_learner",
    "learners.qtran_learner:QLearner",
    "QTRAN-base: a joint value with a factorised argmax",
    learns_from="q",
    mixes=("joint_action",),
    options={
        **MIXER,
        **DOUBLE_Q,
        **TARGETS,
        "opt_loss": Option(1, "weight of the loss at the greedy joint action", kind=float, at_least=0),
        "nopt_min_loss": Option(0.1, "weight of the loss at the joint action taken", at_least=0),
    },
)
REGISTRY.declare(
    "coma_learner",
    "learners.coma_learner:COMALearner",
    "COMA: policy gradients with a counterfactual baseline, on-policy",
    learns_from="pi_logits",
    mixes=("nothing",),
    on_policy=True,
    needs_episodes=True,
    options={
        **TD_LAMBDA,
        **TARGETS,
        "critic": Option(SHARED, "the critic of an actor-critic learner (registry: critics)", resume=SHAPES),
        "critic_lr": Option(SHARED, "learning rate of the critic", above=0),
    },
    # keys of PyMARL's own coma.yaml, which its learner does not read either
    inert=("critic_q_fn", "critic_baseline_fn", "critic_train_mode", "critic_train_reps", "q_nstep"),
)
REGISTRY.declare(
    "pqn_learner",
    "learners.pqn_learner:PQNLearner",
    "PQN: Q(lambda) on the newest rollout, without replay and target networks, on-policy",
    learns_from="q",
    takes=("agent_rewards",),
    mixes=("nothing", "chosen_values"),
    on_policy=True,
    buffers=("rollout",),
    options={
        **MIXER,
        **TD_LAMBDA,
        "epochs": Option(1, "passes over each rollout", at_least=1, at_most=COPIES),
        "minibatches": Option(
            1,
            "parts of a pass, as equal as may be, an update each; each environment is in one of them",
            at_least=1,
            at_most=COPIES,
        ),
        "lr_finish": Option(
            None,
            "learning rate at t_max, to which it falls (or rises) linearly; null: it stays lr",
            nullable=True,
            kind=float,
            at_least=0,
        ),
    },
)

__getattr__ = lazy_classes(__name__, REGISTRY)
