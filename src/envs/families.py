"""The environments of other packages by family: what installs them, and how they are named."""

import importlib.util
import re
import sys
from typing import NamedTuple

# Muster has compiled these games, too
OF_PACKAGE = "the package's own, with env_args.compiled=False"
JAX = "pip install -r requirements-jax.txt"
INSTALL_ENVS, SC2 = "pip install -r requirements-envs.txt", "bash install_sc2.sh --accept-eula"


class Family(NamedTuple):
    """Games that one command installs.

    Attributes:
        title: for people.
        needs: the modules that have to be there.
        install: the command.
        door: the file of config/envs that plays them.
        key: an example of `env_args.key`, or of another argument.
        ids: a pattern of Gymnasium's ids that importing the first of `needs` registers; "": none.
        remark: what else to know.
    """

    title: str
    needs: tuple[str, ...]
    install: str
    door: str
    key: str
    ids: str = ""
    remark: str = ""

    def installed(self) -> bool:
        return all(is_there(module) for module in self.needs)


def is_there(module: str) -> bool:
    """Whether a module can be imported; it is not."""
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


FAMILIES = (
    Family("MPE", ("mpe2",), INSTALL_ENVS, "mpe", "key=mpe2.simple_spread_v3"),
    Family(
        "level-based foraging",
        ("lbforaging",),
        INSTALL_ENVS,
        "lbf",
        "key=Foraging-8x8-2p-3f-v3",
        "Foraging-.*",
        OF_PACKAGE,
    ),
    Family(
        "RWARE", ("rware",), "pip install rware==2.0.0", "gymma", "key=rware:rware-tiny-2ag-v2", "rware-.*", OF_PACKAGE
    ),
    Family(
        "matrix games",
        ("matrixgames",),
        "pip install git+https://github.com/uoe-agents/matrix-games@c3a8930",
        "gymma",
        "key=matrixgames:penalty-100-nostate-v0",
        "(penalty|climbing|nonconflict|conflict|pdilemma)-.*state-v0",
        OF_PACKAGE,
    ),
    Family("VMAS", ("vmas", "shimmy"), 'pip install "vmas[gymnasium]==1.5.2"', "gymma", "key=vmas-balance"),
    Family(
        "SMAClite",
        ("smaclite",),
        'pip install git+https://github.com/uoe-agents/smaclite@0d6abbe, and then: pip install "rtree>=1.3"',
        "smaclite",
        "map_name=MMM",
        "smaclite/.*",
    ),
    Family(
        "PettingZoo classic",
        ("pettingzoo", "chess", "rlcard", "pyspiel"),
        'pip install "pettingzoo[classic]"',
        "pettingzoo",
        "key=pettingzoo.classic.hanabi_v5",
        remark="turn-based; tic-tac-toe, connect four and Go need no extra",
    ),
    Family("OpenSpiel", ("pyspiel",), "pip install -r requirements-openspiel.txt", "openspiel", "game=kuhn_poker"),
    Family(
        "PettingZoo sisl",
        ("pettingzoo", "Box2D"),
        'pip install "pettingzoo[sisl]"',
        "pettingzoo",
        "key=pettingzoo.sisl.multiwalker_v9",
        remark="pursuit_v5 needs no extra",
    ),
    Family(
        "PettingZoo butterfly",
        ("pettingzoo", "pymunk"),
        'pip install "pettingzoo[butterfly]"',
        "pettingzoo",
        "key=pettingzoo.butterfly.pistonball_v6",
    ),
    Family(
        "PettingZoo atari",
        ("pettingzoo", "multi_agent_ale_py"),
        'pip install "pettingzoo[atari]"',
        "pettingzoo",
        "key=pettingzoo.atari.pong_v3",
        remark="and the games' ROMs, which AutoROM downloads",
    ),
    Family("MAgent2", ("magent2",), "pip install magent2==0.3.4", "pettingzoo", "key=magent2.environments.battle_v4"),
    Family(
        "MOMAland",
        ("momaland",),
        "pip install momaland==0.2.0",
        "pettingzoo",
        "key=momaland.envs.item_gathering.moitem_gathering_v0",
        remark="rewards are vectors: wrap the game so that each agent has one number",
    ),
    Family(
        "multi-agent MuJoCo",
        ("gymnasium_robotics",),
        "pip install gymnasium-robotics==1.4.2",
        "pettingzoo",
        "key=gymnasium_robotics.envs.multiagent_mujoco.mamujoco_v1",
        "(Fetch|Hand|AdroitHand|FrankaKitchen|PointMaze|AntMaze).*",
    ),
    Family(
        "Gymnasium", ("gymnasium",), INSTALL_ENVS, "gymnasium", "key=CartPole-v1", remark="classic control, toy text"
    ),
    Family("MuJoCo", ("mujoco",), 'pip install "gymnasium[mujoco]"', "gymnasium", "key=HalfCheetah-v5"),
    Family("Box2D", ("Box2D",), 'pip install "gymnasium[box2d]"', "gymnasium", "key=CarRacing-v3"),
    Family(
        "Atari",
        ("ale_py",),
        'pip install "gymnasium[atari]"',
        "gymnasium",
        "key=ale_py:ALE/Pong-v5",
        r"ALE/.*|\w+NoFrameskip-v4",
    ),
    Family(
        "MiniGrid",
        ("minigrid",),
        "pip install minigrid==3.2.0",
        "gymnasium",
        "key=minigrid:MiniGrid-Empty-5x5-v0",
        "(MiniGrid|BabyAI)-.*",
        "its mission, a text, is left out without env_args.words; BabyAI's ids need a time_limit",
    ),
    Family(
        "highway-env",
        ("highway_env",),
        "pip install highway-env==1.12.1",
        "gymnasium",
        "key=highway_env:highway-v0",
        "(highway|exit|intersection|lane-keeping|merge|parking|racetrack|roundabout|two-way|u-turn)(-.*)?-v.*",
        "intersection-multi-agent-v0 is of several agents: gymma",
    ),
    Family(
        "dm_control",
        ("dm_control",),
        "pip install -r requirements-dm-control.txt",
        "gymnasium",
        "key=dm_control/cheetah-run-v0",
    ),
    Family(
        "EnvPool",
        ("envpool",),
        "pip install envpool",
        "gymnasium",
        "key=envpool:CartPole-v1",
        remark="all copies as one batch: batch_size_run=64 vector_env=batched",
    ),
    Family("JaxMARL: SMAX", ("jax", "jaxmarl"), JAX, "jax", "key=smax-3m", remark="and its MPE, Overcooked and others"),
    Family("JaxMARL: MABrax", ("jax", "jaxmarl", "brax"), JAX, "jax", "key=jaxmarl:halfcheetah_6x1"),
    Family("Jumanji", ("jax", "jumanji"), JAX, "jax", "key=jumanji:Cleaner-v0", remark="those of several agents"),
    Family("SMAC", ("smac",), SC2, "sc2", "map_name=3s5z", remark="and the game"),
    Family(
        "SMACv2",
        ("smacv2",),
        "bash install_sc2.sh --accept-eula",
        "sc2v2",
        "map_name=protoss_5_vs_5",
        remark="and the game",
    ),
)
# those that Muster has compiled: how they are played, and what they are
COMPILED = {
    "level-based foraging": "--env-config=lbf with env_args.key=Foraging-8x8-2p-3f-v3, or gymma's lbforaging:...",
    "RWARE": "--env-config=rware with env_args.key=rware-tiny-4ag-v2, or gymma's rware:...",
    "MPE": "--env-config=particles with env_args.scenario=simple_spread, or gymma's pz-mpe-...",
    "matrix games": "--env-config=gymma with env_args.key=matrixgames:penalty-100-nostate-v0",
    "PressurePlate": "--env-config=pressureplate",
    "Capture Target": "--env-config=capturetarget",
    "Box Pushing": "--env-config=boxpushing",
    "Overcooked": "--env-config=overcooked",
    "stag hunt": "--env-config=stag_hunt, PyMARL2's",
}
# those that cannot be installed beside today's packages, and why
ELSEWHERE = {
    "POGEMA": "its releases that pip accepts fail on pydantic 2, and later ones want gymnasium 0.28 and numpy 1",
    "Melting Pot": "dm-meltingpot's build downloads its assets from a place that may be out of reach",
    "Google football": "gfootball 2.10 compiles an engine with tools that have moved on",
    "hanabi-learning-environment": "its CMake file is too old; Hanabi is in PettingZoo classic, through OpenSpiel",
    "Overcooked-AI": "1.1.0 cannot be imported with numpy 2",
}


def installing(module: str) -> str | None:
    """The command that installs a package, or None where it is in no family."""
    return next((family.install for family in FAMILIES if family.needs[0] == module), None)


def registering(name: str) -> Family | None:
    """The family whose package registers this id of Gymnasium."""
    return next((family for family in FAMILIES if family.ids and re.fullmatch(family.ids, name)), None)
