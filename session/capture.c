/* SPDX-License-Identifier: MIT */
/* The state as a checkpoint. */
#include "session/files_pending.h"
#include "session/outside.h"
#include "session/session_int.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "cairn/session.h"
#include "checkpoint/nodes/nodes.h"
#include "checkpoint/nodes/numbered.h"
#include "storage/object.h"
#include "storage/rows_lost.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== Checkpoints ==== */

/* The state of a session as a checkpoint: every kind of item is one section, stored as
 * what makes it differ from the section of the checkpoint before; many items of a kind
 * are a tree. With a tree in the checkpoint before, the log says what has changed since,
 * and only that is read. */

/* More items of one kind than these are a tree. */
enum { ITEMS_INLINE = 32 };

/* What a checkpoint would hold, next to what the last one holds. */
struct capturing {
    struct live *live;
    struct chain head;
    struct arena arena;
    struct sections last, now;
    struct sections_at last_at;         /* seq 0: there is none */
    struct buf content[ITEM_KINDS_END]; /* empty: the object is there */
    struct numbered_objects trees;      /* what is new of them */
    struct buf environment, messages, context;
    uint32_t n[ITEM_KINDS_END]; /* items in `content` */
    struct cairn_error *error;
};

static const struct section_ref *section_of(const struct sections *sections,
                                            uint8_t kind)
{
    for (uint32_t i = 0; i < sections->n; i++)
        if (sections->list[i].kind == kind)
            return &sections->list[i];
    return NULL;
}

/* The items of that kind, in either form. */
static const struct section_ref *items_of(const struct sections *sections, uint8_t kind)
{
    return section_of(sections, kind)
               ?: section_of(sections, (uint8_t)(SECTION_NODES + kind));
}

/* In the order of the kinds. */
static struct section_ref *make_room(struct sections *sections, uint8_t kind)
{
    uint32_t at = sections->n++;
    for (; at && sections->list[at - 1].kind > kind; at--)
        sections->list[at] = sections->list[at - 1];
    sections->list[at] = (struct section_ref){.kind = kind};
    return &sections->list[at];
}

/* ---- What there is ---- */

static int read_last(struct capturing *c)
{
    struct live *live = c->live;
    int rc = sections_open(live->store, live->sha, live->row.branch, &c->head,
                           &c->arena, NULL, c->error);
    if (rc || !c->head.parent)
        return rc;
    rc = sections_read(live->store, live->sha, c->head.parent, &c->arena, &c->last,
                       &c->last_at, c->error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc; /* it was deleted */
}

/* Behind the items, in front of the files. */
static int read_messages(struct capturing *c)
{
    if (!c->live->last_message)
        return 0;
    struct section_ref *ref = make_room(&c->now, SECTION_MESSAGES);
    int rc =
        messages_encode(c->live, &c->messages, &ref->n, c->error)
            ?: sha256_of(c->messages.data, c->messages.size, &ref->digest, c->error);
    ref->last = ref->n;
    return rc;
}

/* Behind the room for how many there are. */
static int add_item(void *context, const struct item_row *row)
{
    struct capturing *c = context;
    if (!item_kind_info(row->kind))
        return live_refuse_kind(c->error);
    section_add(&c->content[row->kind], row->n, row->body);
    c->n[row->kind]++;
    return 0;
}

/* A body is as it was encoded, so the sections are made of the rows as they are. */
static int read_items(struct capturing *c)
{
    int rc = live_each_item(c->live, add_item, c, c->error);
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++) {
        struct buf items = c->content[kind];
        c->content[kind] = BUF_INIT;
        buf_varint(&c->content[kind], c->n[kind]);
        buf_str(&c->content[kind], buf_view(&items));
        rc = buf_check(&items, c->error) ?: buf_check(&c->content[kind], c->error);
        buf_release(&items);
    }
    return rc;
}

/* The items of a section as changes of a tree that has none. */
static int plant(struct capturing *c, uint8_t kind, struct numbered *tree)
{
    const struct numbered none = {.n = 0};
    struct reader in = reader_of(c->content[kind].data, c->content[kind].size);
    uint64_t n = read_varint(&in);
    struct numbered_item *items = calloc((size_t)n + 1, sizeof *items);
    if (!items)
        return error_nomem(c->error);
    for (uint64_t i = 0; i < n; i++) {
        items[i] = (struct numbered_item){.n = (uint32_t)read_varint(&in), .has = true};
        items[i].body = read_lstr(&in);
    }
    int rc = numbered_change(c->live->store, &none, items, (size_t)n, NULL, NULL,
                             &c->trees, tree, c->error);
    free(items);
    return rc;
}

static bool has_digest(const struct section_ref *ref, const struct digest *digest)
{
    return ref && digest_equal(&ref->digest, digest);
}

/* From its content. Many are a tree, unless an older cairn has stored the very same. */
static int add_kind(struct capturing *c, uint8_t kind)
{
    struct buf *content = &c->content[kind];
    struct numbered tree;
    struct digest digest;
    int rc = sha256_of(content->data, content->size, &digest, c->error);
    bool many =
        c->n[kind] > ITEMS_INLINE && !has_digest(section_of(&c->last, kind), &digest);
    if (!rc && many) {
        rc = plant(c, kind, &tree);
        buf_release(content);
    }
    if (rc)
        return rc;
    struct section_ref *ref =
        make_room(&c->now, (uint8_t)(kind + (many ? SECTION_NODES : 0)));
    ref->digest = many ? tree.root : digest;
    ref->n = c->n[kind];
    ref->last = c->live->numbers[kind];
    return 0;
}

static int read_present(struct capturing *c)
{
    int rc = read_items(c);
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++)
        if (c->live->numbers[kind])
            rc = add_kind(c, kind);
    return rc;
}

/* ---- What has changed since the last one ---- */

/* Items that the log names since then, each once, by kind and number. */
struct since {
    struct capturing *c;
    struct item_ref *at;
    size_t n, room;
    uint64_t turn;               /* of the last checkpoint; 0: not seen yet */
    struct numbered_item *items; /* [n]: as they are now */
    struct arena arena;
    struct row_tally tally; /* of the last one, then with the changes */
    uint8_t kind;           /* that is looked at */
};

