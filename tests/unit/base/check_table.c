/* SPDX-License-Identifier: MIT */
/* Tables of texts: what is read as which cells, what is refused and where. */
#include "base/json_scan.h"
#include "base/table.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

enum { MOST = 1000 };

/* Columns and cells as one text: "a|b/1|2/". */
static void flatten(const struct table *t, struct buf *out)
{
    for (uint32_t c = 0; c < t->n_columns; c++)
        buf_format(out, "%s%.*s", c ? "|" : "", (int)t->columns[c].len,
                   t->columns[c].ptr);
    for (uint32_t r = 0; r < t->n_rows; r++)
        for (uint32_t c = 0; c < t->n_columns; c++)
            buf_format(out, "%s%.*s", c ? "|" : "/", (int)table_cell(t, r, c).len,
                       table_cell(t, r, c).ptr);
}

static const struct {
    enum table_form form;
    const char *text, *want; /* of one that is refused: "!" and the message */
} cases[] = {
    {TABLE_CSV, "a,b\n1,2\n3,4\n", "a|b/1|2/3|4"},
    {TABLE_CSV, "a,b\r\n1,2\r\n3,4", "a|b/1|2/3|4"},
    {TABLE_CSV, "\xef\xbb\xbf\"a\",b\n\n1,2\n\r\n", "a|b/1|2"},
    {TABLE_CSV, "a,b\n\"x\"\"y\",\"1\n2,3\"\n", "a|b/x\"y|1\n2,3"},
    {TABLE_CSV, "a,b\n,\n\"\",  \n", "a|b/|/|  "},
    {TABLE_CSV, "a\n\"\"\"\"\n\"\"\"x\"\"\"\n", "a/\"/\"x\""},
    {TABLE_CSV, "", ""},
    {TABLE_CSV, "a,b\n", "a|b"},
    {TABLE_TSV, "a\tb\n1,5\t\"x\ty\"\n", "a|b/1,5|x\ty"},
    {TABLE_CSV, "a,b\n1,2\n3\n", "!line 3: 1 field, but the first line has 2"},
    {TABLE_CSV, "a,b\n\"1\n1\",2\n3,4,5\n",
     "!line 4: 3 fields, but the first line has 2"},
    {TABLE_CSV, "a,b\n1,2,\n", "!line 2: 3 fields, but the first line has 2"},
    {TABLE_CSV, "a\n\"x\ny\n",
     "!line 2: a field that begins with \" has no \" at its end"},
    {TABLE_CSV, "a,b\n\"x\"y,1\n",
     "!line 2: something stands behind the \" that ends a field"},
    {TABLE_CSV, "a,b\n1\" pipe,2\n",
     "!line 2: a \" stands inside a field; the whole field belongs into quotes, with "
     "\"\" for each of its own"},
    {TABLE_CSV, "a,b\r1,2\r",
     "!line 1: a carriage return without a line feed behind it"},
    {TABLE_JSON, "[]", ""},
    {TABLE_JSON, "[{\"a\":1.50,\"b\":\"x\\n\\u00e4\"},\n{\"b\":null,\"a\":true}]",
     "a|b/1.50|x\n\xc3\xa4/true|"},
    {TABLE_JSON, "\xef\xbb\xbf [\"x\", 2, false]\n", "/x/2/false"},
    {TABLE_JSON, "{\"a\":1}", "!line 1: this must be a list: [{\"a\": 1}, {\"a\": 2}]"},
    {TABLE_JSON, "[{\"a\":1},\n{\"b\":1}]",
     "!line 2: the key `b` is not in the first object; all have the same keys (null "
     "stands for nothing)"},
    {TABLE_JSON, "[{\"a\":1,\"b\":2},\n\n{\"b\":1}]",
     "!line 3: there is no `a`, which the first object has; all have the same keys "
     "(null stands for nothing)"},
    {TABLE_JSON, "[{\"a\":1},\n{\"a\":1,\n\"a\":2}]",
     "!line 3: the key `a` is twice in an object"},
    {TABLE_JSON, "[{\"a\":1,\"a\":1}]", "!line 1: the key `a` is twice in an object"},
    {TABLE_JSON, "[{}]", "!line 1: an object without keys"},
    {TABLE_JSON, "[{\"a\":1},\n{\"a\":[1]}]",
     "!line 2: a list or an object inside a row; it has only texts, numbers, true, "
     "false and null"},
    {TABLE_JSON, "[1,{\"a\":1}]",
     "!line 1: an object among values; all are of one kind"},
    {TABLE_JSON, "[{\"a\":1},1]",
     "!line 1: a value among objects; all are of one kind"},
    {TABLE_JSON, "[\"\\u0000\"]", "!line 1: there is a NUL byte in it"},
    {TABLE_JSON, "[{\"a\":1}", "!it is not whole: it ends too early (byte 9, line 1)"},
    {TABLE_JSONL, "{\"a\":1,\"b\":2}\r\n\n  \n{\"b\":3,\"a\":4}", "a|b/1|2/4|3"},
    {TABLE_JSONL, "\"x\"\n1\n", "/x/1"},
    {TABLE_JSONL, "{\"a\":1}\n\n{\"a\":[]}\n",
     "!line 3: a list or an object inside a row; it has only texts, numbers, true, "
     "false and null"},
    {TABLE_JSONL, "{\"a\":1}\n{\"a\":2} 3\n",
     "!line 2: it is not whole: there is more text after its end (byte 9, line 1)"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

START_TEST(is_read)
{
    struct table_source source = {
        .text = str_of(cases[_i].text), .form = cases[_i].form, .most = MOST};
    struct table table;
    struct cairn_error error = {0};
    struct buf out = BUF_INIT;
    int rc = table_read(&source, &table, &error);
    if (rc)
        buf_format(&out, "!%s", error.text);
    else
        flatten(&table, &out);
    ck_assert_msg(str_equal(buf_view(&out), str_of(cases[_i].want)), "%s: %.*s",
                  cases[_i].text, (int)out.size, out.data ? out.data : "");
    if (!rc)
        table_release(&table);
    buf_release(&out);
}
END_TEST

START_TEST(columns_given)
{
    struct str names[] = {STR("x"), STR("y")};
    struct table_source source = {.text = STR("1,2\n\n3,4\n"),
                                  .form = TABLE_CSV,
                                  .columns = names,
                                  .n_columns = 2,
                                  .most = 2};
    struct table table;
    struct cairn_error error = {0};
    ck_assert_int_eq(table_read(&source, &table, &error), 0);
    ck_assert_uint_eq(table.n_rows, 2);
    ck_assert_uint_eq(table.lines[1], 3);
    ck_assert(str_equal(table_cell(&table, 1, 0), STR("3")));
    table_release(&table);
    source.most = 1;
    ck_assert_int_eq(table_read(&source, &table, &error), CAIRN_ELIMIT);
    source.n_columns = 1;
    ck_assert_int_eq(table_read(&source, &table, &error), CAIRN_EWORKFLOW);
    ck_assert_str_eq(error.text, "line 1: 2 fields, but `columns` names 1");
    source = (struct table_source){
        .text = {"a\nx\0y\n", 6}, .form = TABLE_CSV, .most = MOST};
    ck_assert_int_eq(table_read(&source, &table, &error), CAIRN_EWORKFLOW);
    ck_assert_str_eq(error.text, "line 2: there is a NUL byte in it");
}
END_TEST

static void write_csv(struct buf *out, struct str cell, uint64_t *seed)
{
    bool quoted = !cell.len || help_below(seed, 3) == 0;
    for (size_t i = 0; i < cell.len; i++)
        quoted |= strchr(",\"\r\n", cell.ptr[i]) != NULL;
    if (quoted)
        buf_byte(out, '"');
    for (size_t i = 0; i < cell.len; i++)
        buf_text(out, cell.ptr[i] == '"' ? "\"\"" : (char[]){cell.ptr[i], 0});
    if (quoted)
        buf_byte(out, '"');
}

/* Any cells, written as each form, are read again. */
START_TEST(there_and_back)
{
    enum { ROWS = 5, COLUMNS = 3, CELLS = ROWS * COLUMNS };
    static const char bytes[] = "ab,\"\r\n\t \xc3\xa4'";
    uint64_t seed = 11;
    for (int round = 0; round < 500; round++) {
        struct buf cells[CELLS], csv = BUF_INIT, json = BUF_INIT;
        buf_byte(&json, '[');
        for (uint32_t i = 0; i < CELLS; i++) {
            cells[i] = BUF_INIT;
            if (i < COLUMNS)
                buf_format(&cells[i], "%u", i);
            for (uint32_t n = help_below(&seed, 6); n > 0; n--)
                buf_byte(&cells[i],
                         (uint8_t)bytes[help_below(&seed, sizeof bytes - 1)]);
            write_csv(&csv, buf_view(&cells[i]), &seed);
            buf_text(&csv, (i + 1) % COLUMNS ? "," : round % 2 ? "\r\n" : "\n");
        }
        for (uint32_t i = COLUMNS; i < CELLS; i++) {
            buf_text(&json, i % COLUMNS ? ",\"" : i > COLUMNS ? ",{\"" : "{\"");
            json_escape(buf_view(&cells[i % COLUMNS]), &json);
            buf_text(&json, "\":\"");
            json_escape(buf_view(&cells[i]), &json);
            buf_text(&json, (i + 1) % COLUMNS ? "\"" : "\"}");
        }
        buf_byte(&json, ']');
        for (int form = 0; form < 2; form++) {
            struct table_source source = {.text = buf_view(form ? &json : &csv),
                                          .form = form ? TABLE_JSON : TABLE_CSV,
                                          .most = MOST};
            struct table table;
            struct cairn_error error = {0};
            ck_assert_msg(table_read(&source, &table, &error) == 0, "%s: %s",
                          source.text.ptr, error.text);
            ck_assert_uint_eq(table.n_rows, ROWS - 1);
            for (uint32_t i = 0; i < CELLS; i++) {
                struct str cell =
                    i < COLUMNS ? table.columns[i]
                                : table_cell(&table, i / COLUMNS - 1, i % COLUMNS);
                ck_assert(str_equal(cell, buf_view(&cells[i])));
            }
            table_release(&table);
        }
        for (uint32_t i = 0; i < CELLS; i++)
            buf_release(&cells[i]);
        buf_release(&csv);
        buf_release(&json);
    }
}
END_TEST

/* Of any bytes: read or refused, and never more than one reading. */
START_TEST(rubbish)
{
    static const char bytes[] = "a\",\n\r\t{}[]:1\\ n";
    uint64_t seed = 5;
    for (int round = 0; round < 20000; round++) {
        char text[24];
        uint32_t n = help_below(&seed, sizeof text);
        for (uint32_t i = 0; i < n; i++)
            text[i] = bytes[help_below(&seed, sizeof bytes)];
        struct table_source source = {
            .text = {text, n}, .form = (enum table_form)(1 + round % 4), .most = 3};
        struct table table;
        struct cairn_error error = {0};
        if (table_read(&source, &table, &error) == 0)
            table_release(&table);
        else
            ck_assert(error.text[0] != 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tests = tcase_create("table");
    tcase_add_loop_test(tests, is_read, 0, CASES);
    tcase_add_test(tests, columns_given);
    tcase_add_test(tests, there_and_back);
    tcase_add_test(tests, rubbish);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
