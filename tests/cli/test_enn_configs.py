"""Configs of enn-trainer (RON) are read with the meaning and the defaults that they have there, or refused by key.

Values were compared with `hyperstate.load` for the configs that enn-trainer cfd26f1 ships and for `OLD`.
"""

import copy
import re

import pytest

from checks import check_config
from cli.arguments import parse_arguments
from cli.compose import compose_config, taken
from cli.foreign.enn_trainer import load_enn_config, read_theirs
from utils.config.enn_trainer_keys import KEYS, counterpart
from utils.config.merging import recursive_dict_update
from utils.errors import ConfigError

OLD = """// an old config
ExperimentConfig(
    version: 1,
    env: (id: "FloorIsLava"),
    net: (relpos_encoding: (extent: [1, 1], position_features: ["x", "y"])),
    optim: (max_grad_norm: 1.0, micro_bs: 64, bs: 100),
    ppo: (gae: false, target_kl: 0.02, norm_adv: false, clip_vloss: false, vf_coef: 1.0),
    rollout: (num_envs: 8, processes: 16),
    eval: (steps: 10, interval: 1000, num_envs: 4),
    vf_net: (d_qk: 8),
    max_train_time: 1800,
    seed: 7,
)
"""
NEW = """TrainConfig(
    version: 4,
    name: "mines",
    env: EnvConfig(id: "MineSweeper", kwargs: "{\\"width\\": 4, \\"orbital_cannon\\": true}", validate: false),
    net: RogueNetConfig(n_head: 4, d_qk: 8, pooling: None),
    optim: OptimizerConfig(lr: 0.01, bs: 64, anneal_lr: false, update_epochs: 1),
    rollout: (num_envs: 16, steps: 8),
    ppo: (
        ent_coef: "step: 0.3@0 lin 0.15@1e3 0.1@2e3", anneal_entropy: false,
        clip_coef: "step: 0.3@0 step 0.2@5 0.1@9",
    ),
    total_timesteps: 1024,
    eval: None,
    capture_samples: None,
    cuda: false,
    track: true,
)
"""


def composed(tmp_path, text, *settings):
    path = tmp_path / "their.ron"
    path.write_text(text)
    arguments = parse_arguments([f"--config={path}", *(["with", *settings] if settings else [])])
    made = compose_config(arguments.algorithm, arguments.environment)
    config, changed = taken(made, arguments.settings, new=True, texts=arguments.texts)
    known = copy.deepcopy(config)
    return made, check_config(recursive_dict_update(config, changed), known=known, own_keys=made.own_keys)


def test_a_config_in_the_words_of_today(tmp_path):
    made, config = composed(tmp_path, NEW, "use_wandb=False")
    expected = {
        "name": "mines",
        "env": "entities",
        "learner": "ppo_learner",
        "n_head": 4,
        "d_qk": 8,
        "d_model": 32,
        "n_layer": 2,
        "lr": 0.01,
        "lr_finish": None,
        "minibatches": 2,
        "epochs": 1,
        "batch_size_run": 16,
        "rollout_steps": 8,
        "entropy_coef": [[0.0, 0.3], [1000.0, 0.15], [2000.0, 0.1]],
        "entropy_finish": None,
        "eps_clip": ["staircase", [0.0, 0.3], [5.0, 0.2]],
        "value_coef": 0.25,
        "target_kl": 0.0,
        "critic": "trunk",
        "t_max": 1024,
        "use_cuda": False,
        "wandb_team": "entity-neural-network",
    }
    assert {key: config[key] for key in expected} == expected
    assert config["env_args"]["environment"] == "MineSweeper"
    assert config["env_args"]["kwargs"] == {"width": 4, "orbital_cannon": True}
    assert made.note.endswith(
        "read as enn_ppo (docs/entity_gym.md#configs-of-enn-trainer). Otherwise here: env.validate has no effect."
    )
    assert load_enn_config(tmp_path / "their.ron")[0]["use_wandb"] is True


