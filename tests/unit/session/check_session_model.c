/* SPDX-License-Identifier: MIT */
/* Random lives of sessions: changes of the board, checkpoints, restores, their undoing,
 * branches, merges, labels, settings, deleting, files for a second store, and processes
 * that are killed; each through a handle of its own. Every state that can be gone back
 * to is told as text when it is there, and again at each later look; at the end also in
 * other stores, into which it was copied and imported.
 *
 * CAIRN_LIVES is how many (12; 300 with CAIRN_TEST_LEVEL=full), CAIRN_LIVES_SEED the
 * first seed (1), CAIRN_LIFE_STEPS how long each is (40). */
#include "base/str.h"
#include "cairn/checkpoint.h"
#include "cairn/maintenance.h"
#include "cairn/restore.h"
#include "tests/support/random.h"
#include "tests/support/sessions/life.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Steps ---- */

static int list_id(void *context, const struct cairn_item *item)
{
    struct life *life = context;
    if (life->n_ids < LIFE_ITEMS_MOST)
        snprintf(life->ids[life->n_ids++], CAIRN_ITEM_ID_MAX, "%s", item->id);
    return 0;
}

static const char *some_item(struct life *life, const char *kind)
{
    struct cairn_item_filter filter = {.kind = kind, .page = {.all = true}};
    life->n_ids = 0;
    MUST(cairn_item_list(life->store, NULL, &filter, list_id, life, NULL, &life_error));
    return life->n_ids ? life->ids[help_below(&life->seed, (uint32_t)life->n_ids)]
                       : NULL;
}

/* What the rules refuse changes nothing. */
static void accept(struct life *life, int rc, char *before)
{
    ck_assert_msg(rc == 0 || rc == CAIRN_EUSAGE, "%d %s", rc, life_error.text);
    if (rc) {
        char *after = life_tell(life, NULL);
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
                            &life_error));
        break;
    case 1:
        MUST(cairn_item_add(life->store, NULL, "belief", belief, 4, NULL, &life_error));
        break;
    case 2:
        MUST(cairn_item_add(life->store, NULL, "note", note, 1, NULL, &life_error));
        break;
    case 3:
        MUST(cairn_item_add(life->store, NULL, "evidence", evidence, 3, NULL,
                            &life_error));
        break;
    default:
        MUST(cairn_item_add(life->store, NULL, "gap", gap, 2, NULL, &life_error));
    }
}

static void change_some(struct life *life)
{
    static const char *const status[] = {"testing", "confirmed", "rejected"};
    const char *id = some_item(life, NULL);
    char text[40];
    if (!id)
        return;
    char *before = life_tell(life, NULL);
    snprintf(text, sizeof text, "changed %u", help_below(&life->seed, 1000));
    struct cairn_set words = {id[0] == 'h' || id[0] == 'b' ? "statement" : "text",
                              text};
    struct cairn_set move = {"status", status[help_below(&life->seed, 3)]};
    bool moved = id[0] == 'h' && help_below(&life->seed, 2);
    accept(life,
           cairn_item_set(life->store, NULL, id, moved ? &move : &words, 1, NULL,
                          &life_error),
           before);
}

static void remove_some(struct life *life)
{
    const char *id = some_item(life, NULL);
    if (id)
        accept(life, cairn_item_remove(life->store, NULL, id, NULL, &life_error),
               life_tell(life, NULL));
}

/* A change, and taking it back: as it was before. */
static void undo_one(struct life *life)
{
    char *before = life_tell(life, NULL), *after;
    uint32_t changed = 0;
    add_some(life);
    MUST(cairn_session_undo(life->store, NULL, &changed, &life_error));
    ck_assert_uint_ge(changed, 1);
    after = life_tell(life, NULL);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}

