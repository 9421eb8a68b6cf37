"""A script as users of entity-gym write them: `python entity_gym_script.py TRACE OUT`.

It steps a list of environments and one divided between processes, records, reads the recording back, and writes what it
saw to OUT. It runs unchanged with the packages themselves, and with Muster's modules under their names.
"""

import json
import sys
from collections.abc import Mapping

import numpy as np
from entity_gym.env import (
    Action,
    ActionSpace,
    AddMetricsWrapper,
    CategoricalActionMask,
    CategoricalActionSpace,
    Entity,
    Environment,
    EnvList,
    GlobalCategoricalActionMask,
    GlobalCategoricalActionSpace,
    Observation,
    ObsSpace,
    ParallelEnvList,
    SelectEntityActionMask,
    SelectEntityActionSpace,
    ValidatingEnv,
    VecEnv,
    VecObs,
)
from entity_gym.serialization import SampleRecordingVecEnv, Trace
from ragged_buffer import RaggedBufferF32, RaggedBufferI64


class Harbour(Environment):
    """Ships sail to piers, piers unload ships, and a light signals. There is no chance in it."""

    def __init__(self, ships: int = 3, length: int = 4):
        self.length, self.number = length, ships
        self.begun = 0

    def obs_space(self) -> ObsSpace:
        return ObsSpace(
            global_features=["tide", "light"],
            entities={"Ship": Entity(["x", "load"]), "Buoy": Entity([]), "Pier": Entity(["x"])},
        )

    def action_space(self) -> dict[str, ActionSpace]:
        return {
            "sail": CategoricalActionSpace(["west", "stay", "east"]),
            "unload": SelectEntityActionSpace(),
            "signal": GlobalCategoricalActionSpace(["dark", "bright"]),
        }

    def reset(self) -> Observation:
        self.begun += 1
        self.step, self.light, self.gain = 0, 0, 0.0
        self.ships = {f"ship {i}": [float(i * self.begun), 2.0] for i in range(self.number)}
        return self.observe()

    def act(self, actions: Mapping[str, Action]) -> Observation:
        self.step, self.gain = self.step + 1, 0.0
        for ship, label in zip(actions["sail"].actors, actions["sail"].labels, strict=True):
            self.ships[ship][0] += {"west": -1.0, "stay": 0.0, "east": 1.0}[label]
        for ship in actions["unload"].actees:
            self.ships[ship][1] -= 1.0
            self.gain += 0.25
        self.ships = {name: ship for name, ship in self.ships.items() if ship[1] > 0}
        self.light = actions["signal"].index
        return self.observe()

    def observe(self) -> Observation:
        ships = list(self.ships)
        piers = [f"pier {i}" for i in range(1 + self.step % 2)] if ships else []
        return Observation(
            entities={
                "Pier": (np.array([[5.0 * i] for i in range(len(piers))], np.float32).reshape(-1, 1), piers),
                "Ship": ([self.ships[name] for name in ships], ships),
                "Buoy": (np.zeros((1, 0), np.float32), ["buoy"]),
            },
            global_features=[self.step % 3, self.light],
            actions={
                "sail": CategoricalActionMask(
                    actor_types=["Ship"],
                    mask=np.array([[x > 0, True, x < 9] for x, _ in self.ships.values()], bool).reshape(-1, 3),
                ),
                "unload": SelectEntityActionMask(actor_ids=piers, actee_types=["Ship"]),
                "signal": GlobalCategoricalActionMask(),
            },
            visible={"Ship": [x < 4 for x, _ in self.ships.values()], "Pier": [True] * len(piers), "Buoy": [True]},
            reward=self.gain,
            done=self.step == self.length or not ships,
            metrics={"ships": float(len(ships))},
        )


def sequences(ragged) -> list:
    return [ragged[i].as_array().tolist() for i in range(ragged.size0())]


def shown(obs: VecObs) -> dict:
    masks = {
        name: {part: None if rows is None else sequences(rows) for part, rows in vars(mask).items() if part in PARTS}
        for name, mask in obs.action_masks.items()
    }
    kept = {name: metric for name, metric in obs.metrics.items() if name not in ("step", "episode_length")}
    return {
        "features": {name: sequences(rows) for name, rows in sorted(obs.features.items())},
        "visible": {name: sequences(rows) for name, rows in sorted(obs.visible.items())},
        "masks": {
            name: {part: rows for part, rows in mask.items() if rows is not None} for name, mask in masks.items()
        },
        "reward": obs.reward.tolist(),
        "done": obs.done.tolist(),
        "metrics": {
            name: [float(m.count), float(m.sum), float(m.min), float(m.max)] if m.count else [0.0]
            for name, m in sorted(kept.items())
        },
    }


PARTS = ("actors", "mask", "actees")


def rollout(envs: VecEnv, steps: int, rng: np.random.Generator) -> list:
    obs_space = envs.obs_space()
    obs = envs.reset(obs_space)
    seen = [shown(obs)]
    for _ in range(steps):
        actions, probs = {}, {}
        for name, mask in obs.action_masks.items():
            choices = mask.actees.size1() if hasattr(mask, "actees") else [2 if name == "signal" else 3] * len(envs)
            chosen, rows = RaggedBufferI64(1), RaggedBufferF32(1)
            for i in range(len(envs)):
                count = mask.actors.size1(i)
                chosen.push(rng.integers(0, max(choices[i], 1), (count, 1)))
                rows.push(np.full((count, 1), 0.5, np.float32))
            actions[name], probs[name] = chosen, rows
        recorded = {"probs": probs} if isinstance(envs, SampleRecordingVecEnv) else {}
        obs = envs.act(actions, obs_space, **recorded)
        seen.append(shown(obs))
    envs.close()
    return seen


def main(trace: str, out: str) -> None:
    envs = AddMetricsWrapper(EnvList(lambda: ValidatingEnv(Harbour()), 4))
    found = {"list": rollout(envs, 9, np.random.default_rng(1))}
    found["parallel"] = rollout(ParallelEnvList(lambda: Harbour(2), 4, 2), 6, np.random.default_rng(2))
    rollout(SampleRecordingVecEnv(EnvList(Harbour, 3), trace), 9, np.random.default_rng(3))
    read = Trace.load(trace)
    episodes = read.episodes(include_incomplete=True)
    found["episodes"] = [
        [
            e.number,
            e.steps,
            e.complete,
            sequences(e.actions["sail"]),
            sequences(e.entities["Ship"]),
            sequences(e.masks["sail"].mask),
        ]
        for e in episodes
    ]
    train, test = read.train_test_split(0.3)
    found["frames"] = [train.frames, test.frames, sequences(train.logprobs[np.arange(2)]["sail"])]
    with open(out, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
