"""What the arguments of StarCraft II mean: those of the packages, and our own."""

from envs.contract.about import About
from envs.skirmish import about

_OWN = {
    "max_restarts": "crashes of the game in a row before the run stops; the episode of a crash is in no statistic",
    "game_timeout": "seconds without an answer after which a game counts as crashed",
}
_ALIKE = {
    "map_name": "the map",
    "difficulty": "of the built-in enemy: 1 (very easy) to 9 and A (it cheats); 7 is very hard",
    "game_version": "of StarCraft II; null: the newest that is installed",
    "window_size_x": "pixels of the game's window",
    "window_size_y": "pixels of the game's window",
    "debug": "the game's client logs what it does",
}
_SMAC = {**about.SMAC, **_ALIKE, **_OWN}
_SMACV2 = {
    **_SMAC,
    "map_name": "10gen_terran, 10gen_protoss or 10gen_zerg; EPyMARL's protoss_5_vs_5 and the like with sc2v2",
    **about.SMACV2,
    "time_limit": "EPyMARL's: accepted and not used, since each map has its own",
}
_FIGURES = {name: text for name, text in about.FIGURES.items() if "<" not in name}
SMAC, SMACV2 = (About(said, _FIGURES, drawn="the game's own") for said in (_SMAC, _SMACV2))
