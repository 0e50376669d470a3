/* SPDX-License-Identifier: MIT */
/* schema SCHEMA FILE...: holds YAML (or JSON) files against a JSON Schema (draft
 * 2020-12) and prints a line for each:
 *
 *     valid.yaml<TAB>valid
 *     wrong.yaml<TAB>invalid<TAB>/tasks/a/when: is none of the allowed values
 *     broken.yaml<TAB>unreadable<TAB>5:1: did not find expected ...
 *
 * Exit 0 if every file was judged, 2 if the schema is not understood. Only what our
 * schema uses is known, and a keyword, type or pattern beyond that is refused wherever
 * it stands, so that nothing is passed over in silence. Patterns are POSIX extended
 * regular expressions that mean the same in ECMAScript: no backslash, no (?. */
#include "tests/tools/schema/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool judge_file(const json_t *schema, const char *name)
{
    struct judge j = {.schema = schema};
    FILE *in = fopen(name, "re");
    if (!in) {
        fprintf(stderr, "schema: %s: %s\n", name, strerror(errno));
        return false;
    }
    json_t *value = read_yaml(in, j.why);
    fclose(in);
    if (!value)
        printf("%s\tunreadable\t%s\n", name, j.why);
    else if (judge_value(&j, schema, value, 0))
        printf("%s\tvalid\n", name);
    else
        printf("%s\tinvalid\t%s\n", name, j.why);
    json_decref(value);
    return true;
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *schema;
    bool fine = true;

    if (argc < 3) {
        fputs("usage: schema SCHEMA FILE...\n", stderr);
        return 2;
    }
    schema = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
    if (!schema) {
        fprintf(stderr, "schema: %s:%d: %s\n", argv[1], error.line, error.text);
        return 2;
    }
    struct judge j = {.schema = schema};
    if (!check_supported(&j, schema, 0)) {
        fprintf(stderr, "schema: %s: %s\n", argv[1], j.why);
        fine = false;
    }
    for (int i = 2; fine && i < argc; i++)
        fine = judge_file(schema, argv[i]);
    json_decref(schema);
    return fine && fflush(stdout) == 0 ? 0 : 2;
}