"""How long a suite will take on this machine: what is known of the speed of its runs, and what follows from it."""
