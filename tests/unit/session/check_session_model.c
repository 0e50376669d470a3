/* SPDX-License-Identifier: MIT */
/* Random lives of sessions: changes of the board, checkpoints, restores, their undoing
 * and branches, each through a handle of its own. Every state that can be gone back to
 * is told as text when it is there, and again at each later look; at the end also in
 * other stores, into which it was copied and imported. */
#include "base/str.h"
#include "cairn/branch.h"
#include "cairn/gc.h"
#include "cairn/history.h"
#include "cairn/session.h"
#include "cairn/transfer.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATES_MOST = 400, ITEMS_MOST = 64 };

static struct cairn_error error;

#define MUST(call)                                                 \
    do {                                                           \
        int rc_ = (call);                                          \
        ck_assert_msg(rc_ == 0, #call ": %d %s", rc_, error.text); \
    } while (0)

struct life {
    char dir[200], path[256];
    uint64_t seed;
    struct cairn_store *store;
    struct {
        char id[CAIRN_ID_MAX];
        char *text;
    } states[STATES_MOST];
    int n;
    char ids[ITEMS_MOST][CAIRN_ITEM_ID_MAX]; /* on the board */
    int n_ids;
};

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
    MUST(cairn_item_list(store, session, &all, add_item, &out, NULL, &error));
    buf_add(&out, "", 1);
    ck_assert(!out.failed);
    return out.data;
}

static char *tell(struct life *life, const char *checkpoint)
{
    return tell_in(life->store, NULL, checkpoint);
}

/* ---- Handles ---- */

static void open_store(struct life *life)
{
    struct cairn_store_options options = {
        .path = life->path, .create = true, .sync = CAIRN_SYNC_OFF};
    MUST(cairn_store_open(&life->store, &options, &error));
}

static void reopen(struct life *life)
{
    cairn_store_close(life->store);
    open_store(life);
}

