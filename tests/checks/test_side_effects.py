"""The settings of a recorded config that reach beyond its results, and the words that allow them."""

import shlex

import pytest

from checks.options import options_of_keys
from checks.side_effects import JUDGED_WITHIN, UNUSED_IN_PLAY, allowed, as_words, reaching, statement_of
from cli.settings import check_settings
from collection.collector_options import OPTIONS as OF_COLLECTORS
from envs import REGISTRY as environments
from envs import reaches_of
from learners import REGISTRY as learners
from records.own_marks import mark
from utils.config.merging import CONFIG_DIR, config_names, default_config
from utils.config.options import Option
from utils.config.reach import MODULE, NOWHERE, UNDECLARED, Reach
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from vector_envs.instances import env_parameters

PLAIN = {**default_config(), "env": "two_step", "env_args": {}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"plugins": "own.py"}, {"plugins": ["own.py"]}),
        ({"plugins": ["a.py", "b"]}, {"plugins": ["a.py", "b"]}),
        ({"mongo_url": "mongodb://else/where"}, {"mongo_url": "mongodb://else/where"}),
        ({"on_end": "rm -rf ~"}, {"on_end": "rm -rf ~"}),
        ({"mlflow_uri": "http://else"}, {}),  # not used
        ({"use_mlflow": True}, {}),  # into files among the results
        ({"use_mlflow": True, "mlflow_uri": "http://else"}, {"mlflow_uri": "http://else"}),
        ({"use_wandb": True}, {}),
        ({"use_wandb": True, "wandb_mode": "online"}, {"wandb_mode": "online"}),
        ({"env": "mpe", "env_args": {"key": "mpe2.simple_spread_v3"}}, {}),
        ({"env": "mpe", "env_args": {"key": "mpe2evil.simple"}}, {"env_args.key": "mpe2evil.simple"}),
        ({"env": "pettingzoo", "env_args": {"key": "evil"}}, {"env_args.key": "evil"}),
        ({"env": "entities", "env_args": {"environment": "MineSweeper"}}, {}),
        ({"env": "entities", "env_args": {"environment": "gymnasium:CartPole-v1"}}, {}),
        (
            {"env": "entities", "env_args": {"environment": "gymnasium:evil:A-v1"}},
            {"env_args.environment": "gymnasium:evil:A-v1"},
        ),
        ({"env": "entities", "env_args": {"environment": "evil.py:A"}}, {"env_args.environment": "evil.py:A"}),
        ({"env": "lbf", "env_args": {"key": "Foraging-5x5-2p-1f-v3"}}, {}),
        ({"env": "sc2", "env_args": {"replay_dir": "/else"}}, {"env_args.replay_dir": "/else"}),
        (
            {"env": "entities", "env_args": {"environment": "gymnasium.py:A"}},
            {"env_args.environment": "gymnasium.py:A"},
        ),
        ({"env": "entities", "env_args": {"environment": "Xor", "kwargs": {"a": "b"}}}, {}),
        ({"env": "entities", "env_args": {"environment": "gymnasium:A-v1", "kwargs": {"a": 1}}}, {}),
        ({"env": "pettingzoo", "env_args": {"key": "mpe2.a", "kwargs": {"render_mode": "human", "n": 3}}}, {}),
        ({"env": "mpe", "env_args": {"kwargs": {"file": "x"}}}, {"env_args.kwargs": {"file": "x"}}),
        ({"env": "gymnasium", "env_args": {"wrappers": ["GrayscaleObservation", {"A": {"size": 4}}]}}, {}),
        ({"env": "gymnasium", "env_args": {"wrappers": ["evil:A"]}}, {"env_args.wrappers": ["evil:A"]}),
        ({"env": "gymnasium", "env_args": {"wrappers": 5}}, {"env_args.wrappers": 5}),
        (
            {"env": "gymnasium", "env_args": {"wrappers": [{"RecordVideo": {"video_folder": "/else"}}]}},
            {"env_args.wrappers": [{"RecordVideo": {"video_folder": "/else"}}]},
        ),
        (
            {"env": "dots", "env_args": {"executable": "evil", "args": [1], "folder": None, "timeout": 3}},
            {"env_args.executable": "evil", "env_args.args": [1]},
        ),
        ({"env": "dots", "env_args": {"folder": "/else"}}, {"env_args.folder": "/else"}),
        (
            {"env": "trackmania", "env_args": {"launch": "evil {port}", "port": 8478, "documents": "/else"}},
            {"env_args.launch": "evil {port}", "env_args.documents": "/else"},
        ),
        ({"env": "trackmania", "env_args": {"port": 6379}}, {"env_args.port": 6379}),
        ({"collectors": {"processes": 4, "address": "else:1"}}, {"collectors.address": "else:1"}),
        ({"buffer_folder": "/else"}, {"buffer_folder": "/else"}),
        ({"teams": {"a": {"config": "qmix", "groups": ["b"], "lr": 1, "frozen": True}}}, {}),
        (
            {"teams": {"a": {"config": "evil.yaml", "buffer_folder": "/else"}}},
            {"teams.a.config": "evil.yaml", "teams.a.buffer_folder": "/else"},
        ),
        # of parts that are not built in nothing is declared
        ({"env": "theirs", "env_args": {"a": 1, "b": None, "seed": 4}}, {"env_args.a": 1}),
        ({"plugins": ["a.py"], "theirs": "x", "number": 4}, {"plugins": ["a.py"], "theirs": "x"}),
        ({"theirs": "x"}, {}),  # nothing can read it
        ({"env": "unknown", "env_args": None}, {}),
        ({"env": ["odd"], "plugins": None}, {}),
    ],
)
def test_settings_that_reach_beyond_the_results(changes, expected):
    assert reaching({**PLAIN, **changes}) == expected


