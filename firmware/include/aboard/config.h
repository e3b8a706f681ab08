/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config.h
 * Compiler-dependent words that generated code and kernels use: C99 and later, gcc and clang, and in portable code
 * compilers that know attributes.
 */
#ifndef ABOARD_CONFIG_H
#define ABOARD_CONFIG_H

#include <stdint.h>

/* gcc 12 counts loops down for the loop instructions of Armv8.1-M even where it then has no register for them and uses
 * SUBS, and forgets that SUBS changes flags which are still to be read behind the loop: `for (; n > 1; n -= 2) ...;
 * if (n > 0) ...` always takes the branch. It calls that architecture 8M_MAIN, as it does Armv8-M. */
#if (defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-branch-count-reg")
#endif

/** A function that is always expanded at its call, so that literal parameters fold into it. */
#define ABOARD_INLINE static inline __attribute__((always_inline))

/**
 * A function that stays one: an instance of a kernel that equal layers share. With -opt=speed (ABOARD_SPEED) gcc is
 * kept from moving the addresses of its constants into it, where they would fill the registers that its sums need.
 */
#if defined(ABOARD_SPEED) && defined(__GNUC__) && !defined(__clang__)
#define ABOARD_NOINLINE __attribute__((noinline, noclone))
#else
#define ABOARD_NOINLINE __attribute__((noinline))
#endif

/** A function in a kernel's header that all layers of a model share; unused where the model has no such layer. */
#define ABOARD_SHARED static __attribute__((noinline, unused))

/** A parameter that the C of a function does not mention. */
#define ABOARD_UNUSED __attribute__((unused))

/** A function that is assembly throughout: the compiler cannot see what it reads and changes. */
#if defined(__clang__)
#define ABOARD_NAKED static __attribute__((naked, noinline, unused))
#else
#define ABOARD_NAKED static __attribute__((naked, noipa, unused))
#endif

/** On a function whose inner loop wants registers for what it uses most: with -Os gcc spills without regard to loops.
 */
#if defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
#define ABOARD_HOT __attribute__((optimize("O2")))
#else
#define ABOARD_HOT
#endif

/** Promises that no other pointer of the function reaches the same memory. */
#define ABOARD_RESTRICT __restrict

/** Asks for the next loop to be unrolled n times. */
#define ABOARD_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define ABOARD_UNROLL(n) ABOARD_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define ABOARD_UNROLL(n) ABOARD_PRAGMA(GCC unroll n)
#else
#define ABOARD_UNROLL(n)
#endif

/** Tells the compiler that an integer or pointer may have changed, so that it neither derives further pointers from it
 * nor puts off the sums before it: there are no registers for either. Costs no instruction. */
#define ABOARD_OPAQUE(value) __asm__ volatile("" : "+r"(value))

/** A pointer to a multiple of n bytes. */
#if defined(__GNUC__)
#define ABOARD_AT_MULTIPLE(pointer, n) __builtin_assume_aligned(pointer, n)
#else
#define ABOARD_AT_MULTIPLE(pointer, n) (pointer)
#endif

/** Bits above the highest that is set; one is. */
ABOARD_INLINE int32_t aboard_leading_zeros(uint32_t x) {
#if defined(__GNUC__)
    return __builtin_clz(x);
#else
    int32_t zeros = 0;
    for (; x >> 31 == 0; x <<= 1) {
        ++zeros;
    }
    return zeros;
#endif
}

/** 1: instructions of 16 bits alone (Armv6-M): arithmetic in eight registers, no product of 64 bits. */
#ifndef ABOARD_THUMB1
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define ABOARD_THUMB1 1
#else
#define ABOARD_THUMB1 0
#endif
#endif

/** Alignment of a variable, in bytes. */
#define ABOARD_ALIGNED(n) __attribute__((aligned(n)))

/** Section of a variable, by which a linker script gives it a memory region: `.aboard.<region>` for arenas,
 * `.aboard.weights.<region>` for weights. Of no effect where objects are not ELF. */
#if defined(__ELF__)
#define ABOARD_SECTION(name) __attribute__((section(name)))
#else
#define ABOARD_SECTION(name)
#endif

/** Larger and smaller of two values; arguments are evaluated twice. */
#define ABOARD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define ABOARD_MIN(a, b) ((a) < (b) ? (a) : (b))

#endif
