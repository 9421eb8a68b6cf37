"""What names a file is recorded so that it means the same in every folder."""

import sys

import pytest

from checks.changes import check_changes
from checks.lasting import lasting
from checks.plugins import import_plugins
from utils.config.merging import default_config
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"plugins": ["a.py", "sub/../b.py", "/c.py"]}, {"plugins": ["{}/a.py", "{}/b.py", "/c.py"]}),
        ({"plugins": "a.py"}, {"plugins": ["{}/a.py"]}),
        ({"plugins": ["json", "no.such.module"]}, {"plugins": ["json", "no.such.module"]}),
        ({"opponent_models": ["models/x"]}, {"opponent_models": ["{}/models/x"]}),
        ({"checkpoint_path": "models"}, {"checkpoint_path": "{}/models"}),
        ({"checkpoint_path": ""}, {"checkpoint_path": ""}),
        ({"buffer_folder": "disk"}, {"buffer_folder": "{}/disk"}),
        (
            {"env": "entities", "env_args": {"environment": "my/games.py:Line", "kwargs": {"a": "b.py"}}},
            {"env_args": {"environment": "{}/my/games.py:Line", "kwargs": {"a": "b.py"}}},
        ),
        ({"env": "entities", "env_args": {"environment": "Xor"}}, {"env_args": {"environment": "Xor"}}),
        (
            {"env": "dots", "env_args": {"executable": "sim.py", "folder": None, "timeout": 3.0}},
            {"env_args": {"executable": "{}/sim.py", "folder": None, "timeout": 3.0}},
        ),
        (
            {"env": "racing", "env_args": {"map_cycle": ["seed:1", "oval.npy", {"track": "seeds:0-9", "name": "x"}]}},
            {"env_args": {"map_cycle": ["seed:1", "{}/oval.npy", {"track": "seeds:0-9", "name": "x"}]}},
        ),
        (
            {"env": "trackmania", "env_args": {"map_cycle": [{"map": "A01.Gbx", "line": "a.npy"}], "documents": "d"}},
            {"env_args": {"map_cycle": [{"map": "A01.Gbx", "line": "{}/a.npy"}], "documents": "{}/d"}},
        ),
        ({"env": "theirs", "env_args": {"file": "x.py"}}, {"env_args": {"file": "x.py"}}),
        (
            {"teams": {"a": {"config": "qmix", "checkpoint_path": "m"}, "b": {"config": "own.yaml"}}},
            {"teams": {"a": {"config": "qmix", "checkpoint_path": "{}/m"}, "b": {"config": "{}/own.yaml"}}},
        ),
        ({"name": "own.py", "local_results_path": "results"}, {"name": "own.py", "local_results_path": "results"}),
    ],
)
def test_files_have_whole_paths(tmp_path, monkeypatch, changes, expected):
    monkeypatch.chdir(tmp_path)

    def filled(value):
        if isinstance(value, str):
            return value.replace("{}", str(tmp_path))
        if isinstance(value, list):
            return [filled(one) for one in value]
        return {key: filled(one) for key, one in value.items()} if isinstance(value, dict) else value

    config = {**default_config(), **changes}
    assert lasting(config) == {**config, **filled(expected)}
    assert lasting(lasting(config)) == lasting(config)


def test_a_module_of_the_current_folder_is_a_file_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "beside_me", raising=False)
    (tmp_path / "beside_me.py").write_text("")
    import_plugins(["beside_me"])
    assert lasting({**default_config(), "plugins": ["beside_me"]})["plugins"] == [str(tmp_path / "beside_me.py")]


def test_a_file_that_has_moved_is_the_same_to_a_resumed_run():
    before = {**default_config(), "env": "entities", "env_args": {"environment": "/here/games.py:Line"}}
    check_changes(before, {**before, "env_args": {"environment": "/there/games.py:Line"}})
    with pytest.raises(ConfigError, match=r"keeps its env_args\.environment"):
        check_changes(before, {**before, "env_args": {"environment": "/there/games.py:Other"}})
    tracks = {"map_cycle": ["/here/a.npy", {"track": "/here/b.npy"}]}
    before = {**default_config(), "env": "racing", "env_args": tracks}
    check_changes(before, {**before, "env_args": {"map_cycle": ["/there/a.npy", {"track": "/there/b.npy"}]}})
    with pytest.raises(ConfigError, match=r"keeps its env_args\.map_cycle"):
        check_changes(before, {**before, "env_args": {"map_cycle": ["/there/a.npy", {"track": "/there/c.npy"}]}})
