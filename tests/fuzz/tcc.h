/*
 * What tcc lacks of gcc's built-ins, put before the generated C when campaigns compile it with tcc.
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ABOARD_FUZZ_TCC_H
#define ABOARD_FUZZ_TCC_H

#define _Pragma(text)
#define __builtin_assume_aligned(pointer, bytes) (pointer)
#define __builtin_clz(value) aboard_fuzz_clz(value)

static inline int aboard_fuzz_clz(unsigned value) {
    int zeros = 31;
    while ((value >>= 1) != 0) {
        --zeros;
    }
    return zeros;
}

#endif
