/* SPDX-License-Identifier: MIT */
/* make: not-quick */
/* Every allocation refused in turn, in this process: what the library then returns is
 * CAIRN_ENOMEM or the same as ever, and (with sanitizers) nothing leaks.
 * tests/prove/p-memory.sh does it to the whole command. */
#include "tests/support/engine.h"

#include "storage/health.h"
#include "storage/object.h"
#include "storage/rescue/rescue.h"
#include "storage/rows_command.h"
#include "storage/store.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>

/* ---- The allocator ---- */

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t),
    *(*real_realloc)(void *, size_t);
static atomic_bool armed;
static atomic_long left; /* allocations until one is refused */

static void look_up(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(function, &found, sizeof found); /* ISO C has no cast for it */
}

#ifdef __SANITIZE_ADDRESS__
/* AddressSanitizer gives up where a thread that begins is refused memory, so only the
 * thread that asked for refusals gets them. */
static _Thread_local bool counts;
#else
enum { counts = true };
#endif

static bool refused(void)
{
    bool refuse = counts && armed && atomic_fetch_sub(&left, 1) == 1;
    if (refuse)
        errno = ENOMEM;
    return refuse;
}

/* The n-th allocation from now on is refused. */
static void arm(long n)
{
#ifdef __SANITIZE_ADDRESS__
    counts = true;
#endif
    left = n;
    armed = true;
}

/* Whether it came to that. */
static bool disarm(void)
{
    armed = false;
    return left <= 0;
}

static _Alignas(16) char early[4096]; /* for dlsym itself */
static size_t early_used;

static void *early_alloc(size_t size)
{
    void *at = early + early_used;
    early_used += (size + 15) & ~(size_t)15;
    return early_used <= sizeof early ? at : NULL;
}

/* Default visibility: the allocations of libraries, of SQLite's too, come here. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
    static bool busy;
    if (!real_malloc && !busy) {
        busy = true;
        look_up(&real_calloc, "calloc");
        look_up(&real_realloc, "realloc");
        look_up(&real_malloc, "malloc");
        busy = false;
    }
    if (!real_malloc)
        return early_alloc(size);
    return refused() ? NULL : real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    if (!real_malloc) {
        void *first = malloc(1);
        if (!real_malloc)
            return early_alloc(n * size);
        free(first);
    }
    return refused() ? NULL : real_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    if (!old)
        return malloc(size);
    return refused() ? NULL : real_realloc(old, size);
}

#pragma GCC visibility pop

/* ---- Tests ---- */

static const char text[] =
    "name: w\nparams: {p: 'a b'}\ntasks:\n"
    "  a: {foreach: {x: ['1 1', two], y: [q, w]}, run: 'true', outputs: [o]}\n"
    "  b: {foreach: {x: ['1 1', two]}, needs: ['a[x=${{ x }},y=q]'], run: 'true'}\n"
    "  c: {needs: [a, b], if: params.p == 'x', exec: [echo, 'x y', z]}\n";

struct ids {
    char text[1024];
    bool no_command; /* there was no memory for one */
};

static void add_ids(struct ids *ids, const struct cairn_workflow *workflow)
{
    struct cairn_node_info info;
    for (uint32_t i = 0; i < cairn_workflow_nodes(workflow); i++) {
        size_t used = strlen(ids->text);
        int code =
            cairn_workflow_node(workflow, i, &info); /* no assert: it allocates */
        ids->no_command |= !code && !info.command;
        snprintf(ids->text + used, sizeof ids->text - used, "%s %s ",
                 code ? "none" : info.id, code || !info.command ? "" : info.command);
    }
}

static int load(struct ids *ids)
{
    struct cairn_workflow *workflow = NULL;
    struct cairn_plan *plan = NULL;
    struct cairn_run_options options = {0};
    memset(ids, 0, sizeof *ids);
    int code = cairn_workflow_parse(&workflow, text, strlen(text), "flow.yaml", NULL, 0,
                                    &error);
    if (!code)
        code = cairn_workflow_compile(workflow, &error);
    if (!code)
        code = cairn_plan(&plan, workflow, NULL, &options, &error);
    if (!code) {
        add_ids(ids, workflow);
        size_t used = strlen(ids->text);
        snprintf(ids->text + used, sizeof ids->text - used, "will %u may %u",
                 cairn_plan_will(plan), cairn_plan_may(plan));
    }
    cairn_plan_free(plan);
    cairn_workflow_free(workflow);
    return code;
}

