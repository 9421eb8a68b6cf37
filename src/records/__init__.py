"""What a run writes for people: where it goes, how it is named and found again, and who writes it."""
