"""Numbers: schedules, running statistics, random streams."""
