"""`python src/play.py`: which game is played, and what is refused."""

import io
import json
import re
import shutil

import numpy as np
import pytest

import clone
import play as door
from cli.compose import compose_config
from entity_runs import parts_of
from envs.recorded.episodes import joined, transitions
from envs.recorded.formats import open_data
from terminals import Typed, lines_of

OWN = """
from entity_gym.env import *


class Light(Environment):
    def __init__(self, steps=1):
        self.left = steps

    def obs_space(self):
        return ObsSpace(["left"])

    def action_space(self):
        return {"press": GlobalCategoricalActionSpace(["on", "off"])}

    def reset(self):
        return self.seen()

    def act(self, actions):
        self.left -= 1
        return self.seen()

    def seen(self):
        press = {"press": GlobalCategoricalActionMask()}
        return Observation(global_features=[self.left], actions=press, reward=2.0, done=self.left == 0)
"""


def played(monkeypatch, capsys, words, *typed):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
    code = door.main(words)
    return code, capsys.readouterr()


def test_a_game_with_arguments_and_a_seed(monkeypatch, capsys):
    words = ["MineSweeper", "--seed", "3", "with", "env_args.kwargs.width=2", "env_args.kwargs.nmines=1"]
    first, again = (played(monkeypatch, capsys, words, "q") for _ in range(2))
    assert first[0] == 0
    assert first[1].out == again[1].out
    assert "   0 Mine   x " in first[1].out
    assert first[1].out.count(" Mine   x ") == 1


def test_the_games_of_an_environment_config(monkeypatch, capsys, tmp_path):
    (tmp_path / "my.yaml").write_text("env: entities\nenv_args: {environment: NotHotdog}\n")
    code, shown = played(monkeypatch, capsys, ["--env-config", str(tmp_path / "my.yaml")], "hot")
    assert code == 0
    assert "classify of 0 Player: 0 not_hotdog, 1 hotdog" in shown.out
    assert "in 1 step." in shown.out


def test_ones_own_environment(monkeypatch, capsys, tmp_path):
    (tmp_path / "light.py").write_text(OWN)
    words = [f"{tmp_path / 'light.py'}:Light", "with", "env_args.kwargs.steps=2"]
    code, shown = played(monkeypatch, capsys, words, "on", "off")
    assert code == 0
    assert "The episode is over: return 4 in 2 steps." in shown.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["MineSweper"], "There is no game 'MineSweper'. Did you mean 'MineSweeper'?"),
        (["latest"], "has no run"),
        (["--env-config", "two_step"], "env=two_step: only environments of entities"),
        (["Xor", "with", "env_args.kwarg=1"], "env_args.kwarg: unknown key. Did you mean 'kwargs'?"),
        (["Xor", "with", "env_args.kwargs.x=1"], "env_args.kwargs: Xor takes no 'x'"),
        (["MineSweeper", "with", "env_args.kwargs.nmines=99"], "99 mines and 2 robots need more than 6x6 cells"),
        (["nothing.py:Light"], "there is no file"),
        (["Xor", "--config", "ippo"], "--config chooses a policy, whose weights checkpoint_path=FOLDER names"),
        (["Xor", "with", "checkpoint_path=x"], "checkpoint_path needs --config"),
        (["latest", "--env-config", "entities"], "--env-config does not go with a run"),
    ],
)
def test_what_cannot_be_played_is_refused(monkeypatch, capsys, tmp_path, words, message):
    monkeypatch.chdir(tmp_path)
    code, shown = played(monkeypatch, capsys, words)
    assert (code, shown.out) == (2, "")
    assert message in shown.err


GAME = ["Count", "--seed", "4", "--restart", "--record"]


def recorded(folder):
    """The description, and the steps in which something was done."""
    data = open_data(folder)
    whole = joined(list(data.parts()))
    done = transitions(whole)
    return data.description, {key: value[done] for key, value in whole.items()}


def test_what_is_played_is_recorded(monkeypatch, capsys, tmp_path):
    folder = tmp_path / "new" / "played"
    code, shown = played(monkeypatch, capsys, [*GAME, str(folder)], "3", "0", "6", "q")  # of 3, 1 and 6 beans
    assert (code, shown.err) == (0, "")
    assert f"Recorded: {folder} has 3 episodes, 3 steps." in shown.out
    about, steps = recorded(folder)
    assert (about.env, about.env_args["environment"]) == ("entities", "Count")
    assert steps["episode"].tolist() == [0, 1, 2]
    assert steps["entities/Bean/count"].flatten().tolist() == [3, 1, 6]
    assert steps["actions"][:, 0, 0].tolist() == [3, 0, 6]
    assert steps["avail_actions"][1, 0].nonzero()[0].tolist() == [0, 1]
    assert steps["reward"].flatten().tolist() == [1, 0, 1]
    assert steps["terminated"].flatten().tolist() == [1, 1, 1]


