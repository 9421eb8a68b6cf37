"""Which run a path belongs to, and which tokens are believed."""

import json
import os
from pathlib import Path

import pytest

from records.layout import place_of_run
from records.recorded import json_mapping, token_in


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("results/sacred/3", ("results", "sacred", "3")),
        ("results/sacred/3/metrics.json", ("results", "sacred", "3")),
        ("results/runs/a/checkpoints/400", ("results", "runs", "a")),
        ("/data/models/a/400", ("/data", "models", "a")),
        ("results/elsewhere/a", None),
        ("a", None),
    ],
)
def test_the_run_of_a_path(path, place):
    assert place_of_run(Path(path)) == (place and (Path(place[0]), *place[1:]))


def test_the_run_of_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "models" / "a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "models" / "a")
    assert place_of_run(Path(".")) == (tmp_path, "models", "a")


@pytest.mark.parametrize("token", ["../up", "/etc", ".hidden", "", "a/b", 7, None, ["a"]])
def test_tokens_that_would_lead_elsewhere_are_none(token):
    assert token_in({"unique_token": token}) is None
    assert token_in({}) is None
    assert token_in({"unique_token": "qmix_seed1_3m_2026"}) == "qmix_seed1_3m_2026"


def test_anything_but_a_mapping_is_empty(tmp_path):
    path = tmp_path / "info.json"
    for text in ("[1]", '{"a": ', "", "[" * 100000):
        path.write_text(text)
        assert json_mapping(path) == {}
    path.unlink()
    assert json_mapping(path) == {}
    os.mkfifo(path)  # is not waited for
    assert json_mapping(path) == {}
    path.unlink()
    path.write_text(json.dumps({"a": 1}))
    assert json_mapping(path) == {"a": 1}
