/* SPDX-License-Identifier: MIT */
#include "snapshot/tree.h"

#include "base/str.h"
#include "checkpoint/nodes/nodes.h"

#include <assert.h>

const char *tree_left_out_text(uint8_t why)
{
    static const char *const texts[] = {
        [LEFT_SPECIAL] = "is a socket, device or pipe",
        [LEFT_UNREADABLE] = "cannot be read",
        [LEFT_CHANGING] = "was changed whenever it was read",
        [LEFT_DEEP] = "lies below too many directories",
    };
    assert(why > 0 && why < LEFT_OUT_END);
    return texts[why];
}

bool tree_same(const struct tree_entry *a, const struct tree_entry *b)
{
    return a->kind == b->kind && a->mode == b->mode && a->why == b->why &&
           digest_equal(&a->digest, &b->digest) && str_equal(a->target, b->target);
}

struct tree_entry tree_entry_copy(struct arena *arena, const struct tree_entry *entry)
{
    struct tree_entry copy = {.kind = 0};
    if (!entry)
        return copy;
    copy = *entry;
    copy.name = STR("");
    if (entry->kind == TREE_LINK)
        copy.target = arena_str(arena, entry->target);
    return copy;
}

/* ---- Encoding ---- */

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t value)
{
    uint64_t half = value >> 1;
    return (int64_t)(value & 1 ? ~half : half);
}

static bool refers_to_node(const struct tree_entry *entry)
{
    return entry->kind == TREE_DIRECTORY || entry->kind == TREE_CHUNKED;
}

static void put_entry(const struct tree_entry *entry, struct buf *body)
{
    buf_lstr(body, entry->name);
    buf_byte(body, entry->kind);
    if (entry->kind == TREE_LINK)
        buf_lstr(body, entry->target);
    if (entry->kind == TREE_LEFT_OUT)
        buf_byte(body, entry->why);
    if (entry->kind == TREE_LINK || entry->kind == TREE_LEFT_OUT)
        return;
    buf_varint(body, entry->mode);
    buf_varint(body, zigzag(entry->mtime_ns));
    if (tree_is_file(entry))
        buf_varint(body, entry->size);
}

/* A buffer that fails passes it on: buf_check of `out` tells. */
static void put_node(const struct buf *nodes, const struct buf *leaves,
                     const struct buf *body, struct buf *out)
{
    node_encode(buf_view(nodes), buf_view(leaves), buf_view(body), out);
    out->failed = out->failed || nodes->failed || leaves->failed || body->failed;
}

void tree_encode(const struct tree *tree, struct buf *out)
{
    struct buf nodes = BUF_INIT, leaves = BUF_INIT, body = BUF_INIT;
    buf_varint(&body, tree->n);
    for (uint32_t i = 0; i < tree->n; i++) {
        const struct tree_entry *entry = &tree->entries[i];
        assert(i == 0 || str_compare(tree->entries[i - 1].name, entry->name) < 0);
        put_entry(entry, &body);
        if (refers_to_node(entry))
            buf_str(&nodes, digest_view(&entry->digest));
        if (entry->kind == TREE_FILE)
            buf_str(&leaves, digest_view(&entry->digest));
    }
    put_node(&nodes, &leaves, &body, out);
    buf_release(&nodes);
    buf_release(&leaves);
    buf_release(&body);
}

/* ---- Decoding ---- */

struct decoding {
    struct node node;
    struct reader in;
    size_t nodes, leaves; /* used */
};

bool tree_is_never_taken(struct str name)
{
    static const char *const names[] = {".", "..", ".git", ".cairn", NULL};
    static const char stage[] = TREE_STAGE;
    return str_among(name, names) || (name.len >= sizeof stage - 1 &&
                                      memcmp(name.ptr, stage, sizeof stage - 1) == 0);
}

bool tree_is_kept_beside(struct str name)
{
    static const char end[] = TREE_KEPT;
    size_t n = name.len, digits = 0;
    while (digits < n && name.ptr[n - 1 - digits] >= '0' &&
           name.ptr[n - 1 - digits] <= '9')
        digits++;
    if (digits && digits < n && name.ptr[n - 1 - digits] == '-')
        n -= digits + 1;
    return n >= sizeof end - 1 &&
           memcmp(name.ptr + n - (sizeof end - 1), end, sizeof end - 1) == 0;
}

static bool is_name(struct str name)
{
    return name.len > 0 && name.len <= TREE_NAME_BYTES && !tree_is_never_taken(name) &&
           !memchr(name.ptr, '/', name.len) && !memchr(name.ptr, 0, name.len);
}

