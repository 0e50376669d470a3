/* SPDX-License-Identifier: MIT */
/* Nodes of the right kind and values of the right type, with the messages for all
 * others; warnings, notes and mistakes of the parser. */
#include "workflow/expect_int.h"

#include "workflow/scalar.h"

#include "base/limits.h"
#include "base/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Messages ---- */

/* Copies the line into the definition's arena and its view behind `list`. */
static void add_line(struct parser *p, struct buf *list, const struct buf *line)
{
    struct str copy = arena_str(&p->out->arena, buf_view(line));
    list->failed |= line->failed;
    buf_add(list, &copy, sizeof copy);
}

int parse_go_on(const struct parser *p, int rc)
{
    struct mistakes *mistakes = p->options->mistakes;
    bool of_file = rc == CAIRN_EWORKFLOW || rc == CAIRN_EUSAGE || rc == CAIRN_ELIMIT;
    if (!mistakes || !of_file || mistakes->n == MISTAKES)
        return rc;
    mistakes->list[mistakes->n++] =
        (struct mistake){p->in->index, p->place, *p->diagnostic.error};
    return mistakes->n < MISTAKES ? 0 : rc;
}

bool parse_is_good(const struct parser *p)
{
    return !p->options->mistakes || p->options->mistakes->n == 0;
}

void parse_warn(struct parser *p, struct position at, const char *format, ...)
{
    char message[256];
    struct buf line = BUF_INIT;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const struct source *source = source_of_line(&p->source, at.line);
    buf_format(&line, "%s:%u:%u: %s", source->name, at.line - source->before, at.column,
               message);
    add_line(p, &p->warnings, &line);
    buf_release(&line);
}

void parse_note(struct parser *p, const struct buf *line)
{
    add_line(p, &p->notes, line);
}

static struct str *copy_lines(struct parser *p, const struct buf *lines, uint32_t *n)
{
    *n = (uint32_t)(lines->size / sizeof(struct str));
    struct str *copy = arena_take(&p->out->arena, *n, sizeof *copy);
    p->out->arena.failed |= lines->failed;
    if (copy && *n)
        memcpy(copy, lines->data, lines->size);
    return copy;
}

int keep_messages(struct parser *p)
{
    struct definition *out = p->out;
    out->warnings = copy_lines(p, &p->warnings, &out->n_warnings);
    out->notes = copy_lines(p, &p->notes, &out->n_notes);
    return out->arena.failed ? out_of_memory(p) : 0;
}

/* ---- Kinds and types ---- */

bool node_is_null(const struct node *node)
{
    const char *reads_as;
    return node->kind == NODE_TEXT && node->plain &&
           scalar_type(node->text, &reads_as) == SCALAR_NULL;
}

static const char *kind_name(const struct node *node)
{
    static const char *const names[] = {"text", "a list", "a mapping"};
    const char *reads_as = NULL;
    if (node->kind == NODE_TEXT && node->plain)
        scalar_type(node->text, &reads_as);
    return reads_as ? reads_as : names[node->kind];
}

static int expect_kind(const struct parser *p, const struct node *node,
                       const char *what, enum node_kind kind, const char *form)
{
    if (node->kind == kind)
        return 0;
    if (node_is_null(node))
        return diagnose(&p->diagnostic, node->at, "%s has no value; it must be %s",
                        what, form);
    return diagnose(&p->diagnostic, node->at, "%s must be %s, not %s", what, form,
                    kind_name(node));
}

int expect_map(const struct parser *p, const struct node *node, const char *what)
{
    return expect_kind(p, node, what, NODE_MAP, "a mapping (key: value)");
}

int expect_list(const struct parser *p, const struct node *node, const char *what)
{
    return expect_kind(p, node, what, NODE_LIST, "a list [a, b]");
}

