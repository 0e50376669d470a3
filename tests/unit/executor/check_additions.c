/* SPDX-License-Identifier: MIT */
/* make: wrap=store_begin,additions_load,generation_load */
/* Tasks are added while somebody else adds some: just before the first one writes, so
 * that it has parsed them without the others' (wrap above). And what is taken without
 * reading all additions before it is what would be taken with them. The owner of a live
 * run takes what is added behind what it has, with the same end as if all of it had been
 * there before. */
#include "tests/support/engine.h"

#include "runs/additions.h"
#include "runs/stored.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <pthread.h>

static struct cairn_store *other;
static const char *others_text; /* is added at the next write, once */

static int add_text(struct cairn_store *store, const char *text)
{
    struct cairn_addition addition = {.text = text, .length = strlen(text)};
    return cairn_add(store, 1, &addition, NULL, &error);
}

int __real_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *wrong);
int __wrap_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *wrong);
int __wrap_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *wrong)
{
    const char *text = others_text;
    others_text = NULL;
    if (text)
        good(add_text(other, text));
    return __real_store_begin(store, wait_ms, wrong);
}

#define TASK(name, word) "tasks: {" name ": {run: 'echo " word " >>log'}}"

static const struct {
    const char *text, *others;
    int rc;
    const char *tasks, *words;
} cases[] = {
    {TASK("one", "ours"), TASK("two", "theirs"), 0,
     "a:completed two:completed one:completed", "theirs ours"},
    {TASK("one", "ours"), TASK("one", "theirs"), CAIRN_EWORKFLOW,
     "a:completed one:completed", "theirs"},
    {TASK("one", "same"), TASK("one", "same"), 0, "a:completed one:completed", "same"},
};

START_TEST(others_add_meanwhile)
{
    struct cairn_store *store = open_store();
    struct cairn_run_options options = {.jobs = 1, .start = CAIRN_START_RESUME};
    struct cairn_run_result result = {0};
    struct cairn_workflow *w;
    other = open_store();
    put_file("w.yaml", "name: w\ntasks: {a: {run: 'true'}}\n");
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    good(cairn_workflow_compile(w, &error));
    good(cairn_run(w, store, NULL, &result, &error));
    others_text = cases[_i].others;
    ck_assert_int_eq(add_text(store, cases[_i].text), cases[_i].rc);
    ck_assert_ptr_null(others_text);
    good(cairn_run(w, store, &options, &result, &error));
    ck_assert_int_eq(result.exit_status, 0);
    expect_tasks(store, 1, cases[_i].tasks);
    expect_words("log", cases[_i].words);
    cairn_workflow_free(w);
    cairn_store_close(other);
    cairn_store_close(store);
}
END_TEST

/* ---- One by one, or with all before them ---- */

static int loads; /* how often all additions were read */

int __real_additions_load(struct cairn_store *store, uint64_t run,
                          struct addition **out, size_t *n, struct cairn_error *wrong);
int __wrap_additions_load(struct cairn_store *store, uint64_t run,
                          struct addition **out, size_t *n, struct cairn_error *wrong);
int __wrap_additions_load(struct cairn_store *store, uint64_t run,
                          struct addition **out, size_t *n, struct cairn_error *wrong)
{
    loads++;
    return __real_additions_load(store, run, out, n, wrong);
}

static uint32_t random_below(uint32_t n)
{
    static uint32_t state = 1;
    state = state * 1103515245 + 12345;
    return (state >> 16) % n;
}

/* A task or a group with needs, some of whole groups, of members, of nothing, of itself;
 * and with values of tasks that it needs, also indirectly, or does not need. */