START_TEST(test_loading_a_workflow)
{
    struct ids whole, ids;
    ck_assert_int_eq(load(&whole), 0);
    ck_assert_ptr_nonnull(strstr(whole.text, "c echo x y z "));
    for (long n = 1;; n++) {
        arm(n);
        int code = load(&ids);
        if (!disarm())
            break;
        ck_assert_msg(code == CAIRN_ENOMEM || code == 0, "allocation %ld: code %d", n,
                      code);
        if (!code && !ids.no_command)
            ck_assert_str_eq(ids.text, whole.text);
    }
}
END_TEST

/* What cairn_workflow_add copies, but pools, which have room of their own. */
static int build(const char *description)
{
    static const char *const values[] = {"x", "y", NULL}, *const to_all[] = {"g", NULL},
                             *const columns[] = {"size", "kind", NULL},
                             *const cells[] = {"1", "old", "2", "new"},
                             *const services[] = {"db", "mq", NULL},
                             *const env[] = {"B=1", "A=2", NULL},
                             *const argv[] = {"true", "x", NULL};
    static const uint8_t exits[] = {7, 75, 0};
    const struct cairn_foreach rows = {
        .key = "part", .values = values, .columns = columns, .cells = cells};
    const struct cairn_foreach list = {.key = "item", .from = "g", .value = "items"};
    const struct cairn_foreach lists = {.key = "k", .from = "l", .value = "items"};
    const struct cairn_task tasks[] = {
        {.id = "db", .run = "db", .ready = "ping", .port = true},
        {.id = "mq",
         .run = "mq",
         .ready = "ping",
         .port = true,
         .description = description},
        {.id = "g", .argv = argv, .foreach = &rows, .needs = services},
        {.id = "l", .run = "l", .foreach = &list, .env = env, .soft = to_all},
        {.id = "m",
         .run = "m",
         .foreach = &lists,
         .after = to_all,
         .retries = 2,
         .retry_exits = exits,
         .outputs = values,
         .cwd = "c",
         .depfile = "d"},
        {.id = "u",
         .run = "u",
         .until = "outputs.x == 1",
         .rounds = 3,
         .needs = to_all}};
    struct cairn_workflow *workflow = NULL;
    int code = cairn_workflow_new(&workflow, "w", &error);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0] && !code; i++)
        code = cairn_workflow_add(workflow, &tasks[i], &error);
    if (!code)
        code = cairn_workflow_compile(workflow, &error);
    cairn_workflow_free(workflow);
    return code;
}

/* The same where keys are set beside. */
static int set_keys(void)
{
    static const char *const inputs[] = {"i", "j", NULL};
    const struct cairn_task tasks[] = {{.id = "a", .run = "a", .undo = "u"},
                                       {.id = "b", .run = "b", .inputs = inputs}};
    struct cairn_workflow *workflow = NULL;
    int code = cairn_workflow_new(&workflow, "w", &error);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0] && !code; i++)
        code = cairn_workflow_add(workflow, &tasks[i], &error);
    if (!code)
        code = cairn_workflow_set(workflow, "params", "{p: 1}", &error)
                   ?: cairn_workflow_set(workflow, "tasks", "{c: {run: c}}", &error)
                   ?: cairn_task_set(workflow, "b", "needs", "[a]", &error)
                   ?: cairn_task_set(workflow, "b", "foreach", "{k: [1, 2]}", &error)
                   ?: cairn_workflow_compile(workflow, &error);
    cairn_workflow_free(workflow);
    return code;
}

START_TEST(test_setting_keys)
{
    good(set_keys());
    for (long n = 1;; n++) {
        arm(n);
        int code = set_keys();
        if (!disarm())
            break;
        ck_assert_msg(code == CAIRN_ENOMEM || code == 0, "allocation %ld: %s", n,
                      error.text);
    }
}
END_TEST

