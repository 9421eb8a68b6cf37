"""Files written for entity-gym find its names, ours where the package is not installed, and play unchanged."""

import io
import sys

import numpy as np
import pytest

import envs.entities
from envs.entities import Entity
from envs.entities.acting import actions_for
from envs.entities.batch import EntityBatch
from envs.entities.dataclass_utils import extract_features, obs_space_from_dataclasses
from envs.entities.entity_gym_names import alias_entity_gym
from envs.entities.games import GAMES
from envs.entities.making import environment_class
from envs.entities.numbering import EntityNumbering
from utils.errors import MusterError

DATACLASSES = """
import random
from dataclasses import dataclass
from typing import Dict, Mapping

from entity_gym.dataclass_utils import extract_features, obs_space_from_dataclasses
from entity_gym.env import (
    Action, ActionSpace, CategoricalAction, CategoricalActionMask, CategoricalActionSpace, Environment, Observation,
    ObsSpace,
)
from entity_gym.env.environment import ActionName


@dataclass
class Lamp:
    brightness: float
    _wire: int = 0


@dataclass
class Switch:
    pass


class Lamps(Environment):
    def obs_space(cls) -> ObsSpace:
        return obs_space_from_dataclasses(Switch, Lamp)

    def action_space(cls) -> Dict[ActionName, ActionSpace]:
        return {"press": CategoricalActionSpace(["off", "on"])}

    def reset_filter(self, obs_space: ObsSpace) -> Observation:
        self.lamps = [Lamp(float(random.randint(0, 1))) for _ in range(2)]
        return self.observe(obs_space, False)

    def reset(self) -> Observation:
        return self.reset_filter(self.obs_space())

    def act_filter(self, actions: Mapping[str, Action], obs_filter: ObsSpace) -> Observation:
        press = actions["press"]
        assert isinstance(press, CategoricalAction)
        for i, label in zip(press.actors, press.labels):
            self.lamps[i].brightness = float(label == "on")
        return self.observe(obs_filter, True)

    def act(self, actions: Mapping[str, Action]) -> Observation:
        return self.act_filter(actions, self.obs_space())

    def observe(self, obs_filter: ObsSpace, done: bool) -> Observation:
        return Observation(
            features=extract_features({"Lamp": self.lamps, "Switch": [Switch()]}, obs_filter),
            ids={"Lamp": [0, 1], "Switch": ["switch"]},
            actions={"press": CategoricalActionMask(actor_types=["Lamp"])},
            reward=sum(lamp.brightness for lamp in self.lamps),
            done=done,
        )
"""

RUNNER = """
from typing import Dict

from entity_gym.env import *
from entity_gym.runner import CliRunner


class Tag(Environment):
    @classmethod
    def obs_space(cls) -> ObsSpace:
        return ObsSpace(entities={"Child": Entity(features=["x"])})

    @classmethod
    def action_space(cls) -> Dict[ActionName, ActionSpace]:
        return {"tag": SelectEntityActionSpace()}

    def reset(self) -> Observation:
        self.tagger, self.count = "Ada", 0
        return self.observe()

    def act(self, actions) -> Observation:
        self.tagger = actions["tag"].actees[0]
        self.count += 1
        return self.observe()

    def observe(self) -> Observation:
        names = ["Ada", "Bob", "Eve"]
        return Observation(
            entities={"Child": ([[i] for i in range(3)], names)},
            actions={"tag": SelectEntityActionMask([self.tagger], actee_ids=[n for n in names if n != self.tagger])},
            reward=float(self.tagger == "Eve"),
            done=self.count == 2,
        )


if __name__ == "__main__":
    CliRunner(Tag()).run()
"""

TRAINING = """
import hyperstate
from enn_trainer import TrainConfig, State, init_train_state, train
from enn_trainer.config import *


@hyperstate.stateful_command(TrainConfig, State, init_train_state)
def main(state_manager: hyperstate.StateManager = None) -> None:
    train(state_manager=state_manager, env=Tag)

"""

EXAMPLES = """
from entity_gym.env import Environment
from entity_gym.examples import ENV_REGISTRY
from entity_gym.examples.xor import Xor
from entity_gym.examples.tutorial import TreasureHunt


class Slow(Xor):
    def act(self, actions):
        seen = super().act(actions)
        seen.reward = seen.reward / 2
        return seen


assert ENV_REGISTRY["TreasureHunt"] is TreasureHunt and issubclass(TreasureHunt, Environment)
"""


