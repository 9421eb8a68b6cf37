"""Settings of all tests."""

import os

from hypothesis import settings

# a busy machine is not a failure; in CI the same examples are tried every time
settings.register_profile("muster", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("muster")
