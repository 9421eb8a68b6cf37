"""The files of a suite's state, and what they add up to; read by the browser, too."""