/* From the last turn back, and to the end of the turn with the checkpoint. 1: enough. */
static int see_log(void *context, const struct session_log_row *row)
{
    struct since *s = context;
    if (s->turn && row->turn < s->turn)
        return 1;
    if (row->verb == VERB_CHECKPOINT && row->number == s->c->last_at.ref.seq)
        s->turn = row->turn;
    if (row->verb != VERB_PUT && row->verb != VERB_REMOVED)
        return 0;
    if (s->n > s->tally.n || !item_kind_info(row->kind) || row->number > UINT32_MAX)
        return 1; /* then all are read */
    struct item_ref *at = array_room(s->at, s->n, &s->room, sizeof *at);
    if (!at)
        return error_nomem(s->c->error);
    s->at = at;
    at[s->n++] = (struct item_ref){row->kind, (uint32_t)row->number};
    return 0;
}

static int by_kind(const void *a, const void *b)
{
    const struct item_ref *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

static void sort_changes(struct since *s)
{
    size_t kept = 0;
    if (s->n)
        qsort(s->at, s->n, sizeof *s->at, by_kind);
    for (size_t i = 0; i < s->n; i++)
        if (!kept || by_kind(&s->at[kept - 1], &s->at[i]) != 0)
            s->at[kept++] = s->at[i];
    s->n = kept;
}

struct getting {
    struct since *since;
    struct numbered_item *item;
};

static int get_item(void *context, const struct item_row *row)
{
    struct getting *g = context;
    g->item->has = true;
    g->item->body = arena_str(&g->since->arena, row->body);
    store_item_tally(g->since->c->live->store, row, &g->since->tally);
    return 0;
}

static int get_items(struct since *s)
{
    struct live *live = s->c->live;
    int rc = 0;
    s->items = calloc(s->n + 1, sizeof *s->items);
    if (!s->items)
        return error_nomem(s->c->error);
    for (size_t i = 0; i < s->n && !rc; i++) {
        struct getting g = {s, &s->items[i]};
        s->items[i].n = s->at[i].n;
        rc = store_get_item(live->store, live->row.session, s->at[i].kind, s->at[i].n,
                            get_item, &g, s->c->error);
    }
    return !rc && s->arena.failed ? error_nomem(s->c->error) : rc;
}

static int take_out(void *context, uint32_t n, struct str body)
{
    struct since *s = context;
    struct live *live = s->c->live;
    const struct item_row row = {
        .session = live->row.session, .kind = s->kind, .n = n, .body = body};
    struct row_tally one = {0};
    store_item_tally(live->store, &row, &one);
    s->tally.n -= one.n;
    s->tally.sum ^= one.sum;
    return 0;
}

/* Those of the last checkpoint that have changed; all others of it are passed over. */
static int take_out_inline(struct since *s, struct str bytes, size_t first, size_t n)
{
    struct reader in = reader_of(bytes.ptr, bytes.len);
    uint64_t left = bytes.len ? read_varint(&in) : 0;
    int rc = 0;
    for (; left && !in.failed && !rc; left--) {
        uint64_t number = read_varint(&in);
        struct str body = read_lstr(&in);
        for (size_t i = first; i < first + n && !in.failed && !rc; i++)
            if (s->at[i].n == number)
                rc = take_out(s, (uint32_t)number, body);
    }
    return rc ? rc : in.failed ? CAIRN_EDAMAGED : 0;
}

/* A kind that is a tree, and stays one. *fits false: it does not. */
static int carry_tree(struct since *s, const struct section_ref *last, size_t first,
                      size_t n, bool *fits)
{
    struct capturing *c = s->c;
    const struct numbered before = {last->digest, last->n};
    struct numbered after;
    int rc = numbered_change(c->live->store, &before, s->items + first, n, take_out, s,
                             &c->trees, &after, c->error);
    *fits = !rc && after.n > ITEMS_INLINE;
    if (!*fits)
        return rc;
    struct section_ref *ref = make_room(&c->now, last->kind);
    ref->digest = after.root;
    ref->n = after.n;
    ref->last = c->live->numbers[s->kind];
    return 0;
}

/* A kind of few items is read: from the last checkpoint, and from the rows if any has
 * changed. */
static int carry_inline(struct since *s, const struct section_ref *last, size_t first,
                        size_t n)
{
    struct capturing *c = s->c;
    struct live *live = c->live;
    struct buf before = BUF_INIT, items = BUF_INIT;
    int rc = last ? store_get_object(live->store, &last->digest, &before, c->error) : 0;
    rc = rc ?: take_out_inline(s, buf_view(&before), first, n);
    if (!rc) {
        c->n[s->kind] = 0;
        rc = store_each_item_of_kind(live->store, live->row.session, s->kind, add_item,
                                     c, c->error);
        items = c->content[s->kind];
        c->content[s->kind] = BUF_INIT;
        buf_varint(&c->content[s->kind], c->n[s->kind]);
        buf_str(&c->content[s->kind], buf_view(&items));
        rc = rc ?: buf_check(&items, c->error);
    }
    if (!rc)
        rc = buf_check(&c->content[s->kind], c->error) ?: add_kind(c, s->kind);
    buf_release(&items);
    buf_release(&before);
    return rc;
}

static int carry_kinds(struct since *s, bool *fits)
{
    size_t first = 0;
    int rc = 0;
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc && *fits; kind++) {
        const struct section_ref *last = items_of(&s->c->last, kind);
        size_t n = 0;
        while (first + n < s->n && s->at[first + n].kind == kind)
            n++;
        s->kind = kind;
        if (last && section_is_tree(last) && s->c->live->numbers[kind] >= last->last)
            rc = carry_tree(s, last, first, n, fits);
        else if (last && last->n > ITEMS_INLINE)
            *fits = false; /* of an older cairn */
        else if (s->c->live->numbers[kind])
            rc = carry_inline(s, last, first, n);
        first += n;
    }
    return rc;
}

