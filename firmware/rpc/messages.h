/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file messages.h
 * The messages between host and device, byte for byte: docs/reference/protocol.md in C. host/aboard/rpc/messages.py
 * has the same numbers, and tests of both read tests/data/rpc_vectors.json.
 *
 * All numbers are little-endian; an offset counts from the start of the payload, after the header.
 */
#ifndef ABOARD_RPC_MESSAGES_H
#define ABOARD_RPC_MESSAGES_H

/** Version of the protocol. Another major version is refused; a minor one only appends to replies. */
#define ABOARD_RPC_MAJOR 1
#define ABOARD_RPC_MINOR 3

/**
 * Header of every message, 8 bytes:
 *   0 u8  type      request 0x01..0x3f, event 0x40..0x7f, reply 0x80 | type of its request
 *   1 u8  code      request: 0; reply: an aboard_status_t; event: number of the event, modulo 256
 *   2 u16 id        request and reply: number of the request; event: of the request being executed, else 0
 *                   (CREDIT: of the last one)
 *   4 u32 session   the host's nonce, not 0
 */
#define ABOARD_RPC_HEADER_BYTES 8
/** CRC-32 after the payload. */
#define ABOARD_RPC_CRC_BYTES 4
/** Smallest and largest bound on a message (header, payload and CRC) that a device may have. */
#define ABOARD_RPC_MIN_FRAME 128
#define ABOARD_RPC_MAX_FRAME 65535
/** Set in the type of a reply. */
#define ABOARD_RPC_REPLY 0x80

/** Requests. In brackets: the length of the payload; a `+` where data follows. */
enum {
    ABOARD_RPC_HELLO = 0x01,       /**< [8]  0 "abrd", 4 u8 major, 5 u8 minor, 6 u16 longest message the host takes */
    ABOARD_RPC_MODEL = 0x02,       /**< [1]  0 u8 model */
    ABOARD_RPC_WRITE = 0x03,       /**< [8+] 0 u8 model, 1 u8 kind (0, 2), 2 u8 index, 3 u8 0, 4 u32 offset, 8 data */
    ABOARD_RPC_READ = 0x04,        /**< [12] 0 u8 model, 1 u8 kind, 2 u8 index, 3 u8 0, 4 u32 offset, 8 u32 length */
    ABOARD_RPC_RUN = 0x05,         /**< [10] 0 u8 model, 1 u8 flags, 2 u32 count, 6 u16 first, 8 u16 last */
    ABOARD_RPC_PROFILE = 0x06,     /**< [4]  0 u16 first node, 2 u16 count */
    ABOARD_RPC_OP_WRITE = 0x07,    /**< [4+] 0 u32 offset, 4 data */
    ABOARD_RPC_OP_READ = 0x08,     /**< [8]  0 u32 offset, 4 u32 length */
    ABOARD_RPC_OP_RUN = 0x09,      /**< [8]  0 u8 model, 1 u8 0, 2 u16 node, 4 u32 count */
    ABOARD_RPC_STATS = 0x0a,       /**< [0] */
    ABOARD_RPC_FAULT = 0x0b,       /**< [0] */
    ABOARD_RPC_FAULT_CLEAR = 0x0c, /**< [0] */
    ABOARD_RPC_RESET = 0x0d,       /**< [0] */
    ABOARD_RPC_BEGIN = 0x0e,       /**< [6]  0 u8 model, 1 u8 flags (of RUN), 2 u16 first, 4 u16 last */
    ABOARD_RPC_STOP = 0x0f,        /**< [0]  ends a series of runs, as any new request does, and asks for its result */
    ABOARD_RPC_RESET_STATE = 0x10  /**< [1]  0 u8 model */
};

