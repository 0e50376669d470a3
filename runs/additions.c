/* SPDX-License-Identifier: MIT */
#include "runs/additions.h"

#include "base/limits.h"
#include "storage/rows_meta.h"
#include "workflow/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void addition_encode(struct str by, struct str text, struct buf *out)
{
    buf_lstr(out, by);
    buf_lstr(out, text);
}

bool addition_decode(struct str data, struct str *by, struct str *text)
{
    struct reader reader = reader_of(data.ptr, data.len);
    *by = read_lstr(&reader);
    *text = read_lstr(&reader);
    return reader_done(&reader);
}

bool withdrawal_next(struct reader *reader, uint64_t *addition, struct str *name)
{
    if (reader->failed || !reader_left(reader))
        return false;
    *addition = read_varint(reader);
    *name = read_lstr(reader);
    return !reader->failed;
}

struct addition_list {
    struct addition *at;
    size_t n, capacity;
    uint64_t run;
    struct cairn_error *error;
};

static int damaged_addition(uint64_t run, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "the record of tasks that were added to run %llu is damaged",
                     (unsigned long long)run);
}

static int withdraw_one(struct addition_list *list, const struct command_row *row)
{
    struct reader reader = reader_of(row->data.ptr, row->data.len);
    struct str name;
    uint64_t id;
    int rc = 0;
    (void)read_lstr(&reader);
    while (!rc && withdrawal_next(&reader, &id, &name))
        for (size_t i = 0; i < list->n && !rc; i++)
            if (list->at[i].id == id)
                rc = addition_withdraw(&list->at[i], name, row->id);
    if (rc)
        return error_nomem(list->error);
    return reader_done(&reader) ? 0 : damaged_addition(list->run, list->error);
}

static int add_one(void *context, const struct command_row *row)
{
    struct addition_list *list = context;
    struct str by, text;
    char name[64];
    if (row->verb == COMMAND_WITHDRAW)
        return withdraw_one(list, row);
    if (!addition_decode(row->data, &by, &text))
        return damaged_addition(list->run, list->error);
    /* With room for one more. */
    struct addition *grown =
        array_room(list->at, list->n + 1, &list->capacity, sizeof *grown);
    if (!grown)
        return error_nomem(list->error);
    list->at = grown;
    snprintf(name, sizeof name, "addition %zu to run %llu", list->n + 1,
             (unsigned long long)list->run);
    return addition_init(&grown[list->n++], name, text, row->id)
               ? error_nomem(list->error)
               : 0;
}

int additions_load(struct cairn_store *store, uint64_t run, struct addition **out,
                   size_t *n, struct cairn_error *error)
{
    struct addition_list list = {.run = run, .error = error};
    int rc = store_each_addition(store, run, add_one, &list, error);
    if (!rc && !list.at) {
        list.at = calloc(1, sizeof *list.at);
        rc = list.at ? 0 : error_nomem(error);
    }
    if (rc) {
        additions_free(list.at, list.n);
        return rc;
    }
    *out = list.at;
    *n = list.n;
    return 0;
}

static int keep_id(void *context, const struct command_row *row)
{
    *(uint64_t *)context = row->id;
    return 0;
}

int additions_last(struct cairn_store *store, uint64_t run, uint64_t *last,
                   struct cairn_error *error)
{
    *last = 0;
    return store_each_addition(store, run, keep_id, last, error);
}

/* ---- Their names ---- */

struct naming {
    struct added_names *names;
    struct map gone; /* number of the addition in text, a blank, name */
    struct cairn_error *error;
};

int added_names_note(struct added_names *names, struct str name,
                     struct cairn_error *error)
{
    if (map_get(&names->map, name) != MAP_NONE)
        return 0;
    struct str key = arena_str(&names->arena, name);
    if (names->arena.failed || map_add(&names->map, key, 0, NULL) < 0)
        return error_nomem(error);
    return 0;
}

