/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "weights.h"

/** Values of the field for the divisor of runs that say something else. */
#define NO_RUNS 6u
#define END 7u
/** Value of the field for the divisor of weights: they are not compressed. */
#define RAW 7u
#define WEIGHT_DIVISORS 6u
#define RUN_DIVISORS 4u

/** Codes of a chunk: of weights, of raw weights of more than 5 bits, of runs with the largest divisor. */
#define SHORT_CHUNK 8u
#define LONG_RAW_BITS 5u
/** A code pauses that is so many values ahead of the other. */
#define LEAD 8u
/** Longest quotient of a run; longer ones are more zeros than an address space has. */
#define MOST_QUOTIENT 0x0fffffffu

static uint32_t bits(ethos_u_decoder_t *d, uint32_t count) {
    uint32_t value = 0;
    if (count > d->bits - d->at) {
        d->wrong = true;
        d->at = d->bits;
        return 0;
    }
    for (uint32_t i = 0; i < count; i++, d->at++) {
        value |= ((uint32_t)d->data[d->at >> 3] >> (d->at & 7u) & 1u) << i;
    }
    return value;
}

void ethos_u_decoder_begin(ethos_u_decoder_t *decoder, const uint8_t *data, size_t bytes) {
    memset(decoder, 0, sizeof *decoder);
    decoder->data = data;
    decoder->bits = bytes * 8u;
}

static void read_palette(ethos_u_decoder_t *d) {
    d->direct_offset = bits(d, 5);
    const uint32_t size = bits(d, 5);
    d->palette_size = size == 0 ? 0 : size + 1u;
    d->palette_bits = bits(d, 3) + 2u;
    for (uint32_t i = 0; i < d->palette_size; i++) {
        d->palette[i] = (uint16_t)bits(d, d->palette_bits);
    }
}

static uint32_t index_bits(uint32_t palette_size) {
    uint32_t count = 0;
    while (count < 5u && 1u << count < palette_size) {
        count++;
    }
    return count;
}

static void begin_code(ethos_u_code_t *code, uint32_t count) {
    code->left = count;
    code->read = 0;
    code->carry = 0;
    code->pending = 0;
    code->first = 0;
    code->count = 0;
}

/** Reads the header of a slice, after those that only fill the last byte of a slice. False at the end of the stream. */
static bool begin_slice(ethos_u_decoder_t *d) {
    uint32_t runs = END;
    while (runs == END) {
        if (d->bits - d->at < 3u) {
            d->ended = true;
            return false;
        }
        runs = bits(d, 3);
        if (runs == END) {
            d->at = (d->at + 7u) & ~(size_t)7u;
        }
    }
    const uint32_t count = bits(d, 15) + 1u;
    d->weight_divisor = bits(d, 3);
    d->is_truncated = bits(d, 1) != 0;
    const bool is_new = bits(d, 1) != 0;
    d->is_raw = d->weight_divisor == RAW;
    d->has_runs = runs != NO_RUNS;
    d->run_divisor = runs;
    if ((d->has_runs && runs >= RUN_DIVISORS) || (!d->is_raw && d->weight_divisor >= WEIGHT_DIVISORS)) {
        d->wrong = true;
    }
    if (is_new) {
        read_palette(d);
    }
    d->raw_bits = d->palette_size > 0 ? index_bits(d->palette_size) : d->palette_bits;
    begin_code(&d->weight, count);
    begin_code(&d->run, d->has_runs ? count + (is_new ? 1u : 0u) : 0u);
    d->left = count;
    d->run_is_next = d->has_runs && is_new;
    return !d->wrong;
}

static void add_quotient(ethos_u_code_t *code, uint32_t quotient) {
    if (code->left > 0) {
        code->quotient[code->pending++] = quotient;
        code->left--;
        code->read++;
    }
}

/** Forms the quotients of weights from their first bits; a second bit follows for each that is set. */
static void weight_quotients(ethos_u_decoder_t *d, uint32_t first) {
    ethos_u_code_t *code = &d->weight;
    if (d->is_raw) {
        const uint32_t count = d->raw_bits > LONG_RAW_BITS ? SHORT_CHUNK : ETHOS_U_CHUNK;
        for (uint32_t i = 0; i < count; i++) {
            add_quotient(code, 0);
        }
        return;
    }
    for (uint32_t i = 0; i < ETHOS_U_CHUNK; i++) {
        const uint32_t step = (first >> i & 1u) == 0 ? 0u : 1u + bits(d, 1);
        if (step == 2u && !d->is_truncated) {
            code->carry += 2u;
        } else {
            add_quotient(code, code->carry + step);
            code->carry = 0;
        }
    }
}

