/* SPDX-License-Identifier: MIT */
/* One function says what is wrong with a context, for writers and readers alike, so
 * that whatever is read could have been written. */
#include "session/outside/context.h"

#include "base/reader.h"
#include "base/utf8.h"

#include <stdlib.h>

enum { VERSION = 1 };

/* ---- Numbers ---- */

uint32_t context_given(const struct context *context)
{
    uint32_t n = context->n_pairs;
    n += context->summary.len > 0;
    n += context->description.len > 0;
    n += context->state.len > 0;
    return n;
}

bool context_has_any(const struct context *context)
{
    return context_given(context) || context->has_tokens || context->has_usage ||
           context->branch.len || context->commit.len;
}

uint64_t context_estimate(const struct context *context)
{
    uint64_t bytes =
        context->summary.len + context->description.len + context->state.len;
    for (uint32_t i = 0; i < context->n_pairs; i++)
        bytes += context->pairs[i].key.len + context->pairs[i].value.len;
    return (bytes + 3) / 4;
}

const struct context_threshold context_thresholds[CONTEXT_THRESHOLDS] = {
    {25, "25"}, {50, "50"}, {75, "75"}, {90, "90"}};

uint8_t context_threshold(uint32_t usage)
{
    uint8_t reached = 0;
    for (unsigned i = 0; i < CONTEXT_THRESHOLDS; i++)
        if (usage >= context_thresholds[i].percent * (CONTEXT_USAGE_ALL / 100u))
            reached = context_thresholds[i].percent;
    return reached;
}

uint64_t context_characters(struct str text)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((uint8_t)text.ptr[i] & 0xc0) != 0x80; /* none that goes on with one */
    return n;
}

/* ---- What may be stored ---- */

static int check_text(const char *name, struct str text, uint64_t most,
                      struct cairn_error *error)
{
    if (text.len && !utf8_is_text(text))
        return error_set(error, CAIRN_EUSAGE, "%s is not UTF-8, or has a NUL in it",
                         name);
    uint64_t n = context_characters(text);
    if (n > most)
        return error_set(error, CAIRN_EUSAGE,
                         "%s has %llu characters: it may have at most %llu", name,
                         (unsigned long long)n, (unsigned long long)most);
    return 0;
}

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((uint8_t)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return true;
    return false;
}

static int check_pair(const struct context_pair *pair, struct cairn_error *error)
{
    if (!pair->key.len)
        return error_set(error, CAIRN_EUSAGE, "a key of the context is empty");
    int rc = check_text("a key of the context", pair->key, CONTEXT_KEY, error);
    if (!rc && has_control(pair->key))
        rc = error_set(error, CAIRN_EUSAGE,
                       "a key of the context has a control character in it");
    return rc ? rc
              : check_text("a value of the context", pair->value, CONTEXT_VALUE, error);
}

static int check_pairs(const struct context *context, struct cairn_error *error)
{
    int rc = 0;
    if (context->n_pairs > CONTEXT_PAIRS)
        return error_set(error, CAIRN_EUSAGE,
                         "the context has %u pairs: it may have at most %d",
                         context->n_pairs, CONTEXT_PAIRS);
    for (uint32_t i = 0; i < context->n_pairs && !rc; i++)
        rc = check_pair(&context->pairs[i], error);
    return rc;
}

static int check_numbers(const struct context *context, struct cairn_error *error)
{
    if (context->has_tokens && context->tokens >> CONTEXT_TOKENS_BITS)
        return error_set(error, CAIRN_EUSAGE, "there are fewer than 2^40 tokens");
    if (context->has_usage && context->usage > CONTEXT_USAGE_ALL)
        return error_set(error, CAIRN_EUSAGE, "the usage is more than 1");
    bool crossed = !context->threshold;
    for (unsigned i = 0; i < CONTEXT_THRESHOLDS && context->has_usage; i++)
        crossed |= context->threshold == context_thresholds[i].percent &&
                   context->threshold <= context_threshold(context->usage);
    return crossed ? 0
                   : error_set(error, CAIRN_EUSAGE, "no such threshold was crossed");
}

bool context_is_commit(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return text.len == 40 || text.len == 64;
}

static int check_git(const struct context *context, struct cairn_error *error)
{
    if (context->branch.len > CONTEXT_BRANCH ||
        (context->branch.len && !utf8_is_text(context->branch)))
        return error_set(error, CAIRN_EUSAGE,
                         "the branch of git is longer than 1024 bytes, or no UTF-8");
    if (!context->commit.len || context_is_commit(context->commit))
        return 0;
    return error_set(error, CAIRN_EUSAGE, "the commit of git is none");
}

