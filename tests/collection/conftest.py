"""Where collectors are: processes of this machine, or actors of a stand-in for Ray."""

import pytest

from collection import ray_transport
from ray_standin import StandInActors


@pytest.fixture
def cluster(monkeypatch):
    """A stand-in, in place of Ray."""
    made = StandInActors()
    monkeypatch.setattr(ray_transport, "RayCluster", lambda address, cpus: made)
    return made


@pytest.fixture(params=["processes", "ray"])
def transport(request):
    if request.param == "ray":
        request.getfixturevalue("cluster")
    return request.param
