/* SPDX-License-Identifier: MIT */
/* Vectors of a service that computes embeddings, for a search that is told to use one
 * (struct cairn_search_service). What it is not asked: texts of files, and whatever it
 * was asked before. What it answers is believed for one thing only, the order of hits.
 */
#ifndef SEARCH_SERVICE_INT_H
#define SEARCH_SERVICE_INT_H

#include "base/str.h"
#include "search/search_int.h"
#include "secrets/redact.h"

enum {
    SERVICE_WHY = 200,             /* bytes of a reason */
    SERVICE_BATCH = 32,            /* texts of one request */
    SERVICE_TEXT_BYTES = 8 << 10,  /* of one text */
    SERVICE_NUMBERS_MOST = 4096,   /* of a vector */
    SERVICE_ANSWER_MOST = 8 << 20, /* bytes */
    SERVICE_KEY_MOST = 4096,
    SERVICE_REQUEST_MS = 10000,
    SERVICE_SEARCH_MS = 30000, /* for all requests of a search */
    SERVICE_TEXTS_AT_ONCE = 256
};

/* ---- http.c: the door to libcurl, which is loaded when it is needed ---- */

struct http_request {
    const char *url, *key; /* key: or NULL */
    struct str body;       /* JSON */
    int64_t timeout_ms;
    size_t answer_most;
    bool direct; /* by no proxy, whatever the environment says */
};

/* 0: there is an answer, and its status. 1: none, and why. CAIRN_ENOMEM */
int http_post(const struct http_request *request, struct buf *answer, long *status,
              char why[SERVICE_WHY], struct cairn_error *error);

/* ---- service.c: the door to jansson ---- */

struct answer {
    size_t n, numbers; /* vectors that are expected; numbers of each, 0: any */
    float *at;         /* [n * numbers], of the caller, who frees it; NULL before */
};

/* ---- service.c ---- */

struct service {
    const struct cairn_search_service *wanted;
    uint32_t numbers; /* of each vector; 0: not known before the first answer */
    int64_t until_ns; /* clock_mono_ns: no request after that */
    struct redactor *redactor;
    char why[SERVICE_WHY]; /* not empty: it has failed, and is not asked again */
    struct cairn_error *error;
};

/* CAIRN_EUSAGE: a URL, model or key that cannot be used. */
int service_check(const struct cairn_search_service *wanted, struct cairn_error *error);
int service_begin(struct service *service, struct cairn_store *store,
                  const struct cairn_search_service *wanted, struct cairn_error *error);
void service_end(struct service *service);

/* ---- service.c: one more list ---- */

struct embedding {
    struct service service;
    struct searchdb *index;
    const struct scope *scope;
    struct str text; /* of the query */
    const struct fused *first;
    size_t n_first; /* what was found without it: asked first */
    uint32_t sent;  /* texts that the service was asked */
    uint64_t known; /* entries of the scope that have a vector now */
    struct cairn_error *error;
};

/* Sorted; empty where the service has failed. */
int embed_rank(struct embedding *embedding, struct rank_list *list);

#endif
