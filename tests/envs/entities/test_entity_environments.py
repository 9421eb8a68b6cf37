"""Files written for entity-gym, and the filter of what is seen."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import envs
from envs.entities import Entity, Environment, GlobalCategoricalActionMask, Observation, ObsSpace
from envs.entities.acting import actions_for
from envs.entities.making import environment_class
from envs.entities.numbering import EntityNumbering
from utils.errors import MusterError

FILE = """
from typing import Dict, Mapping

from entity_gym.env import *


class Hunt(Environment):
    def obs_space(self) -> ObsSpace:
        return ObsSpace(global_features=["x"], entities={"Trap": Entity(features=["x", "y"])})

    def action_space(self) -> Dict[str, ActionSpace]:
        return {"move": GlobalCategoricalActionSpace(index_to_label=["left", "right"])}

    def reset(self) -> Observation:
        self.x = 0
        return self.observe()

    def act(self, actions: Mapping[ActionName, Action]) -> Observation:
        action = actions["move"]
        assert isinstance(action, GlobalCategoricalAction)
        self.x += 1 if action.label == "right" else -1
        return self.observe()

    def observe(self) -> Observation:
        return Observation(
            global_features=[self.x], features={"Trap": [(1, 2)]}, done=self.x == 2, reward=0.0,
            actions={"move": GlobalCategoricalActionMask()},
        )
"""


@pytest.fixture
def hunt(tmp_path, no_entity_gym):
    (tmp_path / "entity_hunt.py").write_text(FILE)
    return tmp_path / "entity_hunt.py"


def test_a_file_for_entity_gym_plays(hunt):
    env = environment_class(f"{hunt}:Hunt")()
    assert isinstance(env, Environment)
    numbering, space = EntityNumbering(env.obs_space(), env.action_space()), env.action_space()
    seen = numbering.seen(env.reset())
    for _ in range(2):
        assert not seen.done
        seen = numbering.seen(env.act(actions_for(seen, space, {"move": [1]})))
    assert seen.done
    assert seen.global_features.tolist() == [2.0]


def test_the_vocabulary_imports_no_torch():
    code = "import sys, envs.entities.making, utils.ragged.buffer; sys.exit('torch' in sys.modules)"
    source = Path(envs.__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", code], cwd=source, timeout=60).returncode == 0


class Still(Environment):
    def obs_space(self):
        return ObsSpace(["a", "b"], {"Trap": Entity(["x", "y", "z"]), "Tree": Entity(["x"]), "Wall": Entity([])})

    def action_space(self):
        return {}

    def reset(self):
        traps, trees = ([[1, 2, 3], [4, 5, 6]], ["s", "t"]), ([[7]], ["u"])
        return Observation(
            entities={"Trap": traps, "Tree": trees, "Wall": [[]]},
            visible={"Tree": [True], "Trap": [True, False]},
            global_features=[8, 9],
            actions={"move": GlobalCategoricalActionMask()},
            done=False,
            truncated=True,
            reward=1.5,
            metrics={"found": 1},
        )

    def act(self, actions):
        return self.reset()


def test_the_filter_selects_and_orders_features():
    """entity-gym's selects nothing: it overwrites its argument."""
    wanted = ObsSpace(["b"], {"Wall": Entity([]), "Trap": Entity(["z", "x"])})
    for seen in (Still().reset_filter(wanted), Still().act_filter({}, wanted)):
        assert {name: rows.tolist() for name, rows in seen.features.items()} == {"Wall": [[]], "Trap": [[3, 1], [6, 4]]}
        assert seen.ids == {"Trap": ["s", "t"]}
        assert seen.visible == {"Trap": [True, False]}
        assert seen.global_features.tolist() == [9]
        assert (seen.reward, seen.done, seen.truncated, seen.metrics) == (1.5, False, True, {"found": 1})
        assert list(seen.actions) == ["move"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ObsSpace([], {"Tre": Entity([])}), "Did you mean 'Tree'?"),
        (ObsSpace([], {"Tree": Entity(["y"])}), "Entity type 'Tree': there is no feature 'y'"),
        (ObsSpace(["c"]), "global features: there is no feature 'c'"),
    ],
)
def test_a_filter_for_what_is_not_there_is_refused(wanted, message):
    with pytest.raises(MusterError) as caught:
        Still().reset_filter(wanted)
    assert message in str(caught.value)


def test_a_seed_reaches_what_files_draw_from():
    def drawn(seed):
        Still().seed(seed)
        return random.random(), np.random.rand()

    state, numpy_state = random.getstate(), np.random.get_state()
    try:
        assert drawn(2**40) == drawn(2**40) != drawn(1)
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)
