"""Registries: PyMARL's dict, with lazy entries and errors that help."""

import collections
import copy

import pytest

from checks.plugins import import_plugins
from utils.config.options import SHARED, Option
from utils.config.registry import Registry, lazy_classes
from utils.errors import ConfigError


def test_plain_assignment_as_in_pymarl():
    registry = Registry("thing")

    class Thing:
        """What it is.

        And more.
        """

    registry["a"] = Thing
    assert registry["a"] is Thing
    assert registry.entry("a").description == "What it is."
    assert not registry.entry("a").declared
    assert list(registry) == ["a"]
    assert "a" in registry
    del registry["a"]
    assert len(registry) == 0


def test_what_a_dict_does_a_registry_does():
    """Those of the methods that forks call on PyMARL's dicts; none imports a part that it is not asked for."""

    def registry():
        made = Registry("thing")
        made.declare("broken", "no_such_module:X", "never imported")
        made.declare("counter", "collections:Counter", "counts", kind="dict")
        return made

    things = registry()
    assert things.get("new") is None and things.get("new", 3) == 3 and "new" not in things
    assert things.setdefault("new", dict) is dict and things.setdefault("new", list) is dict
    assert things["new"] is dict and list(reversed(things)) == ["new", "counter", "broken"]
    assert things.pop("new") is dict and things.pop("new", None) is None
    assert things.setdefault("counter", dict) is collections.Counter
    with pytest.raises(KeyError, match="Unknown thing 'new'"):
        things.pop("new")
    with pytest.raises(KeyError) as caught:
        del things["new"]
    assert not isinstance(caught.value, ConfigError)

    other = Registry("thing") | {"a": dict}
    other |= things
    other.update(b=list)
    assert list(other) == ["a", "broken", "counter", "b"] and other.entry("counter").traits == {"kind": "dict"}
    assert other["a"] is dict and list(things) == ["broken", "counter"]
    twin = copy.copy(other)
    assert twin.popitem() == ("b", list) and twin.popitem() == ("counter", collections.Counter)
    assert len(other) == 4 and len(twin) == 2 and len(other.copy()) == 4
    twin.clear()
    assert not twin
    with pytest.raises(KeyError, match="There is no thing"):
        twin.popitem()
    with pytest.raises(ConfigError) as caught:
        things["countr"]
    assert str(caught.value).startswith("Unknown thing 'countr'. Did you mean 'counter'?")


def test_a_class_has_the_defaults_that_it_or_an_ancestor_is_declared_with():
    class Base:
        pass

    class Derived(Base):
        pass

    registry = Registry("thing")
    registry.declare("derived", Derived, "", {"a": Option(2, ""), "shared": Option(SHARED, "")})
    registry.declare("base", Base, "", {"a": Option(1, ""), "b": Option(3, "")})
    registry.declare("lazy", f"{__name__}:Registry", "", {"c": Option(4, "")})
    assert registry.defaults_of(Base) == {"a": 1, "b": 3}
    assert registry.defaults_of(Derived) == {"a": 2, "b": 3}
    assert registry.defaults_of(type("Users", (Derived,), {})) == {"a": 2, "b": 3}
    assert registry.defaults_of(Registry) == {}
    assert registry.entry("derived").reads == ("a", "shared")


def test_lazy_entries_are_imported_when_asked_for():
    registry = Registry("thing")
    registry.declare("counter", "collections:Counter", "counts", kind="dict")
    registry.declare("broken", "no_such_module:X", "never imported")
    assert registry["counter"] is collections.Counter
    assert registry.entry("counter").traits == {"kind": "dict"}
    assert registry.entry("broken").description == "never imported"
    with pytest.raises(ModuleNotFoundError):
        registry["broken"]
    find = lazy_classes("here", registry)
    assert find("Counter") is collections.Counter
    with pytest.raises(AttributeError, match="'here' has no attribute 'Conter'"):
        find("Conter")


@pytest.mark.parametrize("name", ["countr", None, ["counter"]])
def test_unknown_names(name):
    registry = Registry("thing")
    registry.declare("counter", "collections:Counter", "counts")
    with pytest.raises(ConfigError, match=r"Unknown thing .*Allowed: counter"):
        registry[name]


def test_the_nearest_name_is_suggested():
    registry = Registry("thing")
    for name in ("qmix", "vdn", "qtran_base"):
        registry.declare(name, "x:y", "")
    with pytest.raises(
        ConfigError, match=r"Unknown thing 'qmx'. Did you mean 'qmix'\? Allowed: qmix, qtran_base, vdn\."
    ):
        registry["qmx"]


def test_pymarls_plain_dict_becomes_a_registry():
    registry = Registry.of("thing", {"a": int})
    assert registry["a"] is int
    assert not registry.entry("a").declared
    assert Registry.of("thing", registry) is registry


def test_an_unknown_name_tells_which_plugins_were_loaded(monkeypatch, tmp_path):
    """Seldom the registry is wrong: more often the file that fills it was not named."""
    monkeypatch.setattr("utils.config.registry._plugins", {})
    registry = Registry("thing")
    with pytest.raises(ConfigError, match=r"Unknown thing 'x'\..* No plugins were loaded\.$"):
        registry["x"]
    for name in ("one.py", "two.py", "one.py"):
        (tmp_path / name).write_text("")
        import_plugins([str(tmp_path / name)])
    with pytest.raises(ConfigError, match=rf"Plugins that were loaded: {tmp_path}/one\.py, {tmp_path}/two\.py\.$"):
        registry["x"]


def test_what_a_lazy_entry_lacks_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "lacking_part.py").write_text("import no_such_thing.inside\n")
    registry = Registry("mixer")
    registry.declare("mine", "lacking_part:Mine", "needs what is not there")
    words = r"The mixer 'mine' \(lacking_part:Mine\) .* no module 'no_such_thing'. .*: pip install no_such_thing$"
    with pytest.raises(ConfigError, match=words):
        registry["mine"]
