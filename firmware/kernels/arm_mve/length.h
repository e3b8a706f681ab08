/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/length.h
 * The length of assembly text that repeats itself.
 *
 * A compiler estimates the length of assembly by its lines, and places constants within the range of its loads: 1020
 * bytes for vectors and floats. It does not count the repetitions of `.rept`. Repeating text therefore ends with as
 * many empty lines as it has instructions, in steps, because their number is part of the text. gcc counts lines; clang
 * counts statements, and the size in `.space`.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_LENGTH_H
#define ABOARD_KERNELS_ARM_MVE_LENGTH_H

#define ABOARD_MVE_16_LINES "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
#define ABOARD_MVE_64_LINES ABOARD_MVE_16_LINES ABOARD_MVE_16_LINES ABOARD_MVE_16_LINES ABOARD_MVE_16_LINES
#define ABOARD_MVE_256_LINES ABOARD_MVE_64_LINES ABOARD_MVE_64_LINES ABOARD_MVE_64_LINES ABOARD_MVE_64_LINES
#define ABOARD_MVE_1024_LINES ABOARD_MVE_256_LINES ABOARD_MVE_256_LINES ABOARD_MVE_256_LINES ABOARD_MVE_256_LINES

/** `lines`, and the same for clang: as many `bytes` that are not there. */
#define ABOARD_MVE_LENGTH(lines, bytes) "\n\t.if 0\n\t.space " #bytes "\n\t.endif" lines

/** The statement `ASM(text)`, `text` standing for `repeated` instructions beside the lines of the statement. */
#define ABOARD_MVE_SIZED(repeated, ASM)                                                                                \
    do {                                                                                                               \
        if ((repeated) <= 0) {                                                                                         \
            ASM("");                                                                                                   \
        } else if ((repeated) <= 32) {                                                                                 \
            ASM(ABOARD_MVE_LENGTH(ABOARD_MVE_16_LINES ABOARD_MVE_16_LINES, 128));                                      \
        } else if ((repeated) <= 64) {                                                                                 \
            ASM(ABOARD_MVE_LENGTH(ABOARD_MVE_64_LINES, 256));                                                          \
        } else if ((repeated) <= 128) {                                                                                \
            ASM(ABOARD_MVE_LENGTH(ABOARD_MVE_64_LINES ABOARD_MVE_64_LINES, 512));                                      \
        } else if ((repeated) <= 256) {                                                                                \
            ASM(ABOARD_MVE_LENGTH(ABOARD_MVE_256_LINES, 1024));                                                        \
        } else if ((repeated) <= 512) {                                                                                \
            ASM(ABOARD_MVE_LENGTH(ABOARD_MVE_256_LINES ABOARD_MVE_256_LINES, 2048));                                   \
        } else {                                                                                                       \
            ASM(ABOARD_MVE_LENGTH(ABOARD_MVE_1024_LINES ABOARD_MVE_1024_LINES, 8192));                                 \
        }                                                                                                              \
    } while (0)

#endif
