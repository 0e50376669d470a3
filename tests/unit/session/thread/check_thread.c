/* SPDX-License-Identifier: MIT */
/* Threads: states and writes by keys of the caller, put and got through handles that are
 * closed and opened again between any two steps. */
#include "base/str.h"
#include "cairn.h"
#include "storage/rows_meta.h"
#include "storage/store.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char dir[256];
static struct cairn_store *store;
static struct cairn_error error;

static void open_again(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/.cairn", dir);
    cairn_store_close(store);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    ck_assert_msg(cairn_store_open(&store, &options, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_thread.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    store = NULL;
    open_again();
}

static void teardown(void)
{
    cairn_store_close(store);
    remove_tree(dir);
}

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%d: %s", rc, error.text);
}

static struct cairn_bytes text(const char *t)
{
    return (struct cairn_bytes){t, strlen(t)};
}
#define BYTES(literal) ((struct cairn_bytes){"" literal, sizeof(literal) - 1})

/* A state as one line: `id<parent kind:state metadata {channel=kind:value} [task.index
 * channel=value]`. */
static int append_state(void *context, const struct cairn_thread_found *found)
{
    struct buf *out = context;
    const struct cairn_thread_state *s = found->state;
#define ADD(b) buf_add(out, (b).bytes, (b).length)
    if (out->size)
        buf_byte(out, '\n');
    ADD(s->id);
    if (s->parent.length) {
        buf_byte(out, '<');
        ADD(s->parent);
    }
    buf_byte(out, ' ');
    ADD(s->kind);
    buf_byte(out, ':');
    ADD(s->state);
    buf_byte(out, ' ');
    ADD(s->metadata);
    for (size_t i = 0; i < s->n_channels; i++) {
        ck_assert(!s->channels[i].unchanged);
        buf_text(out, " {");
        ADD(s->channels[i].name);
        buf_byte(out, '=');
        ADD(s->channels[i].kind);
        buf_byte(out, ':');
        ADD(s->channels[i].value);
        buf_byte(out, '}');
    }
    for (size_t i = 0; i < found->n_writes; i++) {
        buf_text(out, " [");
        ADD(found->writes[i].task);
        buf_format(out, ".%" PRId32 " ", found->writes[i].index);
        ADD(found->writes[i].channel);
        buf_byte(out, '=');
        ADD(found->writes[i].value);
        buf_byte(out, ']');
    }
    return 0;
}

static void expect(const char *thread, const char *space, const char *id,
                   const char *wanted)
{
    struct buf got = BUF_INIT;
    struct cairn_bytes wish = text(id ? id : "");
    int rc = cairn_thread_get(store, text(thread), text(space), id ? &wish : NULL,
                              append_state, &got, &error);
    if (!wanted)
        ck_assert_int_eq(rc, CAIRN_ENOTFOUND);
    else
        good(rc);
    if (wanted)
        ck_assert_str_eq(got.data, wanted);
    buf_release(&got);
}

static int put(const struct cairn_thread_state *state)
{
    return cairn_thread_put(store, state, 1, NULL, 0, &error);
}

static void expect_sound(void)
{
    struct cairn_verify_result result = {0};
    good(cairn_checkpoint_verify(store, NULL, NULL, NULL, &result, &error));
    ck_assert_uint_eq(result.damaged, 0);
}

START_TEST(states_by_key)
{
    const struct cairn_thread_channel first[] = {
        {.name = text("n"), .kind = text("json"), .value = text("1")},
        {.name = text("log"), .kind = text("json"), .value = text("[]")}};
    const struct cairn_thread_channel second[] = {
        {.name = text("n"), .kind = text("json"), .value = text("2")},
        {.name = text("log"), .unchanged = true},
        {.name = text("none"), .unchanged = true}};
    struct cairn_thread_state state = {.thread = text("t"),
                                       .space = text(""),
                                       .id = text("1"),
                                       .kind = text("json"),
                                       .state = text("{}"),
                                       .metadata_kind = text("json"),
                                       .metadata = text("{\"step\":1}"),
                                       .channels = first,
                                       .n_channels = 2};
    expect("t", "", NULL, NULL);
    good(put(&state));
    open_again();
    expect("t", "", NULL, "1 json:{} {\"step\":1} {n=json:1} {log=json:[]}");
    state.id = text("2");
    state.parent = text("1");
    state.channels = second;
    state.n_channels = 3;
    ck_assert_int_eq(put(&state), CAIRN_ENOTFOUND);
    state.n_channels = 2;
    good(put(&state));
    expect("t", "", NULL, "2<1 json:{} {\"step\":1} {n=json:2} {log=json:[]}");
    open_again();
    expect("t", "", "1", "1 json:{} {\"step\":1} {n=json:1} {log=json:[]}");
    expect("t", "other", NULL, NULL);
    expect("u", "", NULL, NULL);
    expect("t", "", "3", NULL);
    state.parent = text("3"); /* is not there: a state is whole, or refused */
    ck_assert_int_eq(put(&state), CAIRN_ENOTFOUND);
    state.parent = text("1");
    state.only_new = true;
    ck_assert_int_eq(put(&state), CAIRN_EEXISTS);
    state.only_new = false;
    state.state = text("again");
    good(put(&state));
    expect("t", "", NULL, "2<1 json:again {\"step\":1} {n=json:2} {log=json:[]}");
    state.id = text("0"); /* not the greatest, though the newest */
    good(put(&state));
    open_again();
    expect("t", "", NULL, "2<1 json:again {\"step\":1} {n=json:2} {log=json:[]}");
    expect_sound();
}
END_TEST

START_TEST(any_bytes)
{
    char large[3000000];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7 + i / 251);
    const struct cairn_thread_channel channels[] = {
        {.name = BYTES("a\0b"), .kind = BYTES("\xff"), .value = BYTES("\0\0")},
        {.name = BYTES(""), .value = {large, sizeof large}},
        {.name = BYTES("|:"), .value = {large, 700}}};
    struct cairn_thread_state state = {.thread = BYTES("\0\xfe|:/ thread%"),
                                       .space = BYTES("a|b:\0"),
                                       .id = BYTES("\0"),
                                       .parent = BYTES("\xff\0"),
                                       .state = {large, 5000},
                                       .channels = channels,
                                       .n_channels = 3};
    char name[CAIRN_SESSION_NAME_MAX * 2];
    struct buf got = BUF_INIT, wanted = BUF_INIT;
    struct cairn_thread_found as_put = {.state = &state};
    good(put(&state));
    open_again();
    good(cairn_thread_get(store, state.thread, state.space, &state.id, append_state,
                          &got, &error));
    append_state(&wanted, &as_put);
    ck_assert(str_equal(buf_view(&got), buf_view(&wanted)));
    memset(name, 'x', sizeof name); /* a name that no session has */
    state.thread = (struct cairn_bytes){name, sizeof name};
    good(put(&state));
    name[sizeof name - 1] = 'y';
    ck_assert_int_eq(cairn_thread_get(store, state.thread, state.space, NULL,
                                      append_state, &got, &error),
                     CAIRN_ENOTFOUND);
    name[sizeof name - 1] = 'x';
    buf_clear(&got);
    good(cairn_thread_get(store, state.thread, state.space, NULL, append_state, &got,
                          &error));
    ck_assert(str_equal(buf_view(&got), buf_view(&wanted)));
    expect_sound();
    buf_release(&got);
    buf_release(&wanted);
}
END_TEST

