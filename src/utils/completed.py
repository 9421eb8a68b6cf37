"""Parts written for PyMARL, or by users, with the attributes that they lack."""

from typing import Any, Self


class Completed:
    """A part; where it lacks an attribute that the subclass has, that of the subclass. What is set, the part gets."""

    _part: Any = None

    @classmethod
    def of(cls, part: Any) -> Self:
        completed = cls.__new__(cls)
        object.__setattr__(completed, "_part", part)
        return completed

    def __getattribute__(self, name: str) -> Any:
        part = object.__getattribute__(self, "_part")
        if name != "_part" and not name.startswith("__") and hasattr(part, name):
            return getattr(part, name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._part, name, value)
