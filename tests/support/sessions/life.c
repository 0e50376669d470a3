/* SPDX-License-Identifier: MIT */
#include "tests/support/sessions/life.h"

#include "base/str.h"
#include "cairn/restore.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct cairn_error life_error;

/* ---- A board as text ---- */

static void add_field(struct buf *out, const struct cairn_field *field)
{
    buf_format(out, " %s=%s%.17g/%lld", field->name, field->text ? field->text : "",
               field->number, (long long)field->time_ns);
    for (size_t i = 0; i < field->n; i++)
        buf_format(out, ",%s", field->texts[i]);
}

static int add_item(void *context, const struct cairn_item *item)
{
    struct buf *out = context;
    buf_format(out, "%s %s", item->id, item->kind);
    for (size_t i = 0; i < item->n_fields; i++)
        add_field(out, &item->fields[i]);
    if (item->has_confidence)
        buf_format(out, " (%.17g)", item->confidence);
    buf_text(out, "\n");
    return 0;
}

/* checkpoint NULL: as it is now. The caller frees it. */
static char *tell_in(struct cairn_store *store, const char *session,
                     const char *checkpoint)
{
    struct buf out = BUF_INIT;
    struct cairn_item_filter all = {.checkpoint = checkpoint,
                                    .page = {.all = true, .oldest_first = true}};
    buf_text(&out, "");
    MUST(cairn_item_list(store, session, &all, add_item, &out, NULL, &life_error));
    buf_add(&out, "", 1);
    ck_assert(!out.failed);
    return out.data;
}

char *life_tell(struct life *life, const char *checkpoint)
{
    return tell_in(life->store, NULL, checkpoint);
}

/* ---- Handles ---- */

void life_open(struct life *life)
{
    struct cairn_store_options options = {
        .path = life->path, .create = true, .sync = CAIRN_SYNC_OFF};
    MUST(cairn_store_open(&life->store, &options, &life_error));
}

void life_reopen(struct life *life)
{
    cairn_store_close(life->store);
    life_open(life);
}

void life_begin(struct life *life, uint64_t seed)
{
    *life = (struct life){.seed = seed};
    const char *tmp = getenv("TMPDIR");
    snprintf(life->dir, sizeof life->dir, "%s/session.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(life->dir));
    snprintf(life->path, sizeof life->path, "%s/.cairn", life->dir);
    life_open(life);
    MUST(cairn_session_start(life->store, "model", true, NULL, &life_error));
}

void life_end(struct life *life)
{
    for (int i = 0; i < life->n; i++)
        free(life->states[i].text);
    cairn_store_close(life->store);
    ck_assert(remove_tree(life->dir));
}

void life_expect(struct life *life, const char *text)
{
    char *now = life_tell(life, NULL);
    ck_assert_str_eq(now, text);
    free(now);
}

void life_note_state(struct life *life, const char *id, char *text)
{
    ck_assert_int_lt(life->n, LIFE_STATES_MOST);
    snprintf(life->states[life->n].id, CAIRN_ID_MAX, "%s", id);
    life->states[life->n++].text = text;
}

void life_forget_state(struct life *life, int at)
{
    free(life->states[at].text);
    life->states[at] = life->states[--life->n];
}

void life_look_back(struct life *life)
{
    for (int i = 0; i < life->n; i++) {
        char *then = life_tell(life, life->states[i].id);
        ck_assert_str_eq(then, life->states[i].text);
        free(then);
    }
    MUST(cairn_checkpoint_verify(life->store, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &life_error));
}

/* ---- In other stores ---- */

struct cairn_store *life_open_other(struct life *life, const char *name)
{
    char path[280];
    struct cairn_store *store = NULL;
    snprintf(path, sizeof path, "%s/%s", life->dir, name);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    MUST(cairn_store_open(&store, &options, &life_error));
    return store;
}

/* Each state as a session of its own, present and at its checkpoint. */
void life_copy_states(struct life *life)
{
    struct cairn_store *other = life_open_other(life, "copies");
    struct cairn_moment newest = {.time = "now"};
    for (int i = 0; i < life->n; i++) {
        struct cairn_session_info info;
        struct cairn_checkpoint_info made;
        MUST(cairn_session_copy(life->store, life->states[i].id, other, NULL, &info,
                                &life_error));
        char *present = tell_in(other, NULL, NULL), *then;
        ck_assert_str_eq(present, life->states[i].text);
        free(present);
        ck_assert_uint_eq(info.checkpoints, 1);
        MUST(cairn_session_at(other, NULL, &newest, &made, &life_error));
        ck_assert_str_eq(made.message, "by the test");
        then = tell_in(other, NULL, made.id);
        ck_assert_str_eq(then, life->states[i].text);
        free(then);
    }
    MUST(cairn_checkpoint_verify(other, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &life_error));
    cairn_store_close(other);
}

static int keep_bytes(void *context, const char *bytes, size_t n)
{
    buf_add(context, bytes, n);
    return 0;
}

struct reading {
    const struct buf *file;
    size_t at;
};

static int64_t give_bytes(void *context, char *bytes, size_t n)
{
    struct reading *reading = context;
    size_t left = reading->file->size - reading->at;
    n = left < n ? left : n;
    if (n)
        memcpy(bytes, reading->file->data + reading->at, n);
    reading->at += n;
    return (int64_t)n;
}

struct buf life_export(struct life *life, struct cairn_transfer *result)
{
    struct buf file = BUF_INIT;
    MUST(cairn_session_export(life->store, "model", false, keep_bytes, &file, NULL,
                              result, &life_error));
    ck_assert(!file.failed);
    return file;
}

int life_import(struct cairn_store *to, const struct buf *file,
                struct cairn_transfer *result)
{
    struct reading reading = {file, 0};
    return cairn_session_import(to, give_bytes, &reading, NULL, result, &life_error);
}

struct tag_search {
    char tag[64], id[CAIRN_ID_MAX];
};

static int see_tag(void *context, const struct cairn_checkpoint_info *info)
{
    struct tag_search *search = context;
    if (!strstr(info->tags, search->tag))
        return 0;
    snprintf(search->id, sizeof search->id, "%s", info->id);
    return 1;
}

/* The whole session, read from its file: each state under the tag that names it. */
void life_move_session(struct life *life)
{
    struct cairn_store *other = life_open_other(life, "imported");
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    struct cairn_transfer out, in;
    struct buf file = life_export(life, &out);
    MUST(life_import(other, &file, &in));
    ck_assert_uint_eq(in.checkpoints, out.checkpoints);
    ck_assert(in.sessions == 1 && in.skipped == 0 && in.refused == 0);
    char *here = life_tell(life, NULL), *there = tell_in(other, "model", NULL);
    ck_assert_str_eq(here, there);
    free(here);
    free(there);
    for (int i = 0; i < life->n; i++) {
        struct tag_search search = {.id = ""};
        snprintf(search.tag, sizeof search.tag, "from:%s", life->states[i].id);
        MUST(cairn_checkpoint_list(other, &all, see_tag, &search, NULL, &life_error));
        ck_assert_str_ne(search.id, "");
        there = tell_in(other, NULL, search.id);
        ck_assert_str_eq(there, life->states[i].text);
        free(there);
    }
    MUST(life_import(other, &file, &in));
    ck_assert(in.sessions == 0 && in.checkpoints == 0 && in.skipped == out.checkpoints);
    MUST(cairn_checkpoint_verify(other, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &life_error));
    buf_release(&file);
    cairn_store_close(other);
}
