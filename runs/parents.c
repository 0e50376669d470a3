/* SPDX-License-Identifier: MIT */
/* Runs that are begun by tasks of other runs in the same store. The environment of
 * every task says which attempt it is (CAIRN_TOKEN, CAIRN_TASK), so a cairn that is
 * started there knows; but the environment is also inherited by what outlives the
 * attempt, so it counts only while the store says that the attempt is open. */
#include "base/memory.h"
#include "base/words.h"
#include "runs/marks.h"
#include "runs/stored.h"

#include "cairn/outcome.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "<store id>.<run>.<16 hex digits>.<task>.<attempt>", see process/slot_map.h. */
static bool parse_token(const char *token, const char *id, struct run_parent *out)
{
    size_t n = strlen(id);
    uint64_t run, task, attempt;
    if (!n || strncmp(token, id, n) != 0 || token[n] != '.')
        return false;
    token += n + 1;
    if (!digits_take(&token, '.', INT64_MAX, &run))
        return false;
    token += strspn(token, "0123456789abcdef");
    if (*token++ != '.' || !digits_take(&token, '.', UINT32_MAX, &task) ||
        !digits_take(&token, 0, UINT32_MAX, &attempt))
        return false;
    out->run = run;
    out->task = (uint32_t)task;
    out->attempt = (uint32_t)attempt;
    return run != 0;
}

static int note_gen(void *context, const struct run_row *row)
{
    struct run_parent *parent = context;
    parent->gen = row->state == CAIRN_RUN_UNFINISHED ? row->gen : 0;
    return 0;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    *(struct attempt_row *)context = *row; /* its texts are not used */
    return 0;
}

/* 1: the attempt is open; 0: it is not. */
static int is_open(struct cairn_store *store, const struct run_parent *parent,
                   struct cairn_error *error)
{
    struct attempt_row row = {0};
    const struct attempt_row key = {.run = parent->run,
                                    .gen = parent->gen,
                                    .task = parent->task,
                                    .number = parent->attempt};
    int rc = store_get_attempt(store, &key, note_attempt, &row, error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc ? rc : attempt_is_open(&row);
}

int run_parent_here(struct cairn_store *store, struct run_parent *out,
                    struct cairn_error *error)
{
    const char *token = getenv("CAIRN_TOKEN"), *id = getenv("CAIRN_TASK");
    struct run_parent parent = {0};
    struct cairn_error local = {0};
    *out = parent;
    if (!token || !id || !*id || strlen(id) >= sizeof parent.id ||
        !parse_token(token, store_id(store), &parent))
        return 0;
    snprintf(parent.id, sizeof parent.id, "%s", id);
    int rc = store_get_run(store, parent.run, note_gen, &parent, &local);
    if (rc == CAIRN_ENOTFOUND || (!rc && !parent.gen))
        return 0;
    if (rc)
        return error_set(error, rc, "%s", local.text);
    rc = is_open(store, &parent, &local);
    if (rc > 0)
        *out = parent;
    return rc < 0 ? error_set(error, rc, "%s", local.text) : 0;
}

int run_parents(struct cairn_store *store, const struct run_parent *inside,
                struct run_parent **out, uint32_t *n, struct cairn_error *error)
{
    enum { DEPTH_MOST = 100 };
    struct run_parent parent = *inside;
    size_t capacity = 0;
    int rc = 0, open = 1;
    while (parent.run && open > 0 && *n < DEPTH_MOST) {
        struct run_parent *at = array_room(*out, *n, &capacity, sizeof *at);
        if (!at)
            return error_nomem(error);
        *out = at;
        at[*n] = parent;
        rc = store_get_parent(store, at[(*n)++].run, &parent, error);
        if (rc < 0)
            return rc;
        open = parent.run ? is_open(store, &parent, error) : 0;
    }
    return open < 0 ? open : 0;
}

int run_choose(struct cairn_store *store, uint64_t *run, struct cairn_error *error)
{
    struct run_parent here;
    int rc = run_parent_here(store, &here, error);
    *run = 0;
    if (!rc && here.run)
        rc = store_newest_inside(store, &here, run, error);
    if (!rc && !*run)
        rc = store_newest_inside(store, NULL, run, error);
    return rc;
}

static int note_state(void *context, const struct run_row *row)
{
    *(uint8_t *)context = row->state;
    return 0;
}

int run_cancelled_inside(struct cairn_store *store, const struct run_parent *parent,
                         uint64_t *run, struct cairn_error *error)
{
    struct run_parent of = {0};
    uint8_t state = CAIRN_RUN_UNFINISHED;
    int rc = store_get_cancelled_inside(store, parent, run, error);
    if (rc || !*run)
        return rc;
    rc = store_get_parent(store, *run, &of, error);
    if (!rc && same_attempt(&of, parent))
        rc = store_get_run(store, *run, note_state, &state, error);
    if (state != CAIRN_RUN_CANCELLED)
        *run = 0;
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}
