/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file commands.h
 * Commands and registers of a stream, by the names and numbers of the register description in Vela's package
 * (`ethosu/vela/ethos_u55_regs`). Registers without a payload are counted from 0x100 there, and from 0 here.
 */
#ifndef ETHOS_U_COMMANDS_H
#define ETHOS_U_COMMANDS_H

#include "ethos_u_model.h"

/** Commands. */
enum {
    OP_STOP = 0x000,
    OP_IRQ = 0x001,
    OP_CONV = 0x002,
    OP_DEPTHWISE = 0x003,
    OP_POOL = 0x005,
    OP_ELEMENTWISE = 0x006,
    OP_DMA_START = 0x010,
    OP_DMA_WAIT = 0x011,
    OP_KERNEL_WAIT = 0x012,
    OP_PMU_MASK = 0x013
};

/** Registers without a payload. */
enum {
    IFM_PAD_TOP = 0x00,
    IFM_PAD_LEFT = 0x01,
    IFM_PAD_RIGHT = 0x02,
    IFM_PAD_BOTTOM = 0x03,
    IFM_DEPTH_M1 = 0x04,
    IFM_PRECISION = 0x05,
    IFM_UPSCALE = 0x07,
    IFM_ZERO_POINT = 0x09,
    IFM_WIDTH0_M1 = 0x0a,
    IFM_HEIGHT0_M1 = 0x0b,
    IFM_HEIGHT1_M1 = 0x0c,
    IFM_IB_END = 0x0d,
    IFM_REGION = 0x0f,
    OFM_WIDTH_M1 = 0x11,
    OFM_HEIGHT_M1 = 0x12,
    OFM_DEPTH_M1 = 0x13,
    OFM_PRECISION = 0x14,
    OFM_BLK_WIDTH_M1 = 0x15,
    OFM_BLK_HEIGHT_M1 = 0x16,
    OFM_BLK_DEPTH_M1 = 0x17,
    OFM_ZERO_POINT = 0x18,
    OFM_WIDTH0_M1 = 0x1a,
    OFM_HEIGHT0_M1 = 0x1b,
    OFM_HEIGHT1_M1 = 0x1c,
    OFM_REGION = 0x1f,
    KERNEL_WIDTH_M1 = 0x20,
    KERNEL_HEIGHT_M1 = 0x21,
    KERNEL_STRIDE = 0x22,
    ACC_FORMAT = 0x24,
    ACTIVATION = 0x25,
    ACTIVATION_MIN = 0x26,
    ACTIVATION_MAX = 0x27,
    WEIGHT_REGION = 0x28,
    SCALE_REGION = 0x29,
    AB_START = 0x2d,
    BLOCKDEP = 0x2f,
    DMA0_SRC_REGION = 0x30,
    DMA0_DST_REGION = 0x31,
    IFM2_BROADCAST = 0x80,
    IFM2_SCALAR = 0x81,
    IFM2_PRECISION = 0x85,
    IFM2_ZERO_POINT = 0x89,
    IFM2_WIDTH0_M1 = 0x8a,
    IFM2_HEIGHT0_M1 = 0x8b,
    IFM2_HEIGHT1_M1 = 0x8c,
    IFM2_IB_START = 0x8d,
    IFM2_REGION = 0x8f
};

/** Registers with a payload of 32 bits, and 16 more in the command. */
enum {
    IFM_BASE0 = 0x00,
    IFM_STRIDE_X = 0x04,
    IFM_STRIDE_Y = 0x05,
    IFM_STRIDE_C = 0x06,
    OFM_BASE0 = 0x10,
    OFM_STRIDE_X = 0x14,
    OFM_STRIDE_Y = 0x15,
    OFM_STRIDE_C = 0x16,
    WEIGHT_BASE = 0x20,
    WEIGHT_LENGTH = 0x21,
    SCALE_BASE = 0x22,
    SCALE_LENGTH = 0x23,
    OFM_SCALE = 0x24,
    OPA_SCALE = 0x25,
    OPB_SCALE = 0x26,
    DMA0_SRC = 0x30,
    DMA0_DST = 0x31,
    DMA0_LEN = 0x32,
    IFM2_BASE0 = 0x80,
    IFM2_STRIDE_X = 0x84,
    IFM2_STRIDE_Y = 0x85,
    IFM2_STRIDE_C = 0x86
};

/** Bits of IFM2_BROADCAST. */
#define BROADCAST_HEIGHT 0x01u
#define BROADCAST_WIDTH 0x02u
#define BROADCAST_DEPTH 0x04u
#define BROADCAST_REVERSED 0x40u
#define BROADCAST_SCALAR 0x80u

/** Bit of a region's number: the shared RAM instead of a base pointer. */
#define REGION_INTERNAL 0x100u

/** Ends a run with an error; returns its status. The first problem of a run stays. */
ethos_u_model_status_t ethos_u_fail(ethos_u_model_t *model, ethos_u_model_status_t status, const char *problem,
                                    int64_t got);

/** Value of a register without a payload. A run that reads a register that its stream has not set ends with an error.
 */
uint32_t ethos_u_plain(ethos_u_model_t *model, uint32_t reg);

/** The same, as a signed number of 16 bits. */
int32_t ethos_u_signed(ethos_u_model_t *model, uint32_t reg);

/** Value of a register with a payload, 48 bits; errors as for `ethos_u_plain`. */
uint64_t ethos_u_wide(ethos_u_model_t *model, uint32_t reg);

/**
 * Finds memory by the number of a region.
 * @return Its first byte and `*bytes`; NULL if it is not given, not there, or not writable where `write` asks for it.
 */
uint8_t *ethos_u_memory(ethos_u_model_t *model, uint32_t region, bool write, size_t *bytes);

/** Takes from the budget of a run; false if it is used up. */
bool ethos_u_spend(ethos_u_model_t *model, uint64_t amount);

/** The operations. Each returns how it ended. */
ethos_u_model_status_t ethos_u_convolve(ethos_u_model_t *model, bool depthwise);
ethos_u_model_status_t ethos_u_pool(ethos_u_model_t *model, uint32_t mode);
ethos_u_model_status_t ethos_u_elementwise(ethos_u_model_t *model, uint32_t mode);

#endif
