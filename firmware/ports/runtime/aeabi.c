/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases of the functions in memory.c with the names that clang for Arm uses (Arm's run-time ABI, IHI 0043). */
#include <stddef.h>
#include <string.h>

#if defined(__arm__)
void __aeabi_memcpy(void *to, const void *from, size_t count);
void __aeabi_memcpy4(void *to, const void *from, size_t count);
void __aeabi_memcpy8(void *to, const void *from, size_t count);
void __aeabi_memmove(void *to, const void *from, size_t count);
void __aeabi_memmove4(void *to, const void *from, size_t count);
void __aeabi_memmove8(void *to, const void *from, size_t count);
void __aeabi_memset(void *to, size_t count, int value);
void __aeabi_memset4(void *to, size_t count, int value);
void __aeabi_memset8(void *to, size_t count, int value);
void __aeabi_memclr(void *to, size_t count);
void __aeabi_memclr4(void *to, size_t count);
void __aeabi_memclr8(void *to, size_t count);

void __aeabi_memcpy(void *to, const void *from, size_t count) {
    (void)memcpy(to, from, count);
}
void __aeabi_memcpy4(void *to, const void *from, size_t count) {
    (void)memcpy(to, from, count);
}
void __aeabi_memcpy8(void *to, const void *from, size_t count) {
    (void)memcpy(to, from, count);
}
void __aeabi_memmove(void *to, const void *from, size_t count) {
    (void)memmove(to, from, count);
}
void __aeabi_memmove4(void *to, const void *from, size_t count) {
    (void)memmove(to, from, count);
}
void __aeabi_memmove8(void *to, const void *from, size_t count) {
    (void)memmove(to, from, count);
}
void __aeabi_memset(void *to, size_t count, int value) {
    (void)memset(to, value, count);
}
void __aeabi_memset4(void *to, size_t count, int value) {
    (void)memset(to, value, count);
}
void __aeabi_memset8(void *to, size_t count, int value) {
    (void)memset(to, value, count);
}
void __aeabi_memclr(void *to, size_t count) {
    (void)memset(to, 0, count);
}
void __aeabi_memclr4(void *to, size_t count) {
    (void)memset(to, 0, count);
}
void __aeabi_memclr8(void *to, size_t count) {
    (void)memset(to, 0, count);
}
#endif
