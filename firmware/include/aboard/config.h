/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config.h
 * Compiler-dependent macros of generated code and kernels, for C99 and later. Code for named cores needs gcc or clang.
 * Portable code (-mcpu=generic) needs no extension of C99: without GNU attributes these macros expand to plain C99, at
 * the price of speed.
 *
 * Portable code makes no assumption on byte order, on the width of int, long and pointers, or on the signedness of
 * char. A build stops here if bytes do not have 8 bits, if right shifts of negative numbers are not arithmetic, if
 * conversions to signed types do not wrap, or if float is not the single precision of IEEE 754.
 */
#ifndef ABOARD_CONFIG_H
#define ABOARD_CONFIG_H

#include <float.h>
#include <limits.h>
#include <stdint.h>

#if CHAR_BIT != 8
#error "aboard needs bytes of 8 bits: this compiler has others (TI C2000 has 16). Take a core with 8-bit bytes"
#endif

/** Stops the build if a condition on the compiler is false: an array type cannot have a negative size. */
#define ABOARD_REQUIRE(name, condition) typedef char aboard_requires_##name[(condition) ? 1 : -1]

/* C99 leaves these to the compiler. */
ABOARD_REQUIRE(arithmetic_right_shift, (-1 >> 1) == -1 && (INT32_MIN >> 31) == -1);
ABOARD_REQUIRE(float_of_32_bits, FLT_RADIX == 2 && FLT_MANT_DIG == 24 && FLT_MAX_EXP == 128);
ABOARD_REQUIRE(wrapping_conversion, (int32_t)UINT32_MAX == -1 && (int8_t)0xff == -1);

/** 1 if the compiler supports GNU attributes and builtin functions. Define it to overrule the choice. */
#ifndef ABOARD_GNU
#if defined(__GNUC__) || defined(__clang__)
#define ABOARD_GNU 1
#else
#define ABOARD_GNU 0
#endif
#endif

/* Works around a bug of gcc 12 for Armv8.1-M. gcc turns loops into count-down loops for the low-overhead-loop
 * instructions. Without a free register it uses SUBS instead, and forgets that SUBS changes flags that are read after
 * the loop: `for (; n > 1; n -= 2) ...; if (n > 0) ...` always takes the branch. gcc names this architecture 8M_MAIN,
 * like Armv8-M. */
#if (defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-branch-count-reg")
#endif

/* Parameters with tables of rows as arguments are no constants. So that their other members are literals for assembly,
 * gcc must take the struct apart, as it does without being asked at all levels of optimisation but -Og. */
#if defined(__ARM_FEATURE_MVE) && defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-sra")
#endif

/* Kernels for Helium take all registers but five, which hold operands: none is left for a frame pointer. */
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer")
#endif

#if ABOARD_GNU

/** A function that is always inlined, so that constant arguments fold into it; unused if the model has no use for it.
 * Calls of a profiler (-finstrument-functions) would make its arguments variables. */
#define ABOARD_INLINE static inline __attribute__((always_inline, no_instrument_function, unused))

/**
 * A function that is never inlined: an instance of a kernel that equal layers share. With -opt=speed (ABOARD_SPEED),
 * gcc must not propagate the addresses of constants into the function, where they would occupy the registers that its
 * accumulators need.
 */
#if defined(ABOARD_SPEED) && !defined(__clang__)
#define ABOARD_NOINLINE __attribute__((noinline, noclone))
#else
#define ABOARD_NOINLINE __attribute__((noinline))
#endif

/** Places a function in RAM if the model's source asks for it: a linker script that knows `.ramfunc` copies the section
 * there at start-up; without one it stays beside the other code, which is correct and no faster. */
#if defined(ABOARD_CODE_IN_RAM) && defined(__ELF__)
#define ABOARD_PLACED __attribute__((section(".ramfunc")))
#else
#define ABOARD_PLACED
#endif

/** A function in a kernel's header that all layers of a model share; unused if the model has no such layer. */
#define ABOARD_SHARED static ABOARD_PLACED __attribute__((noinline, unused))

/** A parameter that the C code of a function does not use. */
#define ABOARD_UNUSED __attribute__((unused))

/** 1 if the compiler knows a GNU attribute. */
#if defined(__has_attribute)
#define ABOARD_KNOWS(attribute) __has_attribute(attribute)
#else
#define ABOARD_KNOWS(attribute) 0
#endif

/* Compilers put their own code into functions: canaries of the stack, counters of coverage, calls of profilers. In a
 * function written in assembly this code would change the arguments, and the stack of the caller. */
