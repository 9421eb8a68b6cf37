"""How many entities and actors an environment has at a time: as set, as it says itself, or as seen in random play."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from envs.contract.arguments import require_number
from envs.entities.acting import actions_for
from envs.entities.actions import GlobalCategoricalActionSpace
from envs.entities.copies import Copy
from envs.entities.environment import Environment
from envs.entities.layout import Layout
from envs.entities.making import asked
from envs.entities.numbering import EntityNumbering, Seen
from utils.errors import ConfigError, MusterError
from utils.nearest import suggestion
from utils.plain_values import quoted

# steps of random play, and how many times more than was seen there is room for
STEPS, MARGIN = 200, 2
LARGEST = 2**16
WHOLE = (int, np.integer)

Sizes = int | Mapping[str, int] | None


def layout_of(env: Environment, max_entities: Sizes, max_actors: Sizes, another: Callable[[], Copy]) -> Layout:
    """The layout of an environment.

    Args:
        env: it is asked for its spaces, and for its `capacity()` and `max_actors()`.
        max_entities, max_actors: set by the user, for all types or actions, or for some.
        another: makes a copy to play with, if sizes are still open.

    Raises:
        ConfigError: a type or action that the environment does not have, or an invalid number.
        MusterError: the spaces are invalid.
    """
    with asked(env, "asked for its spaces"):
        obs_space, action_space = env.obs_space(), env.action_space()
        EntityNumbering(obs_space, action_space)  # checks them
    with asked(env, "asked for its sizes"):
        # files for entity-gym may use these names for something else
        said_entities, said_actors = (said() if callable(said) else None for said in (env.capacity, env.max_actors))
    for name in (*obs_space.entities, *action_space):
        if "/" in name:  # fields are named by paths
            raise MusterError(f"The name '{quoted(name)}' of an entity type or an action must not have a '/' in it.")
    acting = [name for name, space in action_space.items() if not isinstance(space, GlobalCategoricalActionSpace)]
    entities = _declared("capacity()", said_entities, obs_space.entities)
    entities |= _set("max_entities", max_entities, obs_space.entities)
    actors = _declared("max_actors()", said_actors, acting)
    actors |= _set("max_actors", max_actors, acting)
    if len(entities) < len(obs_space.entities) or len(actors) < len(acting):
        seen_entities, seen_actors = _seen_in_play(another())
        entities = {name: entities.get(name, MARGIN * max(seen_entities[name], 1)) for name in obs_space.entities}
        most = max(sum(entities.values()), 1)
        actors = {name: actors.get(name, min(MARGIN * max(seen_actors[name], 1), most)) for name in acting}
    return Layout(obs_space, action_space, {name: entities[name] for name in obs_space.entities}, actors)


def check_sizes(key: str, sizes: Any) -> None:
    """Refuse what `max_entities` and `max_actors` cannot be. Raises ConfigError: it names the key."""
    for name, number in (sizes if isinstance(sizes, Mapping) else {"": sizes}).items():
        if number is not None:
            require_number(f"env_args.{key}.{name}" if name else f"env_args.{key}", number, 1, LARGEST, whole=True)


def _set(key: str, sizes: Sizes, names: Any) -> dict[str, int]:
    check_sizes(key, sizes)
    if not isinstance(sizes, Mapping):
        return {} if sizes is None else dict.fromkeys(names, sizes)
    for name in sizes:
        if name not in names:
            what = "entity type" if key == "max_entities" else "action with several actors"
            raise ConfigError(f"env_args.{key}: there is no {what} '{quoted(name)}'.{suggestion(name, names)}")
    return {name: number for name, number in sizes.items() if number is not None}


def _declared(method: str, sizes: Mapping[str, int] | None, names: Any) -> dict[str, int]:
    if sizes is not None and not isinstance(sizes, Mapping):
        raise ConfigError(f"The environment's {method} says {quoted(sizes)}: expected a dict of numbers by name.")
    for name, number in (sizes or {}).items():
        if name not in names or type(number) is bool or not isinstance(number, WHOLE) or not 1 <= number <= LARGEST:
            raise ConfigError(
                f"The environment's {method} says {quoted(number)} of '{quoted(name)}': expected a whole number from 1 "
                f"to {LARGEST} of {', '.join(names) or 'nothing'}."
            )
    return {name: int(number) for name, number in (sizes or {}).items()}


def _seen_in_play(copy: Copy) -> tuple[dict[str, int], dict[str, int]]:
    """The most entities of each type, and actors of each action, in some steps of random actions."""
    with asked(copy.env, f"in {STEPS} steps of random play"), copy.alone:
        return _played(copy.env)


def _played(env: Environment) -> tuple[dict[str, int], dict[str, int]]:
    action_space = env.action_space()
    numbering, rng = EntityNumbering(env.obs_space(), action_space), np.random.default_rng(0)
    most_entities, most_actors = dict.fromkeys(env.obs_space().entities, 0), dict.fromkeys(action_space, 0)
    seen = numbering.seen(env.reset())
    for _ in range(STEPS):
        for name, rows in seen.features.items():
            most_entities[name] = max(most_entities[name], len(rows))
        for name, offer in seen.offers.items():
            most_actors[name] = max(most_actors[name], len(offer.actors))
        if seen.done or seen.truncated:
            seen = numbering.seen(env.reset())
        else:
            seen = numbering.seen(env.act(actions_for(seen, action_space, random_choices(seen, action_space, rng))))
    env.close()
    return most_entities, most_actors


def random_choices(seen: Seen, action_space: Mapping[str, Any], rng: np.random.Generator) -> dict[str, list[int]]:
    """Of each action, a random legal choice for each actor."""
    chosen = {}
    for name, offer in seen.offers.items():
        number = len(action_space[name]) if offer.actees is None else len(offer.actees)
        legal = np.ones((len(offer.actors), number), bool) if offer.mask is None else offer.mask
        chosen[name] = [int(rng.choice(np.flatnonzero(row))) for row in legal]
    return chosen
