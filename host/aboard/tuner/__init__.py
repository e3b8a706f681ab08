"""The tuner: tries every point of the devices, checks each bit for bit, and finds the best for each workload."""
