"""A model that is loaded where numbers mean something else says so; other numbers of units are no matter."""

import json
import logging
from dataclasses import replace

import pytest

from experiment.model_meanings import load_models, recorded
from records.layout import MEANING
from utils.errors import ConfigError
from utils.meanings import Action, Columns, Meaning

CONSOLE = logging.getLogger("muster.test")


class Models:
    def __init__(self, fits=True):
        self.fits, self.loaded = fits, []

    def load_models(self, path):
        if not self.fits:
            raise ConfigError("agent.th does not fit.")
        self.loaded.append(path)


def meaning(enemies=3, features=("seen", "x", "y"), waits=("stop", "move")):
    seen = Columns()
    seen.add("own", ("health",))
    seen.add("enemy", features, enemies)
    return Meaning(tuple(seen.groups), (*map(Action, waits), *(Action(f"a{e}", ("enemy", e)) for e in range(enemies))))


@pytest.fixture
def model(tmp_path):
    for name, text in recorded(meaning()).items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("here", "told"),
    [
        (meaning(), []),
        (meaning(enemies=5), []),
        (None, []),
        (meaning(features=("seen", "y", "x")), ["Of obs: enemy its agents saw seen, x, y; here: seen, y, x."]),
        (meaning(waits=("move", "stop")), ["Its actions without a target were stop, move; here: move, stop."]),
        (
            Meaning(meaning().groups[:1], meaning().actions[:2]),
            ["Its agents saw obs: enemy, too. It had 3 actions for enemy; here: 0."],
        ),
        (
            Meaning((*meaning().groups, replace(meaning().groups[0], kind="food")), meaning().actions),
            ["Its agents did not see obs: food."],
        ),
    ],
)
def test_what_differs_is_a_warning(model, here, told, caplog):
    models = Models()
    load_models(models, model, here, CONSOLE)
    assert models.loaded == [str(model)]
    assert [record.message.partition("observations or actions. ")[2] for record in caplog.records] == told


def test_weights_that_do_not_fit_are_explained(model):
    with pytest.raises(ConfigError) as caught:
        load_models(Models(fits=False), model, meaning(enemies=5), CONSOLE)
    assert str(caught.value).splitlines() == [
        "agent.th does not fit.",
        "Its agents saw 3 of obs: enemy; here: 5. It had 3 actions for enemy; here: 5.",
    ]
    with pytest.raises(ConfigError, match=r"fit\.$"):
        load_models(Models(fits=False), model, meaning(), CONSOLE)


@pytest.mark.parametrize("content", ["", "[]", '{"groups": 3}', json.dumps({"groups": {"a": [3, {}]}, "targets": [1]})])
def test_older_models_and_broken_records_are_loaded(tmp_path, content):
    assert recorded(None) == {}
    if content:
        (tmp_path / MEANING).write_text(content)
    models = Models()
    load_models(models, tmp_path, meaning(), CONSOLE)
    assert models.loaded
