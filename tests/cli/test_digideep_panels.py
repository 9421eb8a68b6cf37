"""The panels of Digideep's five parameter files, held against the presets that stand for them; and files of its users.

`digideep_panels.json` has every key of the five panels at commit e42f10a, with its default.
"""

import json
import math
import sys
from pathlib import Path

import pytest

from cli.compose import compose_config
from cli.parameter_files import load_parameters
from main import main
from refusals import refused
from utils.config.digideep_panel import LATER
from utils.config.merging import CONFIG_DIR
from utils.errors import ConfigError

PANELS = json.loads(Path(__file__).with_name("digideep_panels.json").read_text())
OURS = {
    "mujoco_ppo": "digideep_ppo",
    "atari_ppo": "digideep_ppo_pictures",
    "classic_ddpg": "digideep_ddpg",
    "sac_params": "digideep_sac",
    "sacv2_params": "digideep_sac_v2",
}
# keys that gen_params there reads beside the panel, constants of its tree, and the limit of episodes
BESIDE = {"from_module", "from_params", "runner_name", "time_limit", "hidden_size", "noise_theta", "frame_stack"}
# a key, another value, and the config keys that it decides
MEANINGS = {
    "number_epochs": (7, {"t_max": lambda epoch: 7 * epoch}),
    "max_exec_iter": (3, {"t_max": lambda epoch: 3 * epoch}),
    "max_exec_time": (0.5, {"max_hours": 0.5}),
    "test_activate": (False, {"test_nepisode": 0}),
    "test_interval": (4, {"test_interval": lambda epoch: 4 * epoch}),
    "test_win_size": (6, {"test_nepisode": 6}),
    "save_interval": (5, {"save_model_interval": lambda epoch: 5 * epoch, "checkpoint_interval": lambda e: 5 * e}),
    "seed": (11, {"seed": 11}),
    "gamma": (0.9, {"gamma": 0.9}),
    "num_workers": (3, {"batch_size_run": 3}),
    "n_steps": (64, {"rollout_steps": 64}),
    "memory_size_in_chunks": (50, {"buffer_size": 50}),
    "keep_old_checkpoints": (True, {"keep_checkpoints": 10**9}),
    "warm_start": (20, {"random_steps": 20}),
    "lr_actor": (0.5, {"lr": 0.5}),
    "lr_critic": (0.5, {"critic_lr": 0.5}),
    "polyak_factor": (0.5, {"target_update_interval_or_tau": 0.5}),
    "noise_std": (0.5, {"noise_scale": 0.5}),
    "mean_lambda": (0.5, {"mean_penalty": 0.5}),
    "std_lambda": (0.5, {"deviation_penalty": 0.5}),
    "z_lambda": (0.5, {"sample_penalty": 0.5}),
    "target_update_interval": (3, {"target_update_every": 3}),
    "alpha": (0.5, {"entropy_weight": 0.5}),
    "automatic_entropy_tuning": (True, {"tune_entropy": True}),
    "hidden_size": (32, {"rnn_hidden_dim": 32, "critic_hidden_dim": 32}),
    "num_mini_batches": (8, {"minibatches": 8}),
    "use_gae": (False, {"gae_lambda": 1.0}),
    "tau": (0.5, {"gae_lambda": 0.5}),
    "recurrent": (True, {"chunk_length": 0}),
    "actor_feature_size": (32, {"rnn_hidden_dim": 32}),
    "lr": (0.5, {"lr": 0.5}),
    "clip_param": (0.3, {"eps_clip": 0.3}),
    "entropy_coef": (0.3, {"entropy_coef": 0.3}),
    "max_grad_norm": (0.3, {"grad_norm_clip": 0.3}),
    "use_clipped_value_loss": (False, {"value_clip": False}),
}
# by the preset, keys of one meaning: another value, and what the refusal names
STAYS = {
    "digideep_ppo": {
        "agent_type": ("digideep.agent.ddpg.Agent", "digideep_ddpg"),
        "batch_size": (64, "num_mini_batches"),
        "warm_start": (9, "its own policy"),
        "memory_size_in_chunks": (2, "the newest chunk"),
        "value_loss_coef": (1.0, "critic_lr"),
    },
    "digideep_ddpg": {"agent_type": ("mine.Agent", "docs/own_learner.md"), "eps": (1e-6, "optim_eps")},
    "digideep_sac": {"agent_type": ("digideep.agent.sacv2.Agent", "digideep_sac_v2"), "lr_softq": (0.5, "set both")},
    "digideep_sac_v2": {"agent_type": ("digideep.agent.sac.Agent", "digideep_sac")},
}
OF_ALL = {"cuda_deterministic": (True, "use_cuda=False"), "runner_name": ("mine.Runner", "--custom")}
# the test of a few keys has these, and that of files the last two
COUPLED = {"epoch_size", "n_update", "batch_size", "eps", "lr_value", "model_name", "observation_key"}