/* The description moves the places at which a block of memory is full. */
START_TEST(test_building_a_workflow)
{
    enum { PAD = 8192, STEP = 16 };
    static char description[PAD + 1];
    good(build("d"));
    for (size_t pad = 0; pad < PAD; pad += STEP) {
        memset(description, 'd', pad);
        for (long n = 1;; n++) {
            arm(n);
            int code = build(description);
            if (!disarm())
                break;
            ck_assert_msg(code == CAIRN_ENOMEM || code == 0,
                          "%zu bytes, allocation %ld: %s", pad, n, error.text);
        }
    }
}
END_TEST

static int count_param(void *context, const char *name, const char *value)
{
    (void)name, (void)value;
    ++*(int *)context;
    return 0;
}

/* A param that is forgotten would make a resumed run another one. */
START_TEST(test_params_of_a_run)
{
    static const char flow[] = "name: w\nparams: {p: one, q: two}\n"
                               "tasks: {a: {run: 'true'}}\n";
    struct cairn_param params[] = {{"p", "three"}, {"q", "four"}};
    struct cairn_store *store = open_store();
    struct cairn_workflow *workflow;
    struct cairn_run_result result;
    struct cairn_run_options options = {0};
    good(cairn_workflow_parse(&workflow, flow, strlen(flow), "flow.yaml", params, 2,
                              &error));
    good(cairn_run(workflow, store, &options, &result, &error));
    cairn_workflow_free(workflow);
    for (long n = 1;; n++) {
        int seen = 0;
        arm(n);
        int code = cairn_run_params(store, 1, count_param, &seen, &error);
        if (!disarm())
            break;
        ck_assert_msg(code ? code == CAIRN_ENOMEM : seen == 2,
                      "allocation %ld: code %d, %d params", n, code, seen);
    }
    cairn_store_close(store);
}
END_TEST

static struct cairn_workflow *parse_external(void)
{
    static const char flow[] = "name: x\ntasks:\n"
                               "  a: {external: 'do it'}\n"
                               "  z: {needs: a, external: 'and that'}\n";
    struct cairn_workflow *workflow;
    good(
        cairn_workflow_parse(&workflow, flow, strlen(flow), "x.yaml", NULL, 0, &error));
    return workflow;
}

static const struct cairn_run_options stop_at_external = {.no_wait = true,
                                                          .start = CAIRN_START_FRESH};

/* What is told from outside is taken, or it stays as it was: it never makes the task
 * fail. */
START_TEST(test_completing_from_outside)
{
    const struct cairn_param value = {"k", "v"};
    struct cairn_store *store = open_store();
    struct cairn_workflow *workflow = parse_external();
    struct cairn_run_result result;
    for (long n = 1;; n += 3) {
        struct cairn_run_info info;
        good(cairn_run(workflow, store, &stop_at_external, &result, &error));
        arm(n);
        int code = cairn_complete(store, result.run, "a", NULL, &value, 1, &error);
        bool came = disarm();
        ck_assert_msg(code == CAIRN_ENOMEM || code == 0, "allocation %ld: code %d: %s",
                      n, code, error.text);
        good(cairn_run_get(store, result.run, &info, &error));
        ck_assert_msg(info.failed == 0, "allocation %ld: the task has failed", n);
        if (!came)
            break;
    }
    cairn_workflow_free(workflow);
    cairn_store_close(store);
}
END_TEST

/* The name of who claims is looked for, too. */
START_TEST(test_claiming)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *workflow = parse_external();
    struct cairn_run_result result;
    bool came = true;
    for (long n = 1; came; n++) {
        char token[CAIRN_CLAIM_MAX];
        good(cairn_run(workflow, store, &stop_at_external, &result, &error));
        arm(n);
        int code = cairn_claim(store, result.run, "a", 60000, NULL, token, &error);
        came = disarm();
        ck_assert_msg(code == CAIRN_ENOMEM || code == 0, "allocation %ld: code %d: %s",
                      n, code, error.text);
    }
    cairn_workflow_free(workflow);
    cairn_store_close(store);
}
END_TEST

static enum cairn_outcome call(void *context, struct cairn_attempt *attempt)
{
    (void)attempt;
    ++*(int *)context;
    return CAIRN_COMPLETED;
}

/* However a run ends for want of memory, the next one comes to the end. A task that
 * there was no memory to call has failed. */
