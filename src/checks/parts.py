"""The parts that a config chooses, and what they declare of themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

from checks.registries import AUTO, LOOKED_UP_BY, OPTIONAL, REGISTRIES
from runners.sources import source_of
from utils.config.registry import Entry, loaded


class ChosenParts:
    """The chosen part of each kind (`checks.registries.REGISTRIES`): its name, its entry and what that declares.

    Args:
        config: merged; it stays as it is while this is in use.
    """

    def __init__(self, config: Mapping[str, Any]):
        self.config = config
        self._entries: dict[str, Entry | None] = {}

    def name(self, kind: str) -> Any:
        """What the config says; of a buffer and a source of environments, with `auto` resolved."""
        name = self.config.get(kind)
        if name != AUTO or kind not in ("buffer", "vector_env"):
            return name
        if kind == "vector_env":
            return source_of(self.config, self.traits("runner").get("lives", ""))
        return self.traits("learner").get("buffers", ("episodes",))[0]

    def entry(self, kind: str) -> Entry | None:
        """The declaration of the part; None if no part of that name is registered."""
        if kind not in self._entries:
            name, registry = self.name(kind), REGISTRIES[kind]
            self._entries[kind] = registry.entry(name) if isinstance(name, str) and name in registry else None
        return self._entries[kind]

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """The kinds whose part is registered, with its entry."""
        for kind in REGISTRIES:
            if (entry := self.entry(kind)) is not None:
                yield kind, entry

    def traits(self, kind: str) -> Mapping[str, Any]:
        """Those that the part declares."""
        if kind == "mixer" and self.name(kind) is None:
            return {"mixes": "nothing"}
        entry = self.entry(kind)
        return {} if entry is None else entry.traits

    def critic_memory(self) -> list[tuple[str, str]]:
        """What gives the critic a memory, as a config has it, and the remedy in words; of a critic without one, []."""
        if self.traits("critic").get("memory"):
            return [(f"critic={self.name('critic')}", "Use another critic, such as own.")]
        return [("critic_rnn=True", "Use critic_rnn=False.")] if self.config.get("critic_rnn") else []

    def of_all_rollouts(self) -> list[tuple[str, str]]:
        """The same of all that carries something from each rollout to the next."""
        scaled = [("normalise_rewards=True", "Use normalise_rewards=False.")]
        return (scaled if self.config.get("normalise_rewards") else []) + self.critic_memory()

    def reads(self, kind: str) -> tuple[str, ...] | None:
        """The keys that the part declares to read; None if nothing is known of it."""
        if kind in OPTIONAL and self.config.get(kind) is None:
            return ()
        entry = self.entry(kind)
        return None if entry is None else entry.reads

    def read_keys(self) -> set[str]:
        """All keys that the parts declare to read, those that only they have included."""
        return {key for kind in REGISTRIES for key in self.reads(kind) or ()}

    def inert_keys(self) -> set[str]:
        """Keys that a part takes from PyMARL's files although nothing reads them, there or here."""
        return {key for _, entry in self for key in entry.traits.get("inert", ())}

    def is_used(self, kind: str) -> bool:
        """Whether another part is known to use the part of this kind, or the run itself does."""
        return kind not in LOOKED_UP_BY or kind in (self.reads(LOOKED_UP_BY[kind]) or ())

    def is_looked_up(self, kind: str) -> bool:
        """Whether the name must be in its registry.

        It need not if the part that uses it is not built in: that part may find it elsewhere, or not use it at all.
        """
        return kind not in LOOKED_UP_BY or self.reads(LOOKED_UP_BY[kind]) is not None

    @property
    def has_foreign(self) -> bool:
        """Whether a part has unknown keys: it may read others than the documented ones."""
        # an environment reads env_args, which its constructor declares
        return any(not entry.declared or (kind != "env" and entry.reads is None) for kind, entry in self)


def check_options_of_parts(parts: ChosenParts) -> None:
    """Refuse settings by the checks that the parts declare: the trait `check`, "module:function" of the config.

    Raises:
        ConfigError: a part refuses them.
    """
    for _, entry in parts:
        if (check := loaded(entry.traits.get("check"))) is not None:
            check(parts.config)
