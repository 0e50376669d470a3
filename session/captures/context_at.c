/* SPDX-License-Identifier: MIT */
/* The context of a checkpoint, and the newest checkpoint that has one. */
#include "cairn/session.h"
#include "session/session_int.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdlib.h>

static const struct section_ref *context_section(const struct sections *sections)
{
    for (uint32_t i = 0; i < sections->n; i++)
        if (sections->list[i].kind == SECTION_CONTEXT)
            return &sections->list[i];
    return NULL;
}

/* ---- Of one checkpoint ---- */

static int read_found(struct cairn_store *store, struct arena *arena,
                      const struct section_ref *ref, struct context *out,
                      struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(store, &ref->digest, &content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "the context of the checkpoint is missing");
    if (!rc)
        rc = context_decode(arena, buf_view(&content), out, error);
    if (!rc && context_given(out) != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part context does not fit it");
    buf_release(&content);
    return rc;
}

static int find_context(struct live *live, const char *id, struct context *out,
                        struct cairn_error *error)
{
    struct sections sections;
    char number[CAIRN_ID_MAX];
    uint64_t seq = 0;
    int rc = debug_seq(live->store, id, &seq, error);
    if (!rc)
        rc = sections_read(live->store, live->sha, seq, &live->arena, &sections, NULL,
                           error);
    if (rc)
        return rc;
    const struct section_ref *ref = context_section(&sections);
    struct cairn_error why = {0};
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    rc = ref ? read_found(live->store, &live->arena, ref, out, &why) : 0;
    if (ref)
        return rc ? error_set(error, rc, "checkpoint %s: %s", number, why.text) : 0;
    return error_set(error, CAIRN_ENOTFOUND, "checkpoint %s holds no context", number);
}

static const char *text_or_null(struct str text)
{
    return text.len ? text.ptr : NULL;
}

static int tell(const struct context *found,
                int (*got)(void *, const struct cairn_context *), void *context,
                struct cairn_error *error)
{
    struct cairn_context_pair *pairs =
        calloc((size_t)found->n_pairs + 1, sizeof *pairs);
    if (!pairs)
        return error_nomem(error);
    for (uint32_t i = 0; i < found->n_pairs; i++)
        pairs[i] = (struct cairn_context_pair){found->pairs[i].key.ptr,
                                               found->pairs[i].value.ptr};
    struct cairn_context told = {.summary = text_or_null(found->summary),
                                 .description = text_or_null(found->description),
                                 .pairs = pairs,
                                 .n_pairs = found->n_pairs,
                                 .state = text_or_null(found->state),
                                 .has_tokens = found->has_tokens,
                                 .has_usage = found->has_usage,
                                 .tokens = found->tokens,
                                 .usage = found->usage / (double)CONTEXT_USAGE_ALL,
                                 .given = context_given(found) > 0,
                                 .threshold = found->threshold,
                                 .git_branch = text_or_null(found->branch),
                                 .git_commit = text_or_null(found->commit),
                                 .estimate = context_estimate(found)};
    got(context, &told);
    free(pairs);
    return 0;
}

int cairn_checkpoint_context(struct cairn_store *store, const char *id,
                             int (*got)(void *, const struct cairn_context *),
                             void *context, struct cairn_error *error)
{
    struct live live;
    struct arena arena;
    struct context found = {0};
    int rc = live_begin(&live, store, false, error);
    if (!rc)
        rc = find_context(&live, id, &found, error);
    arena = live.arena; /* outlives the transaction */
    live.arena = ARENA_INIT;
    rc = live_close(&live, rc, error);
    if (!rc)
        rc = tell(&found, got, context, error);
    arena_release(&arena);
    return rc;
}

/* ---- The newest ---- */

struct searching {
    struct live *live;
    uint64_t seq; /* 0: none yet */
    struct cairn_error *error;
};

/* Damaged ones are passed over, a verification names them. */
static int see_row(void *context, const struct checkpoint_row *row)
{
    struct searching *s = context;
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct cairn_error why = {0};
    int rc = sections_read(s->live->store, s->live->sha, row->seq, &arena, &sections,
                           NULL, &why);
    const struct section_ref *ref = rc ? NULL : context_section(&sections);
    if (ref && ref->n)
        s->seq = row->seq;
    arena_release(&arena);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(s->error, rc, "%s", why.text);
    return s->seq != 0;
}

static int find_newest(struct live *live, uint64_t among, uint64_t *seq,
                       struct cairn_error *error)
{
    struct searching s = {.live = live, .error = error};
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .session = live->row.session,
                                     .descending = true,
                                     .limit = among};
    int rc = store_each_checkpoint(live->store, &range, see_row, &s, error);
    *seq = s.seq;
    if (rc < 0 || s.seq)
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_ENOTFOUND,
                     "session %.*s has no checkpoint with a context: `cairn checkpoint "
                     "create --summary TEXT` makes one",
                     (int)live->row.name.len, live->row.name.ptr);
}

int cairn_session_newest_context(struct cairn_store *store, const char *session,
                                 uint64_t among, struct cairn_checkpoint_info *info,
                                 struct cairn_error *error)
{
    struct live live;
    uint64_t seq = 0;
    char id[CAIRN_ID_MAX];
    int rc = live_read(&live, store, session, error);
    if (!rc)
        rc = find_newest(&live, among, &seq, error);
    rc = live_close(&live, rc, error);
    if (rc)
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, seq, id);
    return cairn_checkpoint_get(store, id, info, error);
}
