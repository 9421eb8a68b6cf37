"""The exceptions of mlagents_envs."""

from envs.dots.faults import SimulatorFault


class UnityException(SimulatorFault):
    """Any of these."""


class UnityEnvironmentException(UnityException):
    """The environment cannot be used so: it is closed, say."""


class UnityCommunicationException(UnityException):
    """The simulator has failed, or has closed."""


class UnityTimeOutException(UnityException, TimeoutError):
    """The simulator took too long."""


class UnityActionException(UnityException):
    """The actions do not fit the behaviour."""
