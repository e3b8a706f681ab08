/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "commands.h"

/** A word of a stream: code in the low 10 bits, size of the payload in bits 14 and 15, parameter above. */
#define CODE(word) ((word) & 0x3ffu)
#define PARAMETER(word) ((word) >> 16)
#define FORM(word) ((word) & 0xfc00u)
#define FORM_PLAIN 0x0000u
#define FORM_WIDE 0x4000u
#define FIRST_REGISTER 0x100u

static const uint8_t PLAIN_KNOWN[] = {
    IFM_PAD_TOP,      IFM_PAD_LEFT,      IFM_PAD_RIGHT,    IFM_PAD_BOTTOM, IFM_DEPTH_M1,   IFM_PRECISION,
    IFM_UPSCALE,      IFM_ZERO_POINT,    IFM_WIDTH0_M1,    IFM_HEIGHT0_M1, IFM_HEIGHT1_M1, IFM_IB_END,
    IFM_REGION,       OFM_WIDTH_M1,      OFM_HEIGHT_M1,    OFM_DEPTH_M1,   OFM_PRECISION,  OFM_BLK_WIDTH_M1,
    OFM_BLK_DEPTH_M1, OFM_BLK_HEIGHT_M1, OFM_ZERO_POINT,   OFM_WIDTH0_M1,  OFM_HEIGHT0_M1, OFM_HEIGHT1_M1,
    OFM_REGION,       KERNEL_WIDTH_M1,   KERNEL_HEIGHT_M1, KERNEL_STRIDE,  ACC_FORMAT,     ACTIVATION,
    ACTIVATION_MIN,   ACTIVATION_MAX,    WEIGHT_REGION,    SCALE_REGION,   AB_START,       BLOCKDEP,
    DMA0_SRC_REGION,  DMA0_DST_REGION,   IFM2_BROADCAST,   IFM2_SCALAR,    IFM2_PRECISION, IFM2_ZERO_POINT,
    IFM2_WIDTH0_M1,   IFM2_HEIGHT0_M1,   IFM2_HEIGHT1_M1,  IFM2_IB_START,  IFM2_REGION,
};

static const uint8_t WIDE_KNOWN[] = {
    IFM_BASE0,     IFM_BASE0 + 1, IFM_BASE0 + 2, IFM_BASE0 + 3, IFM_STRIDE_X,   IFM_STRIDE_Y,   IFM_STRIDE_C,
    OFM_BASE0,     OFM_BASE0 + 1, OFM_BASE0 + 2, OFM_BASE0 + 3, OFM_STRIDE_X,   OFM_STRIDE_Y,   OFM_STRIDE_C,
    WEIGHT_BASE,   WEIGHT_LENGTH, SCALE_BASE,    SCALE_LENGTH,  OFM_SCALE,      OPA_SCALE,      OPB_SCALE,
    DMA0_SRC,      DMA0_DST,      DMA0_LEN,      IFM2_BASE0,    IFM2_BASE0 + 1, IFM2_BASE0 + 2, IFM2_BASE0 + 3,
    IFM2_STRIDE_X, IFM2_STRIDE_Y, IFM2_STRIDE_C,
};

/** Bytes of the shared RAM by MACs in a cycle; 0 for a configuration that there is not. */
static uint32_t shram_bytes(uint32_t macs) {
    switch (macs) {
    case 32:
    case 64:
        return 16384;
    case 128:
        return 24576;
    case 256:
        return 49152;
    default:
        return 0;
    }
}

void ethos_u_model_init(ethos_u_model_t *model, uint32_t macs, int16_t *weights, size_t weights_room) {
    memset(model, 0, sizeof *model);
    model->macs = macs;
    model->shram_bytes = shram_bytes(macs);
    model->weights = weights;
    model->weights_room = weights_room;
    model->budget = UINT64_MAX;
}

void ethos_u_model_region(ethos_u_model_t *model, uint32_t index, void *base, size_t bytes, bool writable) {
    if (index < ETHOS_U_REGIONS) {
        model->region[index].base = base;
        model->region[index].bytes = base == NULL ? 0 : bytes;
        model->region[index].writable = writable;
    }
}

ethos_u_model_status_t ethos_u_fail(ethos_u_model_t *model, ethos_u_model_status_t status, const char *problem,
                                    int64_t got) {
    if (model->status == ETHOS_U_MODEL_OK) {
        model->status = status;
        model->problem = problem;
        model->got = got;
    }
    return model->status;
}

uint32_t ethos_u_plain(ethos_u_model_t *model, uint32_t reg) {
    if (!model->plain_set[reg]) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an operation uses a register that the stream has not set",
                     (int64_t)(reg + FIRST_REGISTER));
    }
    return model->plain[reg];
}

int32_t ethos_u_signed(ethos_u_model_t *model, uint32_t reg) {
    const uint32_t value = ethos_u_plain(model, reg);
    return value < 0x8000u ? (int32_t)value : (int32_t)value - 0x10000;
}

uint64_t ethos_u_wide(ethos_u_model_t *model, uint32_t reg) {
    if (!model->wide_set[reg]) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND,
                     "an operation uses a register with a payload that the stream has not set", (int64_t)reg);
    }
    return model->wide[reg] | (uint64_t)model->wide_high[reg] << 32;
}