def test_a_package_in_the_current_folder_is_somebody_elses(tmp_path, monkeypatch):
    """Where mpe2 is not installed, a folder that came with the results would be imported in its place."""
    monkeypatch.chdir(tmp_path)
    config = {"env": "mpe", "env_args": {"key": "mpe2.simple_spread_v3"}}
    assert reaching(config) == {}
    (tmp_path / "mpe2.py").write_text("")
    assert reaching(config) == {"env_args.key": "mpe2.simple_spread_v3"}


def test_a_text_of_ones_own_part_counts_unless_it_is_the_default_or_declared(monkeypatch):
    monkeypatch.setitem(learners._entries, "toy", None)
    options = {"toy_text": Option("abc", "any"), "toy_name": Option("", "any", reaches=NOWHERE)}
    learners.declare("toy", "toy:Toy", "a toy", options={**options, "toy_number": Option(1, "any")})
    config = {**PLAIN, "learner": "toy", "toy_number": 5, "toy_name": "x"}
    assert reaching({**config, "toy_text": "abc"}) == {}
    assert reaching({**config, "toy_text": "x"}) == {"toy_text": "x"}


def test_settings_are_named_one_by_one():
    recorded = {**PLAIN, "plugins": ["my own.py"], "mongo_url": "mongodb://host/x", "use_mlflow": True}
    named = {"plugins": ["mine.py"]}
    with pytest.raises(
        ConfigError, match=r"to a server: mongo_url=mongodb://host/x\. .* with mongo_url=mongodb://host/x$"
    ):
        allowed(recorded, named)
    with pytest.raises(ConfigError, match=r"import code or connect to a server: .*plugins=\[\] for none"):
        allowed(recorded, {})
    made = allowed(recorded, {**named, "mongo_url": ""})
    # the command line sets them; nothing of what the record says is left
    assert {*recorded} - {*made} == {"plugins", "mongo_url"}
    assert "mongo_url" not in allowed(recorded, named, unused=UNUSED_IN_PLAY)
    assert as_words(reaching(recorded)) == """'plugins=["my own.py"]' mongo_url=mongodb://host/x"""


def test_a_part_of_a_recorded_mapping_is_not_left_when_another_part_is_named():
    recorded = {**PLAIN, "env": "gymnasium", "env_args": {"kwargs": {"file": "/evil", "n": 3}, "time_limit": 5}}
    with pytest.raises(ConfigError, match=r"""with 'env_args.kwargs=\{"file": "/evil", "n": 3\}'"""):
        allowed(recorded, {"env_args": {"time_limit": 6}})
    assert allowed(recorded, {"env_args": {"kwargs": {"n": 4}}})["env_args"] == {"time_limit": 5}