/* Text that has no other reading. */
static int check_traps(const struct parser *p, const struct node *node,
                       const char *what)
{
    const char *reads_as;
    if (!node->plain)
        return 0;
    switch (scalar_type(node->text, &reads_as)) {
    case SCALAR_TEXT:
    case SCALAR_INTEGER:
    case SCALAR_DECIMAL:
        return 0;
    case SCALAR_NULL:
        if (node->text.len == 0)
            return diagnose(&p->diagnostic, node->at,
                            "%s has no value; an empty text is written \"\"", what);
        break;
    case SCALAR_BOOL:
    case SCALAR_TRAP:
        break;
    }
    return diagnose(&p->diagnostic, node->at,
                    "%s: `%.*s` without quotes is %s in YAML; for the text write "
                    "\"%.*s\"",
                    what, SHOWN(node->text), reads_as, SHOWN(node->text));
}

int expect_text(const struct parser *p, const struct node *node, const char *what,
                struct str *out)
{
    int rc =
        expect_kind(p, node, what, NODE_TEXT, "text") ?: check_traps(p, node, what);
    if (rc)
        return rc;
    if (memchr(node->text.ptr, 0, node->text.len))
        return diagnose(&p->diagnostic, node->at, "%s has a NUL byte in it", what);
    struct str copy = arena_str(&p->out->arena, node->text);
    if (!copy.ptr)
        return out_of_memory(p);
    *out = copy;
    return 0;
}

int expect_filled(const struct parser *p, const struct node *node, const char *what,
                  struct str *out)
{
    struct str text;
    int rc = expect_text(p, node, what, &text);
    if (rc)
        return rc;
    if (text.len == 0)
        return diagnose(&p->diagnostic, node->at, "%s is empty", what);
    *out = text;
    return 0;
}

int expect_key(const struct parser *p, const struct node *node, const char *what,
               struct str *out)
{
    struct str text;
    int rc = expect_filled(p, node, what, &text);
    if (rc)
        return rc;
    if (text.len > LIMIT_NAME_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "%s is longer than %d bytes", what, LIMIT_NAME_BYTES);
    *out = text;
    return 0;
}

struct position place_of_reference(const struct parser *p, const struct node *node,
                                   struct str text)
{
    size_t at = template_find(text, 0);
    bool found = at != SIZE_MAX;
    return source_inside(&p->source, node->at, text, found ? at : 0, found ? 3 : 0);
}

int expect_fixed(const struct parser *p, const struct node *node, const char *what,
                 struct str *out)
{
    struct str text;
    int rc = expect_text(p, node, what, &text);
    if (rc)
        return rc;
    if (template_has(text))
        return diagnose(
            &p->diagnostic, place_of_reference(p, node, text),
            "${{ }} cannot stand in %s; it is evaluated in `exec`, `env`, "
            "`if`, `cwd`, `inputs`, `outputs`, `artifacts`, `external`, values of "
            "`foreach` and the brackets of `needs`",
            what);
    *out = text;
    return 0;
}

int expect_integer(const struct parser *p, const struct node *node, const char *what,
                   struct bounds bounds, int64_t *out)
{
    int64_t value;
    int rc = expect_kind(p, node, what, NODE_TEXT, "a whole number");
    if (rc)
        return rc;
    if (node_is_null(node))
        return diagnose(&p->diagnostic, node->at,
                        "%s has no value; it must be a whole number", what);
    if (!node->plain)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a whole number, not text; write it without quotes",
                        what);
    const char *reads_as;
    if (scalar_type(node->text, &reads_as) != SCALAR_INTEGER)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a whole number such as 8, without leading zeros, "
                        "not `%.*s`",
                        what, SHOWN(node->text));
    if (!scalar_to_i64(node->text, &value) || value < bounds.least ||
        value > bounds.most)
        return diagnose(&p->diagnostic, node->at,
                        "%s must lie between %" PRId64 " and %" PRId64, what,
                        bounds.least, bounds.most);
    *out = value;
    return 0;
}

int expect_bool(const struct parser *p, const struct node *node, const char *what,
                bool *out)
{
    bool yes = node->kind == NODE_TEXT && str_equal(node->text, STR("true"));
    bool no = node->kind == NODE_TEXT && str_equal(node->text, STR("false"));
    if (node->kind != NODE_TEXT || !node->plain || (!yes && !no))
        return diagnose(&p->diagnostic, node->at,
                        "%s must be true or false (without quotes)", what);
    *out = yes;
    return 0;
}

