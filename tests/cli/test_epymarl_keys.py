"""EPyMARL's keys: on the command line, in dicts, in teams, and in its algorithm files."""

import pytest

import main as main_module
from checks import check_config
from checks.unused_keys import warnings_of
from cli.compose import compose_config, taken
from cli.foreign.epymarl import epymarls_config, is_epymarls
from cli.settings import check_settings, with_new_keys
from run import run
from utils.config.merging import default_config
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError

WIDTHS = ["rnn_hidden_dim=32", "critic_hidden_dim=32"]
POLICY = {"learner": "ppo_learner", "agent_output_type": "pi_logits", "runner": "parallel"}
POLICY |= {"batch_size_run": 10, "batch_size": 10, "buffer_size": 10, "action_selector": "soft_policies"}
POLICY |= {"q_nstep": 5, "entropy_coef": 0.001, "epochs": 4, "eps_clip": 0.2, "name": "mine"}
VALUES = {"learner": "q_learner", "mixer": "vdn", "evaluation_epsilon": 0.1, "use_rnn": False, "name": "mine"}
SEPARATE = {"mac": "non_shared_mac", "agent": "rnn_ns"}
PARETO = {**POLICY, **SEPARATE, "learner": "pac_dcg_learner", "critic_type": "pac_dcg_critic_ns"}
PARETO |= {"state_value_type": "cv_critic_ns"}
DRAWN = {"learner": "maddpg_learner", "mac": "maddpg_mac", "critic_type": "maddpg_critic"}
DRAWN |= {"agent_output_type": "pi_logits"}


def checked(preset, *words):
    """The checked config of a preset on the two-step game, with settings."""
    composed = compose_config(preset, "two_step")
    config, settings = taken(composed, check_settings(words), new=True)
    return check_config({**config, **settings}, known=config)


def test_what_a_key_stands_for_follows_it_unless_it_is_typed():
    assert with_new_keys(["hidden_dim=32"]) == ["hidden_dim=32", *WIDTHS]
    assert with_new_keys(["critic_hidden_dim=8", "hidden_dim=32"]) == [
        "critic_hidden_dim=8",
        "hidden_dim=32",
        WIDTHS[0],
    ]
    assert with_new_keys(["teams.red.hidden_dim=32"]) == [f"teams.red.{word}" for word in ("hidden_dim=32", *WIDTHS)]
    assert with_new_names({"teams": {"red": {"hidden_dim": 32}}})["teams"]["red"]["critic_hidden_dim"] == 32


@pytest.mark.parametrize(
    ("preset", "words", "expected"),
    [
        ("qmix", ["hidden_dim=32", "evaluation_epsilon=0.05"], {"rnn_hidden_dim": 32, "evaluation_epsilon": 0.05}),
        ("mappo", ["hidden_dim=32"], {"rnn_hidden_dim": 32, "critic_hidden_dim": 32}),
        ("mappo", ["critic_type=ac_critic"], {"critic": "own", "share_critic_params": True, "critic_agent_id": True}),
        ("ippo", ["critic_type=cv_critic_ns"], {"critic": "state", "share_critic_params": False}),
        ("mappo", ["obs_individual_obs=True"], {"critic_all_obs": True}),
        ("mappo", ["obs_individual_obs=False"], {"critic_all_obs": False}),
        ("coma", ["obs_individual_obs=False"], {"critic_own_obs": False}),
        ("epymarl_mappo", ["lr=0.002"], {"lr": 0.002, "critic_lr": 0.002}),
        ("epymarl_mappo", ["lr=0.002", "critic_lr=0.1"], {"critic_lr": 0.1}),
        ("epymarl_mappo", [], {"lr": 0.0003, "critic_lr": 0.0003}),
        ("mappo", ["lr=0.002"], {"critic_lr": 0.0005}),
        ("qmix_ns", [], {"name": "epymarl_qmix_ns"}),
        ("maddpg_ns", ["reg=0.1"], {"name": "epymarl_maddpg_ns", "reg": 0.1}),
        ("pac_dcg_ns", ["cg_edges=star", "initial_entropy_coef=3.0"], {"critic": "pac_dcg", "cg_edges": "star"}),
        ("epymarl_pac", ["state_value_type=ac_critic"], {"value_critic": "own"}),
        ("epymarl_maddpg", ["obs_individual_obs=True"], {"critic_own_obs": True}),
        ("qmix", ["hypergroup=hp_grp_1", "render=False"], {"hypergroup": "hp_grp_1"}),
    ],
)
def test_keys_mean_what_they_mean_in_epymarl(preset, words, expected):
    config = checked(preset, *words)
    assert {key: config[key] for key in expected} == expected
    assert [warning for warning in warnings_of(config) if "critic" in warning] == []