static bool has_tree(const struct sections *sections)
{
    bool found = false;
    for (uint32_t i = 0; i < sections->n; i++)
        found = found || section_is_tree(&sections->list[i]);
    return found;
}

static void forget_items(struct capturing *c)
{
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++) {
        buf_release(&c->content[kind]);
        c->n[kind] = 0;
    }
    numbered_objects_release(&c->trees);
    c->now.n = 0;
}

static int carry_since(struct since *s, bool *fits)
{
    struct capturing *c = s->c;
    struct live *live = c->live;
    struct row_tally now;
    int rc = store_each_session_log(live->store, live->row.session, INT64_MAX, true,
                                    see_log, s, c->error);
    if (rc < 0 || !s->turn || s->n > s->tally.n)
        return rc < 0 ? rc : 0;
    sort_changes(s);
    *fits = true;
    rc = get_items(s) ?: carry_kinds(s, fits);
    if (!rc && *fits)
        rc = store_tally(live->store, TALLY_ITEMS, live->row.session, &now, c->error);
    *fits = !rc && *fits && tally_same(&now, &s->tally);
    return rc;
}

/* A repair could not save some content, which may be below a tree: reading all items
 * brings it back. */
static int any_lost(struct cairn_store *store, bool *any, struct cairn_error *error)
{
    struct losses losses;
    int rc = losses_load(&losses, store, error);
    *any = losses_any(&losses);
    losses_release(&losses);
    return rc;
}

/* The sections of the last checkpoint with the changes that the log tells, if that makes
 * what the tally of the items says, and all that is read is sound. Otherwise *done is
 * false, and all items are to be read. */
