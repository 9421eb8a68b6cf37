"""Vaults and Minari's data sets: what others wrote is read, and what is written others read."""

import json

import numpy as np
import pytest

from envs.recorded.description import EPISODE
from envs.recorded.formats import open_data
from envs.recorded.minari_data import write_minari
from envs.recorded.quality import quality_of
from envs.recorded.vault import write_vault
from recorded_steps import steps, written
from utils.errors import ConfigError

minari = pytest.importorskip("minari")
tensorstore = pytest.importorskip("tensorstore")


def test_a_vault_has_the_transitions_by_flashbaxs_names(tmp_path):
    lengths = [3, 2, 4]
    source = written(tmp_path / "d", steps(lengths))._folder
    assert write_vault(open_data(source), tmp_path / "game.vlt" / "Good") == 9
    said = json.loads((tmp_path / "game.vlt" / "Good" / "metadata.json").read_text())
    assert said["version"] == 1.2
    assert said["structure_shape"]["observations"] == "(1, 1, 2, 2)"
    assert said["structure_shape"]["infos"] == {"legals": "(1, 1, 2, 4)", "state": "(1, 1, 3)"}
    assert said["structure_dtype"]["terminals"] == "bool" and said["structure_dtype"]["actions"] == "int64"
    spec = {"driver": "zarr", "kvstore": {"driver": "ocdbt", "base": f"file://{tmp_path / 'game.vlt' / 'Good'}"}}

    def array(name):
        return tensorstore.open({**spec, "kvstore": {**spec["kvstore"], "path": name}}).result()

    assert array("vault_index").read().result().tolist() == [9]
    terminals, truncations = (array(f"{name}.")[0, :9].read().result() for name in ("terminals", "truncations"))
    assert terminals.tolist() == [[k in (2, 8)] * 2 for k in range(9)]
    assert truncations.tolist() == [[k == 4] * 2 for k in range(9)]


def test_a_vault_is_read_without_what_truncated_episodes_led_to(tmp_path):
    data = steps([3, 2, 4])
    source = open_data(written(tmp_path / "d", data)._folder)
    write_vault(source, tmp_path / "game.vlt" / "Good")
    found = open_data(tmp_path / "game.vlt")
    assert (found.format, found.description.spec.groups) == ("vault", {"agents": 2})
    assert found.description.spec.fields["actions"].n == 4
    quality = quality_of(found)
    # the truncated episode of two steps has lost its last one
    assert (quality.episodes, quality.transitions, quality.returns.tolist()) == (3, 8, [3, 1, 4])
    (part,) = found.parts()
    kept = [0, 1, 2, 4, 5, 7, 8, 9, 10]
    for key in ("obs", "state", "actions", "avail_actions"):
        assert np.array_equal(part[key], data[key][kept]), key


def test_minaris_package_reads_what_was_written(tmp_path, monkeypatch):
    data = steps([3, 2, 4], agents=1)
    source = open_data(written(tmp_path / "d", data, agents=1)._folder)
    monkeypatch.chdir(tmp_path)
    assert write_minari(source, "m") == 9
    found = minari.MinariDataset(tmp_path / "m" / "data")
    assert (found.total_episodes, found.total_steps) == (3, 9)
    assert found.action_space.n == 4 and found.observation_space.shape == (2,)
    episode = found[1]
    assert np.array_equal(episode.observations, data["obs"][4:7, 0])
    assert np.array_equal(episode.actions, data["actions"][4:6, 0, 0])
    assert episode.truncations.tolist() == [False, True] and not episode.terminations.any()


def test_minaris_data_are_read_with_the_closing_states(tmp_path):
    data = steps([3, 2, 4], agents=1)
    write_minari(open_data(written(tmp_path / "d", data, agents=1)._folder), tmp_path / "m")
    found = open_data(tmp_path / "m")
    quality = quality_of(found)
    assert (found.format, quality[:5], quality.returns.tolist()) == ("minari", (3, 0, 9, 12, 5), [3, 2, 4])
    (part,) = found.parts()
    assert np.array_equal(part["obs"], data["obs"]) and part[EPISODE].tolist() == data["episode"].tolist()
    assert np.array_equal(part["state"], data["obs"][:, 0])
    before_end = [k for k in range(12) if k not in (3, 6, 11)]
    assert np.array_equal(part["actions"][before_end], data["actions"][before_end])


def test_what_a_format_does_not_take_is_refused(tmp_path):
    source = open_data(written(tmp_path / "d", steps([3]))._folder)
    with pytest.raises(ConfigError, match=r"one agent; these data have 2\. Use a vault"):
        write_minari(source, tmp_path / "m")
    (tmp_path / "there").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        write_vault(source, tmp_path / "there")
    with pytest.raises(ConfigError, match="minari download muster/nothing-v0 fetches it"):
        open_data("minari:muster/nothing-v0")


def test_a_damaged_vault_is_refused(tmp_path):
    write_vault(open_data(written(tmp_path / "d", steps([3]))._folder), tmp_path / "v" / "Good")
    said = tmp_path / "v" / "Good" / "metadata.json"
    whole = json.loads(said.read_text())
    del whole["structure_shape"]["rewards"]
    said.write_text(json.dumps(whole))
    with pytest.raises(ConfigError, match="the vault has no rewards; it has observations"):
        open_data(tmp_path / "v")
    said.write_text("{")
    with pytest.raises(ConfigError, match="is not a vault's metadata"):
        open_data(tmp_path / "v")
