"""Presets `epymarl_*` compute what EPyMARL's learners compute: statistics and weights, from equal weights and batches.

EPyMARL is brought from outside: `MUSTER_FAMILY=FOLDER pytest tests/integration/test_epymarl_equals.py`, where the
folder has its checkout, named epymarl.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from checks.options import completed
from checks.values import normalised
from cli.foreign.epymarl import epymarls_config, is_epymarls
from epymarl_equals import ENDS, NEAREST, errors_of, generated, ours, task_of, theirs
from utils.config.merging import config_names, config_path, default_config
from utils.files.yaml_files import load_yaml

FAMILY = os.environ.get("MUSTER_FAMILY")
pytestmark = [
    pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with a checkout of EPyMARL, named epymarl"),
    pytest.mark.slow,
]
WITHIN = 1e-4
PRESETS = [name for name in config_names("algs") if name.startswith("epymarl_")]
WITH_FILES = [name for name in PRESETS if name not in NEAREST]
# where rounds of messages find joint actions that are equally good, rounding decides: not on trees
TREE = {"epymarl_pac_dcg_ns": {"cg_edges": "line"}}
Q_LEARNERS, TEAM_ONLY = ("iql", "vdn", "qmix"), ("vdn", "qmix", "coma")


@dataclass(frozen=True)
class Case:
    """A preset, what its batch is like, and changes of keys: ours, and EPyMARL's."""

    preset: str
    individual: bool
    ends: str
    updates: int = 2
    changes: dict = field(default_factory=dict, compare=False)
    their_changes: dict = field(default_factory=dict, compare=False)
    variant: str = ""

    def __str__(self) -> str:
        rewards = "individual" if self.individual else "common"
        return "-".join(filter(None, (self.preset, rewards, self.ends, self.variant)))


def _method(preset):
    return preset.split("_")[1]


def _cases():
    for preset in PRESETS:
        for individual in (False, True):
            if not (individual and _method(preset) in TEAM_ONLY):
                yield from (Case(preset, individual, ends) for ends in ENDS)


# of settings of a learner's that have no effect, or with which EPyMARL's fails
LEFT_OUT = {
    **dict.fromkeys(Q_LEARNERS, ("without_last_value", "long")),
    # of n agents, it compares [rows * n * n] returns with [rows * n] rewards
    "maddpg": ("returns", "without_last_value", "long"),
}
SAME = {
    "hard": {"target_update_interval_or_tau": 2},
    "soft": {"target_update_interval_or_tau": 0.3},
    "returns": {"standardise_returns": True},
    "plain": {"standardise_rewards": False},
    "without_last_value": {"add_value_last_step": False},
    "long": {"q_nstep": 20},
}
# of a graph; the first with standardised returns
GRAPHS = {
    "star": {"cg_edges": "star", "standardise_rewards": True},
    "no_edges": {"cg_edges": "vdn"},
    "layers": {"cg_payoff_rank": 2, "cg_utilities_hidden_dim": 6, "cg_payoffs_hidden_dim": 7},
    "last_round": {"msg_anytime": False, "msg_normalized": False},
    "full": {"cg_edges": "full", "msg_iterations": 2},
}
COMAS = "critic_own_obs critic_last_actions obs_last_action", "obs_individual_obs obs_last_action"
INPUTS = {
    "coma": COMAS,
    "coma_ns": COMAS,
    "mappo": ("critic_all_obs critic_last_actions obs_last_action", "obs_individual_obs obs_last_action"),
    "maa2c_ns": ("critic_last_actions obs_last_action", "obs_last_action"),
    "ippo": ("obs_last_action", "obs_last_action"),
    "maddpg": COMAS,
    "maddpg_ns": COMAS,
    "pac": ("critic_last_actions obs_last_action", "obs_last_action"),
    "pac_ns": ("critic_last_actions obs_last_action", "obs_last_action"),
    "qmix_ns": ("obs_last_action obs_agent_id", "obs_last_action obs_agent_id"),
}