static void checkpoint(struct life *life)
{
    struct cairn_capture capture = {.message = "by the test"};
    struct cairn_captured made;
    MUST(cairn_session_checkpoint(life->store, NULL, &capture, &made, &life_error));
    ck_assert(made.made);
    life_note_state(life, made.id, life_tell(life, NULL));
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
                            &summary, &life_error));
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
    char *before = life_tell(life, NULL);
    MUST(cairn_session_restore(life->store, NULL, life->states[at].id, NULL, &report,
                               &life_error));
    ck_assert_str_eq(report.id, life->states[at].id);
    char *now = life_tell(life, NULL);
    ck_assert_str_eq(now, life->states[at].text);
    free(now);
    expect_same_as(life, report.id);
    now = life_tell(life, report.before);
    ck_assert_str_eq(now, before);
    free(now);
    if (back && strcmp(report.branch, report.old_branch) != 0) {
        if (help_below(&life->seed, 2))
            MUST(cairn_session_restore(life->store, NULL, report.before, NULL, NULL,
                                       &life_error));
        else
            MUST(
                cairn_session_undo_restore(life->store, NULL, NULL, NULL, &life_error));
        now = life_tell(life, NULL);
        ck_assert_str_eq(now, before);
        free(now);
    }
    free(before);
}

static void branch(struct life *life)
{
    struct cairn_branch_info info;
    char name[32], *before = life_tell(life, NULL), *now;
    snprintf(name, sizeof name, "branch %d-%u", life->n,
             help_below(&life->seed, 1000000));
    struct cairn_session_info session;
    MUST(cairn_session_get(life->store, NULL, &session, &life_error));
    MUST(cairn_branch_start(life->store, NULL, name, NULL, NULL, &info, &life_error));
    ck_assert(info.current);
    add_some(life);
    MUST(cairn_branch_switch(life->store, NULL, session.branch, NULL, &info,
                             &life_error));
    now = life_tell(life, NULL);
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
    MUST(cairn_session_get(life->store, NULL, &session, &life_error));
    MUST(cairn_branch_start(life->store, NULL, name, NULL, NULL, NULL, &life_error));
    for (uint32_t n = help_below(&life->seed, 6); n > 0; n--) {
        change_some(life);
        add_some(life);
        remove_some(life);
    }
    char *there = life_tell(life, NULL), *now;
    MUST(cairn_branch_switch(life->store, NULL, session.branch, NULL, NULL,
                             &life_error));
    MUST(cairn_branch_merge(life->store, NULL, name,
                            (enum cairn_merge)help_below(&life->seed, 3), NULL, NULL,
                            &report, &life_error));
    ck_assert_uint_eq(report.conflicts, 0);
    now = life_tell(life, NULL);
    ck_assert_str_eq(now, there);
    free(now);
    now = life_tell(life, report.checkpoint);
    ck_assert_str_eq(now, there);
    free(now);
    free(there);
    ck_assert_int_eq(
        cairn_branch_merge(life->store, NULL, name, 0, NULL, NULL, NULL, &life_error),
        CAIRN_EUSAGE);
}

static int keep_step(void *context, const struct cairn_confidence_step *step)
{
    *(double *)context = step->confidence;
    return 0;
}

