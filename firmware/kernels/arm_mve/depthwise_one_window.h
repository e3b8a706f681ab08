/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_one_window.h
 * int8 depthwise convolution with Helium whose channels have one result per image: eight channels at once.
 *
 * Windows of convolutions over time, as in streaming keyword spotters, cover the whole image. Taps of sixteen channels
 * are packed into a strip: words of four taps, those of sixteen channels after one another.
 *
 *     word 0: c0 c1 ... c15   word 1: c0 c1 ... c15   ...
 *
 * A part of a window is four words of a channel, or sixteen taps. One load gathers them, because lane l reads its word
 * of each part 64 bytes after that of the part before, from word l * parts on. With fewer words than lanes the last
 * lanes read words that other lanes read too, times weights of 0. Sums and results are those of fully_connected.h.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_ONE_WINDOW_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_ONE_WINDOW_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "fully_connected.h"
#include "helium.h"
#include "length.h"
#include "packed_channel.h"
#include "sums.h"

/** Channels that are packed at once, and bytes of a word of each. */
#define ABOARD_ONE_WINDOW_BLOCK 16
#define ABOARD_ONE_WINDOW_WORD 64

/** How taps of a line are read: words at multiples of 4 bytes, bytes within the offset of loads, bytes anywhere. */
#define ABOARD_ONE_WINDOW_WORDS 0
#define ABOARD_ONE_WINDOW_BYTES 1
#define ABOARD_ONE_WINDOW_FAR 2

/** Parameters of aboard_depthwise_one_window_mve. */
typedef struct {
    int32_t channels;               /**< 8, or 16 and more. */
    int32_t lines;                  /**< Lines of taps; every line begins a word. */
    int32_t taps;                   /**< Taps of a line. */
    int32_t reads;                  /**< ABOARD_ONE_WINDOW_WORDS, ABOARD_ONE_WINDOW_BYTES or ABOARD_ONE_WINDOW_FAR. */
    int32_t first;                  /**< Bytes from an image to its first tap. */
    int32_t tap;                    /**< Bytes from a tap to the next one. */
    int32_t line;                   /**< Bytes from a line to the next one. */
    int32_t image;                  /**< Bytes from an image to the next one. */
    int32_t result;                 /**< Bytes from the results of an image to those of the next one. */
    aboard_mve_reach_t parts;       /**< Parts of a window. */
    aboard_mve_epilogue_t epilogue; /**< Not ABOARD_MVE_ANY, and without limits. */
} aboard_depthwise_one_window_mve_t;

/** Words of a line of taps. */
ABOARD_INLINE int32_t aboard_one_window_words(const aboard_depthwise_one_window_mve_t *p) {
    return (p->taps + 3) / 4;
}