def preset(name):
    return load_parameters(name, CONFIG_DIR / "algs" / f"{name}.py")


def generated(name, **changes):
    # the pictures of Atari's games need a package
    model = {"model_name": "Pendulum-v1"} if name == "digideep_ppo" else {}
    return preset(name).config(model | changes)


@pytest.mark.parametrize("theirs", OURS)
def test_every_key_is_there_with_its_default(theirs):
    ours = preset(OURS[theirs]).cpanel
    assert set(ours) - set(PANELS[theirs]) <= BESIDE
    later = {**PANELS[theirs], "model_name": LATER.get(PANELS[theirs]["model_name"], PANELS[theirs]["model_name"])}
    assert {key: ours[key] for key in PANELS[theirs]} == later


@pytest.mark.parametrize("theirs", [name for name in OURS if name != "atari_ppo"])
def test_every_key_has_its_meaning_or_says_what_to_do(theirs):
    name = OURS[theirs]
    panel = preset(name).cpanel
    epoch = panel["num_workers"] * panel["n_steps"] * panel["epoch_size"]
    stays = OF_ALL | STAYS[name]
    for key, (value, named) in stays.items():
        with pytest.raises(ConfigError, match=f"cpanel.{key}=") as refusal:
            generated(name, **{key: value})
        assert named in str(refusal.value)
    for key in set(PANELS[theirs]) - set(stays) - COUPLED:
        value, expected = MEANINGS[key]
        config = generated(name, **{key: value})
        expected = {ours: then(epoch) if callable(then) else then for ours, then in expected.items()}
        assert {ours: config[ours] for ours in expected} == expected, key
    cycles = generated(name, epoch_size=3, number_epochs=2)
    assert cycles["t_max"] == 6 * epoch // panel["epoch_size"]
    updates = generated(name, n_update=4)
    assert (
        updates["epochs"] == 4 if theirs == "mujoco_ppo" else updates["samples_per_insert"] == 4 * panel["batch_size"]
    )


def test_numbers_of_a_few_keys():
    assert generated("digideep_ppo", eps=1e-6)["optim_eps"] == 1e-6
    rates = generated("digideep_sac", lr_value=0.5, lr_softq=0.5, lr_actor=0.25)
    assert (rates["lr"], rates["critic_lr"]) == (0.25, 0.5)
    sizes = generated("digideep_ddpg", memory_size_in_chunks=50, n_steps=4, num_workers=2, batch_size=16)
    assert (sizes["buffer_size"], sizes["batch_size"], sizes["samples_per_insert"]) == (400, 16, 2)
    assert generated("digideep_ppo", max_exec_time=0)["max_hours"] == 0
    dated = generated("digideep_ddpg", model_name="Pendulum-v0", observation_key="/agent")["env_args"]
    assert dated == {"key": "Pendulum-v1"}
    one = generated("digideep_ddpg", model_name="Pendulum-v1", observation_key="/", time_limit=50)["env_args"]
    assert one == {"key": "Pendulum-v1", "observation_key": "/", "time_limit": 50}


@pytest.mark.parametrize("theirs", OURS)
def test_no_key_of_another_panel_gets_the_nearest_name(theirs):
    file = preset(OURS[theirs])
    everywhere = {key for panel in PANELS.values() for key in panel} | BESIDE
    for key in (everywhere | {"test_episodes", "buffer_size", "noise_sigma"}) - set(file.cpanel):
        with pytest.raises(ConfigError, match=f"cpanel.{key}: the panel has no such key") as refusal:
            file.config({key: 1})
        assert "Did you mean" not in str(refusal.value) and "Allowed" not in str(refusal.value), refusal.value


def test_a_record_with_former_names_takes_changes_of_the_panel():
    recorded = {"model_name": "Pendulum-v1", "lr": 1e-4, "test_episodes": 3, "buffer_size": 500, "number_epochs": 2}
    changed = preset("digideep_sac").difference(recorded, {"number_epochs": 4})
    assert set(changed) == {"t_max", "cpanel"} and changed["t_max"] == 4000
    assert (changed["cpanel"]["lr_softq"], changed["cpanel"]["test_win_size"]) == (1e-4, 3)


