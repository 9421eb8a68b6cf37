"""The transforms that a config lists, checked before anything is built."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.sampling import REGISTRY
from utils.config.registry import Entry
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

# the keys of a config that list transforms
LISTS = ("store_transforms", "sample_transforms")
# how each form is made of which
WORDS = {
    "drawn": "steps that were drawn and not read yet",
    "columns": "sequences of several steps",
    "steps": "single steps",
    "parts": "parts",
}


@dataclass(frozen=True)
class Listed:
    """A transform of a list: its name, its entry in the registry, and all of its options."""

    name: str
    entry: Entry
    options: Mapping[str, Any]


def listed_transforms(key: str, listed: Any, form: str, last: Sequence[str]) -> list[Listed]:
    """The transforms of `config[key]`: names, or mappings of a name to its options, `{n_step: {steps: 3}}`.

    Args:
        form: of the batches that the first one gets.
        last: the forms that may come out in the end.

    Raises:
        ConfigError: an unknown transform or option, one that does not take the form that the one before gives, or
            n_step behind fewer steps than it adds up.
    """
    if not isinstance(listed, list | tuple):
        raise ConfigError(f"{key}={quoted(listed)}: expected a list of transforms, as in [next_states, check_nan].")
    transforms: list[Listed] = []
    before, following = "", None
    for entry in listed:
        transform = _listed(key, entry)
        form, before = _form_after(key, transform, form, before), transform.name
        following = _following(key, transform, following)
        for earlier in transforms:
            if earlier.name in transform.entry.traits.get("undoes", ()):
                remedy = "once is enough" if earlier.name == transform.name else "put it before"
                stands = f"'{transform.name}' stands after '{earlier.name}'"
                raise ConfigError(f"{key}: {stands}, whose rewards it would replace; {remedy}.")
        transforms.append(transform)
    if form not in last:
        missing = "next_states or window" if form == "drawn" else "another transform"
        hint = f"End with {missing}." if form == "drawn" else f"Leave {before} out."
        raise ConfigError(f"{key} ends with {WORDS.get(form, form)}, and must end with {_forms(last)}. {hint}")
    return transforms


def listed_names(listed: Sequence[Any]) -> list[str]:
    """The names of transforms, as a checked config lists them."""
    return [next(iter(entry)) if isinstance(entry, Mapping) else entry for entry in listed]


def listed_options(listed: Sequence[Any], name: str) -> dict[str, Any] | None:
    """All options of the first transform of this name, as a checked config lists them; None: there is none."""
    for entry in listed:
        if name in (entry if isinstance(entry, Mapping) else (entry,)):
            return dict(_listed("", entry).options)
    return None


def _listed(key: str, entry: Any) -> Listed:
    name, options = entry, None
    if isinstance(entry, Mapping):
        if len(entry) != 1:
            raise ConfigError(
                f"{key}: {quoted(entry)} is not one transform with its options, as in {{n_step: {{steps: 3}}}}."
            )
        ((name, options),) = entry.items()
    if not isinstance(name, str) or name not in REGISTRY:
        raise ConfigError(f"{key}: there is no transform '{quoted(name)}'.{suggestion(name, REGISTRY)}")
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise ConfigError(f"{key}.{name}={quoted(options)}: expected a mapping of its options.")
    declared = REGISTRY.entry(name)
    if declared.traits.get("of_learners") and key in LISTS:
        raise ConfigError(f"{key}: only learners call '{name}', which needs the memory of their policies.")
    if declared.options is None:
        _require_parameters(key, name, options)
        return Listed(name, declared, dict(options))
    for option in options:
        if option not in declared.options:
            raise ConfigError(f"{key}.{name} has no option '{quoted(option)}'.{suggestion(option, declared.options)}")
    given = {option: declared.options[option].checked(f"{key}.{name}.{option}", x) for option, x in options.items()}
    return Listed(name, declared, {option: info.default for option, info in declared.options.items()} | given)


def _require_parameters(key: str, name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a user's function, or the constructor of a class in its place, does not take."""
    transform = REGISTRY[name]
    if inspect.isclass(transform):
        given, called = [], "class is built with (its options)"
    else:
        given, called = [None, None], "function is called with (batch, context, its options)"
    signature = inspect.signature(transform)
    known = list(signature.parameters)[len(given) :]
    try:
        signature.bind(*given, **options)
    except TypeError as error:
        hint = "".join(suggestion(option, known) for option in options if option not in known)
        raise ConfigError(f"{key}.{name}: the {called}: {error}.{hint}") from None


def _form_after(key: str, transform: Listed, form: str, before: str) -> str:
    traits = transform.entry.traits
    takes = traits.get("takes")
    if takes is not None and form not in takes:
        comes = f"'{before}', which gives" if before else "the buffer's"
        after = f"after {comes} {WORDS.get(form, form)}" if before else f"first, on {comes} {WORDS.get(form, form)}"
        makers = [name for name in REGISTRY if REGISTRY.entry(name).traits.get("gives") in takes]
        hint = f" These make such: {', '.join(makers)}." if makers and form == "drawn" else ""
        hint = hint or " Put it before the transform that changes them." * (before != "")
        raise ConfigError(f"{key}: '{transform.name}' stands {after}; it takes {_forms(takes)}.{hint}")
    return traits.get("gives") or form


def _following(key: str, transform: Listed, before: int | None) -> int | None:
    """How many steps a transform leaves after the first of each row, where `before` were; None: not known."""
    traits, steps = transform.entry.traits, transform.options.get("steps")
    if traits.get("adds_up") and before is not None and steps is not None and steps > before:
        raise ConfigError(
            f"{key}: {transform.name}.steps={steps} adds up {steps} rewards, but the transforms before it leave "
            f"{before}. Put window: {{steps: {steps}}} before it."
        )
    leaves = traits.get("leaves")
    return before if leaves is None else leaves(before, **transform.options)


def _forms(forms: Sequence[str]) -> str:
    return " or ".join(WORDS[form] for form in forms)
