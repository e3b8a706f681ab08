"""A device that runs an image: finding, flashing, talking, timing."""