static void put_write(const char *id, const char *task, int32_t index,
                      const char *value)
{
    const struct cairn_thread_write write = {.task = text(task),
                                             .channel = text("c"),
                                             .kind = text("json"),
                                             .value = text(value),
                                             .index = index};
    const struct cairn_thread_writes writes = {.thread = text("t"),
                                               .space = text(""),
                                               .id = text(id),
                                               .writes = &write,
                                               .n_writes = 1};
    good(cairn_thread_put(store, NULL, 0, &writes, 1, &error));
}

START_TEST(writes_of_a_step)
{
    struct cairn_thread_state state = {
        .thread = text("t"), .id = text("1"), .state = text("s")};
    put_write("1", "b", 0, "early"); /* before its state */
    expect("t", "", "1", NULL);
    expect("t", "", NULL, NULL);
    good(put(&state));
    put_write("1", "b", 0, "late");
    put_write("1", "a", -1, "first");
    put_write("1", "a", 1, "x");
    put_write("1", "a", -1, "last");
    open_again();
    expect("t", "", "1", "1 :s  [a.-1 c=last] [a.1 c=x] [b.0 c=early]");
    good(put(&state)); /* they stay */
    expect("t", "", NULL, "1 :s  [a.-1 c=last] [a.1 c=x] [b.0 c=early]");
    put_write("9", "z", 0, "of none");
    expect("t", "", NULL, "1 :s  [a.-1 c=last] [a.1 c=x] [b.0 c=early]");
    for (int i = 0; i < 200; i++)
        put_write("1", "b", 0, "repeated");
    expect("t", "", NULL, "1 :s  [a.-1 c=last] [a.1 c=x] [b.0 c=early]");
    expect_sound();
}
END_TEST

