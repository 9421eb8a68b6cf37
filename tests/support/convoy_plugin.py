"""A plugin: the parts of `convoy_team` and `declared_envs`, for runs in separate processes."""

import convoy_team
import declared_envs

convoy_team.register()
declared_envs.register()
