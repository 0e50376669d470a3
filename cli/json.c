/* SPDX-License-Identifier: MIT */
/* The writer of JSON documents. A document grows in memory and is printed whole. */
#include "cli/json.h"

#include "base/words.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/ui.h"

#include <jansson.h>
#include <string.h>

static void put_text(struct doc *doc, const char *text)
{
    if (doc->failed)
        return;
    if (fputs(text, doc->file) < 0)
        doc->failed = true;
}

/* What follows the backslash in the short escapes of JSON, else 0. */
static char escape_letter(char c)
{
    switch (c) {
    case '"':
    case '\\':
        return c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return '\0';
    }
}

/* Writes one character of `length` bytes as it stands in a JSON string. Characters that
 * a terminal would obey are escaped, too, although JSON does not ask for it. */
static void put_character(FILE *file, const char *text, size_t length)
{
    char letter = escape_letter(text[0]);
    unsigned char first = (unsigned char)text[0];
    unsigned code;
    if (letter)
        fprintf(file, "\\%c", letter);
    else if (first < 0x20)
        fprintf(file, "\\u%04X", first);
    else if (first == 0x7f)
        fputs("\\u007f", file);
    else if (format_control(text, length, &code) > 0)
        fprintf(file, "\\u%04x", code);
    else
        fwrite(text, 1, length, file);
}

/* The text must be UTF-8. */
static void put_string(struct doc *doc, const char *text, size_t n)
{
    put_text(doc, "\"");
    for (size_t i = 0; i < n && !doc->failed;) {
        size_t length = utf8_length(text + i, n - i);
        if (length > 0)
            put_character(doc->file, text + i, length);
        else
            doc->failed = true;
        i += length;
    }
    put_text(doc, "\"");
}

static void put_key(struct doc *doc, const char *key)
{
    bool *more = &doc->more[doc->depth - 1];
    put_text(doc, *more ? "," : "");
    *more = true;
    if (key) {
        put_string(doc, key, strlen(key));
        put_text(doc, ":");
    }
}

static void open_level(struct doc *doc, const char *opener, char closer)
{
    if (doc->depth == DOC_DEPTH) {
        doc->failed = true;
        return;
    }
    put_text(doc, opener);
    doc->more[doc->depth] = false;
    doc->closers[doc->depth++] = closer;
}

void doc_begin(struct doc *doc)
{
    memset(doc, 0, sizeof *doc);
    doc->file = open_memstream(&doc->text, &doc->length);
    doc->failed = !doc->file;
    open_level(doc, "{", '}');
}

struct doc *doc_open(struct doc *doc, const char *array)
{
    if (!ui_json())
        return NULL;
    doc_begin(doc);
    if (array)
        doc_array(doc, array);
    return doc;
}

void doc_object(struct doc *doc, const char *key)
{
    put_key(doc, key);
    open_level(doc, "{", '}');
}

void doc_array(struct doc *doc, const char *key)
{
    put_key(doc, key);
    open_level(doc, "[", ']');
}

void doc_end(struct doc *doc)
{
    char closer[2] = {doc->closers[doc->depth - 1], '\0'};
    doc->depth--;
    put_text(doc, closer);
}

static void put_base64(struct doc *doc, const unsigned char *bytes, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned long group = (unsigned long)bytes[i] << 16;
        char four[5] = "====";
        if (i + 1 < n)
            group |= (unsigned long)bytes[i + 1] << 8;
        if (i + 2 < n)
            group |= bytes[i + 2];
        for (size_t k = 0; k < 4 && i + k <= n; k++)
            four[k] = digits[group >> (18 - 6 * k) & 63];
        put_text(doc, four);
    }
}

void doc_bytes(struct doc *doc, const char *key, const char *bytes, size_t n)
{
    put_key(doc, key);
    if (utf8_valid(bytes, n)) {
        put_string(doc, bytes, n);
        return;
    }
    put_text(doc, "{\"base64\":\"");
    put_base64(doc, (const unsigned char *)bytes, n);
    put_text(doc, "\"}");
}

void doc_text(struct doc *doc, const char *key, const char *text)
{
    if (!text)
        doc_null(doc, key);
    else
        doc_bytes(doc, key, text, strlen(text));
}

void doc_number(struct doc *doc, const char *key, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put_key(doc, key);
    put_text(doc, text);
}

void doc_count(struct doc *doc, const char *key, uint64_t number)
{
    char text[32];
    u64_text(number, text);
    put_key(doc, key);
    put_text(doc, text);
}