def test_a_dict_of_all_keys_may_have_them():
    """The defaults beside an own key are not the user's."""
    config = {**default_config(), "hidden_dim": 24, "render": True}
    with pytest.raises(ConfigError, match="render=True: a run opens no window"):
        run(config)
    assert with_new_names(config, defaults=default_config())["rnn_hidden_dim"] == 24
    assert with_new_names({**config, "rnn_hidden_dim": 8}, defaults=default_config())["rnn_hidden_dim"] == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mac=maddpg_mac"], "mac=policy_mac"),
        (["duelling=True"], "Unknown key 'duelling'. It is EPyMARL's: its critics do not read it"),
        (["state_value_type=cv_critc"], "state_value_type=cv_critc: .* Did you mean 'cv_critic'"),
        (["agent=rnn_feat"], "a part of critic=pac_dcg"),
        (["critic_type=cv_critc"], "Did you mean 'cv_critic'"),
        (["agent=rnn_ns"], "agent=rnn share_params=False"),
        (["learner=actor_critic_learner"], "learner=a2c_learner"),
        (["hidden_dim=0"], "hidden_dim=0: it must be at least 1"),
        (["evaluation_epsilon=2"], "between 0 and 1"),
    ],
)
def test_what_cannot_be_honoured_says_why(words, message):
    with pytest.raises(ConfigError, match=message):
        checked("qmix", *words)


@pytest.mark.parametrize(
    ("content", "preset", "expected"),
    [
        (
            VALUES,
            "epymarl_vdn",
            {"rnn_hidden_dim": 64, "obs_last_action": True, "buffer_size": 32, "optimizer": "adam"},
        ),
        (VALUES | SEPARATE | {"mixer": None, "hidden_dim": 16}, "epymarl_iql_ns", {"rnn_hidden_dim": 16}),
        (
            POLICY | {"critic_type": "cv_critic", "obs_individual_obs": True, "lr": 0.1},
            "epymarl_mappo",
            {
                "critic_all_obs": True,
                "critic_last_actions": True,
                "lr": 0.1,
                "critic_lr": None,
                "gamma": 0.99,
                "runner": "episodes",
            },
        ),
        (
            POLICY | SEPARATE | {"critic_type": "ac_critic", "hidden_dim": 8},
            "epymarl_ippo_ns",
            {"share_params": False, "share_critic_params": True, "critic_hidden_dim": 8, "critic_agent_id": True},
        ),
        (
            POLICY | {"learner": "coma_learner", "critic_type": "coma_critic", "obs_agent_id": False},
            "epymarl_coma",
            {"critic_own_obs": False, "critic_agent_id": False, "critic_last_actions": True, "buffer_size": 10},
        ),
        (
            DRAWN | {"reg": 0.1},
            "epymarl_maddpg",
            {"mac": "policy_mac", "share_params": True, "critic_agent_id": True, "reg": 0.1, "critic_hidden_dim": 64},
        ),
        (
            DRAWN | {"agent": "rnn_ns", "critic_type": "maddpg_critic_ns", "batch_size": 8},
            "epymarl_maddpg_ns",
            {"mac": "policy_mac", "share_critic_params": False, "critic_agent_id": False, "batch_size": 8},
        ),
        (
            PARETO | {"q_nstep": 3, "duelling": False},
            "epymarl_pac_dcg_ns",
            {"value_critic": "state", "critic_last_actions": True, "q_nstep": 3, "add_value_last_step": False},
        ),
    ],
)
def test_files_are_the_presets_with_epymarls_defaults(tmp_path, content, preset, expected):
    assert is_epymarls(content)
    config, note = epymarls_config(tmp_path / "mine.yaml", content)
    assert f"as the preset {preset} computes them" in note
    assert {key: config[key] for key in expected} == expected
    assert not {"hidden_dim", "critic_type", "obs_individual_obs"} & set(config)


