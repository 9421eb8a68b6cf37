"""Environments of entities as text for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from envs.entities.actions import ActionSpace, GlobalCategoricalActionSpace, SelectEntityActionSpace
from envs.entities.numbering import Offer, Seen
from envs.entities.observation import ObsSpace


def spaces_text(name: str, obs_space: ObsSpace, action_space: Mapping[str, ActionSpace]) -> str:
    """What can be seen and done, a line each."""
    lines = [name]
    if obs_space.global_features:
        lines.append(f"  global features: {', '.join(obs_space.global_features)}")
    lines += [f"  {kind}: {', '.join(entity.features) or 'no features'}" for kind, entity in obs_space.entities.items()]
    for action, space in action_space.items():
        if isinstance(space, SelectEntityActionSpace):
            lines.append(f"  action {action}: select an entity")
        else:
            whose = " (one for all)" if isinstance(space, GlobalCategoricalActionSpace) else ""
            lines.append(f"  action {action}{whose}: {', '.join(space.index_to_label)}")
    return "\n".join(lines)


def seen_text(seen: Seen, obs_space: ObsSpace) -> str:
    """Global features, and a line for each entity: its number, type, features, and id if it has one of its own."""
    lines = []
    if obs_space.global_features:
        lines.append(_features(obs_space.global_features, seen.global_features))
    width = max((len(kind) for kind in seen.roster.types), default=0)
    number = 0
    for kind, rows in seen.features.items():
        for i, row in enumerate(rows):
            identity = seen.roster.ids[number]
            notes = [] if identity == (kind, i) else [f"id {identity}"]
            if kind in seen.visible and not seen.visible[kind][i]:
                notes.append("hidden from the policy")
            note = f"({', '.join(notes)})" if notes else ""
            parts = [f"{number:>4} {kind:<{width}}", _features(obs_space.entities[kind].features, row), note]
            lines.append("  ".join(part for part in parts if part).rstrip())
            number += 1
    return "\n".join(lines)


def choices_of(space: ActionSpace, offer: Offer, seen: Seen) -> dict[int, tuple[str, int]]:
    """What may be typed, a number, with its label and the position among the choices.

    The number is that of a label or, of select-entity, of the entity.
    """
    if offer.actees is None:
        return {i: (label, i) for i, label in enumerate(space.index_to_label)}
    return {int(number): (seen.roster.types[number], i) for i, number in enumerate(offer.actees)}


def question(
    action: str,
    actor: str,
    choices: Mapping[int, tuple[str, int]],
    allowed: Sequence[bool],
    probs: Sequence[float] | None,
) -> str:
    """The action, who takes it, and the allowed choices, with probabilities if there are."""
    shares = [""] * len(allowed) if probs is None else [f" {100 * share:.1f}%" for share in probs]
    listed = [f"{number} {label}{shares[i]}" for number, (label, i) in choices.items() if allowed[i]]
    return f"{action}{f' of {actor}' if actor else ''}: {', '.join(listed)}"


def _features(names: Sequence[str], values: Any) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in zip(names, values, strict=True))
