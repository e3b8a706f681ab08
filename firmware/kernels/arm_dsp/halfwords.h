/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/halfwords.h
 * Two numbers of int16 in a word with the DSP extension. Each piece of assembly has a twin in C.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_HALFWORDS_H
#define ABOARD_KERNELS_ARM_DSP_HALFWORDS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Two elements at any address, the first in the lower half. */
ABOARD_INLINE uint32_t aboard_dsp_halfwords(const int16_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

/** Stores two elements at any address. */
ABOARD_INLINE void aboard_dsp_store_halfwords(int16_t *to, uint32_t word) {
    memcpy(to, &word, sizeof(word));
}

/** The lower half. */
ABOARD_INLINE int32_t aboard_dsp_lower(uint32_t word) {
    return (int16_t)word;
}

/** The upper half. */
ABOARD_INLINE int32_t aboard_dsp_upper(uint32_t word) {
    return (int16_t)(word >> 16);
}

/** A word of two numbers, of which the lower 16 bits count. */
ABOARD_INLINE uint32_t aboard_dsp_two_halfwords(int32_t lower, int32_t upper) {
    return (uint16_t)lower | (uint32_t)upper << 16;
}

/** The lower half of one word and the upper half of another. */
ABOARD_INLINE uint32_t aboard_dsp_mixed_halves(uint32_t lower, uint32_t upper) {
#if ABOARD_DSP_ASM
    uint32_t mixed;
    __asm__("pkhbt %0, %1, %2" : "=r"(mixed) : "r"(lower), "r"(upper));
    return mixed;
#else
    return (lower & 0xffffu) | (upper & 0xffff0000u);
#endif
}

#if ABOARD_DSP_ASM
/** Defines a function of two words that is one instruction. */
#define ABOARD_DSP_HALFWORDS(name, instruction, lower, upper)                                                          \
    ABOARD_INLINE uint32_t name(uint32_t a, uint32_t b) {                                                              \
        uint32_t result;                                                                                               \
        __asm__(instruction " %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));                                            \
        return result;                                                                                                 \
    }
#else
/** Defines a function of two words by its expressions of both halves. */
#define ABOARD_DSP_HALFWORDS(name, instruction, lower, upper)                                                          \
    ABOARD_INLINE uint32_t name(uint32_t a, uint32_t b) {                                                              \
        const int32_t a0 = aboard_dsp_lower(a), a1 = aboard_dsp_upper(a);                                              \
        const int32_t b0 = aboard_dsp_lower(b), b1 = aboard_dsp_upper(b);                                              \
        return aboard_dsp_two_halfwords(lower, upper);                                                                 \
    }
#endif

/** a + b and a - b, which wrap. */
ABOARD_DSP_HALFWORDS(aboard_dsp_add_halfwords, "sadd16", a0 + b0, a1 + b1)
ABOARD_DSP_HALFWORDS(aboard_dsp_sub_halfwords, "ssub16", a0 - b0, a1 - b1)

/** (a + b) / 2 and (a - b) / 2, rounded down. */
ABOARD_DSP_HALFWORDS(aboard_dsp_mean_halfwords, "shadd16", (a0 + b0) >> 1, (a1 + b1) >> 1)
ABOARD_DSP_HALFWORDS(aboard_dsp_half_difference, "shsub16", (a0 - b0) >> 1, (a1 - b1) >> 1)

#endif
