/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/helium.h
 * Selects one of two forms of these kernels: with Helium, or in portable C.
 *
 * Assembly and intrinsics need an optimising compiler: shifts and distances are part of instructions, and parameters
 * become literals only through propagation. Without optimisation, and for compilers without Helium, an equal function
 * in C gives the same results from the same packed weights.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_HELIUM_H
#define ABOARD_KERNELS_ARM_MVE_HELIUM_H

/** 1: assembly and intrinsics; 0: C. */
#ifndef ABOARD_MVE_ASM
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && defined(__OPTIMIZE__)
#define ABOARD_MVE_ASM 1
#else
#define ABOARD_MVE_ASM 0
#endif
#endif

/**
 * Clobber of assembly that sets the predicate register, followed by a comma. Without it gcc keeps a predicate in the
 * register from one store to the next, also across calls of functions whose code it sees. clang has no name for the
 * register in clobbers.
 */
#if defined(__clang__)
#define ABOARD_MVE_PREDICATE
#else
#define ABOARD_MVE_PREDICATE "p0",
#endif

/** Four words: a vector. */
#if ABOARD_MVE_ASM
#include <arm_mve.h>
typedef int32x4_t aboard_mve_packed_words_t;
#else
#include <stdint.h>
typedef struct {
    int32_t lanes[4];
} aboard_mve_packed_words_t;
#endif

#endif
