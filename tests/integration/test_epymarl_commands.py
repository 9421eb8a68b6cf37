"""Every command of EPyMARL's README (cbc38c0) trains here; packages outside Muster's requirements are stand-ins.

StarCraft II is a stand-in, too, on which smac and smacv2 play where they are installed. Left out: `pac_ns`, whose
algorithm is missing (docs/from_pymarl.md).
"""

import os
import shlex
import subprocess
import sys
from types import ModuleType

import gymnasium
import pytest

import main as main_module
import pairs
import sc2_stand_in
import smaclite_standin
import vmas_standin
from envs import families
from standins import ROOT

COMMANDS = """\
--config=mappo --env-config=gymma with env_args.time_limit=50 env_args.key="lbforaging:Foraging-8x8-2p-3f-v3" common_reward=False
--config=qmix --env-config=gymma with env_args.time_limit=25 env_args.key="matrixgames:penalty-100-nostate-v0"
--config=qmix --env-config=gymma with env_args.time_limit=50 env_args.key="lbforaging:Foraging-8x8-2p-3f-v3"
--config=qmix --env-config=gymma with env_args.time_limit=500 env_args.key="rware:rware-tiny-2ag-v2"
--config=qmix --env-config=gymma with env_args.time_limit=25 env_args.key="pz-mpe-simple-spread-v3"
--config=mappo --env-config=gymma with env_args.time_limit=25 env_args.key=pz-mpe-simple-spread-v3 reward_scalarisation="mean"
--config=qmix --env-config=smaclite with env_args.time_limit=150 env_args.map_name="MMM"
--config=qmix --env-config=gymma with env_args.time_limit=150 env_args.key="vmas-balance"
--config=qmix --env-config=gymma with env_args.time_limit=50 env_args.key="myenv:my-environment-v1"
"""  # noqa: E501
STARCRAFT = """\
--config=qmix --env-config=sc2 with env_args.map_name="3s5z"
--config=qmix --env-config=sc2v2 with env_args.map_name="protoss_5_vs_5"
"""
SHORT = "t_max=150 test_nepisode=1 test_interval=100 batch_size_run=1 batch_size=2 buffer_size=2 seed=1 use_cuda=False"
REGISTERED = {
    "matrixgames": "penalty-100-nostate-v0",
    "rware": "rware-tiny-2ag-v2",
    "myenv": "my-environment-v1",
}


@pytest.fixture
def packages(monkeypatch, tmp_path):
    """Pairs in place of the games of packages."""
    for name, key in REGISTERED.items():
        if key not in gymnasium.registry:
            gymnasium.register(key, entry_point=pairs.Pair)
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "vmas", vmas_standin.package(tmp_path))
    monkeypatch.setitem(sys.modules, "smaclite", smaclite_standin)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS.splitlines())
def test_it_trains(packages, command, capsys):
    words = [*shlex.split(command), *SHORT.split(), f"local_results_path={packages}"]
    if "mappo" in command:
        words.append("minibatches=1")
    assert main_module.main(words) == 0, capsys.readouterr()
    metrics = next(packages.glob("runs/*/metrics.csv")).read_text()
    named = {"test_return_mean", "return_std", "ep_length_mean"}
    if "common_reward=False" in command:
        names = ("agent_0_return", "test_agent_1_return", "total_return", "test_total_return")
        named |= {f"{name}_{figure}" for name in names for figure in ("mean", "std")}
    if "smaclite" in command:
        named |= {"test_battle_won_mean"}
    assert all(name in metrics for name in named)


@sc2_stand_in.needs_game
@pytest.mark.parametrize("command", STARCRAFT.splitlines())
def test_it_trains_on_starcraft(tmp_path, command):
    """In a process of its own: the packages need protobuf's slow parser, and register maps of the same names."""
    program = [sys.executable, str(ROOT / "src" / "main.py"), *shlex.split(command), *SHORT.split()]
    game = {"SC2PATH": str(sc2_stand_in.install(tmp_path / "game")), "FAKE_SC2_OUTCOME": "mixed"}
    done = subprocess.run(
        [*program, "t_max=450", f"local_results_path={tmp_path}/results"],  # an episode has up to 200 steps
        env={**os.environ, **game},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    metrics = next((tmp_path / "results").glob("runs/*/metrics.csv")).read_text()
    assert all(name in metrics for name in ("test_battle_won_mean", "return_mean", "ep_length_mean", "loss"))


@pytest.mark.parametrize("command", ["locally --list", "single 1"])
def test_the_searches(packages, command, monkeypatch, capsys):
    import search

    monkeypatch.setattr(main_module, "main", lambda words: print(words) or 0)
    words = ["run", "--config=search.config.example.yaml", "--seeds", "5", *command.split()]
    assert search.main(words) == 0
    assert "--env-config=gymma" in capsys.readouterr().out


def test_what_is_not_in_the_readme_is_in_our_list():
    assert {family.title for family in families.FAMILIES} >= {"RWARE", "matrix games", "VMAS", "SMAClite", "SMAC"}
    assert (ROOT / "src" / "search.py").is_file()
