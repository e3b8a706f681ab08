/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config.h
 * Compiler-dependent macros of generated code and kernels, for C99 and later with gcc and clang. Portable code also
 * supports other compilers with GNU attributes.
 */
#ifndef ABOARD_CONFIG_H
#define ABOARD_CONFIG_H

#include <stdint.h>

/* Works around a bug of gcc 12 for Armv8.1-M. gcc turns loops into count-down loops for the low-overhead-loop
 * instructions. Without a free register it uses SUBS instead, and forgets that SUBS changes flags that are read after
 * the loop: `for (; n > 1; n -= 2) ...; if (n > 0) ...` always takes the branch. gcc names this architecture 8M_MAIN,
 * like Armv8-M. */
#if (defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-branch-count-reg")
#endif

/** A function that is always inlined, so that constant arguments fold into it. */
#define ABOARD_INLINE static inline __attribute__((always_inline))

/**
 * A function that is never inlined: an instance of a kernel that equal layers share. With -opt=speed (ABOARD_SPEED),
 * gcc must not propagate the addresses of constants into the function, where they would occupy the registers that its
 * accumulators need.
 */
#if defined(ABOARD_SPEED) && defined(__GNUC__) && !defined(__clang__)
#define ABOARD_NOINLINE __attribute__((noinline, noclone))
#else
#define ABOARD_NOINLINE __attribute__((noinline))
#endif

/** A function in a kernel's header that all layers of a model share; unused if the model has no such layer. */
#define ABOARD_SHARED static __attribute__((noinline, unused))

/** A parameter that the C code of a function does not use. */
#define ABOARD_UNUSED __attribute__((unused))

/** A function written in assembly alone: the compiler cannot see its reads and writes. */
#if defined(__clang__)
#define ABOARD_NAKED static __attribute__((naked, noinline, unused))
#else
#define ABOARD_NAKED static __attribute__((naked, noipa, unused))
#endif

/** For a function whose inner loop needs many registers: with -Os, gcc spills registers without regard to loops.
 */
#if defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
#define ABOARD_HOT __attribute__((optimize("O2")))
#else
#define ABOARD_HOT
#endif

/** Promises that no other pointer of the function reaches the same memory. */
#define ABOARD_RESTRICT __restrict

/** Requests that the next loop is unrolled n times. */
#define ABOARD_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define ABOARD_UNROLL(n) ABOARD_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define ABOARD_UNROLL(n) ABOARD_PRAGMA(GCC unroll n)
#else
#define ABOARD_UNROLL(n)
#endif

/** Hides the value of an integer or pointer from the compiler. The compiler then neither derives further pointers from
 * it nor delays the sums before it; both would need registers that are not free. Emits no instruction. */
#define ABOARD_OPAQUE(value) __asm__ volatile("" : "+r"(value))

/** A pointer to a multiple of n bytes. */
#if defined(__GNUC__)
#define ABOARD_AT_MULTIPLE(pointer, n) __builtin_assume_aligned(pointer, n)
#else
#define ABOARD_AT_MULTIPLE(pointer, n) (pointer)
#endif

/** Number of zero bits above the highest set bit; x must not be 0. */
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

/** 1 for cores with 16-bit instructions alone (Armv6-M): arithmetic on eight registers, no 64-bit product. */
#ifndef ABOARD_THUMB1
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define ABOARD_THUMB1 1
#else
#define ABOARD_THUMB1 0
#endif
#endif

/** Alignment of a variable, in bytes. */
#define ABOARD_ALIGNED(n) __attribute__((aligned(n)))

/** Section of a variable. The linker script places it into a memory region: `.aboard.<region>` for arenas,
 * `.aboard.weights.<region>` for weights. No effect for object files that are not ELF. */
#if defined(__ELF__)
#define ABOARD_SECTION(name) __attribute__((section(name)))
#else
#define ABOARD_SECTION(name)
#endif

/** Maximum and minimum of two values; arguments are evaluated twice. */
#define ABOARD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define ABOARD_MIN(a, b) ((a) < (b) ? (a) : (b))

#endif