static void random_text(char *out, size_t size)
{
    uint32_t name = random_below(12), need = random_below(12), used = random_below(12);
    static const char *const forms[] = {
        "tasks: {t%u: {run: 'true'}}",
        "tasks: {t%u: {needs: t%u, run: 'true', env: {V: '${{ tasks.t%u.status }}'}}}",
        "tasks: {t%u: {foreach: {n: [1, 2]}, needs: t%u, run: 'true'}}",
        "tasks: {t%u: {foreach: {n: [1, 2]}, needs: ['t%u[n=${{ n }}]'], run: 'true'}}",
        "tasks: {t%u: {needs: ['t%u[n=1]'], if: \"tasks.t%u.status == 'completed'\", "
        "run: x}}",
        "tasks: {t%u: {needs: [{task: t%u, order: true}], run: 'true', "
        "env: {V: '${{ tasks.t%u.outputs.v }}'}}}",
        "tasks: {\"t\\x3%u\": {run: 'true'}}",
        "tasks: {t%u: {ready: 'true', run: x}, u%u: {needs: [t%u], run: 'true'}}"};
    uint32_t form = random_below(sizeof forms / sizeof forms[0]);
    snprintf(out, size, forms[form], name, need, used);
}

static struct cairn_store *store_with_run(const char *path)
{
    struct cairn_store *store = open_at(path);
    struct cairn_run_result result = {0};
    struct cairn_workflow *w;
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    good(cairn_run(w, store, NULL, &result, &error));
    cairn_workflow_free(w);
    return store;
}

static void forget_index(struct cairn_store *store)
{
    good(store_begin(store, -1, &error));
    good(store_end(store, store_drop_setting(store, "added.1.", &error), &error));
}

START_TEST(one_by_one_as_with_all)
{
    char text[400];
    int taken = 0, withdrawn = 0;
    put_file("w.yaml", "name: w\ntasks: {t0: {run: 'true'}, g: {foreach: {n: [1, 2]}, "
                       "run: 'true'}}\n");
    struct cairn_store *one = store_with_run("one"), *all = store_with_run("all");
    for (int i = 0; i < 400; i++) {
        if (i % 40 == 0) {
            cairn_store_close(one);
            cairn_store_close(all);
            remove_tree("one");
            remove_tree("all");
            one = store_with_run("one");
            all = store_with_run("all");
        }
        random_text(text, sizeof text);
        struct cairn_error short_way = {0}, long_way = {0};
        struct cairn_added added[2] = {0};
        if (random_below(4) == 0) {
            char name[8];
            const char *names[] = {name};
            snprintf(name, sizeof name, "t%u", random_below(12));
            int gone = cairn_withdraw(one, 1, names, 1, NULL, &short_way);
            ck_assert_int_eq(gone, cairn_withdraw(all, 1, names, 1, NULL, &long_way));
            withdrawn += gone == 0;
        }
        struct cairn_addition addition = {.text = text, .length = strlen(text)};
        forget_index(all);
        int rc = cairn_add(one, 1, &addition, &added[0], &short_way);
        ck_assert_int_eq(rc, cairn_add(all, 1, &addition, &added[1], &long_way));
        ck_assert_str_eq(rc ? short_way.text : "", rc ? long_way.text : "");
        ck_assert_uint_eq(added[0].tasks, added[1].tasks);
        ck_assert_uint_eq(added[0].same, added[1].same);
        taken += rc == 0;
    }
    ck_assert_int_gt(taken, 40);
    ck_assert_int_gt(withdrawn, 10);
    cairn_store_close(one);
    cairn_store_close(all);
}
END_TEST

START_TEST(all_are_read_once)
{
    put_file("w.yaml", "name: w\ntasks: {a: {run: 'true'}}\n");
    struct cairn_store *store = store_with_run(".cairn");
    good(add_text(store, TASK("one", "1")));
    loads = 0;
    good(add_text(store, TASK("two", "2")));
    good(add_text(store, "tasks: {three: {needs: two, run: 'true', env: "
                         "{V: '${{ tasks.two.status }}'}}}"));
    /* Of `three` alone, without what that needs. */
    good(add_text(store, "tasks: {deep: {needs: three, run: 'true', env: "
                         "{V: '${{ tasks.three.status }}'}}}"));
    good(add_text(store, TASK("two", "2"))); /* the same again */
    ck_assert_int_eq(loads, 0);
    /* With another file all is looked at, once. */
    put_file("w.yaml", "name: w\ntasks: {a: {run: 'true'}, b: {run: 'true'}}\n");
    good(add_text(store, TASK("four", "4")));
    ck_assert_int_gt(loads, 0);
    loads = 0;
    good(add_text(store, TASK("five", "5")));
    ck_assert_int_eq(loads, 0);
    /* And where the index is lost. */
    forget_index(store);
    good(add_text(store, TASK("six", "6")));
    ck_assert_int_gt(loads, 0);
    loads = 0;
    good(add_text(store, "tasks: {seven: {needs: one, run: 'true'}}"));
    ck_assert_int_eq(add_text(store, TASK("b", "b")), CAIRN_EWORKFLOW);
    ck_assert_int_gt(loads, 0);
    cairn_store_close(store);
}
END_TEST