START_TEST(test_running)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result;
    struct cairn_run_options fresh = {.start = CAIRN_START_FRESH}, options = {0};
    for (long n = 1;; n += 5) {
        struct cairn_workflow *workflow;
        int calls[2] = {0, 0};
        const char *const needs[] = {"a", NULL};
        good(cairn_workflow_new(&workflow, "calls", &error));
        good(cairn_workflow_add(
            workflow,
            &(struct cairn_task){.id = "a", .call = call, .context = &calls[0]},
            &error));
        good(cairn_workflow_add(
            workflow,
            &(struct cairn_task){
                .id = "b", .call = call, .context = &calls[1], .needs = needs},
            &error));
        arm(n);
        int code = cairn_run(workflow, store, &fresh, &result, &error);
        bool came = disarm();
        ck_assert_msg(code == CAIRN_ENOMEM || code == 0, "allocation %ld: code %d: %s",
                      n, code, error.text);
        if (code || result.exit_status) {
            good(cairn_run(workflow, store, &options, &result, &error));
            ck_assert_int_eq(result.exit_status, 0);
        }
        ck_assert(calls[0] >= 1 && calls[1] >= 1);
        cairn_workflow_free(workflow);
        if (!came)
            break;
    }
    cairn_store_close(store);
}
END_TEST

static enum cairn_outcome call_with_value(void *context, struct cairn_attempt *attempt)
{
    ++*(int *)context;
    return cairn_attempt_set(attempt, "v", "1", NULL) ? CAIRN_FAILED : CAIRN_COMPLETED;
}

static struct cairn_workflow *reusing(int calls[2])
{
    static const char *const needs[] = {"a", NULL};
    struct cairn_workflow *workflow;
    struct cairn_task task = {
        .id = "a", .call = call_with_value, .context = &calls[0], .reuse = true};
    good(cairn_workflow_new(&workflow, "reusing", &error));
    good(cairn_workflow_add(workflow, &task, &error));
    task.id = "b";
    task.context = &calls[1];
    task.needs = needs;
    good(cairn_workflow_add(workflow, &task, &error));
    return workflow;
}

/* What an earlier run has done is used, or done again. */
START_TEST(test_reusing)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result;
    struct cairn_run_options fresh = {.start = CAIRN_START_FRESH}, options = {0};
    bool came = true;
    int calls[2] = {0, 0};
    struct cairn_workflow *workflow = reusing(calls);
    good(cairn_run(workflow, store, &fresh, &result, &error));
    ck_assert(calls[0] == 1 && calls[1] == 1);
    cairn_workflow_free(workflow);
    for (long n = 1; came; n += 13) {
        calls[0] = calls[1] = 0;
        workflow = reusing(calls);
        arm(n);
        int code = cairn_run(workflow, store, &fresh, &result, &error);
        came = disarm();
        ck_assert_msg(code == CAIRN_ENOMEM || code == 0, "allocation %ld: code %d: %s",
                      n, code, error.text);
        if (code || result.exit_status)
            good(cairn_run(workflow, store, &options, &result, &error));
        ck_assert_int_eq(result.exit_status, 0);
        ck_assert(came || (calls[0] == 0 && calls[1] == 0));
        cairn_workflow_free(workflow);
    }
    cairn_store_close(store);
}
END_TEST

static int count_row(void *context, const struct salvage_row *row)
{
    (void)row;
    ++*(int *)context;
    return 0;
}

static int salvage_objects(const char *database, int *rows)
{
    struct pages pages = {0};
    struct salvage salvage = {0};
    *rows = 0;
    int code = pages_load(&pages, database, "no-log", &error);
    if (!code)
        code = salvage_open(&salvage, &pages, &error);
    if (!code)
        code = salvage_reached(&salvage, SALVAGE_OBJECT, count_row, rows, &error);
    salvage_close(&salvage);
    pages_release(&pages);
    return code;
}

enum { OBJECTS = 12 };

/* A store with objects of several pages each; out: its database. */
static void store_objects(char database[4200])
{
    char content[20000];
    struct cairn_store *store = open_store();
    struct digest digest;
    good(store_begin(store, -1, &error));
    for (uint32_t i = 0; i < OBJECTS; i++) {
        uint32_t next = i;
        for (size_t k = 0; k < sizeof content; k++) {
            next = next * 1664525 + 1013904223;
            content[k] = (char)(next >> 24);
        }
        struct str bytes = {content, sizeof content / OBJECTS * (OBJECTS - i)};
        good(store_put_object(store, bytes, &digest, &error));
    }
    good(store_commit(store, &error));
    snprintf(database, 4200, "%s/cairn.db", cairn_store_path(store));
    cairn_store_close(store);
}

