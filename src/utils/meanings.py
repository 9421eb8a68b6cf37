"""What observations, states and actions mean: which numbers are of which entity, and which action has which target.

An environment declares it once (`meaning()`); networks get it as `args.meaning` and need no copies of these facts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from utils.errors import ConfigError
from utils.nearest import suggestion

# the kinds of rows that most environments have
OWN, ALLY, ENEMY, SURROUNDINGS = "own", "ally", "enemy", "surroundings"
# of the agent itself; rows of all other kinds are entities
OF_ITSELF = (OWN, SURROUNDINGS)
# of the state: row i is agent number i, or what it did last
AGENT, LAST_ACTIONS = "agent", "last_actions"
# of which agent of the state an agent's own numbers are
ITSELF = "itself"
# of the state; rows of all other kinds are entities
OF_NO_ENTITY = (LAST_ACTIONS, SURROUNDINGS)


@dataclass(frozen=True)
class Group:
    """Entities of one kind in what an agent sees, or in the state.

    Attributes:
        kind: "own", "ally", "enemy", "food" ...
        field: of the observation, "obs", or "state".
        features: their names.
        columns: of each entity, where its features are in the field's entry, in C order; [rows][features].
        agents: who sees it so; (): all.
        there: the feature that is above 0 where a row has an entity that is there: seen, alive; "": all are, or no
            feature tells.
        of: the kind of the state's entities that rows are, one after another, without the agent that sees; "itself":
            all are that agent; "": which ones is not known.
    """

    kind: str
    field: str
    features: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    agents: tuple[int, ...] = ()
    there: str = ""
    of: str = ""

    @property
    def rows(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Action:
    """One choice. `target`: kind and row of the entity that it is for, or None.

    `of_healers`: the target that it has for agents that heal instead, if that is another one; of the kind "agent", row
    i is agent number i.
    """

    name: str
    target: tuple[str, int] | None = None
    of_healers: tuple[str, int] | None = None


@dataclass(frozen=True)
class Meaning:
    """What agents see and can do.

    Attributes:
        actions: of the field "actions", in their order; (): they are not choices.
        state: what the field "state" is made of; row i of the kind "agent" is agent i, and that of the kind
            "last_actions" what it did last. (): which entities it has is not known.
    """

    groups: tuple[Group, ...]
    actions: tuple[Action, ...] = ()
    state: tuple[Group, ...] = ()

    def seen_by(self, agent: int) -> list[Group]:
        """What an agent sees."""
        return [group for group in self.groups if not group.agents or agent in group.agents]

    def group(self, kind: str, agent: int = 0) -> Group:
        """The entities of a kind, as an agent sees them.

        Raises:
            ConfigError: it sees none of that kind.
        """
        seen = {group.kind: group for group in self.seen_by(agent)}
        if kind not in seen:
            raise ConfigError(f"Agents of this environment see no group '{kind}'.{suggestion(kind, seen)}")
        return seen[kind]

    @property
    def entities(self) -> tuple[Group, ...]:
        """Those of the state, agents first."""
        found = [group for group in self.state if group.kind not in OF_NO_ENTITY]
        return tuple(sorted(found, key=lambda group: group.kind != AGENT))

    def in_state(self, group: Group, agent: int) -> list[int] | None:
        """Of each row of a group that an agent sees, its number among `entities`; None: it is not known."""
        if group.of == ITSELF:
            return [agent] * group.rows
        first = 0
        for one in self.entities:
            if one.kind == group.of:
                numbers = list(range(first, first + one.rows))
                if one.kind == AGENT:
                    numbers.remove(first + agent)
                return numbers
            first += one.rows
        return None

    def rows(self, kind: str, agent: int = 0) -> int:
        """How many entities of a kind an agent sees at most."""
        return sum(group.rows for group in self.seen_by(agent) if group.kind == kind)

    @property
    def untargeted(self) -> list[int]:
        """Actions without a target."""
        return [number for number, action in enumerate(self.actions) if action.target is None]

    def action_names(self, n_agents: int) -> list[list[str]] | None:
        """Each agent's names of its actions; None if they are not choices."""
        return [[action.name for action in self.actions] for _ in range(n_agents)] if self.actions else None

    def targeting(self, *kinds: str) -> list[int]:
        """Actions whose target is of one of these kinds, in the order of the kinds and of their rows."""
        found = [
            (kinds.index(action.target[0]), action.target[1], number)
            for number, action in enumerate(self.actions)
            if action.target is not None and action.target[0] in kinds
        ]
        return [number for *_, number in sorted(found)]


class Columns:
    """Writes down what an observation or a state has, from its first number to its last.

    Args:
        field: of the observation, or "state".
        agents: who sees it so; (): all.
    """

    def __init__(self, field: str = "obs", agents: Sequence[int] = ()):
        self.groups: list[Group] = []
        self.size = 0
        self._field, self._agents = field, tuple(agents)

    def add(self, kind: str, features: Iterable[str], rows: int = 1, there: str = "", of: str = "") -> None:
        """The next numbers: `rows` entities with these features each; `there` and `of` as of `Group`."""
        names = tuple(features)
        first, width = self.size, len(names)
        self.size += rows * width
        if rows and width:
            columns = tuple(tuple(range(first + row * width, first + (row + 1) * width)) for row in range(rows))
            self.groups.append(Group(kind, self._field, names, columns, self._agents, there, of))


def choices(names: Iterable[str]) -> tuple[Action, ...]:
    """Actions without targets."""
    return tuple(map(Action, names))


def seen_by_all(reader: str, meaning: Meaning, n_agents: int) -> list[Group]:
    """What each of all agents sees. Raises ConfigError: they see different groups; `reader` needs the same for all."""
    seen = [[replace(group, agents=()) for group in meaning.seen_by(i)] for i in range(n_agents)]
    if any(groups != seen[0] for groups in seen):
        raise ConfigError(f"{reader}: agents of this environment see different groups; it needs the same for all.")
    return seen[0]


def require_one_target(reader: str, meaning: Meaning) -> None:
    """Raises ConfigError: actions have other targets for agents that heal; `reader` would not know which those are."""
    if any(action.of_healers for action in meaning.actions):
        raise ConfigError(
            f"{reader}: actions have other targets for agents that heal, and observations do not tell which those are; "
            "with Skirmish, set env_args.observation=entities."
        )