def test_an_old_config_has_the_defaults_of_its_time(tmp_path):
    made, config = composed(tmp_path, OLD)
    expected = {
        "d_model": 64,
        "n_layer": 1,
        "lr": 0.00025,
        "lr_finish": 0.0,
        "rollout_steps": 128,
        "batch_size_run": 8,
        "minibatches": 11,
        "gae_lambda": 1.0,
        "target_kl": 0.02,
        "entropy_coef": 0.01,
        "entropy_finish": None,
        "normalise_advantages_per_minibatch": False,
        "value_clip": False,
        "value_coef": 0.5,
        "critic": "entities",
        "max_hours": 0.5,
        "t_max": 25000,
        "test_interval": 1000,
        "test_nepisode": 4,
        "seed": 7,
    }
    assert {key: config[key] for key in expected} == expected
    assert config["relpos_encoding"]["enable_negative_distance_weight_bug"] is True
    assert "per_entity_values" not in config["relpos_encoding"]
    assert {key: config["vf_net"][key] for key in ("d_qk", "d_model", "n_layer")} == {
        "d_qk": 8,
        "d_model": 64,
        "n_layer": 1,
    }
    for said in (
        "minibatches are of 93 frames, not 100",
        "optim.micro_bs, rollout.processes have no effect",
        "eval.steps",
        "max_train_time",
    ):
        assert said in made.note
    # an old default holds in a section that is there only
    path = tmp_path / "short.ron"
    path.write_text('TrainConfig(version: 0, env: (id: "Xor"), net: (relpos_encoding: (extent: [1])))')
    theirs = read_theirs(path)
    assert (theirs["net.d_model"], theirs["ppo.ent_coef"], theirs["rollout.num_envs"]) == (64, 0.1, 128)
    assert theirs["net.relpos_encoding"]["per_entity_values"] is True
    assert not any(key.startswith(("eval.", "vf_net.")) for key in theirs)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (("version: 4,", ""), "version is None"),
        (("version: 4,", "version: 5,"), "version is 5: expected a whole number from 0 to 4"),
        (("cuda: false", "cud: false"), "no key 'cud'.*'cuda'"),
        (("n_head: 4", "n_heads: 4"), "no key 'net.n_heads'.*'net.n_head'"),
        (("bs: 64", "bs: 64, weight_decay: 0.1"), r"optim.weight_decay=0.1 has no counterpart.*docs/entity_gym\.md"),
        (("bs: 64", "bs: 64, lr_warmup_steps: 9"), "optim.lr_warmup_steps=9 has no counterpart"),
        (("bs: 64", "bs: 640"), "optim.bs=640 is more than the frames"),
        (("bs: 64", "bs: 0"), "optim.bs is 0"),
        (
            ("eval: None", 'eval: (steps: 1, interval: 9, opponent: "random")'),
            "eval.opponent=random has no counterpart",
        ),
        (("eval: None", 'eval: (steps: 1, interval: 9, env: (id: "Xor"))'), "eval.env=.* has no counterpart"),
        (("capture_samples: None", 'capture_samples: "out"'), "capture_samples=out .*--custom=experiment.recordings"),
        (("eval: None", "eval: 3"), "eval is 3: expected a section"),
        (("anneal_entropy: false", "anneal_entropy: true"), "ppo.ent_coef is a schedule"),
        (("step: 0.3@0 lin 0.15@1e3", "step: 0.3@0 cos 0.15@1e3"), "ppo.ent_coef=.*all lin or all step"),
        (("step: 0.3@0 lin", "time: 0.3@0 lin"), "ppo.ent_coef=.*over steps"),
        (('{\\"width', "{width"), "expected a text of JSON"),
        (("TrainConfig(", "XpV0("), "is no config of enn-trainer"),
        (("n_head: 4", "n_head: 5"), "n_head=5: it must divide d_model=32"),
        (('id: "MineSweeper"', 'id: "MineSweepr"'), "no game 'MineSweepr'"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_its_key(tmp_path, changed, problem):
    text = NEW.replace(*changed)
    assert text != NEW
    with pytest.raises(ConfigError, match=problem):
        composed(tmp_path, text, "use_wandb=False")


def test_a_test_environment_that_is_the_same_is_no_other_one(tmp_path):
    _, config = composed(
        tmp_path,
        NEW.replace("eval: None", 'eval: (steps: 1, interval: 99, env: (id: "MineSweeper"))'),
        "use_wandb=False",
    )
    assert (config["test_interval"], config["test_nepisode"]) == (99, 16)


def test_another_environment_and_a_panel_are_refused(tmp_path):
    path = tmp_path / "their.ron"
    path.write_text(NEW)
    with pytest.raises(ConfigError, match="chooses the environment entities"):
        compose_config(str(path), "two_step")
    with pytest.raises(ConfigError, match="no control panel"):
        compose_config(str(path), "entities", {"lr": 1})
    with pytest.raises(ConfigError, match="a config of enn-trainer"):
        composed(tmp_path, NEW, f"teams.one.config={path}", "teams.one.groups=[agents]", "use_wandb=False")


def test_their_keys_are_answered_in_their_words(tmp_path):
    for setting, answer in (
        (
            "rollout.num_envs=64",
            "Unknown key 'rollout.num_envs'. Instead of enn-trainer's rollout.num_envs, use batch_size_run (",
        ),
        ("net.d_model=16", "use d_model ("),
        ("optim.weight_decay=1", "has no counterpart"),
        (
            "env.id=Xor",
            "'env' is a single value and has no key 'env.id'. Instead of enn-trainer's env.id, use env_args.env",
        ),
        ("total_timesteps=10", "use t_max ("),
        ("env.validate=False", "needs no key here: it is always so"),
        ("rollout=1", "The keys of enn-trainer's rollout, such as rollout.steps"),
        ("rollouts=1", "docs/reference.md lists all keys"),
    ):
        with pytest.raises(ConfigError, match=re.escape(answer)):
            composed(tmp_path, NEW, "use_wandb=False", setting)
    assert all(counterpart(key) for key in KEYS) and not counterpart("lr")
