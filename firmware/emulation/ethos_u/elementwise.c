/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

/** Modes, as in the parameter of the command. */
enum { MUL, ADD, SUB, MIN, MAX, LRELU, ABS, CLZ, SHR, SHL };

/** Bits 8 and 9 of IFM_PRECISION: which operand of a sum has a scale of 32 bits; 0 for two of 16 bits. */
#define SCALE_BOTH 0u
#define SCALE_FIRST 1u
#define SCALE_SECOND 2u

/** An operation on each element. */
typedef struct {
    ethos_u_map_t first;
    ethos_u_map_t second;
    ethos_u_output_t output;
    uint32_t mode;
    uint32_t broadcast;
    uint32_t scaling;
    bool is_wide; /**< Operands of 32 bits. */
    bool is_unary;
    int64_t scalar;
    uint32_t scale;
    uint32_t shift;
    uint32_t scale_a;
    uint32_t shift_a;
    uint32_t scale_b;
} elementwise_t;

/** Shifts an operand up and rescales it, as the reference does for the operand of a sum. */
static int64_t raised(ethos_u_model_t *model, const elementwise_t *e, int64_t v, uint32_t up) {
    return ethos_u_rescale(model, v * ((int64_t)2 << up), e->scale_a, e->shift_a + up + 1u, ETHOS_U_TFL);
}

/** Sum or difference. */
static int64_t sum(ethos_u_model_t *model, const elementwise_t *e, int64_t a, int64_t b) {
    const uint32_t up = e->first.element == 1u ? 19u : 14u;
    if (e->is_wide) {
        return ethos_u_half_up(e->mode == ADD ? a + b : a - b, e->shift);
    }
    if (e->scaling == SCALE_BOTH) {
        a *= e->scale_a & 0xffffu;
        b *= e->scale_b & 0xffffu;
    } else if (e->scaling == SCALE_FIRST) {
        a = raised(model, e, a, up);
        b *= (int64_t)1 << up;
    } else {
        b = raised(model, e, b, up);
        a *= (int64_t)1 << up;
    }
    return ethos_u_rescale(model, e->mode == ADD ? a + b : a - b, e->scale, e->shift, e->output.rounding);
}

static int64_t leading_zeros(int64_t a) {
    int64_t count = 0;
    while (count < 32 && ((uint32_t)a >> (31 - count) & 1u) == 0) {
        count++;
    }
    return count;
}

static int64_t shifted_right(const elementwise_t *e, int64_t a, int64_t b) {
    const uint32_t asked = (uint32_t)b & 63u, shift = asked < 62u ? asked : 62u;
    switch (e->output.rounding) {
    case ETHOS_U_NATURAL:
        return ethos_u_half_up(a, shift);
    case ETHOS_U_TRUNCATE:
        return a >> shift;
    default:
        return ethos_u_half_away(a, shift);
    }
}

static int64_t computed(ethos_u_model_t *model, const elementwise_t *e, int64_t a, int64_t b) {
    switch (e->mode) {
    case MUL:
        return e->is_wide ? ethos_u_half_up(a * b, e->shift)
                          : ethos_u_rescale(model, a * b, e->scale, e->shift, e->output.rounding);
    case ADD:
    case SUB:
        return sum(model, e, a, b);
    case MIN:
        return a < b ? a : b;
    case MAX:
        return a > b ? a : b;
    case LRELU:
        return a >= 0 ? a : ethos_u_rescale(model, a, e->scale, e->shift, e->output.rounding);
    case ABS:
        return ethos_u_rescale(model, a < 0 ? -a : a, e->scale, e->shift, e->output.rounding);
    case CLZ:
        return leading_zeros(a);
    case SHR:
        return shifted_right(e, a, b);
    default:
        return (int32_t)((uint32_t)a << ((uint32_t)b & 31u));
    }
}