int addition_names(struct str text, struct arena *arena, struct name_list *names,
                   struct cairn_error *error)
{
    struct source source = {.name = "addition", .text = str_without_mark(text)};
    const struct diagnostic diagnostic = {&source, error, NULL};
    const struct node *root = NULL, *tasks = NULL;
    *names = (struct name_list){0};
    int rc = yaml_read(&diagnostic, arena, &root);
    if (rc)
        return rc;
    if (root->kind == NODE_MAP)
        for (const struct node *key = root->first; key; key = key->next->next)
            if (str_equal(key->text, STR("tasks")) && key->next->kind == NODE_MAP)
                tasks = key->next;
    if (!tasks)
        return error_set(error, CAIRN_EWORKFLOW, "no tasks");
    names->at = arena_take(arena, tasks->n + 1, sizeof *names->at);
    if (!names->at)
        return error_nomem(error);
    for (const struct node *task = tasks->first; task; task = task->next->next)
        names->at[names->n++] = task->text;
    return 0;
}

int addition_tasks(const struct addition *addition, struct arena *arena,
                   struct name_list *names, struct cairn_error *error)
{
    const struct str text = {addition->text, addition->length};
    int rc = addition_names(text, arena, names, error);
    size_t n = rc ? 0 : names->n;
    names->n = 0;
    for (size_t i = 0; i < n; i++)
        if (!addition_lacks(addition, names->at[i]))
            names->at[names->n++] = names->at[i];
    return rc;
}

static struct str key_of_gone(struct arena *arena, uint64_t addition, struct str name)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64 " ", addition);
    return arena_join(arena, str_of(text), name);
}

static int note_gone(void *context, const struct command_row *row)
{
    struct naming *naming = context;
    struct reader reader = reader_of(row->data.ptr, row->data.len);
    struct str name;
    uint64_t id;
    if (row->verb != COMMAND_WITHDRAW)
        return 0;
    (void)read_lstr(&reader);
    while (withdrawal_next(&reader, &id, &name)) {
        struct str key = key_of_gone(&naming->names->arena, id, name);
        if (!key.ptr || map_add(&naming->gone, key, 0, NULL) < 0)
            return error_nomem(naming->error);
    }
    return reader_done(&reader) ? 0 : damaged_addition(row->run, naming->error);
}

static int name_tasks(void *context, const struct command_row *row)
{
    struct naming *naming = context;
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct name_list names;
    struct str by, text;
    if (row->verb == COMMAND_WITHDRAW)
        return 0;
    if (!addition_decode(row->data, &by, &text))
        return damaged_addition(row->run, naming->error);
    int rc = addition_names(text, &arena, &names, &why);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(naming->error);
    else if (rc) /* it was read before it was stored */
        rc = damaged_addition(row->run, naming->error);
    for (size_t i = 0; !rc && i < names.n; i++) {
        struct str key = key_of_gone(&arena, row->id, names.at[i]);
        if (!key.ptr)
            rc = error_nomem(naming->error);
        else if (map_get(&naming->gone, key) == MAP_NONE)
            rc = added_names_note(naming->names, names.at[i], naming->error);
    }
    arena_release(&arena);
    return rc;
}

int added_names_load(struct added_names *names, struct cairn_store *store,
                     uint64_t workflow, struct cairn_error *error)
{
    struct naming naming = {.names = names, .error = error};
    int rc = store_each_workflow_addition(store, workflow, note_gone, &naming, error)
                 ?: store_each_workflow_addition(store, workflow, name_tasks, &naming,
                                                 error);
    map_release(&naming.gone);
    return rc;
}

bool added_names_have(const struct added_names *names, struct str id)
{
    return map_get(&names->map, name_of_id(id)) != MAP_NONE;
}

void added_names_release(struct added_names *names)
{
    map_release(&names->map);
    arena_release(&names->arena);
}

/* ---- What an addition is checked by ---- */

enum { KEY_BYTES = 32 + LIMIT_NAME_BYTES, SUM_BYTES = 8 * 21 + DIGEST_HEX_SIZE };

/* "": the sums. False: it is too long for the name of a task. */
static bool put_key(char key[KEY_BYTES], uint64_t run, struct str name)
{
    if (name.len > LIMIT_NAME_BYTES)
        return false;
    snprintf(key, KEY_BYTES, "added.%" PRIu64 ".%.*s", run, (int)name.len,
             name.len ? name.ptr : "");
    return true;
}

