"""Every pairing of built-in parts runs or is refused, with both names."""

import contextlib
import itertools

import pytest

from checks.parts import ChosenParts
from checks.registries import REGISTRIES
from cli.compose import compose_config
from helpers import check_chosen_parts
from run import run
from utils.config.merging import default_config
from utils.errors import ConfigError
from watched_training import assert_learnt, watch_updates

SELECTORS = list(itertools.product(sorted(REGISTRIES["action_selector"]), ["q", "pi_logits"]))


@pytest.mark.parametrize("learner", sorted(REGISTRIES["learner"]))
def test_pairings(learner, monkeypatch):
    """Each mixer and each selector is refused with the learner, or learns with it at least once."""
    first = sorted(REGISTRIES["learner"]).index(learner) % len(SELECTORS)  # mixers meet different selectors
    selectors = SELECTORS[first:] + SELECTORS[:first]
    learned = set()
    for mixer, (selector, output) in itertools.product([None, *REGISTRIES["mixer"]], selectors):
        parts = _parts(learner, mixer, selector, output)
        if _refused(parts) or learned >= {mixer, (selector, output)}:
            continue
        with monkeypatch.context() as patches:
            _assert_it_learns(parts, patches)
        learned |= {mixer, (selector, output)}


def _parts(learner, mixer, selector, output):
    parts = {"learner": learner, "mixer": mixer, "action_selector": selector, "agent_output_type": output}
    if REGISTRIES["learner"].entry(learner).traits.get("on_policy"):
        parts |= {"batch_size": 1, "buffer_size": 1}
    critics, values = REGISTRIES["critic"], REGISTRIES["learner"].entry(learner).traits.get("values")
    parts["critic"] = next((name for name in critics if critics.entry(name).traits["values"] == values), "coma")
    if agents := REGISTRIES["learner"].entry(learner).traits.get("agents"):
        controllers = REGISTRIES["learner"].entry(learner).traits["controllers"]
        parts |= {"mac": controllers[0], "agent": agents[0], "obs_last_action": False}
    elif "continuous" not in REGISTRIES["learner"].entry(learner).traits.get("takes", ()):
        parts["mac"] = REGISTRIES["learner"].entry(learner).traits.get("controllers", ["basic_mac"])[0]
    elif controllers := REGISTRIES["learner"].entry(learner).traits.get("controllers"):
        deviation = "none" if learner in ("ddpg_learner", "omar_learner") else "network"
        parts |= {"mac": controllers[0], "agent": "ff", "obs_last_action": False, "deviation": deviation}
        parts |= {"squash": "tanh", "env": "gymnasium", "env_args": {"key": "Pendulum-v1", "time_limit": 5}}
    needs = REGISTRIES["mixer"].entry(mixer).traits if mixer else {}
    if "agents" in needs and "agent" not in parts:
        parts["agent"] = needs["agents"][0]
    if needs.get("needs_state_entities"):
        numbers = {"scenario": "simple_spread", "time_limit": 2, "continuous_actions": "env" in parts}
        parts |= {"env": "particles", "env_args": numbers, "mixing_embed_dim": 8, "hypernet_embed": 8}
    if "mac" in parts:
        parts["critic"] = REGISTRIES["mac"].entry(parts["mac"]).traits.get("critics", [parts["critic"]])[0]
    return parts


def _refused(parts):
    """Whether they do not go together; the error names two of them."""
    try:
        check_chosen_parts({**default_config(), **parts})
    except ConfigError as error:
        values = [parts["learner"], parts["mixer"] or "null", parts["action_selector"], parts["agent_output_type"]]
        values.append(parts.get("agent"))
        assert sum(f"={value}" in str(error) for value in values) >= 2, error
        return True
    return False


def _assert_it_learns(parts, monkeypatch):
    learner = parts["learner"]
    small = {
        "t_max": 13,  # more updates than are to count: the actions of a sample may all be greedy
        "batch_size": 2,
        "buffer_size": 32,
        "batch_size_run": 1,
        "runner": "episode",
        "test_nepisode": 1,
        "learner_log_interval": 1,
        "seed": 1,
        "boltzmann_temperature": 10.0,  # some actions are not greedy
    }
    updates = watch_updates(monkeypatch, learner)
    if "env_args" in parts or "transitions" in REGISTRIES["learner"].entry(learner).traits.get("buffers", ()):
        small["t_max"] = 20
    assert run({"env": "two_step", **small, **parts}) is not None, parts
    assert_learnt(updates)