def test_the_words_that_are_suggested_are_what_the_record_has():
    env_args = {"kwargs": {"on": True, "off": None, "name": 'Zoë\'s \\ "x"', "sizes": [1, 2.5, "three"]}, "key": "a:B"}
    recorded = {**PLAIN, "env": "gymnasium", "env_args": env_args, "plugins": ["a b.py"]}
    assert allowed(recorded, check_settings(shlex.split(as_words(reaching(recorded))))) is not None
    given = check_settings(shlex.split(as_words(reaching(recorded))))
    assert given == {"env_args": env_args, "plugins": ["a b.py"]}


def test_of_own_results_all_settings_are_allowed(tmp_path):
    recorded = {**PLAIN, "env": "dots", "env_args": {"executable": "mine", "timeout": 5}}
    (run := tmp_path / "runs" / "mine").mkdir(parents=True)
    mark(run, statement_of(recorded))
    assert allowed(recorded, {}, run) == recorded
    for changed in ({"executable": "evil"}, {"executable": "mine", "args": ["-x"]}):
        with pytest.raises(ConfigError, match="start programs"):
            allowed({**recorded, "env_args": changed}, {}, run)
    assert statement_of(PLAIN) == ""


def arguments(name):
    """All arguments of an environment, by its constructor, where it is installed, and by the files of config/envs."""
    files = (load_yaml(CONFIG_DIR / "envs" / f"{file}.yaml") for file in config_names("envs"))
    found = {key for file in files if file["env"] == name for key in file["env_args"]}
    try:
        found |= {*(env_parameters(environments[name]) or ())}
    except ConfigError:
        assert found, f"neither installed nor in a file: {name}"
    return found


BUILT_IN = [name for name in environments if environments.entry(name).declared]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_argument_of_every_environment_declares_what_it_reaches(name):
    """One that is added must say so, beside the others in REACHES."""
    declared = reaches_of(name)
    assert arguments(name) - {*declared} == set()
    assert all(isinstance(reach, Reach) for reach in declared.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_argument_that_is_not_declared_counts_as_one_that_reaches(name):
    assert reaching({**PLAIN, "env": name, "env_args": {"of_a_later_version": 1}}) == {"env_args.of_a_later_version": 1}


EVIL = {"wrappers": ["evil:Class"], "kwargs": {"entry_point": "evil:Class"}, "args": ["-evil"], "port": 6379}


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in BUILT_IN for key, reach in reaches_of(name).items() if reach.what]
)
def test_every_argument_that_reaches_is_refused_until_it_is_named(name, key):
    recorded = {**PLAIN, "env": name, "env_args": {key: EVIL.get(key, "evil.module:Class")}}
    with pytest.raises(ConfigError, match=rf"env_args\.{key}="):
        allowed(recorded, {}, unused=() if key == "replay_dir" else UNUSED_IN_PLAY)
    assert allowed(recorded, {"env_args": {key: "mine"}})["env_args"] == {}


@pytest.mark.parametrize("file", config_names("envs"))
def test_the_files_of_environments_reach_nowhere(file):
    assert reaching({**PLAIN, **load_yaml(CONFIG_DIR / "envs" / f"{file}.yaml")}) == {}


def test_the_presets_of_algorithms_reach_nowhere():
    for name in config_names("algs"):
        # COMA's has arguments of StarCraft, and Linesight's of races
        env = "racing" if name == "linesight" else "sc2"
        assert reaching({**PLAIN, "env": env, **load_yaml(CONFIG_DIR / "algs" / f"{name}.yaml")}) == {}, name


def test_every_option_with_text_declares_what_it_reaches():
    declared = [(key, option) for key, options in options_of_keys().items() for option in options]
    declared += [(f"collectors.{key}", option) for key, option in OF_COLLECTORS.items()]
    assert [key for key, option in declared if option.reach is UNDECLARED] == []
    assert dict(declared)["plugins"].reach is MODULE
    assert {*JUDGED_WITHIN} <= dict(declared).keys()