static void compute_pixel(ethos_u_model_t *model, const elementwise_t *e, uint32_t y, uint32_t x) {
    const uint32_t channels = e->output.channels;
    const bool has_map = !e->is_unary && (e->broadcast & BROADCAST_SCALAR) == 0;
    const uint8_t *first = ethos_u_map_pixel(model, &e->first, y, x, channels), *second = NULL;
    uint8_t *target = ethos_u_map_pixel(model, &e->output.map, y, x, channels);
    const bool one_channel = (e->broadcast & BROADCAST_DEPTH) != 0;
    if (has_map) {
        second = ethos_u_map_pixel(model, &e->second, (e->broadcast & BROADCAST_HEIGHT) != 0 ? 0u : y,
                                   (e->broadcast & BROADCAST_WIDTH) != 0 ? 0u : x, one_channel ? 1u : channels);
    }
    for (uint32_t c = 0; c < channels && model->status == ETHOS_U_MODEL_OK; c++) {
        int64_t a = ethos_u_map_get(&e->first, first, c), b = e->scalar;
        if (second != NULL) {
            b = ethos_u_map_get(&e->second, second, one_channel ? 0u : c);
        }
        const bool swaps = !e->is_unary && (e->broadcast & BROADCAST_REVERSED) != 0;
        ethos_u_output_put(model, &e->output, target, c, computed(model, e, swaps ? b : a, swaps ? a : b));
    }
}

/** Reads the second operand: a map or a scalar. */
static void read_second(ethos_u_model_t *model, elementwise_t *e) {
    e->broadcast = ethos_u_plain(model, IFM2_BROADCAST);
    if ((e->broadcast & BROADCAST_SCALAR) == 0) {
        ethos_u_map_read(model, ETHOS_U_IFM2, &e->second);
        if (e->second.element != e->first.element) {
            ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "operands of different element types",
                         (int64_t)e->second.element);
        }
        return;
    }
    ethos_u_map_type(model, ETHOS_U_IFM2, &e->second);
    e->scalar = (e->second.is_signed ? (int64_t)ethos_u_signed(model, IFM2_SCALAR)
                                     : (int64_t)ethos_u_plain(model, IFM2_SCALAR)) -
                e->second.zero;
}

/** Reads the scales that a mode has. */
static void read_scales(ethos_u_model_t *model, elementwise_t *e) {
    const bool is_sum = e->mode == ADD || e->mode == SUB;
    if (is_sum || e->mode == MUL || e->mode == LRELU || e->mode == ABS) {
        e->scale = ethos_u_global_scale(model, &e->shift);
    }
    if (is_sum && !e->is_wide) {
        const uint64_t a = ethos_u_wide(model, OPA_SCALE);
        e->scaling = ethos_u_plain(model, IFM_PRECISION) >> 8 & 3u;
        e->scale_a = (uint32_t)a;
        e->shift_a = (uint32_t)(a >> 32) & 63u;
        e->scale_b = e->scaling == SCALE_BOTH ? (uint32_t)ethos_u_wide(model, OPB_SCALE) : 0u;
        if (e->scaling > SCALE_SECOND) {
            ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown scaling of operands", (int64_t)e->scaling);
        }
    }
    if (e->is_wide && e->shift > 62u) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a shift of more than 62 bits", (int64_t)e->shift);
    }
}

static ethos_u_model_status_t read(ethos_u_model_t *model, elementwise_t *e, uint32_t mode) {
    *e = (elementwise_t){.mode = mode, .is_unary = mode == LRELU || mode == ABS || mode == CLZ};
    if (mode > SHL) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown operation on elements", (int64_t)mode);
    }
    ethos_u_map_read(model, ETHOS_U_IFM, &e->first);
    ethos_u_output_read(model, &e->output);
    e->is_wide = e->first.element == 4u;
    if (!e->is_unary) {
        read_second(model, e);
    }
    read_scales(model, e);
    if (mode >= CLZ && !e->is_wide) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a shift, or a count of zeros, of less than 32 bits",
                     (int64_t)mode);
    }
    return model->status;
}

ethos_u_model_status_t ethos_u_elementwise(ethos_u_model_t *model, uint32_t mode) {
    elementwise_t e;
    if (read(model, &e, mode) != ETHOS_U_MODEL_OK) {
        return model->status;
    }
    const uint32_t height = ethos_u_plain(model, OFM_HEIGHT_M1) + 1u, width = ethos_u_plain(model, OFM_WIDTH_M1) + 1u;
    if (!ethos_u_spend(model, (uint64_t)height * width * e.output.channels)) {
        return model->status;
    }
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            compute_pixel(model, &e, y, x);
            if (model->status != ETHOS_U_MODEL_OK) {
                return model->status;
            }
        }
    }
    return model->status;
}