struct listed {
    char text[600];
};

static int list_one(void *context, const struct cairn_thread_found *found)
{
    struct listed *l = context;
    size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, "%s%.*s/%.*s/%.*s", n ? " " : "",
             (int)found->state->thread.length, (const char *)found->state->thread.bytes,
             (int)found->state->space.length, (const char *)found->state->space.bytes,
             (int)found->state->id.length, (const char *)found->state->id.bytes);
    return 0;
}

static void expect_list(const struct cairn_thread_filter *filter, const char *wanted)
{
    struct listed l = {""};
    good(cairn_thread_list(store, filter, list_one, &l, &error));
    ck_assert_str_eq(l.text, wanted);
}

START_TEST(lists)
{
    static const char *const keys[][4] = {
        {"t", "", "1", "{\"step\":1,\"source\":\"in\"}"},
        {"t", "", "3", "{\"step\":3.0,\"source\":\"loop\",\"deep\":{\"a\":[1,2]}}"},
        {"t", "s", "2", "{\"step\":2}"},
        {"u", "", "2", "{\"step\":2,\"source\":\"lo\\u006fp\"}"},
        {"t", "", "2", "no json"}};
    struct cairn_thread_state states[5] = {0};
    const struct cairn_bytes t = text("t"), root = text(""), before = text("3");
    for (int i = 0; i < 5; i++) {
        states[i].size = sizeof states[i];
        states[i].thread = text(keys[i][0]);
        states[i].space = text(keys[i][1]);
        states[i].id = text(keys[i][2]);
        states[i].metadata = text(keys[i][3]);
    }
    good(cairn_thread_put(store, states, 5, NULL, 0, &error));
    open_again();
    struct cairn_thread_filter filter = {.size = sizeof filter};
    expect_list(&filter, "t//3 u//2 t/s/2 t//2 t//1");
    filter.thread = &t;
    expect_list(&filter, "t//3 t/s/2 t//2 t//1");
    filter.space = &root;
    expect_list(&filter, "t//3 t//2 t//1");
    filter.before = &before;
    expect_list(&filter, "t//2 t//1");
    filter.limit = 1;
    expect_list(&filter, "t//2");
    filter.metadata = "{\"step\":1}";
    expect_list(&filter, "t//1");
    filter = (struct cairn_thread_filter){.metadata = "{\"source\":\"loop\"}"};
    expect_list(&filter, "t//3 u//2");
    filter.metadata = "{\"step\":3,\"deep\":{\"a\":[1,2]}}";
    expect_list(&filter, "t//3");
    filter.metadata = "{\"step\":3,\"deep\":{\"a\":[1]}}";
    expect_list(&filter, "");
    filter.metadata = "{}";
    expect_list(&filter, "t//3 u//2 t/s/2 t//2 t//1");
    filter.metadata = "[1]";
    struct listed none = {""};
    ck_assert_int_eq(cairn_thread_list(store, &filter, list_one, &none, &error),
                     CAIRN_EUSAGE);
}
END_TEST

static int count_thread(void *context, const struct cairn_thread_info *info)
{
    size_t *n = context;
    n[0]++;
    n[1] += (size_t)info->states;
    return 0;
}

