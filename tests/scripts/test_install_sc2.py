"""install_sc2.sh: whole or not at all, once, resumed, and never without the licence; all it calls is a stand-in."""

import os
import re
import sys

import pytest

from standins import ROOT, Checkout

SIZE = 1000
LICENCE = "http://blzdistsc2-a.akamaihd.net/AI_AND_MACHINE_LEARNING_LICENSE.html"
SCRIPT = "install_sc2.sh"

# serves a file of SIZE bytes; CURL_STOPS_AT and CURL_CODE cut it short
CURL = f"""
case " $* " in
    *" --head "*)
        printf 'HTTP/1.1 302 Found\\r\\nContent-Length: 7\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n'
        [[ -n ${{CURL_NO_LENGTH:-}} ]] || printf 'content-length: {SIZE}\\r\\n'
        exit "${{CURL_HEAD_CODE:-0}}" ;;
esac
while [[ $1 != --output ]]; do shift; done
have=0; [[ ! -f $2 ]] || have=$(wc -c <"$2")
head -c "$((${{CURL_STOPS_AT:-{SIZE}}} - have))" /dev/zero >>"$2"
exit "${{CURL_CODE:-0}}"
"""

# unpacks a game into the folder after -d, or part of it
UNZIP = """
while [[ $1 != -d ]]; do shift; done
mkdir -p "$2/StarCraftII/Versions/Base75689" "$2/StarCraftII/Maps"
[[ -z ${UNZIP_TERM:-} ]] || kill -TERM "$PPID"
[[ -n ${UNZIP_NO_BINARY:-} ]] || echo game >"$2/StarCraftII/Versions/Base75689/SC2_x64"
exit "${UNZIP_CODE:-0}"
"""

# at "checkout" the folder gets what the scripts need of the repository
GIT = """
[[ $3 != fetch ]] || exit "${GIT_CODE:-0}"
[[ " $* " == *" checkout "* ]] || exit 0
for package in smac smacv2; do
    [[ $2 == */$package-* ]] || continue
    maps=$2/$package/env/starcraft2/maps/SMAC_Maps
    mkdir -p "$maps"
    for map in 3m 8m 32x32_flat; do [[ $package$map == smac32* ]] || echo "$package $map" >"$maps/$map.SC2Map"; done
done
"""

# a Python that sees no packages but those in $SITE, and a pip that puts them there
PYTHON = f"""
PYTHONPATH=$SITE exec "{sys.executable}" -B -S "$@"
"""
PIP = """
import json, os, sys
from pathlib import Path

site = Path(os.environ["SITE"])
with open(site / "pip_calls", "a") as calls:
    print(json.dumps(sys.argv[1:]), file=calls)
if os.environ.get("PIP_CODE"):
    sys.exit(int(os.environ["PIP_CODE"]))
words = sys.argv[1:]
pins = [line.split("#")[0].strip() for line in open(words[words.index("-r") + 1])]
folders = [Path(word) for word in words if Path(word).is_dir()]
wanted = [(*pin.split("=="), None) for pin in pins if pin]
wanted += [(folder.name.split("-")[0], "1.0.0", folder.as_uri()) for folder in folders]
for name, version, url in wanted:
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    if url:
        (info / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {}}))
        (site / name / "env").mkdir(parents=True)
        source = os.environ.get("PIP_SOURCE", "StarCraft2Env = StarCraftCapabilityEnvWrapper = 1")
        (site / name / "env" / "__init__.py").write_text(source)
"""


class Machine(Checkout):
    """A checkout with everything that install_sc2.sh calls."""

    def __init__(self, folder):
        super().__init__(folder, SCRIPT, "requirements-sc2.txt")
        self.game = self.root / "3rdparty" / "StarCraftII"
        self.archive = self.root / "3rdparty" / "SC2.4.10.zip.partial"
        self.maps = self.game / "Maps" / "SMAC_Maps"
        self.site = folder / "site"
        (self.site / "pip").mkdir(parents=True)
        (self.site / "pip" / "__main__.py").write_text(PIP)
        self.env["SITE"] = str(self.site)
        for name, body in {"curl": CURL, "unzip": UNZIP, "git": GIT}.items():
            self.stand_in(name, body)
        python = self.root / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/bash" + PYTHON)
        python.chmod(0o755)

    def install(self, *words, **env):
        return self.run(SCRIPT, "--accept-eula", *words, **env)

    def pip_calls(self):
        path = self.site / "pip_calls"
        return path.read_text().splitlines() if path.exists() else []

    def half_done(self):
        """The remains of an interrupted step; an unfinished archive may stay."""
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*.partial")}
        found |= {str(path.relative_to(self.root)) for path in self.root.rglob("*.unpacking")}
        return found - {str(self.archive.relative_to(self.root))}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_without_the_licence_nothing_is_downloaded(machine):
    before = machine.files()
    done = machine.run(SCRIPT)
    assert done.returncode == 2
    assert LICENCE in done.stderr
    assert "--accept-eula" in done.stderr
    assert not machine.calls()
    assert machine.files() == before


