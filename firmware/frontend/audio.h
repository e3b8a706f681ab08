/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frontend/audio.h
 * Features of a frame of sound: energies on the mel scale, their logarithms, and cepstral coefficients (MFCC).
 *
 *     samples -> window -> scale -> FFT -> energies -> mel channels -> square roots
 *             [-> noise reduction [-> gain control]] -> logarithms [-> cosine transform]
 *
 * The steps up to the logarithms are those of TensorFlow Lite for Microcontrollers' signal library, bit for bit: the
 * kernels of its operators compute them. host/aboard/frontend/audio.py is the same in numpy. The tables come from the
 * host (`aboard.frontend`), whose sources call these functions with literal parameters, so that the compiler leaves out
 * what a front end does not use.
 */
#ifndef ABOARD_FRONTEND_AUDIO_H
#define ABOARD_FRONTEND_AUDIO_H

#include <stdbool.h>
#include <stdint.h>

#include "../kernels/portable/signal_fft_s16.h"
#include "../kernels/portable/signal_filter_bank.h"
#include "../kernels/portable/signal_window.h"
#include "aboard/config.h"

/** Tables of a front end; unused ones are NULL. */
typedef struct {
    const int16_t *window;   /**< Weights of the samples. */
    const int16_t *twiddles; /**< As for aboard_signal_fft_s16_rfft. */
    const int16_t *halves;   /**< As for aboard_signal_fft_s16_rfft. */
    const int16_t *above;    /**< Weights of the channel above a group of energies. */
    const int16_t *below;    /**< Weights of the channel below it. */
    const int16_t *energies; /**< First energy of each group. */
    const int16_t *starts;   /**< First weight of each group. */
    const int16_t *widths;   /**< Energies of each group. */
    const int16_t *gains;    /**< As for aboard_signal_pcan. */
    const uint16_t *logs;    /**< As for aboard_signal_filter_bank_log. */
    const int16_t *cosines;  /**< As for aboard_frontend_mfcc. */
} aboard_audio_tables_t;

/** Parameters of a front end. */
typedef struct {
    aboard_signal_window_t window;
    aboard_signal_fft_s16_t fft;
    int32_t channels; /**< Channels on the mel scale. */
    bool reduces;     /**< Whether noise is reduced. */
    aboard_signal_filter_bank_spectral_subtraction_t noise;
    bool controls; /**< Whether the gain is controlled. */
    aboard_signal_pcan_t gain;
    aboard_signal_filter_bank_log_t log;
    int32_t coefficients; /**< Cepstral coefficients. */
} aboard_audio_t;

/**
 * Computes the magnitudes of the mel channels of a frame.
 *
 * @param p           Parameters.
 * @param tables      Tables.
 * @param frame       Samples; overwritten. Memory of fft.count + 1 uint32_t at least, aligned for them.
 * @param work        Memory of fft.count + 1 pairs of int16_t, and of `channels` uint64_t; aligned for uint64_t.
 * @param magnitudes  Gets one number for each channel; none of the other memory.
 */
ABOARD_INLINE void aboard_frontend_mel(const aboard_audio_t *p, const aboard_audio_tables_t *tables, int16_t *frame,
                                       void *work, uint32_t *magnitudes) {
    const aboard_signal_fft_auto_scale_t scale = {p->window.elements};
    const aboard_signal_energy_t energy = {p->fft.count + 1, 0, p->fft.count + 1};
    const aboard_signal_channels_t channels = {p->channels};
    int16_t *spectrum = (int16_t *)work;
    uint32_t *energies = (uint32_t *)(void *)frame;
    uint64_t *sums = (uint64_t *)work;
    int32_t bits;
    aboard_signal_window(&p->window, frame, tables->window, frame, 0, 1);
    aboard_signal_fft_auto_scale(&scale, frame, frame, &bits, 0, 1);
    aboard_signal_fft_s16_rfft(&p->fft, frame, spectrum, tables->twiddles, tables->halves, 0, 1);
    aboard_signal_energy(&energy, spectrum, energies, 0, 1);
    aboard_signal_filter_bank(&channels, energies, tables->above, tables->below, sums, tables->energies, tables->starts,
                              tables->widths, 0, 1);
    aboard_signal_filter_bank_square_root(&channels, sums, &bits, magnitudes, 0, 1);
}

/**
 * Computes the logarithms of the magnitudes of a frame's mel channels, after noise reduction and gain control if the
 * front end has them.
 *
 * @param p           Parameters.
 * @param tables      Tables.
 * @param magnitudes  Magnitudes; overwritten.
 * @param noise       Noise estimates of the stream, one for each channel, 0 at its beginning; NULL without reduction.
 * @param logs        Gets one logarithm for each channel, times the scale; none of the other memory.
 */
ABOARD_INLINE void aboard_frontend_log_mel(const aboard_audio_t *p, const aboard_audio_tables_t *tables,
                                           uint32_t *magnitudes, uint32_t *noise, int16_t *logs) {
    if (p->reduces) {
        aboard_signal_filter_bank_spectral_subtraction(&p->noise, magnitudes, noise, magnitudes, noise, 0, 1);
    }
    if (p->controls) {
        aboard_signal_pcan(&p->gain, magnitudes, noise, tables->gains, magnitudes, 0, 1);
    }
    aboard_signal_filter_bank_log(&p->log, magnitudes, logs, tables->logs, 0, 1);
}

/**
 * Computes cepstral coefficients (MFCC) of logarithms: coefficient k is their sum with the weights cosines[k], rounded
 * half up to 15 bits fewer and saturated.
 *
 * @param p        Parameters.
 * @param tables   Tables; the weights [coefficients, channels] have 15 fractional bits.
 * @param logs     Logarithms of the channels.
 * @param cepstra  Gets the coefficients; none of the operand's memory.
 */
ABOARD_INLINE void aboard_frontend_mfcc(const aboard_audio_t *p, const aboard_audio_tables_t *tables,
                                        const int16_t *logs, int16_t *cepstra) {
    const int16_t *weight = tables->cosines;
    for (int32_t k = 0; k < p->coefficients; ++k) {
        int64_t sum = 1 << 14;
        for (int32_t channel = 0; channel < p->channels; ++channel) {
            sum += (int32_t)logs[channel] * *weight++;
        }
        const int64_t value = sum >> 15;
        cepstra[k] = (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
    }
}

#endif
