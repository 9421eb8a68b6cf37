"""Mutants of what EPyMARL's presets need."""

from catalog import COMA, Q_LEARNER, Edit

RETURNS = ("tests/learners/test_n_step.py",)
STANDARD = ("tests/learners/test_standardisation.py",)
ACTOR_CRITICS = ("tests/learners/test_epymarl_actor_critics.py",)
CRITIC = ("tests/modules/test_coma_critic.py",)
TARGETS = ("tests/learners/test_targets.py",)
STATE = ("tests/experiment/test_state.py", "-k", "epymarl")

MUTANTS = (
    Edit("epymarl: no value behind the last column", "* args.add_value_last_step", "* 0", RETURNS),
    Edit("epymarl: rewards in padding", "n_step_returns(rewards * mask, ", "n_step_returns(rewards, ", RETURNS),
    Edit("epymarl: ends are respected", "1 - always, always,", "terminated, always,", RETURNS),
    Edit("epymarl: values in padding", "values[:, 1:] * reached", "values[:, 1:]", RETURNS),
    Edit("epymarl: padding is never counted", "None if self._with_padding else mask", "mask", STANDARD),
    Edit("epymarl: padding is always counted", "None if self._with_padding else mask", "None", STANDARD),
    Edit("epymarl: no first count", "FIRST_COUNT = 1e-4", "FIRST_COUNT = 1.0", STANDARD),
    Edit("epymarl: biased variance", "squares / (number - 1).clamp(min=1)", "squares / number.clamp(min=1)", STANDARD),
    Edit("epymarl: one mean for all agents", "mean = rows.sum(dim=0)", "mean = rows.sum(dim=0).mean()", STANDARD),
    Edit("epymarl: rewards of one column", 'n_agents if "group" in info', '1 if "group" in info', STANDARD),
    Edit("epymarl: updates are not counted", "        self.updates += 1\n", "", TARGETS),
    Edit("epymarl: targets are copied at once", "        if pace > 1:\n", "        if pace < 0:\n", TARGETS),
    Edit("epymarl: targets never move softly", "        self.polyak(pace)\n", "", TARGETS),
    Edit(
        "epymarl: updates are counted from the start after a resume",
        'self.last_update, self.updates = state["last_update"], state["updates"]',
        'self.last_update = state["last_update"]',
        TARGETS,
    ),
    Edit("epymarl: statistics of rewards are not saved", '"reward_norm": self._rewards', '"reward_norm": None', STATE),
    Edit("epymarl: Q-values stay in their units", "self.standardised.values(self._mixed(", "(self._mixed(", Q_LEARNER),
    Edit("epymarl: Q-learning's statistics without padding", "packed=not counts_padding", "packed=True", Q_LEARNER),
    Edit(
        "epymarl: the critic's own target",
        "self.values(batch, self.target_critic)",
        "self.values(batch)",
        ACTOR_CRITICS,
    ),
    Edit(
        "epymarl: no target critic follows",
        "        if self.target_critic is not None:\n",
        "        if False:\n",
        ACTOR_CRITICS,
    ),
    Edit(
        "epymarl: advantages in units of rewards", "returns - outputs[:, :-1] if args.q_nstep else ", "", ACTOR_CRITICS
    ),
    Edit("epymarl: choices only", "if args.choices_only else mask", "", ACTOR_CRITICS),
    Edit("epymarl: one estimate for all epochs", " or self.args.estimate_each_epoch", "", ACTOR_CRITICS),
    Edit("epymarl: statistics of all epochs", "                stats.clear()\n", "", ACTOR_CRITICS),
    Edit(
        "epymarl: rewards are taken in again",
        "self.estimates(batch, rewards) | old",
        "self.estimates(batch) | old",
        ACTOR_CRITICS,
    ),
    Edit(
        "epymarl: the policy that acted", "if self.args.recompute_log_prob else {}", "if False else {}", ACTOR_CRITICS
    ),
    Edit(
        "epymarl: critics see present actions",
        "return actions_before(batch, key.removeprefix(LAST))",
        "return batch[key.removeprefix(LAST)]",
        ACTOR_CRITICS,
    ),
    Edit(
        "epymarl: last actions across episodes",
        ".masked_fill(episode_starts(batch).unflatten",
        ".masked_fill(0 * episode_starts(batch).unflatten",
        ACTOR_CRITICS,
    ),
    Edit("epymarl: COMA's errors are averaged over agents", "(self.n_agents if at_once else 1)", "1", COMA),
    Edit("epymarl: COMA without entropy", "gain = gain - entropy_coef", "gain = gain - 0 * entropy_coef", COMA),
    Edit(
        "epymarl: COMA's returns by lambda",
        "        if self.args.q_nstep:\n            targets",
        "        if False:\n            targets",
        COMA,
    ),
    Edit(
        "epymarl: COMA's targets as they are",
        "            )\n        return self.standardised.returns(targets, mask)\n",
        "            )\n        return targets\n",
        COMA,
    ),
    Edit(
        "epymarl: the own action of the first agent",
        "taken, weight.diagonal(dim1=0, dim2=2)",
        "taken, weight[0].transpose(1, 2)",
        CRITIC,
    ),
    Edit("epymarl: ids of the first agent", "weight.diagonal(dim1=0, dim2=2).t()", "weight[0].t()", CRITIC),
)