def test_everything_is_installed(machine):
    done = machine.install()
    assert done.returncode == 0, done.stderr
    binary = machine.game / "Versions" / "Base75689" / "SC2_x64"
    assert os.access(binary, os.X_OK)
    assert sorted(path.name for path in machine.maps.iterdir()) == ["32x32_flat.SC2Map", "3m.SC2Map", "8m.SC2Map"]
    assert (machine.maps / "3m.SC2Map").read_text() == "smac 3m\n"
    assert (machine.maps / "32x32_flat.SC2Map").read_text() == "smacv2 32x32_flat\n"
    assert not machine.archive.exists()
    assert not machine.half_done()
    (pip_call,) = machine.pip_calls()
    assert "--no-deps" in pip_call
    assert "--env-config=sc2" in done.stdout.splitlines()[-1]
    assert machine.calls("curl")[-1][-1] == "https://blzdistsc2-a.akamaihd.net/Linux/SC2.4.10.zip"
    assert "iagreetotheeula" in machine.calls("unzip")[0]
    fetched = [call[-2:] for call in machine.calls("git") if "fetch" in call]
    assert [url for url, _ in fetched] == ["https://github.com/oxwhirl/smac", "https://github.com/oxwhirl/smacv2"]
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for _, commit in fetched)


def test_a_second_run_does_nothing_and_says_so(machine):
    machine.install()
    machine.forget_calls()
    before = machine.files()
    done = machine.run(SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("already") == 3
    assert not machine.calls()
    assert len(machine.pip_calls()) == 1
    assert machine.files() == before


def test_a_partial_download_is_resumed(machine):
    machine.archive.parent.mkdir()
    machine.archive.write_bytes(b"x" * 300)
    machine.stand_in("unzip", f'[[ $(head -c 300 "$4") == xxx* && $(wc -c <"$4") == {SIZE} ]] || exit 9\n' + UNZIP)
    assert machine.install().returncode == 0
    download = machine.calls("curl")[-1]
    assert download[download.index("--continue-at") + 1] == "-"


def test_a_download_that_stops_can_be_repeated(machine):
    done = machine.install(CURL_STOPS_AT=400, CURL_CODE=18)
    assert done.returncode == 1
    assert "download: it stopped at 400 of 1000 bytes" in done.stderr
    assert machine.archive.stat().st_size == 400
    assert not machine.game.exists()
    assert not machine.calls("unzip", "git")
    assert machine.install().returncode == 0


def test_a_download_of_the_wrong_size_is_not_unpacked(machine):
    done = machine.install(CURL_STOPS_AT=400)
    assert done.returncode == 1
    assert "download: 400 bytes have come of the 1000" in done.stderr
    assert machine.archive.exists()
    assert machine.install(CURL_STOPS_AT=SIZE + 5).returncode == 1
    assert not machine.archive.exists()
    assert not machine.calls("unzip")


def test_a_download_larger_than_the_servers_is_starts_again(machine):
    machine.archive.parent.mkdir()
    machine.archive.write_bytes(b"x" * (SIZE + 1))
    done = machine.install()
    assert done.returncode == 0, done.stderr
    assert "starts from the beginning" in done.stdout


def test_a_complete_download_is_not_repeated(machine):
    machine.archive.parent.mkdir()
    machine.archive.write_bytes(b"x" * SIZE)
    assert machine.install().returncode == 0
    assert len(machine.calls("curl")) == 1


def test_a_server_may_keep_the_size_to_itself(machine):
    assert machine.install(CURL_NO_LENGTH=1).returncode == 0


def test_a_server_that_does_not_answer_is_reported(machine):
    done = machine.install("--version", "4.99", CURL_HEAD_CODE=22)
    assert done.returncode == 1
    assert "download: https://blzdistsc2-a.akamaihd.net/Linux/SC2.4.99.zip cannot be had" in done.stderr
    assert not machine.game.exists()


@pytest.mark.parametrize(
    ("env", "message", "kept"),
    [
        ({"UNZIP_CODE": 3}, "unpack: unzip ended with code 3", False),
        ({"UNZIP_CODE": 50}, "unpack: the disk is full", True),
        ({"UNZIP_NO_BINARY": 1}, "unpack: the archive holds no StarCraftII/Versions", False),
        ({"UNZIP_TERM": 1}, "", True),
    ],
)
def test_a_failure_while_unpacking_leaves_no_game(machine, env, message, kept):
    done = machine.install(**env)
    assert done.returncode != 0
    assert message in done.stderr
    assert machine.archive.exists() == kept
    assert not machine.game.exists()
    assert not machine.half_done()
    assert not machine.calls("git")
    assert machine.install().returncode == 0


def test_the_remains_of_a_killed_run_do_no_harm(machine):
    left = machine.root / "3rdparty" / "StarCraftII.unpacking" / "StarCraftII" / "Versions"
    left.parent.mkdir(parents=True)
    left.write_text("half of it")
    done = machine.install()
    assert done.returncode == 0, done.stderr
    assert not machine.half_done()


def test_a_warning_of_unzip_is_no_failure(machine):
    assert machine.install(UNZIP_CODE=1).returncode == 0


def test_a_failure_while_fetching_leaves_no_source(machine):
    done = machine.install(GIT_CODE=128)
    assert done.returncode == 1
    assert "source of smac: git could not fetch commit" in done.stderr
    assert not list(machine.root.glob("3rdparty/smac*"))
    assert not machine.maps.exists()
    assert machine.game.exists()
    assert machine.install().returncode == 0


def test_a_failure_while_copying_leaves_no_maps(machine):
    machine.stand_in("cp", '[[ $1 != */8m.SC2Map ]] || exit 1; exec /bin/cp "$@"')
    done = machine.install()
    assert done.returncode == 1
    assert "maps: 8m.SC2Map could not be copied" in done.stderr
    assert not machine.maps.exists()
    assert not machine.half_done()


def test_a_failure_of_pip_is_reported(machine):
    done = machine.install(PIP_CODE=1)
    assert done.returncode == 1
    assert "packages: pip could not install them" in done.stderr
    assert machine.install().returncode == 0


def test_packages_that_cannot_be_imported_are_reported(machine):
    done = machine.install(PIP_SOURCE="import pysc2_is_missing")
    assert done.returncode == 1
    assert "No module named 'pysc2_is_missing'" in done.stderr
    assert "packages: they are installed, but 'from smac.env import StarCraft2Env' fails" in done.stderr


@pytest.mark.parametrize("version", ["1.0.0", "2.4.1"])
def test_another_smac_does_not_pass_for_it(machine, version):
    """The optimiser of that name on the package index, or another commit: neither came from the pinned source."""
    machine.run(SCRIPT, "--packages-only")
    (info,) = machine.site.glob("smac-*.dist-info")
    (info / "direct_url.json").unlink()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: smac\nVersion: {version}\n")
    done = machine.run(SCRIPT, "--packages-only", "--dry-run")
    assert "Would install" in done.stdout


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
    assert "holds version 4.10, and 4.6.2 was asked for" in done.stderr
    assert not machine.calls()
    assert machine.install("--version=4.6.2", SC2PATH=machine.root / "older").returncode == 0


def test_a_folder_that_is_not_the_game_is_left_alone(machine):
    machine.game.mkdir(parents=True)
    (machine.game / "thesis.txt").write_text("mine")
    done = machine.install()
    assert done.returncode == 1
    assert "is there, but holds no game" in done.stderr
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


def test_a_missing_python_is_reported(machine):
    done = machine.run(SCRIPT, "--packages-only", "--python", "no/python")
    assert done.returncode == 1
    assert "packages: there is no Python at no/python" in done.stderr


@pytest.mark.parametrize(("program", "step"), [("curl", "game"), ("unzip", "game"), ("git", "source of smac")])
def test_a_missing_program_is_reported(machine, program, step):
    (machine.bin / program).unlink()
    done = machine.install()
    assert done.returncode == 1
    assert f"{step}: the program {program} is needed" in done.stderr


def test_the_pins_are_exact_and_leave_protobuf_alone():
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements-sc2.txt").read_text().splitlines()]
    pins = [line.split("==") for line in lines if line]
    assert all(len(pin) == 2 for pin in pins)
    assert not {name for name, _ in pins} & {"protobuf", "smac", "smacv2"}
