/* SPDX-License-Identifier: MIT */
/* The addon's parts. `main` is Node's main thread, or that of a worker: only there may
 * Node-API be used. */
#ifndef CAIRN_NODE_ADDON_H
#define CAIRN_NODE_ADDON_H

#define NAPI_VERSION 8
#if __has_include(<node_api.h>)
#include <node_api.h>
#else
#include <node/node_api.h>
#endif

#include "fields.h"

#include <cairn.h>

/* ---- A handle and its calls (store.c) ---- */

/* An open store, and a queue of calls: one at a time is carried out, on libuv's pool. */
struct handle;

/* One call. `answer` becomes the promise's buffer. */
struct call {
    struct call *next;
    const struct operation *operation;
    napi_deferred deferred;
    struct field_writer answer;
    int rc; /* of the library; 0: it has succeeded, ... */
    struct cairn_error
        error; /* ... else why. (After a success it may hold anything.) */
    size_t n_input;
    uint8_t input[];
};

enum order {
    READS,
    CHANGES,
    PUTS /* all that wait are one transaction: none passes a call that changes */
};

struct operation {
    const char *name;
    enum order order;
    /* On the pool. `calls`: a list, of PUTS of all; of others of one. */
    void (*work)(struct handle *handle, struct call *calls);
};

/* What an operation uses of its handle. */
struct cairn_store *handle_store(struct handle *handle);
struct cairn_feed **handle_feed(struct handle *handle);
struct field_reader call_reader(const struct call *call);
/* After reading: was all of it there? Else the error. */
bool call_refused(struct call *call, const struct field_reader *reader);

extern const struct operation operations_of_records[], operations_of_threads[];

/* What cairn_store_open takes, read from fields. */
struct cairn_store_options read_store_options(struct field_reader *reader);

/* main: the external that holds a handle; handle_call(handle, name, fields) a promise.
 * handle_start(handle): a put waits for it, or for the end of an earlier call. */
napi_value handle_new(napi_env env, napi_callback_info info);
napi_value handle_call(napi_env env, napi_callback_info info);
napi_value handle_start(napi_env env, napi_callback_info info);

/* code and text; the code. */
int set_error(struct cairn_error *error, int code, const char *text);
/* main: an Error with the code and the text. NULL: out of memory, or the end. */
napi_value error_value(napi_env env, const struct cairn_error *error);

/* ---- Runs (run.c), main ---- */

/* run(fields, deliver): [external, promise]. deliver(kind, fields or attempt, number) is
 * called for each call of a function, and each event. */
napi_value run_start(napi_env env, napi_callback_info info);
napi_value run_stop(napi_env env, napi_callback_info info);
napi_value attempt_ask(napi_env env, napi_callback_info info);
napi_value attempt_set(napi_env env, napi_callback_info info);
napi_value attempt_finish(napi_env env, napi_callback_info info);

#endif
