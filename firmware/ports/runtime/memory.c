/* SPDX-License-Identifier: Apache-2.0 */
/* memcpy, memmove, memset and memcmp. They work in words if the addresses allow it, because kernels copy data with
 * them. The build file sets a flag that keeps the compiler from turning these loops into calls of the same functions.
 * */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words that may alias any type. A loose word may have any address, on cores with unaligned access. */
typedef uint32_t __attribute__((may_alias)) word_t;
typedef struct {
    uint32_t word;
} __attribute__((packed, may_alias)) loose_t;

#define WORD sizeof(word_t)
#define LOW_BITS(p) ((uintptr_t)(p) % WORD)

#if defined(__ARM_FEATURE_UNALIGNED) || defined(__x86_64__) || defined(__aarch64__)
#define LOADS_LOOSE 1
#else
#define LOADS_LOOSE 0
#endif

/* Copies words between two aligned addresses. Returns the number of copied bytes. */
static size_t copy_words(uint8_t *to, const uint8_t *from, size_t count) {
    word_t *out = (word_t *)(void *)to;
    const word_t *in = (const word_t *)(const void *)from;
    const word_t *const end4 = in + (count / WORD & ~(size_t)3);
    const word_t *const end = in + count / WORD;
    while (in != end4) {
        const uint32_t a = in[0], b = in[1], c = in[2], d = in[3];
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = d;
        in += 4;
        out += 4;
    }
    while (in != end) {
        *out++ = *in++;
    }
    return count & ~(WORD - 1);
}

/* As copy_words, from any address: by unaligned loads, or from the two aligned words that contain each word. */
static size_t copy_shifted(uint8_t *to, const uint8_t *from, size_t count) {
    word_t *out = (word_t *)(void *)to;
    word_t *const end = out + count / WORD;
#if LOADS_LOOSE
    const loose_t *in = (const loose_t *)(const void *)from;
    while (out != end) {
        *out++ = (in++)->word;
    }
#else
    const uint32_t right = (uint32_t)LOW_BITS(from) * 8;
    const word_t *in = (const word_t *)(const void *)(from - LOW_BITS(from));
    uint32_t low = out != end ? *in++ : 0;
    while (out != end) {
        const uint32_t high = *in++;
        *out++ = low >> right | high << (32 - right);
        low = high;
    }
#endif
    return count & ~(WORD - 1);
}

static void copy_up(uint8_t *to, const uint8_t *from, size_t count) {
    if (count >= 2 * WORD) {
        while (LOW_BITS(to) != 0) {
            *to++ = *from++;
            count--;
        }
        const size_t done = LOW_BITS(from) == 0 ? copy_words(to, from, count) : copy_shifted(to, from, count);
        to += done;
        from += done;
        count -= done;
    }
    while (count-- != 0) {
        *to++ = *from++;
    }
}

/* Copies from the last byte to the first, for moves to a higher address. */
static void copy_down(uint8_t *to, const uint8_t *from, size_t count) {
    to += count;
    from += count;
    if (LOW_BITS(to) == LOW_BITS(from)) {
        while (count != 0 && LOW_BITS(to) != 0) {
            *--to = *--from;
            count--;
        }
        for (; count >= WORD; count -= WORD) {
            to -= WORD;
            from -= WORD;
            *(word_t *)(void *)to = *(const word_t *)(const void *)from;
        }
    }
    while (count-- != 0) {
        *--to = *--from;
    }
}

void *memcpy(void *__restrict to, const void *__restrict from, size_t count) {
    copy_up(to, from, count);
    return to;
}

void *memmove(void *to, const void *from, size_t count) {
    /* Copy upwards unless the target begins inside the source, where it would overwrite bytes before they are read. */
    if ((uintptr_t)to - (uintptr_t)from >= count) {
        copy_up(to, from, count);
    } else {
        copy_down(to, from, count);
    }
    return to;
}

void *memset(void *to, int value, size_t count) {
    uint8_t *out = to;
    const uint8_t byte = (uint8_t)value;
    if (count >= 2 * WORD) {
        for (; LOW_BITS(out) != 0; count--) {
            *out++ = byte;
        }
        const uint32_t four = byte * 0x01010101u;
        word_t *words = (word_t *)(void *)out;
        for (; count >= 4 * WORD; count -= 4 * WORD, words += 4) {
            words[0] = four;
            words[1] = four;
            words[2] = four;
            words[3] = four;
        }
        for (; count >= WORD; count -= WORD) {
            *words++ = four;
        }
        out = (uint8_t *)words;
    }
    while (count-- != 0) {
        *out++ = byte;
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t count) {
    const uint8_t *a = one;
    const uint8_t *b = other;
    for (; count != 0; count--, a++, b++) {
        if (*a != *b) {
            return *a - *b;
        }
    }
    return 0;
}