uint8_t *ethos_u_memory(ethos_u_model_t *model, uint32_t region, bool write, size_t *bytes) {
    *bytes = 0;
    if (region == (REGION_INTERNAL | 3u) || region == REGION_INTERNAL) {
        *bytes = model->shram_bytes;
        return model->shram;
    }
    if (region >= ETHOS_U_REGIONS) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a region that is neither 0 to 7 nor the shared RAM",
                     (int64_t)region);
        return NULL;
    }
    const ethos_u_region_t *found = &model->region[region];
    if (found->base == NULL || (write && !found->writable)) {
        ethos_u_fail(model, ETHOS_U_MODEL_BUS,
                     found->base == NULL ? "a region whose base pointer is not set" : "a write to a read-only region",
                     (int64_t)region);
        return NULL;
    }
    *bytes = found->bytes;
    return found->base;
}

bool ethos_u_spend(ethos_u_model_t *model, uint64_t amount) {
    if (amount > model->budget) {
        ethos_u_fail(model, ETHOS_U_MODEL_ROOM, "an operation beyond the budget of the run",
                     (int64_t)(amount & INT64_MAX));
        return false;
    }
    model->budget -= amount;
    return true;
}

static bool is_known(const uint8_t *known, size_t count, uint32_t reg) {
    for (size_t i = 0; i < count; i++) {
        if (known[i] == reg) {
            return true;
        }
    }
    return false;
}

/** Copies bytes. A copy in two or three dimensions is not in streams for the Ethos-U55. */
static ethos_u_model_status_t copy(ethos_u_model_t *model) {
    const uint32_t from = ethos_u_plain(model, DMA0_SRC_REGION), to = ethos_u_plain(model, DMA0_DST_REGION);
    const uint64_t source = ethos_u_wide(model, DMA0_SRC), target = ethos_u_wide(model, DMA0_DST);
    const uint64_t length = ethos_u_wide(model, DMA0_LEN);
    size_t source_bytes, target_bytes;
    const uint8_t *read = ethos_u_memory(model, from, false, &source_bytes);
    uint8_t *write = ethos_u_memory(model, to, true, &target_bytes);
    if (model->status != ETHOS_U_MODEL_OK) {
        return model->status;
    }
    if (source > source_bytes || length > source_bytes - source || target > target_bytes ||
        length > target_bytes - target) {
        return ethos_u_fail(model, ETHOS_U_MODEL_BUS, "a copy reaches outside of its region", (int64_t)length);
    }
    if (ethos_u_spend(model, length)) {
        memmove(write + target, read + source, (size_t)length);
    }
    return model->status;
}

static ethos_u_model_status_t operate(ethos_u_model_t *model, uint32_t code, uint32_t parameter) {
    model->operations++;
    switch (code) {
    case OP_CONV:
        return ethos_u_convolve(model, false);
    case OP_DEPTHWISE:
        return ethos_u_convolve(model, true);
    case OP_POOL:
        return ethos_u_pool(model, parameter);
    case OP_ELEMENTWISE:
        return ethos_u_elementwise(model, parameter);
    case OP_DMA_START:
        return copy(model);
    case OP_IRQ: /* Operations are done one after another, so that waits, interrupts and counters change no byte. */
    case OP_DMA_WAIT:
    case OP_KERNEL_WAIT:
    case OP_PMU_MASK:
        model->operations--;
        return model->status;
    default:
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown command", (int64_t)code);
    }
}

static ethos_u_model_status_t set_plain(ethos_u_model_t *model, uint32_t code, uint32_t value) {
    const uint32_t reg = code - FIRST_REGISTER;
    if (!is_known(PLAIN_KNOWN, sizeof PLAIN_KNOWN, reg)) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown register", (int64_t)code);
    }
    model->plain[reg] = (uint16_t)value;
    model->plain_set[reg] = true;
    return ETHOS_U_MODEL_OK;
}

static ethos_u_model_status_t set_wide(ethos_u_model_t *model, uint32_t code, uint32_t high, uint32_t payload) {
    if (!is_known(WIDE_KNOWN, sizeof WIDE_KNOWN, code)) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown register with a payload", (int64_t)code);
    }
    model->wide[code] = payload;
    model->wide_high[code] = (uint16_t)high;
    model->wide_set[code] = true;
    return ETHOS_U_MODEL_OK;
}

static void start(ethos_u_model_t *model) {
    model->status = ETHOS_U_MODEL_OK;
    model->problem = NULL;
    model->got = 0;
    model->at = 0;
    model->operations = 0;
    memset(model->plain_set, 0, sizeof model->plain_set);
    memset(model->wide_set, 0, sizeof model->wide_set);
}

ethos_u_model_status_t ethos_u_model_run(ethos_u_model_t *model, const uint32_t *stream, size_t words) {
    start(model);
    if (model->shram_bytes == 0) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a configuration other than 32, 64, 128 or 256 MACs",
                            (int64_t)model->macs);
    }
    for (size_t i = 0; i < words; i++) {
        const uint32_t word = stream[i], code = CODE(word);
        model->at = (uint32_t)i;
        if (FORM(word) == FORM_WIDE) {
            if (i + 1 == words) {
                break;
            }
            set_wide(model, code, PARAMETER(word), stream[++i]);
        } else if (FORM(word) != FORM_PLAIN) {
            ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a command of an unknown form", (int64_t)word);
        } else if (code >= FIRST_REGISTER) {
            set_plain(model, code, PARAMETER(word));
        } else if (code == OP_STOP) {
            return ETHOS_U_MODEL_OK;
        } else {
            operate(model, code, PARAMETER(word));
        }
        if (model->status != ETHOS_U_MODEL_OK) {
            return model->status;
        }
    }
    return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "the stream ends without a stop command", (int64_t)words);
}