# as its users write them: a panel, a throw-away environment, and the tree that Digideep's Runner takes
SAC = """
from collections import OrderedDict
from digideep.environment import MakeEnvironment

cpanel = OrderedDict(
    model_name="Pendulum-v0", observation_key="/agent", number_epochs=2, batch_size=8, alpha=0, lr=1e-3, width=32,
    runs=3, kind="digideep.agent.sacv2.Agent", optimiser="torch.optim.Adam", mode="soft",
)


def gen_params(cpanel):
    wrapper = "digideep.environment.wrappers."
    env = {
        "name": cpanel["model_name"],
        "from_module": cpanel.get("from_module", ""),
        "from_params": cpanel.get("from_params", False),
        "norm_wrappers": [{"name": wrapper + "normalizers.WrapperNormalizeActDict", "args": {}, "enabled": True}],
        "vect_wrappers": [
            {"name": wrapper + "normalizers.VecNormalizeObsDict", "args": {"clip": 10}, "enabled": True},
            {"name": wrapper + "normalizers.VecNormalizeRew", "args": {"clip": 5}, "enabled": False},
        ],
        "main_wrappers": {"Monitor": {"allow_early_resets": True}},
    }
    env["config"] = spaces = MakeEnvironment(session=None, mode=None, seed=1, **env).get_config()
    limit = spaces["action_space"]["agent"]["lim"][1][0]
    kwargs = {"env": env, "extra_env_kwargs": {"g": 9.0}}
    explorer = {**kwargs, "num_workers": 1, "n_steps": 1, "warm_start": int(10 * limit)}
    agent = {
        "name": "agent",
        "type": cpanel["kind"],
        "observation_path": cpanel["observation_key"],
        "methodargs": {"n_update": 1, "gamma": 0.9, "alpha": cpanel["alpha"] + 0.1, "clamp_return": 1.0},
        "sampler_list": ["digideep.agent.ddpg.sampler.sampler_re"],
        "sampler_args": {"agent_name": "agent", "batch_size": cpanel["batch_size"], "observation_path": "/agent"},
        "policyname": "digideep.agent.sacv2.Policy",
        "policyargs": {
            "obs_space": spaces["observation_space"][cpanel["observation_key"]],
            "act_space": spaces["action_space"]["agent"],
            "hidden_size": cpanel["width"],
            "average_args": {"mode": cpanel["mode"], "polyak_factor": 0.02},
        },
        "optimname_actor": cpanel["optimiser"],
        "optimargs_actor": {"lr": cpanel["lr"], "eps": 1e-7},
        "optimname_critic": cpanel["optimiser"],
        "optimargs_critic": {"lr": 2 * cpanel["lr"], "eps": 1e-7},
    }
    return {
        "env": env,
        "runner": {"name": "digideep.pipeline.Runner", "n_cycles": 20, "n_epochs": cpanel["number_epochs"]},
        "agents": {"agent": agent},
        "memory": {"train": {"args": {"chunk_sample_len": 1, "buffer_chunk_len": 500, "overrun": 1}}},
        "explorer": {
            "train": explorer,
            "test": {**explorer, "n_episodes": cpanel["runs"], "n_steps": None, "warm_start": 0},
            "eval": {"render": True},
        },
    }
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SAC)
    return tmp_path


def test_a_file_that_was_written_for_digideep(mine):
    known = set(sys.modules)
    config = compose_config("mine.py", None, {"alpha": 0.25, "batch_size": 16}).config
    assert not {name for name in set(sys.modules) - known if name.startswith("digideep")}
    expected = {
        "learner": "sac_learner",
        "env_args": {"key": "Pendulum-v1", "kwargs": {"g": 9.0}},
        "t_max": 40,
        "random_steps": 20,
        "buffer_size": 500,
        "batch_size": 16,
        "gamma": 0.9,
        "entropy_weight": 0.35,
        "rnn_hidden_dim": 32,
        "target_update_interval_or_tau": 0.02,
        "lr": 1e-3,
        "critic_lr": 2e-3,
        "optim_eps": 1e-7,
        "normalise_observations": True,
        "test_nepisode": 3,
        "parameter_file": "mine.py",
    }
    found = {key: config[key] for key in expected}
    found["env_args"] = {key: found["env_args"][key] for key in expected["env_args"]}
    assert found == expected
    assert config["cpanel"]["alpha"] == 0.25 and config["cpanel"]["from_module"] == ""


def test_targets_that_are_copied(mine):
    (mine / "mine.py").write_text(SAC.replace('"polyak_factor": 0.02', '"polyak_factor": 0.02, "interval": 40'))
    config = compose_config("mine.py", None, {"mode": "hard"}).config
    assert (config["target_update_interval_or_tau"], config["target_update_every"]) == (1.0, 40)


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ({"name": "OrnsteinUhlenbeck", "mu": 0.5, "theta": 0.2, "sigma": 0.3}, {"noise_mean": 0.5, "noise_theta": 0.2}),
        ({"name": "EGreedy", "std": 0.3, "e": 0.1}, {"noise": "gaussian", "noise_epsilon": 0.1, "noise_clip": True}),
    ],
)
def test_noise_of_a_file_for_ddpg(mine, noise, expected):
    name = noise.pop("name")
    text = SAC.replace("sacv2", "ddpg").replace(', "alpha": cpanel["alpha"] + 0.1', "")
    noise = f'"noisename": "digideep.agent.noises.{name}Noise", "noiseargs": {{**{noise}, "lim": limit}},'
    (mine / "mine.py").write_text(text.replace('"optimname_actor"', f'{noise} "optimname_actor"'))
    config = compose_config("mine.py", None).config
    assert {key: config[key] for key in [*expected, "noise_scale"]} == {**expected, "noise_scale": 0.3}
    (mine / "mine.py").write_text((mine / "mine.py").read_text().replace('"lim": limit', '"lim": 2 * limit'))
    with pytest.raises(ConfigError, match=r"agent.noiseargs.lim=4.0: noise is in halves of the actions' ranges here"):
        compose_config("mine.py", None)


@pytest.mark.slow
def test_such_a_file_trains(mine):
    assert main(["--config=mine.py", "--cpanel", '{"runs": 1}', "with", "use_cuda=False"]) == 0
    assert json.loads((mine / "results" / "sacred" / "1" / "info.json").read_text())["critic_loss"]


CHANGES = {
    'cpanel["kind"]': ('"mine.Agent"', "agents.agent.type=mine.Agent: it is one of digideep.agent.ppo.Agent"),
    '"clamp_return": 1.0': ('"beta": 1.0', "agent.methodargs.beta=1.0 has no counterpart here"),
    '"overrun": 1}': ('"overrun": 2}', "memory.train.args.overrun=2 has no counterpart here: buffer chooses"),
    '"clip": 10}': ('"clip": 5}', "VecNormalizeObsDict: clip=5: it is 10 here"),
    '"digideep.pipeline.Runner"': ('"mine.Runner"', "cpanel.runner_name=mine.Runner", "--custom=module:function"),
    '{"clip": 5}, "enabled": False}': ('{"clip": 5}, "enabled": True}', "scale_rewards"),
    '{"agent": agent}': ('{"a": agent, "b": agent}', "agents: expected one"),
    "import MakeEnvironment\n": ("import Explorer\n", "digideep.environment.Explorer has no counterpart"),
    "from collections": (
        "import digideep.utility.toolbox\nfrom collections",
        "importing it failed at line 2: the module digideep.utility has no counterpart",
    ),
    '"n_steps": 1, "warm': ('"n_steps": 2, "warm', "explorer.train.n_steps=2 are one number here"),
    '"torch.optim.Adam"': ('"torch.optim.SGD"', "torch.optim.SGD: it is one of torch.optim.Adam, torch.optim.RMSprop"),
}


@pytest.mark.parametrize("before", CHANGES)
def test_what_has_no_counterpart_is_refused_and_the_table_named(mine, capsys, before):
    after, *expected = CHANGES[before]
    assert before in SAC
    (mine / "mine.py").write_text(SAC.replace(before, after))
    message = refused(["--config=mine.py"], capsys, mine)
    for part in ("mine.py", *expected):
        assert part in message
    assert "docs/digideep.md" in message or "one number" in message


def test_spaces_are_described_as_digideep_does():
    from cli.foreign.digideep_trees import MakeEnvironment

    found = MakeEnvironment(None, None, 1, name="gym_tasks:Turns-v0", from_module="", from_params=False).get_config()
    assert found["action_space"]["agent"]["typ"] == "Discrete"
    found = MakeEnvironment(None, None, 1, name="Kinds-v0", from_module="gym_tasks", from_params=False).get_config()
    spaces = found["observation_space"]
    assert spaces["/own/speed"]["dim"] == (2,) and spaces["/camera"]["lim"][1][1][2] == [255.0]
    assert spaces["/own"] == {"typ": "Box", "dim": (5,), "lim": ([-math.inf] * 5, [math.inf] * 5)}
