"""Linesight's config.py as a config: each key has its counterpart, is refused, or is named as one that is not used."""

import re
from pathlib import Path

import pytest

import linesight_config as theirs
from checks import check_config
from checks.options import completed
from cli.compose import compose_config
from cli.foreign.linesight_keys import DIRECT, EVERY, FIXED, FOLLOWS, TOGETHER, UNUSED
from envs.racing.state import INPUTS
from utils.config.merging import flatten
from utils.errors import ConfigError

DOCS = Path(__file__).parents[2] / "docs" / "linesight.md"


def composed(path, env="racing"):
    return compose_config(str(path), env)


def changes(tmp_path, env="racing", **changed):
    """What other values of Linesight's change of the merged config."""
    before = flatten(composed(theirs.written(tmp_path), env).config)
    after = flatten(composed(theirs.written(tmp_path, **changed), env).config)
    return {key: value for key, value in after.items() if before.get(key, ...) != value}


def test_its_own_values_are_those_of_the_preset(tmp_path):
    found = composed(theirs.written(tmp_path))
    preset = flatten(completed(compose_config("linesight", "racing").config))
    differing = {key for key, value in flatten(completed(found.config)).items() if preset.get(key, ...) != value}
    line = tmp_path / "maps" / "hock.npy"
    assert found.config["env_args"]["map_cycle"] == [{"track": str(line), "name": "hock", "repeat": 5}]
    slides = {f"env_args.engineered_{k}_reward" for k in ("speedslide", "neoslide", "kamikaze", "close_to_vcp")}
    assert differing <= {
        "env_args.map_cycle",
        "sample_transforms",
        *slides,
    }  # 2 / 140 for a rounded 1 / 70; [[0, 0]] for 0
    races = [unit["mini_race"] for unit in found.config["sample_transforms"] if "mini_race" in unit]
    assert races[0]["per_step"] == 1 / 70 and "read as a config of Linesight" in found.note
    assert found.parameter_file is None and not found.own_keys


def test_it_passes_all_checks(tmp_path):
    checked = check_config({**composed(theirs.written(tmp_path)).config, "use_cuda": False})
    assert checked["learner"] == "iqn_learner" and checked["buffer_size"][0] == "staircase"


def test_without_an_environment_the_game_is_played(tmp_path):
    config = composed(theirs.written(tmp_path), None).config
    assert config["env"] == "trackmania"
    line = str(tmp_path / "maps" / "hock.npy")
    cycle = [{"map": "ESL-Hockolicious.Challenge.Gbx", "line": line, "name": "hock", "repeat": 5}]
    assert config["env_args"]["map_cycle"] == cycle and config["env_args"]["game_timeout"] == 500.0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"W_downsized": 80, "H_downsized": 60}, {"env_args.frame_width": 80, "env_args.frame_height": 60}),
        (
            {"tm_engine_step_per_action": 10},
            {"env_args.step_ms": 100, "env_args.time_limit": 3000, "sample_transforms": ("horizon", 70)},
        ),
        ({"temporal_mini_race_duration_ms": 4000}, {"sample_transforms": ("horizon", 80)}),
        ({"oversample_long_term_steps": 20}, {"sample_transforms": ("early", 20)}),
        ({"n_steps": 2}, {"sample_transforms": ("steps", 2)}),
        ({"discard_non_greedy_actions_in_nsteps": False}, {"sample_transforms": ("greedy_only", False)}),
        ({"apply_randomcrop_augmentation": True}, {"sample_transforms": ("pixels", 2)}),
        ({"dense_hidden_dimension": 512, "iqn_n": 16}, {"head_dim": 256, "quantiles": 16}),
        (
            {"global_schedule_speed": 2},
            {
                "epsilon": ["exponential", [0, 1], [50000, 1], [300000, 0.1], [6000000, 0.03]],
                "epsilon_boltzmann": ["exponential", [0, 0.15], [6000000, 0.03]],
            },
        ),
        (
            {"memory_size_schedule": [(0, (900, 300)), (10, (1000, 400))]},
            {"buffer_size": ["staircase", [0, 900], [10, 1000]], "buffer_min": ["staircase", [0, 300], [10, 400]]},
        ),
        ({"lr_schedule": [(0, 1e-4)]}, {"lr": ["exponential", [0, 1e-4]]}),
        (
            {"engineered_neoslide_reward_schedule": [(0, 1), (9, 0)]},
            {"env_args.engineered_neoslide_reward": [[0, 1], [9, 0]]},
        ),
        ({"number_memories_trained_on_between_target_network_updates": 5000}, {"target_update_every": 10}),
        ({"reset_every_n_frames_generated": 1000}, {"reset_interval": 32_000}),
        ({"last_layer_reset_factor": 0.5}, {"reset_last_share": pytest.approx(0.505)}),
        ({"gpu_collectors_count": 4, "use_jit": False}, {"collectors.processes": 4, "compile": "off"}),
        ({"prio_alpha": "np.float32(0.5)", "run_name": "'mine'"}, {"priority_alpha": 0.5, "name": "mine"}),
        ({"n_zone_centers_in_inputs": 20}, {"env_args.zones_ahead": 20}),
    ],
)
def test_other_values_change_what_they_are_called_here(tmp_path, changed, expected):
    found = changes(tmp_path, **changed)
    units = expected.pop("sample_transforms", None)
    if units is not None:
        name, value = units
        options = [
            given for unit in found.pop("sample_transforms") if isinstance(unit, dict) for given in unit.values()
        ]
        assert value in [given[name] for given in options if name in given]
    assert found == expected


