"""The records of a run for people: their places, their names, finding them, and writing them."""
