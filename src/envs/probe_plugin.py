"""A plugin that makes the probe games an environment, env=probe; src/probe.py does without."""

from envs.probes import register

register()