void doc_some(struct doc *doc, const char *key, uint64_t number)
{
    if (number == 0)
        doc_null(doc, key);
    else
        doc_count(doc, key, number);
}

void doc_real(struct doc *doc, const char *key, double number)
{
    char text[64];
    snprintf(text, sizeof text, "%.3f", number);
    put_key(doc, key);
    put_text(doc, text);
}

void doc_exact(struct doc *doc, const char *key, double number)
{
    char text[64];
    int digits = 1;
    do {
        snprintf(text, sizeof text, "%.*g", digits, number);
    } while (strtod(text, NULL) != number && ++digits <= 17);
    put_key(doc, key);
    put_text(doc, text);
}

void doc_bool(struct doc *doc, const char *key, bool value)
{
    put_key(doc, key);
    put_text(doc, value ? "true" : "false");
}

void doc_null(struct doc *doc, const char *key)
{
    put_key(doc, key);
    put_text(doc, "null");
}

void doc_time(struct doc *doc, const char *key, int64_t time_ns)
{
    char text[FORMAT_MAX];
    doc_text(doc, key, time_ns == 0 ? NULL : format_utc(text, time_ns));
}

void doc_discard(struct doc *doc)
{
    if (doc->file)
        fclose(doc->file);
    free(doc->text);
    memset(doc, 0, sizeof *doc);
}

int doc_close(struct doc *doc, int status)
{
    if (!doc)
        return status;
    if (status == 0)
        return doc_print(doc);
    doc_discard(doc);
    return status;
}

char *doc_take(struct doc *doc)
{
    char *text = NULL;
    while (doc->depth > 0)
        doc_end(doc);
    put_text(doc, "\n");
    if (!doc->failed && fflush(doc->file) == 0 && !ferror(doc->file))
        text = strdup(doc->text);
    doc_discard(doc);
    return text;
}

int doc_print(struct doc *doc)
{
    bool failed;
    while (doc->depth > 0)
        doc_end(doc);
    put_text(doc, "\n");
    failed = doc->failed || fflush(doc->file) != 0 || ferror(doc->file);
    if (failed) {
        ui_warn("out of memory");
        out_incomplete();
    } else {
        out_raw(doc->text, doc->length);
    }
    doc_discard(doc);
    out_flush();
    return failed ? EXIT_SYSTEM : 0;
}

/* Reading of JSON that cairn printed, and the only file that includes jansson. */

/* A json_t under a name of our own, so that nobody else needs jansson's header. */
static const json_t *value_of(const struct json_in *in)
{
    return (const json_t *)in;
}

struct json_in *json_in_parse(const char *text)
{
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    return (struct json_in *)json_loads(text, JSON_REJECT_DUPLICATES, NULL);
}

void json_in_free(struct json_in *in)
{
    json_decref((json_t *)in);
}

const struct json_in *json_in_member(const struct json_in *in, const char *key)
{
    return (const struct json_in *)json_object_get(value_of(in), key);
}

bool json_in_is_array(const struct json_in *in)
{
    return json_is_array(value_of(in));
}

size_t json_in_count(const struct json_in *in)
{
    return json_array_size(value_of(in));
}

const struct json_in *json_in_at(const struct json_in *in, size_t i)
{
    return (const struct json_in *)json_array_get(value_of(in), i);
}

const char *json_in_text(const struct json_in *in)
{
    return json_string_value(value_of(in));
}

bool json_in_number(const struct json_in *in, uint64_t *out)
{
    if (!json_is_integer(value_of(in)) || json_integer_value(value_of(in)) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value_of(in));
    return true;
}

bool json_in_is_object(const struct json_in *in)
{
    return json_is_object(value_of(in));
}

const struct json_in *json_in_next(const struct json_in *in, void **cursor,
                                   const char **key)
{
    json_t *object = (json_t *)(uintptr_t)in;
    *cursor =
        *cursor ? json_object_iter_next(object, *cursor) : json_object_iter(object);
    if (!*cursor)
        return NULL;
    *key = json_object_iter_key(*cursor);
    return (const struct json_in *)json_object_iter_value(*cursor);
}

char *json_in_plain(const struct json_in *in)
{
    if (!in || json_is_null(value_of(in)))
        return NULL;
    if (json_is_string(value_of(in)))
        return strdup(json_string_value(value_of(in)));
    return json_dumps(value_of(in), JSON_COMPACT | JSON_ENCODE_ANY);
}

bool json_in_is_null(const struct json_in *in)
{
    return json_is_null(value_of(in));
}