static int carry_items(struct capturing *c, bool *done)
{
    struct live *live = c->live;
    struct since since = {.c = c, .arena = ARENA_INIT};
    struct cairn_error why = {0}, *error = c->error;
    bool noted = false, lost = false;
    *done = false;
    if (!c->last_at.ref.seq || !has_tree(&c->last))
        return 0;
    c->error = &why;
    int rc = any_lost(live->store, &lost, &why)
                 ?: store_captured(live->store, live->row.session, c->last_at.ref.seq,
                                   &since.tally, &noted, &why);
    if (!rc && noted && !lost)
        rc = carry_since(&since, done);
    c->error = error;
    free(since.at);
    free(since.items);
    arena_release(&since.arena);
    if (!*done)
        forget_items(c);
    if (!rc || rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0;
    return error_set(error, rc, "%s", why.text);
}

/* ---- Items ---- */

/* Where the items are known to be those of the last checkpoint, they need not be read to
 * see that nothing has changed: most questions of agents' hooks end here. */
static int look_at_items(struct capturing *c, const struct capture *capture,
                         bool *known)
{
    struct live *live = c->live;
    bool carried = false;
    *known = false;
    int rc = !c->last_at.ref.seq
                 ? 0
                 : store_is_captured(live->store, live->row.session, c->last_at.ref.seq,
                                     known, c->error);
    bool asked = capture->always || capture->trigger == TRIGGER_MANUAL;
    if (!rc && *known && asked) { /* what is damaged of it is mended */
        *known = false;
        return read_present(c);
    }
    rc = rc ?: carry_items(c, &carried);
    if (carried)
        *known = false;
    if (rc || carried)
        return rc;
    if (!*known)
        return read_present(c);
    for (uint32_t i = 0; i < c->last.n; i++)
        if (section_holds(&c->last.list[i]) < ITEM_KINDS_END)
            c->now.list[c->now.n++] = c->last.list[i];
    return 0;
}

/* There will be a checkpoint: all items are read. */
static int read_known_items(struct capturing *c)
{
    struct sections known = c->now;
    forget_items(c);
    int rc = read_present(c);
    for (uint32_t i = 0; i < known.n && !rc; i++)
        if (section_holds(&known.list[i]) >= ITEM_KINDS_END)
            *make_room(&c->now, known.list[i].kind) = known.list[i];
    return rc;
}

/* No section and an empty one are the same state; environment and context are not
 * sections. */
static bool same_content(const struct sections *sections, const struct sections *others,
                         bool messages)
{
    for (uint32_t i = 0; i < sections->n; i++) {
        const struct section_ref *ref = &sections->list[i];
        const struct section_ref *other = section_of(others, ref->kind);
        if (ref->kind == SECTION_ENVIRONMENT || ref->kind == SECTION_CONTEXT ||
            (ref->kind == SECTION_MESSAGES && !messages))
            continue;
        if (other ? !digest_equal(&ref->digest, &other->digest) : ref->n > 0)
            return false;
    }
    return true;
}

static bool is_unchanged(const struct capturing *c, enum trigger trigger)
{
    bool messages = trigger_counts_messages(trigger);
    return c->last_at.ref.seq && same_content(&c->now, &c->last, messages) &&
           same_content(&c->last, &c->now, messages);
}

/* What else is new makes no checkpoint of edits: where a restore, another watcher or a
 * command has put these files there, or stored them, there is none. */
static bool same_files(const struct capturing *c)
{
    const struct section_ref *now = section_of(&c->now, SECTION_FILES);
    const struct section_ref *last = section_of(&c->last, SECTION_FILES);
    return !now || (last && digest_equal(&now->digest, &last->digest));
}

static int read_environment(struct capturing *c)
{
    const struct session_settings *settings = &c->live->settings;
    struct hidden_values hidden;
    if (!settings->environment.len)
        return 0;
    struct section_ref *ref = make_room(&c->now, SECTION_ENVIRONMENT);
    return live_hidden(c->live, &hidden, c->error)
           ?: environment_encode(settings->environment, &hidden, &c->environment,
                                 &ref->n, c->error)
           ?: sha256_of(c->environment.data, c->environment.size, &ref->digest,
                        c->error);
}

/* Where the work is done: the directory of the session's files, or of the project. */
static int find_work(struct live *live, struct buf *out, struct cairn_error *error)
{
    struct str files = live->settings.later[SETTING_FILES];
    const char *project = cairn_store_project(live->store);
    struct cairn_error moved = {0};
    int rc = CAIRN_ENOTFOUND;
    if (files.len)
        rc = files_root_path(live->store, files, out, &moved);
    if (rc && project) {
        buf_clear(out);
        buf_text(out, project);
        return buf_check(out, error);
    }
    return rc ? files_root_path(live->store, STR("."), out, error) : 0;
}

/* Where git is, without secrets. Where one of those is too short to be found, nothing
 * about git is kept. */
static int read_git(struct capturing *c, struct git_head *head, struct context *out)
{
    struct redactor *redactor = NULL;
    struct cairn_error why = {0};
    struct buf branch = BUF_INIT;
    struct buf work = BUF_INIT;
    int rc =
        find_work(c->live, &work, c->error) ?: git_head_read(work.data, head, c->error);
    buf_release(&work);
    if (rc || (!head->branch[0] && !head->commit[0]))
        return rc;
    rc = live_redactor(c->live, &redactor, &why);
    if (rc == CAIRN_EUSAGE)
        return 0;
    if (rc)
        return error_set(c->error, rc, "%s", why.text);
    add_clean(redactor, str_of(head->branch), &branch);
    redactor_free(redactor);
    rc = buf_check(&branch, c->error);
    if (!rc && branch.size <= CONTEXT_BRANCH)
        out->branch = arena_str(&c->arena, buf_view(&branch));
    buf_release(&branch);
    out->commit = str_of(head->commit);
    return !rc && c->arena.failed ? error_nomem(c->error) : rc;
}

/* What was given and where git is, if there is anything. */
static int read_context(struct capturing *c, const struct capture *capture)
{
    struct context context = {0};
    struct git_head head;
    if (capture->context)
        context = *capture->context;
    int rc = capture->copied ? 0 : read_git(c, &head, &context);
    if (rc || !context_has_any(&context))
        return rc;
    rc = context_encode(&context, &c->context, c->error);
    if (rc)
        return rc;
    struct section_ref *ref = make_room(&c->now, SECTION_CONTEXT);
    ref->n = context_given(&context);
    return sha256_of(c->context.data, c->context.size, &ref->digest, c->error);
}

/* What was taken before the transaction. */
static int read_files(struct capturing *c)
{
    struct live *live = c->live;
    if (!live->settings.later[SETTING_FILES].len)
        return 0;
    if (!live->files || !live->files->taken)
        return FILES_WANTED;
    if (!live->files->tracked) /* it was off a moment ago */
        return 0;
    const struct snapshot_counts *counts = &live->files->snapshot.counts;
    uint64_t n = counts->files + counts->directories + counts->links;
    struct section_ref *ref = make_room(&c->now, SECTION_FILES);
    ref->n = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    ref->digest = live->files->snapshot.digest;
    return snapshot_put(&live->files->snapshot, c->error);
}

/* ---- Storing it ---- */

static struct str content_of(const struct capturing *c, uint8_t kind)
{
    if (kind < ITEM_KINDS_END)
        return buf_view(&c->content[kind]);
    return buf_view(kind == SECTION_MESSAGES  ? &c->messages
                    : kind == SECTION_CONTEXT ? &c->context
                                              : &c->environment);
}

static int put_sections(struct capturing *c)
{
    int rc = 0;
    for (uint32_t i = 0; i < c->now.n && !rc; i++) {
        struct section_ref *ref = &c->now.list[i];
        const struct section_ref *last = section_of(&c->last, ref->kind);
        if (ref->kind >= SECTION_NODES)
            continue; /* files are in the pool, trees come at the end */
        struct str content = content_of(c, ref->kind);
        struct digest stored;
        bool other = last && !digest_equal(&last->digest, &ref->digest);
        rc = other ? store_put_object_after(c->live->store, content, &last->digest,
                                            &stored, c->error)
                   : store_put_object(c->live->store, content, &stored, c->error);
        assert(rc || digest_equal(&stored, &ref->digest));
    }
    return rc ?: numbered_put(c->live->store, &c->trees, c->error);
}

static void add_tag(struct sections *sections, struct str tag)
{
    for (uint32_t i = 0; i < sections->n_tags; i++)
        if (str_equal(sections->tags[i], tag))
            return;
    sections->tags[sections->n_tags++] = tag;
}

static int describe(struct capturing *c, const struct capture *capture)
{
    const char *own[TRIGGER_TAGS];
    unsigned n_own = trigger_tags(capture->trigger, own);
    const char *message = trigger_message(capture->trigger);
    c->now.tags = arena_take(&c->arena, n_own + capture->n_tags, sizeof *c->now.tags);
    if ((n_own || capture->n_tags) && !c->now.tags)
        return error_nomem(c->error);
    for (unsigned i = 0; i < n_own; i++)
        add_tag(&c->now, str_of(own[i]));
    for (uint32_t i = 0; i < capture->n_tags; i++)
        add_tag(&c->now, capture->tags[i]);
    c->now.trigger = (uint32_t)capture->trigger;
    c->now.message = capture->message.len ? capture->message : str_of(message);
    c->now.boot_ns = c->live->now.boot_ns;
    c->now.boot = c->live->now.boot_id;
    c->now.linked = capture->link;
    if (capture->link)
        c->now.link = *capture->link;
    return 0;
}

static int store_capture(struct capturing *c, const struct capture *capture,
                         struct checkpoint_ref *ref)
{
    struct live *live = c->live;
    int rc = read_environment(c)
             ?: read_context(c, capture)
             ?: put_sections(c)
             ?: describe(c, capture)
             ?: sections_append(&c->head, &c->now, live->now.utc_ns, ref, c->error);
    if (rc)
        return rc;
    rc = store_note_captured(live->store, live->row.session, ref->seq, c->error);
    if (rc)
        return rc;
    struct log_entry entry = {.verb = VERB_CHECKPOINT,
                              .number = ref->seq,
                              .after = str_of(trigger_name(capture->trigger))};
    live->counters.checkpoints++;
    if (capture->trigger == TRIGGER_SCHEDULED)
        live->settings.scheduled = live->now;
    if (capture->trigger == TRIGGER_CONTEXT_THRESHOLD && capture->context)
        settings_cross(&live->settings, capture->context->threshold);
    return live_log(live, &entry, c->error) ?: live_put_row(live, c->error);
}

/* ---- Whether ---- */

/* The start of the session counts as the last checkpoint where there is none. */
static struct moment last_moment(const struct capturing *c)
{
    const struct session_row *row = &c->live->row;
    if (c->last_at.ref.seq)
        return (struct moment){c->last_at.time_ns, c->last.boot_ns, c->last.boot};
    return (struct moment){row->started_ns, row->started_boot_ns, row->boot};
}

/* The checkpoint that has the files as they were taken. */
static void note_files(const struct capturing *c, const struct checkpoint_ref *ref)
{
    if (c->live->files && section_of(&c->now, SECTION_FILES))
        c->live->files->noted = *ref;
}

/* The state is assembled only if no cheaper test has said no. */
static int decide(struct capturing *c, const struct capture *capture,
                  struct captured *captured)
{
    struct trigger_settings settings = c->live->settings.triggers;
    int rc = read_last(c);
    if (rc)
        return rc;
    struct trigger_case raised = {
        .trigger = capture->trigger,
        .last = last_moment(c),
        .now = c->live->now,
        .crossed =
            capture->copied || (capture->context && capture->context->threshold)};
    if (capture->always)
        settings.off &= ~(1u << trigger_kind(capture->trigger));
    captured->ref = c->last_at.ref;
    captured->answer = trigger_decide(&settings, &raised);
    if (captured->answer != TRIGGER_MAKES)
        return 0;
    bool known;
    rc = look_at_items(c, capture, &known);
    rc = rc ?: read_messages(c) ?: read_files(c);
    raised.unchanged =
        capture->trigger == TRIGGER_FILES_SETTLED
            ? same_files(c)
            : is_unchanged(c, capture->trigger) && !capture->link && !capture->context;
    captured->answer = trigger_decide(&settings, &raised);
    if (!rc && captured->answer == TRIGGER_UNCHANGED)
        note_files(c, &captured->ref);
    return rc || !known || captured->answer != TRIGGER_MAKES ? rc : read_known_items(c);
}

static int capture_with(struct capturing *c, const struct capture *capture,
                        struct captured *captured)
{
    int rc = decide(c, capture, captured);
    if (!rc && captured->answer == TRIGGER_UNCHANGED && capture->always)
        return put_sections(c); /* of the last one: mended where they are damaged */
    if (rc || captured->answer != TRIGGER_MAKES)
        return rc;
    rc = store_capture(c, capture, &captured->ref);
    if (!rc)
        note_files(c, &captured->ref);
    return rc;
}

static void release(struct capturing *c)
{
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        buf_release(&c->content[kind]);
    numbered_objects_release(&c->trees);
    buf_release(&c->environment);
    buf_release(&c->messages);
    buf_release(&c->context);
    arena_release(&c->arena);
}

int capture_state(struct live *live, const struct capture *capture,
                  struct captured *captured, struct cairn_error *error)
{
    struct capturing c = {.live = live, .arena = ARENA_INIT, .error = error};
    assert(live->writing);
    int rc = capture_with(&c, capture, captured);
    release(&c);
    return rc;
}

int capture_look(struct live *live, const struct capture *capture,
                 struct captured *captured, struct cairn_error *error)
{
    struct capturing c = {.live = live, .arena = ARENA_INIT, .error = error};
    int rc = decide(&c, capture, captured);
    release(&c);
    return rc;
}

int capture_before(struct live *live, enum trigger trigger, const char *what,
                   struct captured *captured, struct cairn_error *error)
{
    char message[CAIRN_SESSION_NAME_MAX + 64];
    snprintf(message, sizeof message, "%s%s%.*s", trigger_message(trigger),
             what ? ": " : "", what ? (int)utf8_fit(str_of(what), 150) : 0,
             what ? what : "");
    struct capture capture = {
        .trigger = trigger, .message = str_of(message), .always = true};
    return capture_state(live, &capture, captured, error);
}

int capture_due(struct live *live, int64_t *scheduled_ns, int64_t *significant_ns,
                struct cairn_error *error)
{
    struct capturing c = {.live = live, .arena = ARENA_INIT, .error = error};
    const struct trigger_settings *settings = &live->settings.triggers;
    int rc = read_last(&c);
    struct moment last = last_moment(&c);
    int64_t since = rc ? 0 : moment_since(&last, &live->now);
    bool off = settings->off >> TRIGGER_SIGNIFICANT_TIME & 1;
    schedule_due(settings, &live->settings.scheduled, &live->now, scheduled_ns);
    *significant_ns = off                             ? INT64_MAX
                      : since < settings->interval_ns ? settings->interval_ns - since
                                                      : 0;
    arena_release(&c.arena);
    return rc;
}

/* ---- By itself ---- */

static uint64_t word_of(const struct item *item, uint32_t field)
{
    return item->values[field].count;
}

/* 0: the change raises none. */
static enum trigger trigger_of_change(const struct board_change *change)
{
    if (!change->had || !change->has)
        return 0;
    if (change->id.kind == ITEM_HYPOTHESIS) {
        uint64_t is = word_of(&change->after, HYPOTHESIS_STATUS);
        return is != word_of(&change->before, HYPOTHESIS_STATUS)
                   ? trigger_of_hypothesis((enum hypothesis_status)is)
                   : 0;
    }
    if (board_change_is_verification(change))
        return TRIGGER_VERIFICATION;
    bool filled = change->id.kind == ITEM_GAP &&
                  word_of(&change->before, GAP_STATUS) == GAP_OPEN &&
                  word_of(&change->after, GAP_STATUS) != GAP_OPEN;
    return filled ? TRIGGER_GAP_FILLED : 0;
}

/* One checkpoint has the whole state, so it is made for the significant one of several.
 * `of` is the change that raises it; NULL: a contradiction. */
static enum trigger choose(const struct board_changes *changes, bool contradiction,
                           const struct board_change **of)
{
    enum trigger chosen = contradiction ? TRIGGER_CONTRADICTION : 0;
    *of = NULL;
    for (uint32_t i = 0; i < changes->n; i++) {
        enum trigger trigger = trigger_of_change(&changes->at[i]);
        if (!trigger || (chosen && (trigger_is_significant(chosen) ||
                                    !trigger_is_significant(trigger))))
            continue;
        chosen = trigger;
        *of = &changes->at[i];
    }
    return chosen;
}

static const char *status_word(const struct item *item)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    for (uint32_t i = 1; i <= info->n_fields; i++)
        if (strcmp(info->fields[i - 1].name, "status") == 0)
            return info->fields[i - 1].word((unsigned)item->values[i].count);
    return "changed";
}

