/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file packed_pixels.h
 * Rows of four channels as words of two neighbouring pixels, x0 + 2^21 x1, minus the input's zero point, so that
 * padding is 0. Words of the four channels are interleaved.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_PACKED_PIXELS_H
#define ABOARD_KERNELS_ARM_DSP_PACKED_PIXELS_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"

/** Channels whose words are interleaved: the distance of the words of one channel. */
#define ABOARD_DSP_PACKED_CHANNELS 4

/** Bits from the first to the second pixel of a word, and of a lower field of a product. */
#define ABOARD_DSP_FIELD 21

/** The pixels of a row: pixel `first`, then every `step`th; pixels outside of the row are padding. */
typedef struct {
    int32_t first; /**< May be negative. */
    int32_t step;
    int32_t cols;         /**< Pixels of the row. */
    int32_t pixel_stride; /**< Bytes. */
    int32_t channels;     /**< Channels of the row: where it has less than four, words of the others are undefined. */
    int32_t zero_point;   /**< Zero point of the input. */
    int32_t pairs;        /**< Words of a channel. */
} aboard_dsp_packed_pixels_t;

/** Four channels of a pixel, or as many as it has. */
ABOARD_INLINE uint32_t aboard_dsp_packed_load(const int8_t *from, int32_t channels) {
    if (channels >= ABOARD_DSP_PACKED_CHANNELS) {
        return aboard_dsp_load(from);
    }
    uint32_t word = 0;
    for (int32_t i = 0; i < channels; ++i) {
        word |= (uint32_t)(uint8_t)from[i] << (8 * i);
    }
    return word;
}

/** A byte of a word with sign, plus a number. */
ABOARD_INLINE uint32_t aboard_dsp_add_byte(uint32_t number, uint32_t word, int32_t byte) {
#if ABOARD_DSP_ASM
    uint32_t sum;
    switch (byte) {
    case 0:
        __asm__("sxtab %0, %1, %2" : "=r"(sum) : "r"(number), "r"(word));
        break;
    case 1:
        __asm__("sxtab %0, %1, %2, ror #8" : "=r"(sum) : "r"(number), "r"(word));
        break;
    case 2:
        __asm__("sxtab %0, %1, %2, ror #16" : "=r"(sum) : "r"(number), "r"(word));
        break;
    default:
        __asm__("sxtab %0, %1, %2, ror #24" : "=r"(sum) : "r"(number), "r"(word));
        break;
    }
    return sum;
#else
    const int32_t value = (int8_t)(word >> (8 * byte) & 0xffu);
    return number + (uint32_t)value;
#endif
}

/** Writes the words of four channels of two pixels; `minus` is the zero point, negative. */
ABOARD_INLINE int32_t *aboard_dsp_packed_pair(int32_t *to, uint32_t left, uint32_t right, uint32_t minus) {
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < ABOARD_DSP_PACKED_CHANNELS; ++i) {
        const uint32_t high = aboard_dsp_add_byte(minus, right, i);
        to[i] = (int32_t)(aboard_dsp_add_byte(minus, left, i) + (high << ABOARD_DSP_FIELD));
    }
    return to + ABOARD_DSP_PACKED_CHANNELS;
}

/** Makes words, a multiple of four, padding. */
ABOARD_INLINE void aboard_dsp_packed_clear(int32_t *to, int32_t words) {
    for (int32_t i = 0; i < words; i += ABOARD_DSP_PACKED_CHANNELS) {
        int32_t zero = 0;
        ABOARD_OPAQUE(zero); /* Not a call of memset. */
        to[i] = zero;
        to[i + 1] = zero;
        to[i + 2] = zero;
        to[i + 3] = zero;
    }
}

/** Writes the words of four channels that have a pixel; `row` is the first pixel of the row. */
ABOARD_INLINE void aboard_dsp_packed_fill(const aboard_dsp_packed_pixels_t *p, const int8_t *row, int32_t *to) {
    const int32_t two = 2 * p->step;
    const int32_t padding = p->first + p->step < 0 ? (p->step - 1 - p->first) / two : 0;
    const int32_t outside = ABOARD_MIN(padding, p->pairs);
    const uint32_t zeros = 0x01010101u * (uint8_t)p->zero_point;
    const uint32_t minus = (uint32_t)-p->zero_point;
    const int32_t next = p->step * p->pixel_stride;
    int32_t x = p->first + outside * two;
    int32_t left = p->pairs - outside;
    to += outside * ABOARD_DSP_PACKED_CHANNELS;
    if (left > 0 && x < 0 && x + p->step < p->cols) {
        to = aboard_dsp_packed_pair(to, zeros,
                                    aboard_dsp_packed_load(row + (x + p->step) * p->pixel_stride, p->channels), minus);
        x += two;
        --left;
    }
    const int32_t inside = x + p->step < p->cols && x >= 0 ? (p->cols - p->step - x + two - 1) / two : 0;
    const int8_t *from = row + x * p->pixel_stride;
    const int32_t whole = ABOARD_MIN(inside, left);
    ABOARD_UNROLL(2)
    for (int32_t i = 0; i < whole; ++i) {
        const uint32_t a = aboard_dsp_packed_load(from, p->channels);
        const uint32_t b = aboard_dsp_packed_load(from + next, p->channels);
        to = aboard_dsp_packed_pair(to, a, b, minus);
        from += 2 * next;
    }
    x += whole * two;
    left -= whole;
    if (left > 0 && x >= 0 && x < p->cols) {
        aboard_dsp_packed_pair(to, aboard_dsp_packed_load(from, p->channels), zeros, minus);
    }
}

#endif
