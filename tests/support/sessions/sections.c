/* SPDX-License-Identifier: MIT */
#include "tests/support/sessions/sections.h"

#include "base/limits.h"
#include "storage/sessions/rows_session.h"

uint64_t sections_session(struct lab *lab, const char *name)
{
    struct session_row row = {.name = clean_stored(str_of(name)),
                              .started_ns = 1,
                              .boot = STR(""),
                              .numbers = STR(""),
                              .settings = STR("")};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_session(lab->store, &row, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return row.session;
}

static int see_session(void *context, const struct session_row *row)
{
    (void)context, (void)row;
    return 0;
}

/* A session that nobody has begun: its number is all that matters. */
static void begin_session(struct lab *lab, uint64_t session)
{
    char name[40];
    snprintf(name, sizeof name, "begun-%d", (int)session);
    struct session_row row = {.session = session, .name = clean_stored(str_of(name))};
    if (store_get_session(lab->store, session, see_session, NULL, NULL) == 0)
        return;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_restore_session(lab->store, &row, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
}

uint64_t sections_branch(struct lab *lab, uint64_t session, const char *name,
                         uint64_t from_seq)
{
    begin_session(lab, session);
    struct branch_row row = {.session = session,
                             .name = clean_stored(str_of(name)),
                             .from_seq = from_seq,
                             .started_ns = 1,
                             .reason = CLEAN("")};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, store_put_branch(lab->store, &row, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    return row.branch;
}

/* ---- Content ---- */

static struct str random_text(struct lab *lab, struct arena *arena, uint32_t most)
{
    static const char *const pieces[] = {
        "a", "Z", " ", "\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\xaa\xa8"};
    struct buf text = BUF_INIT;
    uint32_t size = lab_below(lab, most + 1);
    while (text.size + 4 <= size)
        buf_text(&text, pieces[lab_below(lab, 7)]);
    struct str copy = arena_str(arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

static struct str random_tag(struct lab *lab, struct arena *arena)
{
    struct str text = random_text(lab, arena, CHECKPOINT_TAG_BYTES);
    return text.len ? text : STR("auto");
}

static struct str random_bytes_of(struct lab *lab, struct arena *arena, uint32_t most)
{
    struct buf bytes = BUF_INIT;
    for (uint32_t n = lab_below(lab, most + 1); n > 0; n--)
        buf_byte(&bytes, (uint8_t)lab_below(lab, 256));
    struct str copy = arena_str(arena, buf_view(&bytes));
    buf_release(&bytes);
    return copy;
}

static uint64_t random_number(struct lab *lab, uint64_t most)
{
    uint64_t n =
        (uint64_t)lab_below(lab, UINT32_MAX) << 32 | lab_below(lab, UINT32_MAX);
    return (n >> lab_below(lab, 64)) % (most + 1);
}

static struct task_link random_link(struct lab *lab, struct arena *arena)
{
    return (struct task_link){.run = 1 + random_number(lab, INT64_MAX - 1),
                              .seq = random_number(lab, INT64_MAX),
                              .task = STR("convert[part=3]"),
                              .attempt = (uint32_t)random_number(lab, UINT32_MAX - 1),
                              .end = (uint8_t)lab_below(lab, 3),
                              .code = (uint32_t)random_number(lab, UINT32_MAX - 1),
                              .tail = random_bytes_of(lab, arena, 300)};
}

struct sections sections_random(struct lab *lab, struct arena *arena)
{
    struct sections s = {.trigger = (uint32_t)random_number(lab, UINT32_MAX - 1),
                         .message = random_text(lab, arena, 2000),
                         .n_tags = lab_below(lab, 2) ? lab_below(lab, 5) : 0,
                         .boot_ns = (int64_t)random_number(lab, INT64_MAX),
                         .boot = random_text(lab, arena, CHECKPOINT_BOOT_BYTES),
                         .linked = lab_below(lab, 2),
                         .n = lab_below(lab, SECTIONS_MOST + 1)};
    s.tags = arena_take(arena, s.n_tags + 1, sizeof *s.tags);
    for (uint32_t i = 0; i < s.n_tags; i++)
        s.tags[i] = random_tag(lab, arena);
    if (s.linked)
        s.link = random_link(lab, arena);
    for (uint32_t i = 0; i < s.n; i++) {
        struct section_ref *ref = &s.list[i];
        ref->kind = (uint8_t)(1u + (i ? s.list[i - 1].kind : 0u) + lab_below(lab, 7));
        ref->n = (uint32_t)random_number(lab, UINT32_MAX - 1);
        ref->last = (uint32_t)random_number(lab, UINT32_MAX - 1);
        for (int at = 0; at < DIGEST_SIZE; at++)
            ref->digest.bytes[at] = (uint8_t)(1 + lab_below(lab, 255));
    }
    return s;
}

static bool same_link(const struct task_link *a, const struct task_link *b)
{
    return a->run == b->run && a->seq == b->seq && str_equal(a->task, b->task) &&
           a->attempt == b->attempt && a->end == b->end && a->code == b->code &&
           str_equal(a->tail, b->tail);
}

bool sections_same(const struct sections *a, const struct sections *b)
{
    bool same = a->trigger == b->trigger && str_equal(a->message, b->message) &&
                a->n_tags == b->n_tags && a->boot_ns == b->boot_ns &&
                str_equal(a->boot, b->boot) && a->linked == b->linked && a->n == b->n;
    for (uint32_t i = 0; same && i < a->n_tags; i++)
        same = str_equal(a->tags[i], b->tags[i]);
    for (uint32_t i = 0; same && i < a->n; i++) {
        const struct section_ref *x = &a->list[i], *y = &b->list[i];
        same = x->kind == y->kind && x->n == y->n && x->last == y->last &&
               digest_equal(&x->digest, &y->digest);
    }
    return same && (!a->linked || same_link(&a->link, &b->link));
}

/* ---- In the store ---- */

static struct checkpoint_ref append(struct lab *lab, uint64_t branch,
                                    const struct sections *what)
{
    struct arena arena = ARENA_INIT;
    struct chain head;
    struct checkpoint_ref ref;
    MUST(lab,
         sections_open(lab->store, lab->sha, branch, &head, &arena, NULL, &lab->error));
    MUST(lab, sections_append(&head, what, 1000, &ref, &lab->error));
    arena_release(&arena);
    return ref;
}

uint64_t sections_put(struct lab *lab, uint64_t branch, const struct sections *what)
{
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    struct checkpoint_ref ref = append(lab, branch, what);
    MUST(lab, store_commit(lab->store, &lab->error));
    return ref.seq;
}

uint64_t sections_note(struct lab *lab, uint64_t branch, const char *text)
{
    struct str tags[] = {STR("auto"), STR("noted")};
    struct sections s = {.trigger = 1, .message = str_of(text), .tags = tags};
    s.n_tags = 2;
    s.n = 2;
    s.list[0] = (struct section_ref){.kind = 1, .n = 1, .last = 1};
    s.list[1] = (struct section_ref){.kind = 7, .n = 3, .last = 9};
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab,
         store_put_object(lab->store, str_of(text), &s.list[0].digest, &lab->error));
    MUST(lab, store_put_object(lab->store, STR("always the same"), &s.list[1].digest,
                               &lab->error));
    struct checkpoint_ref ref = append(lab, branch, &s);
    MUST(lab, store_commit(lab->store, &lab->error));
    return ref.seq;
}

void sections_expect(struct lab *lab, uint64_t seq, const struct sections *what)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    struct sections_at at;
    MUST(lab,
         sections_read(lab->store, lab->sha, seq, &arena, &found, &at, &lab->error));
    ck_assert(sections_same(&found, what));
    ck_assert_uint_eq(at.ref.seq, seq);
    arena_release(&arena);
}
