/* SPDX-License-Identifier: MIT */
/* Every public function that takes a struct with `size` first, from a program that was
 * compiled with other headers: one page that cannot be read is behind each struct. */
#include "base/struct_take.h"
#include "cairn.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char dir[256];
static struct cairn_store *store;
static struct cairn_error error;
static struct cairn_workflow *workflow;
static struct cairn_registry *registry;
static struct cairn_agent_event *event;
static struct cairn_agent_told told;
static bool more;

static int write_none(void *context, const char *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
    return 0;
}

static int no_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    (void)context, (void)info;
    return 0;
}

static int64_t read_none(void *context, char *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
    return 0;
}

static int call_item_list(const void *g)
{
    return cairn_item_list(store, NULL, g, NULL, NULL, NULL, &error);
}

static int call_session_exec(const void *g)
{
    return cairn_session_exec(store, NULL, g, &(struct cairn_exec_result){0}, &error);
}

static int call_check_run(const void *g)
{
    return cairn_check_run(store, NULL, "c1", g, NULL, &error);
}

static int call_checkpoint_list(const void *g)
{
    return cairn_checkpoint_list(store, g, no_checkpoint, NULL, NULL, &error);
}

static int call_checkpoint_newest(const void *g)
{
    return cairn_checkpoint_newest(store, g, &(struct cairn_checkpoint_info){0}, NULL,
                                   &error);
}

static int call_files_compare(const void *g)
{
    return cairn_files_compare(store, NULL, "1", NULL, g, NULL, NULL, &error);
}

static int call_files_search(const void *g)
{
    return cairn_files_search(store, NULL, g, NULL, NULL,
                              &(struct cairn_files_searched){0}, &error);
}

static int call_watch_open(const void *g)
{
    struct cairn_watch *watch = NULL;
    int rc = cairn_watch_open(&watch, store, NULL, g, &error);
    cairn_watch_close(watch);
    return rc;
}

static int call_checkpoint_prune(const void *g)
{
    return cairn_checkpoint_prune(store, g, NULL, &error);
}

static int call_session_prune(const void *g)
{
    return cairn_session_prune(store, NULL, g, true, NULL, &error);
}

static int call_gc(const void *g)
{
    return cairn_gc(store, g, NULL, &error);
}

static int call_session_size(const void *g)
{
    return cairn_session_size(store, NULL, g, &error);
}

static int call_message_add(const void *g)
{
    return cairn_message_add(store, NULL, g, NULL, &error);
}

static int call_agent_look(const void *g)
{
    return cairn_agent_look(store, event, g, &told, &more, &error);
}

static int call_agent_tell(const void *g)
{
    return cairn_agent_tell(store, event, g, &told, &error);
}

static int call_hooks_run(const void *g)
{
    return cairn_hooks_run(store, g, &error);
}

static int call_hooks_run_host(const void *g)
{
    return cairn_hooks_run(store, &(struct cairn_hooks){.host = g}, &error);
}

static int call_session_exec_host(const void *g)
{
    return cairn_session_exec(store, NULL, &(struct cairn_exec){.host = g},
                              &(struct cairn_exec_result){0}, &error);
}

static int call_plan(const void *g)
{
    struct cairn_plan *plan = NULL;
    int rc = cairn_plan(&plan, workflow, store, g, &error);
    cairn_plan_free(plan);
    return rc;
}

static int call_clean_stale(const void *g)
{
    return cairn_clean_stale(workflow, store, g, false, NULL, NULL, &error);
}

static int call_session_restore(const void *g)
{
    return cairn_session_restore(store, NULL, "7", g, NULL, &error);
}

static int call_session_undo_restore(const void *g)
{
    return cairn_session_undo_restore(store, NULL, g, NULL, &error);
}

static int call_session_redo_restore(const void *g)
{
    return cairn_session_redo_restore(store, NULL, g, NULL, &error);
}

static int call_branch_start(const void *g)
{
    static unsigned n;
    char name[16];
    snprintf(name, sizeof name, "b%u", n++);
    return cairn_branch_start(store, NULL, name, NULL, g, NULL, &error);
}

