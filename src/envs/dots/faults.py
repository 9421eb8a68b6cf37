"""What can go wrong with a simulator, in a message that is enough for the user."""

from utils.errors import MusterError


class SimulatorFault(MusterError):
    """The simulator exited, crashed, hung, closed, speaks another version, or wrote what no simulator writes.

    The session is over: nothing of the turn in which it was noticed is to be used.
    """


class NoAnswerError(SimulatorFault):
    """Nothing came within so many seconds, and there is no process to look at."""

    def __init__(self, message: str, seconds: float):
        super().__init__(message)
        self.seconds = seconds
