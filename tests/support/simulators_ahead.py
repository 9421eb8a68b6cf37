"""A program that compiles the simulators, once for all processes of tests."""

from envs.lbf.batch import Foragings
from envs.particles.batch import Worlds
from envs.racing.batch import BatchedRaces
from envs.skirmish.batch import BatchedSkirmish

Worlds.prepare()
BatchedRaces.prepare()
Foragings.prepare()
BatchedSkirmish.prepare()