OLDER = """
from typing import Dict, Mapping
from entity_gym.environment import *


class Fields(Environment):
    def __init__(self, goats: int = 2):
        self.goats = goats

    @classmethod
    def obs_space(cls) -> ObsSpace:
        return ObsSpace({"Goat": Entity(["hunger"]), "Wolf": Entity([])})

    @classmethod
    def action_space(cls) -> Dict[ActionType, ActionSpace]:
        return {"graze": CategoricalActionSpace(choices=["wait", "eat"]), "hunt": SelectEntityActionSpace()}

    def reset(self) -> Observation:
        self.hunger, self.eaten = [3.0] * self.goats, []
        return self.observe(0.0)

    def act(self, action: Mapping[ActionType, Action]) -> Observation:
        graze, hunt = action["graze"], action["hunt"]
        assert isinstance(graze, CategoricalAction) and isinstance(hunt, SelectEntityAction)
        for (_, goat), choice in graze.items():
            self.hunger[goat] -= choice
        self.eaten += [goat for wolf, (_, goat) in hunt.items()]
        return self.observe(float(sum(graze.actions)))

    def observe(self, reward: float) -> Observation:
        done = len(self.eaten) == 1
        kept = [("Goat", i) for i in range(self.goats)]
        return Observation.from_entity_obs(
            entities={
                "Goat": EntityObs(features=[[hunger] for hunger in self.hunger], ids=kept),
                "Wolf": None if done else EntityObs(features=[[]], ids=["wolf"]),
            },
            actions={
                "graze": CategoricalActionMask(actor_types=["Goat"]),
                "hunt": SelectEntityActionMask(actor_types=["Wolf"], actee_ids=kept),
            },
            reward=reward,
            done=done,
            end_of_episode_info=EpisodeStats(1, reward, {"eaten": 1.0}) if done else None,
        )
"""


def play(tmp_path, text, name, chosen):
    path = tmp_path / f"{name.lower()}_of_entity_gym.py"
    path.write_text(text)
    env = environment_class(f"{path}:{name}")()
    env.seed(0)
    space, numbering = env.action_space(), EntityNumbering(env.obs_space(), env.action_space())
    seen, rewards = numbering.seen(env.reset()), []
    for one in chosen:
        seen = numbering.seen(env.act(actions_for(seen, space, one)))
        rewards.append(seen.reward)
    return env, seen, rewards


def test_a_file_of_dataclasses_and_filters_plays(tmp_path, no_entity_gym):
    env, seen, rewards = play(tmp_path, DATACLASSES, "Lamps", [{"press": [1, 0]}])
    assert (rewards, seen.done) == ([1.0], True)
    assert seen.features["Lamp"].tolist() == [[1], [0]]
    assert env.obs_space().entities == {"Switch": Entity([]), "Lamp": Entity(["brightness"])}


def test_a_file_with_ids_of_its_own_plays(tmp_path, no_entity_gym):
    _, seen, rewards = play(tmp_path, RUNNER, "Tag", [{"tag": [0]}, {"tag": [1]}])
    assert (rewards, seen.done) == ([0.0, 1.0], True)


def test_a_file_that_extends_an_example_plays(tmp_path, no_entity_gym):
    env, _, rewards = play(tmp_path, EXAMPLES, "Slow", [{"output": [0]}])
    first, second = env.bits
    assert rewards == [0.5 * ((first ^ second ^ env.negate) == 0)]


def test_a_file_of_the_older_path_plays_and_its_last_info_is_logged(tmp_path, no_entity_gym):
    env, seen, rewards = play(tmp_path, OLDER, "Fields", [{"graze": [1, 0], "hunt": [1]}])
    assert (rewards, env.hunger, env.eaten) == ([1.0], [2.0, 3.0], [1])
    assert (seen.done, seen.metrics) == (True, {"eaten": 1.0})
    env.goats = 1
    observation = env.reset()
    assert observation.id_to_index(env.obs_space()) == {("Goat", 0): 0, "wolf": 1}
    assert observation.num_entities("Wolf") == 1
    batch = EntityBatch(1, f"{tmp_path}/fields_of_entity_gym.py:Fields", max_entities=4, seed=1)
    batch.reset()
    batch.step({"actions": np.zeros((1, batch.layout.n_slots), np.int64)})
    assert batch.info(0)["eaten"] == 1.0
    batch.close()


