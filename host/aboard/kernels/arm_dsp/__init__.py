"""Kernels for cores with the DSP extension: Cortex-M4, M7 and M33 (SMLAD, SXTB16, SMMLAR)."""
