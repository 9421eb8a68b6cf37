"""A second set of random generators."""

import random

import numpy as np
import pytest
import torch as th

from utils.numbers.random_streams import RandomStream, global_generators, seed_everything, set_global_generators


def _draw():
    return random.random(), np.random.rand(), th.rand(1).item()


def test_the_stream_and_training_do_not_see_each_other():
    seed_everything(1)
    alone = [_draw() for _ in range(4)]
    seed_everything(9)
    stream_alone = [_draw() for _ in range(3)]

    seed_everything(1)
    stream, training, streamed = RandomStream(9), [], []
    for count in (1, 2):
        training.append(_draw())
        with stream.active():
            streamed += [_draw() for _ in range(count)]
        training.append(_draw())
    assert training == alone
    assert streamed == stream_alone


def test_seeds_make_the_same_numbers_again():
    draws = []
    for seed in (5, 5, 6, 2**40 + 5):
        seed_everything(seed)
        draws.append(_draw())
    assert draws[0] == draws[1]
    assert all(len(set(column)) > 1 for column in zip(*draws[1:3], strict=True))


def test_a_stream_is_left_when_something_fails():
    seed_everything(1)
    alone = [_draw() for _ in range(2)]
    seed_everything(1)
    stream, training = RandomStream(9), [_draw()]
    with pytest.raises(KeyError), stream.active():
        first = _draw()
        raise KeyError
    training.append(_draw())
    assert training == alone
    with stream.active():
        second = _draw()
    seed_everything(9)
    assert [first, second] == [_draw(), _draw()]


def test_its_state_can_be_kept():
    stream = RandomStream(3)
    state = stream.state_dict()
    with stream.active():
        first = _draw()
    other = RandomStream(4)
    other.load_state_dict(state)
    with other.active():
        assert _draw() == first


@pytest.mark.parametrize(("cards", "taken"), [(0, []), (1, ["a"]), (2, ["a", "b"]), (5, ["a", "b", "c"])])
def test_a_state_of_a_machine_with_another_number_of_cards_is_taken(cards, taken, monkeypatch):
    found = []
    monkeypatch.setattr(th.cuda, "is_available", lambda: cards > 0)
    monkeypatch.setattr(th.cuda, "device_count", lambda: cards)
    monkeypatch.setattr(th.cuda, "set_rng_state", lambda state, card: found.append((card, state)))
    set_global_generators({**global_generators(), "cuda": ["a", "b", "c"]})
    assert found == list(enumerate(taken))
