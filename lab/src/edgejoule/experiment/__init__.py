"""What a user writes, and the plan that follows from it."""
