"""The statistics of a run that are no learner's and no environment's, by name, with their meaning; `<...>` stands for
any text. Learners and environments declare theirs in their registries."""

MEAN = "_mean"
TEST = "test_"
# of episodes, since the last time that they were logged (runner_log_interval); each also of tests, as test_...
EPISODES = {
    "return_mean": "mean return of the episodes; of several agents the sum of what the team was paid",
    "return_std": "deviation of these returns",
    "<agent>_return_mean": "with a reward for each agent: mean return of one (agent_0, ...) and of their sum (total)",
    "<agent>_return_std": "deviation of these returns",
    "ep_length_mean": "mean steps of an episode",
    "<group>/return_mean": "mean return of one group of agents; <group>/return_std its deviation",
    "episode_limit_mean": "share of the episodes that ended because their time was up, where the environment says so",
    "<number>_mean": "mean of a number in the last infos of episodes (the tables of environments below)",
}
RUN = {
    "episode": "episodes of training so far",
    "epsilon": "probability of a random action, at the end of the last rollout",
    "loss_test": "loss on the share of the buffer that hold_out keeps away from learning",
    "weight_lag": "rounds of updates between the weights that played the last rollout and the newest, with "
    "collection=async or collectors",
    "weight_lag_max": "the largest since the last time, with collectors",
    "collector_wait": "seconds in which the learner waited for rollouts since the last time",
    "collector_restarts": "collectors that were started again so far",
    "crashed_episodes": "episodes so far that the environment called crashed, which are in no other statistic",
    "worker_restarts": "environments and their processes that were started again so far",
    "skipped_updates": "updates so far that were left out because a value was not finite (on_non_finite=skip)",
    "skipped_rollouts": "rollouts so far that were left out for the same reason",
    "live/<key>": "the value of a key that changed while the run was under way (docs/runs.md)",
    "test_win_rate_<opponent>": "share of the episodes of a test that were won against a past model (self-play), or "
    "another player of a league; pool: against all",
    "test_return_<opponent>": "mean return against it",
    "test_rating": "rating of the newest model, by its matches in tests (opponent_ratings); test_rating_<opponent>: of "
    "a past one, or another player of a league",
    "test_rating_sigma": "standard deviation of the rating; test_rating_sigma_<opponent>: likewise",
    "test_exploitability": "exact exploitability of the newest models, of small games of env=openspiel: what a player "
    "gains in the mean by the best answer; test_exploitability_pool: of the average of the pool's past models",
    "cloning_loss": "loss of clone.py on the recorded actions; test_cloning_loss: on those held out",
    "cloning_accuracy": "share of the recorded actions that the policy would choose; test_cloning_accuracy: likewise",
    "<team>/<statistic>": "a statistic of one team of several (teams)",
}
# in diagnostics.csv
DIAGNOSTICS = {
    "updates": "updates of the learner so far",
    "time/<part>": "seconds that a part of the loop has taken so far",
    "calls/<part>": "how often it has run",
    "longest/<part>": "seconds of its longest run",
    "monitor/<name>/<figure>": "a value that code watches with `monitor`",
    "histogram/<name>/<bin>": "how many numbers of a watched tensor are in a bin, with histograms",
    "rollout/<name>": "what rollouts are made of, for doctor.py",
    "machine/<name>": "of the machine, with machine_interval",
}
