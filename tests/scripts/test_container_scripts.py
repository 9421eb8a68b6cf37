"""run.sh and docker/build.sh: what they ask of Docker, seen by a stand-in for it."""

import os
import pty
import re
import subprocess

import pytest

from standins import Checkout

DOCKER = """
case $1 in
    image) exit "${NO_IMAGE:-0}" ;;
    *) exit "${DOCKER_CODE:-0}" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    made = Checkout(tmp_path, "run.sh", "docker/build.sh")
    made.stand_in("docker", DOCKER)
    return made


def container(checkout, *words, **env):
    """The options and the command that `docker run` was called with."""
    done = checkout.run("run.sh", *words, **env)
    assert done.returncode == 0, done.stderr
    call = checkout.calls("docker")[-1]
    assert call[:2] == ["docker", "run"]
    image = next(i for i, word in enumerate(call) if word.startswith(("muster:", "lab/")))
    return call[2:image], call[image:]


def after(options, name):
    """Every value of an option."""
    return [options[i + 1] for i, word in enumerate(options) if word == name]


def test_arguments_arrive_as_they_were_given(checkout):
    words = ["python3", "-c", "print('a b')", "", "$HOME", "x; rm -rf *", 'say "hi"', "--gpus", "two\nlines"]
    _, command = container(checkout, "0", *words)
    assert command[1:] == words


def test_the_command_uses_the_python_of_the_image(checkout):
    """The checkout's .venv belongs to the host."""
    options, command = container(checkout, "cpu", "./muster", "--list")
    assert command[1:] == ["./muster", "--list"] and "MUSTER_PYTHON=python3" in after(options, "--env")


@pytest.mark.parametrize(
    ("gpu", "option", "image"),
    [
        ("0", ['"device=0"'], "muster:gpu"),
        ("3", ['"device=3"'], "muster:gpu"),
        ("0,2", ['"device=0,2"'], "muster:gpu"),
        ("all", ["all"], "muster:gpu"),
        ("cpu", [], "muster:cpu"),
    ],
)
def test_the_first_word_says_which_gpu(checkout, gpu, option, image):
    options, command = container(checkout, gpu, "true")
    assert after(options, "--gpus") == option
    assert command == [image, "true"]


@pytest.mark.parametrize("code", [1, 3, 137])
def test_the_exit_code_is_that_of_the_command(checkout, code):
    assert checkout.run("run.sh", "cpu", "false", DOCKER_CODE=code).returncode == code


def test_the_command_runs_as_the_caller(checkout):
    checkout.stand_in("id", "case $1 in -u) echo 1234 ;; -g) echo 5678 ;; -un) echo ann ;; esac")
    options, _ = container(checkout, "cpu", "true")
    assert after(options, "--user") == ["1234:5678"]


