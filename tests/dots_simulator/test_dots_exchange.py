"""What a simulator and its trainer say to each other beside rows and actions."""

from uuid import UUID

import numpy as np
import pytest

from dots_simulator.layout import LayoutError
from dots_trainers import Trainer, float32s, int32s, message

ENGINE = "e951342c-4f7e-11ea-b238-784f4387d1f7"
PROPERTIES = "60ccf7d0-4f7e-11ea-b238-784f4387d1f7"
PARAMETERS = "534c891e-810f-11ea-a9d0-822485860400"
STATISTICS = "a1d8f7b7-cec8-50f9-b78b-d3e165a78520"
OWN = "01234567-89ab-cdef-0123-456789abcdef"
ONE = [np.zeros((1, 1))]


def text(words):
    return int32s(len(words)) + words.encode()


def one_agent(simulator, then=lambda turn: None):
    """Shows one agent in every turn."""
    agent = simulator.behaviour("One", 1, observations=[(1,)], continuous=1)
    turn = 0
    while simulator.exchange():
        then(turn)
        agent.decide([turn], [np.full((1, 1), turn)])
        turn += 1


def test_settings_and_parameters_arrive(trainer, playing):
    simulators = []
    with playing(lambda simulator: (simulators.append(simulator), one_agent(simulator))):
        trainer.turn(
            message(ENGINE, int32s(2) + float32s(20))
            + message(ENGINE, int32s(0, 84, 96))
            + message(PARAMETERS, text("gravity") + int32s(0) + float32s(1.5))
            + message(PARAMETERS, text("sampled") + int32s(1) + float32s(1.5))
            + message(PROPERTIES, text("size") + float32s(0.25)),
            reset=True,
        )
        trainer.turn()
        (simulator,) = simulators
        assert simulator.engine == {"time_scale": 20.0, "resolution": (84, 96)}
        assert simulator.parameters == {"gravity": 1.5} and simulator.parameter("other", 7.0) == 7.0
        assert simulator.properties == {"size": 0.25}


def test_the_engines_old_message_has_all_settings(trainer, playing):
    simulators = []
    with playing(lambda simulator: (simulators.append(simulator), one_agent(simulator))):
        trainer.turn(message(ENGINE, int32s(80, 60, 5) + float32s(10) + int32s(-1)), reset=True)
        assert simulators[0].engine == {
            "resolution": (80, 60),
            "quality_level": 5,
            "time_scale": 10.0,
            "target_frame_rate": -1,
        }


def test_statistics_and_bytes_of_ones_own(trainer, playing):
    heard = []

    def script(simulator):
        simulator.listen(UUID(OWN), heard.append)
        with pytest.raises(ValueError, match="has a listener already"):
            simulator.listen(UUID(OWN), heard.append)
        simulator.send(UUID(OWN), b"hello")
        simulator.send_statistic("speed", 2.5, 2)
        simulator.set_property("size", 3.0)
        one_agent(simulator)

    with playing(script):
        trainer.turn(message(OWN, b"abc") + message(OWN, b""), reset=True)
        assert trainer.heard == message(OWN, b"hello") + message(
            STATISTICS, text("speed") + float32s(2.5) + int32s(2)
        ) + message(PROPERTIES, text("size") + float32s(3))
        trainer.turn()
        assert trainer.heard == b"" and heard == [b"abc", b""]


def test_a_message_waits_for_a_listener_until_the_next_ones(trainer, playing):
    heard = []

    def then(turn, simulator):
        if turn == 1:
            simulator.listen(UUID(OWN), heard.append)
            simulator.listen(UUID(OWN[:-1] + "0"), heard.append)

    with playing(lambda simulator: one_agent(simulator, lambda turn: then(turn, simulator))):
        trainer.turn(message(OWN[:-1] + "0", b"forgotten"), reset=True)
        trainer.turn(message(OWN, b"kept"))
        trainer.turn()
        assert heard == [b"kept"]


def test_queries_exchange_messages_and_no_step(trainer, playing):
    turns = []

    def script(simulator):
        simulator.listen(UUID(OWN), lambda body: simulator.send(UUID(OWN), body[::-1]))
        one_agent(simulator, turns.append)

    with playing(script):
        # before there is anything to show
        trainer.turn(message(OWN, b"abc"), query=True)
        assert trainer.heard == message(OWN, b"cba") and turns == [] and trainer.header()[28] == 0
        trainer.turn(reset=True)
        for _ in range(3):
            trainer.turn(message(OWN, b"12"), query=True)
            assert trainer.heard == message(OWN, b"21")
            assert trainer.number("One", "decisions/count") == 1
        assert turns == [0]
        trainer.turn()
        assert turns == [0, 1]


