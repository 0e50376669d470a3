/* SPDX-License-Identifier: MIT */
#include "server/microhttpd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libmicrohttpd.so.12"

#define SYMBOL(name)                                    \
    {                                                   \
        "MHD_" #name, offsetof(struct microhttpd, name) \
    }
static const struct {
    const char *name;
    size_t at; /* of its pointer in struct microhttpd */
} symbols[] = {
    SYMBOL(start_daemon),
    SYMBOL(stop_daemon),
    SYMBOL(get_fdset),
    SYMBOL(get_timeout),
    SYMBOL(run_from_select),
    SYMBOL(get_connection_info),
    SYMBOL(lookup_connection_value),
    SYMBOL(get_connection_values),
    SYMBOL(suspend_connection),
    SYMBOL(resume_connection),
    SYMBOL(create_response_from_buffer),
    SYMBOL(create_response_from_callback),
    SYMBOL(add_response_header),
    SYMBOL(queue_response),
    SYMBOL(destroy_response),
};

const struct microhttpd *microhttpd_load(char why[512])
{
    static struct microhttpd functions;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 512,
                 "HTTP needs " LIBRARY " (on Debian the package libmicrohttpd12): %s",
                 dlerror());
        return NULL;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found) {
            snprintf(why, 512, LIBRARY " has no %s", symbols[i].name);
            dlclose(library);
            return NULL;
        }
        memcpy((char *)&functions + symbols[i].at, &found, sizeof found);
    }
    return &functions;
}
