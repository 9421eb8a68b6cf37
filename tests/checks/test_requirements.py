"""What parts cannot take of an environment's declared fields."""

import pytest

from checks.requirements import check_requirements
from cli.arguments import parse_arguments
from cli.compose import compose_config
from cli.experiment import run_experiment
from envs.contract.fields import FieldSpec, pymarl_spec
from utils.errors import ConfigError
from utils.meanings import Group, Meaning

SIZES = {"n_agents": 2, "n_actions": 3, "obs_shape": 4, "state_shape": 5, "episode_limit": 6}


@pytest.mark.parametrize("mixer", ["vdn", "qmix", "qplex", "flex_qmix", "transf", None, "qtran_base"])
def test_mixers_of_agents_that_come_and_go(mixer):
    config = {"env": "skirmish", "mac": "basic_mac", "mixer": mixer}
    config["learner"] = "qtran_learner" if mixer == "qtran_base" else "q_learner"
    spec = pymarl_spec({**SIZES, "meaning": Meaning((), (), (Group("agent", "state", ("x",), ((0,), (1,))),))})
    check_requirements(spec, config)
    spec.fields["present"] = FieldSpec("mask", (), "bool")
    if mixer == "qtran_base":
        with pytest.raises(
            ConfigError,
            match=r"mixer=qtran_base .* \(the field present\)\. These do: vdn, .*, flex_qmix, transf, linear, .*",
        ):
            check_requirements(spec, config)
    else:
        check_requirements(spec, config)


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({}, r"as the presets iql and epymarl_iql do\.$"),
        ({"common_reward": False}, r"iql and epymarl_iql do, or common_reward=True, for the team's reward\.$"),
    ],
)
@pytest.mark.parametrize("preset", ["epymarl_vdn", "epymarl_qmix", "vdn"])
def test_mixers_of_rewards_for_each_agent_name_a_remedy_that_works(preset, changes, remedy):
    config = compose_config(preset, "lbf").config | changes
    spec = pymarl_spec(SIZES)
    spec.fields["reward"] = FieldSpec("outcome", (), group="agents")
    with pytest.raises(ConfigError, match=f"which has a reward for each agent. Use mixer=null, .* {remedy}"):
        check_requirements(spec, config)
    check_requirements(spec, config | {"mixer": None})
    for other in ("iql", "epymarl_iql"):
        check_requirements(spec, compose_config(other, "lbf").config | changes)


@pytest.mark.parametrize(
    ("agent", "shown", "words"),
    [
        ("cnn", {"picture": (40, 40, 3)}, "shows no picture, an observation of three axes"),
        ("entity_attention", {"obs/own": (4,), "obs/enemies": (2, 4)}, "shows no units; with Skirmish, set env_args"),
    ],
)
def test_agents_that_need_to_see_what_the_environment_does_not_show(agent, shown, words):
    config = {"env": "skirmish", "mac": "basic_mac", "learner": "q_learner", "mixer": None, "agent": agent}
    spec = pymarl_spec(SIZES)
    with pytest.raises(ConfigError, match=f"agent={agent}: the environment {words}"):
        check_requirements(spec, config)
    check_requirements(spec, config | {"agent": "rnn"})
    spec.fields.update({path: FieldSpec("observation", shape) for path, shape in shown.items()})
    check_requirements(spec, config)


@pytest.mark.parametrize("mixer", ["flex_qmix", "transf"])
@pytest.mark.parametrize("meaning", [None, Meaning(())])
def test_mixers_of_entities_need_a_state_of_them(meaning, mixer):
    config = {"env": "skirmish", "mac": "basic_mac", "learner": "q_learner", "mixer": mixer}
    spec = pymarl_spec({**SIZES, "meaning": meaning})
    with pytest.raises(ConfigError, match=f"mixer={mixer}: the environment does not say which entities its state has"):
        check_requirements(spec, config)


def test_a_critic_of_entities_needs_a_state_of_them():
    config = {"env": "skirmish", "mac": "policy_mac", "learner": "ppo_learner", "critic": "state_entities"}
    spec = pymarl_spec({**SIZES, "meaning": Meaning(())})
    with pytest.raises(ConfigError, match="critic=state_entities: the environment does not say which entities its"):
        check_requirements(spec, config)
    check_requirements(spec, config | {"critic": "state"})


@pytest.mark.parametrize(
    ("agent", "field", "warned"),
    [
        ("ff", {}, True),
        ("lstm", {}, True),
        ("cnn", {}, False),
        ("ff", {"dtype": "float32"}, False),
        ("ff", {"about": {"categories": (3, 4, 5)}}, False),
        ("ff", {"shape": (3, 50, 3)}, False),
    ],
)
def test_an_agent_that_sees_pictures_as_rows_is_said(agent, field, warned, monkeypatch, caplog):
    monkeypatch.setattr("envs.contract.infos._warned", set())
    config = {"env": "skirmish", "mac": "basic_mac", "learner": "q_learner", "mixer": None, "agent": agent}
    spec = pymarl_spec(SIZES)
    spec.fields["obs/camera"] = FieldSpec("observation", **{"shape": (40, 50, 3), "dtype": "uint8", **field})
    check_requirements(spec, config)
    check_requirements(spec, config)
    text = f"agent={agent} sees the picture 'obs/camera' as a row of 6,000 numbers; agent=cnn has convolutions."
    assert caplog.messages == ([text] if warned else [])


def test_permuted_entities_need_an_environment_that_says_what_they_are():
    listed = {"sample_transforms": [{"permuted_entities": {"times": 1}}]}
    spec, config = pymarl_spec(SIZES), compose_config("vdn", "skirmish").config | listed
    with pytest.raises(ConfigError, match=r"'permuted_entities': the environment does not say .* no meaning\(\)"):
        check_requirements(spec, config)
    spec.env_info["meaning"] = object()
    check_requirements(spec, config)
    with pytest.raises(ConfigError, match=r"is for learners with a replay buffer.* learner=ppo_learner has none"):
        check_requirements(spec, compose_config("ippo", "skirmish").config | listed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "reader"),
    [
        ("icq", "learner=icq_learner, or its critic=own_actions or mixer=linear,"),
        ("coma", "learner=coma_learner, or its critic=coma or mixer=None,"),
        ("riit", "learner=riit_learner, or its critic=own_policies or mixer=qmix,"),
    ],
)
def test_what_reads_a_field_that_is_not_there_is_named(preset, reader, tmp_path):
    keys = f"env_args.map_name=[3m] agent=pooled_rnn local_results_path={tmp_path}"
    with pytest.raises(ConfigError) as error:
        run_experiment(parse_arguments(f"--config={preset} --env-config=skirmish_maps with {keys}".split()))
    assert "env=skirmish has no field 'obs' among its observations, which are obs/own, obs/allies" in str(error.value)
    assert f"and {reader} reads it" in str(error.value)
