/* SPDX-License-Identifier: MIT */
/* Printed ids:
 *
 *   workflow:42-9f3ac1d20b7e   seq and the start of the record's SHA-256
 *   workflow:42   42           seq
 *   9f3a                       4 or more hex digits, not all of them decimal
 *
 * Invariant: an id never silently means another checkpoint: a digest part that does not
 * match is refused. */
#include "checkpoint/find.h"
#include "base/decimal.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/row_int.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>

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

/* What follows "NAMESPACE:" of an id that begins with it, or NULL. */
static const char *skip_prefix(const char *id, uint8_t namespace_id)
{
    const char *name = namespace_name(namespace_id);
    size_t n = strlen(name);
    assert(id);
    return strncmp(id, name, n) == 0 && id[n] == ':' ? id + n + 1 : NULL;
}

/* As in "a workflow checkpoint". */
static const char *adjective_of(uint8_t namespace_id)
{
    return namespace_id == NAMESPACE_DEBUG ? "debugging" : "workflow";
}

static uint8_t other_namespace(uint8_t namespace_id)
{
    assert(namespace_id == NAMESPACE_WORKFLOW || namespace_id == NAMESPACE_DEBUG);
    return namespace_id == NAMESPACE_DEBUG ? NAMESPACE_WORKFLOW : NAMESPACE_DEBUG;
}

static int parse_id(uint8_t namespace_id, const char *id, struct parsed_id *out,
                    struct cairn_error *error)
{
    uint8_t other = other_namespace(namespace_id);
    const char *name = namespace_name(namespace_id);
    *out = (struct parsed_id){0};
    if (id && skip_prefix(id, other))
        return error_set(error, CAIRN_ENOTFOUND,
                         "%.40s is a %s checkpoint; this command looks only at %s "
                         "checkpoints (%s:42)",
                         id, adjective_of(other), adjective_of(namespace_id), name);
    const char *rest = id ? skip_prefix(id, namespace_id) : NULL;
    if (id && take_id(str_of(rest ? rest : id), rest != NULL, out)) {
        assert(out->seq > 0 || out->hex_digits >= HEX_MIN);
        return 0;
    }
    return error_set(error, CAIRN_EUSAGE,
                     "%.80s is not a checkpoint id; ids look like "
                     "%s:42-9f3ac1d20b7e, %s:42, 42, or 4 or more hex "
                     "digits; `cairn checkpoint list` shows them",
                     id ? id : "(nothing)", name, name);
}

/* Hex digits only: which record is meant? */
static int seq_of_hex(struct cairn_store *store, struct parsed_id *id,
                      struct cairn_error *error)
{
    uint64_t seqs[2];
    size_t found = 0;
    struct str hex = {id->hex, id->hex_digits};
    assert(id->seq == 0 && id->hex_digits >= HEX_MIN);
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
    if (seqs[0] == 0)
        return error_set(error, CAIRN_EDAMAGED,
                         "the checkpoint with these digits is stored under the number "
                         "0; run `cairn doctor`");
    id->seq = seqs[0];
    return 0;
}

struct match {
    const struct parsed_id *id;
    const struct chains *in;
    bool ours, matches; /* of the namespace; of the digits */
    char printed[CAIRN_ID_MAX];
    int sound; /* 0 or the code of what is wrong */
    struct cairn_error *error;
};

static bool hex_matches(const struct parsed_id *id, struct str digest)
{
    struct digest whole = {{0}};
    char hex[DIGEST_HEX_SIZE];
    assert(id->hex_digits <= HEX_MAX);
    if (digest.len != DIGEST_SIZE)
        return false;
    memcpy(whole.bytes, digest.ptr, DIGEST_SIZE);
    digest_hex(&whole, hex);
    return memcmp(hex, id->hex, id->hex_digits) == 0;
}

static int match_row(void *context, const struct checkpoint_row *row)
{
    struct match *match = context;
    uint8_t wanted = match->in->kind->namespace_id;
    struct sound_record record;
    match->sound = row_verify(row, match->in->sha, &record, match->error);
    match->ours = row->namespace_id == wanted ||
                  /* a damaged column must not hide the record */
                  (match->sound && row->namespace_id != other_namespace(wanted));
    match->matches = match->id->hex_digits == 0 || hex_matches(match->id, row->digest);
    if (!match->matches && match->sound) {
        struct digest before = row_digest(row, match->in->sha);
        struct str view = {(const char *)before.bytes, DIGEST_SIZE};
        match->matches = hex_matches(match->id, view);
    }
    row_id(row, match->printed);
    return match->sound == CAIRN_EDAMAGED ? 0 : match->sound;
}

int chain_find(const struct chains *in, const char *id, uint64_t *seq, bool *sound,
               struct cairn_error *error)
{
    struct parsed_id parsed;
    struct match match = {.id = &parsed, .in = in, .error = error};
    uint8_t wanted = in->kind->namespace_id;
    assert_chains(in);
    int rc = parse_id(wanted, id, &parsed, error);
    if (rc == 0 && parsed.seq == 0)
        rc = seq_of_hex(in->store, &parsed, error);
    if (rc)
        return rc;
    assert(parsed.seq > 0);
    unsigned long long number = parsed.seq;
    rc = store_get_checkpoint(in->store, parsed.seq, match_row, &match, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc,
                         "there is no checkpoint %llu (pruned ones are gone); `cairn "
                         "checkpoint list` shows what there is",
                         number);
    if (rc)
        return rc;
    if (!match.ours)
        return error_set(error, CAIRN_ENOTFOUND,
                         "checkpoint %llu is a %s checkpoint, not one of a %s", number,
                         adjective_of(other_namespace(wanted)),
                         wanted == NAMESPACE_WORKFLOW ? "workflow" : "session");
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
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    if (!in.sha)
        return error_nomem(error);
    uint64_t found = 0;
    bool sound = false;
    int rc = chain_find(&in, id, &found, &sound, error);
    sha256_free(in.sha);
    if (rc)
        return rc;
    if (!sound)
        return CAIRN_EDAMAGED; /* chain_find filled the error */
    assert(found > 0);
    *seq = found;
    return 0;
}
