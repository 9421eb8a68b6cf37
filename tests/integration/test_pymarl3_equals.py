"""Presets `pymarl3_*` compute what PyMARL3's learners compute: statistics and weights, from equal weights and batches.

PyMARL3 is brought from outside: `MUSTER_FAMILY=FOLDER pytest tests/integration/test_pymarl3_equals.py`, where the
folder has its checkout, named pymarl3.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from checks.options import completed
from checks.values import normalised
from epymarl_equals import ENDS, errors_of, generated, ours, sizes_of, task_of, theirs
from utils.config.merging import config_names, config_path, default_config
from utils.files.yaml_files import load_yaml

FAMILY = os.environ.get("MUSTER_FAMILY")
pytestmark = [
    pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with a checkout of PyMARL3, named pymarl3"),
    pytest.mark.slow,
]
WITHIN = 1e-4
PRESETS = [name for name in config_names("algs") if name.startswith("pymarl3_")]


@dataclass(frozen=True)
class Case:
    """A preset, how the episodes of its batch end, and changes of keys that both have."""

    preset: str
    ends: str
    updates: int = 2
    changes: dict = field(default_factory=dict, compare=False)
    variant: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.preset, self.ends, self.variant)))


# settings of agents, by what a preset's name has in it
VARIANTS = {
    "hpn": {
        "heads": {"hpn_head_num": 2},
        "no_ids": {"obs_agent_id": False},
        "both_ids": {"obs_agent_id": True, "obs_last_action": True},
    },
    "deepset": {"both_ids": {"obs_agent_id": True, "obs_last_action": True}},
    "gnn": {"both_ids": {"obs_agent_id": True, "obs_last_action": True}},
    "asn": {"narrower": {"asn_hidden_size": 8}},
    "updet": {"deeper": {"transformer_depth": 3, "transformer_heads": 2}},
}


def _cases():
    for preset in PRESETS:
        yield from (Case(preset, ends) for ends in ENDS)
        # of augmented samples, all updates but the first have the new target networks already
        if not preset.endswith("_DA"):
            yield Case(preset, "mixed", 3, {"target_update_interval": 1}, "targets")
        variants = VARIANTS.get(preset.split("_")[1], {})
        yield from (Case(preset, "mixed", 2, changes, name) for name, changes in variants.items())


CASES = [*_cases()]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of each case: our weights before, those after and statistics; and PyMARL3's results, all from one process."""
    mine, tasks = {}, []
    for case in CASES:
        batch = generated(case.ends, individual=False, sizes=sizes_of(case.preset))
        mine[case] = ours(case.preset, batch, case.updates, **case.changes)
        tasks.append(task_of(case.preset, batch, mine[case][0], case.updates, **case.changes))
    found = theirs(Path(FAMILY).resolve() / "pymarl3", tmp_path_factory.mktemp("pymarl3"), tasks)
    return {case: (*mine[case], other) for case, other in zip(CASES, found, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal(results, case):
    """Every statistic that PyMARL3 logs, and all weights, those of target networks too."""
    errors = errors_of(*results[case])
    print(f"{case}: {max(errors.values()):.1e}")
    assert {key: error for key, error in errors.items() if not error <= WITHIN} == {}


# the runner of ours that plays what PyMARL3's does
SAME = {"runner": {"parallel": "episodes"}}
# which matter to nothing, or whose parts have other names here
ELSEWHERE = """
    name agent mac learner mixer optim_alpha optim_eps env env_args buffer_cpu_only save_model save_model_interval run
    is_adv_attention is_stop_gradient use_tensorboard
""".split()
# PyMARL3's UPDeT sees neither, whatever its configs say
UNSEEN = "obs_agent_id", "obs_last_action"


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_are_pymarl3s(preset):
    """All that a preset sets, and all defaults."""
    folder = Path(FAMILY).resolve() / "pymarl3" / "src" / "config"
    files = folder / "default.yaml", folder / "algs" / f"{preset.removeprefix('pymarl3_')}.yaml"
    expected = {key: value for file in files for key, value in yaml.safe_load(file.read_text()).items()}
    config = normalised(completed({**default_config(), **load_yaml(config_path(preset, "algs"))}))
    unlike = (*ELSEWHERE, *(UNSEEN if "updet" in preset else ()))
    for key, value in expected.items():
        if key in config and key not in unlike:
            assert config[key] == SAME.get(key, {}).get(value, value), key
