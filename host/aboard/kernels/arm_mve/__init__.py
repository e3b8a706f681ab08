"""Kernels for cores with Helium (M-profile Vector Extension): Cortex-M55 and M85."""
