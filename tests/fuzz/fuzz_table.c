/* SPDX-License-Identifier: MIT */
/* Sheets and lists: every input as a table of each form, with and without names of
 * columns, as the list that a task makes, and as what says where a list comes from. */
#include "base/table.h"
#include "graph/lists.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 1000 };

static bool is_clean(struct str text)
{
    return !text.len || !memchr(text.ptr, 0, text.len);
}

static void put_field(struct buf *out, struct str text)
{
    buf_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            buf_byte(out, '"');
        buf_byte(out, (uint8_t)text.ptr[i]);
    }
    buf_byte(out, '"');
}

/* Written out with everything in quotes, it reads back as the same. */
static void write_again(const struct table *table, enum table_form form)
{
    struct buf out = BUF_INIT;
    struct table back;
    struct cairn_error error = {0};
    char between = form == TABLE_TSV ? '\t' : ',';
    for (uint32_t row = 0; row <= table->n_rows; row++)
        for (uint32_t c = 0; c < table->n_columns; c++) {
            put_field(&out, row ? table_cell(table, row - 1, c) : table->columns[c]);
            buf_byte(&out, c + 1 < table->n_columns ? (uint8_t)between : '\n');
        }
    struct table_source source = {.text = buf_view(&out), .form = form, .most = MOST};
    HOLDS(!out.failed && table_read(&source, &back, &error) == 0);
    HOLDS(back.n_columns == table->n_columns && back.n_rows == table->n_rows);
    for (uint32_t c = 0; c < back.n_columns; c++)
        HOLDS(str_equal(back.columns[c], table->columns[c]));
    for (uint32_t i = 0; i < back.n_rows * back.n_columns; i++)
        HOLDS(str_equal(back.cells[i], table->cells[i]));
    table_release(&back);
    buf_release(&out);
}

static void as_table(struct str text, enum table_form form, const struct str *columns,
                     uint32_t n_columns)
{
    struct table table;
    struct cairn_error error = {0};
    struct arena texts = ARENA_INIT;
    struct table_source source = {.text = text,
                                  .form = form,
                                  .columns = columns,
                                  .n_columns = n_columns,
                                  .most = MOST,
                                  .texts = n_columns ? &texts : NULL};
    int code = table_read(&source, &table, &error);
    if (code) {
        EXPLAINED(code, error);
        arena_release(&texts);
        return;
    }
    HOLDS(table.n_rows <= MOST);
    HOLDS(!n_columns || !table.n_rows || table.n_columns == n_columns);
    for (uint32_t c = 0; c < table.n_columns; c++)
        HOLDS(is_clean(table.columns[c]));
    for (uint32_t row = 0; row < table.n_rows; row++) {
        HOLDS(table.lines[row] > 0);
        HOLDS(row == 0 || table.lines[row] >= table.lines[row - 1]);
        for (uint32_t c = 0; c < table.n_columns; c++)
            HOLDS(is_clean(table_cell(&table, row, c)));
    }
    if (table.n_columns && table.columns && (form == TABLE_CSV || form == TABLE_TSV) &&
        !n_columns)
        write_again(&table, form);
    table_release(&table);
    arena_release(&texts);
}

static void as_list(struct str text)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error error = {0};
    struct list_spec spec = {.task = STR("split"), .value = STR("parts"), .max = MOST};
    struct list_values values;
    struct list_reader reader = {.spec = &spec, .arena = &arena, .error = &error};
    int code = list_read(&reader, STR("split"), text);
    code = list_end(&reader, code, &values);
    if (code)
        EXPLAINED(code, error);
    else
        HOLDS(values.n > 0 && values.n <= MOST);
    for (uint32_t i = 0; !code && i < values.n; i++)
        HOLDS(values.at[i].len && is_clean(values.at[i]));
    arena_release(&arena);
}

static void as_spec(struct str text)
{
    struct list_spec spec, again;
    struct buf out = BUF_INIT;
    if (!list_spec_read(text, &spec))
        return;
    list_spec_write(&spec, &out);
    HOLDS(list_spec_read(buf_view(&out), &again));
    HOLDS(str_equal(spec.task, again.task) && str_equal(spec.value, again.value));
    HOLDS(list_spec_same(&spec, &again) && spec.form == again.form);
    HOLDS(spec.max == again.max && spec.allow_empty == again.allow_empty);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str names[] = {{"a", 1}, {"b", 1}};
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str text = {copy.ptr, size};
    for (int form = TABLE_CSV; form <= TABLE_JSONL; form++)
        as_table(text, (enum table_form)form, NULL, 0);
    as_table(text, TABLE_CSV, names, 2);
    as_table(text, TABLE_TSV, names, 1);
    as_list(text);
    as_spec(text);
    unfence(&copy);
    return 0;
}
