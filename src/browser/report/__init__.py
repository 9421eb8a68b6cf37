"""A comparison of runs as one HTML file that opens offline, and as images for papers."""
