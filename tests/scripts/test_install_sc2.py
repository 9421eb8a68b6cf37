"""install_sc2.sh: whole or not at all, once, resumed, and never without the licence; all it calls is a stand-in."""

import os
import re

import pytest

from sc2_machine import LICENCE, SCRIPT, SIZE, UNZIP
from standins import ROOT

pytestmark = pytest.mark.slow


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


def test_a_download_that_stops_is_kept(machine):
    assert machine.install(CURL_STOPS_AT=400, CURL_CODE=18).returncode == 1
    assert machine.archive.stat().st_size == 400


def test_a_download_that_is_too_long_is_not_kept(machine):
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


SOURCE = "from smac.env import StarCraft2Env"


@pytest.mark.parametrize(
    ("env", "message", "called"),
    [
        ({"CURL_HEAD_CODE": 22}, "blzdistsc2-a.akamaihd.net/Linux/SC2.4.10.zip cannot be had", "curl"),
        ({"CURL_STOPS_AT": 400, "CURL_CODE": 18}, "download: it stopped at 400 of 1000 bytes", "curl"),
        ({"CURL_STOPS_AT": 400}, "download: 400 bytes have come of the 1000", "curl"),
        ({"UNZIP_CODE": 3}, "unpack: unzip ended with code 3", "unzip"),
        ({"UNZIP_CODE": 50}, "unpack: the disk is full", "unzip"),
        ({"UNZIP_NO_BINARY": 1}, "unpack: the archive holds no StarCraftII/Versions", "unzip"),
        ({"UNZIP_TERM": 1}, "", "unzip"),
        ({"GIT_CODE": 128}, "source of smac: git could not fetch commit", "git"),
        ({"PIP_CODE": 1}, "packages: pip could not install them", "pip"),
        ({"PIP_SOURCE": "import pysc2_is_missing"}, f"packages: they are installed, but '{SOURCE}' fails", "pip"),
    ],
)
def test_a_failure_is_reported_leaves_nothing_half_done_and_can_be_repeated(machine, env, message, called):
    done = machine.install(**env)
    assert done.returncode != 0
    assert message in done.stderr
    assert "PIP_SOURCE" not in env or "No module named 'pysc2_is_missing'" in done.stderr
    assert not machine.half_done()
    # a step that fails is the last one
    steps = ["curl", "unzip", "git", "pip"]
    taken = [*(step for step in steps[:3] if machine.calls(step)), *(["pip"] if machine.pip_calls() else [])]
    assert taken == steps[: steps.index(called) + 1]
    assert machine.game.exists() == (called in ("git", "pip"))
    assert machine.maps.exists() == (called == "pip")
    # an archive that may be whole is kept
    assert called != "unzip" or machine.archive.exists() == (message == "" or "disk is full" in message)
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


def test_a_failure_while_copying_leaves_no_maps(machine):
    machine.stand_in("cp", '[[ $1 != */8m.SC2Map ]] || exit 1; exec /bin/cp "$@"')
    done = machine.install()
    assert done.returncode == 1
    assert "maps: 8m.SC2Map could not be copied" in done.stderr
    assert not machine.maps.exists()
    assert not machine.half_done()


@pytest.mark.parametrize("version", ["1.0.0", "2.4.1"])
def test_another_smac_does_not_pass_for_it(machine, version):
    """The optimiser of that name on the package index, or another commit: neither came from the pinned source."""
    machine.run(SCRIPT, "--packages-only")
    (info,) = machine.site.glob("smac-*.dist-info")
    (info / "direct_url.json").unlink()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: smac\nVersion: {version}\n")
    done = machine.run(SCRIPT, "--packages-only", "--dry-run")
    assert "Would install" in done.stdout


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
