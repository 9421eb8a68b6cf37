"""entity-gym's vectorised environments, wrappers and recorder, by their module names (docs/entity_gym.md).

Scripts written for entity-gym use them; runs do not: they step `envs.entities.batch.EntityBatch`.
"""