/** Bytes from the strip to the first word of a lane. */
ABOARD_INLINE int32_t aboard_one_window_lane(const aboard_depthwise_one_window_mve_t *p, int32_t lane) {
    const int32_t parts = p->parts.rows * p->parts.chunks;
    return ABOARD_ONE_WINDOW_WORD * ABOARD_MIN(lane * parts, p->lines * aboard_one_window_words(p) - parts);
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Loads a tap and advances to the next one, which is anywhere; for eight channels. */
#define ABOARD_ONE_WINDOW_FAR_AT(t, vector) "vldrb.u8 " vector ", [%[x]]\n\tadd %[x], %[x], %[apart]\n\t"
#define ABOARD_ONE_WINDOW_SOME_FAR_AT(t, vector) "vpst\n\tvldrbt.u8 " vector ", [%[x]]\n\tadd %[x], %[x], %[apart]\n\t"

/** A part of eight channels, whose words are `at` bytes from the addresses in `from`; even channels come first. */
#define ABOARD_ONE_WINDOW_PART(at, last) \
    "vldrw.u32 %q[a], [%q[from], #" at "]\n\t" \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    "vldrw.u32 %q[b], [%q[from], #" at " + 8]\n\t" \
    "vmladava.s8 r0, %q[a], %q[c]\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t" \
    "vldrw.u32 %q[a], [%q[from], #" at " + 16]\n\t" \
    "vmladava.s8 r2, %q[b], %q[d]\n\t" \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    "vldrw.u32 %q[b], [%q[from], #" at " + 24]\n\t" \
    "vmladava.s8 r4, %q[a], %q[c]\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t" \
    "vldrw.u32 %q[a], [%q[from], #" at " + 4]\n\t" \
    "vmladava.s8 r6, %q[b], %q[d]\n\t" \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    "vldrw.u32 %q[b], [%q[from], #" at " + 12]\n\t" \
    "vmladava.s8 r8, %q[a], %q[c]\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t" \
    "vldrw.u32 %q[a], [%q[from], #" at " + 20]\n\t" \
    "vmladava.s8 r10, %q[b], %q[d]\n\t" \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    "vldrw.u32 %q[b], [%q[from], #" at " + 28]" last "\n\t" \
    "vmladava.s8 r12, %q[a], %q[c]\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t" \
    "vmladava.s8 lr, %q[b], %q[d]\n\t"

/** Parts without a loop. The first one is 4 bytes from the addresses, and the last load advances them by 32. */
#define ABOARD_ONE_WINDOW_PARTS \
    ABOARD_ONE_WINDOW_PART("4", "!") \
    ".set aboard_part, 1\n\t" \
    ".rept %c[chunks] - 1\n\t" \
    ABOARD_ONE_WINDOW_PART("64 * aboard_part - 28", "") \
    ".set aboard_part, aboard_part + 1\n\t" \
    ".endr\n\t"

/** Instructions that repeat for a part. */
#define ABOARD_ONE_WINDOW_REPEATED 24

#define ABOARD_ONE_WINDOW_ASM(sums, ending, next_run, length) \
    __asm__ volatile("1:\n\t" \
                     ABOARD_MVE_EIGHTS_BEGIN \
                     sums \
                     ABOARD_MVE_EIGHTS_EPILOGUE \
                     ending \
                     "subs %[left], %[left], #1\n\t" \
                     "bne 1b" length \
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [d] "=&w"(d), [from] "+&w"(from), [w] "+&r"(weights), \
                       [y] "+&l"(y), [left] "+&r"(left), [again] "=&r"(again) \
                     : [rows] "i"(p->parts.rows), [chunks] "i"(p->parts.chunks), [next] next_run, \
                       [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift), \
                       [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS), \
                       [zero_point] "i"(p->epilogue.zero_point) \
                     : ABOARD_MVE_CLOBBERS, "q4")

#define ABOARD_ONE_WINDOW_UNROLLED(length) ABOARD_ONE_WINDOW_ASM(ABOARD_ONE_WINDOW_PARTS, "", "i"(0), length)

/** Parts in a loop, behind which the addresses go back to those of the next channels. */
#define ABOARD_ONE_WINDOW_LOOPED(length) \
    ABOARD_ONE_WINDOW_ASM("mov %[again], %[rows]\n\t" \
                          "2:\n\t" \
                          ABOARD_ONE_WINDOW_PARTS \
                          "vadd.i32 %q[from], %q[from], %[next]\n\t" \
                          "subs %[again], %[again], #1\n\t" \
                          "bne 2b\n\t", \
                          "movw r0, #64 * %c[rows] * %c[chunks] - 32\n\t" \
                          "vsub.i32 %q[from], %q[from], r0\n\t", "r"(next), length)

/* clang-format on */

/** Packs a line of taps of sixteen channels, or of eight: of missing taps in the last word any bytes. */
ABOARD_INLINE void aboard_one_window_line(const aboard_depthwise_one_window_mve_t *p, const int8_t *x, int8_t *to) {
    const uint32_t some = 0xff;
    if (p->channels >= ABOARD_ONE_WINDOW_BLOCK) {
        if (p->reads == ABOARD_ONE_WINDOW_WORDS) {
            ABOARD_DEPTHWISE_PACKED_LINE_WHOLE(ABOARD_DEPTHWISE_PACKED_WORDS_AT, p->taps, "i"(p->tap));
        } else if (p->reads == ABOARD_ONE_WINDOW_BYTES) {
            ABOARD_DEPTHWISE_PACKED_LINE_WHOLE(ABOARD_DEPTHWISE_PACKED_BYTES_AT, p->taps, "i"(p->tap));
        } else {
            ABOARD_DEPTHWISE_PACKED_LINE_WHOLE(ABOARD_ONE_WINDOW_FAR_AT, p->taps, "r"(p->tap));
        }
    } else if (p->reads == ABOARD_ONE_WINDOW_WORDS) {
        ABOARD_DEPTHWISE_PACKED_LINE_SOME(ABOARD_DEPTHWISE_PACKED_WORDS_AT, p->taps, "i"(p->tap), "r"(some));
    } else if (p->reads == ABOARD_ONE_WINDOW_BYTES) {
        ABOARD_DEPTHWISE_PACKED_LINE_SOME(ABOARD_DEPTHWISE_PACKED_BYTES_AT, p->taps, "i"(p->tap), "r"(some));
    } else {
        ABOARD_DEPTHWISE_PACKED_LINE("vmsr p0, %[some]\n\t", "", "", "", ABOARD_ONE_WINDOW_SOME_FAR_AT, p->taps,
                                     "r"(p->tap), "r"(some));
    }
}

/**
 * Computes blocks of eight channels of a strip.
 *
 * @param left    Blocks.
 * @param strip   Word 0 of the first channel.
 * @param weights For each block [2][4] words of biases, [parts][8][4][4], and [2][2][4] words of other constants; even
 *                channels come first.
 * @param y       Results of the first channel.
 *
 * @return The weights behind those blocks.
 */
ABOARD_INLINE const int8_t *aboard_one_window_eights(const aboard_depthwise_one_window_mve_t *p, int32_t left,
                                                     const int8_t *strip, const int8_t *weights, int8_t *y) {
    int32x4_t a;
    int32x4_t b;
    int32x4_t c;
    int32x4_t d;
    const int32x4_t lanes = {aboard_one_window_lane(p, 0), aboard_one_window_lane(p, 1), aboard_one_window_lane(p, 2),
                             aboard_one_window_lane(p, 3)};
    int32x4_t from = vaddq_n_s32(lanes, (int32_t)(uintptr_t)(strip - sizeof(int32_t)));
    int32_t again;
    if (p->parts.rows == 1) {
        ABOARD_MVE_SIZED(ABOARD_ONE_WINDOW_REPEATED * (p->parts.chunks - 1), ABOARD_ONE_WINDOW_UNROLLED);
    } else {
        const int32_t next = ABOARD_ONE_WINDOW_WORD * p->parts.chunks - 32;
        ABOARD_MVE_SIZED(ABOARD_ONE_WINDOW_REPEATED * (p->parts.chunks - 1), ABOARD_ONE_WINDOW_LOOPED);
    }
    return weights;
}

#else

/** Packs a line of taps of sixteen channels, or of eight: missing taps in the last word are 0. */
ABOARD_INLINE void aboard_one_window_line(const aboard_depthwise_one_window_mve_t *p, const int8_t *x, int8_t *to) {
    const int32_t channels = ABOARD_MIN(p->channels, ABOARD_ONE_WINDOW_BLOCK);
    memset(to, 0, (size_t)(ABOARD_ONE_WINDOW_WORD * aboard_one_window_words(p)));
    for (int32_t tap = 0; tap < p->taps; ++tap) {
        for (int32_t c = 0; c < channels; ++c) {
            to[tap / 4 * ABOARD_ONE_WINDOW_WORD + 4 * c + tap % 4] = x[tap * p->tap + c];
        }
    }
}

/** Sum of products of a channel: `strip` is its word 0, and parts of weights are those of eight channels. */
ABOARD_INLINE int32_t aboard_one_window_sum(const aboard_depthwise_one_window_mve_t *p, const int8_t *strip,
                                            const int8_t *weights) {
    int32_t sum = 0;
    for (int32_t part = 0; part < p->parts.rows * p->parts.chunks; ++part) {
        for (int32_t i = 0; i < ABOARD_MVE_CHUNK; ++i) {
            const int32_t word = aboard_one_window_lane(p, i / 4) + ABOARD_ONE_WINDOW_WORD * part;
            sum += strip[word + i % 4] * weights[8 * ABOARD_MVE_CHUNK * part + i];
        }
    }
    return sum;
}

/** The function above in C. */
ABOARD_INLINE const int8_t *aboard_one_window_eights(const aboard_depthwise_one_window_mve_t *p, int32_t left,
                                                     const int8_t *strip, const int8_t *weights, int8_t *y) {
    for (; left > 0; --left) {
        int32_t sums[8];
        int32_t constants[24];
        memcpy(constants, weights, 8 * sizeof(constants[0]));
        weights += 8 * sizeof(constants[0]);
        for (int32_t i = 0; i < 8; ++i) {
            sums[i] =
                aboard_one_window_sum(p, strip + 4 * aboard_mve_eights_channel(i), weights + ABOARD_MVE_CHUNK * i);
        }
        weights += 8 * ABOARD_MVE_CHUNK * p->parts.rows * p->parts.chunks;
        memcpy(constants + 8, weights, 16 * sizeof(constants[0]));
        weights += 16 * sizeof(constants[0]);
        aboard_mve_eights_epilogue(&p->epilogue, sums, constants, y);
        strip += 8 * sizeof(int32_t);
        y += 8;
    }
    return weights;
}

#endif

/** Packs the taps of sixteen channels, or of eight. */
ABOARD_INLINE void aboard_one_window_pack(const aboard_depthwise_one_window_mve_t *p, const int8_t *x, int8_t *strip) {
    ABOARD_UNROLL(1)
    for (int32_t line = 0; line < p->lines; ++line) {
        aboard_one_window_line(p, x, strip);
        x += p->line;
        strip += ABOARD_ONE_WINDOW_WORD * aboard_one_window_words(p);
    }
}

/** Computes an image, whose first tap is `x`. The last channels are a whole block, which others may share. */
ABOARD_INLINE void aboard_one_window_image(const aboard_depthwise_one_window_mve_t *p, const int8_t *x, int8_t *y,
                                           const int8_t *weights, int8_t *strip) {
    const int32_t rest = p->channels % ABOARD_ONE_WINDOW_BLOCK;
    const int32_t whole = p->channels - rest;
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < p->channels; n += ABOARD_ONE_WINDOW_BLOCK) {
        /* One block of eight is left, or two that begin before the last whole block ends. */
        const int32_t last = rest > 0 && n == whole;
        const int32_t back = last && n > 0 ? ABOARD_ONE_WINDOW_BLOCK - rest : 0;
        const int32_t half = last && rest <= 8;
        const int32_t skip = half && n > 0 ? 8 : 0;
        aboard_one_window_pack(p, x + n - back, strip);
        weights = aboard_one_window_eights(p, half ? 1 : 2, strip + skip * 4, weights, y + n - back + skip);
    }
}

/**
 * int8 depthwise convolution with one result per channel and image, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Whole tensors or slices of tensors. The operand may begin where the result does, or after it by as
 *                    many channels as two blocks share.
 * @param weights     See aboard_one_window_eights, for all blocks of channels.
 * @param scratch     The strip of sixteen channels: 64 bytes for each word, aligned to words.
 * @param first, last Rows [first, last) of the result, which are images, are computed.
 */
ABOARD_INLINE void aboard_depthwise_one_window_mve(const aboard_depthwise_one_window_mve_t *p, const int8_t *in,
                                                   int8_t *out, const int8_t *weights, int8_t *scratch, int32_t first,
                                                   int32_t last) {
    ABOARD_UNROLL(1)
    for (int32_t image = first; image < last; ++image) {
        aboard_one_window_image(p, in + image * p->image + p->first, out + image * p->result, weights, scratch);
    }
}

#endif
