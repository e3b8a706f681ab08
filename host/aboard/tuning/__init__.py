"""What can be tuned of a device, and records of what was found to be best. Knows nothing of the compiler."""
