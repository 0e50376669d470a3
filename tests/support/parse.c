/* SPDX-License-Identifier: MIT */
#include "tests/support/parse.h"

char help_root[256];
struct definition help_definition;
struct cairn_error help_error;
struct parse_options help_options;

void help_setup(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(help_root, sizeof help_root, "%s/cairn-parse-XXXXXX",
             base && *base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(help_root));
    definition_init(&help_definition);
    help_error = (struct cairn_error){0};
    help_options = (struct parse_options){
        .name = "w.yaml", .file = "/w/w.yaml", .root = help_root};
}

void help_teardown(void)
{
    char command[512];
    definition_release(&help_definition);
    snprintf(command, sizeof command, "rm -rf '%s'", help_root);
    ck_assert_int_eq(system(command), 0);
}

void help_file(const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", help_root, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(content, 1, strlen(content), file), strlen(content));
    ck_assert_int_eq(fclose(file), 0);
}

void help_remove(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", help_root, name);
    ck_assert_int_eq(unlink(path), 0);
}

void help_dir(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", help_root, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

int help_try(struct str text)
{
    definition_release(&help_definition);
    help_error = (struct cairn_error){0};
    return definition_parse(text, &help_options, &help_definition, &help_error);
}

struct definition *help_parse(const char *text)
{
    ck_assert_msg(help_try(str_of(text)) == 0, "refused: %s\n%s", help_error.text,
                  text);
    return &help_definition;
}

void help_refused(struct str text, int code, const char *at, const char *words)
{
    char start[64];
    snprintf(start, sizeof start, at ? "w.yaml:%s: " : "w.yaml: ", at);
    int result = help_try(text);
    ck_assert_msg(result == code && help_error.code == code, "%d for:\n%.*s\n%s",
                  result, (int)(text.len < 2000 ? text.len : 2000), text.ptr,
                  help_error.text);
    ck_assert_msg(strncmp(help_error.text, start, strlen(start)) == 0,
                  "expected %s for:\n%.*s\ngot: %s", start,
                  (int)(text.len < 2000 ? text.len : 2000), text.ptr, help_error.text);
    ck_assert_msg(strstr(help_error.text, words) != NULL, "no `%s` in: %s", words,
                  help_error.text);
    ck_assert_uint_lt(strlen(help_error.text), sizeof help_error.text);
    ck_assert_ptr_null(help_definition.defs); /* released */
}

bool help_is(struct str text, const char *expected)
{
    return str_equal(text, str_of(expected));
}
