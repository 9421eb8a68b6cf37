"""Exactness over the whole registry: a run that is killed again and again ends as an undisturbed one."""

import pytest
from killed_runs import finished, metric_log, resumes_exactly

from checks.options import completed
from cli.compose import compose_config
from covering import covering
from learners import REGISTRY as learners
from runners import REGISTRY as runners
from small_training import needs_continuous_actions, preset_of, sees_entities, suited
from utils.config.merging import config_names

pytestmark = pytest.mark.slow

# once in the first phase of a run; these are killed in a resumed session, too
KILLED_TWICE = ("batched", "episodes")
# runners that play Skirmish here, as one batch; the others play a matrix game in the process or in workers
ON_SKIRMISH = ("batched", "rollout")
SETTINGS = {
    "batch_size": 4,
    "buffer_size": 12,
    "seed": 5,
    "test_nepisode": 2,
    "test_interval": 80,
    "log_interval": 30,
    "runner_log_interval": 10,
    "learner_log_interval": 1,
    "rnn_hidden_dim": 16,
    "rollout_steps": 8,
    "epsilon_anneal_time": 300,
    "target_update_interval": 5,
}


def kind_of(learner):
    """From what it learns: what it keeps of episodes, what was just played, or transitions."""
    traits = learners.entry(learner).traits
    kept = "transitions" if "transitions" in traits.get("buffers", ()) else "episodes"
    return "on-policy" if traits.get("on_policy") else kept


def plays():
    """The Q-learner with every runner, in every mode, in turn and overlapping; every learner on a batch.

    Those that learn from what was just played also with episodes that continue over an update, and with rollouts; those
    from transitions, whose buffer continues over rollouts, with these.
    """
    for runner in sorted(runners):
        for learner in sorted(learners):
            cuts = runners.entry(runner).traits.get("cuts_episodes")
            if cuts and learners.entry(learner).traits.get("needs_episodes"):
                continue
            everywhere, kind = learner == "q_learner", kind_of(learner)
            for mode in ("synchronous", "continuous") if runner == "batched" else ("synchronous",):
                native = runner == "batched" and (kind == "on-policy" or mode == "synchronous")
                native |= runner == "rollout" and kind in ("on-policy", "transitions")
                if everywhere or native:
                    for overlap in (False, True) if everywhere else (False,):
                        yield runner, mode, overlap, kind, learner


def cases():
    """Of `plays`, every pair of runner, mode, overlap and kind of learner.

    The learners of a kind differ in their own state, not in what a killed process leaves behind. That state is compared
    bit for bit in tests/experiment/test_state.py, which resumes each learner and preset within one process.
    """
    left = list(plays())
    # those that play in the fewest ways first
    names = sorted({play[-1] for play in left}, key=lambda name: (sum(play[-1] == name for play in left), name))
    for chosen in covering(play[:-1] for play in left):
        able = [name for name in (*names, "q_learner", *sorted(learners)) if (*chosen, name) in left]
        yield case(*chosen, able[0])
        names = [name for name in names if name not in able[:1]]


def case(runner, mode, overlap, _, learner):
    return pytest.param(runner, learner, mode, overlap, id=f"{runner}-{learner}-{mode}-{overlap}")


def presets():
    """One for each pair of parts that `cases` lacks; all presets are in `tests/experiment/test_state.py`."""
    seen = []
    for name in sorted(config_names("algs"), key=len):
        config = completed(compose_config(name, "matrix").config)
        parts = config["learner"], config["mac"]
        if parts not in seen:
            seen.append(parts)
            if name != preset_of(config["learner"]):
                yield name


