"""Learners: batches of episodes in, better weights out."""

from learners.options import ACTOR_CRITIC, DOUBLE_Q, EPOCHS, LR_FINISH, MIXER, OPTIONS, TARGETS, TD_LAMBDA
from utils.options import SHAPES, SHARED, STEPS, Option
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
    values="actions",
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
        **EPOCHS,
        "lr_finish": LR_FINISH,
    },
)
POLICY_GRADIENTS = {
    "learns_from": "pi_logits",
    "values": "states",
    "takes": ("agent_rewards", "continuous", "branches", "other_actions"),
    "mixes": ("nothing",),
    "on_policy": True,
    "buffers": ("rollout",),
}
REGISTRY.declare(
    "ppo_learner",
    "learners.ppo_learner:PPOLearner",
    "PPO: clipped policy gradients in several epochs: IPPO, MAPPO, on-policy",
    **POLICY_GRADIENTS,
    options={
        **ACTOR_CRITIC,
        **EPOCHS,
        "eps_clip": Option(0.2, "how far the ratio of new and old probabilities may be from 1", above=0, schedule=True),
        "value_clip": Option(True, "clip changes of values as those of the policy"),
        "chunk_length": Option(
            0,
            "minibatches are drawn from parts of this many steps, with the memory they started from; 0: whole rows",
            at_least=0,
            at_most=STEPS,
        ),
        "burn_in": Option(
            0,
            "steps before each part that its memory is computed from, and that nothing is learned from",
            at_least=0,
            at_most=STEPS,
        ),
        "target_kl": Option(0.0, "stop the epochs when the policy has moved this far; 0: never", at_least=0),
    },
)
REGISTRY.declare(
    "a2c_learner",
    "learners.a2c_learner:A2CLearner",
    "A2C: policy gradients with a critic: IA2C, MAA2C, on-policy",
    **POLICY_GRADIENTS,
    options=ACTOR_CRITIC,
)

__getattr__ = lazy_classes(__name__, REGISTRY)
