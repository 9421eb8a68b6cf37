"""`python -m muster` is the command `muster`."""

from command import main

if __name__ == "__main__":
    main()
