/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file string.h
 * The functions of <string.h> that firmware and kernels use, for compilers without a C library.
 */
#ifndef ABOARD_STRING_H
#define ABOARD_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *__restrict to, const void *__restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *one, const void *other, size_t count);

#ifdef __cplusplus
}
#endif

#endif