/** Events: sent by the device at any time, never repeated, never answered. */
enum {
    ABOARD_RPC_READY = 0x40,    /**< 0 u8 major, 1 u8 minor: the device has started; session and id are 0 */
    ABOARD_RPC_ACCEPTED = 0x41, /**< empty: the request is being executed */
    ABOARD_RPC_PROGRESS = 0x42, /**< 0 u32 runs done */
    ABOARD_RPC_LOG = 0x43,      /**< text, UTF-8, no terminator */
    ABOARD_RPC_TRACE = 0x44,    /**< 0 u32 sequence, 4 u16 node, 6 u16 output, 8 u32 row, 12 u32 offset, 16 u32 row
                                   bytes, 20 data */
    ABOARD_RPC_CREDIT = 0x45,   /**< 0 u32 bytes received since the request `id`, the last one executed */
    ABOARD_RPC_DAMAGED = 0x46   /**< empty: a frame was damaged or too long */
};

/** Kind of the tensor of a WRITE or READ. */
enum { ABOARD_RPC_INPUT = 0, ABOARD_RPC_OUTPUT = 1, ABOARD_RPC_STATE = 2 };

/** Flags of RUN. */
enum {
    ABOARD_RPC_RUN_PROFILE = 1, /**< Add the ticks of every node to the profile, which is cleared first. */
    ABOARD_RPC_RUN_TRACE = 2    /**< Send the outputs of the nodes [first, last) as TRACE events; count must be 1. */
};

/** Bytes of a TRACE event before its data. */
#define ABOARD_RPC_TRACE_BYTES 20

/** Features of an image, in the reply to HELLO. */
enum {
    ABOARD_FEATURE_PROFILE = 1,    /**< RUN with ABOARD_RPC_RUN_PROFILE, PROFILE. */
    ABOARD_FEATURE_TRACE = 2,      /**< RUN with ABOARD_RPC_RUN_TRACE. */
    ABOARD_FEATURE_RUN_OP = 4,     /**< OP_WRITE, OP_RUN, OP_READ. */
    ABOARD_FEATURE_INPUT_COPY = 8, /**< Inputs survive a run that consumes them. */
    ABOARD_FEATURE_CREDIT = 16 /**< Sends CREDIT events: `burst` is the number of bytes that the receiver can hold. */
};

/* clang-format off
 *
 * Replies with status 0. With any other status the payload is empty, except in the reply to a HELLO of another major
 * version, which has bytes 0 and 1 of HELLO's.
 *
 *   HELLO    0 u8 major, 1 u8 minor, 2 u8 models, 3 u8 0, 4 u32 features, 8 u32 ticks per second,
 *            12 u16 longest message the device takes, 14 u16 burst (0: none), 16 u32 arena bytes,
 *            20 u32 input copy bytes, 24 u32 workspace bytes, 28 u32 kind of the last fault (0: none),
 *            32 u8 length of board, 33 u8 length of build, 34 board id, then build id
 *   MODEL    0 u32 arena bytes, 4 u32 workspace bytes, 8 u16 nodes, 10 u8 inputs, 11 u8 outputs,
 *            12 u8 flags (1: inputs survive a run, 2: inputs are restored from a copy, 4: the input is streamed:
 *            BEGIN, then WRITE from its first byte to its last), 13 u8 length of name,
 *            14 u8[32] SHA-256 of the model file, 46 name, then u8 states
 *   READ     data
 *   RUN      0 u32 runs that were made, 4 u64 fewest ticks of a run, 12 u64 most, 20 u64 total, 28 u32 stack bytes,
 *            32 u32 TRACE events
 *   PROFILE  u64 ticks for each requested node
 *   OP_READ  data
 *   OP_RUN   as RUN
 *   STOP     as the RUN or OP_RUN before it, its status too
 *   STATS    0 u32 frames, 4 u32 damaged frames, 8 u32 too long frames, 12 u32 frames that are no request,
 *            16 u32 requests executed, 20 u32 requests repeated
 *   FAULT    0 u32 kind, 4 u32[16] registers, 68 u32 status, 72 u32 address
 *   others   empty
 */
/* clang-format on */

#endif