static bool is_target(struct str target)
{
    return target.len > 0 && target.len <= TREE_TARGET_BYTES &&
           !memchr(target.ptr, 0, target.len);
}

static bool take_digest(struct str digests, size_t *used, struct digest *out)
{
    if (*used >= node_count(digests))
        return false;
    *out = node_digest(digests, (*used)++);
    return true;
}

static bool read_entry(struct decoding *d, struct tree_entry *entry)
{
    bool good = true;
    entry->name = read_lstr(&d->in);
    entry->kind = read_byte(&d->in);
    if (!is_name(entry->name) || entry->kind < 1 || entry->kind >= TREE_KINDS_END)
        return false;
    if (entry->kind == TREE_LINK) {
        entry->target = read_lstr(&d->in);
        return is_target(entry->target);
    }
    if (entry->kind == TREE_LEFT_OUT) {
        entry->why = read_byte(&d->in);
        return entry->why > 0 && entry->why < LEFT_OUT_END;
    }
    uint64_t mode = read_varint(&d->in);
    entry->mode = (uint32_t)mode;
    entry->mtime_ns = unzigzag(read_varint(&d->in));
    if (tree_is_file(entry))
        entry->size = read_varint(&d->in);
    good = refers_to_node(entry)
               ? take_digest(d->node.nodes, &d->nodes, &entry->digest)
               : take_digest(d->node.leaves, &d->leaves, &entry->digest);
    if (tree_is_file(entry)) /* releases before this one kept all bits */
        entry->mode &= TREE_FILE_BITS;
    return good && mode <= TREE_MODE_BITS &&
           (entry->kind == TREE_CHUNKED || entry->size <= TREE_CHUNK_MOST);
}

int tree_decode(struct arena *arena, struct str content, struct tree *out,
                struct cairn_error *error)
{
    struct decoding d = {0};
    int rc = node_decode(content, &d.node, error);
    if (rc)
        return rc;
    d.in = reader_of(d.node.body.ptr, d.node.body.len);
    uint64_t n = read_varint(&d.in);
    bool good = !d.in.failed && n <= reader_left(&d.in);
    *out = (struct tree){.entries = NULL};
    if (good) {
        out->entries = arena_take(arena, (size_t)n, sizeof *out->entries);
        out->n = (uint32_t)n;
    }
    if (arena->failed)
        return error_nomem(error);
    for (uint64_t i = 0; i < n && good; i++) {
        struct tree_entry *entry = &out->entries[i];
        if (!read_entry(&d, entry) ||
            (i && str_compare(entry[-1].name, entry->name) >= 0))
            return error_set(
                error, CAIRN_EDAMAGED,
                "it is not a directory: its entry %llu has a name, a mode, "
                "a size or a place that none can have",
                (unsigned long long)i + 1);
    }
    good = good && reader_done(&d.in) && d.nodes == node_count(d.node.nodes) &&
           d.leaves == node_count(d.node.leaves);
    return good ? 0 : error_set(error, CAIRN_EDAMAGED, "it is not a directory");
}

const struct tree_entry *tree_find(const struct tree *tree, struct str name)
{
    uint32_t low = 0, high = tree->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_compare(tree->entries[middle].name, name);
        if (order == 0)
            return &tree->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- Chunks ---- */

void chunk_list_encode(const struct chunk_list *list, struct buf *out)
{
    struct buf body = BUF_INIT, none = BUF_INIT;
    for (size_t i = 0; i < list->n; i++)
        buf_varint(&body, list->sizes[i]);
    node_encode(buf_view(&none), list->digests, buf_view(&body), out);
    out->failed = out->failed || body.failed;
    buf_release(&body);
}

int chunk_list_decode(struct arena *arena, struct str content, struct chunk_list *out,
                      struct cairn_error *error)
{
    struct node node;
    int rc = node_decode(content, &node, error);
    if (rc)
        return rc;
    struct reader in = reader_of(node.body.ptr, node.body.len);
    size_t n = node_count(node.leaves);
    uint64_t *sizes = arena_take(arena, n, sizeof *sizes);
    *out = (struct chunk_list){.digests = node.leaves, .sizes = sizes, .n = n};
    if (arena->failed)
        return error_nomem(error);
    bool good = !node.nodes.len;
    for (size_t i = 0; i < n && good; i++) {
        sizes[i] = read_varint(&in);
        good = sizes[i] > 0 && sizes[i] <= TREE_CHUNK_MOST;
        out->size += sizes[i];
    }
    return good && reader_done(&in)
               ? 0
               : error_set(error, CAIRN_EDAMAGED, "it is not a list of chunks");
}