/* More than a page of a list, and than a record takes. */
START_TEST(many_states)
{
    enum { N = 300 };
    static struct cairn_thread_state states[N];
    static char ids[N][8];
    static struct cairn_thread_channel unchanged[N][2];
    char value[400];
    struct cairn_bytes thread = text("many");
    size_t n[2] = {0, 0};
    memset(value, 'v', sizeof value);
    for (int i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "%05d", i);
        unchanged[i][0] = (struct cairn_thread_channel){
            .name = text("big"), .value = {value, sizeof value}, .unchanged = i > 0};
        unchanged[i][1] =
            (struct cairn_thread_channel){.name = text("n"), .value = text(ids[i])};
        states[i] = (struct cairn_thread_state){.size = sizeof states[i],
                                                .thread = thread,
                                                .id = text(ids[i]),
                                                .state = text("s"),
                                                .channels = unchanged[i],
                                                .n_channels = 2};
        if (i)
            states[i].parent = text(ids[i - 1]);
    }
    good(cairn_thread_put(store, states, N / 2, NULL, 0, &error));
    open_again();
    for (int i = N / 2; i < N; i++)
        good(put(&states[i]));
    open_again();
    struct buf got = BUF_INIT, wanted = BUF_INIT;
    const struct cairn_thread_filter filter = {.thread = &thread};
    good(cairn_thread_list(store, &filter, append_state, &got, &error));
    for (int i = N; i-- > 0;) {
        unchanged[i][0].unchanged = false;
        append_state(&wanted, &(struct cairn_thread_found){.state = &states[i]});
    }
    ck_assert_str_eq(got.data, wanted.data);
    buf_release(&got);
    buf_release(&wanted);
    expect_sound();
    good(cairn_thread_threads(store, count_thread, n, &error));
    ck_assert_uint_eq(n[0], 1);
    ck_assert_uint_eq(n[1], N);
    uint64_t deleted = 0;
    good(cairn_thread_delete(store, thread, &deleted, &error));
    ck_assert_uint_eq(deleted, N);
    good(cairn_thread_delete(store, thread, &deleted, &error));
    ck_assert_uint_eq(deleted, 0);
    open_again();
    expect("many", "", NULL, NULL);
    good(put(&states[0]));
    expect_sound();
}
END_TEST

static void declare_secret(void)
{
    good(store_begin(store, -1, &error));
    good(store_set_setting(store, "secrets", "CHECK_THREAD_SECRET", &error));
    good(store_commit(store, &error));
    ck_assert_int_eq(setenv("CHECK_THREAD_SECRET", "hunter2 and more", 1), 0);
}

static void expect_refused(int rc, const char *part)
{
    ck_assert_int_eq(rc, CAIRN_EUSAGE);
    ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
    ck_assert_ptr_null(strstr(error.text, "hunter2"));
}

/* As it is, or not at all. */
START_TEST(secrets)
{
    const char base64[] =
        "eyJhIjoiaHVudGVyMiBhbmQgbW9yZSJ9"; /* {"a":"hunter2 and more"} */
    struct cairn_thread_channel channel = {.name = text("c"), .value = text(base64)};
    struct cairn_thread_state state = {.thread = text("t"),
                                       .id = text("1"),
                                       .state = text("{}"),
                                       .channels = &channel,
                                       .n_channels = 1};
    const struct cairn_thread_write write = {.task = text("k"),
                                             .value = text("is hunter2 and more.")};
    struct cairn_thread_writes writes = {
        .thread = text("t"), .id = text("1"), .writes = &write, .n_writes = 1};
    declare_secret();
    expect_refused(put(&state), "CHECK_THREAD_SECRET");
    expect_refused(put(&state), "the channel c");
    channel.value = text("{}");
    state.metadata = text("hunter2 and more");
    expect_refused(put(&state), "the metadata has the secret CHECK_THREAD_SECRET");
    expect_refused(cairn_thread_put(store, NULL, 0, &writes, 1, &error),
                   "the value of a write has the secret CHECK_THREAD_SECRET");
    open_again();
    expect("t", "", NULL, NULL);
    channel.value = text(base64);
    state.metadata = text("");
    state.keep_secrets = writes.keep_secrets = true;
    good(cairn_thread_put(store, &state, 1, &writes, 1, &error));
    open_again();
    expect("t", "", NULL,
           "1 :{}  {c=:eyJhIjoiaHVudGVyMiBhbmQgbW9yZSJ9} [k.0 =is hunter2 and more.]");
}
END_TEST

static int swallow(void *context, const char *bytes, size_t n)
{
    (void)context;
    (void)bytes;
    (void)n;
    return 0;
}

/* What makes boards of checkpoints, or deletes them, is not for threads. */
START_TEST(other_calls)
{
    struct cairn_thread_state state = {
        .thread = text("t"), .id = text("1"), .state = text("s")};
    struct cairn_keep_rules rules = {.last = 1};
    struct cairn_transfer result;
    struct cairn_set set = {"text", "x"};
    for (int i = 0; i < 3; i++)
        good(put(&state));
    open_again();
    expect_refused(cairn_checkpoint_delete(store, "debug:3", &error), "of a thread");
    expect_refused(cairn_checkpoint_delete(store, "debug:1", &error), "of a thread");
    expect_refused(cairn_session_prune(store, "thread-t", &rules, false, NULL, &error),
                   "a thread");
    expect_refused(cairn_session_export(store, "thread-t", false, swallow, NULL, NULL,
                                        &result, &error),
                   "a thread");
    expect_refused(cairn_session_switch(store, "thread-t", NULL, &error), "a thread");
    expect_refused(cairn_item_add(store, "thread-t", "note", &set, 1, NULL, &error),
                   "a thread");
    expect_refused(cairn_session_copy(store, "debug:3", store, NULL, NULL, &error),
                   "of a thread");
    good(cairn_session_start(store, "s", true, NULL, &error));
    expect_refused(cairn_session_restore(store, NULL, "debug:3", NULL, NULL, &error),
                   "of a thread");
    good(cairn_session_start(store, "thread-u", false, NULL, &error));
    state.thread = text("u");
    expect_refused(put(&state), "is none");
    expect("t", "", NULL, "1 :s ");
    expect_sound();
}
END_TEST

