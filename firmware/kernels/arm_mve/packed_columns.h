/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_columns.h
 * Packing of depthwise_packed.h for images of few lines across: each pixel is read once for all strips.
 *
 * Words of neighbouring strips share two of their four pixels. Eight vectors hold as many pixels across, with padding,
 * and VST4 stores any four neighbours: the first four are a word of the first strip, those from the third on a word of
 * the second, and those from the fifth on a word of the third.
 *
 * A vector holds a pixel of sixteen channels, or, for a quarter of the scratch, four channels of four pixels along.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_COLUMNS_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_COLUMNS_H

#include <stdint.h>

#include "aboard/config.h"
#include "helium.h"
#include "line_buffer.h"
#include "packed_layer.h"

/** Vectors, and strips that they contain. */
#define ABOARD_DEPTHWISE_PACKED_VECTORS 8
#define ABOARD_DEPTHWISE_PACKED_STRIPS 3

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Vector `number` is padding, whose value is in a register. */
#define ABOARD_DEPTHWISE_PACKED_PADDING_OF(number, padding) \
    ".if " number " < %c[before] || " number " >= %c[before] + %c[pixels]\n\t" \
    "vdup.8 q" number ", " padding "\n\t" \
    ".endif\n\t"

#define ABOARD_DEPTHWISE_PACKED_PADDING(number) ABOARD_DEPTHWISE_PACKED_PADDING_OF(number, "%[padding]")

/** Vector `number` is a pixel. */
#define ABOARD_DEPTHWISE_PACKED_PIXEL(number) \
    ".if " number " >= %c[before] && " number " < %c[before] + %c[pixels]\n\t" \
    "vldrw.32 q" number ", [%[x], #(" number " - %c[before]) * %c[apart]]\n\t" \
    ".endif\n\t"

/** For all vectors. */
#define ABOARD_DEPTHWISE_PACKED_EACH(text) \
    text("0") text("1") text("2") text("3") text("4") text("5") text("6") text("7")

/** A word of a strip, if there are more strips than `number`. */
#define ABOARD_DEPTHWISE_PACKED_WORD(number, to, vectors) \
    ".if %c[strips] > " number "\n\t" \
    "vst40.8 " vectors ", [" to "]\n\t" \
    "vst41.8 " vectors ", [" to "]\n\t" \
    "vst42.8 " vectors ", [" to "]\n\t" \
    "vst43.8 " vectors ", [" to "]!\n\t" \
    ".endif\n\t"

/** Four channels of four pixels along of vector `number`; q7 has the addresses of the first pixels across. */
#define ABOARD_DEPTHWISE_PACKED_PIXELS(number) \
    ".if " number " >= %c[before] && " number " < %c[before] + %c[pixels]\n\t" \
    "vldrw.u32 q" number ", [q7, #(" number " - %c[before]) * %c[apart]]\n\t" \
    ".endif\n\t"

/* clang-format on */

/** Packs all strips of an image for sixteen channels; padding before and behind the pixels along is there already. */
ABOARD_INLINE void aboard_depthwise_packed_sixteen(const aboard_depthwise_packed_mve_t *p, const int8_t *x,
                                                   int8_t *strips) {
    const int32_t before = p->across.pad;
    const int32_t pixels = ABOARD_MIN(p->across.inputs, ABOARD_DEPTHWISE_PACKED_VECTORS - before);
    const int32_t strip = aboard_depthwise_packed_strip(p);
    int8_t *a = strips + p->along.pad * aboard_depthwise_packed_pitch(p);
    int8_t *b = a + strip;
    int8_t *c = b + strip;
    /* clang-format off */
    __asm__ volatile(ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_PACKED_PADDING)
                     "dls lr, %[count]\n\t"
                     "1:\n\t"
                     ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_PACKED_PIXEL)
                     "addw %[x], %[x], %[step]\n\t"
                     ABOARD_DEPTHWISE_PACKED_WORD("0", "%[a]", "{q0, q1, q2, q3}")
                     ABOARD_DEPTHWISE_PACKED_WORD("1", "%[b]", "{q2, q3, q4, q5}")
                     ABOARD_DEPTHWISE_PACKED_WORD("2", "%[c]", "{q4, q5, q6, q7}")
                     "le lr, 1b"
                     : [x] "+&r"(x), [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c)
                     : [padding] "r"(p->zero_point), [count] "r"(ABOARD_MIN(p->along.inputs, p->places - p->along.pad)),
                       [before] "i"(before), [pixels] "i"(pixels), [apart] "i"(p->across.in_stride),
                       [step] "i"(p->along.in_stride), [strips] "i"(p->slab)
                     : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

