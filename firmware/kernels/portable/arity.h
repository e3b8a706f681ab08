/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/arity.h
 * Lists of parameters and arguments for kernels that exist once for each number of operands or results.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ARITY_H
#define ABOARD_KERNELS_PORTABLE_ARITY_H

/** ABOARD_LIST_<n>(item) is item(0), item(1), ..., item(n - 1). */
#define ABOARD_LIST_1(item) item(0)
#define ABOARD_LIST_2(item) ABOARD_LIST_1(item), item(1)
#define ABOARD_LIST_3(item) ABOARD_LIST_2(item), item(2)
#define ABOARD_LIST_4(item) ABOARD_LIST_3(item), item(3)
#define ABOARD_LIST_5(item) ABOARD_LIST_4(item), item(4)
#define ABOARD_LIST_6(item) ABOARD_LIST_5(item), item(5)
#define ABOARD_LIST_7(item) ABOARD_LIST_6(item), item(6)
#define ABOARD_LIST_8(item) ABOARD_LIST_7(item), item(7)
#define ABOARD_LIST_9(item) ABOARD_LIST_8(item), item(8)
#define ABOARD_LIST_10(item) ABOARD_LIST_9(item), item(9)
#define ABOARD_LIST_11(item) ABOARD_LIST_10(item), item(10)
#define ABOARD_LIST_12(item) ABOARD_LIST_11(item), item(11)
#define ABOARD_LIST_13(item) ABOARD_LIST_12(item), item(12)
#define ABOARD_LIST_14(item) ABOARD_LIST_13(item), item(13)
#define ABOARD_LIST_15(item) ABOARD_LIST_14(item), item(14)
#define ABOARD_LIST_16(item) ABOARD_LIST_15(item), item(15)

/** Defines something for every number of parts from 1 to 16: define(n, list). */
#define ABOARD_FOR_EACH_ARITY(define)                                                                                  \
    define(1, ABOARD_LIST_1) define(2, ABOARD_LIST_2) define(3, ABOARD_LIST_3) define(4, ABOARD_LIST_4)                \
        define(5, ABOARD_LIST_5) define(6, ABOARD_LIST_6) define(7, ABOARD_LIST_7) define(8, ABOARD_LIST_8)            \
            define(9, ABOARD_LIST_9) define(10, ABOARD_LIST_10) define(11, ABOARD_LIST_11) define(12, ABOARD_LIST_12)  \
                define(13, ABOARD_LIST_13) define(14, ABOARD_LIST_14) define(15, ABOARD_LIST_15)                       \
                    define(16, ABOARD_LIST_16)

#endif