/* ---- Damage ---- */

static struct cairn_problem problem;
static char problem_text[500];
static int problems;

static int note_problem(void *context, const struct cairn_problem *found)
{
    (void)context;
    problem = *found;
    snprintf(problem_text, sizeof problem_text, "%s", found->text);
    problems++;
    return 0;
}

/* False: it has fewer bytes. */
static bool flip(const char *column, int64_t seq, int at)
{
    char path[300];
    sqlite3 *db;
    sqlite3_blob *blob;
    uint8_t byte;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_blob_open(db, "main", "checkpoint", column, seq, 1, &blob),
                     SQLITE_OK);
    bool there = at < sqlite3_blob_bytes(blob);
    if (there) {
        ck_assert_int_eq(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
        byte ^= 0x10;
        ck_assert_int_eq(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
    }
    sqlite3_blob_close(blob);
    sqlite3_close(db);
    return there;
}

static void expect_named(int64_t seq, int at)
{
    struct cairn_verify_result result;
    problems = 0;
    open_again();
    int rc = cairn_checkpoint_verify(store, NULL, note_problem, NULL, &result, &error);
    cairn_store_close(store);
    store = NULL;
    ck_assert_msg(rc == CAIRN_EDAMAGED, "byte %d: %d %s", at, rc, error.text);
    ck_assert_int_eq(problems, 1);
    ck_assert_uint_eq(problem.seq, (uint64_t)seq);
}

/* Every byte of a full record and of a delta: it is named, and getting fails by name, or
 * finds what was put. */
START_TEST(flipped_bytes)
{
    const char *const columns[] = {"record", "digest"};
    struct cairn_thread_state state = {
        .thread = text("t"), .id = text("1"), .state = text("a state")};
    good(put(&state));
    state.id = text("2");
    good(put(&state));
    cairn_store_close(store);
    store = NULL;
    for (int64_t seq = 1; seq <= 2; seq++)
        for (size_t c = 0; c < 2; c++)
            for (int at = 0; flip(columns[c], seq, at); at += help_stride()) {
                struct buf got = BUF_INIT;
                struct cairn_bytes id = text(seq == 1 ? "1" : "2");
                expect_named(seq, at);
                open_again();
                ck_assert_int_eq(cairn_thread_get(store, text("t"), text(""), &id,
                                                  append_state, &got, &error),
                                 CAIRN_EDAMAGED);
                buf_release(&got);
                cairn_store_close(store);
                store = NULL;
                ck_assert(flip(columns[c], seq, at));
            }
    open_again();
    expect_sound();
}
END_TEST

/* ---- Another index than the records have ---- */

static void run_sql(const char *sql)
{
    char path[300];
    sqlite3 *db;
    cairn_store_close(store);
    store = NULL;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(db));
    ck_assert_int_gt(sqlite3_changes(db), 0);
    sqlite3_close(db);
}

static void put_three(void)
{
    struct cairn_thread_state state = {
        .thread = text("t"), .id = text("1"), .state = text("a state")};
    struct cairn_thread_write write = {
        .task = text("task"), .channel = text("c"), .value = text("v")};
    struct cairn_thread_writes writes = {.thread = text("t"),
                                         .space = text("s"),
                                         .id = text("2"),
                                         .writes = &write,
                                         .n_writes = 1};
    good(put(&state));
    state.space = text("s");
    state.id = text("2");
    good(cairn_thread_put(store, &state, 1, &writes, 1, &error));
    write.index = 1;
    good(cairn_thread_put(store, NULL, 0, &writes, 1, &error));
    good(put(&state));
    state.id = text("3");
    good(put(&state));
}

static void expect_three(void)
{
    expect("t", "", NULL, "1 :a state ");
    expect("t", "s", NULL, "3 :a state ");
    expect("t", "s", "2", "2 :a state  [task.0 c=v] [task.1 c=v]");
    expect_sound();
}

