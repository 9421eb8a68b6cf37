"""Settings that change nothing are warned of, and names that only a part of the user's own may know are let through."""

import inspect
import logging
import re
import sys

import pytest

from checks import check_config
from checks.registries import LOOKED_UP_BY, REGISTRIES
from checks.unused_keys import warnings_of
from cli.compose import compose_config
from controllers.basic_controller import BasicMAC
from learners.q_learner import QLearner
from run import run
from utils.config.merging import config_names, default_config
from utils.errors import ConfigError

POLICY = {"agent_output_type": "pi_logits", "action_selector": "multinomial"}
QTRAN = {"learner": "qtran_learner", "mixer": "qtran_base"}
COMA = {"learner": "coma_learner", "batch_size": 1, "buffer_size": 1, **POLICY}


def warned(**changes):
    return warnings_of(check_config({**default_config(), **changes}))


@pytest.mark.parametrize("algorithm", config_names("algs"))
def test_no_preset_sets_unused_keys(algorithm):
    environment = "skirmish" if algorithm.startswith("pqn") or algorithm == "qmix_fast" else "two_step"
    assert warnings_of(check_config(compose_config(algorithm, environment).config)) == []


@pytest.mark.parametrize(
    ("changes", "idle"),
    [
        ({**QTRAN, "td_lambda": 0.8}, "td_lambda=0.8 has no effect: learner=qtran_learner does not read it."),
        ({"epochs": 4}, "epochs=4 has no effect: learner=q_learner does not read it."),
        ({"minibatches": 4}, "minibatches=4 has no effect: learner=q_learner does not read it."),
        ({"lr_finish": 1e-5}, "lr_finish=1e-05 has no effect: learner=q_learner does not read it."),
        ({**COMA, "double_q": False}, "double_q=False has no effect: learner=coma_learner does not read it."),
        ({"critic_lr": 0.1}, "critic_lr=0.1 has no effect: learner=q_learner does not read it."),
        ({"mixer": "vdn", "hypernet_embed": 8}, "hypernet_embed=8 has no effect: mixer=vdn does not read it."),
        ({"qtran_arch": "coma_critic"}, "qtran_arch=coma_critic has no effect: mixer=null does not read it."),
        ({"rollout_steps": 8}, "rollout_steps=8 has no effect: runner=episode does not read it."),
        ({"env_transport": "pipe"}, "env_transport=pipe has no effect: vector_env=in_process does not read it."),
        ({"envs_per_worker": 2}, "envs_per_worker=2 has no effect: vector_env=in_process does not read it."),
        (
            {"test_greedy": False},
            "test_greedy=False has no effect: mac=basic_mac and action_selector=epsilon_greedy do not read it.",
        ),
        (
            {**COMA, "action_selector": "soft_policies", "epsilon_start": 0.5},
            "epsilon_start=0.5 has no effect: action_selector=soft_policies does not read it.",
        ),
    ],
)
def test_a_key_that_no_chosen_part_reads(changes, idle):
    assert warned(**changes) == [idle]


@pytest.mark.parametrize(
    "changes",
    [
        {"td_lambda": 0.8},
        {**COMA, "td_lambda": 0.8, "critic_lr": 0.1, "epsilon_start": 0.5},
        {"mixer": "qmix", "hypernet_embed": 8},
        {**QTRAN, "mixing_embed_dim": 64, "rnn_hidden_dim": 16},
        {"runner": "parallel", "envs_per_worker": 2},
        {"epochs": 1, "lr": 0.1, "optimizer": "adam"},
    ],
)
def test_keys_that_are_read(changes):
    assert warned(**changes) == []


def test_a_run_says_it(caplog):
    with caplog.at_level(logging.WARNING):
        run({"epochs": 3, "t_max": 2, "batch_size": 1, "test_nepisode": 1, "seed": 1}, log=logging.getLogger("muster"))
    assert "epochs=3 has no effect: learner=q_learner does not read it." in caplog.text


def _read_by(cls):
    """Config keys that stand in a function, or in the methods of a class, in what it uses beside it, and in helpers."""
    if inspect.isfunction(cls):
        return set(re.findall(r"\bargs\)?\.([a-z_]\w*)", inspect.getsource(cls)))
    ours = [c for c in cls.__mro__ if c.__module__.split(".")[0] not in ("abc", "builtins", "torch", "typing")]
    modules = {c.__module__ for c in ours}
    helpers = _helpers("".join(map(_source, modules)))
    beside = [
        f for m in modules for _, f in inspect.getmembers(sys.modules[m], inspect.isfunction) if f.__module__ == m
    ]
    methods = list(_methods(ours))
    parts = [
        c
        for m in modules
        for name, c in inspect.getmembers(sys.modules[m], inspect.isclass)
        if c.__module__ == m and c not in ours and any(re.search(rf"\b{name}\(", text) for text in methods)
    ]
    text = "".join([*map(_source, helpers), *map(inspect.getsource, [*beside, *parts]), *methods])
    return set(re.findall(r"\bargs\.([a-z_]\w*)", text))


