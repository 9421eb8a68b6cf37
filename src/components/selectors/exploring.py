"""The common part of selectors with an exploration rate."""

from components.action_selectors import REGISTRY
from components.epsilon_schedules import DecayThenFlatSchedule
from utils.config import with_defaults
from utils.schedules import Schedule


class Exploring:
    """A selector whose exploration rate `epsilon` follows the step count."""

    def __init__(self, args):
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        if args.epsilon is None:
            self.schedule = DecayThenFlatSchedule(
                args.epsilon_start, args.epsilon_finish, args.epsilon_anneal_time, decay=args.epsilon_decay
            )
        else:
            self.schedule = Schedule.of(args.epsilon)
        self.epsilon = self.schedule.eval(0)

    def anneal(self, t_env: int) -> None:
        """Set `epsilon` for step `t_env`; a MAC whose forward pass reads it calls this first."""
        self.epsilon = self.schedule.eval(t_env)
