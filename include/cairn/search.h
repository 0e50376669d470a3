/* SPDX-License-Identifier: MIT */
/* cairn: searching everything that a store keeps by text similarity: words, parts of
 * words and a vector of hashed words, each ranked, and the ranks put together. No
 * meaning is understood, and nothing leaves the machine, unless a service is named.
 *
 * What is found by is an index, `search.db` beside the database of the store, which is
 * brought up to date before each search. It may be deleted at any time. Every hit is
 * read from the store again before it is told, so nothing is told that is not there
 * any more. */
#ifndef CAIRN_SEARCH_H
#define CAIRN_SEARCH_H

#include "checkpoint.h"
#include "error.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_search_section {
    CAIRN_SEARCH_ALL = 0,
    CAIRN_SEARCH_SESSIONS = 1, /* sessions, their checkpoints, labels and notes */
    CAIRN_SEARCH_RUNS = 2,     /* runs and their tasks */
    CAIRN_SEARCH_LOGS = 3,     /* output of tasks: the last 256 KiB of each */
    CAIRN_SEARCH_FILES = 4,    /* of checkpoints: names, and texts up to 1 MiB */
    CAIRN_SEARCH_MESSAGES = 5,
    CAIRN_SEARCH_BOARD = 6 /* items (cairn/board.h), with commands that were run */
};
/* "sessions", ...; NULL: there is no such one. */
CAIRN_API const char *cairn_search_section_name(enum cairn_search_section section);

/* A service that computes embeddings, asked by POST as OpenAI's /v1/embeddings is. It
 * is given the query and texts of the store (but none of files), each once, without
 * what is known to be a secret. If it fails the search goes on without. */
struct cairn_search_service {
    const char *url;     /* whole: https://..., or http://... without a key, or to this
                            machine */
    const char *model;   /* sent to it */
    const char *key;     /* sent in a header, stored nowhere; NULL: none */
    uint32_t dimensions; /* sent to it; 0: as many as it likes */
};

struct cairn_search {
    size_t size;      /* of this struct, or 0 */
    const char *text; /* what is looked for: no character in it means anything else */
    enum cairn_search_section section;
    const char *const *tags; /* [n_tags]: only what has all of them, exactly */
    size_t n_tags;
    const char *since, *until; /* times as in cairn/session.h, or NULL */
    /* A directory: only what belongs to it or to one below it. A run belongs to the
     * directory of its workflow file, what a session has to that of its setting
     * `files`; where there is none, to the directory that the store lies in. There is
     * no search without it. */
    const char *project;
    uint32_t k; /* so many of the nearest, 1 to 100; 0: 5 */
    const struct cairn_search_service *service; /* NULL: none */
};
/* Views during the callback. */
struct cairn_search_hit {
    uint32_t rank;          /* from 1 */
    double score, distance; /* 0 to 1; together 1 */
    enum cairn_search_section section;
    const char *kind; /* "session", "checkpoint", "label", "note" (of a checkpoint),
                         "message", "run", "task", "log", "file", or the kind of an
                         item */
    const char *id;   /* of the thing: "debug:42", "h1", "17", "build", a path, ... */
    const char *session, *task; /* names, or NULL */
    uint64_t run, checkpoint;   /* numbers, or 0 */
    int64_t time_ns;            /* UTC */
    const char *project;        /* the directory that it belongs to */
    const char *title;          /* its text in short, "": none */
    const char *snippet;        /* the part that fits best, in one line, with [ and ]
                                   around words of the query */
};
struct cairn_search_progress {
    uint64_t done, of; /* sessions and runs that were looked at, and will be */
    uint64_t entries;  /* that were indexed since it began */
};
struct cairn_search_result {
    uint64_t entries; /* in the index */
    uint64_t dropped; /* hits of which the store has nothing, or something else */
    bool up_to_date;  /* else somebody else is bringing it up to date, and had not let
                         go of it after 5 s */
    bool in_memory;   /* the index was made for this search alone */
    uint32_t hits;
    bool service_used; /* for the order of the hits */
    uint32_t sent;     /* texts of the store that the service was given */
    uint64_t embedded; /* entries of the project with a vector of the service */
    char service[200]; /* why it was not used, or not to the end; "": no reason */
    char in_memory_reason[1024]; /* such as what lies in the place of the index */
};
/* `progress` (may be NULL) is called while the index is brought up to date; a non-zero
 * return ends that, and what is indexed so far is searched. The callbacks must not use
 * the store. CAIRN_EUSAGE: no text, no project, or an option that cannot be used. */
CAIRN_API int cairn_search(struct cairn_store *store, const struct cairn_search *search,
                           int (*progress)(void *,
                                           const struct cairn_search_progress *),
                           int (*each)(void *, const struct cairn_search_hit *),
                           void *context, struct cairn_search_result *result,
                           struct cairn_error *error);
/* Makes the index anew. */
CAIRN_API int cairn_search_rebuild(
    struct cairn_store *store,
    int (*progress)(void *, const struct cairn_search_progress *), void *context,
    struct cairn_search_result *result, struct cairn_error *error);
/* Takes what the store does not have any more out of the index, and overwrites it: for
 * after deleting. Where that fails the index is removed as a whole. Does nothing where
 * there is no index. */
CAIRN_API int cairn_search_forget(struct cairn_store *store, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