def _variants():
    """Other settings of every preset; and inputs, whose order shows in the weights of the first layers."""
    for preset in PRESETS:
        for name, changes in SAME.items():
            if name not in LEFT_OUT.get(_method(preset), ()):
                yield Case(preset, False, "mixed", 3, changes, changes, name)
    for name, changes in GRAPHS.items():
        yield Case("epymarl_pac_dcg_ns", False, "mixed", 3, changes, changes, name)
    for preset, (mine, others) in INPUTS.items():
        changes = dict.fromkeys(mine.split(), True), dict.fromkeys(others.split(), True)
        yield Case(f"epymarl_{preset}", False, "mixed", 2, *changes, "inputs")


CASES = [*_cases(), *_variants()]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of each case: our weights before, those after and statistics; and EPyMARL's results, all from one process."""
    mine, tasks = {}, []
    for case in CASES:
        batch = generated(case.ends, case.individual)
        tree = TREE.get(case.preset, {})
        mine[case] = ours(case.preset, batch, case.updates, **{**tree, **case.changes})
        tasks.append(task_of(case.preset, batch, mine[case][0], case.updates, **{**tree, **case.their_changes}))
    found = theirs(Path(FAMILY).resolve() / "epymarl", tmp_path_factory.mktemp("epymarl"), tasks)
    return {case: (*mine[case], other) for case, other in zip(CASES, found, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal(results, case):
    """Every statistic that EPyMARL logs, and all weights, those of target networks too."""
    errors = errors_of(*results[case])
    print(f"{case}: {max(errors.values()):.1e}")
    assert {key: error for key, error in errors.items() if not error <= WITHIN} == {}


# EPyMARL's names of keys that have other ones here
RENAMED = {"hidden_dim": "rnn_hidden_dim"}
# the runner of ours that plays what EPyMARL's does
SAME_RUNNER = {"parallel": "episodes", "episode": "episode"}
# which matter to nothing, or to what EPyMARL records; its agents, critics and controllers have other names
ELSEWHERE = """
    name agent mac learner critic_type evaluation_epsilon obs_individual_obs optim_alpha optim_eps hypergroup render
    test_greedy env env_args buffer_cpu_only save_model
    critic_q_fn critic_baseline_fn critic_train_mode critic_train_reps save_model_interval
    state_value_type duelling
    use_wandb wandb_team wandb_project wandb_mode wandb_save_model
""".split()


@pytest.mark.parametrize("preset", WITH_FILES)
def test_settings_are_epymarls(preset):
    """All that a preset sets, and all defaults, but for how policies' batches are kept: the newest rollout only."""
    folder = Path(FAMILY).resolve() / "epymarl" / "src" / "config"
    files = folder / "default.yaml", folder / "algs" / f"{preset.removeprefix('epymarl_')}.yaml"
    expected = {key: value for file in files for key, value in yaml.safe_load(file.read_text()).items()}
    config = normalised(completed({**default_config(), **load_yaml(config_path(preset, "algs"))}))
    compared = {key: RENAMED.get(key, key) for key in expected if key not in ELSEWHERE}
    left_out = [key for key, name in compared.items() if name not in config]
    assert set(left_out) <= {"add_value_last_step"}, "keys that Q-learners do not read"
    keeps_rollouts = config["learner"] in ("a2c_learner", "ppo_learner")
    if config["learner"].startswith("pac"):
        del compared["add_value_last_step"]  # which PAC does not read
    for key, name in compared.items():
        if name in config and not (keeps_rollouts and key in ("batch_size", "buffer_size")):
            assert config[name] == (SAME_RUNNER[expected[key]] if key == "runner" else expected[key]), key


@pytest.mark.parametrize("preset", WITH_FILES)
def test_epymarls_own_file_is_the_preset(preset):
    """`--config=mine`, where mine.yaml is EPyMARL's file, computes what the preset does."""
    path = Path(FAMILY).resolve() / "epymarl" / "src" / "config" / "algs" / f"{preset.removeprefix('epymarl_')}.yaml"
    content = load_yaml(path)
    assert is_epymarls(content)
    config, note = epymarls_config(path, content)
    assert preset in note
    mine, ours = ({**default_config(), **own} for own in (config, load_yaml(config_path(preset, "algs"))))
    found, expected = normalised(completed(mine)), normalised(completed(ours))
    differs = {key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)}
    assert differs <= {"name", "critic_last_actions"}
    assert not found.get("critic_last_actions"), "null is the same for critics of state values"
