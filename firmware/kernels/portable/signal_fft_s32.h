/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_fft_s32.h
 * Fourier transforms of real signals of int32: aboard_signal_fft_s32_rfft and aboard_signal_fft_s32_irfft, whose
 * manual is signal_fft.h.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGNAL_FFT_S32_H
#define ABOARD_KERNELS_PORTABLE_SIGNAL_FFT_S32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

#define ABOARD_FFT(name) aboard_signal_fft_s32_##name
#define ABOARD_FFT_T int32_t
#define ABOARD_FFT_WIDE int64_t
#define ABOARD_FFT_ROUND(x) ((int32_t)(((x) + ((int32_t)1 << 30)) >> 31))
#define ABOARD_FFT_HALF(x) ((int32_t)(x) >> 1)
#define ABOARD_FFT_DIVIDE(x, f) ABOARD_FFT_ROUND((int64_t)(x) * (INT32_MAX / (f)))
#define ABOARD_FFT_MEAN(x, n) (x)
#include "signal_fft.h"
#undef ABOARD_FFT
#undef ABOARD_FFT_T
#undef ABOARD_FFT_WIDE
#undef ABOARD_FFT_ROUND
#undef ABOARD_FFT_HALF
#undef ABOARD_FFT_DIVIDE
#undef ABOARD_FFT_DIVIDED
#undef ABOARD_FFT_MEAN

#endif
