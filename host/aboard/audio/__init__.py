"""Audio on the host: the features that a device computes from samples, for training."""

from aboard.audio.features import Features

__all__ = ["Features"]