/* A row that there is no memory for is not passed over as a damaged one. */
START_TEST(test_salvaging)
{
    char database[4200];
    store_objects(database);
    for (long n = 1;; n++) {
        int rows;
        arm(n);
        int code = salvage_objects(database, &rows);
        if (!disarm())
            break;
        ck_assert_msg(code ? code == CAIRN_ENOMEM : rows == OBJECTS,
                      "allocation %ld: code %d, %d rows", n, code, rows);
    }
}
END_TEST

/* Eight versions, of which each is made from the one before; then, with the n-th
 * allocation failing, one more is put, and read. */
enum { VERSIONS = 8 };
static struct str version_of(uint32_t n)
{
    static char content[3000];
    for (size_t k = 0; k < sizeof content; k++)
        content[k] = (char)(k * 2654435761u >> 13);
    memcpy(content + 100 * n, &n, sizeof n);
    return (struct str){content, sizeof content};
}

/* Put, read, and taken back, so that it can be put anew. */
static int try_version(struct cairn_store *store, const struct digest *before,
                       struct buf *out)
{
    struct digest digest;
    int code = store_begin(store, -1, &error);
    if (code)
        return code;
    code = store_put_object_after(store, version_of(VERSIONS), before, &digest, &error);
    if (!code)
        code = store_get_object(store, &digest, out, &error);
    store_abort(store);
    return code;
}

static int no_damage(void *context, const char *hex, const char *why)
{
    (void)hex;
    ++*(int *)context;
    printf("# %s\n", why);
    return 0;
}

/* What there was no memory to read is not taken for damage. */
START_TEST(test_bases)
{
    struct digest digests[VERSIONS];
    struct cairn_store *store = open_store();
    good(store_begin(store, -1, &error));
    good(store_put_object(store, version_of(0), &digests[0], &error));
    for (uint32_t i = 1; i < VERSIONS; i++)
        good(store_put_object_after(store, version_of(i), &digests[i - 1], &digests[i],
                                    &error));
    good(store_commit(store, &error));
    for (long n = 1;; n++) {
        struct buf out = BUF_INIT;
        uint64_t checked;
        int bad = 0;
        cairn_store_close(store);
        store = open_store();
        arm(n);
        int code = store_get_object(store, &digests[VERSIONS - 1], &out, &error);
        int every = store_verify_objects(store, &checked, no_damage, &bad, &error);
        bool failed = disarm();
        ck_assert_msg(code == 0 || code == CAIRN_ENOMEM, "%ld: %s", n, error.text);
        ck_assert_msg(every == 0 || every == CAIRN_ENOMEM, "%ld: %s", n, error.text);
        ck_assert_int_eq(bad, 0);
        ck_assert(code ? out.size == 0
                       : str_equal(buf_view(&out), version_of(VERSIONS - 1)));
        buf_release(&out);
        if (!failed)
            break;
    }
    for (long n = 1;; n++) {
        cairn_store_close(store);
        store = open_store();
        arm(n);
        struct buf out = BUF_INIT;
        int code = try_version(store, &digests[VERSIONS - 1], &out);
        bool failed = disarm();
        ck_assert_msg(code == 0 || code == CAIRN_ENOMEM, "%ld: %s", n, error.text);
        ck_assert(code || str_equal(buf_view(&out), version_of(VERSIONS)));
        buf_release(&out);
        if (!failed)
            break;
    }
    cairn_store_close(store);
}
END_TEST

static int note_line(void *context, const char *line)
{
    snprintf(context, 200, "%s", line);
    return 0;
}

static void damage_last_page(const char *database)
{
    struct stat st;
    static const char noise[512] = {1, 2, 3};
    int fd = open(database, O_WRONLY);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(pwrite(fd, noise, sizeof noise, st.st_size - 4096), sizeof noise);
    ck_assert_int_eq(close(fd), 0);
}

