"""What agents see, split by entity, and outputs for these entities, by what the environment declares (`meaning()`)."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch as th

from modules.group_columns import GroupColumns, Place, rows_there
from utils.errors import ConfigError
from utils.meanings import OF_ITSELF, Group, Meaning, require_one_target, seen_by_all


def required_meaning(reader: str, args: Any) -> Meaning:
    """What the environment of a network declares. Raises ConfigError: nothing."""
    if args.meaning is None:
        raise ConfigError(
            f"{reader}: the environment does not say what its observations and actions mean: it has no meaning() "
            "(docs/fields.md)."
        )
    return args.meaning


class SeenEntities(GroupColumns):
    """Splits inputs into numbers of the agent itself and rows of entities by kind, and puts outputs in their order.

    The agent's own are groups of the kinds "own" and "surroundings" in the order of the declaration, then last actions
    and agent ids. It has no weights.

    Args:
        reader: who sees them, for messages: "agent=hpn_rnn".
        input_shape: of each part of the inputs, by name (`Agent.takes_parts`).
        args: `meaning`, `n_agents`, `n_actions`.
        own_first: groups of the kind "own" come before those of the kind "surroundings".
        masked: whether the agent looks only at who is `there`.

    Attributes:
        own: how many numbers are the agent's own.
        features, rows: of each kind of entity, how many features one has, and how many there are.
        targeted: the kinds that actions have as their targets.
        fixed: how many outputs have no entity as their target: actions, and what else a controller asks for.

    Raises:
        ConfigError: the environment declares nothing; agents see different groups; groups leave out numbers, or name
            some that are not there; rows of one kind have different features; healers have targets of their own.
    """

    _places: th.Tensor | None

    def __init__(
        self,
        reader: str,
        input_shape: Mapping[str, tuple[int, ...]],
        args: Any,
        own_first: bool = False,
        masked: bool = False,
    ):
        super().__init__()
        meaning = required_meaning(reader, args)
        groups = seen_by_all(reader, meaning, args.n_agents)
        _check_columns(reader, groups, {key: prod(shape) for key, shape in input_shape.items() if key != "others"})
        require_one_target(reader, meaning)
        if masked and vars(args).get("normalise_observations"):
            raise ConfigError(f"{reader}: set normalise_observations=False; it sees by a feature who is there.")
        of_itself = [group for group in groups if group.kind in OF_ITSELF]
        if own_first:
            of_itself.sort(key=lambda group: OF_ITSELF.index(group.kind))
        self._of_itself = [self.place(group) for group in of_itself]
        self._of_kinds: dict[str, list[Place]] = {}
        self._known: dict[str, list[Group]] = {}
        self.features: dict[str, int] = {}
        self.rows: dict[str, int] = {}
        for group in groups:
            if group.kind in OF_ITSELF:
                continue
            width = len(group.features)
            if self.features.setdefault(group.kind, width) != width:
                raise ConfigError(f"{reader}: groups of the kind '{group.kind}' have different features.")
            self._of_kinds.setdefault(group.kind, []).append(self.place(group))
            self._known.setdefault(group.kind, []).append(group)
            self.rows[group.kind] = self.rows.get(group.kind, 0) + group.rows
        self.own = sum(prod(place.shape) for place in self._of_itself) + sum(input_shape.get("others", (0,)))
        self._order(meaning, args.n_actions)

    def split(
        self, observations: Mapping[str, th.Tensor], others: th.Tensor | None = None
    ) -> tuple[th.Tensor, dict[str, th.Tensor]]:
        """Of P agents, their own numbers `[P, own]`, and of each kind the entities `[rows, P, features]`.

        Args:
            observations: of each field `[P, *shape]`.
            others: last actions and agent ids, `[P, E]`, if they are among the inputs.
        """
        flat = {field: x.flatten(1) for field, x in observations.items()}
        parts = [self.numbers(flat, at) for at in self._of_itself]
        own = th.cat([*parts, *([] if others is None else [others])], 1) if self.own else None
        if own is None:
            own = next(iter(flat.values()))[:, :0]
        return own, {kind: self.rows_of(flat, places) for kind, places in self._of_kinds.items()}

    def there(self, own: th.Tensor, entities: Mapping[str, th.Tensor]) -> th.Tensor:
        """Of what `split` returns, which are seen: the agent itself, and entities, one kind after another.

        Returns:
            bool `[P, 1 + entities]`.
        """
        itself = own.new_ones(1, len(own), dtype=th.bool)
        return th.cat([itself, *(rows_there(self._of_kinds[kind], x) for kind, x in entities.items())]).T

    def in_state(self, meaning: Meaning, n_agents: int) -> list[list[int]]:
        """Of each agent, its own number among the state's entities, and those of the entities that it sees.

        Raises:
            ConfigError: of some it is not known which of the state's they are.
        """
        found = []
        for i in range(n_agents):
            numbers = [i]
            for group in (group for groups in self._known.values() for group in groups):
                known = meaning.in_state(group, i)
                if known is None:
                    raise ConfigError(
                        f"The environment does not say which entities of the state agents see as '{group.kind}' "
                        "(meaning(), docs/fields.md)."
                    )
                numbers += known
            found.append(numbers)
        return found

    def outputs(self, fixed: th.Tensor, targets: Sequence[th.Tensor]) -> th.Tensor:
        """Outputs `[P, A]` in the order of the actions.

        Args:
            fixed: `[P, fixed]`.
            targets: of each kind in `targeted`, a value for each of its entities, `[P, rows]`.
        """
        values = th.cat([fixed, *targets], 1)
        return values if self._places is None else values.index_select(1, self._places)

    def _order(self, meaning: Meaning, n_outputs: int) -> None:
        targets = [action.target for action in meaning.actions]
        targets += [None] * (n_outputs - len(targets))
        targets = [target if target and target[0] in self.rows else None for target in targets]
        self.targeted = [kind for kind in self.rows if any(target and target[0] == kind for target in targets)]
        self.fixed = targets.count(None)
        first, starts = self.fixed, {}
        for kind in self.targeted:
            starts[kind] = first
            first += self.rows[kind]
        untargeted = iter(range(self.fixed))
        places = [starts[target[0]] + target[1] if target else next(untargeted) for target in targets]
        as_they_are = places == list(range(first))
        self.register_buffer("_places", None if as_they_are else th.tensor(places), persistent=False)


def named(part: str, kind: str) -> str:
    """The name of a part of a network for a kind of entities ("": for none); a module's has no dot."""
    return f"{part}_{kind}".replace(".", "_") if kind else part


def _check_columns(reader: str, groups: Sequence[Group], sizes: Mapping[str, int]) -> None:
    named: dict[str, list[int]] = {field: [] for field in sizes}
    for group in groups:
        named.setdefault(group.field, []).extend(column for row in group.columns for column in row)
    for field, columns in named.items():
        size = sizes.get(field, 0)
        if sorted(columns) != list(range(size)):
            raise ConfigError(
                f"{reader}: meaning() has {len(set(columns))} numbers of '{field}', of which agents see {size}: "
                "each must be in one group."
            )
