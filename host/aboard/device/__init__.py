"""The device path on the host: finds a board, flashes it, runs models on it and times them."""