def test_long_messages_make_bigger_files(trainer, playing):
    def script(simulator):
        simulator.listen(UUID(OWN), lambda body: simulator.send(UUID(OWN), 3 * body))
        one_agent(simulator)

    with playing(script):
        trainer.turn(reset=True)
        number = trainer.number_of_file
        for size in (100, 1000, 3000):
            trainer.turn(message(OWN, bytes(size)), query=True)
            assert trainer.heard == message(OWN, bytes(3 * size))
            # the simulator's own file, after the trainer's
            assert trainer.capacity == 2 * len(trainer.heard) + 20
        assert trainer.number_of_file > number + 3
        assert trainer.number("One", "decisions/count") == 1 and trainer.array("One", "decisions/agent_id", 1) == [0]
    assert not list(trainer.path.parent.glob("memory*_"))


def test_one_new_file_a_turn(trainer, playing):
    """The real trainer fails when a second one appears in a turn."""

    def script(simulator):
        agents = [simulator.behaviour(name, 1, observations=[(1,)], continuous=1) for name in "AB"]
        while simulator.exchange():
            simulator.send(UUID(OWN), bytes(500 * len(agents)))
            agents.append(simulator.behaviour(f"C{len(agents)}", 1, observations=[(2,)], discrete=(2,)))
            agents[0].decide([0], ONE)

    with playing(script):
        for turn in range(4):
            before = trainer.number_of_file + (turn == 0)  # the trainer's own
            trainer.turn(reset=turn == 0)
            assert trainer.number_of_file == before + 1
            assert list(trainer.groups()) == ["A", "B", *(f"C{i + 2}" for i in range(turn + 1))]
            assert trainer.heard == message(OWN, bytes(500 * (2 + turn)))


def test_behaviours_take_turns_as_in_unity(trainer, playing):
    def script(simulator):
        agents = [simulator.behaviour(name, 2, observations=[(1,)], continuous=1) for name in "AB"]
        while simulator.exchange():
            for i, agent in enumerate(agents):
                agent.decide([i], ONE, agent.continuous.sum())

    with playing(script, take_turns=True):
        trainer.turn(reset=True)
        for turn in range(6):
            shown = [trainer.number(name, "decisions/count") for name in "AB"]
            assert shown == ([1, 0] if turn % 2 == 0 else [0, 1])
            name = "AB"[turn % 2]
            if turn > 1:
                assert trainer.array(name, "decisions/reward", 1) == [turn - 2]
            trainer.act(name, "continuous", [[turn]])
            trainer.turn()
        # a reset in the turn of A: B's rows of this turn are dropped
        trainer.turn(reset=True)
        assert [trainer.number(name, "decisions/count") for name in "AB"] == [1, 0]


def test_another_version_is_refused_by_both_numbers(tmp_path, played):
    trainer = Trainer(tmp_path, version=(0, 3, 1))
    game = played(trainer.path, one_agent)
    with pytest.raises(LayoutError, match=r"speaks version 0\.3\.1; known are 0 and 0\.3\.2"):
        game.end()
    # the trainer learns both
    assert trainer.header()[:16] == int32s(0, 3, 2) + bytes([0, 1, 0, 1])


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda agent: agent.decide([1, 2], [np.zeros((2, 1))]), "shows 2 agents in a turn; it was registered with 1"),
        (lambda agent: agent.decide([1], [np.zeros(1)]), r"observation 0 of 'One' has shape \(1,\); it must"),
        (lambda agent: agent.end([1], [], 0.0), "has 1 observations; 0 were given"),
        (lambda agent: agent.decide([1], ONE, 0.0, np.zeros((1, 3))), r"masks of 'One' have shape \(1, 3\)"),
    ],
)
def test_wrong_rows_are_refused(tmp_path, played, wrong, message):
    trainer = Trainer(tmp_path)
    raised = []

    def script(simulator):
        agent = simulator.behaviour("One", 1, observations=[(1,)], discrete=(2,))
        with pytest.raises(ValueError, match="cannot show anything before the first exchange"):
            agent.decide([1], ONE)
        simulator.exchange()
        with pytest.raises(ValueError, match="two behaviours are called 'One'"):
            simulator.behaviour("One", 1, observations=[(1,)])
        with pytest.raises(ValueError, match=message):
            wrong(agent)
        raised.append(True)

    game = played(trainer.path, script)
    trainer.attach()
    trainer.give(reset=True)
    game.end()
    assert raised
