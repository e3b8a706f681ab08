/* SPDX-License-Identifier: Apache-2.0 */
#include "models.h"

const aboard_model_t *aboard_find_model(const aboard_server_t *server, uint8_t number) {
    return number < server->config->model_count ? server->config->models[number] : NULL;
}

const aboard_memory_t *aboard_memory_of(const aboard_server_t *server, const aboard_model_t *model) {
    const aboard_server_config_t *config = server->config;
    const aboard_memory_t *const *own = config->memory;
    for (uint8_t i = 0; own != NULL && i < config->model_count; ++i) {
        if (config->models[i] == model && own[i] != NULL) {
            return own[i];
        }
    }
    return model->run_in == NULL ? &server->shared : NULL;
}

aboard_status_t aboard_check_memory(const aboard_server_t *server, const aboard_model_t *model) {
    const aboard_memory_t *memory = aboard_memory_of(server, model);
    const aboard_arena_t whole = {NULL, model->arena_bytes};
    const aboard_arena_t *need = model->arena_count != 0 ? model->arenas : &whole;
    if (model->stream != NULL && server->config->rows == NULL) {
        return ABOARD_ERROR_NULL;
    }
    for (uint8_t i = 0; i < ABOARD_MAX(model->arena_count, 1); ++i) {
        if (memory == NULL || memory[i].data == NULL) {
            return ABOARD_ERROR_NULL;
        }
        if (!aboard_is_aligned(memory[i].data)) {
            return ABOARD_ERROR_ARENA_MISALIGNED;
        }
        if (memory[i].bytes < need[i].bytes) {
            return ABOARD_ERROR_ARENA_TOO_SMALL;
        }
    }
    return ABOARD_OK;
}

bool aboard_uses_copy(const aboard_server_t *server, const aboard_model_t *model) {
    size_t bytes = 0;
    for (uint8_t i = 0; i < model->input_count; ++i) {
        bytes += model->inputs[i].bytes;
    }
    return server->config->input_copy != NULL && !model->inputs_kept && model->stream == NULL &&
           bytes <= server->config->input_copy_bytes;
}
