/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_fft_s16.h
 * Fourier transforms of real signals of int16: aboard_signal_fft_s16_rfft and aboard_signal_fft_s16_irfft, whose
 * manual is signal_fft.h.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGNAL_FFT_S16_H
#define ABOARD_KERNELS_PORTABLE_SIGNAL_FFT_S16_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

#define ABOARD_FFT(name) aboard_signal_fft_s16_##name
#define ABOARD_FFT_T int16_t
#define ABOARD_FFT_WIDE int32_t
#define ABOARD_FFT_ROUND(x) ((int16_t)(((x) + ((int32_t)1 << 14)) >> 15))
#define ABOARD_FFT_HALF(x) ((int16_t)((x) >> 1))
#define ABOARD_FFT_DIVIDE(x, f) ABOARD_FFT_ROUND((int32_t)(x) * (INT16_MAX / (f)))
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
