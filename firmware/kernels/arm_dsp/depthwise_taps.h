/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_taps.h
 * int8 depthwise convolution of any window with the DSP extension: four channels of a pixel at once, tap after tap.
 *
 * SXTB16 extends the even and the odd channels of inputs and weights to halfwords; SMLABB and SMLATT multiply the
 * halves.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_TAPS_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_TAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/depthwise_conv2d.h"
#include "../portable/im2col.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "line_buffer.h"

/** Parameters of aboard_depthwise_conv2d_taps: four channels or more, each with one result. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    int32_t padded;          /**< 1: windows may contain pixels outside the input. */
    int32_t zero_point;      /**< Zero point of the input, and value of padding. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_depthwise_conv2d_taps_t;

/** Words of four channels after one word of weights per tap: biases, factor and constant of each, shifts. */
#define ABOARD_DSP_TAPS_WORDS 13

/** acc plus the product of the lower halfwords. */
ABOARD_INLINE int32_t aboard_dsp_mac_bottom(uint32_t x, uint32_t w, int32_t acc) {
#if ABOARD_DSP_ASM
    __asm__("smlabb %0, %1, %2, %0" : "+r"(acc) : "r"(x), "r"(w));
    return acc;
#else
    return (int32_t)((uint32_t)acc + (uint32_t)((int16_t)x * (int16_t)w));
#endif
}

/** acc plus the product of the upper halfwords. */
ABOARD_INLINE int32_t aboard_dsp_mac_top(uint32_t x, uint32_t w, int32_t acc) {
#if ABOARD_DSP_ASM
    __asm__("smlatt %0, %1, %2, %0" : "+r"(acc) : "r"(x), "r"(w));
    return acc;
#else
    return (int32_t)((uint32_t)acc + (uint32_t)((int16_t)(x >> 16) * (int16_t)(w >> 16)));
#endif
}

/** One result: by the single rounding of its channel, or by a double rounding. */
ABOARD_INLINE int8_t aboard_dsp_result(int32_t acc, int32_t factor, int32_t constant, uint32_t shift, bool single) {
#if ABOARD_DSP_ASM
    const int32_t addend = single ? constant : acc + (acc >> 31);
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(acc), "r"(factor), "r"(addend));
    const int32_t y = single ? high >> ABOARD_DSP_LINE_BUFFER_SHIFT : (high + constant) >> shift;
    return (int8_t)__builtin_arm_ssat(y, 8);
#else
    return single ? aboard_dsp_single_rounding((uint32_t)acc, factor, constant, ABOARD_DSP_LINE_BUFFER_SHIFT)
                  : aboard_dsp_double_rounding((uint32_t)acc, factor, constant, shift);
#endif
}

/**
 * The pixel of a tap, in a word of scratch: its address in assembly. In C, where an address may be wider than a word,
 * the distance from the operand's first byte, or ABOARD_DSP_OUTSIDE for padding.
 */
#if ABOARD_DSP_ASM
typedef const int8_t *aboard_dsp_seen_t;
#else
typedef int32_t aboard_dsp_seen_t;
#define ABOARD_DSP_OUTSIDE INT32_MIN
#endif

/** Locations of pixels. */
typedef struct {
    const int8_t *in;      /**< The operand's first byte. */
    const int8_t *padding; /**< A pixel of zero points. */
} aboard_dsp_pixels_t;

/** Word for a tap at the operand's first pixel. */
ABOARD_INLINE aboard_dsp_seen_t aboard_dsp_first_seen(const aboard_dsp_pixels_t *pixels) {
#if ABOARD_DSP_ASM
    return pixels->in;
#else
    (void)pixels;
    return 0;
#endif
}

/** Word for a tap outside the operand. */
ABOARD_INLINE aboard_dsp_seen_t aboard_dsp_padding_seen(const aboard_dsp_pixels_t *pixels) {
#if ABOARD_DSP_ASM
    return pixels->padding;
#else
    (void)pixels;
    return ABOARD_DSP_OUTSIDE;
#endif
}

