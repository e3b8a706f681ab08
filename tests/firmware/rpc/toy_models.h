/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file toy_models.h
 * Five models written by hand, for tests of the server: small enough to know every byte.
 *
 * `adder`: int8 a, b [1,2,3,4] -> sum, masked. Consumes its inputs. Nodes: 0 add (sum = clamp(a + b), in the memory of
 * a), 1 negate (-sum, channels 0, 1 and 3 only, with a gap after each pixel), 2 widen (negate with a 0 for channel 2).
 * `doubler`: float32 x [1,5] -> y = 2 x. Keeps its input, has no run_op. Node 0.
 * `divided`: uint8 x [8] -> y = x + 1, with x in the first of two arenas (12 and 16 bytes) and y in the second.
 * Consumes its input. Node 0.
 * `summer`: uint8 x [1,4,1,6], row by row -> y [6], the sum of the rows modulo 256, of which each row of a trace is the
 * sum so far. Node 0. A row that begins with 255 is refused (ABOARD_ERROR_DEVICE).
 * Its state `mark` [4], in its arena, is 7 after a reset; nothing else changes it.
 * `keeper`: uint8 x [4] -> y [4], its state `total` [4] after x was added to it, modulo 256. Its state `runs`, int16,
 * counts the runs. A reset makes `total` 1, 2, 3, 4 and `runs` 0. Consumes its input, has a state block, in which a run
 * leaves the last element of `total` first until it is unrolled. Node 0.
 */
#ifndef TOY_MODELS_H
#define TOY_MODELS_H

#include "aboard/model.h"

extern const aboard_model_t toy_adder;
extern const aboard_model_t toy_doubler;
extern const aboard_model_t toy_divided;
extern const aboard_model_t toy_summer;
extern const aboard_model_t toy_keeper;
/** How often any model has run, and any node alone. */
extern uint32_t toy_runs;
extern uint32_t toy_op_runs;
/** Called by the adder in the middle of a run; NULL: nothing. */
extern void (*toy_in_the_middle)(void);

#endif
