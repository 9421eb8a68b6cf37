"""Muster as a Python library: `import muster`.

In the checkout the rooms (`envs`, `learners`, ...) stand beside this package, under PyMARL's names; where Muster is
installed they are inside it (`muster.envs`), and take nobody's names.
"""

__version__ = "0.1.0"