static void run_quotients(ethos_u_decoder_t *d) {
    ethos_u_code_t *code = &d->run;
    const uint32_t count = d->run_divisor == RUN_DIVISORS - 1u ? SHORT_CHUNK : ETHOS_U_CHUNK;
    const uint32_t unary = bits(d, count);
    for (uint32_t i = 0; i < count; i++) {
        if ((unary >> i & 1u) != 0) {
            code->carry++;
        } else {
            add_quotient(code, code->carry);
            code->carry = 0;
        }
    }
    d->wrong = d->wrong || code->carry > MOST_QUOTIENT;
}

/** Reads the remainders of a code's last chunk, whose quotients have been copied. */
static void remainders(ethos_u_decoder_t *d, ethos_u_code_t *code, const uint32_t *quotient, uint32_t count,
                       uint32_t divisor) {
    for (uint32_t i = 0; i < count; i++) {
        if (code->count - code->first >= ETHOS_U_READY) {
            d->wrong = true;
            return;
        }
        code->ready[code->count++ % ETHOS_U_READY] = (quotient[i] << divisor) + bits(d, divisor);
    }
}

/** Reads a chunk: the quotients of both codes, and the remainders of the chunk before. */
static void chunk(ethos_u_decoder_t *d) {
    ethos_u_code_t *weight = &d->weight, *run = &d->run;
    const uint32_t weights = weight->pending, runs = run->pending;
    uint32_t weight_before[ETHOS_U_CHUNK], run_before[ETHOS_U_CHUNK];
    memcpy(weight_before, weight->quotient, sizeof weight_before);
    memcpy(run_before, run->quotient, sizeof run_before);
    weight->pending = 0;
    run->pending = 0;
    const bool weights_go = weight->left > 0 && (!d->has_runs || weight->read < run->read + LEAD);
    const bool runs_go = run->left > 0 && run->read <= weight->read;
    const uint32_t first = weights_go && !d->is_raw ? bits(d, ETHOS_U_CHUNK) : 0u;
    if (runs_go) {
        run_quotients(d);
    }
    if (weights_go) {
        weight_quotients(d, first);
    }
    remainders(d, weight, weight_before, weights, d->is_raw ? d->raw_bits : d->weight_divisor);
    remainders(d, run, run_before, runs, d->run_divisor);
}

/** Takes the next value of a code; reads chunks until there is one. */
static uint32_t take(ethos_u_decoder_t *d, ethos_u_code_t *code) {
    while (code->first == code->count) {
        if (d->wrong || (code->left == 0 && code->pending == 0)) {
            d->wrong = true;
            return 0;
        }
        chunk(d);
    }
    return code->ready[code->first++ % ETHOS_U_READY];
}

static int16_t weight_of(ethos_u_decoder_t *d, uint32_t value) {
    const uint32_t coded = value < d->palette_size ? d->palette[value] : value - d->palette_size + d->direct_offset;
    if (coded > 0x1ffu) {
        d->wrong = true;
        return 0;
    }
    const int16_t magnitude = (int16_t)(coded >> 1);
    return (coded & 1u) != 0 ? (int16_t)-magnitude : magnitude;
}

/** Advances to the next weight that is no member of a run, or to a run of zeros. */
static bool advance(ethos_u_decoder_t *d, int16_t *weight, bool *is_weight) {
    *is_weight = false;
    if (d->left == 0 && !d->run_is_next && !begin_slice(d)) {
        return false;
    }
    if (d->run_is_next) {
        d->zeros = take(d, &d->run);
        d->run_is_next = false;
    } else {
        *weight = weight_of(d, take(d, &d->weight));
        *is_weight = true;
        d->left--;
        d->run_is_next = d->has_runs;
    }
    return !d->wrong;
}

bool ethos_u_decoder_next(ethos_u_decoder_t *decoder, int16_t *weight) {
    bool is_weight = false;
    while (decoder->zeros == 0) {
        if (decoder->wrong || decoder->ended || !advance(decoder, weight, &is_weight)) {
            return false;
        }
        if (is_weight) {
            return true;
        }
    }
    decoder->zeros--;
    *weight = 0;
    return true;
}

bool ethos_u_decoder_only_zeros(ethos_u_decoder_t *decoder) {
    int16_t weight = 0;
    bool is_weight;
    while (!decoder->wrong && !decoder->ended) {
        decoder->zeros = 0;
        if (advance(decoder, &weight, &is_weight) && is_weight && weight != 0) {
            return false;
        }
    }
    return !decoder->wrong;
}