def test_what_a_file_has_in_vain_is_said(tmp_path):
    content = POLICY | {"critic_type": "cv_critic", "optim_eps": 0.1, "test_greedy": True}
    config, note = epymarls_config(tmp_path / "mine.yaml", content)
    assert note.endswith("Without effect, as in EPyMARL: optim_eps, test_greedy.")
    assert (config["optim_eps"], config["test_greedy"]) == (0.00000001, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (POLICY | {"critic_type": "cv_critic", "batch_size_run": 5}, "batch_size_run=5, batch_size=10.*must be equal"),
        (POLICY | {"critic_type": "cv_critik"}, "Did you mean 'cv_critic'"),
        (POLICY | {"critic_type": "coma_critic"}, "critic_type='?coma_critic'? does not go with learner=ppo_learner"),
        (VALUES | {"agent": "rnn_ns"}, "go together"),
        (VALUES | {"mixer": "qtran"}, "mixer=qtran does not go with"),
        (PARETO | {"duelling": True}, "duelling cannot be honoured"),
        (PARETO | {"state_value_type": "cv_critik"}, "Did you mean 'cv_critic'"),
    ],
)
def test_files_that_are_refused(tmp_path, content, message):
    with pytest.raises(ConfigError, match=message) as error:
        epymarls_config(tmp_path / "mine.yaml", content)
    assert str(error.value).startswith(str(tmp_path / "mine.yaml"))


def test_files_of_musters_stay_as_they_are():
    assert not is_epymarls({"learner": "q_learner", "evaluation_epsilon": 0.1, "optimizer": "adam"})
    assert not is_epymarls({"learner": "mine", "critic_type": "cv_critic", "plugins": ["mine.py"]})
    assert not is_epymarls({"learner": "q_learner", "lr": 0.1})


def test_a_file_in_the_current_folder_trains(tmp_path, monkeypatch, capsys):
    lines = (POLICY | {"critic_type": "cv_critic", "hidden_dim": 16, "use_rnn": True}).items()
    (tmp_path / "mine.yaml").write_text("".join(f"{key}: {value}\n" for key, value in lines))
    monkeypatch.chdir(tmp_path)
    words = "--config=mine --env-config=two_step with t_max=40 test_nepisode=1 seed=1 use_cuda=False".split()
    assert main_module.main(words) == 0, capsys.readouterr()
    config = next((tmp_path / "results" / "sacred").glob("1/config.json")).read_text()
    assert '"critic_hidden_dim": 16' in config and '"critic_lr": 0.0005' in config


# EPyMARL's default.yaml, but for the parts and the environment
DEFAULTS = """
common_reward=True reward_scalarisation=sum batch_size_run=1 test_nepisode=20 test_interval=2000 test_greedy=True
log_interval=2000 runner_log_interval=2000 learner_log_interval=2000 t_max=10000 use_cuda=True buffer_cpu_only=True
use_tensorboard=False use_wandb=False wandb_team=null wandb_project=null wandb_mode=offline wandb_save_model=False
save_model=False save_model_interval=50000 checkpoint_path= evaluate=False render=False load_step=0 save_replay=False
local_results_path=results gamma=0.99 batch_size=32 buffer_size=32 lr=0.0005 optim_alpha=0.99 optim_eps=0.00001
grad_norm_clip=10 add_value_last_step=True agent=rnn hidden_dim=64 obs_agent_id=True obs_last_action=True repeat_id=1
label=default_label hypergroup=null
""".split()


@pytest.mark.parametrize("preset", ["epymarl_qmix", "epymarl_mappo", "epymarl_coma"])
def test_every_key_of_epymarls_defaults_is_taken(preset, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = {"epymarl_coma": ["batch_size=1", "buffer_size=1"]}.get(preset, [])
    words = ["print_config", f"--config={preset}", "--env-config=two_step", "with", *DEFAULTS, *own]
    assert main_module.main(words) == 0, capsys.readouterr()
