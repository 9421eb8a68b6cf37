"""The config keys of off-policy actor-critics: DDPG, SAC, TQC, CrossQ."""

from dataclasses import replace

from learners.options import BY_UPDATES, CRITIC, CRITIC_LR, MIXER, TARGET_UPDATE_EVERY, UPDATE_ORDER
from utils.config.options import COPIES, NOWHERE, SHAPES, Option

VALUE_CRITIC = Option(
    "own", "kind of the network of state values (registry: critics), if there is one", resume=SHAPES, reaches=NOWHERE
)
OFF_POLICY = {
    "critic": CRITIC,
    "update_order": UPDATE_ORDER,
    "critic_lr": replace(CRITIC_LR, driven=True),
    "critic_loss": Option("mse", "of the critic's errors: mse, or smooth_l1", choices=("mse", "smooth_l1")),
    "policy_delay": Option(1, "updates of the critic for each of the policy", at_least=1, at_most=COPIES),
    "target_update_interval_or_tau": BY_UPDATES,
    "target_update_every": TARGET_UPDATE_EVERY,
}
DETERMINISTIC = {
    **OFF_POLICY,
    **MIXER,
    "policy_loss": Option("mean", "of the policy: the mean of -Q over a sample, or their sum", choices=("mean", "sum")),
    "target_noise": Option(
        0.0, "deviation of noise on the target policy's actions, in halves of their ranges", at_least=0
    ),
    "target_noise_clip": Option(0.5, "the most of that noise, in halves of their ranges", at_least=0),
    "bc_alpha": Option(
        0.0,
        "weight of values beside the squared distance of the policy's actions from the data's (TD3+BC: 2.5); 0: values "
        "alone",
        at_least=0,
    ),
}
SOFT = {
    **OFF_POLICY,
    "entropy_weight": Option(0.2, "of the policy's entropy in rewards; of a tuned one, the first", above=0),
    "tune_entropy": Option(True, "adjust entropy_weight to target_entropy"),
    "target_entropy": Option(
        None,
        "nats; null: minus the number of continuous actions, or 0.98 of the most that choices can have",
        nullable=True,
        kind=float,
    ),
    "team_entropy": Option(
        False, "values count the entropies of all agents' policies (HASAC), not of the agent's own alone"
    ),
    "entropy_lr": Option(3e-4, "learning rate of entropy_weight", above=0),
    "value_network": Option(
        False,
        "values of states by a network with a target, in place of target critics (SAC's first form)",
        resume=SHAPES,
    ),
    "value_critic": VALUE_CRITIC,
    "policy_gradient": Option(
        "reparameterised",
        "of the policy: reparameterised, or score (log-probabilities times advantages; with value_network)",
        choices=("reparameterised", "score"),
    ),
    "mean_penalty": Option(0.0, "weight of the squared means of continuous actions in the policy's loss", at_least=0),
    "deviation_penalty": Option(0.0, "weight of their squared log-deviations", at_least=0),
    "sample_penalty": Option(
        0.0,
        "weight of the squared actions that were drawn, before squashing, in the policy's loss; no gradient with "
        "policy_gradient=score (Digideep's z_lambda)",
        at_least=0,
    ),
    "losses_first": Option(
        False,
        "compute all losses, from one action drawn in each state, before any network changes (Digideep's first SAC); "
        "False: policy and values follow the critics' step",
    ),
}
WITHOUT_TARGETS = {
    **SOFT,
    "target_update_interval_or_tau": replace(
        BY_UPDATES, default=None, nullable=True, driven=False, kind=float, sentence="null: there are no target networks"
    ),
}
CONSERVATIVE = {
    "cql_weight": Option(1.0, "weight of the values of other actions than the data's (CQL's alpha)", at_least=0),
    "cql_actions": Option(
        10,
        "actions that are drawn for it in each state: of each distribution, or of all agents",
        at_least=1,
        at_most=1000,
    ),
}
RECTIFIED = {
    **{key: option for key, option in DETERMINISTIC.items() if key not in (*MIXER, "policy_loss", "bc_alpha")},
    **CONSERVATIVE,
    "cql_actions": replace(
        CONSERVATIVE["cql_actions"], sentence="actions that are drawn for it in each state, all alike likely"
    ),
    "omar_weight": Option(
        0.9,
        "of the squared distance of the policy's actions from the best of those tried; values count 1 - omar_weight "
        "(OMAR's tau)",
        at_least=0,
        at_most=1,
    ),
    "omar_iterations": Option(
        3, "how often actions are tried, from where the last ones were good", at_least=1, at_most=100
    ),
    "omar_samples": Option(10, "actions tried in each iteration and state", at_least=1, at_most=1000),
    "omar_mean": Option(0.0, "mean of the actions tried first, in halves of their ranges", at_least=-1, at_most=1),
    "omar_deviation": Option(2.0, "their deviation, in halves of their ranges", above=0),
    "omar_beta": Option(
        1.0, "how much more better actions count for the next mean and deviation: exp(beta Q)", at_least=0
    ),
}
IMPLICIT = {
    **OFF_POLICY,
    "value_critic": VALUE_CRITIC,
    "expectile": Option(
        0.7, "of the data's values that a state's is: 0.5 the mean, towards 1 the largest", above=0, at_most=0.999
    ),
    "advantage_weight": Option(
        3.0, "how much more the policy clones what is better than the state's value (IQL's beta)", at_least=0
    ),
}
TRUNCATED = {
    **SOFT,
    "critic_loss": replace(
        OFF_POLICY["critic_loss"],
        default="quantile_huber",
        choices=("quantile_huber",),
        sentence="of the critic's errors: the quantile Huber loss",
    ),
    "dropped_quantiles": Option(
        2, "of the next state's quantiles, the largest that targets leave out, for each critic", at_least=0, at_most=999
    ),
}