/* What is left of its addition is read with the next one, which must not find it. */
START_TEST(withdrawn_is_not_needed)
{
    const char *gone[] = {"q"};
    put_file("w.yaml", "name: w\ntasks: {a: {run: 'true'}}\n");
    struct cairn_store *store = store_with_run(".cairn");
    good(add_text(store, "tasks: {p: {run: 'true'}, q: {run: 'true'}}"));
    good(cairn_withdraw(store, 1, gone, 1, NULL, &error));
    ck_assert_int_eq(add_text(store, "tasks: {r: {needs: [p, q], run: 'true'}}"),
                     CAIRN_EWORKFLOW);
    loads = 0;
    good(add_text(store, "tasks: {q: {needs: p, run: 'true'}}"));
    good(add_text(store, "tasks: {r: {needs: [p, q], run: 'true'}}"));
    ck_assert_int_eq(loads, 0);
    cairn_store_close(store);
}
END_TEST

/* ---- To a live run, again and again ---- */

enum { LIVE = 40 };

static int generations; /* how often one was read */

int __real_generation_load(struct cairn_store *store, const struct run_row *row,
                           uint32_t gen, struct definition *definition,
                           struct graph *graph, struct cairn_error *wrong);
int __wrap_generation_load(struct cairn_store *store, const struct run_row *row,
                           uint32_t gen, struct definition *definition,
                           struct graph *graph, struct cairn_error *wrong);
int __wrap_generation_load(struct cairn_store *store, const struct run_row *row,
                           uint32_t gen, struct definition *definition,
                           struct graph *graph, struct cairn_error *wrong)
{
    generations++;
    return __real_generation_load(store, row, gen, definition, graph, wrong);
}

/* What another thread adds to the run while it waits for `hold`, and whether each was
 * taken. */
struct live_texts {
    char text[LIVE][400];
    int rc[LIVE];
    bool completed;
};

static void *add_one_by_one(void *context)
{
    struct live_texts *texts = context;
    struct cairn_error wrong = {0};
    struct cairn_store *store;
    struct cairn_store_options options = {.path = ".cairn"};
    if (cairn_store_open(&store, &options, &wrong))
        return NULL;
    for (int i = 0; i < LIVE; i++) {
        struct cairn_addition addition = {.text = texts->text[i],
                                          .length = strlen(texts->text[i])};
        while ((texts->rc[i] = cairn_add(store, 1, &addition, NULL, &wrong)) ==
               CAIRN_ENOTFOUND)
            sched_yield(); /* the run has not begun yet */
    }
    int rc = CAIRN_EUSAGE; /* until it is offered */
    for (int tries = 0; rc && rc != CAIRN_EDAMAGED && tries < 1000; tries++) {
        rc = cairn_complete(store, 1, "hold", NULL, NULL, 0, &wrong);
        if (rc)
            usleep(10000);
    }
    if (rc) /* the run would wait for ever */
        cairn_cancel(store, 1, NULL, &wrong);
    cairn_store_close(store);
    texts->completed = rc == 0;
    return NULL;
}

static void count_openings(void *context, const struct cairn_event *event)
{
    *(int *)context += event->kind == CAIRN_EVENT_RUN_STARTED;
}

/* How often its owner opened the run. */
static int run_live(struct cairn_store *store, struct live_texts *texts)
{
    int openings = 0;
    struct cairn_run_options options = {.observe = count_openings,
                                        .observe_context = &openings};
    struct cairn_run_result result = {0};
    struct cairn_workflow *w;
    pthread_t thread;
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    ck_assert_int_eq(pthread_create(&thread, NULL, add_one_by_one, texts), 0);
    good(cairn_run(w, store, &options, &result, &error));
    pthread_join(thread, NULL);
    ck_assert(texts->completed);
    cairn_workflow_free(w);
    return openings;
}

