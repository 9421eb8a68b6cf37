"""Learners: batches of episodes in, better weights out."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("learner")
REGISTRY.declare(
    "q_learner",
    "learners.q_learner:QLearner",
    "Q-learning of each agent or of the team: IQL, VDN, QMIX",
    learns_from="q",
    mixes=("nothing", "chosen_values"),
    reads=("mixer", "td_lambda", "double_q", "target_update_interval"),
)
REGISTRY.declare(
    "qtran_learner",
    "learners.qtran_learner:QLearner",
    "QTRAN-base: a joint value with a factorised argmax",
    learns_from="q",
    mixes=("joint_action",),
    reads=("mixer", "double_q", "target_update_interval", "opt_loss", "nopt_min_loss"),
)
REGISTRY.declare(
    "coma_learner",
    "learners.coma_learner:COMALearner",
    "COMA: policy gradients with a counterfactual baseline, on-policy",
    learns_from="pi_logits",
    mixes=("nothing",),
    on_policy=True,
    needs_episodes=True,
    reads=("critic", "critic_lr", "td_lambda", "target_update_interval"),
    # keys of PyMARL's own coma.yaml, which its learner does not read either
    inert=("critic_q_fn", "critic_baseline_fn", "critic_train_mode", "critic_train_reps", "q_nstep"),
)
REGISTRY.declare(
    "pqn_learner",
    "learners.pqn_learner:PQNLearner",
    "PQN: Q(lambda) on the newest rollout, without replay and target networks, on-policy",
    learns_from="q",
    mixes=("nothing", "chosen_values"),
    on_policy=True,
    buffers=("rollout",),
    reads=("mixer", "td_lambda", "epochs", "minibatches", "lr_finish"),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