def test_the_older_path_has_the_words_of_its_time_and_refuses_the_oldest(no_entity_gym):
    alias_entity_gym()
    import entity_gym.cli_runner
    import entity_gym.env
    import entity_gym.environment.env_list
    import entity_gym.environment.vec_env

    names = entity_gym.environment
    assert names.Observation is names.environment.Observation is entity_gym.env.Observation
    assert names.VecObs is names.vec_env.VecObs is entity_gym.env.VecObs and "VecObs" in names.__all__
    assert names.EnvList is names.env_list.EnvList and names.EntityType is names.ActionType is str
    assert entity_gym.cli_runner.CliRunner and names.CategoricalActionSpace(["a"]).choices == ["a"]
    with pytest.raises(TypeError, match="labels of its choices"):
        names.CategoricalActionSpace(["a"], choices=["b"])
    with pytest.raises(ImportError, match=r"_reset, _act.*docs/entity_gym\.md"):
        from entity_gym.environment import DenseCategoricalActionMask  # noqa: F401
    with pytest.raises(ImportError, match="ObsBatches"):
        from entity_gym.environment import ObsBatches  # noqa: F401
    with pytest.raises(AttributeError, match="EpisodeStats"):
        entity_gym.env.EpisodeStats  # noqa: B018
    with pytest.raises(TypeError, match="EpisodeStats"):
        names.Observation(done=True, reward=0.0, end_of_episode_info={"length": 3})


def test_a_file_with_their_training_script_gives_its_environment_and_answers_in_words(tmp_path, no_entity_gym):
    text = TRAINING + RUNNER.replace("CliRunner(Tag()).run()", "main()")
    _, seen, rewards = play(tmp_path, text, "Tag", [{"tag": [0]}, {"tag": [1]}])
    assert (rewards, seen.done) == ([0.0, 1.0], True)
    with pytest.raises(ImportError, match=r"enn_trainer\.train has .*--config=enn_ppo.*docs/entity_gym\.md"):
        exec(compile(text.replace("@hyperstate", "# @hyperstate"), "tag.py", "exec"), {"__name__": "__main__"})
    with pytest.raises(ImportError, match=r"hyperstate\.stateful_command|enn_trainer"):
        exec(compile(text, "tag.py", "exec"), {"__name__": "__main__"})
    with pytest.raises(ImportError, match=r"rogue_net\.rogue_net\.RogueNet has no counterpart"):
        exec("from rogue_net.rogue_net import RogueNet\nclass Own(RogueNet): pass", {})


def test_a_file_with_a_runner_is_a_program(tmp_path, no_entity_gym, monkeypatch, capsys):
    alias_entity_gym()
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n2\n"))
    exec(compile(RUNNER, "tag.py", "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    assert "tag of 0 Child: 1 Child, 2 Child" in shown
    assert "tag of 1 Child: 0 Child, 2 Child" in shown
    assert "The episode is over: return 1 in 2 steps." in shown


def test_the_real_package_comes_first(tmp_path, monkeypatch, no_entity_gym):
    (tmp_path / "entity_gym").mkdir()
    (tmp_path / "entity_gym" / "__init__.py").write_text("real = True")
    (tmp_path / "entity_gym" / "runner.py").write_text("real = True")
    monkeypatch.syspath_prepend(str(tmp_path))
    alias_entity_gym()
    import entity_gym
    import entity_gym.runner

    assert entity_gym.real and entity_gym.runner.real
    with pytest.raises(ImportError):
        import entity_gym.env


def test_names_that_are_the_same_and_names_that_are_not_there(no_entity_gym):
    alias_entity_gym()
    finders = list(sys.meta_path)
    alias_entity_gym()
    assert sys.meta_path == finders
    import entity_gym.env.environment
    import entity_gym.examples.count

    for word in envs.entities.__all__:
        assert getattr(entity_gym.env, word) is getattr(entity_gym.env.environment, word)
        assert getattr(entity_gym.env, word) is getattr(envs.entities, word)
    assert entity_gym.examples.count.Count is GAMES["Count"] is entity_gym.examples.Count
    # the package's own submodules are what they were
    assert (
        envs.entities.environment.Environment.__module__
        == "envs.entities.environment"
        == envs.entities.environment.__name__
    )
    for name in ("entity_gym.env.vec_envs", "entity_gym.examples.counts", "entity_gym.tests", "ragged_buffer.views"):
        with pytest.raises(ModuleNotFoundError, match=name):
            __import__(name)


def test_features_are_read_from_objects():
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    space = envs.entities.ObsSpace(entities={"P": Entity(["y", "x"]), "None": Entity(["z"]), "Bare": Entity([])})
    found = extract_features({"P": [Point(1, 2), Point(3, 4)], "None": [], "Bare": [1, 2]}, space)
    assert {name: (rows.tolist(), rows.dtype) for name, rows in found.items()} == {
        "P": ([[2, 1], [4, 3]], np.float32),
        "None": ([], np.float32),
        "Bare": ([[], []], np.float32),
    }
    with pytest.raises(MusterError, match="'None' is missing"):
        extract_features({"P": [], "Bare": []}, space)
    with pytest.raises(MusterError, match=r"entity type 'P': .* no attribute 'y'"):
        extract_features({"P": [5], "None": [], "Bare": []}, space)
    with pytest.raises(MusterError, match="is no dataclass"):
        obs_space_from_dataclasses(Point)