static void begin(struct life *life, uint64_t seed)
{
    *life = (struct life){.seed = seed};
    const char *tmp = getenv("TMPDIR");
    snprintf(life->dir, sizeof life->dir, "%s/session.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(life->dir));
    snprintf(life->path, sizeof life->path, "%s/.cairn", life->dir);
    open_store(life);
    MUST(cairn_session_start(life->store, "model", true, NULL, &error));
}

static void end(struct life *life)
{
    for (int i = 0; i < life->n; i++)
        free(life->states[i].text);
    cairn_store_close(life->store);
    ck_assert(remove_tree(life->dir));
}

/* ---- Steps ---- */

static void note_state(struct life *life, const char *id, char *text)
{
    ck_assert_int_lt(life->n, STATES_MOST);
    snprintf(life->states[life->n].id, CAIRN_ID_MAX, "%s", id);
    life->states[life->n++].text = text;
}

static int list_id(void *context, const struct cairn_item *item)
{
    struct life *life = context;
    if (life->n_ids < ITEMS_MOST)
        snprintf(life->ids[life->n_ids++], CAIRN_ITEM_ID_MAX, "%s", item->id);
    return 0;
}

static const char *some_item(struct life *life, const char *kind)
{
    struct cairn_item_filter filter = {.kind = kind, .page = {.all = true}};
    life->n_ids = 0;
    MUST(cairn_item_list(life->store, NULL, &filter, list_id, life, NULL, &error));
    return life->n_ids ? life->ids[help_below(&life->seed, (uint32_t)life->n_ids)]
                       : NULL;
}

/* What the rules refuse changes nothing. */
static void accept(struct life *life, int rc, char *before)
{
    ck_assert_msg(rc == 0 || rc == CAIRN_EUSAGE, "%d %s", rc, error.text);
    if (rc) {
        char *after = tell(life, NULL);
        ck_assert_str_eq(before, after);
        free(after);
    }
    free(before);
}

static void add_some(struct life *life)
{
    char text[40], strength[16];
    const char *about = some_item(life, "hypothesis");
    snprintf(text, sizeof text, "text %u", help_below(&life->seed, 1000));
    snprintf(strength, sizeof strength, "%s0.%u", help_below(&life->seed, 2) ? "-" : "",
             help_below(&life->seed, 10));
    struct cairn_set hypothesis[] = {{"statement", text}, {"tags", "a,b"}};
    struct cairn_set evidence[] = {
        {"text", text}, {"hypothesis", about}, {"strength", strength}};
    struct cairn_set belief[] = {
        {"statement", text}, {"confidence", "0.8"}, {"subject", "s"}, {"claim", "c"}};
    struct cairn_set note[] = {{"text", text}};
    struct cairn_set gap[] = {{"text", text}, {"hypothesis", about}};
    switch (help_below(&life->seed, about ? 5 : 3)) {
    case 0:
        MUST(cairn_item_add(life->store, NULL, "hypothesis", hypothesis, 2, NULL,
                            &error));
        break;
    case 1:
        MUST(cairn_item_add(life->store, NULL, "belief", belief, 4, NULL, &error));
        break;
    case 2:
        MUST(cairn_item_add(life->store, NULL, "note", note, 1, NULL, &error));
        break;
    case 3:
        MUST(cairn_item_add(life->store, NULL, "evidence", evidence, 3, NULL, &error));
        break;
    default:
        MUST(cairn_item_add(life->store, NULL, "gap", gap, 2, NULL, &error));
    }
}

static void change_some(struct life *life)
{
    static const char *const status[] = {"testing", "confirmed", "rejected"};
    const char *id = some_item(life, NULL);
    char text[40];
    if (!id)
        return;
    char *before = tell(life, NULL);
    snprintf(text, sizeof text, "changed %u", help_below(&life->seed, 1000));
    struct cairn_set words = {id[0] == 'h' || id[0] == 'b' ? "statement" : "text",
                              text};
    struct cairn_set move = {"status", status[help_below(&life->seed, 3)]};
    bool moved = id[0] == 'h' && help_below(&life->seed, 2);
    accept(
        life,
        cairn_item_set(life->store, NULL, id, moved ? &move : &words, 1, NULL, &error),
        before);
}

static void remove_some(struct life *life)
{
    const char *id = some_item(life, NULL);
    if (id)
        accept(life, cairn_item_remove(life->store, NULL, id, NULL, &error),
               tell(life, NULL));
}

/* A change, and taking it back: as it was before. */
static void undo_one(struct life *life)
{
    char *before = tell(life, NULL), *after;
    uint32_t changed = 0;
    add_some(life);
    MUST(cairn_session_undo(life->store, NULL, &changed, &error));
    ck_assert_uint_ge(changed, 1);
    after = tell(life, NULL);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}

static void checkpoint(struct life *life)
{
    struct cairn_capture capture = {.message = "by the test"};
    struct cairn_captured made;
    MUST(cairn_session_checkpoint(life->store, NULL, &capture, &made, &error));
    ck_assert(made.made);
    note_state(life, made.id, tell(life, NULL));
}

static int count_change(void *context, const struct cairn_board_change *change)
{
    (void)change;
    ++*(int *)context;
    return 0;
}

static void expect_same_as(struct life *life, const char *id)
{
    int changes = 0;
    struct cairn_board_summary summary;
    MUST(cairn_session_diff(life->store, NULL, id, NULL, count_change, &changes,
                            &summary, &error));
    ck_assert_msg(changes == 0 &&
                      summary.added + summary.changed + summary.removed == 0,
                  "%s", summary.text);
}

static void restore(struct life *life, bool back)
{
    struct cairn_restored report;
    if (!life->n)
        return;
    int at = (int)help_below(&life->seed, (uint32_t)life->n);
    char *before = tell(life, NULL);
    MUST(cairn_session_restore(life->store, NULL, life->states[at].id, false, &report,
                               &error));
    ck_assert_str_eq(report.id, life->states[at].id);
    char *now = tell(life, NULL);
    ck_assert_str_eq(now, life->states[at].text);
    free(now);
    expect_same_as(life, report.id);
    now = tell(life, report.before);
    ck_assert_str_eq(now, before);
    free(now);
    if (back && strcmp(report.branch, report.old_branch) != 0) {
        if (help_below(&life->seed, 2))
            MUST(cairn_session_restore(life->store, NULL, report.before, false, NULL,
                                       &error));
        else
            MUST(cairn_session_undo_restore(life->store, NULL, NULL, &error));
        now = tell(life, NULL);
        ck_assert_str_eq(now, before);
        free(now);
    }
    free(before);
}

static void branch(struct life *life)
{
    struct cairn_branch_info info;
    char name[32], *before = tell(life, NULL), *now;
    snprintf(name, sizeof name, "branch %d-%u", life->n,
             help_below(&life->seed, 1000000));
    struct cairn_session_info session;
    MUST(cairn_session_get(life->store, NULL, &session, &error));
    MUST(cairn_branch_start(life->store, NULL, name, NULL, &info, &error));
    ck_assert(info.current);
    add_some(life);
    MUST(cairn_branch_switch(life->store, NULL, session.branch, &info, &error));
    now = tell(life, NULL);
    ck_assert_str_eq(now, before);
    free(now);
    free(before);
}

/* A branch alone has changed: merged, the board is as it was there. */
static void merge_alone(struct life *life)
{
    char name[32];
    struct cairn_session_info session;
    struct cairn_merged report;
    snprintf(name, sizeof name, "merged %d-%u", life->n,
             help_below(&life->seed, 1000000));
    MUST(cairn_session_get(life->store, NULL, &session, &error));
    MUST(cairn_branch_start(life->store, NULL, name, NULL, NULL, &error));
    for (uint32_t n = help_below(&life->seed, 6); n > 0; n--) {
        change_some(life);
        add_some(life);
        remove_some(life);
    }
    char *there = tell(life, NULL), *now;
    MUST(cairn_branch_switch(life->store, NULL, session.branch, NULL, &error));
    MUST(cairn_branch_merge(life->store, NULL, name,
                            (enum cairn_merge)help_below(&life->seed, 3), NULL, NULL,
                            &report, &error));
    ck_assert_uint_eq(report.conflicts, 0);
    now = tell(life, NULL);
    ck_assert_str_eq(now, there);
    free(now);
    now = tell(life, report.checkpoint);
    ck_assert_str_eq(now, there);
    free(now);
    free(there);
    ck_assert_int_eq(
        cairn_branch_merge(life->store, NULL, name, 0, NULL, NULL, NULL, &error),
        CAIRN_EUSAGE);
}

static int check_refs(void *context, const struct cairn_item *item)
{
    struct life *life = context;
    for (size_t i = 0; i < item->n_fields; i++) {
        const char *name = item->fields[i].name;
        if (strcmp(name, "hypothesis") == 0 || strcmp(name, "from") == 0 ||
            strcmp(name, "to") == 0)
            MUST(cairn_item_get(life->store, NULL, item->fields[i].text, NULL, list_id,
                                life, &error));
    }
    return 0;
}

/* Both have changed: whatever is chosen, nothing refers to what is not there. */
static void merge_both(struct life *life)
{
    char name[32];
    struct cairn_session_info session;
    struct cairn_item_filter all = {.page = {.all = true}};
    snprintf(name, sizeof name, "both %d-%u", life->n,
             help_below(&life->seed, 1000000));
    MUST(cairn_session_get(life->store, NULL, &session, &error));
    MUST(cairn_branch_start(life->store, NULL, name, NULL, NULL, &error));
    for (int n = 0; n < 4; n++) {
        change_some(life);
        add_some(life);
        remove_some(life);
    }
    MUST(cairn_branch_switch(life->store, NULL, session.branch, NULL, &error));
    for (int n = 0; n < 4; n++) {
        change_some(life);
        add_some(life);
        remove_some(life);
    }
    MUST(cairn_branch_merge(life->store, NULL, name,
                            (enum cairn_merge)help_below(&life->seed, 3), NULL, NULL,
                            NULL, &error));
    MUST(cairn_item_list(life->store, NULL, &all, check_refs, life, NULL, &error));
}

/* Those that are made by hand always stay. */
static void prune(struct life *life)
{
    struct cairn_keep_rules rules = {.last = 1 + help_below(&life->seed, 3)};
    struct cairn_prune_result planned, done, again;
    MUST(cairn_session_prune(life->store, NULL, &rules, true, &planned, &error));
    MUST(cairn_session_prune(life->store, NULL, &rules, false, &done, &error));
    ck_assert_uint_eq(planned.deleted, done.deleted);
    ck_assert_uint_eq(planned.total, done.total);
    ck_assert_uint_eq(done.total, done.kept + done.deleted);
    MUST(cairn_session_prune(life->store, NULL, &rules, false, &again, &error));
    ck_assert_uint_eq(again.deleted, 0);
    ck_assert_uint_eq(again.total, done.kept);
    struct cairn_gc_result collected;
    MUST(cairn_gc(life->store, &(struct cairn_gc_options){0}, &collected, &error));
}

static void step(struct life *life)
{
    switch (help_below(&life->seed, 16)) {
    case 0:
    case 1:
        change_some(life);
        break;
    case 2:
        remove_some(life);
        break;
    case 3:
        undo_one(life);
        break;
    case 4:
    case 5:
        checkpoint(life);
        break;
    case 6:
        restore(life, false);
        break;
    case 7:
        restore(life, true);
        break;
    case 8:
        branch(life);
        break;
    case 9:
        merge_alone(life);
        break;
    case 10:
        merge_both(life);
        break;
    case 11:
        prune(life);
        break;
    default:
        add_some(life);
    }
    if (help_below(&life->seed, 4) == 0)
        reopen(life);
}

static void look_back(struct life *life)
{
    for (int i = 0; i < life->n; i++) {
        char *then = tell(life, life->states[i].id);
        ck_assert_str_eq(then, life->states[i].text);
        free(then);
    }
    MUST(cairn_checkpoint_verify(life->store, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &error));
}

/* ---- In other stores ---- */

static struct cairn_store *open_other(struct life *life, const char *name)
{
    char path[280];
    struct cairn_store *store = NULL;
    snprintf(path, sizeof path, "%s/%s", life->dir, name);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    MUST(cairn_store_open(&store, &options, &error));
    return store;
}

/* Each state as a session of its own, present and at its checkpoint. */
static void copy_states(struct life *life)
{
    struct cairn_store *other = open_other(life, "copies");
    struct cairn_moment newest = {.time = "now"};
    for (int i = 0; i < life->n; i++) {
        struct cairn_session_info info;
        struct cairn_checkpoint_info made;
        MUST(cairn_session_copy(life->store, life->states[i].id, other, NULL, &info,
                                &error));
        char *present = tell_in(other, NULL, NULL), *then;
        ck_assert_str_eq(present, life->states[i].text);
        free(present);
        ck_assert_uint_eq(info.checkpoints, 1);
        MUST(cairn_session_at(other, NULL, &newest, &made, &error));
        ck_assert_str_eq(made.message, "by the test");
        then = tell_in(other, NULL, made.id);
        ck_assert_str_eq(then, life->states[i].text);
        free(then);
    }
    MUST(cairn_checkpoint_verify(other, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &error));
    cairn_store_close(other);
}

static int keep_bytes(void *context, const char *bytes, size_t n)
{
    buf_add(context, bytes, n);
    return 0;
}

struct reading {
    struct buf file;
    size_t at;
};

static int64_t give_bytes(void *context, char *bytes, size_t n)
{
    struct reading *reading = context;
    size_t left = reading->file.size - reading->at;
    n = left < n ? left : n;
    if (n)
        memcpy(bytes, reading->file.data + reading->at, n);
    reading->at += n;
    return (int64_t)n;
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
static void move_session(struct life *life)
{
    struct cairn_store *other = open_other(life, "imported");
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    struct cairn_transfer out, in;
    struct reading reading = {.at = 0};
    MUST(cairn_session_export(life->store, NULL, false, keep_bytes, &reading.file, NULL,
                              &out, &error));
    MUST(cairn_session_import(other, give_bytes, &reading, NULL, &in, &error));
    ck_assert_uint_eq(in.checkpoints, out.checkpoints);
    ck_assert(in.sessions == 1 && in.skipped == 0 && in.refused == 0);
    char *here = tell(life, NULL), *there = tell_in(other, "model", NULL);
    ck_assert_str_eq(here, there);
    free(here);
    free(there);
    for (int i = 0; i < life->n; i++) {
        struct tag_search search = {.id = ""};
        snprintf(search.tag, sizeof search.tag, "from:%s", life->states[i].id);
        MUST(cairn_checkpoint_list(other, &all, see_tag, &search, NULL, &error));
        ck_assert_str_ne(search.id, "");
        there = tell_in(other, NULL, search.id);
        ck_assert_str_eq(there, life->states[i].text);
        free(there);
    }
    reading.at = 0;
    MUST(cairn_session_import(other, give_bytes, &reading, NULL, &in, &error));
    ck_assert(in.sessions == (out.checkpoints == 0) && in.checkpoints == 0 &&
              in.skipped == out.checkpoints);
    MUST(cairn_checkpoint_verify(other, NULL, NULL, NULL,
                                 &(struct cairn_verify_result){0}, &error));
    buf_release(&reading.file);
    cairn_store_close(other);
}

START_TEST(test_lives)
{
    const char *level = getenv("CAIRN_TEST_LEVEL");
    uint64_t rounds = level && strcmp(level, "full") == 0 ? 300 : 12;
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        struct life life;
        printf("seed %llu\n", (unsigned long long)seed);
        begin(&life, seed);
        for (int i = 0; i < 40; i++)
            step(&life);
        look_back(&life);
        copy_states(&life);
        move_session(&life);
        end(&life);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session_model");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 1800);
    tcase_add_test(c, test_lives);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