/* What it is about: "Auto: h1 confirmed: The cache is stale". */
static int tell_cause(struct live *live, const struct board_change *change,
                      const struct contradiction *opposed, struct buf *message,
                      struct cairn_error *error)
{
    char what[ITEM_ID_MAX + 16], id[ITEM_ID_MAX];
    if (change)
        return cause_line(message, "Auto: ", &change->after,
                          status_word(&change->after), error);
    item_id((struct item_ref){ITEM_BELIEF, opposed->a}, id);
    snprintf(what, sizeof what, "contradicts %s", id);
    const struct item *belief =
        board_find(&live->board, (struct item_ref){ITEM_BELIEF, opposed->b});
    return belief ? cause_line(message, "Auto: ", belief, what, error) : 0;
}

static int raise_trigger(struct live *live, enum trigger trigger, struct str message,
                         struct checkpoint_ref *ref, struct cairn_error *error)
{
    struct capture capture = {.trigger = trigger, .message = message};
    struct captured captured = {0};
    int rc = capture_state(live, &capture, &captured, error);
    if (!rc && captured.answer == TRIGGER_MAKES)
        *ref = captured.ref;
    return rc;
}

int capture_automatic(struct live *live, const struct board_changes *changes,
                      const struct contradiction *opposed, struct checkpoint_ref *ref,
                      struct cairn_error *error)
{
    const struct board_change *of;
    enum trigger trigger = choose(changes, opposed, &of);
    struct buf message = BUF_INIT;
    int64_t wait_ns;
    *ref = (struct checkpoint_ref){0};
    int rc = trigger ? tell_cause(live, of, opposed, &message, error) : 0;
    if (!rc && trigger)
        rc = raise_trigger(live, trigger, buf_view(&message), ref, error);
    buf_release(&message);
    if (!rc && schedule_due(&live->settings.triggers, &live->settings.scheduled,
                            &live->now, &wait_ns))
        rc = raise_trigger(live, TRIGGER_SCHEDULED, STR(""), ref, error);
    if (!rc && !ref->seq)
        rc = raise_trigger(live, TRIGGER_SIGNIFICANT_TIME, STR(""), ref, error);
    return !rc && ref->seq ? keep_by_settings(live, error) : rc;
}

