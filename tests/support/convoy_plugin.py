"""A plugin: the parts of `convoy_team` and `declared_envs`, for runs in processes of their own."""

import convoy_team
import declared_envs

convoy_team.register()
declared_envs.register()
