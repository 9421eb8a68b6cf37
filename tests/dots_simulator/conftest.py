import threading
import traceback
from contextlib import contextmanager

import pytest

from dots_simulator import Simulator
from dots_trainers import Trainer, Trainer0


class Played:
    """A simulator's `script(simulator)` in a thread, which the trainer of the test drives."""

    def __init__(self, path, script, **options):
        self.error = None
        self._thread = threading.Thread(target=self._run, args=(path, script, options), daemon=True)
        self._thread.start()

    def _run(self, path, script, options):
        try:
            with Simulator(str(path), **options) as simulator:
                script(simulator)
        except BaseException as error:
            traceback.print_exc()  # the trainer of the test then waits in vain
            self.error = error

    def end(self):
        """Wait for its end, and raise what it has raised."""
        self._thread.join(10)
        assert not self._thread.is_alive()
        if self.error:
            raise self.error


@pytest.fixture
def played():
    return Played


@pytest.fixture
def playing(trainer):
    """A context in which the fixture `trainer` drives a script, from its coming to the trainer's end."""

    @contextmanager
    def play(script, **options):
        game = Played(trainer.path, script, **options)
        trainer.attach()
        yield
        trainer.close()
        game.end()

    return play


@pytest.fixture(params=[False, True], ids=["polling", "woken"])
def wake(request):
    return request.param


@pytest.fixture
def trainer(tmp_path, wake):
    trainer = Trainer(tmp_path, wake)
    yield trainer
    trainer.vanish()


@pytest.fixture
def trainer_0(tmp_path, wake):
    trainer = Trainer0(tmp_path, wake)
    yield trainer
    trainer.vanish()
