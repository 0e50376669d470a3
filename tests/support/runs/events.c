/* SPDX-License-Identifier: MIT */
#include "tests/support/runs/events.h"

#include "graph/definition_codec.h"
#include "storage/object.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"
#include "workflow/workflow.h"

#include <unistd.h>

struct cairn_error error;
struct cairn_store *store;
char store_path[300];
static char dir[256];

void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

void open_store(bool read_only)
{
    struct cairn_store_options options = {.path = store_path,
                                          .create = !read_only,
                                          .read_only = read_only,
                                          .sync = CAIRN_SYNC_OFF};
    good(cairn_store_open(&store, &options, &error));
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_events.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(store_path, sizeof store_path, "%s/.cairn", dir);
    open_store(false);
}

static void teardown(void)
{
    cairn_store_close(store);
    remove_tree(dir);
}

/* ---- Making rows ---- */

static const char first_graph[] = "name: w\n"
                                  "tasks:\n"
                                  "  a: {run: 'true'}\n"
                                  "  b: {run: 'true'}\n"
                                  "  c: {run: 'true', needs: [a]}\n";
static const char second_graph[] = "name: w\n"
                                   "tasks:\n"
                                   "  new: {run: 'true'}\n"
                                   "  a: {run: 'true'}\n";

static void put_graph(const char *text, struct digest *digest)
{
    struct cairn_workflow *w = NULL;
    struct buf encoded = BUF_INIT;
    good(cairn_workflow_parse(&w, text, strlen(text), "w.yaml", NULL, 0, &error));
    good(cairn_workflow_compile(w, &error));
    good(definition_encode(&w->definition, &encoded, &error));
    good(store_put_object(store, buf_view(&encoded), digest, &error));
    buf_release(&encoded);
    cairn_workflow_free(w);
}

/* Run 1 has the first graph, then as generation 2 the second one. */
void put_run(void)
{
    struct run_row row = {.gen = 2,
                          .tasks = 2,
                          .file = STR(""),
                          .params_text = STR(""),
                          .owner_host = STR(""),
                          .owner_boot = STR("")};
    struct digest first;
    good(store_begin(store, 0, &error));
    put_graph(first_graph, &first);
    put_graph(second_graph, &row.graph);
    good(store_workflow_id(store, STR("w"), true, &row.workflow, &error));
    good(store_add_run(store, &row, &error));
    good(store_put_run_graph(store, row.run, 1, &first, &error));
    good(store_commit(store, &error));
}

void put_attempt(struct attempt_row row)
{
    row.run = 1;
    row.gen = row.gen ? row.gen : 1;
    row.number = row.number ? row.number : 1;
    row.intent_ns = row.intent_ns ? row.intent_ns : 1000;
    row.exit_code = row.exit_code ? row.exit_code : -1;
    good(store_put_attempt(store, &row, &error));
}

void put_event(uint64_t turn, uint8_t kind, uint8_t argument, uint32_t task,
               struct str data)
{
    struct event_row row = {.run = 1,
                            .turn = turn,
                            .time_ns = 77,
                            .kind = kind,
                            .argument = argument,
                            .gen = 1,
                            .task = task,
                            .data = data};
    good(store_put_event(store, &row, &error));
}

void put_list(uint64_t turn, uint8_t kind, uint8_t argument, uint32_t cause)
{
    static const uint32_t tasks[] = {1, 2};
    struct buf packed = BUF_INIT;
    tasks_pack(tasks, 2, &packed);
    put_event(turn, kind, argument, cause, buf_view(&packed));
    buf_release(&packed);
}

void put_checkpoint(uint64_t seq)
{
    struct digest digest = {{(uint8_t)seq}};
    struct checkpoint_row row = {.seq = seq,
                                 .namespace_id = NAMESPACE_WORKFLOW,
                                 .kind = 2,
                                 .stream = 1,
                                 .record = STR("x"),
                                 .digest = {(const char *)digest.bytes, DIGEST_SIZE}};
    good(store_begin(store, 0, &error));
    good(store_put_checkpoint(store, &row, &error));
    good(store_commit(store, &error));
}

/* ---- Seeing them ---- */

int add_short(void *context, const struct cairn_log_event *event)
{
    buf_format(context, "%d %s", (int)event->turn, event->kind);
    if (event->task)
        buf_format(context, " %s", event->task);
    if (event->attempt)
        buf_format(context, ".%u", event->attempt);
    buf_text(context, "\n");
    return 0;
}

/* Everything that there is to see. */
int add_long(void *context, const struct cairn_log_event *event)
{
    buf_format(context, "%d %d %s %s %u %s %d %d %d %s: %s\n", (int)event->turn,
               (int)event->time_ns, event->kind, event->task ? event->task : "-",
               event->attempt, cairn_outcome_name(event->outcome), event->exit_code,
               event->signal, (int)event->checkpoint,
               event->reason ? event->reason : "-", event->text ? event->text : "-");
    ck_assert_uint_eq(event->run, 1);
    return 0;
}

void expect_log(uint64_t after, int (*each)(void *, const struct cairn_log_event *),
                const char *want)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "");
    good(cairn_events(store, 0, after, each, &text, NULL, &error));
    ck_assert_str_eq(text.data ? text.data : "", want);
    buf_release(&text);
}

int run_events(const char *name, const TTest *const *tests, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return help_run(suite);
}