static int call_branch_switch(const void *g)
{
    return cairn_branch_switch(store, NULL, "none", g, NULL, &error);
}

static int call_run(const void *g)
{
    return cairn_run(workflow, store, g, NULL, &error);
}

static int call_undo(const void *g)
{
    return cairn_undo(store, 77, NULL, 0, g, NULL, &error);
}

static int call_add(const void *g)
{
    return cairn_add(store, 77, g, NULL, &error);
}

static int call_artifact_get(const void *g)
{
    return cairn_artifact_get(store, g, NULL, NULL, &error);
}

static int call_shell(const void *g)
{
    struct cairn_shell *shell = NULL;
    return cairn_shell(&shell, store, 77, "t", g, &error);
}

static int call_search(const void *g)
{
    return cairn_search(store, g, NULL, NULL, NULL, NULL, &error);
}

static int call_session_checkpoint(const void *g)
{
    return cairn_session_checkpoint(store, NULL, g, NULL, &error);
}

static int call_session_task_failed(const void *g)
{
    return cairn_session_task_failed(store, NULL, g, NULL, &error);
}

static int call_session_at(const void *g)
{
    return cairn_session_at(store, NULL, g, &(struct cairn_checkpoint_info){0}, &error);
}

static int call_session_export(const void *g)
{
    return cairn_session_export(store, NULL, false, write_none, NULL, g, NULL, &error);
}

static int call_session_import(const void *g)
{
    return cairn_session_import(store, read_none, NULL, g, NULL, &error);
}

static int call_thread_put(const void *g)
{
    return cairn_thread_put(store, g, 1, NULL, 0, &error);
}

static int call_thread_put_writes(const void *g)
{
    return cairn_thread_put(store, NULL, 0, g, 1, &error);
}

static int call_thread_list(const void *g)
{
    return cairn_thread_list(store, g, NULL, NULL, &error);
}

static int call_workflow_open(const void *g)
{
    struct cairn_workflow *made = NULL;
    int rc = cairn_workflow_open(&made, g, &error);
    cairn_workflow_free(made);
    return rc;
}

static int call_registry_add(const void *g)
{
    return cairn_registry_add(registry, g, &error);
}

static int call_workflow_add(const void *g)
{
    return cairn_workflow_add(workflow, g, &error);
}

static int call_workflow_add_foreach(const void *g)
{
    return cairn_workflow_add(workflow, &(struct cairn_task){.id = "g", .foreach = g},
                              &error);
}

static int call_store_open(const void *g)
{
    struct cairn_store *made = NULL;
    int rc = cairn_store_open(&made, g, &error);
    cairn_store_close(made);
    return rc;
}

static int call_files_log(const void *g)
{
    return cairn_files_log(store, NULL, "f", false, 0, (void *)(uintptr_t)g, NULL, NULL,
                           &error);
}

static int call_files_blame(const void *g)
{
    return cairn_files_blame(store, NULL, NULL, "f", 0, (void *)(uintptr_t)g, NULL,
                             NULL, &error);
}

static int call_files_search_part(const void *g)
{
    const struct cairn_files_search search = {.pattern = "x",
                                              .part = (void *)(uintptr_t)g};
    return cairn_files_search(store, NULL, &search, NULL, NULL,
                              &(struct cairn_files_searched){0}, &error);
}

