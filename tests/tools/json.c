/* SPDX-License-Identifier: MIT
 *
 * json flat FILE: reads one JSON document or several in a row (NDJSON) and prints one
 * line per scalar, path, tab, value, so that shell tests can ask for any field:
 *
 *     .tasks[0].id<TAB>fetch
 *
 * With several documents each path starts with its number: [0].kind. Refuses what is
 * not JSON, and an object that has a key twice. Empty objects and lists are printed as
 * {} and []. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, DEPTH = 64 };

static int print_value(const json_t *value, char *path, size_t length, int depth);

/* Appends to the path what `format` says; the caller cuts it off again. */
static int descend(const json_t *value, char *path, size_t length, const char *step,
                   int depth)
{
    size_t n = strlen(step);
    if (length + n >= PATH_BYTES || depth >= DEPTH)
        return -1;
    memcpy(path + length, step, n + 1);
    int failed = print_value(value, path, length + n, depth + 1);
    path[length] = '\0';
    return failed;
}

static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text == '\t')
            fputs("\\t", stdout);
        else
            putchar(*text);
    }
    putchar('\n');
}

static int print_list(const json_t *list, char *path, size_t length, int depth)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        char step[32];
        snprintf(step, sizeof step, "[%zu]", i);
        if (descend(json_array_get(list, i), path, length, step, depth) != 0)
            return -1;
    }
    return 0;
}

static int print_object(json_t *object, char *path, size_t length, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char step[PATH_BYTES];
        int n = snprintf(step, sizeof step, ".%s", key);
        if (n < 0 || (size_t)n >= sizeof step ||
            descend(value, path, length, step, depth) != 0)
            return -1;
    }
    return 0;
}

static int print_value(const json_t *value, char *path, size_t length, int depth)
{
    if (json_is_array(value) && json_array_size(value) > 0)
        return print_list(value, path, length, depth);
    if (json_is_object(value) && json_object_size(value) > 0)
        return print_object((json_t *)(uintptr_t)value, path, length, depth);
    printf("%s\t", path);
    if (json_is_string(value)) {
        print_escaped(json_string_value(value));
        return 0;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    if (!text)
        return -1;
    puts(text);
    free(text);
    return 0;
}

/* Prints document number `n`; a lone document has no number in its paths. */
static int print_document(const json_t *document, size_t n, bool alone)
{
    char path[PATH_BYTES] = "";
    int length = alone ? 0 : snprintf(path, sizeof path, "[%zu]", n);
    return print_value(document, path, (size_t)length, 0);
}

static int flatten(FILE *in, const char *name)
{
    const size_t flags =
        JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    json_t *first = NULL;
    size_t n = 0;
    int c, failed = 0;
    while (!failed && (c = fgetc(in)) != EOF) {
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        ungetc(c, in);
        json_error_t error;
        json_t *document = json_loadf(in, flags, &error);
        if (!document) {
            fprintf(stderr, "json: %s: document %zu, line %d, column %d: %s\n", name,
                    n + 1, error.line, error.column, error.text);
            failed = 1;
        } else if (n == 0) {
            first = document;
        } else {
            failed = (n == 1 && print_document(first, 0, false) != 0) ||
                     print_document(document, n, false) != 0;
            json_decref(document);
        }
        n++;
    }
    if (n == 0)
        fprintf(stderr, "json: %s: nothing in it\n", name);
    if (n == 1 && !failed)
        failed = print_document(first, 0, true) != 0;
    json_decref(first);
    return failed || n == 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || strcmp(argv[1], "flat") != 0) {
        fputs("usage: json flat FILE\n", stderr);
        return 2;
    }
    FILE *in = fopen(argv[2], "re");
    if (!in) {
        fprintf(stderr, "json: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    int status = flatten(in, argv[2]);
    fclose(in);
    return fflush(stdout) == 0 && !ferror(stdout) ? status : 1;
}
