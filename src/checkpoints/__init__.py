"""Everything that a killed run needs to resume exactly, in folders that are either whole or missing."""
