"""Plays entity-gym's own games: `python entity_gym_child.py IN OUT`, in a process without our modules, with theirs.

IN is a list of cases (`entity_gym_traces.Case`, as JSON). OUT gets, for each, what every step of its episodes shows by
number, the choices that were made at random among what was legal, and what came of them.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
from entity_gym.env import (
    CategoricalAction,
    CategoricalActionSpace,
    GlobalCategoricalAction,
    GlobalCategoricalActionSpace,
    SelectEntityAction,
    SelectEntityActionSpace,
)
from entity_gym.examples import ENV_REGISTRY


def played(name, kwargs, seed, steps, episodes):
    env = ENV_REGISTRY[name](**kwargs)
    random.seed(seed)
    np.random.seed(seed)
    chooser = random.Random(seed)
    space, actions = env.obs_space(), env.action_space()
    rows = []
    while len(rows) < steps and episodes > 0:
        episodes -= 1
        seen = env.reset()
        rows.append(shown(seen, space, actions))
        while not seen.done and len(rows) < steps:
            chosen = choices(rows[-1]["offers"], actions, chooser)
            rows[-1]["chosen"] = chosen
            seen = env.act(dispatched(seen, space, actions, rows[-1]["offers"], chosen))
            rows.append(shown(seen, space, actions))
    return rows


def shown(seen, space, actions):
    features = {
        name: [[float(f"{value:.9g}") for value in row] for row in np.asarray(seen.features[name], float).tolist()]
        for name in space.entities
        if name in seen.features and len(seen.features[name])
    }
    return {
        "features": features,
        "global": [float(value) for value in seen.global_features],
        "visible": {name: [bool(one) for one in given] for name, given in seen.visible.items()},
        "offers": {name: offer(seen, space, name, mask) for name, mask in seen.actions.items()},
        "reward": float(seen.reward),
        "ended": bool(seen.done),
    }


def offer(seen, space, name, mask):
    actors = seen._actor_indices(name, space).tolist()
    # as batch_obs has it: without actors there is nobody to be selected
    selects = hasattr(mask, "actee_ids")
    actees = (seen._actee_indices(name, space).tolist() if actors else []) if selects else None
    allowed = None if mask.mask is None or not len(mask.mask) else np.asarray(mask.mask, int).tolist()
    return {"actors": actors, "actees": actees, "mask": allowed}


def choices(offers, actions, chooser):
    chosen = {}
    for name, given in offers.items():
        number = len(actions[name].index_to_label) if given["actees"] is None else len(given["actees"])
        legal = given["mask"] or [[1] * number] * len(given["actors"])
        chosen[name] = [chooser.choice([i for i in range(number) if row[i]]) for row in legal]
    return chosen


def dispatched(seen, space, actions, offers, chosen):
    made = {}
    for name, kind in actions.items():
        mask, numbers = seen.actions[name], chosen[name]
        if isinstance(kind, GlobalCategoricalActionSpace):
            made[name] = GlobalCategoricalAction(numbers[0], kind.index_to_label[numbers[0]])
            continue
        actors = ids_of(seen, space, mask.actor_ids, mask.actor_types)
        if isinstance(kind, CategoricalActionSpace):
            made[name] = CategoricalAction(actors, np.array(numbers, np.int64), kind.index_to_label)
        elif isinstance(kind, SelectEntityActionSpace):
            actees = ids_of(seen, space, mask.actee_ids, mask.actee_types)
            made[name] = SelectEntityAction(actors, [actees[i] for i in numbers])
    return made


def ids_of(seen, space, ids, types):
    if ids is not None:
        return list(ids)
    return [one for name in (space.entities if types is None else types) for one in seen.ids[name]]


if __name__ == "__main__":
    cases = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps([played(**case) for case in cases], separators=(",", ":")))