def cycle(*parts):
    return "[" + ", ".join(f"repeat(('{n}', '{n}.Gbx', 'hock.npy', {e}, {f}), {k})" for n, e, f, k in parts) + "]"


@pytest.mark.parametrize(
    ("parts", "training", "tests", "every"),
    [
        ([("a", True, True, 4), ("a", False, True, 1), ("b", True, True, 4), ("b", False, True, 1)], "a5b5", "", 5),
        ([("a", True, True, 3), ("b", True, True, 2)], "a3b2", "", 0),
        ([("a", True, True, 4), ("a", False, True, 1), ("c", False, False, 1)], "a5", "c", 5),
    ],
)
def test_the_cycle_of_maps(tmp_path, parts, training, tests, every):
    args = composed(theirs.written(tmp_path, map_cycle=cycle(*parts))).config["env_args"]
    assert "".join(f"{entry['name']}{entry['repeat']}" for entry in args["map_cycle"]) == training
    assert "".join(entry["name"] for entry in args["test_map_cycle"]) == tests
    assert args["greedy_every"] == every


def test_loops_over_maps_are_followed(tmp_path):
    loop = """
map_cycle = []
for map_name in ["A01-Race", "B02-Race"]:
    short_map_name = map_name[0:3]
    map_cycle.append(repeat((short_map_name, f'"Official Maps/{map_name}.Gbx"', "hock.npy", True, True), 4))
    map_cycle.append(repeat((short_map_name, f'"Official Maps/{map_name}.Gbx"', "hock.npy", False, True), 1))
"""
    args = composed(theirs.written(tmp_path, after=loop), "trackmania").config["env_args"]
    assert [entry["map"] for entry in args["map_cycle"]] == [f"Official Maps/{k}-Race.Gbx" for k in ("A01", "B02")]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"adam_beta1": 0.5}, "Linesight's adam_beta1 is 0.5; it is 0.9 here"),
        ({"road_width": 24}, "road_width is 24; it is 90 here"),
        ({"clip_grad_value": 10}, "clip_grad_value is 10; only values from clip_grad_norm=30 on"),
        (
            {"lr_schedule": "make()"},
            "line 5[0-9]: Linesight's lr_schedule is read and not run, and the function 'make'",
        ),
        ({"memory_size_schedule": [(0, 5)]}, "not of its kind"),
        ({"dense_hidden_dimension": "'wide'"}, "dense_hidden_dimension is wide; that is no value of its kind"),
        ({"map_cycle": cycle(("a", False, True, 2))}, "only the last one may evaluate"),
        ({"map_cycle": cycle(("a", False, True, 1), ("a", True, True, 1))}, "only the last one may evaluate"),
        ({"map_cycle": cycle(("a", True, False, 1))}, "explore and fill no buffer"),
        ({"map_cycle": cycle(("a", False, False, 1))}, "no race fills the buffer"),
        ({"map_cycle": cycle(("a", True, True, 2), ("b", True, True, 1), ("b", False, True, 1))}, "as many races"),
        ({"map_cycle": "[(1, 2)]"}, "tuples of a name, a map, a line, is_explo and fill_buffer"),
    ],
)
def test_what_cannot_be_said_here_is_refused_and_names_the_table(tmp_path, changed, message):
    with pytest.raises(ConfigError, match=message) as refused:
        composed(theirs.written(tmp_path, **changed))
    assert "docs/linesight.md#config-keys" in str(refused.value)


def test_the_game_sees_forty_zones(tmp_path):
    with pytest.raises(ConfigError, match="it is 40 in env=trackmania"):
        composed(theirs.written(tmp_path, n_zone_centers_in_inputs=20), "trackmania")


def test_what_is_not_used_and_what_is_misspelt_is_said(tmp_path):
    path = theirs.written(tmp_path, "lr_schedul = [(0, 1)]\n", threshold_to_save_all_runs_ms=53_000)
    note = composed(path).note
    assert "not used here: threshold_to_save_all_runs_ms" in note
    assert "no key of Linesight: lr_schedul. Did you mean 'lr_schedule'?" in note


def test_the_files_beside_it_are_read(tmp_path):
    path = theirs.written(tmp_path)
    (path.parent / "user_config.py").write_text("username = 'somebody'\nbase_tmi_port = 9000\n")
    args = composed(path, "trackmania").config["env_args"]
    assert (args["user"], args["port"]) == ("somebody", 9000)
    names = ("accelerate", "brake", "left", "right")
    inputs = [dict(zip(names, map(bool, pressed), strict=True)) for pressed in INPUTS]
    (path.parent / "inputs_list.py").write_text(f"inputs = {inputs}\n")
    composed(path)
    (path.parent / "inputs_list.py").write_text(f"inputs = {inputs[:4]}\n")
    with pytest.raises(ConfigError, match=r"inputs_list.py has other inputs than the 12"):
        composed(path)


def test_nothing_in_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    composed(theirs.written(tmp_path, "open('harmed', 'w')\nimport missing_module\n"))
    assert not (tmp_path / "harmed").exists()


def test_it_has_no_control_panel(tmp_path):
    with pytest.raises(ConfigError, match=r"config.py is no parameter file"):
        compose_config(str(theirs.written(tmp_path)), "racing", {"lr": 1})


def test_the_documented_table_has_every_key_once():
    section = DOCS.read_text().split("### Config keys", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `") and "user_config" not in line]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(EVERY)
    assert sorted(EVERY) == sorted(theirs.VALUES)
    assert len({*DIRECT, *TOGETHER, *FIXED, *FOLLOWS, *UNUSED}) == len(EVERY)
