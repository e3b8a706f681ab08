/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/signal_fft.h
 * Fourier transforms of real signals as kissfft computes them, for one element type; host/aboard/ops/signal_fft.py is
 * the same in numpy. It is included once for each element type, by a header that defines
 *
 *     ABOARD_FFT(name)           the name of a function or type with the suffix of the element type
 *     ABOARD_FFT_T               element type
 *     ABOARD_FFT_WIDE            type of products and sums of two
 *     ABOARD_FFT_ROUND(x)        a product in the element type
 *     ABOARD_FFT_HALF(x)         half of a sum of two
 *     ABOARD_FFT_DIVIDE(x, f)    a number divided by a literal factor; for float, the number itself
 *     ABOARD_FFT_MEAN(x, n)      for float, a sum divided by the number of its terms; else, the number itself
 *
 * Complex numbers are stored as real and imaginary part in turn.
 */

/** A complex number. */
typedef struct {
    ABOARD_FFT_T re;
    ABOARD_FFT_T im;
} ABOARD_FFT(complex);

/** Parameters of aboard_signal_rfft and aboard_signal_irfft. */
typedef struct {
    int32_t frames;      /**< Transforms. */
    int32_t in_length;   /**< Elements of a frame of the operand. */
    int32_t count;       /**< Complex numbers of a transform: half of its length. */
    int32_t steps;       /**< Factors of count. */
    uint8_t factors[12]; /**< The factors, each 2, 3, 4 or 5; the outermost step first. */
} ABOARD_FFT(t);

ABOARD_INLINE ABOARD_FFT(complex) ABOARD_FFT(add)(ABOARD_FFT(complex) a, ABOARD_FFT(complex) b) {
    const ABOARD_FFT(complex)
        sum = {(ABOARD_FFT_T)((ABOARD_FFT_WIDE)a.re + b.re), (ABOARD_FFT_T)((ABOARD_FFT_WIDE)a.im + b.im)};
    return sum;
}

ABOARD_INLINE ABOARD_FFT(complex) ABOARD_FFT(sub)(ABOARD_FFT(complex) a, ABOARD_FFT(complex) b) {
    const ABOARD_FFT(complex)
        difference = {(ABOARD_FFT_T)((ABOARD_FFT_WIDE)a.re - b.re), (ABOARD_FFT_T)((ABOARD_FFT_WIDE)a.im - b.im)};
    return difference;
}

/** a - i b; a + i b for `inverse`. */
ABOARD_INLINE ABOARD_FFT(complex) ABOARD_FFT(turn)(ABOARD_FFT(complex) a, ABOARD_FFT(complex) b, bool inverse) {
    const ABOARD_FFT(complex) quarter = {b.im, b.re};
    const ABOARD_FFT(complex) sum = ABOARD_FFT(add)(a, quarter), difference = ABOARD_FFT(sub)(a, quarter);
    const ABOARD_FFT(complex) result = {inverse ? difference.re : sum.re, inverse ? sum.im : difference.im};
    return result;
}

ABOARD_INLINE ABOARD_FFT(complex) ABOARD_FFT(product)(ABOARD_FFT(complex) a, ABOARD_FFT(complex) b) {
    const ABOARD_FFT(complex) product = {ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)a.re * b.re - (ABOARD_FFT_WIDE)a.im * b.im),
                                         ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)a.re * b.im + (ABOARD_FFT_WIDE)a.im * b.re)};
    return product;
}

/** A complex number at `z`, divided by a factor that must be a literal. */
#define ABOARD_FFT_DIVIDED(z, factor) {ABOARD_FFT_DIVIDE((z).re, factor), ABOARD_FFT_DIVIDE((z).im, factor)}

/** Combines 2 numbers at distance `m`; `w` is the twiddle factor of the second. */
ABOARD_INLINE void ABOARD_FFT(two)(ABOARD_FFT(complex) * z, int32_t m, const ABOARD_FFT(complex) * w) {
    const ABOARD_FFT(complex) a = ABOARD_FFT_DIVIDED(z[0], 2), b = ABOARD_FFT_DIVIDED(z[m], 2);
    const ABOARD_FFT(complex) t = ABOARD_FFT(product)(b, *w);
    z[m] = ABOARD_FFT(sub)(a, t);
    z[0] = ABOARD_FFT(add)(a, t);
}

