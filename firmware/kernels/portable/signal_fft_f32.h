/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_fft_f32.h
 * Fourier transforms of real signals of float: aboard_signal_fft_f32_rfft and aboard_signal_fft_f32_irfft, whose
 * manual is signal_fft.h.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGNAL_FFT_F32_H
#define ABOARD_KERNELS_PORTABLE_SIGNAL_FFT_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

#define ABOARD_FFT(name) aboard_signal_fft_f32_##name
#define ABOARD_FFT_T float
#define ABOARD_FFT_WIDE float
#define ABOARD_FFT_ROUND(x) (x)
#define ABOARD_FFT_HALF(x) ((x) * 0.5f)
#define ABOARD_FFT_DIVIDE(x, f) (x)
#define ABOARD_FFT_MEAN(x, n) ((x) / (float)(n))
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