def test_learners_from_transitions_have_their_controller():
    with pytest.raises(ConfigError, match=r"mac=basic_mac does not go with learner=sac_learner.*mac=actor_mac"):
        sac = {"learner": "sac_learner", "agent_output_type": "pi_logits", "action_selector": "multinomial"}
        check_chosen_parts({**default_config(), **sac, "critic": "q_own"})


def test_single_steps_have_no_past():
    steps = {**default_config(), "buffer": "transitions"}
    with pytest.raises(ConfigError, match="agent=rnn has a memory, and buffer=transitions gives single steps"):
        check_chosen_parts(steps)
    with pytest.raises(ConfigError, match="obs_last_action=True: buffer=transitions gives single steps"):
        check_chosen_parts({**steps, "agent": "ff"})
    check_chosen_parts({**steps, "agent": "ff", "obs_last_action": False})
    check_chosen_parts({**steps, "sample_transforms": [{"window": {"steps": 8}}]})


def test_a_part_that_was_only_assigned_is_not_refused_for_traits_it_does_not_declare(monkeypatch):
    monkeypatch.setitem(REGISTRIES["mixer"]._entries, "own", None)
    REGISTRIES["mixer"]["own"] = object
    check_chosen_parts({**default_config(), "mixer": "own"})


def test_on_policy_learners_refuse_rollouts_of_older_weights():
    coma = {"learner": "coma_learner", "agent_output_type": "pi_logits", "action_selector": "multinomial"}
    sizes = {"batch_size_run": 8, "runner": "parallel", "batch_size": 8}
    check_chosen_parts({**default_config(), **coma, **sizes, "buffer_size": 8})
    with pytest.raises(ConfigError, match=r"coma_learner .*buffer_size=5000 above batch_size=8.*buffer_size=8\."):
        check_chosen_parts({**default_config(), **coma, **sizes, "buffer_size": 5000})


def test_priorities_need_a_learner_that_gives_them():
    qmix = {**compose_config("qmix", "two_step").config, "priority_alpha": 0.6}
    check_chosen_parts(qmix)
    with pytest.raises(ConfigError, match=r"priority_alpha=0\.6: learner=qtran_learner gives no priorities.*q_learner"):
        check_chosen_parts({**qmix, "learner": "qtran_learner", "mixer": "qtran_base"})


def test_ppo_keeps_whole_episodes_only():
    config = {**compose_config("ippo", "lbf").config, "buffer": "episodes", "buffer_size": 64, "batch_size": 64}
    with pytest.raises(
        ConfigError, match=r"buffer=episodes keeps whole episodes for learner=ppo_learner, and runner=rollout cuts"
    ):
        check_chosen_parts(config)
    check_chosen_parts({**config, "runner": "episodes"})
    check_chosen_parts({**config, "buffer": "rollout"})


def test_there_are_no_more_minibatches_than_rows():
    pqn = {"learner": "pqn_learner", "batch_size_run": 4, "runner": "parallel"}
    check_chosen_parts({**default_config(), **pqn, "minibatches": 4})
    with pytest.raises(ConfigError, match="minibatches=5 is more than there are rows in batch_size_run=4"):
        check_chosen_parts({**default_config(), **pqn, "minibatches": 5})


def test_parts_of_rollouts_are_rows_of_minibatches():
    config = {**compose_config("ppo", "lbf").config, "batch_size_run": 4, "rollout_steps": 6, "chunk_length": 2}
    check_chosen_parts({**config, "minibatches": 12})
    with pytest.raises(
        ConfigError, match=r"minibatches=13 is more than .*batch_size_run=4, each cut into 3 by chunk_length=2"
    ):
        check_chosen_parts({**config, "minibatches": 13})
    with pytest.raises(ConfigError, match="minibatches=5 is more than there are rows in batch_size_run=4"):
        check_chosen_parts({**config, "chunk_length": 0, "minibatches": 5})


def test_the_learner_chooses_the_buffer():
    for learner, buffer in [("q_learner", "episodes"), ("pqn_learner", "rollout")]:
        config = {**default_config(), "learner": learner}
        assert ChosenParts(config).name("buffer") == buffer
        assert ChosenParts({**config, "buffer": "rollout"}).name("buffer") == "rollout"


