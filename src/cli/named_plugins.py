"""The plugins that a command line names, for pages about their parts."""

from checks.plugins import import_plugins, joined
from cli.arguments import Arguments
from cli.config_files import load_config_file
from utils.config.merging import CHOOSING, config_path


def import_named_plugins(arguments: Arguments) -> None:
    """Import the plugins of the files that --config and --env-config name, and those after `with`.

    Parameter files, which are code, are not run.

    Raises:
        ConfigError: there is no such file, or a plugin cannot be imported.
    """
    of_files = []
    for name, family in ((arguments.algorithm, "algs"), (arguments.environment, "envs")):
        path = config_path(name, family) if name else None
        if path is not None and path.suffix not in CHOOSING:
            of_files.append(load_config_file(path).get("plugins"))
    import_plugins(joined(*of_files, arguments.settings.get("plugins")))
