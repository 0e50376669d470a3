/* SPDX-License-Identifier: MIT */
/* Checkpoints back to what they hold, and the newest ones that are whole. */
#include "session/session_int.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "cairn/restore.h"
#include "cairn/session.h"
#include "checkpoint/find.h"
#include "checkpoint/nodes/numbered.h"
#include "secrets/known_secrets.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* ==== The state ==== */

/* The board at a checkpoint. */

/* What it holds, in the arena. */
static int read_content(struct cairn_store *store, const struct section_ref *ref,
                        const char *name, struct arena *arena, struct str *kept,
                        struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = section_read(store, ref, &content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = error_set(error, CAIRN_EDAMAGED, "the content of its part %s is missing",
                       name);
    *kept = rc ? STR("") : arena_str(arena, buf_view(&content));
    buf_release(&content);
    return !rc && arena->failed ? error_nomem(error) : rc;
}

static int read_environment(struct cairn_store *store, const struct section_ref *ref,
                            struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    int rc = read_content(store, ref, "environment", &out->arena, &kept, error)
                 ?: environment_decode(&out->arena, kept, &out->environment, error);
    if (!rc && out->environment.n != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part environment does not fit it");
    out->has_environment = rc == 0;
    return rc;
}

static int read_messages(struct cairn_store *store, const struct section_ref *ref,
                         struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    int rc = read_content(store, ref, "messages", &out->arena, &kept, error)
                 ?: message_line_decode(kept, &out->messages, error);
    if (!rc && (uint32_t)out->messages.position != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part messages does not fit it");
    return rc;
}

static int read_context(struct cairn_store *store, const struct section_ref *ref,
                        struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    int rc = read_content(store, ref, "context", &out->arena, &kept, error)
                 ?: context_decode(&out->arena, kept, &out->context, error);
    if (!rc && context_given(&out->context) != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part context does not fit it");
    return rc;
}

/* The first that holds the kind: of items there is one, in either form. */
static const struct section_ref *section_of(const struct state_at *state, uint8_t kind)
{
    for (uint32_t i = 0; i < state->sections.n; i++)
        if (section_holds(&state->sections.list[i]) == kind)
            return &state->sections.list[i];
    return NULL;
}

static int read_section(struct cairn_store *store, const struct section_ref *ref,
                        struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    struct section section = {0};
    uint8_t kind = section_holds(ref);
    const struct item_kind_info *info = item_kind_info(kind);
    if (ref->kind == SECTION_ENVIRONMENT)
        return read_environment(store, ref, out, error);
    if (ref->kind == SECTION_CONTEXT)
        return read_context(store, ref, out, error);
    if (ref->kind == SECTION_FILES) { /* read where they are wanted */
        out->has_files = true;
        out->files = ref->digest;
        return 0;
    }
    if (ref->kind == SECTION_MESSAGES)
        return read_messages(store, ref, out, error);
    if (!info)
        return error_set(error, CAIRN_ENEWER,
                         "it holds a part of a kind that this release does not know: "
                         "use the cairn that wrote it");
    int rc = read_content(store, ref, info->name, &out->arena, &kept, error)
                 ?: section_decode(&out->arena, kind, kept, &section, error);
    if (!rc && (section.n != ref->n || section_of(out, kind) != ref ||
                (section.n && section.items[section.n - 1].id.n > ref->last)))
        rc =
            error_set(error, CAIRN_EDAMAGED, "its part %s does not fit it", info->name);
    return rc ?: board_load(&out->board, kind, &section, ref->last, error);
}

int state_load(struct cairn_store *store, struct state_at *out,
               struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < out->sections.n && !rc; i++)
        rc = read_section(store, &out->sections.list[i], out, error);
    return rc;
}

static int state_open(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                      struct state_at *out, struct cairn_error *error)
{
    *out = (struct state_at){.arena = ARENA_INIT};
    board_init(&out->board);
    return sections_read(store, sha, seq, &out->arena, &out->sections, &out->at, error);
}

/* Of a thread there is none. */
static int check_board(const struct state_at *state, struct cairn_error *error)
{
    return state->sections.trigger != TRIGGER_THREAD
               ? 0
               : error_set(
                     error, CAIRN_EUSAGE,
                     "checkpoint debug:%llu has states of a thread, and no board: "
                     "its program reads them (cairn/thread.h)",
                     (unsigned long long)state->at.ref.seq);
}

/* *why says what is wrong with it; rc 0: nothing. */
static int state_done(struct cairn_store *store, const struct state_at *state, int rc,
                      struct cairn_error *why, struct cairn_error *error)
{
    char number[CAIRN_ID_MAX];
    if (!rc && state->at.session)
        rc = message_line_check(store, state->at.session, &state->messages, false, why);
    if (!rc)
        return 0;
    checkpoint_number(NAMESPACE_DEBUG, state->at.ref.seq, number);
    return error_set(error, rc, "checkpoint %s: %s", number, why->text);
}

int state_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
               struct state_at *out, struct cairn_error *error)
{
    return state_read_any(store, sha, seq, out, error) ?: check_board(out, error);
}

int state_read_any(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                   struct state_at *out, struct cairn_error *error)
{
    struct cairn_error why = {0};
    return state_open(store, sha, seq, out, error)
               ?: state_done(store, out, state_load(store, out, &why), &why, error);
}

/* ---- Two of them ---- */

struct apart {
    struct cairn_store *store;
    struct state_at *const *out;
    uint8_t kind;
    struct cairn_error why;
};

static bool same_section(const struct apart *a, uint8_t kind)
{
    const struct section_ref *x = section_of(a->out[0], kind),
                             *y = section_of(a->out[1], kind);
    return x && y ? x->kind == y->kind && digest_equal(&x->digest, &y->digest) &&
                        x->n == y->n
                  : x == y;
}

static int add_apart(void *context, int of, uint32_t n, struct str body)
{
    struct apart *a = context;
    struct state_at *state = a->out[of];
    struct item item;
    /* Its texts are in the body, which is there in this call alone. */
    struct str kept = arena_str(&state->arena, body);
    if (state->arena.failed)
        return error_nomem(&a->why);
    return item_decode(&state->arena, (struct item_ref){a->kind, n}, kept, &item,
                       &a->why)
               ?: board_add(&state->board, &item, &a->why);
}

/* Of two trees what both refer to is not read; one that there is not has no items. */
static int read_trees(struct apart *a, int *bad)
{
    const struct section_ref *refs[2] = {section_of(a->out[0], a->kind),
                                         section_of(a->out[1], a->kind)};
    struct numbered trees[2] = {{.n = 0}, {.n = 0}};
    for (int of = 0; of < 2; of++)
        if (refs[of])
            trees[of] = (struct numbered){refs[of]->digest, refs[of]->n};
    int rc = numbered_apart(a->store, trees, add_apart, a, bad, &a->why);
    for (int of = 0; of < 2 && !rc; of++) {
        struct section section = board_section(&a->out[of]->board, a->kind);
        *bad = of;
        if (section.n && section.items[section.n - 1].id.n > refs[of]->last)
            rc = error_set(&a->why, CAIRN_EDAMAGED, "its part %s does not fit it",
                           item_kind_info(a->kind)->name);
    }
    return rc;
}

static bool is_tree(const struct section_ref *ref)
{
    return !ref || section_is_tree(ref);
}

/* *bad: of which of them an error is. */
static int read_apart(struct apart *a, int *bad)
{
    struct section_bytes both[2] = {{.n = 0}};
    int rc = 0;
    if (is_tree(section_of(a->out[0], a->kind)) &&
        is_tree(section_of(a->out[1], a->kind)))
        return read_trees(a, bad);
    for (int of = 0; of < 2 && !rc; of++) {
        const struct section_ref *ref = section_of(a->out[of], a->kind);
        *bad = of;
        both[of] = (struct section_bytes){.bytes = STR("\0")};
        if (!ref)
            continue;
        both[of].n = ref->n;
        both[of].last = ref->last;
        rc = read_content(a->store, ref, item_kind_info(a->kind)->name,
                          &a->out[of]->arena, &both[of].bytes, &a->why);
    }
    return rc ?: sections_apart(both, add_apart, a, bad, &a->why);
}

static int read_whole(struct apart *a, uint8_t kind, int *bad)
{
    int rc = 0;
    for (int of = 0; of < 2 && !rc; of++) {
        const struct section_ref *ref = section_of(a->out[of], kind);
        *bad = of;
        rc = ref ? read_section(a->store, ref, a->out[of], &a->why) : 0;
    }
    return rc;
}

/* Evidence and gaps say something about hypotheses, and the other way round. */
static int load_apart(struct apart *a, int *bad)
{
    bool known = same_section(a, ITEM_HYPOTHESIS) && same_section(a, ITEM_EVIDENCE) &&
                 same_section(a, ITEM_GAP);
    int rc = 0;
    for (unsigned kind = 1; kind <= UINT8_MAX && !rc; kind++) {
        a->kind = (uint8_t)kind;
        if (kind > SECTION_NODES && item_kind_info((uint8_t)(kind - SECTION_NODES)))
            continue; /* a tree of items, which are read by their kind */
        if (!known && (kind == ITEM_HYPOTHESIS || kind == ITEM_EVIDENCE))
            rc = read_whole(a, a->kind, bad);
        else if (!item_kind_info(a->kind))
            rc = read_whole(a, a->kind, bad);
        else if (!same_section(a, a->kind))
            rc = read_apart(a, bad);
    }
    return rc;
}

int state_read_apart(struct cairn_store *store, struct sha256 *sha,
                     const uint64_t seq[2], struct state_at *const out[2],
                     struct cairn_error *error)
{
    struct apart a = {.store = store, .out = out};
    int bad = 0;
    *out[0] = *out[1] = (struct state_at){.arena = ARENA_INIT};
    int rc = state_open(store, sha, seq[0], out[0], error)
                 ?: state_open(store, sha, seq[1], out[1], error)
                 ?: check_board(out[0], error)
                 ?: check_board(out[1], error);
    if (rc)
        return rc;
    rc = load_apart(&a, &bad);
    if (rc)
        return state_done(store, out[bad], rc, &a.why, error);
    return state_done(store, out[0], 0, &a.why, error)
               ?: state_done(store, out[1], 0, &a.why, error);
}

void state_release(struct state_at *state)
{
    board_release(&state->board);
    arena_release(&state->arena);
}

int debug_seq(struct cairn_store *store, const char *id, uint64_t *seq,
              struct cairn_error *error)
{
    struct catalog catalog = {.store = store,
                              .sha = sha256_new(),
                              .kinds = &payload_kinds,
                              .namespace_id = NAMESPACE_DEBUG};
    struct found_checkpoint found;
    if (!catalog.sha)
        return error_nomem(error);
    int rc = catalog_find(&catalog, id, &found, error);
    sha256_free(catalog.sha);
    if (rc)
        return rc;
    *seq = found.seq;
    return found.sound ? 0 : CAIRN_EDAMAGED;
}

/* ==== The environment ==== */

/* The environment of a checkpoint, or of this process, for people and programs. */

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
    int rc = debug_seq(l->live.store, id, &seq, l->error)
                 ?: sections_read(l->live.store, l->live.sha, seq, &l->arena, &sections,
                                  NULL, l->error);
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
    int rc = live_hidden(&l->live, &hidden, l->error)
             ?: environment_encode(settings->environment, &hidden, &bytes, &n, l->error)
             ?: environment_decode(&l->arena, buf_view(&bytes), &l->found, l->error);
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

static int give_environment(struct looking *l,
                            int (*got)(void *, const struct cairn_environment *),
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
        rc = give_environment(&l, got, context);
    arena_release(&l.arena);
    return rc;
}

/* ==== The context ==== */

/* The context of a checkpoint, and the newest checkpoint that has one. */

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
    int rc = debug_seq(live->store, id, &seq, error)
                 ?: sections_read(live->store, live->sha, seq, &live->arena, &sections,
                                  NULL, error);
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

static int give_context(const struct context *found,
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
    int rc = live_begin(&live, store, false, error)
                 ?: find_context(&live, id, &found, error);
    arena = live.arena; /* outlives the transaction */
    live.arena = ARENA_INIT;
    rc = live_close(&live, rc, error);
    if (!rc)
        rc = give_context(&found, got, context, error);
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
    int rc = live_read(&live, store, session, error)
                 ?: find_newest(&live, among, &seq, error);
    rc = live_close(&live, rc, error);
    if (rc)
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, seq, id);
    return cairn_checkpoint_get(store, id, info, error);
}

/* ==== The newest one that is whole ==== */

/* The newest checkpoint of a session whose state is whole. */

/* In a seq that is listed: it leads to the present state. No seq has this bit. */
#define OURS (1ull << 63)

struct newest {
    struct live live;
    uint64_t *seqs; /* of the current branch, descending, then of the others */
    uint64_t mark;  /* OURS for those of the branch that is listed */
    uint64_t from;  /* where the current branch begins */
    size_t n, capacity;
    int (*damaged)(void *, const char *id, const char *text);
    void *context;
    struct cairn_recovery found;
    struct cairn_error *error;
};

static int add_seq(void *context, const struct checkpoint_row *row)
{
    struct newest *newest = context;
    uint64_t *seqs =
        array_room(newest->seqs, newest->n, &newest->capacity, sizeof *seqs);
    if (!seqs)
        return error_nomem(newest->error);
    newest->seqs = seqs;
    seqs[newest->n++] = row->seq | newest->mark;
    return 0;
}

static int add_branch(void *context, const struct branch_row *row)
{
    struct newest *newest = context;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = row->branch};
    bool current = row->branch == newest->live.row.branch;
    newest->mark = current ? OURS : 0;
    if (current)
        newest->from = row->from_seq;
    return store_each_checkpoint(newest->live.store, &range, add_seq, newest,
                                 newest->error);
}