static int no_loss(void *context, const struct cairn_loss *loss)
{
    (void)context;
    ck_abort_msg("lost: %s", loss->text);
    return 0;
}

static void repair_store(void)
{
    struct cairn_repair_result result;
    char path[300];
    snprintf(path, sizeof path, "%s/.cairn", dir);
    cairn_store_close(store);
    store = NULL;
    good(cairn_store_repair(path, no_loss, NULL, &result, &error));
    ck_assert(result.repaired);
    open_again();
}

START_TEST(index_differs)
{
    static const struct {
        const char *sql, *what;
    } damage[] = {
        {"DELETE FROM thread_state WHERE id = x'33'",
         "in 1 state, the first of which (space \"s\", id \"3\") the index lacks"},
        {"UPDATE thread_state SET seq = 1 WHERE id = x'32'", "id \"2\") other records"},
        {"UPDATE thread_state SET writes = x'02' WHERE id = x'32'", "other records"},
        {"INSERT INTO thread_state SELECT branch, space, x'39', seq, writes FROM "
         "thread_state WHERE id = x'33'",
         "id \"9\") no record has"},
        {"INSERT INTO thread_state SELECT 77, space, id, seq, writes FROM thread_state "
         "WHERE id = x'33'",
         "branch 77 differs"},
        {"DELETE FROM thread_state", "in 3 states"},
    };
    put_three();
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct cairn_verify_result result;
        expect_three();
        run_sql(damage[i].sql);
        open_again();
        problems = 0;
        ck_assert_int_eq(
            cairn_checkpoint_verify(store, NULL, note_problem, NULL, &result, &error),
            CAIRN_EDAMAGED);
        ck_assert_int_eq(problems, 1);
        ck_assert_msg(strstr(problem_text, damage[i].what), "%s", problem_text);
        repair_store();
    }
    expect_three();
}
END_TEST

/* ---- Two processes ---- */

enum { PUTS = 60 };

static int play_puts(char **argv)
{
    char path[300], id[20], before[20] = "";
    snprintf(path, sizeof path, "%s/.cairn", argv[1]);
    struct cairn_store_options options = {.path = path, .sync = CAIRN_SYNC_OFF};
    int rc = cairn_store_open(&store, &options, &error);
    for (int i = 0; i < PUTS && !rc; i++) {
        struct cairn_thread_channel channel = {
            .name = text("c"), .value = text("first"), .unchanged = i > 0};
        snprintf(id, sizeof id, "%03d", i);
        struct cairn_thread_state state = {.thread = text("both"),
                                           .space = text(argv[2]),
                                           .id = text(id),
                                           .parent = text(before),
                                           .state = text(id),
                                           .channels = &channel,
                                           .n_channels = 1,
                                           .only_new = true};
        rc = put(&state);
        memcpy(before, id, sizeof before);
    }
    cairn_store_close(store);
    return rc ? 1 : 0;
}

static pid_t start_puts(const char *space)
{
    char self[] = "/proc/self/exe", word[20];
    char *argv[] = {self, dir, word, NULL};
    pid_t pid;
    snprintf(word, sizeof word, "%s", space);
    ck_assert_int_eq(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    return pid;
}

START_TEST(two_processes)
{
    pid_t pids[] = {start_puts("a"), start_puts("b")};
    struct cairn_bytes both = text("both");
    const struct cairn_thread_filter filter = {.thread = &both};
    struct buf got = BUF_INIT;
    size_t n[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int status;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
    good(cairn_thread_threads(store, count_thread, n, &error));
    ck_assert_uint_eq(n[0], 1);
    ck_assert_uint_eq(n[1], 2 * PUTS);
    expect("both", "a", NULL, "059<058 :059  {c=:first}");
    expect("both", "b", NULL, "059<058 :059  {c=:first}");
    good(cairn_thread_list(store, &filter, append_state, &got, &error));
    buf_release(&got);
    expect_sound();
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 3)
        return play_puts(argv);
    Suite *suite = suite_create("thread");
    TCase *tests = tcase_create("thread");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, states_by_key);
    tcase_add_test(tests, any_bytes);
    tcase_add_test(tests, writes_of_a_step);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, many_states);
    tcase_add_test(tests, secrets);
    tcase_add_test(tests, other_calls);
    tcase_add_test(tests, flipped_bytes);
    tcase_add_test(tests, index_differs);
    tcase_add_test(tests, two_processes);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