@pytest.mark.parametrize(
    ("user", "gpu", "start"),
    [
        ("ann", "0", "muster_ann_gpu0_"),
        ("ann", "cpu", "muster_ann_cpu_"),
        ("ann", "0,1", "muster_ann_gpu0-1_"),
        ("LAB\\\\ann o'neil", "all", "muster_LAB-ann-o-neil_gpus_"),
        ("", "cpu", "muster_1234_cpu_"),
    ],
)
def test_the_container_has_a_readable_name(checkout, user, gpu, start):
    name = f'echo "{user}"' if user else "exit 1"
    checkout.stand_in("id", f"case $1 in -un) {name} ;; *) echo 1234 ;; esac")
    names = [after(container(checkout, gpu, "true")[0], "--name")[0] for _ in range(2)]
    assert all(name.startswith(start) and re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+", name) for name in names)
    assert len(set(names)) == 2


def test_the_name_is_printed(checkout):
    done = checkout.run("run.sh", "cpu", "true")
    (name,) = after(checkout.calls("docker")[-1], "--name")
    assert f"docker stop {name}" in done.stderr
    assert done.stdout == ""


def test_the_checkout_is_mounted_from_wherever_it_is_called(checkout, tmp_path):
    assert checkout.run("run.sh", "cpu", "true", cwd=tmp_path).returncode == 0
    options = checkout.calls("docker")[-1]
    assert after(options, "--mount") == [f"type=bind,source={checkout.root.resolve()},target=/muster"]
    assert after(options, "--workdir") == ["/muster"]
    assert {"--rm", "--init"} <= set(options)


def test_docker_stop_leaves_time_for_a_checkpoint(checkout):
    options, _ = container(checkout, "cpu", "true")
    assert after(options, "--stop-timeout") == ["120"]


def test_a_log_file_is_no_terminal(checkout):
    options, _ = container(checkout, "cpu", "true")
    assert not {"--tty", "--interactive"} & set(options)


def test_a_terminal_is_passed_on(checkout):
    ours, theirs = pty.openpty()
    try:
        command = ["bash", str(checkout.root / "run.sh"), "cpu", "bash"]
        subprocess.run(command, env=checkout.env, stdin=theirs, stdout=theirs, check=True, timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert {"--tty", "--interactive"} <= set(checkout.calls("docker")[-1])


def test_without_the_game_nothing_is_said_of_it(checkout):
    options, _ = container(checkout, "cpu", "true")
    assert not any("SC2PATH" in word for word in options)


def test_the_game_in_the_checkout_is_found(checkout):
    game = checkout.root / "3rdparty" / "StarCraftII"
    game.mkdir(parents=True)
    for env in ({}, {"SC2PATH": game}, {"SC2PATH": "3rdparty/StarCraftII/"}):
        options, _ = container(checkout, "cpu", "true", **env)
        assert "SC2PATH=/muster/3rdparty/StarCraftII" in after(options, "--env")
        assert len(after(options, "--mount")) == 1


@pytest.mark.parametrize("linked", [False, True])
def test_a_game_elsewhere_is_mounted(checkout, tmp_path, linked):
    game = tmp_path / "shared games" / "StarCraftII"
    game.mkdir(parents=True)
    env = {"SC2PATH": game}
    if linked:
        (checkout.root / "3rdparty").mkdir()
        (checkout.root / "3rdparty" / "StarCraftII").symlink_to(game)
        env = {}
    options, _ = container(checkout, "cpu", "true", **env)
    assert f"type=bind,source={game.resolve()},target=/StarCraftII" in after(options, "--mount")
    assert "SC2PATH=/StarCraftII" in after(options, "--env")


def test_another_image_can_be_named(checkout):
    _, command = container(checkout, "0", "true", MUSTER_IMAGE="lab/muster:3")
    assert command == ["lab/muster:3", "true"]


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        ([], {}, "A GPU (or cpu) and a command are needed"),
        (["0"], {}, "A GPU (or cpu) and a command are needed"),
        (["python3", "src/main.py"], {}, "The first word is the number of a GPU or cpu, not 'python3'"),
        (["-1", "true"], {}, "not '-1'"),
        (["0,", "true"], {}, "not '0,'"),
        (["cpu", "true"], {"SC2PATH": "/no/game"}, "SC2PATH is /no/game, which is not a folder"),
        (["cpu", "true"], {"NO_IMAGE": 1}, "Docker cannot use the image muster:cpu"),
    ],
)
def test_commands_that_cannot_run_are_refused_in_one_message(checkout, words, env, message):
    done = checkout.run("run.sh", *words, **env)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not [call for call in checkout.calls("docker") if call[1] == "run"]


@pytest.mark.parametrize("words", [("run.sh", "cpu", "true"), ("docker/build.sh", "cpu")])
def test_a_machine_without_docker_is_reported(checkout, words):
    (checkout.bin / "docker").unlink()
    done = checkout.run(*words)
    assert done.returncode == 2
    assert "The program docker was not found" in done.stderr


@pytest.mark.parametrize("script", ["run.sh", "docker/build.sh"])
def test_help(checkout, script):
    done = checkout.run(script, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: bash ")
    assert not checkout.calls()


@pytest.mark.parametrize("variant", ["cpu", "gpu"])
def test_the_image_is_built(checkout, tmp_path, variant):
    done = checkout.run("docker/build.sh", variant, "--no-cache", "--label", "a b", cwd=tmp_path, TORCH_INDEX="index")
    assert done.returncode == 0, done.stderr
    (call,) = checkout.calls("docker")
    assert call[:2] == ["docker", "build"]
    assert after(call, "--tag") == [f"muster:{variant}"]
    assert after(call, "--file") == [str(checkout.root / "docker" / "Dockerfile")]
    assert after(call, "--build-arg") == ["TORCH_INDEX=index"]
    assert call[-4:] == ["--no-cache", "--label", "a b", str(checkout.root)]


def test_a_build_without_an_index_takes_the_usual_pytorch_and_says_so(checkout):
    done = checkout.run("docker/build.sh", "cpu")
    assert done.returncode == 0
    assert after(checkout.calls("docker")[0], "--build-arg") == ["TORCH_INDEX="]
    assert "TORCH_INDEX is not set" in done.stderr
    assert "TORCH_INDEX" not in checkout.run("docker/build.sh", "gpu").stderr


def test_a_failed_build_fails(checkout):
    assert checkout.run("docker/build.sh", "gpu", DOCKER_CODE=17).returncode == 17


@pytest.mark.parametrize("words", [[], ["tpu"], ["--no-cache"]])
def test_a_wrong_variant_is_refused(checkout, words):
    done = checkout.run("docker/build.sh", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not checkout.calls("docker")
