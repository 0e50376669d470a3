/* SPDX-License-Identifier: MIT */
/* Results as bytes. Encoding is canonical: tables are sorted or keep the order of the
 * workflow file, sections come in the order of their numbers, numbers are as short as
 * can be. Decoding trusts nothing: a count counts only as far as the bytes behind
 * it can hold so many items, and at the end the result must encode to the very bytes
 * that were read. So there is one encoding of a result, and whatever a reader forgot to
 * refuse is refused there. */
#include "runs/result.h"

#include "base/limits.h"
#include "base/str.h"

#include <assert.h>
#include <stdlib.h>

enum { VERSION = 1, WARNED = 1 };
enum section {
    SECTION_OUTPUTS = 1,
    SECTION_INPUTS,
    SECTION_VALUES,
    SECTION_SECRETS,
    SECTION_UNDO,
    SECTION_CHECK,
    SECTION_ROUND,
    SECTIONS_END
};
/* The least that one item takes, to bound counts. */
enum { LEAST_STR = 1, LEAST_PAIR = 2, LEAST_FILE = 52, LEAST_MARK = 34 };
enum { LEAST_OLD_FILE = 35 };

static void add_files(struct buf *out, const struct result_file *files, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        assert(files[i].name.len > 0);
        buf_lstr(out, files[i].name);
        buf_byte(out, files[i].kind);
        buf_varint(out, files[i].size);
        buf_u64(out, (uint64_t)files[i].mtime_ns);
        buf_u64(out, (uint64_t)files[i].ctime_ns);
        buf_varint(out, files[i].inode);
        buf_add(out, files[i].digest.bytes, DIGEST_SIZE);
    }
}

static void add_pairs(struct buf *out, const struct key_value *pairs, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        assert(pairs[i].key.len > 0);
        buf_lstr(out, pairs[i].key);
        buf_lstr(out, pairs[i].value);
    }
}

static void add_strs(struct buf *out, const struct str *strs, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_lstr(out, strs[i]);
}

static void add_values(struct buf *out, const struct result *result)
{
    for (uint32_t i = 1; i < result->n_values; i++)
        assert(str_compare(result->values[i - 1].key, result->values[i].key) < 0);
    add_pairs(out, result->values, result->n_values);
}

static void add_secrets(struct buf *out, const struct result *result)
{
    buf_varint(out, result->n_secrets);
    for (uint32_t i = 0; i < result->n_secrets; i++) {
        const struct secret_mark *mark = &result->secrets[i];
        assert(i == 0 || str_compare(mark[-1].name, mark->name) < 0);
        buf_lstr(out, mark->name);
        buf_add(out, mark->mac.bytes, DIGEST_SIZE);
    }
}

static void add_undo(struct buf *out, const struct undo_action *undo)
{
    buf_lstr(out, undo->text);
    add_strs(out, undo->shell, undo->n_shell);
    buf_lstr(out, undo->cwd);
    add_pairs(out, undo->env, undo->n_env);
    add_strs(out, undo->secrets, undo->n_secrets);
}

static void add_check(struct buf *out, const struct result *result)
{
    double confidence = result->confidence;
    uint64_t bits;
    assert(confidence >= 0 && confidence <= 1); /* NaN is not, either */
    if (confidence == 0)
        confidence = 0; /* never -0 */
    memcpy(&bits, &confidence, sizeof bits);
    buf_u64(out, bits);
    buf_byte(out, result->warned ? WARNED : 0);
}

/* Appends nothing if the result says nothing of that kind. */
static void add_content(struct buf *out, const struct result *result,
                        enum section section)
{
    if (section == SECTION_OUTPUTS && result->n_outputs)
        add_files(out, result->outputs, result->n_outputs);
    else if (section == SECTION_INPUTS && result->n_inputs)
        add_files(out, result->inputs, result->n_inputs);
    else if (section == SECTION_VALUES && result->n_values)
        add_values(out, result);
    else if (section == SECTION_SECRETS && result->n_secrets)
        add_secrets(out, result);
    else if (section == SECTION_UNDO && result->undo.text.len)
        add_undo(out, &result->undo);
    else if (section == SECTION_CHECK && result->checked)
        add_check(out, result);
    else if (section == SECTION_ROUND && result->round)
        buf_varint(out, result->round);
}

static int check_limits(const struct result *result, struct cairn_error *error)
{
    if (result->n_values > LIMIT_VALUES)
        return error_set(error, CAIRN_ELIMIT, "%u values; at most %d can be kept",
                         result->n_values, LIMIT_VALUES);
    if (result->n_secrets > LIMIT_SECRETS || result->undo.n_secrets > LIMIT_SECRETS)
        return error_set(error, CAIRN_ELIMIT, "more than %d secrets", LIMIT_SECRETS);
    return 0;
}