def config_of(runner, learner, mode, overlap, algorithm=None):
    algorithm = algorithm or preset_of(learner)
    continuous = needs_continuous_actions(algorithm)
    skirmish = runner in ON_SKIRMISH and not continuous
    entities = sees_entities(algorithm)
    environment = "entities" if entities else "gymnasium" if continuous else "skirmish" if skirmish else "matrix"
    config = compose_config(algorithm, environment).config
    environments = 1 if runners.entry(runner).traits.get("max_environments") == 1 else 2
    changes = {**SETTINGS, "runner": runner, "batched_mode": mode, "overlap": overlap, "batch_size_run": environments}
    changes["t_max"] = 120 if runner == "rollout" else 300 if skirmish else 200
    if continuous:
        changes["env_args"] = {"key": "Pendulum-v1", "time_limit": 7}
    elif entities:  # with actors of two kinds, that come and go
        kwargs = {"orbital_cannon": True, "cooldown_period": 1, "width": 4, "height": 4}
        changes["env_args"] = {"kwargs": kwargs, "episode_limit": 7}
    elif not skirmish:
        changes["env_args"] = {"game": "climbing", "episode_limit": 4}
    if config["agent_output_type"] == "pi_logits":
        changes["test_greedy"] = False  # tests draw random numbers, too
    suited(config, changes)
    if learners.entry(learner).traits.get("on_policy"):
        config["batch_size"] = config["buffer_size"] = environments
        config["minibatches"] = environments
    if config.get("epochs", 0) > 2:
        config["epochs"] = 2  # more say nothing more about what is saved
    return config


@pytest.mark.parametrize(("runner", "learner", "mode", "overlap"), list(cases()))
def test_killed_runs_end_as_if_they_had_not_been(tmp_path, runner, learner, mode, overlap):
    config = config_of(runner, learner, mode, overlap)
    kills = 2 if learner == "q_learner" and runner in KILLED_TWICE else 1
    resumes_exactly(tmp_path, config, f"{runner} {learner} {mode} {overlap}", kills)


@pytest.mark.parametrize("preset", list(presets()))
def test_presets_resume_exactly(tmp_path, preset):
    config = compose_config(preset, "matrix").config
    config = config_of(config["runner"], config["learner"], "synchronous", overlap=False, algorithm=preset)
    if (config.get("target_update_interval_or_tau") or 0) > 1:
        config["target_update_interval_or_tau"] = 3
    if config.get("chunk_length", 0) > 1:
        config["chunk_length"] = SETTINGS["rollout_steps"] // 2
    resumes_exactly(tmp_path, {**config, "t_max": 120}, preset)


def test_intrinsic_rewards_resume_exactly(tmp_path):
    config = config_of("rollout", "ppo_learner", "synchronous", overlap=False)
    resumes_exactly(tmp_path, {**config, "t_max": 120, "intrinsic": "rnd", "intrinsic_coef": 0.5}, "intrinsic")


def test_exploring_that_lasts_resumes_exactly(tmp_path):
    config = config_of("rollout", "q_learner", "synchronous", overlap=False)
    config |= {"t_max": 120, "action_selector": "ez_greedy", "epsilon_finish": 0.5, "explore_exponent": 0.5}
    resumes_exactly(tmp_path, config, "ez_greedy")


def test_mini_races_resume_exactly(tmp_path):
    config = compose_config("iqn_mini_race", "racing").config
    config["env_args"]["time_limit"] = 40
    config |= {**SETTINGS, "batch_size_run": 4, "t_max": 250, "batch_size": 16, "buffer_size": 1000, "buffer_min": 64}
    config |= {"hold_out": 0.6, "hold_out_redraw": 0.1, "average_weights": 0.9}
    resumes_exactly(tmp_path, config, "mini-races")


def test_a_batch_resumes_exactly_in_another_number_of_threads(tmp_path):
    config = config_of("rollout", "ppo_learner", "synchronous", overlap=False)
    resumes_exactly(tmp_path, {**config, "t_max": 120}, "threads", env_threads=3)


@pytest.mark.parametrize("runner", ["parallel", "episode"])
def test_runs_with_overlap_log_the_same_in_the_same_order(tmp_path, runner):
    logs = []
    for name in "abc":
        config = config_of(runner, "q_learner", "synchronous", overlap=True)
        config |= {"local_results_path": str(tmp_path / name / "results"), "checkpoint_interval": 10**9}
        finished(config, tmp_path / name)
        logs.append(metric_log(tmp_path / name))
    assert len(logs[0]) > 100
    assert logs[0] == logs[1] == logs[2]
