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


class UnityCommunicatorStoppedException(UnityException):
    """For scripts that catch it; here it is a UnityCommunicationException."""


class UnityObservationException(UnityException):
    """For scripts that catch it."""


class UnitySideChannelException(UnityException):
    """For scripts that catch it."""


class UnityWorkerInUseException(UnityException):
    """For scripts that catch it: there are no ports here that could be in use."""


class UnityPolicyException(UnityException):
    """For scripts that catch it."""
