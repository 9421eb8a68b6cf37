"""Names of enn-trainer, rogue-net and hyperstate in users' files: importing them works, using them is answered.

Files often have an environment and its training script in one. The environment is of use here; the script says, when
it is run, how the same is trained.
"""

from typing import Any, NoReturn

from utils.errors import MusterError

PACKAGES = ("enn_trainer", "hyperstate", "rogue_net")


class NoCounterpartError(MusterError, ImportError):
    """A name of entity-gym's packages is used that nothing stands for here."""

    exit_code = 2


class Answered:
    """A name of theirs, such as `enn_trainer.train`.

    Raises:
        NoCounterpartError: it is called, or made a base class.
    """

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise NoCounterpartError(
            f"{self._name} has no counterpart with this name. Muster trains an environment of entities with: python "
            "src/main.py --config=enn_ppo --env-config=entities with env_args.environment=FILE.py:CLASS. It reads "
            "enn-trainer's configs (--config=FILE.ron) and checkpoints (checkpoint_path): docs/entity_gym.md"
        )

    __mro_entries__ = __call__

    def __getattr__(self, name: str) -> "Answered":
        if name.startswith("__"):
            raise AttributeError(name)
        return Answered(f"{self._name}.{name}")


def name_of(module: str, name: str) -> Any:
    """What a file gets that imports `name` from `module`, one of `PACKAGES` or below it."""
    if name.startswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    answered = Answered(f"{module}.{name}")
    # a decorator of training scripts: the function answers when it is called
    return (lambda *_, **__: lambda _: answered) if name in ("command", "stateful_command") else answered
