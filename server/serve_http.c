/* SPDX-License-Identifier: MIT */
/* The loop over HTTP: one thread, as over stdio, for all clients. */
#include "server/http.h"
#include "server/listen.h"
#include "server/stop.h"

#include <string.h>
#include <unistd.h>

static enum serve_end run(struct server *server, struct http *http)
{
    while (!stop_wanted()) {
        struct pollfd fds[HTTP_FDS + SERVER_FDS];
        int64_t until = INT64_MAX;
        size_t mine = http_poll(http, fds, &until);
        size_t n = mine + server_poll(server, fds + mine, &until);
        if (!stop_poll(fds, n, until) || !http_turn(http, fds, mine))
            return SERVE_SYSTEM;
        server_turn(server);
        if (server->failed)
            return SERVE_SYSTEM;
    }
    return SERVE_DONE;
}

static enum serve_end serve_at(const struct serve_options *options,
                               const struct place *place, const char *token,
                               char why[512])
{
    struct gate gate = {token, options->hosts, place->port, place->loopback};
    struct server server;
    struct web web;
    struct http *http;
    enum serve_end end;
    server_init(&server, options);
    server.calls.shared = true;
    web_init(&web, &server);
    http = http_start(&web, &gate, place->fd, why);
    if (!http)
        return SERVE_SYSTEM;
    options->listening(options, place->url);
    end = run(&server, http);
    snprintf(why, 512, "the server has ended: no memory, or the network failed");
    server_end(&server);
    http_stop(http);
    web_release(&web);
    return end;
}

bool serve_may_listen(const struct serve_options *options, char why[512])
{
    return listen_allowed(options->listen, options->remote, why);
}

enum serve_end serve_http(const struct serve_options *options, char why[512])
{
    struct place place;
    char *token;
    enum serve_end end;
    stop_catch();
    if (!listen_at(&place, options->listen, options->remote, why))
        return SERVE_SYSTEM;
    token = gate_token(options->token_file, why);
    end = token ? serve_at(options, &place, token, why) : SERVE_SYSTEM;
    if (!token)
        close(place.fd);
    free(token);
    return end;
}