/* The same run, from its file with all that was added. */
static struct cairn_run_result resume_live(struct cairn_store *store)
{
    struct cairn_run_options options = {.start = CAIRN_START_RESUME, .run = 1};
    struct cairn_run_result result = {0};
    struct cairn_workflow *w;
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    good(cairn_run(w, store, &options, &result, &error));
    cairn_workflow_free(w);
    return result;
}

/* The owner has each addition behind what it has: it opens the run once, and reads no
 * generation; and what it has made of all of them is the very definition that the file
 * and they have. It stores what is new of that, not the whole. */
START_TEST(taken_in_place)
{
    static struct live_texts texts;
    struct cairn_store *store = open_store();
    put_file("w.yaml", "name: w\ntasks: {a: {run: 'true'}, hold: {external: wait}}\n"
                       "finally: {last: {run: 'true'}}\n");
    for (int i = 0; i < LIVE; i++) {
        char needs[20] = "[]";
        if (i % 2)
            snprintf(needs, sizeof needs, "[t%d]", i - 1);
        snprintf(texts.text[i], sizeof texts.text[i],
                 "tasks: {t%d: {needs: %s, run: 'echo %d >>log'}}", i, needs, i);
    }
    generations = 0;
    ck_assert_int_eq(run_live(store, &texts), 1);
    ck_assert_int_eq(generations, 0);
    for (int i = 0; i < LIVE; i++)
        ck_assert_int_eq(texts.rc[i], 0);
    ck_assert_int_eq(lines("log"), LIVE);
    ck_assert(resume_live(store).nothing_to_do);
    ck_assert_int_eq(sql("SELECT gen FROM run"), 1);
    ck_assert_int_eq(sql("SELECT count(*) FROM run_graph"), 1);
    ck_assert_int_eq(sql("SELECT count(*) FROM object WHERE codec = 3 AND "
                         "digest = (SELECT graph FROM run_graph)"),
                     1);
    cairn_store_close(store);
}
END_TEST

/* One addition after the other, each when the one before it has run. */
enum { TASKS = 100, SLOW = 12 };

struct slow_adder {
    int64_t before; /* the newest checkpoint when the first one is added */
    bool done;
};

static bool wait_for(struct cairn_store *store, uint32_t completed)
{
    struct cairn_run_info info = {0};
    struct cairn_error wrong = {0};
    for (int tries = 0; tries < 6000; tries++) {
        if (!cairn_run_get(store, 1, &info, &wrong) && info.completed >= completed)
            return true;
        usleep(10000);
    }
    return false;
}

static void *add_slowly(void *context)
{
    struct slow_adder *adder = context;
    struct cairn_error wrong = {0};
    struct cairn_store *store;
    struct cairn_store_options options = {.path = ".cairn"};
    if (cairn_store_open(&store, &options, &wrong))
        return NULL;
    bool good_so_far = wait_for(store, TASKS);
    adder->before = sql("SELECT max(seq) FROM checkpoint");
    for (uint32_t i = 0; i < SLOW && good_so_far; i++) {
        char text[100];
        snprintf(text, sizeof text, "tasks: {t%u: {run: 'true'}}", i);
        struct cairn_addition addition = {.text = text, .length = strlen(text)};
        good_so_far = !cairn_add(store, 1, &addition, NULL, &wrong) &&
                      wait_for(store, TASKS + i + 1);
    }
    adder->done =
        good_so_far && !cairn_complete(store, 1, "hold", NULL, NULL, 0, &wrong);
    if (!adder->done)
        cairn_cancel(store, 1, NULL, &wrong);
    cairn_store_close(store);
    return NULL;
}

/* What an addition stores is what is new, however large the graph, and the results of
 * its tasks, are: a full record now and then, and no definition but the first one. */
