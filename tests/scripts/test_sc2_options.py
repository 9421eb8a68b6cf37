"""The options of install_sc2.sh, and the places that it installs to."""

import pytest

from sc2_machine import LICENCE, SCRIPT


@pytest.mark.parametrize("words", [("--dry-run",), ("--accept-eula", "--dry-run"), ("--dry-run", "--version=4.6.2")])
def test_a_dry_run_touches_nothing(machine, words):
    before = machine.files()
    done = machine.run(SCRIPT, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Would ") == 3
    assert not machine.calls()
    assert not machine.pip_calls()
    assert machine.files() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fast"], "There is no option '--fast'"),
        (["4.10"], "There is no option '4.10'"),
        (["--version"], "--version needs a value"),
        (["--version", "latest"], "A version looks like 4.10, not like 'latest'"),
        (["--python="], "--python needs a value"),
        (["--maps-only", "--packages-only"], "exclude each other"),
        (["--packages-only", "--no-packages"], "exclude each other"),
    ],
)
def test_a_wrong_option_is_one_message(machine, words, message):
    done = machine.install(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not machine.calls()


def test_help_names_every_option(machine):
    done = machine.run(SCRIPT, "--help")
    assert done.returncode == 0
    options = "--accept-eula --version --maps-only --packages-only --no-packages --python --dry-run --help".split()
    assert all(word in done.stdout for word in [*options, "SC2PATH"])
    assert LICENCE in done.stdout


def test_another_version_has_the_name_that_blizzard_gave_it(machine):
    assert machine.install("--version", "4.6.2").returncode == 0
    assert machine.calls("curl")[-1][-1].endswith("/SC2.4.6.2.69232.zip")


def test_two_versions_do_not_share_a_folder(machine):
    machine.install()
    machine.forget_calls()
    done = machine.install("--version=4.6.2")
    assert done.returncode == 1
    assert "holds version 4.10, not 4.6.2" in done.stderr
    assert not machine.calls()
    assert machine.install("--version=4.6.2", SC2PATH=machine.root / "older").returncode == 0


def test_a_folder_that_is_not_the_game_is_left_alone(machine):
    machine.game.mkdir(parents=True)
    (machine.game / "thesis.txt").write_text("mine")
    done = machine.install()
    assert done.returncode == 1
    assert "exists, but holds no game" in done.stderr
    assert (machine.game / "thesis.txt").read_text() == "mine"
    assert not machine.calls("curl", "unzip")


def test_an_empty_folder_is_filled(machine):
    machine.game.mkdir(parents=True)
    assert machine.install().returncode == 0


@pytest.mark.parametrize("where", ["{root}/games/sc2/", "games/sc2"])
def test_sc2path_is_where_the_game_goes(machine, where):
    done = machine.install(SC2PATH=where.format(root=machine.root))
    assert done.returncode == 0, done.stderr
    game = machine.root / "games" / "sc2"
    assert (game / "Versions" / "Base75689" / "SC2_x64").exists()
    assert (game / "Maps" / "SMAC_Maps" / "3m.SC2Map").exists()
    assert f"SC2PATH={game}\n" in done.stdout


def test_maps_only(machine):
    done = machine.run(SCRIPT, "--maps-only")
    assert done.returncode == 1
    assert "maps: there is no StarCraft II" in done.stderr
    binary = machine.game / "Versions" / "Base75689" / "SC2_x64"
    binary.parent.mkdir(parents=True)
    binary.write_text("installed by hand")
    own = machine.maps / "own.SC2Map"
    own.parent.mkdir(parents=True)
    own.write_text("my map")
    done = machine.run(SCRIPT, "--maps-only")
    assert done.returncode == 0, done.stderr
    assert own.read_text() == "my map"
    assert len(list(machine.maps.iterdir())) == 4
    assert not machine.calls("curl", "unzip")
    assert not machine.pip_calls()


def test_packages_only(machine):
    done = machine.run(SCRIPT, "--packages-only", "--python", str(machine.root / ".venv" / "bin" / "python"))
    assert done.returncode == 0, done.stderr
    assert not machine.game.exists()
    assert not machine.calls("curl", "unzip")
    assert len(machine.pip_calls()) == 1


def test_no_packages(machine):
    """The container has its own: a machine that runs only containers needs no Python."""
    (machine.root / ".venv" / "bin" / "python").unlink()
    done = machine.install("--no-packages")
    assert done.returncode == 0, done.stderr
    assert machine.maps.exists()


@pytest.mark.parametrize(
    ("system", "binary"),
    [("darwin22", "SC2.app/Contents/MacOS/SC2"), ("msys", "SC2_x64.exe"), ("cygwin", "SC2_x64.exe")],
)
def test_maps_go_into_a_game_of_blizzards_own_installer(machine, system, binary):
    game = machine.root / "StarCraft II"
    (game / "Versions" / "Base75689" / binary).parent.mkdir(parents=True)
    (game / "Versions" / "Base75689" / binary).touch()
    done = machine.run(SCRIPT, "--maps-only", OSTYPE=system, SC2PATH=game)
    assert done.returncode == 0, done.stderr
    assert (game / "Maps" / "SMAC_Maps" / "3m.SC2Map").exists()
    done = machine.run(SCRIPT, "--maps-only", OSTYPE="linux-gnu", SC2PATH=game)
    assert done.returncode == 0, "the maps are there, whoever asks"
    (game / "Maps" / "SMAC_Maps" / "3m.SC2Map").unlink()
    done = machine.run(SCRIPT, "--maps-only", OSTYPE="linux-gnu", SC2PATH=game)
    assert "maps: there is no StarCraft II" in done.stderr, "Linux cannot start that game"


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("darwin22", "/Applications/StarCraft II"),
        ("msys", "/c/Program Files (x86)/StarCraft II"),
        ("cygwin", "/cygdrive/c/Program Files (x86)/StarCraft II"),
    ],
)
def test_the_usual_folder_of_other_systems(machine, system, folder):
    done = machine.run(SCRIPT, "--maps-only", OSTYPE=system)
    assert done.returncode == 1
    assert f"maps: there is no StarCraft II in {folder}." in done.stderr
    done = machine.run(SCRIPT, OSTYPE=system)
    assert done.returncode == 1
    assert "game: Blizzard's archives are for Linux. Install the game with its Battle.net app" in done.stderr
    assert not machine.calls()
    machine.game.mkdir(parents=True)
    assert str(machine.game) in machine.run(SCRIPT, "--maps-only", OSTYPE=system).stderr