/** Combines 3 numbers; `w` has the twiddle factors at distance `k`, `sine` is that of a third of a turn. */
ABOARD_INLINE void ABOARD_FFT(three)(ABOARD_FFT(complex) * z, int32_t m, const ABOARD_FFT(complex) * w, int32_t k,
                                     ABOARD_FFT_T sine) {
    const ABOARD_FFT(complex) a = ABOARD_FFT_DIVIDED(z[0], 3), b = ABOARD_FFT_DIVIDED(z[m], 3),
                              c = ABOARD_FFT_DIVIDED(z[2 * m], 3);
    const ABOARD_FFT(complex) one = ABOARD_FFT(product)(b, w[k]), two = ABOARD_FFT(product)(c, w[2 * k]);
    const ABOARD_FFT(complex) total = ABOARD_FFT(add)(one, two), spread = ABOARD_FFT(sub)(one, two);
    const ABOARD_FFT(complex)
        half = {ABOARD_FFT_HALF((ABOARD_FFT_WIDE)total.re), ABOARD_FFT_HALF((ABOARD_FFT_WIDE)total.im)};
    const ABOARD_FFT(complex) middle = ABOARD_FFT(sub)(a, half);
    const ABOARD_FFT(complex) side = {ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)spread.re * sine),
                                      ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)spread.im * sine)};
    z[0] = ABOARD_FFT(add)(a, total);
    z[m] = ABOARD_FFT(turn)(middle, side, true);
    z[2 * m] = ABOARD_FFT(turn)(middle, side, false);
}

/** Combines 4 numbers; arguments as of the function for 3. */
ABOARD_INLINE void ABOARD_FFT(four)(ABOARD_FFT(complex) * z, int32_t m, const ABOARD_FFT(complex) * w, int32_t k,
                                    bool inverse) {
    const ABOARD_FFT(complex) a = ABOARD_FFT_DIVIDED(z[0], 4), b = ABOARD_FFT_DIVIDED(z[m], 4),
                              c = ABOARD_FFT_DIVIDED(z[2 * m], 4), d = ABOARD_FFT_DIVIDED(z[3 * m], 4);
    const ABOARD_FFT(complex) one = ABOARD_FFT(product)(b, w[k]), two = ABOARD_FFT(product)(c, w[2 * k]),
                              three = ABOARD_FFT(product)(d, w[3 * k]);
    const ABOARD_FFT(complex) low = ABOARD_FFT(add)(a, two), high = ABOARD_FFT(sub)(a, two);
    const ABOARD_FFT(complex) total = ABOARD_FFT(add)(one, three), spread = ABOARD_FFT(sub)(one, three);
    z[0] = ABOARD_FFT(add)(low, total);
    z[m] = ABOARD_FFT(turn)(high, spread, inverse);
    z[2 * m] = ABOARD_FFT(sub)(low, total);
    z[3 * m] = ABOARD_FFT(turn)(high, spread, !inverse);
}

/** x + a * ya + b * yb, each product rounded. */
ABOARD_INLINE ABOARD_FFT_T ABOARD_FFT(dot)(ABOARD_FFT_T x, ABOARD_FFT_T a, ABOARD_FFT_T ya, ABOARD_FFT_T b,
                                           ABOARD_FFT_T yb) {
    const ABOARD_FFT_T first = ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)a * ya);
    const ABOARD_FFT_T second = ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)b * yb);
    return (ABOARD_FFT_T)((ABOARD_FFT_WIDE)x + first + second);
}

/** a * ya - b * yb, each product rounded. */
ABOARD_INLINE ABOARD_FFT_T ABOARD_FFT(cross)(ABOARD_FFT_T a, ABOARD_FFT_T ya, ABOARD_FFT_T b, ABOARD_FFT_T yb) {
    const ABOARD_FFT_T first = ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)a * ya);
    const ABOARD_FFT_T second = ABOARD_FFT_ROUND((ABOARD_FFT_WIDE)b * yb);
    return (ABOARD_FFT_T)((ABOARD_FFT_WIDE)first - second);
}

