/* SPDX-License-Identifier: Apache-2.0 */
/* Models with one input each, and what to run them on. */
#ifndef ABOARD_TESTS_BARE_CASES_H
#define ABOARD_TESTS_BARE_CASES_H

#include "aboard/model.h"

typedef struct {
    const aboard_model_t *model;
    const void *input;
} case_t;

extern const case_t cases[];
extern const uint32_t case_count;

/* Ends the program after it said so. */
void finish(int code);

/* Prints a text. */
void say(const char *text);

#endif
