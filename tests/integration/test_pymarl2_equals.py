"""Presets `pymarl2_*` compute what PyMARL2's learners compute: statistics and weights, from equal weights and batches.

PyMARL2 is brought from outside: `MUSTER_FAMILY=FOLDER pytest tests/integration/test_pymarl2_equals.py`, where the
folder has its checkout, named pymarl2.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from checks.options import completed
from checks.values import normalised
from epymarl_equals import ENDS, SEVERAL, errors_of, generated, ours, task_of, theirs
from utils.config.merging import config_names, config_path, default_config
from utils.files.yaml_files import load_yaml

FAMILY = os.environ.get("MUSTER_FAMILY")
pytestmark = [
    pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with a checkout of PyMARL2, named pymarl2"),
    pytest.mark.slow,
]
WITHIN = 1e-4
PRESETS = [name for name in config_names("algs") if name.startswith("pymarl2_")]


@dataclass(frozen=True)
class Case:
    """A preset, how the episodes of its batch end, and changes of keys that both have."""

    preset: str
    ends: str
    updates: int = 2
    changes: dict = field(default_factory=dict, compare=False)
    variant: str = ""
    within: float = WITHIN

    def __str__(self) -> str:
        return "-".join(filter(None, (self.preset, self.ends, self.variant)))


Q_LAMBDA = {"q_lambda": True}
OWN = {
    "qmix": {
        "q_lambda": Q_LAMBDA,
        "layer_norm": {"use_layer_norm": True},
        "quadratic": {"qmix_pos_func": "quadratic"},
        "softplus": {"qmix_pos_func": "softplus", "qmix_pos_func_beta": 2.0},
    },
    "vdn": {"q_lambda": Q_LAMBDA},
    "qtran": {"big": {"network_size": "big", "qtran_arch": "coma_critic", "double_q": False}},
    "qplex": {
        "one_layer": {"adv_hypernet_layers": 1, "num_kernel": 2},
        "three_layers": {"adv_hypernet_layers": 3},
        "plain_head": {"weighted_head": False},
        "by_lambda": {"is_minus_one": False},
    },
}


# seven steps of the critic an update, by RMSprop with an eps of 1e-8: rounding grows; in float64 they differ by 1e-12
GROWN = {"pymarl2_dop": 1e-3}


def _cases():
    for preset in PRESETS:
        yield from (Case(preset, ends) for ends in ENDS)
        within = GROWN.get(preset, WITHIN)
        yield Case(preset, "mixed", 3, {"target_update_interval": 1}, "targets", within)
        for name, changes in OWN.get(preset.removeprefix("pymarl2_"), {}).items():
            yield Case(preset, "mixed", 2, changes, name)


# which PyMARL2 itself sets by the map; the state of these batches has two numbers for each of three agents
BY_MAP = {"pymarl2_qatten": {"agent_own_state_size": 2}}


CASES = [*_cases()]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of each case: our weights before, those after and statistics; and PyMARL2's results, all from one process."""
    mine, tasks = {}, []
    for case in CASES:
        batch = generated(case.ends, individual=False, parts=SEVERAL.get(case.preset, 1), preset=case.preset)
        changes = case.changes | BY_MAP.get(case.preset, {})
        mine[case] = ours(case.preset, batch, case.updates, **changes)
        tasks.append(task_of(case.preset, batch, mine[case][0], case.updates, **changes))
    found = theirs(Path(FAMILY).resolve() / "pymarl2", tmp_path_factory.mktemp("pymarl2"), tasks)
    return {case: (*mine[case], other) for case, other in zip(CASES, found, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal(results, case):
    """Every statistic that PyMARL2 logs, and all weights, those of target networks too."""
    errors = errors_of(*results[case])
    print(f"{case}: {max(errors.values()):.1e}")
    assert {key: error for key, error in errors.items() if not error <= case.within} == {}


# the runner of ours that plays what PyMARL2's does, and the selector that draws as its
SAME = {"runner": {"parallel": "episodes"}, "action_selector": {"gumbel": "soft_policies"}}
# which matter to nothing, or whose parts have other names here
# keys that a preset's parts do not read, or have others in place of
EPSILON = ("epsilon_start", "epsilon_finish", "epsilon_anneal_time")
OTHER_KEYS = {
    "pymarl2_coma": ("buffer_size",),
    "pymarl2_lica": EPSILON,
    # the first is their off_buffer_size; two keys that it does not read
    "pymarl2_dop": ("buffer_size", "critic_lr", "optim_eps"),
    # their off_buffer_size
    "pymarl2_riit": (*EPSILON, "buffer_size"),
    "pymarl2_riit_online": EPSILON,
    "pymarl2_vmix": (
        *EPSILON,
        "batch_size",
        "buffer_size",
        "action_selector",
        "critic_lr",
        "td_lambda",
        "target_update_interval",
    ),
}
# keys that have other names here
NAMES = {
    "pymarl2_vmix": {"td_lambda": "gae_lambda", "ent_coef": "entropy_coef", "vf_coef": "value_coef"},
    "pymarl2_ippo": {"mini_epochs": "epochs", "entropy": "entropy_coef", "critic_coef": "value_coef"},
}
ELSEWHERE = """
    name agent mac learner mixer optim_alpha optim_eps env env_args buffer_cpu_only save_model save_model_interval run
    is_adv_attention is_stop_gradient agent_own_state_size
""".split()


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_are_pymarl2s(preset):
    """All that a preset sets, and all defaults."""
    folder = Path(FAMILY).resolve() / "pymarl2" / "src" / "config"
    files = folder / "default.yaml", folder / "algs" / f"{preset.removeprefix('pymarl2_')}.yaml"
    expected = {key: value for file in files for key, value in yaml.safe_load(file.read_text()).items()}
    config = normalised(completed({**default_config(), **load_yaml(config_path(preset, "algs"))}))
    for key, value in expected.items():
        if key in config and key not in (*ELSEWHERE, *OTHER_KEYS.get(preset, ())):
            assert config[key] == SAME.get(key, {}).get(value, value), key
    assert all(config[ours] == expected[key] for key, ours in NAMES.get(preset, {}).items())
    if preset == "pymarl2_vmix":
        start, finish, time = (expected[f"epsilon_{key}"] for key in ("start", "finish", "anneal_time"))
        assert config["noise_scale"] == [[0, start], [time, finish]]
