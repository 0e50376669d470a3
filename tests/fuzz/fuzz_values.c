/* SPDX-License-Identifier: MIT */
/* What tasks say: $CAIRN_OUTPUT and the answer of a check; and lists of pairs and of
 * tasks as the store has them (commands to a run, the audit log). */
#include "base/limits.h"
#include "base/words.h"
#include "runs/values.h"
#include "storage/rows_event.h"
#include "tests/fuzz/fuzz.h"

static void check_sorted(const struct key_value *values, uint32_t n)
{
    HOLDS(n <= LIMIT_VALUES);
    for (uint32_t i = 0; i < n; i++) {
        HOLDS(str_is_env_name(values[i].key));
        HOLDS(values[i].key.len <= LIMIT_NAME_BYTES);
        HOLDS(!values[i].value.len ||
              !memchr(values[i].value.ptr, 0, values[i].value.len));
        HOLDS(i == 0 || str_compare(values[i - 1].key, values[i].key) < 0);
        HOLDS(values_find(values, n, values[i].key) == &values[i]);
    }
}

/* Written out as blocks, they read back as the same. */
static void write_again(const struct key_value *values, uint32_t n)
{
    struct arena arena = ARENA_INIT;
    struct buf out = BUF_INIT;
    struct key_value *back = NULL;
    uint32_t n_back = 0;
    struct cairn_error error = {0};
    for (uint32_t i = 0; i < n; i++) {
        const char end[] = "\x01the end\x02";
        if (memmem(values[i].value.ptr, values[i].value.len, end, sizeof end - 1))
            goto done;
        buf_str(&out, values[i].key);
        buf_format(&out, "<<%s\n", end);
        buf_str(&out, values[i].value);
        buf_format(&out, "\n%s\n", end);
    }
    if (out.size > LIMIT_VALUES_BYTES)
        goto done;
    HOLDS(values_parse(&arena, buf_view(&out), &back, &n_back, &error) == 0);
    HOLDS(n_back == n);
    for (uint32_t i = 0; i < n; i++)
        HOLDS(str_equal(back[i].key, values[i].key) &&
              str_equal(back[i].value, values[i].value));
done:
    buf_release(&out);
    arena_release(&arena);
}

static void as_output(struct str text)
{
    struct arena arena = ARENA_INIT;
    struct key_value *values = NULL;
    uint32_t n = 0;
    struct cairn_error error = {0};
    int code = values_parse(&arena, text, &values, &n, &error);
    if (code)
        EXPLAINED(code, error);
    else {
        check_sorted(values, n);
        write_again(values, n);
    }
    arena_release(&arena);
}

static void as_verdict(struct str text)
{
    for (int exit_code = 0; exit_code < 2; exit_code++) {
        struct verdict verdict;
        memset(&verdict, 0xff, sizeof verdict);
        verdict_of(exit_code, text, 700, 850, &verdict);
        HOLDS(verdict.confidence >= 0 && verdict.confidence <= 1);
        HOLDS(memchr(verdict.text, 0, sizeof verdict.text));
        HOLDS(verdict.passed == (exit_code == 0 && verdict.confidence >= 0.7));
        HOLDS(verdict.passed || verdict.text[0]);
        HOLDS(!verdict.warned || (verdict.passed && verdict.confidence < 0.85));
        for (const char *at = verdict.text; *at; at++)
            HOLDS((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f);
    }
}

static void as_pairs(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct key_value *values = NULL;
    struct buf again = BUF_INIT;
    uint32_t n = 0;
    struct cairn_error error = {0};
    int code = values_unpack(&arena, bytes, &values, &n, &error);
    if (code)
        EXPLAINED(code, error);
    else {
        check_sorted(values, n);
        for (uint32_t i = 0; i < n; i++) {
            buf_lstr(&again, values[i].key);
            buf_lstr(&again, values[i].value);
        }
        HOLDS(str_equal(buf_view(&again), bytes));
    }
    buf_release(&again);
    arena_release(&arena);
}

static int add_task(void *context, uint32_t task)
{
    buf_add(context, &task, sizeof task);
    return 0;
}

static void as_tasks(struct str bytes)
{
    struct buf tasks = BUF_INIT, again = BUF_INIT;
    if (tasks_unpack(bytes, LIMIT_TASKS, add_task, &tasks)) {
        tasks_pack((const uint32_t *)tasks.data, (uint32_t)(tasks.size / 4), &again);
        HOLDS(str_equal(buf_view(&again), bytes));
    } else
        HOLDS(tasks.size == 0);
    buf_release(&tasks);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str text = {copy.ptr, size};
    as_output(text);
    as_verdict(text);
    as_pairs(text);
    as_tasks(text);
    unfence(&copy);
    return 0;
}
