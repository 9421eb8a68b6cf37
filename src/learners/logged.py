"""The statistics that learners log, by name, with their meaning: the trait `logs` of their entries in the registry."""

from collections.abc import Mapping

_MEANINGS = {
    "loss": "loss of the last update: mean squared error of values, or of quantiles and atoms (IQN)",
    "cql_loss": "mean excess of the values of all actions over those of the data's (CQL)",
    "omar_distance": "mean squared distance of the policy's actions from the best of those tried (OMAR)",
    "omar_gain": "mean value of the best actions tried above that of the policy's (OMAR)",
    "accuracy": "share of the data's choices that the policy finds most likely",
    "grad_norm": "norm of its gradient before clipping",
    "td_error_abs": "mean absolute difference of values and targets",
    "q_taken_mean": "mean value of the actions that were taken; of critics of states, of the states",
    "target_mean": "mean of what values learn: targets or returns",
    "loss_td": "the same as loss, under PyMARL2's name (halve_loss)",
    "hit_prob": "share of the actions taken that are greedy now, with a mixer that sees which are (PyMARL2's name)",
    "qmix_loss": "weighted loss of the monotonic value",
    "central_loss": "loss of the central value",
    "agent_norm": "norm of the agents' gradient before clipping",
    "mixer_norm": "norm of the mixer's gradient before clipping",
    "w_to_use": "mean weight of the squared errors: 1 where the joint action matters, elsewhere w",
    "td_loss": "loss of the joint value",
    "opt_loss": "loss at the greedy joint action",
    "nopt_loss": "loss at the joint action taken",
    "td_targets": "mean error of the joint value (PyMARL's name)",
    "td_chosen_qs": "mean joint value of the actions taken",
    "v_mean": "mean of the state's correction",
    "agent_indiv_qs": "mean of the agents' own values of the actions taken",
    "critic_loss": "loss of the critic",
    "critic_grad_norm": "norm of the critic's gradient before clipping",
    "advantage_mean": "mean advantage of the actions taken, after scaling if it is scaled",
    "coma_loss": "loss of the policy; with entropy_in_pg_loss less the entropy's share",
    "pg_loss": "loss of the policy; with entropy_in_pg_loss less the entropy's share",
    "agent_grad_norm": "norm of the policy's gradient before clipping",
    "pi_max": "mean probability of the likeliest action, where an action is one choice: 1 is a policy that has decided",
    "entropy": "mean entropy of the policy in nats",
    "approx_kl": "how far the policy has moved from the one that acted: estimate of the KL divergence; a few "
    "hundredths are usual",
    "clip_fraction": "share of the probability ratios beyond eps_clip",
    "edge_grad_norm": "norm of the gradient of the weights of edges, before clipping",
    "kl": "divergence of the new policy from the old one in nats, at most max_kl",
    "step_share": "share of the longest step in the trust region that was made; 0: no step improved the policy",
    "entropy_coef": "weight of the policy's entropy",
    "quantile_spread": "mean deviation of the quantiles of the actions taken",
    "entropy_weight": "weight of the entropy in rewards (SAC's temperature)",
    "value_loss": "loss of the network of state values",
    "individual_loss": "loss of the agents' own values (MASER)",
    "distance_loss": "mean squared error of distances as measures of unlike values",
    "explore_loss": "mean divergence of policies by values from uniform ones, from subgoals on",
    "discrim_loss": "loss of the network that says by which latent an episode was played",
    "explorer_entropy": "mean entropy of the policy of latents in nats",
    "eoi_loss": "loss of the classifier of who sees an observation (EOI), of the last updates",
    "ivf_loss": "mean squared error of intrinsic values (EOI), over all actions",
    "q_max_mean": "mean over agents of their largest action value",
    "q_min_mean": "mean over agents of their smallest action value",
    "q_max_var": "mean variance among agents of their largest action value",
    "q_min_var": "mean variance among agents of their smallest action value",
    "q_max_first": "q_max_mean of the first step of episodes",
    "q_min_first": "q_min_mean of the first step of episodes",
    "own_values": "mean size of the values that are an agent's own",
    "memory_loss": "mean squared error from remembered returns, before its weight memory_coef",
    "memory_hits": "share of steps after which a state is known to the episodic memory, or nothing follows",
    "imagined_loss": "weighted loss of values as if agents knew one group of entities",
    "role_kl_loss": "weighted divergence of roles by trajectories from those by observations",
    "role_dis_loss": "weighted loss of roles that are alike while trajectories are not",
    "role_loss": "mean squared error of the values of roles",
    "effects_loss": "loss of the network that learns what actions do, until they are divided into roles",
    "intrinsic_reward": "mean intrinsic reward of a sample, before its weight intrinsic_coef",
    "intrinsic_loss": "loss of the networks of intrinsic rewards",
}
_VALUES = "loss grad_norm td_error_abs q_taken_mean target_mean"
_CRITIC = "critic_loss critic_grad_norm td_error_abs q_taken_mean target_mean"
_POLICY = f"{_CRITIC} pg_loss agent_grad_norm entropy advantage_mean pi_max"