void join_words(char *out, size_t size, const struct str words[], size_t n)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const char *between = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        size_t left = n - i, room = size - used;
        bool fits = strlen(between) + (size_t)shown_length(words[i]) + 20 < room;
        used +=
            (size_t)(fits ? snprintf(out + used, room, "%s%.*s", between,
                                     SHOWN(words[i]))
                          : snprintf(out + used, room, " or one of %zu more", left));
        if (!fits)
            return;
    }
}

int expect_choice(const struct parser *p, const struct node *node, const char *what,
                  const struct str words[], size_t n, uint8_t *out)
{
    char all[128] = "";
    struct str word;
    int rc = expect_text(p, node, what, &word);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (str_equal(word, words[i])) {
            *out = (uint8_t)i;
            return 0;
        }
    join_words(all, sizeof all, words, n);
    struct hint hint = hint_nearest(word, words, n);
    return diagnose(&p->diagnostic, node->at, "%s must be %s, not `%.*s`%s", what, all,
                    SHOWN(word), hint.text);
}

int expect_permille(const struct parser *p, const struct node *node, const char *what,
                    struct bounds bounds, uint32_t *out)
{
    int64_t permille = 0;
    bool number = node->kind == NODE_TEXT && node->plain &&
                  scalar_to_permille(node->text, &permille);
    if (!number || permille < bounds.least * 1000 || permille > bounds.most * 1000)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a number between %" PRId64 " and %" PRId64
                        " with at most three decimals, such as %s",
                        what, bounds.least, bounds.most,
                        bounds.most > 1 ? "2 or 1.5" : "0.7");
    *out = (uint32_t)permille;
    return 0;
}

int expect_memory(const struct parser *p, const struct node *node, const char *what,
                  uint32_t *out)
{
    enum { MIB = 1 << 20 };
    uint64_t bytes = 0;
    int rc = expect_kind(p, node, what, NODE_TEXT, "a size such as 2G");
    if (rc)
        return rc;
    if (!str_to_bytes(node->text, (uint64_t)LIMIT_MEMORY_MIB * MIB, &bytes) || !bytes)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a size such as 512M or 2G, at most %dT, not `%.*s`",
                        what, LIMIT_MEMORY_MIB / MIB, SHOWN(node->text));
    if (str_to_u64(node->text, &bytes))
        return diagnose(&p->diagnostic, node->at,
                        "%s has no unit: write %" PRIu64 "M for MiB, or %" PRIu64
                        "G for GiB",
                        what, bytes, bytes);
    *out = (uint32_t)((bytes - 1) / MIB + 1);
    return 0;
}

int expect_duration(const struct parser *p, const struct node *node, const char *what,
                    int64_t least, int64_t *out)
{
    int64_t number, ms;
    int rc = expect_kind(p, node, what, NODE_TEXT, "a duration such as 10s");
    if (rc)
        return rc;
    if (node_is_null(node))
        return diagnose(&p->diagnostic, node->at,
                        "%s has no value; it must be a duration such as 10s", what);
    if (scalar_to_i64(node->text, &number))
        return diagnose(&p->diagnostic, node->at,
                        "%s is a duration and needs a unit; write %.*ss for seconds",
                        what, SHOWN(node->text));
    if (!str_to_duration_ms(node->text, &ms))
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a duration such as 500ms, 0.5s, 10s, 5m, 2h, 1d or "
                        "1m30s, at most 36500d, not `%.*s`",
                        what, SHOWN(node->text));
    if (ms < least)
        return diagnose(&p->diagnostic, node->at, "%s must be at least %" PRId64 "ms",
                        what, least);
    *out = ms;
    return 0;
}

int too_long(const struct parser *p, struct position at, const char *what)
{
    return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, at,
                       "%s is longer than %d bytes, the most the kernel passes to a "
                       "process in one string; put it into a file",
                       what, LIMIT_ENV_STRING);
}