def _helpers(source):
    """The modules that learners and controllers leave some keys to, and those of these."""
    names = r"components\.noise|controllers\.inputs|learners\.(?:advantages|n_step|standardisation)"
    names += (
        r"|modules\.(?:mixers\.(?:central|attention)|policies\.policy|critics\.team_inputs|coordination|action_effects)"
    )
    names += r"|components\.buffers\.transition_room"
    found = set(re.findall(rf"^from ({names}) import", source, re.MULTILINE))
    return found.union(*(_helpers(_source(module)) for module in found))


def _methods(classes):
    """The sources of methods, from a class to its ancestors; without those that a class replaces."""
    replaced = set()
    for cls in classes:
        for name, member in vars(cls).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if name in replaced or not inspect.isfunction(inspect.unwrap(function)):
                continue
            source = inspect.getsource(inspect.unwrap(function))
            yield source
            if f"super().{name}(" not in source:
                replaced.add(name)


def _source(module):
    return inspect.getsource(sys.modules[module])


@pytest.mark.parametrize("kind", sorted(set(REGISTRIES) - {"env"}))
def test_the_declared_keys_are_the_ones_read(kind):
    """Every key that some part of a kind declares, and no other part of it reads, or declares in vain."""
    registry = REGISTRIES[kind]
    # the plugins of other tests have registered parts, too
    built_in = [name for name in registry if registry.entry(name).declared]
    declared = {name: set(registry.entry(name).reads) for name in built_in}
    for name, keys in declared.items():
        assert keys == _read_by(registry[name]) & set().union(*declared.values()), name


INERT = "critic_q_fn critic_baseline_fn critic_train_mode critic_train_reps".split()


def test_pymarls_own_coma_file_is_taken(tmp_path):
    """It has four keys that PyMARL does not read either."""
    path = tmp_path / "coma.yaml"
    keys = "".join(f"{key}: 0\n" for key in INERT)
    path.write_text(f"learner: coma_learner\nagent_output_type: pi_logits\naction_selector: multinomial\n{keys}")
    composed = compose_config(str(path), "two_step")
    config = check_config(composed.config, known=composed.config, own_keys=composed.own_keys)
    assert warnings_of(config) == [f"Nothing reads {', '.join(INERT)}, as in PyMARL, where its files have them, too."]
    with pytest.raises(ConfigError, match="unknown key 'critic_q_fn'"):  # with another learner they would mean it
        changed = {**composed.config, "learner": "q_learner"}
        check_config(changed, known=changed, own_keys=composed.own_keys)


class Foreign:
    """A learner that makes its mixer itself."""


class Derived(QLearner):
    """A learner of a user's own, on ours."""


@pytest.fixture
def foreign(monkeypatch):
    for kind, name, part in (("learner", "dmaq", Foreign), ("learner", "derived", Derived), ("mac", "own", BasicMAC)):
        monkeypatch.setitem(REGISTRIES[kind]._entries, name, None)
        REGISTRIES[kind][name] = part


def test_names_that_a_foreign_part_may_know(foreign):
    """QPLEX's learner makes the mixer "dmaq" itself; MADDPG's controller has no selector; each reads its own keys."""
    assert warned(learner="dmaq", mixer="dmaq", num_kernel=4, epochs=3) == [
        "mixer=dmaq is not registered; learner=dmaq is not built in and may know it. Did you mean 'dmaq_qatten'?"
    ]
    assert warned(learner="dmaq", critic="comma") == [
        "critic=comma is not registered; learner=dmaq is not built in and may know it. Did you mean 'coma'?"
    ]
    assert warned(learner="dmaq", mac="own", agent_output_type="pi_logits") == []
    assert warned(mac="own", action_selector="gumbel", agent="n_rnn")[0].startswith("agent=n_rnn is not registered")
    for key, user in LOOKED_UP_BY.items():
        with pytest.raises(ConfigError, match=f"{key}=nowhere"):
            check_config({**default_config(), key: "nowhere"})
        assert user in REGISTRIES


def test_a_declared_part_may_have_its_own_keys(monkeypatch):
    monkeypatch.setitem(REGISTRIES["learner"]._entries, "own", None)
    REGISTRIES["learner"].declare("own", Foreign, "with fields, say", batch_fields={"probs": {"vshape": 1}})
    assert warned(learner="own", mini_epochs=8) == []
    REGISTRIES["learner"].declare("own", Foreign, "which says all that it reads", reads=("mini_epochs", "mixer"))
    assert warned(learner="own", mini_epochs=8, epochs=3) == ["epochs=3 has no effect: learner=own does not read it."]
    with pytest.raises(ConfigError, match=r"mini_epoch'\. Did you mean"):
        check_config({**default_config(), "learner": "own", "mini_epoch": 8})
    with pytest.raises(ConfigError, match="mixer=dmaq"):
        check_config({**default_config(), "learner": "own", "mixer": "dmaq"})
