"""What happens in a step, compiled."""