/** Loads four channels of the pixel of a tap. */
ABOARD_INLINE uint32_t aboard_dsp_load_seen(const aboard_dsp_pixels_t *pixels, aboard_dsp_seen_t seen,
                                            int32_t channel) {
#if ABOARD_DSP_ASM
    (void)pixels;
    return aboard_dsp_load(seen + channel);
#else
    return aboard_dsp_load((seen == ABOARD_DSP_OUTSIDE ? pixels->padding : pixels->in + seen) + channel);
#endif
}

/** Adds the products of one tap of four channels. */
ABOARD_INLINE void aboard_dsp_tap(int32_t *sums, uint32_t x, uint32_t w) {
    sums[0] = aboard_dsp_mac_bottom(aboard_dsp_even(x), aboard_dsp_even(w), sums[0]);
    sums[2] = aboard_dsp_mac_top(aboard_dsp_even(x), aboard_dsp_even(w), sums[2]);
    sums[1] = aboard_dsp_mac_bottom(aboard_dsp_odd(x), aboard_dsp_odd(w), sums[1]);
    sums[3] = aboard_dsp_mac_top(aboard_dsp_odd(x), aboard_dsp_odd(w), sums[3]);
}

/** Adds the products of two taps of four channels, and advances pixels and weights. */
ABOARD_INLINE void aboard_dsp_two_taps(int32_t *sums, const aboard_dsp_pixels_t *pixels, const aboard_dsp_seen_t **tap,
                                       const uint32_t **words, int32_t channel) {
#if ABOARD_DSP_ASM
    (void)pixels;
    uint32_t a;
    uint32_t b;
    uint32_t w;
    uint32_t even;
    uint32_t weights;
    __asm__ volatile(
        "ldrd %[a], %[b], [%[tap]], #8\n"
        "ldr %[w], [%[words]], #4\n ldr %[a], [%[a], %[channel]]\n"
        "sxtb16 %[even], %[a]\n sxtb16 %[weights], %[w]\n"
        "sxtb16 %[a], %[a], ror #8\n sxtb16 %[w], %[w], ror #8\n"
        "smlabb %[s0], %[even], %[weights], %[s0]\n smlatt %[s2], %[even], %[weights], %[s2]\n"
        "smlabb %[s1], %[a], %[w], %[s1]\n smlatt %[s3], %[a], %[w], %[s3]\n"
        "ldr %[w], [%[words]], #4\n ldr %[b], [%[b], %[channel]]\n"
        "sxtb16 %[even], %[b]\n sxtb16 %[weights], %[w]\n"
        "sxtb16 %[b], %[b], ror #8\n sxtb16 %[w], %[w], ror #8\n"
        "smlabb %[s0], %[even], %[weights], %[s0]\n smlatt %[s2], %[even], %[weights], %[s2]\n"
        "smlabb %[s1], %[b], %[w], %[s1]\n smlatt %[s3], %[b], %[w], %[s3]\n"
        : [s0] "+&r"(sums[0]), [s1] "+&r"(sums[1]), [s2] "+&r"(sums[2]), [s3] "+&r"(sums[3]), [tap] "+&r"(*tap),
          [words] "+&r"(*words), [a] "=&r"(a), [b] "=&r"(b), [w] "=&r"(w), [even] "=&r"(even), [weights] "=&r"(weights)
        : [channel] "r"(channel)
        : "memory");
#else
    aboard_dsp_tap(sums, aboard_dsp_load_seen(pixels, (*tap)[0], channel), (*words)[0]);
    aboard_dsp_tap(sums, aboard_dsp_load_seen(pixels, (*tap)[1], channel), (*words)[1]);
    *tap += 2;
    *words += 2;
#endif
}

/**
 * All channels of one pixel.
 *
 * @param pixels   Locations of pixels.
 * @param seen     Pixel of each tap.
 * @param taps     At least 1.
 * @param words    For every four channels one word of weights per tap, then ABOARD_DSP_TAPS_WORDS. The last four are
 * the last channels, of which some may be among the four before.
 * @param y        Results.
 * @param channels At least 4.
 * @param single   True: results by a single rounding.
 */
