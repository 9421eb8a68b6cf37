"""A program that compiles the simulators, once for all processes of tests."""

import envs.racing.batch
import envs.skirmish.batch

envs.racing.batch.prepare()
envs.skirmish.batch.prepare()
