"""Muster as a Python library: `import muster`.

In the checkout the rooms (`envs`, `learners`, ...) stand beside this package, under PyMARL's names; where Muster is
installed they are inside it (`muster.envs`), and take nobody's names. `import muster.envs` works in both.
"""

from utils.own_aliases import let_installed_names_be_imported

__version__ = "0.1.0"

let_installed_names_be_imported()
