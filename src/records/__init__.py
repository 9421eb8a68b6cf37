"""The records of a run for people: their places, their names, finding them, and writing them."""

from utils.old_sacred import let_sacred_be_imported

let_sacred_be_imported()
