"""The command line: its words, its programs, and Sacred under them."""

from utils.old_sacred import let_sacred_be_imported

let_sacred_be_imported()
