"""What can go wrong with a simulator, in a message that is enough for the user."""

from utils.errors import MusterError


class SimulatorFault(MusterError):
    """The simulator exited, crashed, hung, closed, speaks another version, or wrote what no simulator writes.

    The session is over: nothing of the turn in which it was noticed is to be used.
    """
