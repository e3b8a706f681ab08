/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_AUDIO_DMIC_H
#define ZEPHYR_AUDIO_DMIC_H

#include <zephyr/kernel.h>

enum dmic_trigger { DMIC_TRIGGER_STOP, DMIC_TRIGGER_START };
enum pdm_lr { PDM_CHAN_LEFT, PDM_CHAN_RIGHT };

struct pdm_io_cfg {
    uint32_t min_pdm_clk_freq;
    uint32_t max_pdm_clk_freq;
    uint8_t min_pdm_clk_dc;
    uint8_t max_pdm_clk_dc;
};
struct pcm_stream_cfg {
    uint32_t pcm_rate;
    uint8_t pcm_width;
    uint16_t block_size;
    struct k_mem_slab *mem_slab;
};
struct pdm_chan_cfg {
    uint32_t req_chan_map_lo;
    uint32_t req_chan_map_hi;
    uint32_t act_chan_map_lo;
    uint32_t act_chan_map_hi;
    uint8_t req_num_chan;
    uint8_t act_num_chan;
    uint8_t req_num_streams;
    uint8_t act_num_streams;
};
struct dmic_cfg {
    struct pdm_io_cfg io;
    struct pcm_stream_cfg *streams;
    struct pdm_chan_cfg channel;
};
struct _dmic_ops {
    int (*configure)(const struct device *dev, struct dmic_cfg *config);
    int (*trigger)(const struct device *dev, enum dmic_trigger cmd);
    int (*read)(const struct device *dev, uint8_t stream, void **buffer, size_t *size, int32_t timeout);
};

uint32_t dmic_build_channel_map(uint8_t channel, uint8_t pdm, enum pdm_lr lr);
int dmic_configure(const struct device *dev, struct dmic_cfg *cfg);
int dmic_trigger(const struct device *dev, enum dmic_trigger cmd);
int dmic_read(const struct device *dev, uint8_t stream, void **buffer, size_t *size, int32_t timeout);

#endif
