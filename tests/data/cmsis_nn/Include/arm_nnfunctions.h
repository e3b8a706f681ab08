/*
 * What aboard uses of CMSIS-NN 7.0.0: names, types and order of the parameters of its functions and of the fields of
 * its structs. Code that is generated for the device cmsis-nn is compiled against this where there is no source tree;
 * where there is one, tests compare the two.
 */
#ifndef ARM_NNFUNCTIONS_H
#define ARM_NNFUNCTIONS_H

#include <stdint.h>

typedef enum {
    ARM_CMSIS_NN_SUCCESS = 0,
    ARM_CMSIS_NN_ARG_ERROR = -1,
    ARM_CMSIS_NN_NO_IMPL_ERROR = -2,
    ARM_CMSIS_NN_FAILURE = -3
} arm_cmsis_nn_status;

typedef struct {
    int32_t w;
    int32_t h;
} cmsis_nn_tile;

typedef struct {
    void *buf;
    int32_t size;
} cmsis_nn_context;

typedef struct {
    int32_t n;
    int32_t h;
    int32_t w;
    int32_t c;
} cmsis_nn_dims;

typedef struct {
    int32_t *multiplier;
    int32_t *shift;
} cmsis_nn_per_channel_quant_params;

typedef struct {
    int32_t *multiplier;
    int32_t *shift;
    int32_t is_per_channel;
} cmsis_nn_quant_params;

typedef struct {
    int32_t min;
    int32_t max;
} cmsis_nn_activation;

typedef struct {
    int32_t input_offset;
    int32_t output_offset;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv_params;

typedef struct {
    int32_t input_offset;
    int32_t output_offset;
    int32_t ch_mult;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;

typedef struct {
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_activation activation;
} cmsis_nn_pool_params;

typedef struct {
    int32_t input_offset;
    int32_t filter_offset;
    int32_t output_offset;
    cmsis_nn_activation activation;
} cmsis_nn_fc_params;

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *params,
                                            const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *in,
                                            const int8_t *x, const cmsis_nn_dims *filter, const int8_t *weights,
                                            const cmsis_nn_dims *bias_dims, const int32_t *bias,
                                            const cmsis_nn_dims *out, int8_t *y);

arm_cmsis_nn_status arm_convolve_s8(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *params,
                                    const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *in,
                                    const int8_t *x, const cmsis_nn_dims *filter, const int8_t *weights,
                                    const cmsis_nn_dims *bias_dims, const int32_t *bias, const cmsis_nn_dims *upscale,
                                    const cmsis_nn_dims *out, int8_t *y);

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *ctx, const cmsis_nn_dw_conv_params *params,
                                                  const cmsis_nn_per_channel_quant_params *quant,
                                                  const cmsis_nn_dims *in, const int8_t *x, const cmsis_nn_dims *filter,
                                                  const int8_t *weights, const cmsis_nn_dims *bias_dims,
                                                  const int32_t *bias, const cmsis_nn_dims *out, int8_t *y);

arm_cmsis_nn_status arm_depthwise_conv_s8(const cmsis_nn_context *ctx, const cmsis_nn_dw_conv_params *params,
                                          const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *in,
                                          const int8_t *x, const cmsis_nn_dims *filter, const int8_t *weights,
                                          const cmsis_nn_dims *bias_dims, const int32_t *bias, const cmsis_nn_dims *out,
                                          int8_t *y);

arm_cmsis_nn_status arm_fully_connected_wrapper_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *params,
                                                   const cmsis_nn_quant_params *quant, const cmsis_nn_dims *in,
                                                   const int8_t *x, const cmsis_nn_dims *filter, const int8_t *weights,
                                                   const cmsis_nn_dims *bias_dims, const int32_t *bias,
                                                   const cmsis_nn_dims *out, int8_t *y);

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
                                   const cmsis_nn_dims *in, const int8_t *x, const cmsis_nn_dims *filter,
                                   const cmsis_nn_dims *out, int8_t *y);

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *params,
                                    const cmsis_nn_dims *in, const int8_t *x, const cmsis_nn_dims *filter,
                                    const cmsis_nn_dims *out, int8_t *y);

void arm_softmax_s8(const int8_t *x, const int32_t rows, const int32_t row_size, const int32_t mult,
                    const int32_t shift, const int32_t diff_min, int8_t *y);

arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *x0, const int8_t *x1, const int32_t offset0,
                                           const int32_t mult0, const int32_t shift0, const int32_t offset1,
                                           const int32_t mult1, const int32_t shift1, const int32_t left_shift,
                                           int8_t *y, const int32_t out_offset, const int32_t out_mult,
                                           const int32_t out_shift, const int32_t low, const int32_t high,
                                           const int32_t size);

arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *x0, const int8_t *x1, const int32_t offset0,
                                           const int32_t offset1, int8_t *y, const int32_t out_offset,
                                           const int32_t out_mult, const int32_t out_shift, const int32_t low,
                                           const int32_t high, const int32_t size);

#endif