int added_sum_get(struct cairn_store *store, uint64_t run, struct added_sum *sum,
                  struct cairn_error *error)
{
    char key[KEY_BYTES], text[SUM_BYTES], hex[DIGEST_HEX_SIZE];
    struct cairn_error why;
    *sum = (struct added_sum){0};
    put_key(key, run, STR(""));
    int rc = store_sound_setting(store, key, text, sizeof text, &why);
    if (rc == CAIRN_EDAMAGED)
        return 0;
    if (rc <= 0)
        return rc ? error_set(error, rc, "%s", why.text) : 0;
    int n = sscanf(text,
                   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %64s",
                   &sum->n, &sum->last, &sum->bytes, &sum->tasks, &sum->services,
                   &sum->edges, &sum->extended, &sum->value_bytes, hex);
    return n == 9 && bytes_of_hex(str_of(hex), sum->source.bytes);
}

int added_sum_put(struct cairn_store *store, uint64_t run, const struct added_sum *sum,
                  struct cairn_error *error)
{
    char key[KEY_BYTES], text[SUM_BYTES], hex[DIGEST_HEX_SIZE];
    put_key(key, run, STR(""));
    digest_hex(&sum->source, hex);
    snprintf(text, sizeof text,
             "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " %" PRIu64 " %" PRIu64 " %s",
             sum->n, sum->last, sum->bytes, sum->tasks, sum->services, sum->edges,
             sum->extended, sum->value_bytes, hex);
    return store_set_setting(store, key, text, error);
}

int added_name_put(struct cairn_store *store, uint64_t run, struct str name,
                   uint64_t addition, struct cairn_error *error)
{
    char key[KEY_BYTES], text[24];
    if (!put_key(key, run, name))
        return 0;
    snprintf(text, sizeof text, "%" PRIu64, addition);
    return store_set_setting(store, key, text, error);
}

int added_name_drop(struct cairn_store *store, uint64_t run, struct str name,
                    struct cairn_error *error)
{
    char key[KEY_BYTES];
    return put_key(key, run, name) ? store_drop_setting(store, key, error) : 0;
}

int added_name_find(struct cairn_store *store, uint64_t run, struct str name,
                    uint64_t *addition, struct cairn_error *error)
{
    char key[KEY_BYTES], text[24];
    *addition = 0;
    if (!name.len || !put_key(key, run, name))
        return 0;
    int rc = store_setting(store, key, text, sizeof text, error);
    if (rc > 0)
        *addition = strtoull(text, NULL, 10);
    return rc < 0 ? rc : 0;
}

int addition_text(struct cairn_store *store, uint64_t run, uint64_t id,
                  struct buf *text, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row;
    struct str by, words = {0};
    int rc = store_get_command(store, run, id, &row, &data, error);
    if (!rc && (!row.id || row.verb != COMMAND_ADD))
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "run %" PRIu64 " has no addition %" PRIu64, run, id);
    else if (!rc && !addition_decode(row.data, &by, &words))
        rc = damaged_addition(run, error);
    if (!rc) {
        buf_str(text, words);
        rc = buf_check(text, error);
    }
    buf_release(&data);
    return rc;
}

int added_withdraw(struct cairn_store *store, uint64_t run, uint64_t command,
                   struct str data, struct cairn_error *error)
{
    struct reader reader = reader_of(data.ptr, data.len);
    struct added_sum sum;
    struct str name;
    uint64_t id;
    int rc = 0;
    (void)read_lstr(&reader);
    while (!rc && withdrawal_next(&reader, &id, &name))
        rc = added_name_drop(store, run, name, error);
    if (!rc && !reader_done(&reader))
        rc = damaged_addition(run, error);
    int there = rc ? 0 : added_sum_get(store, run, &sum, error);
    if (rc || there <= 0)
        return rc ? rc : there;
    sum.last = command;
    return added_sum_put(store, run, &sum, error);
}

int addition_refuse(struct cairn_store *store, uint64_t run, uint64_t id,
                    struct cairn_error *error)
{
    struct buf data = BUF_INIT, empty = BUF_INIT;
    struct arena arena = ARENA_INIT;
    struct name_list names = {0};
    struct command_row row;
    struct str by, text;
    int rc = store_get_command(store, run, id, &row, &data, error);
    if (!rc && (row.verb != COMMAND_ADD || !addition_decode(row.data, &by, &text)))
        rc = damaged_addition(run, error);
    if (!rc)
        rc = addition_names(text, &arena, &names, error);
    for (size_t i = 0; i < names.n && !rc; i++)
        rc = added_name_drop(store, run, names.at[i], error);
    if (!rc) /* the sums: the next addition makes them anew */
        rc = added_name_drop(store, run, STR(""), error);
    if (!rc) {
        addition_encode(by, STR(""), &empty);
        row.verb = COMMAND_REFUSED;
        row.data = buf_view(&empty);
        rc = buf_check(&empty, error) ?: store_answer_command(store, &row, error);
    }
    arena_release(&arena);
    buf_release(&empty);
    buf_release(&data);
    return rc;
}