int capture_end(struct live *live, int rc, const struct captured *made,
                struct cairn_captured *out, struct cairn_error *error)
{
    if (!rc && made->answer == TRIGGER_MAKES)
        rc = keep_by_settings(live, error);
    struct cairn_captured told = {.made = made->answer == TRIGGER_MAKES,
                                  .seq = made->ref.seq,
                                  .pruned = live->pruned};
    if (live->files)
        told.left_out = live->files->snapshot.counts.left_out;
    struct files_taken *files = live->files;
    struct cairn_store *store = live->store;
    rc = live_close(live, rc, error);
    rc = files_end(files, rc, store, error);
    if (rc)
        return rc;
    if (!told.made)
        told.why = trigger_answer_name(made->answer);
    if (made->ref.seq)
        checkpoint_id(NAMESPACE_DEBUG, made->ref.seq, &made->ref.digest, told.id);
    if (out)
        *out = told;
    return 0;
}

/* ==== Those that somebody asks for ==== */

/* Checkpoints that somebody asks for, and those of tasks that failed. */

/* What somebody gives for one. */
struct given {
    struct live *live;
    struct outside outside;
    struct str message;
    struct str *tags; /* with room for one more */
    uint32_t n_tags;
    bool has_context;
    struct context context;
    int rc; /* of the first text that cannot be stored */
    struct cairn_error *error;
};

static int begin_capture(struct live *live, struct cairn_store *store,
                         const char *session, struct files_taken *files,
                         struct cairn_error *error)
{
    files->in_transaction = true;
    int rc = files_take(files, store, session, error)
                 ?: live_write(live, store, session, error);
    live->files = files;
    return rc ?: live_check_open(live, error);
}

const char *cairn_trigger_name(uint32_t trigger)
{
    return trigger_name((enum trigger)trigger);
}

/* Those that somebody may raise by hand. */
static int hand_trigger(const char *name, enum trigger *trigger,
                        struct cairn_error *error)
{
    *trigger = TRIGGER_MANUAL;
    int rc = name ? trigger_parse(str_of(name), trigger, error) : 0;
    if (rc)
        return rc;
    switch (*trigger) {
    case TRIGGER_MANUAL:
    case TRIGGER_SCHEDULED:
    case TRIGGER_CODE_MODIFIED:
    case TRIGGER_SIGNIFICANT_TIME:
    case TRIGGER_COMPACTION_WARNING:
    case TRIGGER_TOOL_CALL:
    case TRIGGER_FILES_SETTLED:
    case TRIGGER_CONTEXT_THRESHOLD:
        return 0;
    default:
        return error_set(error, CAIRN_EUSAGE,
                         "the trigger %s belongs to what it is named after: it is not "
                         "raised by hand",
                         name);
    }
}

/* ---- Texts, without secrets ---- */

enum { TAGS_MOST = 20, TAG_CHARACTERS = 50 }; /* with a context */

enum { MESSAGE_CHARACTERS = 80 }; /* of a summary that is the message */