static const struct row {
    const char *name, *tag;
    int (*call)(const void *given);
    size_t size;
} rows[] = {
#define ROW(name, tag)                               \
    {                                                \
#name, #tag, call_##name, sizeof(struct tag) \
    }
    ROW(item_list, cairn_item_filter),
    ROW(session_exec, cairn_exec),
    ROW(check_run, cairn_command_host),
    ROW(checkpoint_list, cairn_checkpoint_filter),
    ROW(checkpoint_newest, cairn_checkpoint_filter),
    ROW(files_compare, cairn_files_diff),
    ROW(files_search, cairn_files_search),
    ROW(watch_open, cairn_watch_options),
    ROW(checkpoint_prune, cairn_prune_options),
    ROW(session_prune, cairn_keep_rules),
    ROW(gc, cairn_gc_options),
    ROW(session_size, cairn_size_request),
    ROW(message_add, cairn_new_message),
    ROW(agent_look, cairn_agent_options),
    ROW(agent_tell, cairn_agent_options),
    ROW(hooks_run, cairn_hooks),
    ROW(hooks_run_host, cairn_command_host),
    ROW(session_exec_host, cairn_command_host),
    ROW(plan, cairn_run_options),
    ROW(clean_stale, cairn_run_options),
    ROW(session_restore, cairn_restore_options),
    ROW(session_undo_restore, cairn_restore_options),
    ROW(session_redo_restore, cairn_restore_options),
    ROW(branch_start, cairn_restore_options),
    ROW(branch_switch, cairn_restore_options),
    ROW(run, cairn_run_options),
    ROW(undo, cairn_run_options),
    ROW(add, cairn_addition),
    ROW(artifact_get, cairn_artifact_get),
    ROW(shell, cairn_shell_options),
    ROW(search, cairn_search),
    ROW(session_checkpoint, cairn_capture),
    ROW(session_task_failed, cairn_task_failure),
    ROW(session_at, cairn_moment),
    ROW(session_export, cairn_transfer_calls),
    ROW(session_import, cairn_transfer_calls),
    ROW(thread_put, cairn_thread_state),
    ROW(thread_put_writes, cairn_thread_writes),
    ROW(thread_list, cairn_thread_filter),
    ROW(workflow_open, cairn_source),
    ROW(registry_add, cairn_callback),
    ROW(workflow_add, cairn_task),
    ROW(workflow_add_foreach, cairn_foreach),
    ROW(store_open, cairn_store_options),
    ROW(files_log, cairn_files_part),
    ROW(files_blame, cairn_files_part),
    ROW(files_search_part, cairn_files_part),
};
enum { ROWS = sizeof rows / sizeof *rows };

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[300];
    snprintf(dir, sizeof dir, "%s/check_struct_sizes.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    snprintf(path, sizeof path, "%s/.cairn", dir);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    static const char start[] = "{\"hook_event_name\":\"SessionStart\","
                                "\"session_id\":\"s\",\"cwd\":\"/\"}";
    struct cairn_session_info info;
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), 0);
    ck_assert_int_eq(cairn_session_start(store, "s", true, &info, &error), 0);
    ck_assert_int_eq(cairn_workflow_new(&workflow, "w", &error), 0);
    ck_assert_int_eq(cairn_registry_new(&registry, &error), 0);
    ck_assert_msg(cairn_agent_event_read(&event, start, sizeof start - 1, &error) == 0,
                  "%s", error.text);
}

static void teardown(void)
{
    cairn_agent_event_free(event);
    cairn_registry_free(registry);
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    remove_tree(dir);
}

/* A struct of so many bytes that says it has `size`, all others 0 but for the last. */
static int call_with(const struct row *row, size_t bytes, size_t size, uint8_t last)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(at != MAP_FAILED && bytes <= page);
    ck_assert_int_eq(mprotect(at + page, page, PROT_NONE), 0);
    uint8_t *given = at + page - bytes;
    given[bytes - 1] = last;
    memcpy(given, &size, sizeof size);
    error = (struct cairn_error){0};
    int rc = row->call(given);
    munmap(at, 2 * page);
    return rc;
}

static bool says(const struct row *row, const char *text)
{
    char all[128];
    snprintf(all, sizeof all, "struct %s%s", row->tag, text);
    return strstr(error.text, all) != NULL;
}

/* Whole structs of zeros, and what of them an older program has, are the same. */
START_TEST(test_shorter)
{
    const struct row *row = &rows[_i];
    int whole = call_with(row, row->size, row->size, 0);
    ck_assert_msg(!strstr(error.text, "struct cairn"), "%s: %s", row->name, error.text);
    for (size_t size = sizeof(size_t); size < row->size; size += sizeof(size_t)) {
        int rc = call_with(row, size, size, 0);
        ck_assert_msg(!strstr(error.text, "struct cairn"), "%s: %s", row->name,
                      error.text);
        ck_assert_msg((rc == 0) == (whole == 0), "%s of %zu: %d, not %d: %s", row->name,
                      size, rc, whole, error.text);
    }
    call_with(row, row->size, 0, 0);
    ck_assert_msg(!strstr(error.text, "struct cairn"), "%s: %s", row->name, error.text);
}
END_TEST