def _of(names: str) -> Mapping[str, str]:
    return {name: _MEANINGS[name] for name in names.split()}


VALUES = _of(_VALUES)
INTRINSIC = _of("intrinsic_reward intrinsic_loss")
Q_LEARNER = _of(f"{_VALUES} loss_td hit_prob")
CQL = _of(f"{_VALUES} loss_td hit_prob cql_loss")
MASER = _of(f"{_VALUES} loss_td hit_prob individual_loss distance_loss explore_loss intrinsic_reward")
MAVEN = _of(f"{_VALUES} loss_td hit_prob discrim_loss explorer_entropy")
CDS = _of(f"{_VALUES} loss_td hit_prob own_values intrinsic_reward")
EMC = _of(f"{_VALUES} loss_td hit_prob memory_loss memory_hits")
ROMA = _of(f"{_VALUES} loss_td hit_prob role_kl_loss role_dis_loss")
REFIL = _of(f"{_VALUES} loss_td hit_prob imagined_loss")
RODE = _of(f"{_VALUES} loss_td hit_prob role_loss effects_loss")
WQMIX = _of(f"{_VALUES} qmix_loss central_loss agent_norm mixer_norm w_to_use")
QTRAN = _of("loss td_loss opt_loss nopt_loss grad_norm td_error_abs td_targets td_chosen_qs v_mean agent_indiv_qs")
COMA = _of(f"{_CRITIC} coma_loss agent_grad_norm advantage_mean pi_max")
DOP = _of(
    f"{_CRITIC} coma_loss agent_grad_norm advantage_mean pi_max "
    "q_max_mean q_min_mean q_max_var q_min_var q_max_first q_min_first"
)
LICA = _of(f"{_CRITIC} pg_loss agent_grad_norm entropy pi_max")
A2C = _of(_POLICY)
EOI = _of(f"{_POLICY} eoi_loss ivf_loss")
PAC = _of(f"{_POLICY} entropy_coef")
PAC_DCG = _of(f"{_POLICY} entropy_coef value_loss")
PPO = _of(f"{_POLICY} approx_kl clip_fraction")
COMMFORMER = _of(f"{_POLICY} approx_kl clip_fraction edge_grad_norm")
TRPO = _of(f"{_POLICY} kl step_share")
IQN = _of(f"{_VALUES} quantile_spread")
DDPG = _of(f"{_CRITIC} pg_loss agent_grad_norm")
SAC = _of(f"{_CRITIC} pg_loss agent_grad_norm entropy entropy_weight value_loss")
CQL_ACTOR = _of(f"{_CRITIC} pg_loss agent_grad_norm entropy entropy_weight value_loss cql_loss")
OMAR = _of(f"{_CRITIC} pg_loss agent_grad_norm cql_loss omar_distance omar_gain")
IMPLICIT_Q = _of(f"{_CRITIC} pg_loss agent_grad_norm advantage_mean value_loss")
ICQ = _of(f"{_CRITIC} pg_loss agent_grad_norm advantage_mean pi_max")
BC = _of("loss grad_norm accuracy")
TQC = _of(f"{_CRITIC} pg_loss agent_grad_norm entropy entropy_weight quantile_spread")
