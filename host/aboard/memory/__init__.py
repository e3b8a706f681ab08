"""Memory planning: the problem, the planner, and a validator that does not know the planner."""
