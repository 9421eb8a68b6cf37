"""The run browser: reads results folders, compares runs, draws figures. Needs nothing of the trainer.

`records` reads, `stats` compares, `figures` draws, `report` writes one HTML file; each is usable alone.
"""
