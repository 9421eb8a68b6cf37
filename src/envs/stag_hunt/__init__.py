"""PyMARL2's stag hunt, compiled: predators that catch stags and hares on a grid; docs/stag_hunt.md."""
