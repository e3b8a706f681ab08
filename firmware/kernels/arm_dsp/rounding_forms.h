/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rounding_forms.h
 * The forms of functions of depthwise layers by how results are rounded: `single` is 1 for a single rounding, 2 for one
 * without a shift, as channels need whose results are nearly as large as their sums, and 0 for a double rounding.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_ROUNDING_FORMS_H
#define ABOARD_KERNELS_ARM_DSP_ROUNDING_FORMS_H

/** Right shift of a single rounding, of which SSAT has it as a literal. */
#define ABOARD_DSP_LINE_BUFFER_SHIFT 2

/** Calls a form of a function of the job `p`; `single` is a literal if the call is inlined. */
#define ABOARD_DSP_FORM(name, single)                                                                                  \
    (single) == 2 ? aboard_dsp_##name##unshifted(p)                                                                    \
    : (single)    ? aboard_dsp_##name##single(p)                                                                       \
                  : aboard_dsp_##name##double(p)

#endif
