"""The path of `browser.reading` before it moved, which scripts of users import."""

from browser.reading import *  # noqa: F403