def test_episodes_are_added_to_a_recording_of_the_same_game(monkeypatch, capsys, tmp_path):
    game = ["MineSweeper", "--seed", "3", "--record", str(tmp_path)]
    assert "Nothing was recorded." in played(monkeypatch, capsys, game, "q")[1].out
    assert not any(tmp_path.iterdir())
    for total in ("1 episode, 1 step", "2 episodes, 2 steps"):
        shown = played(monkeypatch, capsys, game, "4", "4", "q")[1]  # broken off after a step of two robots
        assert f"has {total}. " in shown.out
    _, steps = recorded(tmp_path)
    assert steps["episode"].tolist() == [0, 1]
    assert steps["actions"].flatten().tolist() == [4, 4, 4, 4]
    assert np.array_equal(steps["entities/Mine"][0], steps["entities/Mine"][1])
    code, shown = played(monkeypatch, capsys, ["Xor", "--record", str(tmp_path)], "q")
    assert code == 2 and "is a recording of env_args=" in shown.err and "Choose another folder" in shown.err
    (tmp_path / "file").touch()
    code, shown = played(monkeypatch, capsys, ["Xor", "--record", str(tmp_path / "file")], "q")
    assert code == 2 and "recording.json cannot be read (Not a directory)" in shown.err


def test_ones_own_recording_is_cloned_from_everywhere_and_a_copy_is_not(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "light.py").write_text(OWN)
    for choice in ("0", "1"):  # an episode each
        assert played(monkeypatch, capsys, ["light.py:Light", "--record", "mine"], choice)[0] == 0
    assert open_data("mine").description.env_args["environment"] == f"{tmp_path / 'light.py'}:Light"
    shutil.copytree("mine", "theirs")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert clone.main(["../mine", "--epochs", "1"]) == 0, capsys.readouterr().err
    assert clone.main(["../theirs", "--epochs", "1"]) == 2
    assert "The recording has settings that import code" in capsys.readouterr().err


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Results with the record of a run of Xor, and the weights of a policy that has learned nothing."""
    results = tmp_path_factory.mktemp("results")
    parts, learner = parts_of("Xor", {})
    parts.runner.close_env()
    folder = results / "models" / "first" / "100"
    folder.mkdir(parents=True)
    learner.save_models(str(folder))
    record = results / "sacred" / "1"
    record.mkdir(parents=True)
    (record / "info.json").write_text(json.dumps({"unique_token": "first"}))
    config = compose_config("enn_ppo", "entities").config
    config["env_args"]["environment"] = "Xor"
    (record / "config.json").write_text(json.dumps(config))
    return results


@pytest.mark.parametrize("words", [["first", "--results", "{}"], ["Xor", "--config", "enn_ppo", "with", "{}"]])
def test_the_policy_of_a_run_advises(monkeypatch, capsys, weights, words):
    filled = {"first": str(weights), "Xor": f"checkpoint_path={weights / 'models' / 'first'}"}[words[0]]
    code, shown = played(monkeypatch, capsys, [word.replace("{}", filled) for word in words], "maybe", "")
    assert code == 0, shown.err
    assert f"The policy of {weights / 'models' / 'first'} advises." in shown.out
    assert "expected return " in shown.out
    (first, second) = re.search(r"output: 0 0 ([\d.]+)%, 1 1 ([\d.]+)%", shown.out).groups()
    assert abs(float(first) + float(second) - 100) < 0.2
    assert "There is no choice 'maybe'." in shown.out and "in 1 step." in shown.out


def test_code_that_a_record_names_must_be_named(monkeypatch, capsys, weights, tmp_path):
    record = weights / "sacred" / "2"
    record.mkdir(exist_ok=True)
    config = json.loads((weights / "sacred" / "1" / "config.json").read_text())
    name = f"{tmp_path / 'light.py'}:Light"
    config["env_args"]["environment"] = name
    (tmp_path / "light.py").write_text("raise SystemExit('imported')")
    (record / "config.json").write_text(json.dumps(config))
    (record / "info.json").write_text(json.dumps({"unique_token": "first"}))
    code, shown = played(monkeypatch, capsys, ["2", "--results", str(weights)])
    assert code == 2
    assert f"with env_args.environment={name}" in shown.err
    code, shown = played(monkeypatch, capsys, ["2", "--results", str(weights), "--plugin", name])
    assert code == 2 and "it calls sys.exit(imported)" in shown.err


@pytest.mark.slow
def test_a_session_fits_a_terminal_of_80_columns(tmp_path):
    typed = Typed(["CherryPick", "--seed", "1"], tmp_path, program="play.py")
    typed.read_until("> ")
    typed.press("99\n3\nq\n")
    code, shown = typed.end()
    assert (code, shown.rstrip().endswith("quit")) == (0, True)
    assert "There is no choice 99." in shown and "step 1 " in shown and "Traceback" not in shown
    assert [line for line in lines_of(shown) if len(line) > 80] == []