START_TEST(stored_is_what_is_new)
{
    struct slow_adder adder = {0};
    struct cairn_store *store = open_store();
    struct cairn_run_options options = {.keep_all = true};
    struct cairn_run_result result = {0};
    struct cairn_workflow *w;
    pthread_t thread;
    char question[200];
    put_file("w.yaml",
             "name: w\ntasks: {g: {foreach: {n: {range: [1, 100]}}, run: 'echo "
             "v=$n >>\"$CAIRN_OUTPUT\"'}, hold: {external: wait}}\n");
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    ck_assert_int_eq(pthread_create(&thread, NULL, add_slowly, &adder), 0);
    good(cairn_run(w, store, &options, &result, &error));
    pthread_join(thread, NULL);
    ck_assert(adder.done);
    snprintf(question, sizeof question,
             "SELECT count(*) FROM checkpoint WHERE seq > %lld AND kind = 1",
             (long long)adder.before);
    ck_assert_int_le(sql(question), 5);
    ck_assert_int_eq(sql("SELECT count(*) FROM object WHERE codec = 3"), SLOW - 1);
    ck_assert_int_eq(sql("SELECT count(*) FROM object WHERE codec = 3 AND "
                         "length(data) > 1000"),
                     0);
    cairn_workflow_free(w);
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    options = (struct cairn_run_options){.start = CAIRN_START_RESUME, .run = 1};
    good(cairn_run(w, store, &options, &result, &error));
    ck_assert(result.nothing_to_do);
    ck_assert_int_eq(sql("SELECT gen FROM run"), 1);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

struct outcomes_of {
    struct buf text;
};

static int note_outcome(void *context, const struct cairn_task_info *info)
{
    struct outcomes_of *all = context;
    buf_format(&all->text, "%s:%d ", info->id, (int)info->outcome);
    return 0;
}

/* Whatever is added, also what the owner has to open the run again for: the same as
 * where all of it was there when the run went on. */
START_TEST(as_at_rest)
{
    static struct live_texts texts;
    struct outcomes_of live = {BUF_INIT}, rest = {BUF_INIT};
    put_file("w.yaml", "name: w\non_failure: continue\ntasks: {t0: {run: 'true'}, f: "
                       "{run: 'false'}, g: {foreach: {n: "
                       "[1, 2]}, run: 'true'}, hold: {external: wait}}\n"
                       "finally: {last: {run: 'true'}}\n");
    for (int i = 0; i < 97 * _i; i++)
        random_below(2);
    for (int i = 0; i < LIVE; i++)
        if (i % 8 == 7)
            snprintf(texts.text[i], sizeof texts.text[i],
                     "tasks: {x%d: {needs: f, run: 'true'}, y%d: {needs: x%d, when: "
                     "always, run: 'true'}}",
                     i, i, i);
        else
            random_text(texts.text[i], sizeof texts.text[i]);
    struct cairn_store *store = open_store();
    run_live(store, &texts);
    cairn_run_tasks(store, 1, note_outcome, &live, &error);
    cairn_store_close(store);
    remove_tree(".cairn");
    store = open_store();
    static struct live_texts none;
    for (int i = 0; i < LIVE; i++)
        snprintf(none.text[i], sizeof none.text[i], "- none");
    run_live(store, &none);
    for (int i = 0; i < LIVE; i++) {
        struct cairn_addition addition = {.text = texts.text[i],
                                          .length = strlen(texts.text[i])};
        ck_assert_int_eq(cairn_add(store, 1, &addition, NULL, &error), texts.rc[i]);
    }
    resume_live(store);
    cairn_run_tasks(store, 1, note_outcome, &rest, &error);
    ck_assert_str_eq(live.text.data, rest.text.data);
    buf_release(&live.text);
    buf_release(&rest.text);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("additions");
    TCase *tests = tcase_create("additions");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, others_add_meanwhile, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tests, one_by_one_as_with_all);
    tcase_add_test(tests, all_are_read_once);
    tcase_add_test(tests, withdrawn_is_not_needed);
    tcase_add_test(tests, taken_in_place);
    tcase_add_test(tests, stored_is_what_is_new);
    tcase_add_loop_test(tests, as_at_rest, 0, 10);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
