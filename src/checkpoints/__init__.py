"""Everything that a run needs to go on as if it had not been killed, in folders that are whole or not there."""