START_TEST(test_longer)
{
    const struct row *row = &rows[_i];
    size_t longer = row->size + sizeof(size_t);
    call_with(row, longer, longer, 0);
    ck_assert_msg(!strstr(error.text, "struct cairn"), "%s: %s", row->name, error.text);
    ck_assert_int_eq(call_with(row, longer, longer, 1), CAIRN_EUSAGE);
    ck_assert_msg(says(row, " has "), "%s: %s", row->name, error.text);
}
END_TEST

START_TEST(test_no_size)
{
    static const size_t none[] = {1, sizeof(size_t) - 1, 4097, SIZE_MAX};
    const struct row *row = &rows[_i];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_int_eq(call_with(row, sizeof(size_t), none[i], 0), CAIRN_EUSAGE);
        ck_assert_msg(says(row, " is "), "%s: %s", row->name, error.text);
    }
}
END_TEST

/* Of an array each element is found by the size of the first. */
START_TEST(test_array)
{
    enum { SHORT = offsetof(struct cairn_thread_state, channels), N = 3 };
    struct cairn_thread_state whole[N] = {
        {.size = SHORT}, {.size = SHORT}, {.size = 8}};
    uint8_t *given = malloc(N * SHORT);
    ck_assert_ptr_nonnull(given);
    for (size_t i = 0; i < N; i++) {
        whole[i].thread = (struct cairn_bytes){"t", 1};
        whole[i].id = (struct cairn_bytes){&"abc"[i], 1};
        memcpy(given + i * SHORT, &whole[i], SHORT);
    }
    ck_assert_int_eq(cairn_thread_put(store, (void *)given, N, NULL, 0, &error),
                     CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "in one of an array"));
    ck_assert_int_eq(cairn_thread_put(store, (void *)given, N - 1, NULL, 0, &error), 0);
    uint64_t states = 0;
    ck_assert_int_eq(cairn_thread_delete(store, whole[0].thread, &states, &error), 0);
    ck_assert_uint_eq(states, 2);
    free(given);
}
END_TEST

/* What is set for the caller goes no further than its struct. */
START_TEST(test_give)
{
    struct cairn_files_part whole = {.next = 3, .next_nth = 4}, given = {.next = 1};
    struct cairn_files_part *to = &given;
    given.size = offsetof(struct cairn_files_part, next_nth);
    STRUCT_GIVE(cairn_files_part, to, &whole);
    ck_assert_uint_eq(given.size, offsetof(struct cairn_files_part, next_nth));
    ck_assert_uint_eq(given.next, 3);
    ck_assert_uint_eq(given.next_nth, 0);
}
END_TEST

START_TEST(test_is_unchanged)
{
    struct cairn_store_options options = {.path = cairn_store_path(store),
                                          .read_only = true};
    struct cairn_store *reader;
    ck_assert_int_eq(cairn_store_open(&reader, &options, &error), 0);
    options.size = offsetof(struct cairn_store_options, key_file);
    ck_assert(cairn_store_is_unchanged(reader, &options));
    options.size = 1;
    ck_assert(!cairn_store_is_unchanged(reader, &options));
    cairn_store_close(reader);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("struct_sizes");
    TCase *tcase = tcase_create("sizes");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, test_shorter, 0, ROWS);
    tcase_add_loop_test(tcase, test_longer, 0, ROWS);
    tcase_add_loop_test(tcase, test_no_size, 0, ROWS);
    tcase_add_test(tcase, test_array);
    tcase_add_test(tcase, test_give);
    tcase_add_test(tcase, test_is_unchanged);
    suite_add_tcase(suite, tcase);
    return help_run(suite);
}
