/* SPDX-License-Identifier: MIT */
/* Printed ids:
 *
 *   workflow:42-9f3ac1d20b7e   seq and the start of the record's SHA-256
 *   workflow:42   42           seq
 *   9f3a                       4 or more hex digits, not all of them decimal
 *
 * Invariant: an id never silently means another checkpoint: a digest part that does not
 * match is refused. */
#include "checkpoint/row_int.h"
#include "checkpoint/verify.h"
#include "storage/rows_checkpoint.h"

enum { HEX_MIN = 4, HEX_MAX = 64 };

struct parsed_id {
    uint64_t seq;          /* 0: hex only */
    size_t hex_digits;     /* 0: none */
    char hex[HEX_MAX + 1]; /* lower case */
};

static bool take_hex(struct str text, struct parsed_id *out)
{
    if (text.len == 0 || text.len > HEX_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c >= 'A' && c <= 'F')
            c = (char)(c - 'A' + 'a');
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        out->hex[i] = c;
    }
    out->hex[text.len] = 0;
    out->hex_digits = text.len;
    return true;
}

static bool take_id(struct str text, bool prefixed, struct parsed_id *out)
{
    const char *dash = text.len ? memchr(text.ptr, '-', text.len) : NULL;
    struct str number = text;
    if (dash)
        number.len = (size_t)(dash - text.ptr);
    if (str_to_u64(number, &out->seq)) {
        if (out->seq == 0 || out->seq > INT64_MAX)
            return false;
        if (!dash)
            return true;
        return take_hex((struct str){dash + 1, text.len - number.len - 1}, out);
    }
    out->seq = 0;
    return !dash && !prefixed && text.len >= HEX_MIN && take_hex(text, out);
}

static int parse_id(const char *id, struct parsed_id *out, struct cairn_error *error)
{
    static const char prefix[] = "workflow:", other[] = "debug:";
    bool prefixed = id && strncmp(id, prefix, sizeof prefix - 1) == 0;
    *out = (struct parsed_id){0};
    if (id && strncmp(id, other, sizeof other - 1) == 0)
        return error_set(error, CAIRN_ENOTFOUND,
                         "%.40s is a debugging checkpoint; this command looks only at "
                         "workflow checkpoints (workflow:42)",
                         id);
    if (id && take_id(str_of(prefixed ? id + sizeof prefix - 1 : id), prefixed, out))
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "%.80s is not a checkpoint id; ids look like "
                     "workflow:42-9f3ac1d20b7e, workflow:42, 42, or 4 or more hex "
                     "digits; `cairn checkpoint list` shows them",
                     id ? id : "(nothing)");
}

/* Hex digits only: which record is meant? */
static int seq_of_hex(struct cairn_store *store, struct parsed_id *id,
                      struct cairn_error *error)
{
    uint64_t seqs[2];
    size_t found = 0;
    struct str hex = {id->hex, id->hex_digits};
    int rc = store_find_digest(store, hex, seqs, 2, &found, error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    if (rc || found == 0)
        return error_set(error, CAIRN_ENOTFOUND,
                         "no checkpoint has a digest that begins with %s", id->hex);
    if (found > 1)
        return error_set(error, CAIRN_EAMBIGUOUS,
                         "%s is ambiguous: it could be checkpoint %llu, %llu or "
                         "more; give more digits or the number",
                         id->hex, (unsigned long long)seqs[0],
                         (unsigned long long)seqs[1]);
    id->seq = seqs[0];
    return 0;
}

struct match {
    const struct parsed_id *id;
    struct sha256 *sha;
    bool workflow, matches;
    char printed[CAIRN_ID_MAX];
    int sound; /* 0 or the code of what is wrong */
    struct cairn_error *error;
};

static bool hex_matches(const struct parsed_id *id, struct str digest)
{
    struct digest whole = {{0}};
    char hex[DIGEST_HEX_SIZE];
    if (digest.len != DIGEST_SIZE)
        return false;
    memcpy(whole.bytes, digest.ptr, DIGEST_SIZE);
    digest_hex(&whole, hex);
    return memcmp(hex, id->hex, id->hex_digits) == 0;
}

static int match_row(void *context, const struct checkpoint_row *row)
{
    struct match *match = context;
    struct checked checked;
    match->sound = row_verify(row, match->sha, &checked, match->error);
    match->workflow = row->namespace_id == NAMESPACE_WORKFLOW ||
                      /* a damaged column must not hide the record */
                      (match->sound && row->namespace_id != NAMESPACE_DEBUG);
    match->matches = match->id->hex_digits == 0 || hex_matches(match->id, row->digest);
    if (!match->matches && match->sound) {
        struct digest before = row_digest(row, match->sha);
        struct str view = {(const char *)before.bytes, DIGEST_SIZE};
        match->matches = hex_matches(match->id, view);
    }
    row_id(row, match->printed);
    return match->sound == CAIRN_EDAMAGED ? 0 : match->sound;
}

int find_any(struct cairn_store *store, struct sha256 *sha, const char *id,
             uint64_t *seq, bool *sound, struct cairn_error *error)
{
    struct parsed_id parsed;
    struct match match = {.id = &parsed, .sha = sha, .error = error};
    int rc = parse_id(id, &parsed, error);
    if (rc == 0 && parsed.seq == 0)
        rc = seq_of_hex(store, &parsed, error);
    if (rc)
        return rc;
    unsigned long long number = parsed.seq;
    rc = store_get_checkpoint(store, parsed.seq, match_row, &match, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc,
                         "there is no checkpoint %llu (pruned ones are gone); `cairn "
                         "checkpoint list` shows what there is",
                         number);
    if (rc)
        return rc;
    if (!match.workflow)
        return error_set(error, CAIRN_ENOTFOUND,
                         "checkpoint %llu is a debugging checkpoint, not one of a "
                         "workflow",
                         number);
    if (!match.matches)
        return error_set(error, CAIRN_ENOTFOUND,
                         "the id %.80s names another checkpoint than the one stored "
                         "as %llu, which is %s",
                         id, number, match.printed);
    *seq = parsed.seq;
    *sound = match.sound == 0;
    return 0;
}

int checkpoint_find(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error)
{
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    uint64_t found = 0;
    bool sound = false;
    int rc = find_any(store, sha, id, &found, &sound, error);
    sha256_free(sha);
    if (rc)
        return rc;
    if (!sound)
        return CAIRN_EDAMAGED; /* find_any filled the error */
    *seq = found;
    return 0;
}
