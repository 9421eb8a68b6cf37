"""Registries: how a name in a config becomes a class."""

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from utils.config.epymarl_keys import instead_of
from utils.config.options import SHARED, Option
from utils.config.traits import traits_of
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.old_tensorboard_logger import let_tensorboard_logger_be_imported
from utils.own_commands import as_typed
from utils.own_modules import checkout_name, own_name
from utils.plain_values import quoted

_plugins: dict[str, None] = {}
# of them in a message, the newest
MOST_SHOWN = 3


def note_plugin(name: str) -> None:
    """Keep the name of a plugin that was imported, for messages about unknown names."""
    _plugins[name] = None


def loaded_plugins() -> str:
    """A sentence on the plugins that were imported."""
    names = [quoted(plugin, 200) for plugin in _plugins]
    if len(names) > MOST_SHOWN:
        names = [f"{len(names) - MOST_SHOWN} more", *names[-MOST_SHOWN:]]
    return f"Plugins that were loaded: {', '.join(names)}." if names else "No plugins were loaded."


@dataclass(frozen=True)
class Entry:
    """The entry of one name in a registry.

    `target` is the class or factory, or a `"module:attribute"` string that is imported on first use.
    `options` are the config keys that it reads and that not every part of its kind reads. `traits` declare the part's
    needs and abilities (`checks/` reads them); `traits["reads"]` are keys it reads that other kinds of parts declare.
    `declared` is False for an entry added by plain assignment, PyMARL's way: nothing is known of it, so nothing about
    it is refused.
    """

    target: Any
    description: str = ""
    traits: Mapping[str, Any] = field(default_factory=dict)
    declared: bool = True
    options: Mapping[str, Option] | None = None

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The keys that it reads and that not every part of a run reads; None if that is not known."""
        others = self.traits.get("reads")
        if self.options is None and others is None:
            return None
        return (*(self.options or ()), *(others or ()))

    @property
    def defaults(self) -> dict[str, Any]:
        """Of those options that config/default.yaml does not have."""
        return {key: option.default for key, option in (self.options or {}).items() if option.default is not SHARED}


class MissingModuleError(ConfigError, ModuleNotFoundError):
    """A part's module, or one that it imports, is not installed."""


class UnknownPartError(ConfigError, KeyError):
    """No part has this name. A KeyError, too: `get`, `pop` and `setdefault` do with it what a dict's do."""

    def __str__(self) -> str:
        return as_typed(Exception.__str__(self))


class Registry(MutableMapping):
    """A dict of name -> class or factory that imports lazily and explains an unknown name.

    `REGISTRY["x"] = X` works as in PyMARL; built-in parts use `declare`. `options` are the keys that every part of this
    kind reads.
    """

    def __init__(self, kind: str, options: Mapping[str, Option] | None = None):
        self.kind = kind
        self.options = dict(options or {})
        self._entries: dict[str, Entry] = {}

    def declare(
        self,
        name: str,
        target: str | Callable,
        description: str,
        options: Mapping[str, Option] | None = None,
        **traits: Any,
    ) -> None:
        """Register `target` under `name` with a one-line description, the options that it reads and its traits.

        Raises:
            ConfigError: parts of this kind have no such trait (`utils.config.traits`).
        """
        known = traits_of(self.kind)
        for trait in traits if known else ():
            if trait not in known:
                where = f"The {self.kind} '{quoted(name)}' declares the trait '{quoted(trait)}'"
                raise ConfigError(f"{where}, which there is not.{suggestion(trait, known)}")
        self._entries[name] = Entry(target, description, traits, options=options)

    @classmethod
    def of(cls, kind: str, mapping: Mapping[str, Any]) -> "Registry":
        """`mapping` itself if it is a registry; PyMARL's plain dict becomes one, of parts of which nothing is known."""
        if isinstance(mapping, cls):
            return mapping
        registry = cls(kind)
        registry.update(mapping)
        return registry

    def entry(self, name: str) -> Entry:
        """Return the declaration of `name` without importing it.

        Raises:
            UnknownPartError: the message has the nearest name, all names, and the plugins that were loaded.
        """
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            hint = instead_of(name) or suggestion(name, self._entries)
            raise UnknownPartError(f"Unknown {self.kind} '{quoted(name)}'.{hint} {loaded_plugins()}") from None

    def defaults_of(self, part: Any) -> dict[str, Any]:
        """The defaults that a class (or a factory) or an ancestor of it is declared with."""
        found: dict[str, Any] = {}
        for ancestor in reversed(getattr(part, "__mro__", (part,))):
            targets = (ancestor, f"{checkout_name(ancestor.__module__)}:{ancestor.__qualname__}")
            for entry in self._entries.values():
                if entry.target in targets:
                    found |= entry.defaults
        return found

    def __getitem__(self, name: str) -> Any:
        target = self.entry(name).target
        try:
            return loaded(target)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            raise MissingModuleError(
                f"The {self.kind} '{name}' ({target}) cannot be imported: there is no module '{error.name}'. If it is "
                f"a package, install it with: pip install {package}"
            ) from error

    def __setitem__(self, name: str, target: Any) -> None:
        text = (getattr(target, "__doc__", None) or "").strip()
        self._entries[name] = Entry(target, text.split("\n")[0], declared=False)

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def update(self, other: Any = (), /, **parts: Any) -> None:
        """As a dict's; the parts of another registry keep their declarations, and nothing is imported."""
        if isinstance(other, Registry):
            self._entries.update(other._entries)
            other = ()
        super().update(other, **parts)

    def __ior__(self, other: Any) -> "Registry":
        self.update(other)
        return self

    def __or__(self, other: Any) -> "Registry":
        if not isinstance(other, Mapping):
            return NotImplemented
        both = self.copy()
        both.update(other)
        return both

    def copy(self) -> "Registry":
        """Another registry with the same parts."""
        registry = type(self)(self.kind, self.options)
        registry._entries.update(self._entries)
        return registry

    __copy__ = copy

    def popitem(self) -> tuple[str, Any]:
        """Remove the newest part and return its name and class, as a dict does. Raises KeyError: there is no part."""
        if not self._entries:
            raise KeyError(f"There is no {self.kind}.")
        name = next(reversed(self._entries))
        return name, self.pop(name)

    def clear(self) -> None:
        self._entries.clear()

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._entries)})"


def loaded(target: Any) -> Any:
    """A target of an entry or a trait: a "module:attribute" string is imported, anything else is what it means.

    Modules of ours have their names in the checkout.
    """
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    let_tensorboard_logger_be_imported()  # by files that were put into their folders
    return getattr(importlib.import_module(own_name(module)), attribute)


def lazy_classes(module_name: str, registry: Registry, **others: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that finds registered classes by their own name, and the targets of `others`.

    `from modules.agents import RNNAgent` then works as in PyMARL, and still imports torch only when asked.
    """

    def __getattr__(name: str) -> Any:
        if name in others:
            return loaded(others[name])
        for key in registry:
            target = registry.entry(key).target
            if isinstance(target, str) and target.endswith(f":{name}"):
                return loaded(target)
        raise AttributeError(f"module '{module_name}' has no attribute '{name}'")

    return __getattr__
