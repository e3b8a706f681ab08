"""The compile path on one screen: from a model file to a bundle, or to code in this process."""
