/* SPDX-License-Identifier: MIT */
/* The server of `cairn mcp`: the Model Context Protocol over stdin and stdout, a JSON
 * message a line, or over HTTP. What a client asks for is done by commands of cairn,
 * in processes of their own, so that whatever a call does, the server goes on. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "server/arguments.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site_options;

struct serve_options {
    const char *store;     /* for every command; NULL: as it finds it */
    unsigned toolsets;     /* those that are offered (server/tool.h) */
    bool read_only;        /* only tools that change nothing */
    int64_t time_limit_ms; /* of one call */
    const char *version;   /* of cairn */
    /* An error's text without secrets; heap, or NULL. What commands print has none. */
    char *(*masked)(void *context, const char *text);
    void *masked_context;
    /* Over HTTP only: */
    const char *listen, *token_file;
    const char *const *hosts; /* names of this machine for its clients, then NULL */
    bool remote;              /* also beyond the loopback interface */
    const struct site_options *pages; /* at the same address (server/site.h), or NULL;
                                         its own address and names do not count */
    /* Called once, when clients can come. */
    void (*listening)(const struct serve_options *options, const char *url);
};

enum serve_end {
    SERVE_DONE,      /* the client closed stdin, or a signal asked for the end */
    SERVE_NO_READER, /* the client does not read its answers */
    SERVE_SYSTEM     /* out of memory, or stdin, stdout or the network failed */
};

/* Serves until the client is done. */
enum serve_end serve(const struct serve_options *options);
/* Whether it may listen there, before anything is done; else `why` says why not. */
bool serve_may_listen(const struct serve_options *options, char why[512]);
/* Serves clients over HTTP until a signal asks for the end. What is not SERVE_DONE has
 * its reason in `why`. */
enum serve_end serve_http(const struct serve_options *options, char why[512]);

#endif
