"""What a suite's file says: its runs and their settings."""
