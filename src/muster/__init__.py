"""Muster as a Python library: `import muster`.

    run = muster.train("qmix_fast", "skirmish", map_name="3m", t_max=200_000)
    policy = run.load()
    env = muster.make("skirmish", map_name="3m")

In the checkout the rooms (`envs`, `learners`, ...) stand beside this package, under PyMARL's names; where Muster is
installed they are inside it (`muster.envs`), and take nobody's names. `import muster.envs` works in both.

What is named here is imported when it is first used: `import muster` itself takes milliseconds.
"""

from typing import TYPE_CHECKING, Any

from utils.own_aliases import let_installed_names_be_imported

if TYPE_CHECKING:
    from experiment.callbacks import Callback as Callback
    from experiment.callbacks import Training as Training
    from muster.making import make as make
    from muster.policy import Policy as Policy
    from muster.policy import load as load
    from muster.trained import Curve as Curve
    from muster.trained import Run as Run
    from muster.training import train as train
    from utils.errors import ConfigError as ConfigError
    from utils.errors import MusterError as MusterError

__version__ = "0.1.0"
__all__ = ["Callback", "ConfigError", "Curve", "MusterError", "Policy", "Run", "Training", "load", "make", "train"]

let_installed_names_be_imported()


def __getattr__(name: str) -> Any:
    if name in ("Callback", "Training"):
        from experiment import callbacks

        return getattr(callbacks, name)
    if name in ("ConfigError", "MusterError"):
        from utils import errors

        return getattr(errors, name)
    if name in ("Curve", "Run"):
        from muster import trained

        return getattr(trained, name)
    if name in ("Policy", "load"):
        from muster import policy

        return getattr(policy, name)
    if name == "make":
        from muster.making import make

        return make
    if name == "train":
        from muster.training import train

        return train
    raise AttributeError(f"module 'muster' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