static int by_seq(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static void report(struct newest *newest, const char *id, const char *text)
{
    newest->found.damaged++;
    if (newest->damaged)
        newest->damaged(newest->context, id, text);
}

/* Branches that are named by sound rows count, where others are damaged. */
static int list_seqs(struct newest *newest)
{
    struct cairn_error why = {0}, *error = newest->error;
    newest->error = &why;
    int rc = store_each_branch(newest->live.store, newest->live.row.session, add_branch,
                               newest, &why);
    newest->error = error;
    if (rc < 0 && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    if (rc)
        report(newest, "", why.text);
    for (size_t i = 0; i < newest->n; i++)
        if (newest->seqs[i] == newest->from)
            newest->seqs[i] |= OURS;
    if (newest->n)
        qsort(newest->seqs, newest->n, sizeof *newest->seqs, by_seq);
    return 0;
}

static void describe(struct newest *newest, const struct state_at *state)
{
    struct cairn_recovery *found = &newest->found;
    struct str name = clean_str(newest->live.row.name),
               message = state->sections.message;
    found->seq = state->at.ref.seq;
    found->time_ns = state->at.time_ns;
    checkpoint_id(NAMESPACE_DEBUG, found->seq, &state->at.ref.digest, found->id);
    snprintf(found->session, sizeof found->session, "%.*s",
             (int)utf8_fit(name, sizeof found->session - 1), name.ptr);
    snprintf(found->message, sizeof found->message, "%.*s",
             (int)utf8_fit(message, sizeof found->message - 1), message.ptr);
}

/* 1: this is it, 0: it is not whole. */
static int try_seq(struct newest *newest, uint64_t seq)
{
    struct state_at state;
    struct cairn_error why = {0};
    char number[CAIRN_ID_MAX];
    int rc = state_read(newest->live.store, newest->live.sha, seq, &state, &why);
    if (!rc)
        describe(newest, &state);
    state_release(&state);
    if (!rc)
        return 1;
    if (rc != CAIRN_EDAMAGED)
        return error_set(newest->error, rc, "%s", why.text);
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    report(newest, number, why.text);
    return 0;
}

static int search(struct newest *newest)
{
    struct str name = clean_str(newest->live.row.name);
    int rc = list_seqs(newest);
    for (size_t i = 0; i < newest->n && !rc; i++)
        rc = try_seq(newest, newest->seqs[i] & ~OURS);
    if (rc)
        return rc < 0 ? rc : 0;
    if (!newest->found.damaged)
        return error_set(
            newest->error, CAIRN_ENOTFOUND,
            "session %.*s has no checkpoint: `cairn checkpoint create MESSAGE` "
            "makes one",
            (int)name.len, name.ptr);
    return error_set(newest->error, CAIRN_EDAMAGED,
                     "no checkpoint of session %.*s is whole: run `cairn doctor`",
                     (int)name.len, name.ptr);
}

int cairn_session_newest(struct cairn_store *store, const char *session,
                         int (*damaged)(void *, const char *id, const char *text),
                         void *context, struct cairn_recovery *found,
                         struct cairn_error *error)
{
    struct newest newest = {.damaged = damaged, .context = context, .error = error};
    int rc = live_read(&newest.live, store, session, error) ?: search(&newest);
    rc = live_close(&newest.live, rc, error);
    free(newest.seqs);
    if (!rc)
        *found = newest.found;
    return rc;
}
