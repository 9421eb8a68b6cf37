"""Files: formats, and reading and writing them safely."""