/** Combines 5 numbers; `ya` and `yb` are the twiddle factors of a fifth and two fifths of a turn. */
ABOARD_INLINE void ABOARD_FFT(five)(ABOARD_FFT(complex) * z, int32_t m, const ABOARD_FFT(complex) * w, int32_t k,
                                    ABOARD_FFT(complex) ya, ABOARD_FFT(complex) yb) {
    const ABOARD_FFT(complex) a = ABOARD_FFT_DIVIDED(z[0], 5), b = ABOARD_FFT_DIVIDED(z[m], 5),
                              c = ABOARD_FFT_DIVIDED(z[2 * m], 5), d = ABOARD_FFT_DIVIDED(z[3 * m], 5),
                              e = ABOARD_FFT_DIVIDED(z[4 * m], 5);
    const ABOARD_FFT(complex) one = ABOARD_FFT(product)(b, w[k]), two = ABOARD_FFT(product)(c, w[2 * k]),
                              three = ABOARD_FFT(product)(d, w[3 * k]), four = ABOARD_FFT(product)(e, w[4 * k]);
    const ABOARD_FFT(complex) outer = ABOARD_FFT(add)(one, four), across = ABOARD_FFT(sub)(one, four);
    const ABOARD_FFT(complex) inner = ABOARD_FFT(add)(two, three), along = ABOARD_FFT(sub)(two, three);
    const ABOARD_FFT(complex) near = {ABOARD_FFT(dot)(a.re, outer.re, ya.re, inner.re, yb.re),
                                      ABOARD_FFT(dot)(a.im, outer.im, ya.re, inner.im, yb.re)};
    const ABOARD_FFT(complex) far = {ABOARD_FFT(dot)(a.re, outer.re, yb.re, inner.re, ya.re),
                                     ABOARD_FFT(dot)(a.im, outer.im, yb.re, inner.im, ya.re)};
    const ABOARD_FFT(complex) by_near = {ABOARD_FFT(dot)(0, across.im, ya.im, along.im, yb.im),
                                         ABOARD_FFT(dot)(0, across.re, ya.im, along.re, yb.im)};
    const ABOARD_FFT(complex) by_far = {ABOARD_FFT(cross)(along.im, ya.im, across.im, yb.im),
                                        ABOARD_FFT(cross)(along.re, ya.im, across.re, yb.im)};
    const ABOARD_FFT(complex) total = {(ABOARD_FFT_T)(a.re + ((ABOARD_FFT_WIDE)outer.re + inner.re)),
                                       (ABOARD_FFT_T)(a.im + ((ABOARD_FFT_WIDE)outer.im + inner.im))};
    z[0] = total;
    z[m].re = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)near.re - by_near.re);
    z[m].im = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)near.im + by_near.im);
    z[4 * m].re = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)near.re + by_near.re);
    z[4 * m].im = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)near.im - by_near.im);
    z[2 * m].re = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)far.re + by_far.re);
    z[2 * m].im = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)far.im - by_far.im);
    z[3 * m].re = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)far.re - by_far.re);
    z[3 * m].im = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)far.im + by_far.im);
}

/** Where number `k` of a transform has to be before the first step: its digits by the factors, in reverse order. */
ABOARD_INLINE int32_t ABOARD_FFT(place)(const ABOARD_FFT(t) * p, int32_t k) {
    int32_t place = 0;
    int32_t m = p->count;
    for (int32_t step = 0; step < p->steps; ++step) {
        const int32_t factor = p->factors[step];
        m /= factor;
        place += k % factor * m;
        k /= factor;
    }
    return place;
}

/** Transforms `count` numbers that are in the order of `place`. */
ABOARD_INLINE void ABOARD_FFT(transform)(const ABOARD_FFT(t) * p, ABOARD_FFT(complex) * z,
                                         const ABOARD_FFT(complex) * w, bool inverse) {
    int32_t m = 1;
    for (int32_t step = p->steps - 1; step >= 0; --step) {
        const int32_t factor = p->factors[step];
        const int32_t stride = p->count / (m * factor);
        for (int32_t block = 0; block < p->count; block += m * factor) {
            for (int32_t i = 0; i < m; ++i) {
                ABOARD_FFT(complex) *const x = &z[block + i];
                const int32_t k = i * stride;
                if (factor == 4) {
                    ABOARD_FFT(four)(x, m, w, k, inverse);
                } else if (factor == 2) {
                    ABOARD_FFT(two)(x, m, &w[k]);
                } else if (factor == 3) {
                    ABOARD_FFT(three)(x, m, w, k, w[stride * m].im);
                } else {
                    ABOARD_FFT(five)(x, m, w, k, w[stride * m], w[2 * stride * m]);
                }
            }
        }
        m *= factor;
    }
}

/**
 * Computes the spectra of real frames.
 *
 * @param p         Parameters.
 * @param in        Operand: frames * in_length elements, in_length at most 2 * count. Zeros follow a shorter frame.
 * @param out       Result: frames * (count + 1) complex numbers; none of the operand's memory.
 * @param twiddles  exp(-2 pi i k / count) for k from 0 to count - 1.
 * @param halves    exp(-pi i ((k + 1) / count + 1 / 2)) for k from 0 to count / 2 - 1.
 * @param first, last  All rows.
 */
