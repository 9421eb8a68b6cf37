"""A learner with six keys: its file, its registry line and its preset are all there is to write."""

import sys
from types import SimpleNamespace

import pytest

from checks import check_config
from checks.changes import check_changes, warnings_of_changes
from checks.epymarl_keys import OPTIONS as EPYMARLS
from checks.options import completed, declared, layer_widths
from checks.registries import REGISTRIES
from checks.unused_keys import warnings_of
from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import SIZES, empty_batch
from learners import REGISTRY as LEARNERS
from learners.q_learner import QLearner
from main import main
from run import run
from utils.config.merging import default_config
from utils.config.options import FREE, SHARED, Option
from utils.errors import ConfigError
from watched_training import assert_learnt, watch_updates

FILE = """
from learners.q_learner import QLearner

class ToyLearner(QLearner):
    def train(self, batch, t_env, episode_num):
        for _ in range(self.args.toy_passes):
            super().train(batch, t_env, episode_num)
        assert self.args.toy_limit is None and self.args.toy_share == 0.5
        self.logger.log_stat("toy_clip", self.args.toy_clip, t_env)
"""
REGISTRY_LINE = """
from learners import REGISTRY
from utils.config.options import FREE, Option

REGISTRY.declare("toy_learner", "toy:ToyLearner", "Q-learning with a toy's keys", learns_from="q", mixes=("nothing",),
    reads=("mixer", "td_lambda", "double_q", "target_update_interval"),
    options={
        "toy_clip": Option(0.2, "how far a step goes", above=0),
        "toy_passes": Option(2, "passes over a sample", at_least=1, at_most=10),
        "toy_norm": Option("batch", "what is normalised", choices=("batch", "running")),
        "toy_limit": Option(None, "largest target; null: none", kind=float, nullable=True),
        "toy_share": Option(0.5, "share of the second pass", at_least=0, at_most=1),
        "toy_verbose": Option(False, "log more", resume=FREE),
    },
)
"""
PRESET = """
plugins: [registry_line.py]
learner: toy_learner
toy_passes: 3
name: toy
"""
SMALL = "t_max=40 test_nepisode=1 batch_size=2 learner_log_interval=1 checkpoint_interval=10 seed=1".split()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The three files in the current folder, and the words that run them."""
    for name, text in (("toy.py", FILE), ("registry_line.py", REGISTRY_LINE), ("toy.yaml", PRESET)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(LEARNERS._entries, "toy_learner", None)  # so that it is forgotten after the test
    del LEARNERS._entries["toy_learner"]
    yield ["--config=toy.yaml", "--env-config=two_step"]
    for name in ("toy", "registry_line"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_it_runs_with_its_defaults_and_the_changes_of_the_command_line(toy, monkeypatch, caplog):
    assert main([*toy, "with", *SMALL, "toy_clip=0.5", "toy_limit=null"]) == 0
    updates = watch_updates(monkeypatch, "toy_learner")
    assert main([*toy, "with", *SMALL, "toy_clip=0.5"]) == 0
    assert_learnt(updates)
    assert {update.stats["toy_clip"] for update in updates if "toy_clip" in update.stats} == {0.5}
    assert "has no effect" not in caplog.text
    assert "Added new config entry" not in caplog.text


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("toy_clip=0", "toy_clip=0: it must be above 0."),
        ("toy_passes=11", "toy_passes=11: it must be at most 10."),
        ("toy_passes=1.5", "expected a whole number"),
        ("toy_norm=runing", "Did you mean 'running'?"),
        ("toy_share=2", "between 0 and 1"),
        ("toy_verbose=yes", "True or False"),
        ("toy_clips=1", "Unknown key 'toy_clips'. Did you mean 'toy_clip'?"),
    ],
)
def test_its_values_are_checked(toy, setting, message, capsys):
    assert main([*toy, "with", *SMALL, setting]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_only_keys_that_it_declares_free_change_when_it_is_resumed(toy, capsys):
    assert main([*toy, "with", *SMALL]) == 0
    again = ["--resume=latest", "with", "plugins=['registry_line.py']", "t_max=60"]
    assert main([*again, "toy_share=0.6"]) == 2
    told = capsys.readouterr().err
    assert "toy_share=0.6: a resumed run keeps its toy_share (0.5)" in told
    assert "toy_verbose" in told.partition("Free to change: ")[2]
    assert main([*again, "toy_verbose=True"]) == 0


def test_other_learners_do_not_have_its_keys(toy, tmp_path):
    main([*toy, "print_config"])
    assert "toy_clip" in completed({**default_config(), "learner": "toy_learner"})
    assert "toy_clip" not in completed(default_config())
    config = check_config({**default_config(), "toy_clip": 0.3})
    assert warnings_of(config) == ["toy_clip=0.3 has no effect: learner=q_learner does not read it."]


@pytest.fixture
def two_learners(monkeypatch):
    """Which declare a key differently, and a mixer that declares it, too."""
    for kind, name in (("learner", "first"), ("learner", "second"), ("mixer", "third")):
        monkeypatch.setitem(REGISTRIES[kind]._entries, name, None)
    passes = Option(1, "passes", at_least=1)
    LEARNERS.declare("first", QLearner, "one", {"toy_passes": passes})
    LEARNERS.declare("second", QLearner, "another", {"toy_passes": Option(4, "passes", at_most=9, resume=FREE)})
    REGISTRIES["mixer"].declare("third", object, "a mixer", {"toy_passes": passes})


def test_a_key_of_two_learners_is_that_of_the_chosen_one(two_learners):
    first, second = ({**default_config(), "learner": name} for name in ("first", "second"))
    assert (completed(first)["toy_passes"], completed(second)["toy_passes"]) == (1, 4)
    assert declared(second)["toy_passes"].at_most == 9
    assert completed({**second, "toy_passes": 7})["toy_passes"] == 7
    check_config({**first, "toy_passes": 10})
    with pytest.raises(ConfigError, match="toy_passes=10: it must be at most 9"):
        check_config({**second, "toy_passes": 10})
    check_changes({**second, "toy_passes": 4}, {**second, "toy_passes": 5})
    with pytest.raises(ConfigError, match="keeps its toy_passes"):
        check_changes({**first, "toy_passes": 4}, {**first, "toy_passes": 5})


def test_a_run_from_before_a_key_is_resumed_with_its_default(two_learners):
    before = {**default_config(), "learner": "first"}
    after = completed(before)
    assert after["toy_passes"] == 1 and "toy_passes" not in before
    check_changes(before, after)
    newer, *_ = warnings_of_changes(before, after)
    assert "toy_passes=1" in newer
    assert "toy_passes" not in str(warnings_of_changes(before, {**after, "toy_passes": 5}))
    assert warnings_of_changes(after, after) == []
    with pytest.raises(ConfigError, match=r"toy_passes=5: a resumed run keeps its toy_passes \(1\)"):
        check_changes(before, {**after, "toy_passes": 5})


def test_two_chosen_parts_agree_on_a_key(two_learners):
    config = {**default_config(), "mixer": "third"}
    assert completed({**config, "learner": "first"})["toy_passes"] == 1
    with pytest.raises(ConfigError, match="learner=second and mixer=third declare the key 'toy_passes' differently"):
        completed({**config, "learner": "second"})


def test_a_shared_key_has_a_default_in_the_file(monkeypatch):
    monkeypatch.setitem(REGISTRIES["mixer"]._entries, "third", None)
    REGISTRIES["mixer"].declare("third", object, "a mixer", {"toy_share": Option(SHARED, "share")})
    with pytest.raises(ConfigError, match="'toy_share' is declared as shared"):
        check_config(default_config())


def test_a_part_of_which_nothing_is_known_gets_every_key(monkeypatch):
    monkeypatch.setitem(REGISTRIES["mac"]._entries, "own", None)
    REGISTRIES["mac"]["own"] = BasicMAC
    config = check_config({**default_config(), "mac": "own"})
    assert set(config) >= set(declared()) - {"seed", "parameter_file", "cpanel", *EPYMARLS}
    assert (config["epochs"], config["qtran_arch"]) == (1, "qtran_paper")


def test_layers_that_the_chosen_networks_have():
    assert layer_widths({**default_config(), "mixer": "qmix"}) == [
        "hypernet_embed",
        "mixing_embed_dim",
        "rnn_hidden_dim",
    ]
    assert layer_widths(default_config()) == ["rnn_hidden_dim"]


@pytest.mark.parametrize("key", sorted(set(declared()) - {"seed"}))
def test_exactly_the_keys_declared_free_may_change(key):
    option = declared()[key]
    before = {**default_config(), key: option.default}
    after = {**before, key: {"x": 1} if option.default == {} else "another"}
    if option.resume == FREE:
        check_changes(before, after)
    else:
        with pytest.raises(ConfigError, match=r"keeps its .*decides "):
            check_changes(before, after)


def test_a_longer_run_with_a_schedule_that_ends_at_t_max_is_told_so():
    config = {**default_config(), "learner": "ppo_learner", "lr_finish": 0.0, "entropy_finish": None, "teams": {}}
    (told,) = warnings_of_changes({**config, "t_max": 10}, {**config, "t_max": 20})
    assert told.startswith("lr_finish=0.0: reached at t_max, so t_max=20 instead of 10 changes the schedule")
    assert warnings_of_changes(config, {**config, "test_interval": 7}) == []
    assert warnings_of_changes(config, {**config, "t_max": 20, "lr_finish": None}) == []
    # which reads no such key
    assert warnings_of_changes(config, {**config, "t_max": 20, "learner": "q_learner"}) == []


def test_a_config_from_python_needs_no_part_s_own_keys(tmp_path):
    """Defaults fill them in."""
    config = {"learner": "pqn_learner", "runner": "rollout", "env": "two_step", "batch_size_run": 2, "t_max": 40}
    assert run({**config, "test_nepisode": 1, "seed": 1, "local_results_path": str(tmp_path)}) is not None


def pymarl_args(**changes):
    """PyMARL's keys only, as a program that builds parts by hand has them."""
    environment = {"env": "two_step", "env_args": {"seed": 1}, "seed": 1}
    return SimpleNamespace(
        **{**default_config(), **SIZES, **environment, "device": "cpu", "use_cuda": False, **changes}
    )


@pytest.mark.slow
def test_parts_built_by_hand_have_the_defaults_that_they_declare():
    args = pymarl_args()
    mac = BasicMAC(empty_batch(1, 2).scheme, None, args)
    learner = LEARNERS["pqn_learner"](mac, {}, RecordingLogger(), args)
    mixers, runners = REGISTRIES["mixer"], REGISTRIES["runner"]
    runner = runners["rollout"](pymarl_args(), RecordingLogger())
    assert mac.args.mask_before_softmax is True
    assert (learner.args.epochs, learner.args.minibatches, learner.args.lr_finish) == (1, 1, None)
    assert (mixers["qmix"](args).args.hypernet_layers, mixers["qtran_base"](args).args.network_size) == (1, "small")
    assert runner.args.rollout_steps == 32
    assert not hasattr(args, "epochs")
    assert type(runners["batched"](pymarl_args(), RecordingLogger())) is runners["episodes"]
    parallel = runners["parallel"](pymarl_args(batch_size_run=2), RecordingLogger())  # env_transport and others
    parallel.close_env()
