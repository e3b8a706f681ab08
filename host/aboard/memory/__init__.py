"""Memory planning: the problem, the planner, and a validator that is independent of the planner."""
