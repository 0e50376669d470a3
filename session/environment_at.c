/* SPDX-License-Identifier: MIT */
/* The environment of a checkpoint, or of this process, for people and programs. */
#include "cairn/session.h"
#include "secrets/known_secrets.h"
#include "session/session_int.h"
#include "storage/object.h"
#include "storage/store.h"

#include <stdlib.h>

struct looking {
    struct live live;
    struct arena arena;
    struct environment found;
    struct cairn_error *error;
};

static int none(struct looking *l, const char *where)
{
    return error_set(l->error, CAIRN_ENOTFOUND,
                     "no environment %s: the setting "
                     "`environment` of a session says what checkpoints keep of it",
                     where);
}

/* ---- Finding it ---- */

static int read_bytes_of(struct looking *l, const struct section_ref *ref)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(l->live.store, &ref->digest, &content, l->error);
    if (rc == CAIRN_ENOTFOUND)
        rc = error_set(l->error, CAIRN_EDAMAGED,
                       "the environment of the checkpoint is missing");
    if (!rc)
        rc = environment_decode(&l->arena, buf_view(&content), &l->found, l->error);
    buf_release(&content);
    return rc;
}

static int find_stored(struct looking *l, const char *id)
{
    struct sections sections;
    uint64_t seq = 0;
    int rc = debug_seq(l->live.store, id, &seq, l->error);
    if (!rc)
        rc = sections_read(l->live.store, l->live.sha, seq, &l->arena, &sections, NULL,
                           l->error);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < sections.n; i++)
        if (sections.list[i].kind == SECTION_ENVIRONMENT)
            return read_bytes_of(l, &sections.list[i]);
    return none(l, "is stored with that checkpoint");
}

static int find_present(struct looking *l)
{
    const struct session_settings *settings = &l->live.settings;
    struct hidden_values hidden;
    struct buf bytes = BUF_INIT;
    uint32_t n = 0;
    if (!settings->environment.len)
        return none(l, "is stored with checkpoints of the session");
    int rc = live_hidden(&l->live, &hidden, l->error);
    if (!rc)
        rc = environment_encode(settings->environment, &hidden, &bytes, &n, l->error);
    if (!rc)
        rc = environment_decode(&l->arena, buf_view(&bytes), &l->found, l->error);
    buf_release(&bytes);
    return rc;
}

/* ---- Telling it ---- */

static bool ends_with(struct str text, struct str end)
{
    return text.len >= end.len &&
           memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

static bool is_partial(struct str value)
{
    return ends_with(value, STR(ENVIRONMENT_CUT)) ||
           strstr(value.ptr, KNOWN_SECRET_MARK) != NULL;
}

static int tell(struct looking *l, int (*got)(void *, const struct cairn_environment *),
                void *context)
{
    const struct environment *found = &l->found;
    struct cairn_variable *variables = calloc((size_t)found->n + 1, sizeof *variables);
    if (!variables)
        return error_nomem(l->error);
    for (uint32_t i = 0; i < found->n; i++)
        variables[i] =
            (struct cairn_variable){found->at[i].name.ptr, found->at[i].value.ptr,
                                    is_partial(found->at[i].value)};
    struct cairn_environment told = {found->directory.ptr, variables, found->n};
    got(context, &told);
    free(variables);
    return 0;
}

int cairn_session_environment(struct cairn_store *store, const char *session,
                              const char *id,
                              int (*got)(void *, const struct cairn_environment *),
                              void *context, struct cairn_error *error)
{
    struct looking l = {.arena = ARENA_INIT, .error = error};
    int rc = id ? live_begin(&l.live, store, false, error)
                : live_read(&l.live, store, session, error);
    if (!rc)
        rc = id ? find_stored(&l, id) : find_present(&l);
    rc = live_close(&l.live, rc, error);
    if (!rc)
        rc = tell(&l, got, context);
    arena_release(&l.arena);
    return rc;
}
