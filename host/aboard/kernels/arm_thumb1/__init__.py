"""Kernels for Arm cores with MULS alone: no multiply-accumulate, no long products (Cortex-M0, M0+, M23)."""