int result_encode(const struct result *result, struct buf *out,
                  struct cairn_error *error)
{
    struct buf all = BUF_INIT, content = BUF_INIT;
    int rc = check_limits(result, error);
    if (rc)
        return rc;
    for (int s = SECTION_OUTPUTS; s < SECTIONS_END; s++) {
        buf_clear(&content);
        add_content(&content, result, (enum section)s);
        all.failed |= content.failed;
        if (content.size == 0)
            continue;
        if (all.size == 0)
            buf_add(&all, (uint8_t[]){0, VERSION}, 2);
        buf_byte(&all, (uint8_t)s);
        buf_lstr(&all, buf_view(&content));
    }
    rc = buf_check(&all, error);
    if (!rc && all.size > LIMIT_OBJECT_BYTES)
        rc = error_set(error, CAIRN_ELIMIT,
                       "the result has %zu bytes; at most %d can be kept", all.size,
                       LIMIT_OBJECT_BYTES);
    if (!rc) {
        buf_str(out, buf_view(&all));
        rc = buf_check(out, error);
    }
    buf_release(&content);
    buf_release(&all);
    return rc;
}

/* What is being decoded, and where to. What is wrong shows in in.failed (the bytes) or
 * arena->failed (memory). */
struct decoding {
    struct reader in;
    struct arena *arena;
};

/* A count of at most `most` items, each of at least `least` bytes. */
static uint32_t get_count(struct decoding *d, size_t least, uint32_t most)
{
    uint64_t n = read_varint(&d->in);
    if (n > reader_left(&d->in) / least || n > most)
        d->in.failed = true;
    return d->in.failed ? 0 : (uint32_t)n;
}

static void *get_room(struct decoding *d, uint32_t *n, size_t size)
{
    void *room = arena_take(d->arena, *n, size);
    if (!room)
        *n = 0;
    return room;
}

/* Text goes into environments, command lines and paths: no NUL. */
static struct str get_str(struct decoding *d)
{
    struct str text = read_lstr(&d->in);
    if (text.len && memchr(text.ptr, 0, text.len))
        d->in.failed = true;
    return arena_str(d->arena, d->in.failed ? (struct str){NULL, 0} : text);
}

static struct str get_name(struct decoding *d)
{
    struct str name = get_str(d);
    if (name.len == 0)
        d->in.failed = true;
    return name;
}

static struct digest get_digest(struct decoding *d)
{
    struct digest digest = {{0}};
    struct str bytes = read_bytes(&d->in, DIGEST_SIZE);
    if (bytes.len)
        memcpy(digest.bytes, bytes.ptr, DIGEST_SIZE);
    return digest;
}

static void get_file(struct decoding *d, bool old, struct result_file *file)
{
    file->name = get_name(d);
    file->kind = read_byte(&d->in);
    if (file->kind != 'f' && file->kind != 'd')
        d->in.failed = true;
    file->size = read_varint(&d->in);
    if (!old) {
        file->mtime_ns = (int64_t)read_u64(&d->in);
        file->ctime_ns = (int64_t)read_u64(&d->in);
        file->inode = read_varint(&d->in);
    }
    file->digest = get_digest(d);
}

static struct result_file *get_files(struct decoding *d, uint32_t *n)
{
    *n = get_count(d, LEAST_FILE, UINT32_MAX);
    struct result_file *files = get_room(d, n, sizeof *files);
    for (uint32_t i = 0; i < *n && !d->in.failed; i++)
        get_file(d, false, &files[i]);
    return files;
}

static struct key_value *get_pairs(struct decoding *d, uint32_t *n, uint32_t most)
{
    *n = get_count(d, LEAST_PAIR, most);
    struct key_value *pairs = get_room(d, n, sizeof *pairs);
    for (uint32_t i = 0; i < *n && !d->in.failed; i++) {
        pairs[i].key = get_name(d);
        pairs[i].value = get_str(d);
    }
    return pairs;
}

static struct str *get_strs(struct decoding *d, uint32_t *n, uint32_t most)
{
    *n = get_count(d, LEAST_STR, most);
    struct str *strs = get_room(d, n, sizeof *strs);
    for (uint32_t i = 0; i < *n && !d->in.failed; i++)
        strs[i] = get_str(d);
    return strs;
}

static void get_values(struct decoding *d, struct result *result)
{
    result->values = get_pairs(d, &result->n_values, LIMIT_VALUES);
    for (uint32_t i = 0; i < result->n_values && !d->in.failed; i++) {
        struct str key = result->values[i].key;
        if (i && str_compare(result->values[i - 1].key, key) >= 0)
            d->in.failed = true;
    }
}