/* What is not UTF-8 stays as it is, and is refused later. */
static void take(struct given *g, enum outside_kind kind, const char *what,
                 struct str *text)
{
    struct clean clean;
    struct outside_text given = {kind, what, *text, NULL};
    if (g->rc || !text->len || !utf8_is_text(*text))
        return;
    g->rc = outside_take(&g->outside, &given, &g->live->arena, &clean, g->error);
    if (!g->rc)
        *text = clean_str(clean);
}

static struct str message_of_summary(struct given *g, struct str summary)
{
    struct buf line = BUF_INIT;
    while (summary.len && summary.ptr[0] == '\n')
        summary = (struct str){summary.ptr + 1, summary.len - 1};
    const char *stop = summary.len ? memchr(summary.ptr, '\n', summary.len) : NULL;
    struct str first = {summary.ptr, stop ? (size_t)(stop - summary.ptr) : summary.len};
    size_t n = 0;
    for (unsigned i = 0; i < MESSAGE_CHARACTERS && n < first.len; i++) {
        uint32_t code;
        size_t size = utf8_next(first.ptr + n, first.ptr + first.len, &code);
        n += size ? size : 1;
    }
    buf_str(&line, (struct str){first.ptr, n});
    if (n < summary.len)
        buf_text(&line, "...");
    struct str kept = arena_str(&g->live->arena, buf_view(&line));
    if (line.failed || g->live->arena.failed)
        g->rc = error_nomem(g->error);
    buf_release(&line);
    return kept;
}

/* A program reads the state, and finds values by their keys and checkpoints by their
 * tags. */
static void take_all(struct given *g)
{
    struct context *context = &g->context;
    take(g, OUTSIDE_PROSE, "the summary", &context->summary);
    take(g, OUTSIDE_PROSE, "the description", &context->description);
    take(g, OUTSIDE_DATA, "the state", &context->state);
    for (uint32_t i = 0; i < context->n_pairs; i++) {
        take(g, OUTSIDE_NAME, "a key of the context", &context->pairs[i].key);
        take(g, OUTSIDE_PROSE, "a value of the context", &context->pairs[i].value);
    }
    take(g, OUTSIDE_PROSE, "the message", &g->message);
    for (uint32_t i = 0; i < g->n_tags; i++)
        take(g, OUTSIDE_NAME, "a tag", &g->tags[i]);
    if (!g->rc && !g->message.len && context->summary.len)
        g->message = message_of_summary(g, context->summary);
}

/* A value that the settings list and that is too short to be found is refused with a
 * context, as with messages. A message and tags alone were always taken: then the
 * value is ignored. */
static int clean_given(struct given *g)
{
    struct redactor *redactor = NULL;
    if (!g->message.len && !g->n_tags && !g->has_context)
        return 0;
    g->rc = g->has_context ? live_redactor(g->live, &redactor, g->error)
                           : live_redactor_lenient(g->live, &redactor, g->error);
    g->outside = (struct outside){redactor, true, g->live->store};
    if (!g->rc)
        take_all(g);
    redactor_free(redactor);
    if (g->rc)
        return g->rc;
    return g->has_context ? context_check(&g->context, g->error) : 0;
}

/* ---- What is given ---- */

static int take_text(const char *name, const char *text, struct str *out,
                     struct cairn_error *error)
{
    *out = str_of(text ? text : "");
    return !text || out->len
               ? 0
               : error_set(error, CAIRN_EUSAGE, "the %s is empty: leave it out", name);
}

static int take_pairs(struct given *g, const struct cairn_context *given)
{
    struct context *context = &g->context;
    if (given->n_pairs > CONTEXT_PAIRS)
        return error_set(g->error, CAIRN_EUSAGE,
                         "the context has %zu pairs: it may have at most %d",
                         given->n_pairs, CONTEXT_PAIRS);
    if (!given->n_pairs)
        return 0;
    context->pairs =
        arena_take(&g->live->arena, given->n_pairs, sizeof *context->pairs);
    if (!context->pairs)
        return error_nomem(g->error);
    for (size_t i = 0; i < given->n_pairs; i++)
        context->pairs[i] = (struct context_pair){str_of(given->pairs[i].key),
                                                  str_of(given->pairs[i].value)};
    context->n_pairs = (uint32_t)given->n_pairs;
    return 0;
}

static int take_numbers(struct given *g, const struct cairn_context *given)
{
    struct context *context = &g->context;
    context->has_tokens = given->has_tokens;
    context->tokens = given->has_tokens ? given->tokens : 0;
    context->has_usage = given->has_usage;
    if (!given->has_usage)
        return 0;
    if (!(given->usage >= 0 && given->usage <= 1))
        return error_set(g->error, CAIRN_EUSAGE,
                         "the usage of a context is from 0 to 1 (100%%)");
    /* Cut, so that what is below a threshold does not cross it. */
    context->usage = (uint32_t)(given->usage * CONTEXT_USAGE_ALL + 0.001);
    return 0;
}

static int take_context(struct given *g, const struct cairn_context *given)
{
    struct context *context = &g->context;
    int rc = take_text("summary", given->summary, &context->summary, g->error)
             ?: take_text("description", given->description, &context->description,
                          g->error)
             ?: take_text("state", given->state, &context->state, g->error)
             ?: take_pairs(g, given)
             ?: take_numbers(g, given)
             ?: context_check(context, g->error);
    g->has_context = !rc && context_has_any(context);
    return rc;
}

/* With a context they are short and few, as are all other parts of it. */
static int check_tags(const struct given *g)
{
    if (g->has_context && g->n_tags > TAGS_MOST)
        return error_set(g->error, CAIRN_EUSAGE,
                         "a checkpoint with a context has at most %d tags", TAGS_MOST);
    for (uint32_t i = 0; i < g->n_tags && g->has_context; i++)
        if (context_characters(g->tags[i]) > TAG_CHARACTERS)
            return error_set(g->error, CAIRN_EUSAGE,
                             "a tag of a checkpoint with a context has at most %d "
                             "characters: '%.*s'",
                             TAG_CHARACTERS, (int)utf8_fit(g->tags[i], 80),
                             g->tags[i].ptr);
    return 0;
}