static int check_refs(void *context, const struct cairn_item *item)
{
    struct life *life = context;
    double last = -1;
    if (item->has_confidence) {
        MUST(cairn_hypothesis_steps(life->store, NULL, item->id, NULL, keep_step, &last,
                                    &life_error));
        ck_assert_double_eq_tol(last, item->confidence, 1e-9);
    }
    for (size_t i = 0; i < item->n_fields; i++) {
        const char *name = item->fields[i].name;
        if (strcmp(name, "hypothesis") == 0 || strcmp(name, "from") == 0 ||
            strcmp(name, "to") == 0)
            MUST(cairn_item_get(life->store, NULL, item->fields[i].text, NULL, list_id,
                                life, &life_error));
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
    MUST(cairn_session_get(life->store, NULL, &session, &life_error));
    MUST(cairn_branch_start(life->store, NULL, name, NULL, NULL, NULL, &life_error));
    for (int n = 0; n < 4; n++) {
        change_some(life);
        add_some(life);
        remove_some(life);
    }
    MUST(cairn_branch_switch(life->store, NULL, session.branch, NULL, NULL,
                             &life_error));
    for (int n = 0; n < 4; n++) {
        change_some(life);
        add_some(life);
        remove_some(life);
    }
    MUST(cairn_branch_merge(life->store, NULL, name,
                            (enum cairn_merge)help_below(&life->seed, 3), NULL, NULL,
                            NULL, &life_error));
    MUST(cairn_item_list(life->store, NULL, &all, check_refs, life, NULL, &life_error));
}

/* Those that are made by hand always stay. */
static void prune(struct life *life)
{
    struct cairn_keep_rules rules = {.last = 1 + help_below(&life->seed, 3)};
    struct cairn_prune_result planned, done, again;
    MUST(cairn_session_prune(life->store, NULL, &rules, true, &planned, &life_error));
    MUST(cairn_session_prune(life->store, NULL, &rules, false, &done, &life_error));
    ck_assert_uint_eq(planned.deleted, done.deleted);
    ck_assert_uint_eq(planned.total, done.total);
    ck_assert_uint_eq(done.total, done.kept + done.deleted);
    MUST(cairn_session_prune(life->store, NULL, &rules, false, &again, &life_error));
    ck_assert_uint_eq(again.deleted, 0);
    ck_assert_uint_eq(again.total, done.kept);
    struct cairn_gc_result collected;
    MUST(cairn_gc(life->store, &(struct cairn_gc_options){0}, &collected, &life_error));
}

/* From an earlier state: the board is as it was there. */
static void fork_one(struct life *life)
{
    char name[32];
    if (!life->n)
        return;
    int at = (int)help_below(&life->seed, (uint32_t)life->n);
    snprintf(name, sizeof name, "fork %d-%u", life->n,
             help_below(&life->seed, 1000000));
    MUST(cairn_branch_start(life->store, NULL, name, life->states[at].id, NULL, NULL,
                            &life_error));
    life_expect(life, life->states[at].text);
}

struct choice {
    struct life *life;
    uint32_t n;
    char name[CAIRN_SESSION_NAME_MAX], head[CAIRN_ID_MAX], from[CAIRN_ID_MAX];
};

/* Any of those that could be switched to, with the same chance. */
static int choose_branch(void *context, const struct cairn_branch_info *info)
{
    struct choice *choice = context;
    if (info->current || strcmp(info->status, "abandoned") == 0 ||
        (!info->head[0] && !info->from[0]) ||
        help_below(&choice->life->seed, ++choice->n) != 0)
        return 0;
    snprintf(choice->name, sizeof choice->name, "%s", info->name);
    snprintf(choice->head, sizeof choice->head, "%s", info->head);
    snprintf(choice->from, sizeof choice->from, "%s", info->from);
    return 0;
}

static void switch_one(struct life *life)
{
    struct choice choice = {.life = life};
    MUST(cairn_branch_list(life->store, NULL, choose_branch, &choice, &life_error));
    if (!choice.n)
        return;
    char *there = life_tell(life, choice.head[0] ? choice.head : choice.from);
    MUST(cairn_branch_switch(life->store, NULL, choice.name, NULL, NULL, &life_error));
    life_expect(life, there);
    free(there);
}

/* `keep` may be there already, or not; what is `broken` is not restored. */
static void label_one(struct life *life)
{
    if (!life->n)
        return;
    const char *id = life->states[help_below(&life->seed, (uint32_t)life->n)].id;
    char *before = life_tell(life, NULL);
    accept(life,
           cairn_checkpoint_label(life->store, id, "keep", help_below(&life->seed, 2),
                                  &life_error),
           before);
    before = life_tell(life, NULL);
    MUST(cairn_checkpoint_label(life->store, id, "broken", true, &life_error));
    ck_assert_int_eq(
        cairn_session_restore(life->store, NULL, id, NULL, NULL, &life_error),
        CAIRN_EUSAGE);
    MUST(cairn_checkpoint_label(life->store, id, "broken", false, &life_error));
    life_expect(life, before);
    free(before);
}

static void delete_one(struct life *life)
{
    if (!life->n)
        return;
    int at = (int)help_below(&life->seed, (uint32_t)life->n);
    struct cairn_item_filter there = {.checkpoint = life->states[at].id};
    char *before = life_tell(life, NULL);
    int rc = cairn_checkpoint_delete(life->store, life->states[at].id, &life_error);
    ck_assert_msg(rc == 0 || rc == CAIRN_EUSAGE, "%d %s", rc, life_error.text);
    life_expect(life, before);
    free(before);
    if (rc)
        return;
    ck_assert_int_eq(
        cairn_item_list(life->store, NULL, &there, list_id, life, NULL, &life_error),
        CAIRN_ENOTFOUND);
    life_forget_state(life, at);
}

/* What was made by hand stays whatever they say. */
static void configure(struct life *life)
{
    static const char *const last[] = {"off", "1", "2", "5"};
    MUST(cairn_session_configure(life->store, NULL, "keep-last",
                                 last[help_below(&life->seed, 4)], &life_error));
    MUST(cairn_session_configure(life->store, NULL, "keep-hourly",
                                 help_below(&life->seed, 3) ? "off" : "on",
                                 &life_error));
}

/* One that is made automatically, so that it may go. */
static void automatic(struct life *life)
{
    struct cairn_capture capture = {.trigger = "code-modified"};
    struct cairn_captured made;
    add_some(life);
    char *before = life_tell(life, NULL);
    MUST(cairn_session_checkpoint(life->store, NULL, &capture, &made, &life_error));
    char *then = life_tell(life, made.id);
    ck_assert_str_eq(then, before);
    life_expect(life, before);
    free(then);
    free(before);
}

static void transfer(struct life *life)
{
    struct cairn_transfer out, in;
    struct buf file = life_export(life, &out);
    struct cairn_store *second = life_open_other(life, "second");
    MUST(life_import(second, &file, &in));
    ck_assert(in.refused == 0 && in.checkpoints + in.skipped == out.checkpoints);
    cairn_store_close(second);
    buf_release(&file);
}

typedef void move_fn(struct life *);
static void restore_and_stay(struct life *life)
{
    restore(life, false);
}
static void restore_and_back(struct life *life)
{
    restore(life, true);
}

static move_fn *const moves[] = {
    change_some, change_some, remove_some,      undo_one,
    checkpoint,  checkpoint,  restore_and_stay, restore_and_back,
    branch,      merge_alone, merge_both,       prune,
    fork_one,    switch_one,  label_one,        delete_one,
    configure,   automatic,   automatic,        transfer,
    life_crash,  add_some,    add_some,         add_some,
    add_some};

static void step(struct life *life)
{
    moves[help_below(&life->seed, sizeof moves / sizeof moves[0])](life);
    if (help_below(&life->seed, 4) == 0)
        life_reopen(life);
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(test_lives)
{
    uint64_t lives = number_of("CAIRN_LIVES", (uint64_t)help_rounds(12, 300));
    uint64_t first = number_of("CAIRN_LIVES_SEED", 1);
    uint64_t steps = number_of("CAIRN_LIFE_STEPS", 40);
    unsigned long killed = 0, states = 0;
    for (uint64_t seed = first; seed < first + lives; seed++) {
        struct life life;
        printf("seed %llu\n", (unsigned long long)seed);
        fflush(stdout); /* what a crash would keep back */
        life_begin(&life, seed);
        life.killed = &killed;
        for (uint64_t i = 0; i < steps; i++)
            step(&life);
        states += (unsigned long)life.n;
        life_look_back(&life);
        life_copy_states(&life);
        life_move_session(&life);
        life_end(&life);
    }
    printf("lives %llu, states %lu, killed %lu\n", (unsigned long long)lives, states,
           killed);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], LIFE_CRASH_WORD) == 0)
        return life_crash_main(argc, argv);
    Suite *suite = suite_create("session_model");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 3600);
    tcase_add_test(c, test_lives);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
