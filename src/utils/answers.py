"""What a part of the user's own answers: what it has, and else what a class declares for those that lack it."""

from typing import Any, Self


class Answers:
    """The attributes of a part, and those of the class for what the part lacks."""

    _part: Any = None

    @classmethod
    def of(cls, part: Any) -> Self:
        answers = cls()
        vars(answers)["_part"] = part
        return answers

    def __getattribute__(self, name: str) -> Any:
        part = object.__getattribute__(self, "_part")
        if not name.startswith("_") and hasattr(part, name):
            return getattr(part, name)
        return object.__getattribute__(self, name)
