"""The rules by which a run is ill, and what they find. A new one is a function and its row here."""

from records.symptoms import learning, playing
from records.symptoms.evidence import Evidence
from records.symptoms.findings import Finding, Rule

# the causes first: what comes later often follows from them
RULES = (
    Rule(
        "rewards_zero",
        "All rewards are zero",
        playing.rewards_zero,
        "The reward is too rare to be found by chance, or the environment returns none.",
        "Look at its rewards (--validate, a replay); reward steps on the way to the goal, or make the task easier.",
        ("env_args.time_limit", "env_args.reward_sparse"),
        team=False,
    ),
    Rule(
        "actions_forced",
        "Nearly all actions are illegal",
        playing.actions_forced,
        "The environment's mask (get_avail_actions) forbids too much, or marks legal actions by 0.",
        "Correct the mask: 1 is legal, and a choice needs two.",
        team=False,
    ),
    Rule(
        "observations_outside",
        "Observations leave their announced bounds",
        playing.observations_outside,
        "The environment's observation space is wrong, or its observations are in other units.",
        "Correct the bounds, or normalise_observations=True.",
        ("normalise_observations",),
        team=False,
    ),
    Rule(
        "observations_unscaled",
        "Observations are not scaled",
        playing.observations_unscaled,
        "Networks learn slowly, or not at all, from large numbers.",
        "Divide them in the environment, to about -1 to 1, or set normalise_observations=True.",
        ("normalise_observations",),
        team=False,
    ),
    Rule(
        "updates_skipped",
        "Updates are left out",
        learning.skipped,
        "The learning rate is too high, or the environment's data are not finite.",
        "Look into faults/ (docs/debugging.md, A NaN); lower lr, or grad_norm_clip.",
        ("lr", "grad_norm_clip"),
    ),
    Rule(
        "policy_jumps",
        "The policy jumps",
        learning.policy_jumps,
        "The learning rate is too high: an update changes the policy beyond what eps_clip can hold.",
        "Lower lr by ten; target_kl=0.02 ends the epochs of a rollout early.",
        ("lr", "epochs", "target_kl"),
    ),
    Rule(
        "policy_collapsed",
        "The policy has collapsed",
        learning.policy_collapsed,
        "It settled on actions before it knew better: the learning rate is too high, or the entropy bonus too small.",
        "Lower lr, or raise entropy_coef.",
        ("lr", "entropy_coef"),
    ),
    Rule(
        "no_gradient",
        "The gradient is zero",
        learning.no_gradient,
        "The loss does not depend on the weights (a detach, a mask of zeros), or all units of a layer are dead.",
        "Try the learner on the probes (src/probe.py); if a built-in one, lower lr.",
        ("lr",),
    ),
    Rule(
        "values_explode",
        "Values explode",
        learning.values_explode,
        "Targets follow their own estimates: the learning rate is too high, or the target network changes too often.",
        "Lower lr, raise target_update_interval (or lower target_update_interval_or_tau), or gamma below 1.",
        ("lr", "critic_lr", "target_update_interval", "target_update_interval_or_tau", "gamma"),
    ),
    Rule(
        "learning_diverges",
        "Errors grow",
        learning.learning_diverges,
        "The learning rate is too high for the size of the rewards.",
        "Lower lr and critic_lr by ten, or scale the rewards.",
        ("lr", "critic_lr", "grad_norm_clip"),
    ),
    Rule(
        "limit_ends_all",
        "The time limit ends every episode",
        playing.limit_ends_all,
        "No episode gets far enough for its outcome to differ.",
        "Raise the environment's limit, reward steps on the way, or explore longer.",
        ("env_args.time_limit", "env_args.episode_limit"),
        live=False,
        team=False,
    ),
    Rule(
        "epsilon_left",
        "Exploration has not ended",
        learning.epsilon_left,
        "epsilon_anneal_time is longer than the run.",
        "Lower epsilon_anneal_time to about half of t_max, or raise t_max.",
        ("epsilon_anneal_time", "t_max"),
        live=False,
    ),
    Rule(
        "few_tests",
        "Tests are too few to tell",
        playing.few_tests,
        "The difference between the tests and random play is within chance.",
        "Raise test_nepisode to 32 or more.",
        ("test_nepisode",),
        live=False,
        team=False,
    ),
    Rule(
        "no_better_than_random",
        "Returns are not above random play",
        playing.no_better_than_random,
        "Nothing was learned: too few steps or updates, a learning rate that is too low, or rewards that are too rare.",
        "Try the learner on the probes (src/probe.py), then a higher lr, then a larger t_max.",
        ("lr", "t_max"),
        live=False,
        team=False,
    ),
)


def findings_of(evidence: Evidence) -> list[Finding]:
    """What is wrong with a run, the likely causes first; empty for a healthy one.

    Rules that need the end of a run are left out while it trains.
    """
    return [finding for rule in RULES if rule.live or evidence.ended for finding in rule.of(evidence)]


def text_of(findings: list[Finding]) -> str:
    """As a report in paragraphs."""
    if not findings:
        return "Nothing is wrong, as far as the rules see (docs/debugging.md)."
    return "\n\n".join(
        f"{one.title}\n  Seen:   {one.seen}\n  Cause:  {one.cause}\n  Change: {one.change}" for one in findings
    )
