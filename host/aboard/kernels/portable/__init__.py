"""Kernels in portable C for any core, and code that they share with kernels of other instruction sets."""
