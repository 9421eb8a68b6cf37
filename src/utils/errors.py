"""Errors that a user can act on: each is printed as one message, without a traceback."""

from utils.own_commands import as_typed


class MusterError(Exception):
    """Base of the errors whose message is enough for the user, without a traceback."""

    exit_code = 1
    # restarting what raised it does not help: it would be raised again
    incurable = False

    def __str__(self) -> str:
        return as_typed(super().__str__())


class ConfigError(MusterError):
    """The experiment was described wrongly; nothing has started and nothing was written."""

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message (IPython asks for this)."""
        return [f"{type(self).__name__}: {self}"]
