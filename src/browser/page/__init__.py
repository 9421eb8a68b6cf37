"""The page: a results folder in a web browser, served to this machine only; `python src/browse.py` opens it.

An address holds the whole of a view: `address` reads and writes it, `views` draws it, `security` guards it.
"""
