/* SPDX-License-Identifier: MIT */
/* ${{ }} in text: finding it, and putting values in. */
#include "graph/expression/expression_int.h"

static const char opening[] = "${{";
enum { OPENING = 3, CLOSING = 2 };

size_t template_start(struct str text, size_t from)
{
    if (from >= text.len)
        return SIZE_MAX;
    const char *at = memmem(text.ptr + from, text.len - from, opening, OPENING);
    return at ? (size_t)(at - text.ptr) : SIZE_MAX;
}

bool template_has(struct str text)
{
    return template_start(text, 0) != SIZE_MAX;
}

size_t template_end(struct str text, size_t from)
{
    bool quoted = false;
    for (size_t i = from; i + 1 < text.len; i++) {
        if (text.ptr[i] == '\'')
            quoted = !quoted;
        else if (!quoted && text.ptr[i] == '}' && text.ptr[i + 1] == '}')
            return i;
    }
    return SIZE_MAX;
}

static int no_end(struct str text, size_t start, struct expression_error *error)
{
    struct str rest = {text.ptr + start, text.len - start};
    bool quote = memmem(rest.ptr, rest.len, "}}", CLOSING) != NULL;
    return expression_fail(error, start, OPENING,
                           quote ? "`${{` without `}}`: what stands in '...' does not "
                                   "count, and a quote is open"
                                 : "`${{` without `}}`");
}

/* ---- Parsing ---- */

static int add_piece(struct buf *pieces, struct piece piece)
{
    buf_add(pieces, &piece, sizeof piece);
    return pieces->failed ? CAIRN_ENOMEM : 0;
}

static int parse_one(struct arena *arena, struct str text, size_t start, size_t *end,
                     struct piece *out, struct expression_error *error)
{
    size_t from = start + OPENING, close = template_end(text, from);
    if (close == SIZE_MAX)
        return no_end(text, start, error);
    *out = (struct piece){.at = start};
    *end = close + CLOSING;
    int rc = expression_parse(arena, (struct str){text.ptr + from, close - from},
                              &out->expression, error);
    if (rc == CAIRN_EWORKFLOW && error)
        error->at += from;
    return rc;
}

static int parse_pieces(struct arena *arena, struct str text, struct buf *pieces,
                        struct expression_error *error)
{
    size_t done = 0;
    int rc = 0;
    while (done < text.len && !rc) {
        size_t start = template_start(text, done);
        size_t literal = (start == SIZE_MAX ? text.len : start) - done;
        struct piece piece = {.text = {text.ptr + done, literal}, .at = done};
        if (literal)
            rc = add_piece(pieces, piece);
        done += literal;
        if (rc || start == SIZE_MAX)
            break;
        rc = parse_one(arena, text, start, &done, &piece, error);
        if (!rc)
            rc = add_piece(pieces, piece);
    }
    return rc;
}

int template_parse(struct arena *arena, struct str text, struct text_template *out,
                   struct expression_error *error)
{
    struct buf pieces = BUF_INIT;
    int rc = parse_pieces(arena, text, &pieces, error);
    size_t n = pieces.size / sizeof(struct piece);
    struct piece *kept = rc ? NULL : arena_take(arena, n, sizeof *kept);
    if (!rc && !kept)
        rc = CAIRN_ENOMEM;
    if (!rc) {
        if (n)
            memcpy(kept, pieces.data, pieces.size);
        *out = (struct text_template){(uint32_t)n, kept};
    }
    buf_release(&pieces);
    return rc;
}

/* ---- Expanding ---- */

int template_expand(const struct text_template *template, name_lookup *lookup,
                    void *context, struct buf *out, struct cairn_error *error)
{
    for (uint32_t i = 0; i < template->n; i++) {
        const struct piece *piece = &template->pieces[i];
        struct operand operand;
        if (!piece->expression) {
            buf_str(out, piece->text);
            continue;
        }
        int rc = expression_run(piece->expression, lookup, context, &operand, error);
        if (!rc)
            rc = expression_missing(piece->expression, &operand, error);
        if (rc)
            return rc;
        value_append(&operand.value, out);
    }
    return buf_check(out, error);
}
