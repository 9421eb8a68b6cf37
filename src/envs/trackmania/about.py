"""What the arguments of TrackMania mean; racing's are the rest, and its figures are racing's, too."""

from envs.contract.about import About
from envs.racing.about import FIGURES, FRAMES, RULES

ARGUMENTS = {
    "map_cycle": "maps: [{map: A01-Race.Challenge.Gbx, line: a01.npy, name: A01, repeat: 4}]; name and repeat may be "
    "left out",
    "test_map_cycle": "maps of tests; empty: those of training",
    "port": "TMInterface's custom_port of the first game; each further one has the next",
    "launch": "the command that starts a game, with {port} in it; empty: you have started the games",
    "launch_timeout": "seconds until a game accepts a connection and shows its menu",
    "game_timeout": "seconds of silence after which a game counts as crashed",
    "turn_timeout": "seconds that a game waits for the run during a race; between races it waits a week",
    "max_restarts": "crashes in a row before the run stops; the race of a crash is in no statistic",
    "user": "the name of the game's online account; empty: you have logged in",
    "documents": "the game's folder Documents/TrackMania, to hide personal bests, which pictures would show",
    "speed": "of races, times the game's own",
    "countdown_speed": "of the countdown before a race, times the game's own",
    **FRAMES,
    **RULES,
}
ABOUT = About(ARGUMENTS, FIGURES)
