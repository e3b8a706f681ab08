"""Kernels for cores with MLA and without SIMD: Cortex-M3."""
