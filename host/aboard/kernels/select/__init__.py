"""The one place where the kernel of a node is chosen: strategy, variants, cost model and its measured data."""
