"""Tables of results beside published ones, made of small files that a repository can keep."""
