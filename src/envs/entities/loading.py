"""The user's environments of entities: a class by its file, which may be written for entity-gym."""

from envs.entities.entity_gym_names import alias_entity_gym
from envs.entities.environment import Environment
from utils.config.user_modules import imported
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown


def environment_class(name: str) -> type[Environment]:
    """The class `path/to/file.py:ClassName` or `module:ClassName`. `entity_gym.env` is `envs.entities` for the file.

    Raises:
        ConfigError: there is no such file or class, importing it fails, or it is no `Environment`.
    """
    module, _, class_name = name.rpartition(":")
    if not module or not class_name:
        raise ConfigError(f"environment={shown(name)}: expected path/to/file.py:ClassName or module:ClassName.")
    alias_entity_gym()
    found = vars(imported("environment", module))
    chosen = found.get(class_name)
    if isinstance(chosen, type) and issubclass(chosen, Environment):
        return chosen
    if chosen is not None:
        raise ConfigError(f"environment: '{class_name}' of '{module}' is no subclass of entity_gym.env.Environment.")
    classes = [key for key, value in found.items() if _is_own_environment(value, found["__name__"])]
    raise ConfigError(f"environment: '{module}' has no class '{shown(class_name)}'.{suggestion(class_name, classes)}")


def _is_own_environment(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Environment) and value.__module__ == module
