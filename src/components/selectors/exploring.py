"""The common part of selectors with an exploration rate."""

from typing import Any

from components.action_selectors import REGISTRY
from components.epsilon_schedules import DecayThenFlatSchedule
from utils.config.merging import with_defaults
from utils.numbers.schedules import Schedule


class Exploring:
    """A selector whose exploration rate `epsilon` follows the step count."""

    def __init__(self, args):
        self.args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.schedule = self._schedule()
        self.epsilon = self.schedule.eval(0)

    def take_live(self, key: str, value: Any) -> None:
        """A key of the config has changed (`experiment.live`)."""
        if key.startswith("epsilon"):
            self.schedule = self._schedule()

    def anneal(self, t_env: int) -> None:
        """Set `epsilon` for step `t_env`; a MAC whose forward pass reads it calls this first."""
        self.epsilon = self.schedule.eval(t_env)

    def _schedule(self) -> Any:
        args = self.args
        if args.epsilon is not None:
            return Schedule.of(args.epsilon)
        return DecayThenFlatSchedule(
            args.epsilon_start, args.epsilon_finish, args.epsilon_anneal_time, decay=args.epsilon_decay
        )