/* ---- Those that a text names ---- */

struct named_additions {
    struct cairn_store *store;
    uint64_t run, before;
    struct map seen; /* words, views of the text */
    uint64_t *at;
    size_t n, room;
    struct cairn_error *error;
};

static int look_up(struct named_additions *named, struct str word)
{
    uint64_t id = 0;
    if (!word.len || word.len > LIMIT_ID_BYTES ||
        map_get(&named->seen, word) != MAP_NONE)
        return 0;
    if (map_add(&named->seen, word, 0, NULL) < 0)
        return error_nomem(named->error);
    int rc = added_name_find(named->store, named->run, word, &id, named->error);
    if (rc || !id || (named->before && id >= named->before))
        return rc;
    uint64_t *at = array_room(named->at, named->n, &named->room, sizeof *at);
    if (!at)
        return error_nomem(named->error);
    named->at = at;
    at[named->n++] = id;
    return 0;
}

static bool is_of_id(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-';
}

/* Every word that can be the name of a task, and those with dots in them, too. */
static int look_up_words(struct named_additions *named, struct str text)
{
    int rc = 0;
    for (size_t i = 0; i < text.len && !rc;) {
        size_t whole = i, part = i;
        for (; i < text.len && !rc && (is_of_id(text.ptr[i]) || text.ptr[i] == '.');
             i++)
            if (text.ptr[i] == '.') {
                rc = look_up(named, (struct str){text.ptr + part, i - part});
                part = i + 1;
            }
        if (!rc)
            rc = look_up(named, (struct str){text.ptr + part, i - part});
        if (!rc && part > whole)
            rc = look_up(named, (struct str){text.ptr + whole, i - whole});
        i++;
    }
    return rc;
}

static int by_number(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* What is in the text and not in the index, or by another one there. */
static int leave_out_withdrawn(const struct named_additions *named,
                               struct addition *one)
{
    struct arena arena = ARENA_INIT;
    struct name_list names;
    uint64_t id;
    int rc = addition_tasks(one, &arena, &names, named->error);
    for (size_t i = 0; !rc && i < names.n; i++) {
        rc = added_name_find(named->store, named->run, names.at[i], &id, named->error);
        if (!rc && id != one->id && addition_withdraw(one, names.at[i], 0))
            rc = error_nomem(named->error);
    }
    arena_release(&arena);
    return rc;
}

static int load_named(const struct named_additions *named, struct addition *all,
                      size_t *n)
{
    int rc = 0;
    for (size_t i = 0; i < named->n && !rc; i++) {
        struct buf text = BUF_INIT;
        if (i && named->at[i] == named->at[i - 1])
            continue;
        rc = addition_text(named->store, named->run, named->at[i], &text, named->error);
        if (!rc &&
            addition_init(&all[(*n)++], "addition", buf_view(&text), named->at[i]))
            rc = error_nomem(named->error);
        if (!rc)
            rc = leave_out_withdrawn(named, &all[*n - 1]);
        buf_release(&text);
    }
    return rc;
}

int additions_named(struct cairn_store *store, uint64_t run, struct str text,
                    uint64_t before, struct addition **out, size_t *n,
                    struct cairn_error *error)
{
    struct named_additions named = {
        .store = store, .run = run, .before = before, .error = error};
    struct addition *all = NULL;
    size_t count = 0;
    int rc = look_up_words(&named, text);
    if (!rc) {
        all = calloc(named.n + 1, sizeof *all);
        rc = all ? 0 : error_nomem(error);
    }
    if (!rc && named.n)
        qsort(named.at, named.n, sizeof *named.at, by_number);
    if (!rc)
        rc = load_named(&named, all, &count);
    free(named.at);
    map_release(&named.seen);
    if (rc) {
        additions_free(all, all ? count : 0);
        return rc;
    }
    *out = all;
    *n = count;
    return 0;
}