/**
 * Packs all strips of an image for four channels. The last vectors begin at the last four pixels, so that none is read
 * or written beyond them. The last vector across is no pixel: it has addresses.
 */
ABOARD_INLINE void aboard_depthwise_packed_four(const aboard_depthwise_packed_mve_t *p, const int8_t *x,
                                                int8_t *strips) {
    const int32_t before = p->across.pad;
    const int32_t pixels = ABOARD_MIN(p->across.inputs, ABOARD_DEPTHWISE_PACKED_VECTORS - 1 - before);
    const int32_t strip = aboard_depthwise_packed_strip(p);
    const int32_t count = ABOARD_MIN(p->along.inputs, p->places - p->along.pad);
    int8_t *a = strips + p->along.pad * aboard_depthwise_packed_pitch(p);
    int8_t *b = a + strip;
    int8_t *c = b + strip;
    int32_t pixel = 0;
    /* clang-format off */
    __asm__ volatile(ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_PACKED_PADDING)
                     "dls lr, %[whole]\n\t"
                     "1:\n\t"
                     "vidup.u32 q7, %[pixel], #1\n\t"
                     "vmul.i32 q7, q7, %[step]\n\t"
                     "vadd.i32 q7, q7, %[x]\n\t"
                     ABOARD_DEPTHWISE_PACKED_EACH(ABOARD_DEPTHWISE_PACKED_PIXELS)
                     "vdup.8 q7, %[padding]\n\t"
                     ABOARD_DEPTHWISE_PACKED_WORD("0", "%[a]", "{q0, q1, q2, q3}")
                     ABOARD_DEPTHWISE_PACKED_WORD("1", "%[b]", "{q2, q3, q4, q5}")
                     ABOARD_DEPTHWISE_PACKED_WORD("2", "%[c]", "{q4, q5, q6, q7}")
                     "le lr, 1b\n\t"
                     ".if %c[count] %% 4\n\t"
                     "cmp %[pixel], #%c[count]\n\t"
                     "beq 2f\n\t"
                     "mov lr, #1\n\t"
                     "mov %[pixel], #%c[count] - 4\n\t"
                     "sub %[a], #%c[back]\n\t"
                     "sub %[b], #%c[back]\n\t"
                     "sub %[c], #%c[back]\n\t"
                     "b 1b\n\t"
                     "2:\n\t"
                     ".endif"
                     : [pixel] "+&Te"(pixel), [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c)
                     : [x] "r"(x), [padding] "r"(p->zero_point), [whole] "r"(count / 4), [step] "r"(p->along.in_stride),
                       [count] "i"(count), [back] "i"((4 - count % 4) * aboard_depthwise_packed_pitch(p)),
                       [before] "i"(before), [pixels] "i"(pixels), [apart] "i"(p->across.in_stride),
                       [strips] "i"(p->slab)
                     : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

/** Packs all strips of an image for a block of channels. */
ABOARD_INLINE void aboard_depthwise_packed_columns(const aboard_depthwise_packed_mve_t *p, const int8_t *x,
                                                   int8_t *strips) {
    if (p->words == 4) {
        aboard_depthwise_packed_four(p, x, strips);
    } else {
        aboard_depthwise_packed_sixteen(p, x, strips);
    }
}

#else

/** Packs all strips of an image for a block of channels, between the padding along that is there already. */
ABOARD_INLINE void aboard_depthwise_packed_columns(const aboard_depthwise_packed_mve_t *p, const int8_t *x,
                                                   int8_t *strips) {
    const int32_t pitch = aboard_depthwise_packed_pitch(p);
    const int32_t count = ABOARD_MIN(p->along.inputs, p->places - p->along.pad);
    for (int32_t strip = 0; strip < p->slab; ++strip) {
        int8_t *to = strips + strip * aboard_depthwise_packed_strip(p) + p->along.pad * pitch;
        for (int32_t at = 0; at < count * pitch; ++at) {
            const int32_t pixel = 2 * strip + at % 4 - p->across.pad;
            const int8_t *const from = x + at / pitch * p->along.in_stride + at / 4 % p->words;
            const int32_t there = pixel >= 0 && pixel < p->across.inputs;
            to[at] = (int8_t)(there ? from[pixel * p->across.in_stride] : p->zero_point);
        }
    }
}

#endif

#endif
