/* SPDX-License-Identifier: Apache-2.0 */
#include "states.h"

#include "messages.h"
#include "models.h"
#include "regions.h"

static aboard_status_t reset(aboard_server_t *server, const aboard_model_t *model) {
    if (model->reset == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    server->streaming = 0;
    return model->reset(aboard_memory_of(server, model));
}

static aboard_status_t reach(aboard_server_t *server, const aboard_model_t *model, const aboard_message_t *request) {
    const uint8_t *payload = request->payload;
    if (payload[2] >= model->state_count) {
        return ABOARD_ERROR_INDEX;
    }
    if (server->streaming == payload[0] + 1) {
        return ABOARD_ERROR_STATE;
    }
    if (model->unroll != NULL) {
        /* It fails only for memory of another size, and models.c refuses that when the server starts. */
        (void)model->unroll(aboard_memory_of(server, model));
    }
    const aboard_region_t region = aboard_tensor_region(server, model, &model->states[payload[2]]);
    return request->type == ABOARD_RPC_READ ? aboard_read_region(server, &region, payload + 4)
                                            : aboard_write_region(&region, payload + 4, request->count - 8);
}

aboard_status_t aboard_server_states(aboard_server_t *server, const aboard_message_t *request) {
    const uint8_t number = request->payload[0];
    const aboard_model_t *model = aboard_find_model(server, number);
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    const aboard_status_t status =
        request->type == ABOARD_RPC_RESET_STATE ? reset(server, model) : reach(server, model, request);
    /* An output may be stored where the state is. */
    if (status == ABOARD_OK && request->type != ABOARD_RPC_READ && server->output_model == number + 1) {
        server->output_model = 0;
    }
    return status;
}