ABOARD_INLINE void aboard_dsp_taps_any(const aboard_dsp_pixels_t *pixels, const aboard_dsp_seen_t *seen, int32_t taps,
                                       const uint32_t *words, int8_t *y, int32_t channels, bool single) {
    const aboard_dsp_seen_t *const end = seen + taps;
    for (int32_t next = 0; next < channels; next += 4) {
        const int32_t channel = ABOARD_MIN(next, channels - 4);
        const int32_t *const bias = (const int32_t *)(const void *)(words + taps);
        int32_t sums[4] = {bias[0], bias[1], bias[2], bias[3]};
        const aboard_dsp_seen_t *tap = seen;
        if (taps % 2 != 0) {
            aboard_dsp_tap(sums, aboard_dsp_load_seen(pixels, *tap++, channel), *words++);
        }
        while (tap != end) {
            aboard_dsp_two_taps(sums, pixels, &tap, &words, channel);
        }
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            y[channel + i] =
                aboard_dsp_result(sums[i], bias[4 + 2 * i], bias[5 + 2 * i], words[12] >> (8 * i) & 0xffu, single);
        }
        words += ABOARD_DSP_TAPS_WORDS;
    }
}

/** Finds the pixel of each tap in the window of result pixel (row, col). */
ABOARD_INLINE void aboard_depthwise_conv2d_taps_find(const aboard_depthwise_conv2d_taps_t *p,
                                                     const aboard_dsp_pixels_t *pixels, int32_t row, int32_t col,
                                                     aboard_dsp_seen_t *seen) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const aboard_dsp_seen_t base = aboard_dsp_first_seen(pixels);
    const aboard_dsp_seen_t padding = aboard_dsp_padding_seen(pixels);
    const int32_t image = s->out.rows == s->out_height ? 0 : row / s->out_height;
    const int32_t top = (row - image * s->out_height) * s->stride_h - s->pad_top;
    const int32_t left = col * s->stride_w - s->pad_left;
    int32_t unpadded = p->padded ? 0 : aboard_row_offset(&s->in, image * s->in_height + top);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t y = top + ky * s->dilation_h;
        const bool outside = p->padded && (y < 0 || y >= s->in_height);
        const int32_t padded = p->padded && !outside ? aboard_row_offset(&s->in, image * s->in_height + y) : 0;
        if (ky > 0 && !p->padded) {
            unpadded = aboard_row_offset_after(&s->in, unpadded, image * s->in_height + y, s->dilation_h);
        }
        const aboard_dsp_seen_t line = base + (p->padded ? padded : unpadded);
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int32_t x = left + kx * s->dilation_w;
            *seen++ = outside || (p->padded && (x < 0 || x >= s->in.cols)) ? padding : line + x * s->in.pixel_stride;
        }
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param words       Packed, see aboard_dsp_taps_any.
 * @param seen        Scratch of one word per tap.
 * @param padding     Scratch of a pixel; unused if `padded` is 0.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_taps(const aboard_depthwise_conv2d_taps_t *p, const int8_t *in, int8_t *out,
                                                const uint32_t *words, aboard_dsp_seen_t *seen, int8_t *padding,
                                                int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const aboard_dsp_pixels_t pixels = {in, padding};
    const int32_t taps = s->window_height * s->window_width;
    if (p->padded) {
        aboard_im2col_fill_shared(padding, p->zero_point, s->in.channels);
    }
    for (int32_t row = first; row < last; ++row) {
        int8_t *y = aboard_row_out_s8(&s->out, out, row);
        for (int32_t col = 0; col < s->out.cols; ++col) {
            aboard_depthwise_conv2d_taps_find(p, &pixels, row, col, seen);
            aboard_dsp_taps_any(&pixels, seen, taps, words, y, s->out.channels, p->single_rounding != 0);
            if (p->clamped) {
                aboard_dsp_clamp(y, s->out.channels, p->low, p->high);
            }
            y += s->out.pixel_stride;
        }
    }
}

#endif