ABOARD_INLINE void ABOARD_FFT(rfft)(const ABOARD_FFT(t) * p, const ABOARD_FFT_T *in, ABOARD_FFT_T *out,
                                    const ABOARD_FFT_T *twiddles, const ABOARD_FFT_T *halves,
                                    ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    const ABOARD_FFT(complex) *w = (const ABOARD_FFT(complex) *)(const void *)halves;
    const int32_t n = p->count;
    for (int32_t frame = 0; frame < p->frames; ++frame) {
        const ABOARD_FFT_T *x = in + frame * p->in_length;
        ABOARD_FFT(complex) *z = (ABOARD_FFT(complex) *)(void *)out + frame * (n + 1);
        for (int32_t k = 0; k < n; ++k) {
            ABOARD_FFT(complex) *to = &z[ABOARD_FFT(place)(p, k)];
            to->re = 2 * k < p->in_length ? x[2 * k] : 0;
            to->im = 2 * k + 1 < p->in_length ? x[2 * k + 1] : 0;
        }
        ABOARD_FFT(transform)(p, z, (const ABOARD_FFT(complex) *)(const void *)twiddles, false);
        const ABOARD_FFT(complex) zero = ABOARD_FFT_DIVIDED(z[0], 2);
        z[0].re = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)zero.re + zero.im);
        z[n].re = (ABOARD_FFT_T)((ABOARD_FFT_WIDE)zero.re - zero.im);
        z[0].im = z[n].im = 0;
        for (int32_t k = 1; k <= n / 2; ++k) {
            const ABOARD_FFT(complex) mirrored = {z[n - k].re, (ABOARD_FFT_T)(-(ABOARD_FFT_WIDE)z[n - k].im)};
            const ABOARD_FFT(complex) a = ABOARD_FFT_DIVIDED(z[k], 2), b = ABOARD_FFT_DIVIDED(mirrored, 2);
            const ABOARD_FFT(complex) even = ABOARD_FFT(add)(a, b);
            const ABOARD_FFT(complex) odd = ABOARD_FFT(product)(ABOARD_FFT(sub)(a, b), w[k - 1]);
            z[k].re = ABOARD_FFT_HALF((ABOARD_FFT_WIDE)even.re + odd.re);
            z[k].im = ABOARD_FFT_HALF((ABOARD_FFT_WIDE)even.im + odd.im);
            z[n - k].re = ABOARD_FFT_HALF((ABOARD_FFT_WIDE)even.re - odd.re);
            z[n - k].im = ABOARD_FFT_HALF((ABOARD_FFT_WIDE)odd.im - even.im);
        }
    }
}

/**
 * Computes the real frames of spectra.
 *
 * @param p         Parameters.
 * @param in        Operand: frames * (count + 1) complex numbers.
 * @param out       Result: frames * 2 * count elements; none of the operand's memory.
 * @param twiddles, halves  As for aboard_signal_rfft, conjugated.
 * @param first, last  All rows.
 */
ABOARD_INLINE void ABOARD_FFT(irfft)(const ABOARD_FFT(t) * p, const ABOARD_FFT_T *in, ABOARD_FFT_T *out,
                                     const ABOARD_FFT_T *twiddles, const ABOARD_FFT_T *halves,
                                     ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    const ABOARD_FFT(complex) *w = (const ABOARD_FFT(complex) *)(const void *)halves;
    const int32_t n = p->count;
    for (int32_t frame = 0; frame < p->frames; ++frame) {
        const ABOARD_FFT(complex) *x = (const ABOARD_FFT(complex) *)(const void *)in + frame * (n + 1);
        ABOARD_FFT(complex) *z = (ABOARD_FFT(complex) *)(void *)out + frame * n;
        const ABOARD_FFT(complex) ends = {(ABOARD_FFT_T)((ABOARD_FFT_WIDE)x[0].re + x[n].re),
                                          (ABOARD_FFT_T)((ABOARD_FFT_WIDE)x[0].re - x[n].re)};
        const ABOARD_FFT(complex) zero = ABOARD_FFT_DIVIDED(ends, 2);
        z[0] = zero;
        for (int32_t k = 1; k <= n / 2; ++k) {
            const ABOARD_FFT(complex) mirrored = {x[n - k].re, (ABOARD_FFT_T)(-(ABOARD_FFT_WIDE)x[n - k].im)};
            const ABOARD_FFT(complex) a = ABOARD_FFT_DIVIDED(x[k], 2), b = ABOARD_FFT_DIVIDED(mirrored, 2);
            const ABOARD_FFT(complex) even = ABOARD_FFT(add)(a, b);
            const ABOARD_FFT(complex) odd = ABOARD_FFT(product)(ABOARD_FFT(sub)(a, b), w[k - 1]);
            const ABOARD_FFT(complex) below = ABOARD_FFT(sub)(even, odd);
            ABOARD_FFT(complex) *to = &z[ABOARD_FFT(place)(p, n - k)];
            z[ABOARD_FFT(place)(p, k)] = ABOARD_FFT(add)(even, odd);
            to->re = below.re;
            to->im = (ABOARD_FFT_T)(-(ABOARD_FFT_WIDE)below.im);
        }
        ABOARD_FFT(transform)(p, z, (const ABOARD_FFT(complex) *)(const void *)twiddles, true);
        for (int32_t k = 0; k < n; ++k) {
            z[k].re = ABOARD_FFT_MEAN(z[k].re, 2 * n);
            z[k].im = ABOARD_FFT_MEAN(z[k].im, 2 * n);
        }
    }
}
