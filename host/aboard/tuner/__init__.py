"""Tuning: tries every point of the devices' spaces, checks each bit for bit, and finds the best for each workload."""