#if ABOARD_KNOWS(no_stack_protector)
#define ABOARD_NO_CANARY __attribute__((no_stack_protector))
#else
#define ABOARD_NO_CANARY __attribute__((optimize("no-stack-protector")))
#endif
#if ABOARD_KNOWS(no_profile_instrument_function)
#define ABOARD_NO_COUNTER __attribute__((no_profile_instrument_function))
#else
#define ABOARD_NO_COUNTER
#endif
#if ABOARD_KNOWS(no_sanitize_coverage)
#define ABOARD_NO_TRACE __attribute__((no_instrument_function, no_sanitize_coverage))
#else
#define ABOARD_NO_TRACE __attribute__((no_instrument_function))
#endif

/** A function written in assembly alone: the compiler cannot see its reads and writes. */
#if defined(__clang__)
#define ABOARD_ASSEMBLY __attribute__((naked, noinline, unused))
#else
#define ABOARD_ASSEMBLY __attribute__((naked, noipa, unused))
#endif
#define ABOARD_NAKED static ABOARD_PLACED ABOARD_NO_CANARY ABOARD_NO_COUNTER ABOARD_NO_TRACE ABOARD_ASSEMBLY

#else

#define ABOARD_INLINE static inline
#define ABOARD_NOINLINE
#define ABOARD_PLACED
#define ABOARD_SHARED static inline
#define ABOARD_UNUSED

#endif

/** For a function whose inner loop needs many registers: with -Os, gcc spills registers without regard to loops.
 */
#if defined(__OPTIMIZE_SIZE__) && ABOARD_GNU && !defined(__clang__)
#define ABOARD_HOT __attribute__((optimize("O2")))
#else
#define ABOARD_HOT
#endif

/** Promises that no other pointer of the function reaches the same memory. */
#if ABOARD_GNU
#define ABOARD_RESTRICT __restrict
#elif defined(__cplusplus)
#define ABOARD_RESTRICT
#else
#define ABOARD_RESTRICT restrict
#endif

/** Requests that the next loop is unrolled n times. */
#define ABOARD_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define ABOARD_UNROLL(n) ABOARD_PRAGMA(clang loop unroll_count(n))
#elif ABOARD_GNU && __GNUC__ >= 8
#define ABOARD_UNROLL(n) ABOARD_PRAGMA(GCC unroll n)
#else
#define ABOARD_UNROLL(n)
#endif

/** Hides the value of an integer or pointer from the compiler. The compiler then neither derives further pointers from
 * it nor delays the sums before it; both would need registers that are not free. Emits no instruction. */
#if ABOARD_GNU
#define ABOARD_OPAQUE(value) __asm__ volatile("" : "+r"(value))
#else
#define ABOARD_OPAQUE(value) ((void)0)
#endif

/** A pointer to a multiple of n bytes. */
#if ABOARD_GNU
#define ABOARD_AT_MULTIPLE(pointer, n) __builtin_assume_aligned(pointer, n)
#else
#define ABOARD_AT_MULTIPLE(pointer, n) (pointer)
#endif

/** Byte `i` of a word, lowest first, as a signed number: a load where the byte order is known, else a shift. */
ABOARD_INLINE int8_t aboard_byte_of(const int32_t *word, int32_t i) {
#if defined(__BYTE_ORDER__) && defined(__ORDER_LITTLE_ENDIAN__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return ((const int8_t *)word)[i];
#else
    return (int8_t)(((uint32_t)*word >> (8 * i)) & 0xffu);
#endif
}

/** Infinity as a float, without <math.h>, which compilers without a C library lack. */
#if ABOARD_GNU
#define ABOARD_INFINITY __builtin_inff()
#else
#define ABOARD_INFINITY (FLT_MAX * 2.0f)
#endif

/** Number of zero bits above the highest set bit; x must not be 0. */
ABOARD_INLINE int32_t aboard_leading_zeros(uint32_t x) {
#if ABOARD_GNU && UINT_MAX == 0xffffffff
    return __builtin_clz(x);
#elif ABOARD_GNU && ULONG_MAX == 0xffffffff
    return __builtin_clzl(x);
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

/** Alignment of a variable, in bytes, behind its name. Without GNU attributes the kernels do without it, but arenas
 * need it: define it as your compiler has it, or round the address up in a buffer with ABOARD_ARENA_ALIGN bytes more.
 */
#ifndef ABOARD_ALIGNED
#if ABOARD_GNU || defined(__TINYC__) || defined(__IAR_SYSTEMS_ICC__)
#define ABOARD_ALIGNED(n) __attribute__((aligned(n)))
#else
#define ABOARD_ALIGNED(n)
#endif
#endif

/** Section of a variable. The linker script places it into a memory region: `.aboard.<region>` for arenas,
 * `.aboard.weights.<region>` for weights. No effect for object files that are not ELF. */
#if defined(__ELF__) && ABOARD_GNU
#define ABOARD_SECTION(name) __attribute__((section(name)))
#else
#define ABOARD_SECTION(name)
#endif

/** Maximum and minimum of two values; arguments are evaluated twice. */
#define ABOARD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define ABOARD_MIN(a, b) ((a) < (b) ? (a) : (b))

#endif
