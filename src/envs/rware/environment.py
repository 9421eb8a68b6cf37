"""The warehouse as an environment: many copies, and one."""

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.rware.options import IDS, Options


class RwareBatch(TeamBatch):
    """B copies; the arguments are those of `options.Options`, `seed` is a list of B seeds."""

    title, options_class, simulator_class = "Rware", Options, "envs.rware.batch:Warehouses"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in IDS]


class Rware(OneCopy):
    """One copy."""

    batch_class = RwareBatch
