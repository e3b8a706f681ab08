"""Kernels for RISC-V cores with vectors of 128 bits or more (Zve32x)."""