int context_check(const struct context *context, struct cairn_error *error)
{
    int rc = check_text("the summary", context->summary, CONTEXT_SUMMARY, error);
    if (!rc)
        rc = check_text("the description", context->description, CONTEXT_DESCRIPTION,
                        error);
    if (!rc)
        rc = check_pairs(context, error);
    if (!rc && context->state.len > CONTEXT_STATE)
        rc = error_set(error, CAIRN_EUSAGE,
                       "the state has %zu bytes: it may have at most %d (1 MiB)",
                       context->state.len, CONTEXT_STATE);
    if (!rc)
        rc = check_text("the state", context->state, UINT64_MAX, error);
    if (!rc)
        rc = check_numbers(context, error);
    return rc ? rc : check_git(context, error);
}

/* ---- Writing ---- */

static int by_key(const void *a, const void *b)
{
    return str_compare(((const struct context_pair *)a)->key,
                       ((const struct context_pair *)b)->key);
}

static bool has_order(const struct context *context)
{
    for (uint32_t i = 1; i < context->n_pairs; i++)
        if (by_key(&context->pairs[i - 1], &context->pairs[i]) >= 0)
            return false;
    return true;
}

static void put(const struct context *context, struct buf *out)
{
    buf_byte(out, VERSION);
    buf_lstr(out, context->summary);
    buf_lstr(out, context->description);
    buf_varint(out, context->n_pairs);
    for (uint32_t i = 0; i < context->n_pairs; i++) {
        buf_lstr(out, context->pairs[i].key);
        buf_lstr(out, context->pairs[i].value);
    }
    buf_lstr(out, context->state);
    buf_varint(out, context->has_tokens ? context->tokens + 1 : 0);
    buf_varint(out, context->has_usage ? context->usage + UINT64_C(1) : 0);
    buf_byte(out, context->threshold);
    buf_lstr(out, context->branch);
    buf_lstr(out, context->commit);
}

int context_encode(struct context *context, struct buf *out, struct cairn_error *error)
{
    int rc = context_check(context, error);
    if (rc)
        return rc;
    if (!context_has_any(context))
        return error_set(error, CAIRN_EUSAGE, "the context is empty");
    if (context->n_pairs)
        qsort(context->pairs, context->n_pairs, sizeof *context->pairs, by_key);
    if (!has_order(context))
        return error_set(error, CAIRN_EUSAGE,
                         "two keys of the context are the same (secrets in them were "
                         "taken out)");
    put(context, out);
    return buf_check(out, error);
}

/* ---- Reading ---- */

static struct str copy_text(struct arena *arena, struct reader *in)
{
    struct str text = read_lstr(in);
    return in->failed ? STR("") : arena_str(arena, text);
}

static void read_pairs(struct arena *arena, struct reader *in, struct context *out)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > CONTEXT_PAIRS;
    out->n_pairs = in->failed ? 0 : (uint32_t)n;
    if (out->n_pairs)
        out->pairs = arena_take(arena, out->n_pairs, sizeof *out->pairs);
    for (uint32_t i = 0; i < out->n_pairs && out->pairs; i++) {
        out->pairs[i].key = copy_text(arena, in);
        out->pairs[i].value = copy_text(arena, in);
    }
}

static void read_numbers(struct reader *in, struct context *out)
{
    uint64_t tokens = read_varint(in), usage = read_varint(in);
    out->threshold = read_byte(in);
    out->has_tokens = tokens > 0;
    out->tokens = tokens ? tokens - 1 : 0;
    out->has_usage = usage > 0;
    in->failed = in->failed || usage > CONTEXT_USAGE_ALL + UINT64_C(1);
    out->usage = usage && !in->failed ? (uint32_t)(usage - 1) : 0;
}

int context_decode(struct arena *arena, struct str bytes, struct context *out,
                   struct cairn_error *error)
{
    struct context made = {0};
    struct cairn_error why = {0};
    struct reader in = reader_of(bytes.ptr, bytes.len);
    in.failed = read_byte(&in) != VERSION;
    made.summary = copy_text(arena, &in);
    made.description = copy_text(arena, &in);
    read_pairs(arena, &in, &made);
    made.state = copy_text(arena, &in);
    read_numbers(&in, &made);
    made.branch = copy_text(arena, &in);
    made.commit = copy_text(arena, &in);
    if (arena->failed)
        return error_nomem(error);
    if (!reader_done(&in) || context_check(&made, &why) || !has_order(&made) ||
        !context_has_any(&made))
        return error_set(error, CAIRN_EDAMAGED, "its part context is damaged");
    *out = made;
    return 0;
}