/* The code of the check, the n-th allocation refused, unless there were not so many. */
static int check_pages(long n, char line[200], bool *came)
{
    struct cairn_store *store = open_store();
    line[0] = 0;
    arm(n);
    int code = store_check_pages(store, note_line, line, &error);
    *came = disarm();
    cairn_store_close(store);
    return code;
}

/* SQLite's check of pages continues where there is no memory for one, and lists it. */
START_TEST(test_checking_pages)
{
    bool came = true;
    char database[4200], line[200];
    store_objects(database);
    for (long n = 1; came; n++) {
        int code = check_pages(n, line, &came);
        ck_assert_msg((!code || code == CAIRN_ENOMEM) && !line[0],
                      "allocation %ld: code %d, told: %s", n, code, line);
    }
    damage_last_page(database);
    came = true;
    for (long n = 1; came; n++) {
        int code = check_pages(n, line, &came);
        ck_assert_msg(code || line[0], "allocation %ld: nothing is told", n);
    }
}
END_TEST

static enum cairn_outcome do_nothing(void *context, struct cairn_attempt *attempt)
{
    (void)context, (void)attempt;
    return CAIRN_COMPLETED;
}

/* With a run, an object, and a command to it. */
static void make_store(void)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result;
    struct cairn_workflow *workflow = workflow_named("calls");
    struct command_row command = {
        .run = 1, .verb = COMMAND_COMPLETE, .gen = 1, .data = STR("text")};
    add(workflow, (struct cairn_task){.id = "a", .call = do_nothing});
    good(cairn_run(workflow, store, NULL, &result, &error));
    cairn_workflow_free(workflow);
    good(store_begin(store, -1, &error));
    good(store_put_command(store, &command, &error));
    good(store_commit(store, &error));
    cairn_store_close(store);
}

static void count_lost(void *context, const struct salvage_row *row)
{
    (void)row;
    ++*(int *)context;
}

/* The rows of one table into a new store, the n-th allocation refused. *used: how many
 * there were until then. */
static int rescue_rows(enum salvage_table table, long n, uint64_t *saved, int *lost,
                       long *used)
{
    struct rescue *rescue = NULL;
    char aside[RESCUE_ASIDE];
    uint64_t others;
    good(rescue_open(&rescue, ".cairn", NULL, aside, &error));
    good(rescue_begin(rescue, &error));
    good(store_begin(rescue_store(rescue), -1, &error));
    for (enum salvage_table t = SALVAGE_META; t < table; t++)
        if (t != SALVAGE_CHECKPOINT)
            good(rescue_table(rescue, t, &others, NULL, NULL, &error));
    *lost = 0;
    arm(n);
    int code = rescue_table(rescue, table, saved, count_lost, lost, &error);
    disarm();
    *used = n - left;
    rescue_close(rescue);
    return code;
}

/* What there was no memory to check is not taken for damage. Between the first and the
 * last allocations statements are prepared. */
START_TEST(test_repairing)
{
    enum { SOME = 45 };
    static const enum salvage_table tables[] = {SALVAGE_RUN, SALVAGE_OBJECT,
                                                SALVAGE_COMMAND};
    make_store();
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        uint64_t whole, saved;
        long all, used;
        int lost;
        good(rescue_rows(tables[i], LONG_MAX, &whole, &lost, &all));
        ck_assert(whole > 0 && lost == 0);
        for (long n = 1; n <= all; n++) {
            n = n > SOME && n < all - SOME ? all - SOME : n;
            int code = rescue_rows(tables[i], n, &saved, &lost, &used);
            ck_assert_msg(code ? code == CAIRN_ENOMEM : saved == whole && lost == 0,
                          "table %d, allocation %ld of %ld: code %d (%s), %d lost",
                          (int)tables[i], n, all, code, error.text, lost);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_loading_a_workflow);
    tcase_add_test(c, test_building_a_workflow);
    tcase_add_test(c, test_setting_keys);
    tcase_add_test(c, test_params_of_a_run);
    tcase_add_test(c, test_completing_from_outside);
    tcase_add_test(c, test_claiming);
    tcase_add_test(c, test_running);
    tcase_add_test(c, test_reusing);
    tcase_add_test(c, test_salvaging);
    tcase_add_test(c, test_bases);
    tcase_add_test(c, test_checking_pages);
    tcase_add_test(c, test_repairing);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
