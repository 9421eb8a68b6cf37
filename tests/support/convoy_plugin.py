"""A plugin: the environments of `declared_envs`, for runs in separate processes."""

import declared_envs

declared_envs.register()
