/* SPDX-License-Identifier: MIT */
/* What index.js sees of the addon. */
#include "addon.h"

#include <stddef.h>

static napi_value version(napi_env env, napi_callback_info info)
{
    napi_value text = NULL;
    (void)info;
    napi_create_string_utf8(env, cairn_version(), NAPI_AUTO_LENGTH, &text);
    return text;
}

/* Older headers of Node do not declare all that this defines. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
NAPI_MODULE_INIT()
{
    static const struct {
        const char *name;
        napi_callback call;
    } functions[] = {
        {"version", version},    {"handle", handle_new}, {"call", handle_call},
        {"start", handle_start}, {"run", run_start},     {"stop", run_stop},
        {"ask", attempt_ask},    {"set", attempt_set},   {"finish", attempt_finish},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function;
        if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
                                 functions[i].call, NULL, &function) != napi_ok ||
            napi_set_named_property(env, exports, functions[i].name, function) !=
                napi_ok)
            return NULL;
    }
    return exports;
}
