"""Presets `pymarlzoo_*` compute what PyMARLzoo+'s learners compute: statistics and weights, from equal weights.

PyMARLzoo+ is brought from outside: `MUSTER_FAMILY=FOLDER pytest tests/integration/test_pymarlzoo_equals.py`, where the
folder has its checkout, named pymarlzoo.
"""

import os
from pathlib import Path

import pytest
import yaml

from checks.options import completed
from checks.values import normalised
from epymarl_equals import ENDS, WEIGHTS, errors_of, generated, ours, task_of, theirs
from utils.config.merging import config_names, config_path, default_config
from utils.files.yaml_files import load_yaml

FAMILY = os.environ.get("MUSTER_FAMILY")
pytestmark = [
    pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with a checkout of PyMARLzoo+: pymarlzoo"),
    pytest.mark.slow,
]
WITHIN = 1e-4
PRESETS = [name for name in config_names("algs") if name.startswith("pymarlzoo_")]
# (preset, how its episodes end, updates, changes of keys that both have)
BY_EPISODES = "pymarlzoo_qplex", "pymarlzoo_maven", "pymarlzoo_maser", "pymarlzoo_cds", "pymarlzoo_emc"
TARGETS = dict.fromkeys(BY_EPISODES, "target_update_interval")
WITHOUT_TARGETS = "pymarlzoo_happo", "pymarlzoo_mat_dec", "pymarlzoo_commformer"
CASES = [(preset, ends, 2, {}) for preset in PRESETS for ends in ENDS]
CASES += [
    (preset, "mixed", 3, {TARGETS.get(preset, "target_update_interval_or_tau"): interval})
    for preset in PRESETS
    if preset not in WITHOUT_TARGETS
    for interval in ((2,) if preset in TARGETS else (2, 0.3))
]
# whose gradients are smaller than what they are clipped to
CASES += [("pymarlzoo_happo", "mixed", 2, {"grad_norm_clip": 0.5})]
CASES += [("pymarlzoo_commformer", "mixed", 2, {"grad_norm_clip": 0.5, "max_grad_norm": 0.5})]
# whose graph has chosen edges in updates, too
CASES += [("pymarlzoo_commformer", ends, 2, {"edge_warmup": 0, "warmup": 0}) for ends in ENDS]


def _name(case):
    preset, ends, _, changes = case
    return "-".join([preset, ends, *(f"{key}={value}" for key, value in changes.items())])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of each case: our weights before, those after and statistics; and PyMARLzoo+'s, all from one process."""
    mine, tasks = [], []
    for preset, ends, updates, changes in CASES:
        own, other = (changes | weights for weights in WEIGHTS.get(preset, ({}, {})))
        batch = generated(ends, individual=False, preset=preset)
        mine.append(ours(preset, batch, updates, **own))
        tasks.append(task_of(preset, batch, mine[-1][0], updates, **other))
    found = theirs(Path(FAMILY).resolve() / "pymarlzoo", tmp_path_factory.mktemp("pymarlzoo"), tasks)
    return [(*one, other) for one, other in zip(mine, found, strict=True)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=map(_name, CASES))
def test_equal(results, number):
    """Every statistic that PyMARLzoo+ logs, and all weights, those of target networks too."""
    errors = errors_of(*results[number], preset=CASES[number][0])
    print(f"{_name(CASES[number])}: {max(errors.values()):.1e}")
    assert {key: error for key, error in errors.items() if not error <= WITHIN} == {}


RENAMED = {
    "hidden_dim": "rnn_hidden_dim",
    "num_mini_batch": "minibatches",
    "data_chunk_length": "chunk_length",
    "ppo_epoch": "epochs",
    "clip_param": "eps_clip",
    "max_grad_norm": "grad_norm_clip",
    "opti_eps": "optim_eps",
}
ON_POLICY = "a2c_learner", "eoi_learner", "ppo_learner", "commformer_learner"
SAME_RUNNER = {"parallel": "episodes", "episode": "episode"}
# which matter to nothing, or whose parts have other names here
ELSEWHERE = """
    name agent mac learner mixer critic_type evaluation_epsilon obs_individual_obs optim_alpha optim_eps hypergroup
    render test_greedy env env_args buffer_cpu_only save_model save_model_interval optimizer run wandb use_cuda
    critic_q_fn critic_baseline_fn critic_train_mode critic_train_reps
""".split()


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_are_pymarlzoos(preset):
    """All that a preset sets, and all defaults, but for how policies' batches are kept: the newest rollout only."""
    folder = Path(FAMILY).resolve() / "pymarlzoo" / "pymarlzooplus" / "config"
    files = folder / "default.yaml", folder / "algs" / f"{preset.removeprefix('pymarlzoo_')}.yaml"
    expected = {key: value for file in files for key, value in yaml.safe_load(file.read_text()).items()}
    # which YAML reads as text
    expected |= {key: float(expected[key]) for key in ("lr", "opti_eps", "edge_lr") if key in expected}
    config = normalised(completed({**default_config(), **load_yaml(config_path(preset, "algs"))}))
    of_rollouts = ("batch_size", "buffer_size") if config["learner"] in ON_POLICY else ()
    # which these controllers do not read, and n-step returns alone do
    unread = ("action_selector", "add_value_last_step") if config["mac"] in ("policy_mac", "mat_mac") else ()
    if preset in WITHOUT_TARGETS:  # which their learners do not read either
        unread += ("target_update_interval_or_tau",)
    compared = {key: RENAMED.get(key, key) for key in expected if key not in (*ELSEWHERE, *of_rollouts, *unread)}
    differs = {
        key: (config[name], expected[key])
        for key, name in compared.items()
        if name in config and config[name] != (SAME_RUNNER[expected[key]] if key == "runner" else expected[key])
    }
    assert not differs
