/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#define CLIP_NONE 0u
#define CLIP_UINT8 2u
#define CLIP_INT8 3u
#define CLIP_INT16 5u

#define TABLE_FIRST 16u
#define TABLE_LAST 23u
/** Tables are at the end of the shared RAM, in slots. */
#define TABLES_BYTES 2048u
#define SLOT_BYTES 256u
#define SHORT_ENTRIES 256u
#define LONG_ENTRIES 512u

#define MOST_SHIFT 62u
/** The first of two roundings as in the reference. */
#define FIRST_SHIFT 31u
/** Largest product to which half of the largest divisor can be added. */
#define MOST_PRODUCT ((int64_t)0x5fffffffffffffff)

int64_t ethos_u_half_up(int64_t v, uint32_t shift) {
    return shift == 0 ? v : (v + ((int64_t)1 << (shift - 1u))) >> shift;
}

int64_t ethos_u_half_away(int64_t v, uint32_t shift) {
    return v < 0 ? -ethos_u_half_up(-v, shift) : ethos_u_half_up(v, shift);
}

int64_t ethos_u_rescale(ethos_u_model_t *model, int64_t v, uint32_t scale, uint32_t shift,
                        ethos_u_rounding_t rounding) {
    if (scale == 0) {
        return 0;
    }
    const int64_t most = MOST_PRODUCT / (int64_t)scale;
    if (v > most || v < -most) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a value times its scale has more than 63 bits", v);
        return 0;
    }
    if (shift > MOST_SHIFT + (rounding == ETHOS_U_TFL ? FIRST_SHIFT : 0u)) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a shift of more than 62 bits", (int64_t)shift);
        return 0;
    }
    const int64_t product = v * (int64_t)scale;
    if (rounding == ETHOS_U_NATURAL) {
        return ethos_u_half_up(product, shift);
    }
    if (rounding == ETHOS_U_TRUNCATE) {
        return product < 0 ? -(-product >> shift) : product >> shift;
    }
    return shift > FIRST_SHIFT ? ethos_u_half_away(ethos_u_half_up(product, FIRST_SHIFT), shift - FIRST_SHIFT)
                               : ethos_u_half_up(product, shift);
}

uint32_t ethos_u_global_scale(ethos_u_model_t *model, uint32_t *shift) {
    const uint64_t value = ethos_u_wide(model, OFM_SCALE);
    *shift = (uint32_t)(value >> 32) & 63u;
    return (uint32_t)value;
}

static int64_t lowest(bool is_signed, bool is_wide) {
    return !is_signed ? 0 : is_wide ? INT16_MIN : INT8_MIN;
}

static int64_t highest(bool is_signed, bool is_wide) {
    return is_signed ? (is_wide ? INT16_MAX : INT8_MAX) : (is_wide ? UINT16_MAX : UINT8_MAX);
}

/** Finds the table of an activation. */
static void read_table(ethos_u_model_t *model, ethos_u_output_t *output, uint32_t slot, bool is_signed, bool is_wide) {
    const uint32_t element = output->map.element;
    output->interpolates = is_wide;
    output->entry = is_wide || element == 4u ? 4u : 1u;
    output->first = lowest(is_signed, is_wide);
    if ((is_wide && (!is_signed || element != 2u)) || (!is_wide && element == 2u)) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a table of unknown form for elements of these bytes",
                     (int64_t)element);
        return;
    }
    const uint32_t size = output->entry * (is_wide ? LONG_ENTRIES : SHORT_ENTRIES), at = slot * SLOT_BYTES;
    if (at + size > TABLES_BYTES) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a table reaches over the end of the shared RAM", (int64_t)slot);
        return;
    }
    output->table = model->shram + model->shram_bytes - TABLES_BYTES + at;
}

static void read_activation(ethos_u_model_t *model, ethos_u_output_t *output) {
    const uint32_t activation = ethos_u_plain(model, ACTIVATION);
    const uint32_t clip = activation >> 12, kind = activation & 0xfffu;
    if (clip != CLIP_NONE && clip != CLIP_UINT8 && clip != CLIP_INT8 && clip != CLIP_INT16) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown range of an activation", (int64_t)clip);
    }
    const bool is_signed = clip == CLIP_NONE ? output->map.is_signed : clip != CLIP_UINT8;
    const bool is_wide = clip == CLIP_NONE ? output->map.element == 2u : clip == CLIP_INT16;
    output->table = NULL;
    output->clamps = output->map.element < 4u || clip != CLIP_NONE;
    if (output->clamps) {
        const int64_t low =
            is_signed ? ethos_u_signed(model, ACTIVATION_MIN) : (int64_t)ethos_u_plain(model, ACTIVATION_MIN);
        const int64_t high =
            is_signed ? ethos_u_signed(model, ACTIVATION_MAX) : (int64_t)ethos_u_plain(model, ACTIVATION_MAX);
        output->low = low > lowest(is_signed, is_wide) ? low : lowest(is_signed, is_wide);
        output->high = high < highest(is_signed, is_wide) ? high : highest(is_signed, is_wide);
        if (output->low > output->high) {
            ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an activation whose range is empty", low);
        }
    }
    if (kind >= TABLE_FIRST && kind <= TABLE_LAST && output->clamps) {
        read_table(model, output, kind - TABLE_FIRST, is_signed, is_wide);
    } else if (kind != 0) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "an activation other than a clamp or a table", (int64_t)kind);
    }
}

ethos_u_model_status_t ethos_u_output_read(ethos_u_model_t *model, ethos_u_output_t *output) {
    const uint32_t precision = ethos_u_plain(model, OFM_PRECISION), rounding = precision >> 14;
    ethos_u_map_read(model, ETHOS_U_OFM, &output->map);
    output->channels = ethos_u_plain(model, OFM_DEPTH_M1) + 1u;
    output->is_global = (precision >> 8 & 1u) != 0;
    output->rounding = rounding == 1u ? ETHOS_U_TRUNCATE : rounding == 2u ? ETHOS_U_NATURAL : ETHOS_U_TFL;
    if (rounding > 2u) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown way to round", (int64_t)rounding);
    }
    read_activation(model, output);
    return model->status;
}

static int64_t look_up(const ethos_u_output_t *output, int64_t v) {
    const uint64_t index = (uint64_t)(v - output->first);
    if (output->interpolates) {
        const uint8_t *entry = output->table + (index >> 7) * 4u;
        const int64_t base = (int16_t)(entry[0] | entry[1] << 8), slope = (int16_t)(entry[2] | entry[3] << 8);
        return base + ((slope * (int64_t)(index & 127u) + 64) >> 7);
    }
    const uint8_t *entry = output->table + index * output->entry;
    if (output->entry == 1u) {
        return entry[0];
    }
    return (int32_t)(entry[0] | (uint32_t)entry[1] << 8 | (uint32_t)entry[2] << 16 | (uint32_t)entry[3] << 24);
}

void ethos_u_output_put(ethos_u_model_t *model, const ethos_u_output_t *output, uint8_t *pixel, uint32_t c, int64_t v) {
    v += output->map.zero;
    if (output->clamps) {
        v = v < output->low ? output->low : v > output->high ? output->high : v;
    }
    if (output->table != NULL) {
        v = look_up(output, v);
    }
    if (output->map.element == 4u && (v > INT32_MAX || v < INT32_MIN)) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a result of more than 32 bits", v);
        return;
    }
    uint8_t *element = pixel + ethos_u_map_channel(&output->map, c);
    for (uint32_t i = 0; i < output->map.element; i++) {
        element[i] = (uint8_t)((uint64_t)v >> 8u * i);
    }
}