static int take_tags(struct given *g, const struct cairn_capture *given)
{
    if (given->n_tags > CHECKPOINT_TAGS_MOST)
        return error_set(g->error, CAIRN_EUSAGE, "a checkpoint has at most %d tags",
                         CHECKPOINT_TAGS_MOST);
    g->tags = arena_take(&g->live->arena, given->n_tags + 1, sizeof *g->tags);
    if (!g->tags)
        return error_nomem(g->error);
    int rc = 0;
    for (size_t i = 0; i < given->n_tags && !rc; i++) {
        g->tags[i] = str_of(given->tags[i]);
        rc = session_check_new_name("a tag", g->tags[i], g->error);
    }
    g->n_tags = (uint32_t)given->n_tags;
    return rc ?: check_tags(g);
}

/* The threshold that it is made for, with the tag and the message of that. */
static int cross_threshold(struct given *g)
{
    struct context *context = &g->context;
    struct buf tag = BUF_INIT, message = BUF_INIT;
    if (!context->has_usage)
        return error_set(
            g->error, CAIRN_EUSAGE,
            "the trigger context-threshold needs the usage of the context: "
            "--threshold 0.75");
    uint8_t reached = context_threshold(context->usage);
    if (reached <= settings_crossed(&g->live->settings))
        return 0;
    context->threshold = reached;
    buf_format(&tag, "auto-context-threshold-%u", reached);
    buf_format(&message, "%s %u%%", trigger_message(TRIGGER_CONTEXT_THRESHOLD),
               reached);
    g->tags[g->n_tags++] = arena_str(&g->live->arena, buf_view(&tag));
    if (!g->message.len)
        g->message = arena_str(&g->live->arena, buf_view(&message));
    bool failed = tag.failed || message.failed || g->live->arena.failed;
    buf_release(&tag);
    buf_release(&message);
    return failed ? error_nomem(g->error) : 0;
}

static int take_given(struct given *g, const struct cairn_capture *given,
                      enum trigger trigger)
{
    int rc = given->context ? take_context(g, given->context) : 0;
    if (!rc && trigger == TRIGGER_MANUAL && !g->message.len && !g->context.summary.len)
        rc = error_set(g->error, CAIRN_EUSAGE, "a checkpoint needs a message");
    if (!rc)
        rc = take_tags(g, given) ?: clean_given(g);
    return !rc && trigger == TRIGGER_CONTEXT_THRESHOLD ? cross_threshold(g) : rc;
}

static int capture_by_hand(struct live *live, const struct cairn_capture *given,
                           struct captured *captured, struct cairn_error *error)
{
    struct given g = {.live = live, .error = error};
    enum trigger trigger;
    g.message = str_of(given->message ? given->message : "");
    int rc =
        hand_trigger(given->trigger, &trigger, error) ?: take_given(&g, given, trigger);
    struct capture capture = {.trigger = trigger,
                              .message = g.message,
                              .tags = g.tags,
                              .n_tags = g.n_tags,
                              .context = g.has_context ? &g.context : NULL};
    return rc ?: capture_state(live, &capture, captured, error);
}

int cairn_session_checkpoint(struct cairn_store *store, const char *session,
                             const struct cairn_capture *capture,
                             struct cairn_captured *captured, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_capture, capture, error);
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    int rc = begin_capture(&live, store, session, &files, error)
                 ?: capture_by_hand(&live, capture, &made, error);
    return capture_end(&live, rc, &made, captured, error);
}

/* So that they are not stored with the environment. */
static int take_secrets(struct live *live, const struct cairn_task_failure *failure,
                        struct cairn_error *error)
{
    struct secret *given = arena_take(&live->arena, failure->n_secrets, sizeof *given);
    if (!given && failure->n_secrets)
        return error_nomem(error);
    for (size_t i = 0; i < failure->n_secrets; i++)
        given[i] = (struct secret){str_of(failure->secrets[i].name),
                                   str_of(failure->secrets[i].value)};
    live->given = given;
    live->n_given = failure->n_secrets;
    return 0;
}

static int capture_failure(struct live *live, const struct cairn_task_failure *failure,
                           struct captured *captured, struct cairn_error *error)
{
    size_t skip = failure->tail_bytes > CHECKPOINT_TAIL_BYTES
                      ? failure->tail_bytes - CHECKPOINT_TAIL_BYTES
                      : 0;
    struct task_link link = {.run = failure->run,
                             .seq = failure->checkpoint,
                             .task = str_of(failure->task),
                             .attempt = failure->attempt,
                             .end = failure->signal > 0      ? 1
                                    : failure->exit_code < 0 ? 2
                                                             : 0};
    link.code = (uint32_t)(link.end == 1   ? failure->signal
                           : link.end == 0 ? failure->exit_code
                                           : 0);
    if (failure->tail_bytes)
        link.tail = (struct str){failure->tail + skip, failure->tail_bytes - skip};
    struct buf message = BUF_INIT;
    buf_format(&message, "%s: %s (run %llu, attempt %u)",
               trigger_message(TRIGGER_TASK_FAILED), failure->task,
               (unsigned long long)failure->run, failure->attempt);
    int rc = buf_check(&message, error);
    struct capture capture = {
        .trigger = TRIGGER_TASK_FAILED, .message = buf_view(&message), .link = &link};
    if (!rc)
        rc = capture_state(live, &capture, captured, error);
    buf_release(&message);
    return rc;
}

int cairn_session_task_failed(struct cairn_store *store, const char *session,
                              const struct cairn_task_failure *failure,
                              struct cairn_captured *captured,
                              struct cairn_error *error)
{
    STRUCT_TAKE(cairn_task_failure, failure, error);
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    int rc = begin_capture(&live, store, session, &files, error)
             ?: take_secrets(&live, failure, error)
             ?: capture_failure(&live, failure, &made, error);
    return capture_end(&live, rc, &made, captured, error);
}