def test_one_plan_of_updates_only():
    check_chosen_parts({**default_config(), "samples_per_insert": 0.5})
    with pytest.raises(ConfigError, match=r"samples_per_insert=0\.5 and updates_per_rollout=4 both say"):
        check_chosen_parts({**default_config(), "samples_per_insert": 0.5, "updates_per_rollout": 4})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"learner": "ppo_learner", "critic": "coma"}, "critic=coma does not go with learner=ppo_learner"),
        ({"learner": "coma_learner", "critic": "state"}, "critic=state does not go with learner=coma_learner"),
        ({"learner": "ppo_learner", "critic": "trunk"}, "critic=trunk needs .* mac=basic_mac does not"),
        (
            {"learner": "ppo_learner", "critic": "trunk", "mac": "policy_mac", "target_update_interval_or_tau": 0.01},
            r"target_update_interval_or_tau=0\.01 .* critic=trunk cannot have",
        ),
    ],
)
def test_critics_that_do_not_fit(parts, message):
    usual = {"agent_output_type": "pi_logits", "action_selector": "soft_policies", "batch_size": 1, "buffer_size": 1}
    with pytest.raises(ConfigError, match=message):
        check_chosen_parts({**default_config(), **usual, **parts})


def test_tests_on_another_number_of_environments_need_separate_ones_of_this_process():
    config = {**compose_config("ppo", "lbf").config, "batch_size_run": 4, "test_batch_size": 20}
    check_chosen_parts({**config, "vector_env": "in_process"})
    with pytest.raises(ConfigError, match="test_batch_size=20: with separate_test_env=False, tests play on the"):
        check_chosen_parts({**config, "vector_env": "in_process", "separate_test_env": False})
    with pytest.raises(ConfigError, match="test_batch_size=20: with vector_env=workers"):
        check_chosen_parts({**config, "vector_env": "workers"})
    check_chosen_parts({**config, "vector_env": "workers", "test_batch_size": 4})
    with pytest.raises(ConfigError, match="test_batch_size: runner=episode runs 1 environment"):
        check_chosen_parts({**default_config(), "test_batch_size": 2})


@pytest.mark.parametrize(("source", "runner"), [("batched", "episodes"), ("in_process", "parallel")])
def test_more_environments_than_a_runner_has(source, runner):
    config = {**compose_config("vdn", "skirmish").config, "batch_size_run": 8, "vector_env": source}
    with pytest.raises(ConfigError, match=f"not batch_size_run=8. Use runner={runner}"):
        check_chosen_parts(config)
    check_chosen_parts({**config, "runner": "episodes"})


@pytest.mark.parametrize(
    ("algorithm", "changes", "said"),
    [
        ("ia2c", {}, r"learns only from rollouts of its newest weights\. vtrace=True corrects for older ones"),
        ("pqn_vdn", {}, r"learns only from rollouts of its newest weights\. Use collection=sync"),
        ("ia2c", {"vtrace": True}, ""),
        ("ppo", {"vtrace": True}, ""),
        ("ia2c", {"vtrace": True, "normalise_rewards": True}, "normalise_rewards=True remembers the same environments"),
        ("iql", {}, ""),
    ],
)
def test_learners_of_the_newest_weights_take_older_ones_with_vtrace(algorithm, changes, said):
    config = compose_config(algorithm, "lbf").config | {"collection": "collectors"} | changes
    with pytest.raises(ConfigError, match=said) if said else contextlib.nullcontext():
        check_chosen_parts(config)


@pytest.mark.parametrize(
    ("algorithm", "changes", "said"),
    [
        ("vdn", {}, "runner=episode plays whole ones. Use runner=rollout"),
        ("ppo", {"runner": "parallel"}, "runner=parallel plays whole ones"),
        ("ppo", {"critic_rnn": True}, "critic_rnn=True would remember"),
        ("ppo", {"critic": "own_rnn"}, "critic=own_rnn would remember"),
        ("ppo", {"obs_last_action": True}, "obs_last_action=True would remember"),
        ("sac", {}, "which learner=sac_learner cannot tell apart"),
        ("ppo", {"agent": "ff"}, ""),
        ("ppo", {"agent": "rnn"}, ""),
    ],
)
def test_parts_that_would_mix_up_agents_that_come_and_go(algorithm, changes, said):
    config = compose_config(algorithm, "dots").config | changes
    with pytest.raises(ConfigError, match=said) if said else contextlib.nullcontext():
        check_chosen_parts(config)