static void get_secrets(struct decoding *d, struct result *result)
{
    uint32_t n = get_count(d, LEAST_MARK, LIMIT_SECRETS);
    struct secret_mark *marks = get_room(d, &n, sizeof *marks);
    for (uint32_t i = 0; i < n && !d->in.failed; i++) {
        marks[i].name = get_name(d);
        marks[i].mac = get_digest(d);
        if (i && str_compare(marks[i - 1].name, marks[i].name) >= 0)
            d->in.failed = true;
    }
    result->secrets = marks;
    result->n_secrets = n;
}

static void get_undo(struct decoding *d, struct undo_action *undo)
{
    undo->text = get_name(d);
    undo->shell = get_strs(d, &undo->n_shell, UINT32_MAX);
    undo->cwd = get_str(d);
    undo->env = get_pairs(d, &undo->n_env, UINT32_MAX);
    undo->secrets = get_strs(d, &undo->n_secrets, LIMIT_SECRETS);
}

static void get_check(struct decoding *d, struct result *result)
{
    uint64_t bits = read_u64(&d->in);
    uint8_t flags = read_byte(&d->in);
    memcpy(&result->confidence, &bits, sizeof bits);
    if (!(result->confidence >= 0 && result->confidence <= 1) || flags > WARNED)
        d->in.failed = true;
    result->checked = true;
    result->warned = flags == WARNED;
}

static void get_round(struct decoding *d, struct result *result)
{
    uint64_t round = read_varint(&d->in);
    if (!round || round > LIMIT_RETRIES)
        d->in.failed = true;
    result->round = d->in.failed ? 0 : (uint32_t)round;
}

static void get_content(struct decoding *d, uint8_t section, struct result *result)
{
    switch (section) {
    case SECTION_OUTPUTS:
        result->outputs = get_files(d, &result->n_outputs);
        break;
    case SECTION_INPUTS:
        result->inputs = get_files(d, &result->n_inputs);
        break;
    case SECTION_VALUES:
        get_values(d, result);
        break;
    case SECTION_SECRETS:
        get_secrets(d, result);
        break;
    case SECTION_UNDO:
        get_undo(d, &result->undo);
        break;
    case SECTION_CHECK:
        get_check(d, result);
        break;
    case SECTION_ROUND:
        get_round(d, result);
        break;
    default:
        d->in.failed = true;
    }
}

static void get_sections(struct decoding *d, struct result *result)
{
    uint8_t last = 0;
    while (!d->in.failed && reader_left(&d->in)) {
        uint8_t section = read_byte(&d->in);
        struct str content = read_lstr(&d->in);
        struct decoding inside = {reader_of(content.ptr, content.len), d->arena};
        if (d->in.failed || section <= last) {
            d->in.failed = true;
            break;
        }
        get_content(&inside, section, result);
        if (!reader_done(&inside.in))
            d->in.failed = true;
        last = section;
    }
}

/* Before version 1: nothing but files, up to the end. */
static void get_old_list(struct decoding *d, struct result *result)
{
    uint32_t most = (uint32_t)(reader_left(&d->in) / LEAST_OLD_FILE);
    result->outputs = get_room(d, &most, sizeof *result->outputs);
    while (!d->in.failed && reader_left(&d->in) && result->n_outputs < most)
        get_file(d, true, &result->outputs[result->n_outputs++]);
}

static int report_damage(struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED, "the result of an attempt is damaged");
}

/* Does the result encode to exactly these bytes? */
static int compare_encoding(const struct result *result, struct str bytes,
                            struct cairn_error *error)
{
    struct buf again = BUF_INIT;
    int rc = result_encode(result, &again, error);
    if (!rc && !str_equal(buf_view(&again), bytes))
        rc = report_damage(error);
    buf_release(&again);
    return rc;
}

int result_decode(struct arena *arena, struct str bytes, struct result *out,
                  struct cairn_error *error)
{
    struct decoding d = {reader_of(bytes.ptr, bytes.len), arena};
    struct result result = {.n_outputs = 0};
    bool old = bytes.len == 0 || bytes.ptr[0] != 0;
    if (bytes.len > LIMIT_OBJECT_BYTES)
        return report_damage(error);
    if (old)
        get_old_list(&d, &result);
    else {
        read_byte(&d.in);
        if (read_byte(&d.in) != VERSION)
            d.in.failed = true;
        get_sections(&d, &result);
    }
    if (arena->failed)
        return error_nomem(error);
    if (!reader_done(&d.in))
        return report_damage(error);
    int rc = old ? 0 : compare_encoding(&result, bytes, error);
    if (!rc)
        *out = result;
    return rc;
}
