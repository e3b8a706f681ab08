"""Kernels in portable C for any core, and what kernels of several instruction sets have in common with them."""
