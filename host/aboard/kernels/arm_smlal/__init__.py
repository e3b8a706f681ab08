"""Kernels for cores whose widest product is SMLAL: Cortex-M3."""
