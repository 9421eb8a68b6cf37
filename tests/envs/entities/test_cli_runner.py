"""What a person is shown and asked, and what becomes of what is typed."""

import io

import numpy as np
import pytest

from envs.entities import (
    CategoricalAction,
    CategoricalActionMask,
    CategoricalActionSpace,
    Entity,
    Environment,
    GlobalCategoricalAction,
    GlobalCategoricalActionMask,
    GlobalCategoricalActionSpace,
    Observation,
    ObsSpace,
    SelectEntityAction,
    SelectEntityActionMask,
    SelectEntityActionSpace,
)
from envs.entities.cli_runner import Agent, CliRunner

CHOICES = "Choices: 0, 2."


class Yard(Environment):
    """Two dogs and a ball; what is done is kept."""

    rest = False

    def obs_space(self):
        return ObsSpace(["hour"], {"Ball": Entity(["x"]), "Dog": Entity(["x", "y"])})

    def action_space(self):
        bark = CategoricalActionSpace(["left", "up", "leap"])
        day = GlobalCategoricalActionSpace(["sun", "rain"])
        return {"bark": bark, "fetch": SelectEntityActionSpace(), "day": day}

    def reset(self):
        self.done_so_far = []
        return self._seen()

    def act(self, actions):
        self.done_so_far.append(actions)
        return self._seen(truncated=True)

    def _seen(self, truncated=False):
        actions = {
            "bark": CategoricalActionMask(actor_types=["Dog"], mask=[[1, 0, 1], [1, 1, 1]]),
            "fetch": SelectEntityActionMask(actor_ids=["Rex"], actee_ids=["Bello", ("Ball", 0)]),
            "day": GlobalCategoricalActionMask(),
        }
        return Observation(
            entities={"Ball": [[0.5]], "Dog": ([[1, 2], [3, 4]], ["Bello", "Rex"])},
            visible={"Ball": [False]},
            global_features=[7],
            actions={} if self.rest else actions,
            reward=float(truncated),
            done=False,
            truncated=truncated,
        )


class Advisor(Agent):
    def act(self, obs):
        assert isinstance(obs, Observation)
        labels = ["left", "up", "leap"]
        # in another order than the environment's
        bark = CategoricalAction(
            ["Rex", "Bello"], np.array([1, 2]), labels, np.array([[0.1, 0.6, 0.3], [0.25, 0, 0.75]])
        )
        fetch = SelectEntityAction(["Rex"], [("Ball", 0)], np.array([[0.125, 0.875]]))
        return {"bark": bark, "fetch": fetch, "day": GlobalCategoricalAction(1, "rain", np.array([0.5, 0.5]))}, 2.5


def run(monkeypatch, capsys, *typed, env=None, agent=None, **more):
    env = env or Yard()
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
    CliRunner(env, agent).run(**more)
    return env, capsys.readouterr().out


def test_entities_and_choices_are_shown_by_number(monkeypatch, capsys):
    env, shown = run(monkeypatch, capsys, "2", "up", "0", "1")
    lines = shown.splitlines()
    assert "  Dog: x, y" in lines and "  action fetch: select an entity" in lines
    assert "   0 Ball  x 0.5  (hidden from the policy)" in lines
    assert "   2 Dog   x 3  y 4  (id Rex)" in lines
    assert "bark of 1 Dog: 0 left, 2 leap" in lines
    assert "fetch of 2 Dog: 1 Dog, 0 Ball" in shown
    assert "day: 0 sun, 1 rain" in shown
    assert lines[-1] == "Time is up: return 1 in 1 step."
    (actions,) = env.done_so_far
    assert (actions["bark"].actors, actions["bark"].labels) == (["Bello", "Rex"], ["leap", "up"])
    assert (actions["fetch"].actors, actions["fetch"].actees) == (["Rex"], [("Ball", 0)])
    assert actions["day"].label == "rain"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1", f"1 up is not possible now. {CHOICES}"),
        ("3", f"There is no choice 3. {CHOICES}"),
        ("-1", f"There is no choice -1. {CHOICES}"),
        ("9" * 50, f"There is no choice {'9' * 27}.... {CHOICES}"),
        ("", "Type a choice: 0, 2."),
        ("le", "'le' can be 0, 2: type the number."),
        ("lfet", "There is no choice 'lfet'. Did you mean 'left'? Allowed: leap, left."),
        ("\x1b[2J", "There is no choice ''\\x1b[2J''."),
    ],
)
def test_what_is_no_choice_is_answered_and_asked_again(monkeypatch, capsys, typed, answer):
    env, shown = run(monkeypatch, capsys, typed, "LEFT", "0", "ball", "s")
    assert answer in shown
    assert "\x1b" not in shown
    (actions,) = env.done_so_far
    assert actions["bark"].labels == ["left", "left"]
    assert actions["day"].label == "sun"


def test_the_agent_is_shown_and_enter_does_what_it_does(monkeypatch, capsys):
    env, shown = run(monkeypatch, capsys, "", "", "", "", agent=Advisor())
    assert "step 0  reward 0  return 0  expected return 2.5" in shown
    assert "bark of 1 Dog: 0 left 25.0%, 2 leap 75.0%\n[2] > " in shown
    assert "bark of 2 Dog: 0 left 10.0%, 1 up 60.0%, 2 leap 30.0%\n[1] > " in shown
    assert "fetch of 2 Dog: 1 Dog 12.5%, 0 Ball 87.5%\n[0] > " in shown
    assert "day: 0 sun 50.0%, 1 rain 50.0%\n[1] > " in shown
    (actions,) = env.done_so_far
    assert actions["bark"].labels == ["leap", "up"]
    assert (actions["fetch"].actees, actions["day"].label) == ([("Ball", 0)], "rain")


@pytest.mark.parametrize("typed", [["q"], ["0", "QUIT"], ["0"], []])
def test_q_and_the_end_of_the_input_quit(monkeypatch, capsys, typed):
    env, shown = run(monkeypatch, capsys, *typed)
    assert shown.endswith("\nquit\n")
    assert env.done_so_far == []


def test_it_waits_where_there_is_nothing_to_choose(monkeypatch, capsys):
    env = Yard()
    env.rest = True
    _, shown = run(monkeypatch, capsys, "", env=env)
    assert "There is nothing to choose. Enter continues: " in shown
    assert shown.endswith("Time is up: return 1 in 1 step.\n")


def test_it_begins_again_until_one_quits(monkeypatch, capsys):
    _, shown = run(monkeypatch, capsys, *["0", "0", "0", "0"] * 2, "q", restart=True)
    assert shown.count("Time is up") == 2
    assert shown.count("\nstep 0 ") == 3
