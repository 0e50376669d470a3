/* SPDX-License-Identifier: MIT */
/* What a command has printed, looked at. */
#ifndef SERVER_ANSWER_H
#define SERVER_ANSWER_H

#include "server/server.h"

struct answer {
    struct value *document; /* the object that was printed, or NULL */
    const char *json;       /* its bytes, in the call's output */
    size_t n;
    bool refused;       /* it is an error: nothing was done */
    const char *code;   /* of the error, or NULL */
    struct buf problem; /* what went wrong, for people; empty if nothing did */
};

void answer_init(struct answer *answer, const struct call *call);
void answer_release(struct answer *answer);
/* Whether something is not there: a store, a run, a checkpoint. */
bool answer_not_found(const struct answer *answer);
/* Answers a request other than a tool's call with the problem. `uri` is the resource
 * that was asked for, or NULL. */
void answer_problem(struct server *server, struct call *call,
                    const struct answer *answer, const char *uri);

#endif
