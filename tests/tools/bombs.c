/* SPDX-License-Identifier: MIT */
/* make: rooms */
/* bombs: what is small and unfolds to much, or cannot be.
 *
 *   bombs files KIND    adds a checkpoint to the current session of .cairn, which must
 *                       have one with files: its files are of that kind. With the
 *                       functions of cairn itself, past everything that would refuse
 * it.
 *
 * Prints what the checkpoint is. */
#include "checkpoint/nodes/nodes.h"
#include "checkpoint/sections.h"
#include "session/files.h"
#include "session/session_int.h"
#include "storage/object.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

static struct cairn_error why;

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bombs: %s: %s\n", what, why.text);
    exit(2);
}

/* ---- Trees ---- */

static struct cairn_store *store;

static struct digest put(struct buf *content)
{
    struct digest digest;
    must(buf_check(content, &why), "content");
    must(store_put_object(store, buf_view(content), &digest, &why), "an object");
    buf_release(content);
    return digest;
}

static struct digest put_tree(struct tree_entry *entries, uint32_t n)
{
    struct tree tree = {entries, n};
    struct buf content = BUF_INIT;
    tree_encode(&tree, &content);
    return put(&content);
}

static struct tree_entry file(const char *name, const char *text)
{
    struct tree_entry entry = {
        .name = str_of(name), .kind = TREE_FILE, .mode = 0644, .size = strlen(text)};
    struct buf content = BUF_INIT;
    buf_str(&content, str_of(text));
    entry.digest = put(&content);
    return entry;
}

static struct tree_entry directory(struct str name, struct digest tree)
{
    return (struct tree_entry){
        .name = name, .kind = TREE_DIRECTORY, .mode = 0755, .digest = tree};
}

/* Directories one below the other, each with `width` names for the next one. */
static struct digest nested(int depth, uint32_t width, size_t name_bytes)
{
    enum { WIDTH_MOST = 160 };
    static char names[WIDTH_MOST][256];
    struct tree_entry entries[WIDTH_MOST], last = file("f", "needle\n");
    struct digest tree = put_tree(&last, 1);
    for (uint32_t i = 0; i < width; i++) {
        memset(names[i], 'x', name_bytes);
        names[i][0] = (char)('A' + i / 26);
        names[i][name_bytes - 1] = (char)('a' + i % 26);
    }
    for (int i = 0; i < depth; i++) {
        for (uint32_t j = 0; j < width; j++)
            entries[j] = directory((struct str){names[j], name_bytes}, tree);
        tree = put_tree(entries, width);
    }
    return tree;
}

static struct digest named(struct str name)
{
    struct tree_entry entry = file("x", "text\n");
    entry.name = name;
    return put_tree(&entry, 1);
}

static struct digest out_of_order(void)
{
    struct tree_entry entries[2] = {file("a", "text\n"), file("b", "text\n")};
    struct tree tree = {entries, 2};
    struct buf content = BUF_INIT;
    tree_encode(&tree, &content);
    for (size_t i = 0; i < content.size; i++) /* lstr: 1, the letter */
        if (i && content.data[i - 1] == 1 &&
            (content.data[i] == 'a' || content.data[i] == 'b'))
            content.data[i] = content.data[i] == 'a' ? 'b' : 'a';
    return put(&content);
}

/* A list of `n` chunks that are all the same. */
static struct tree_entry chunked(const char *name, size_t n, uint64_t told)
{
    static char text[4000];
    struct buf content = BUF_INIT, digests = BUF_INIT;
    memset(text, 'x', sizeof text);
    buf_add(&content, text, sizeof text);
    struct digest chunk = put(&content);
    uint64_t *sizes = calloc(n, sizeof *sizes);
    must(sizes ? 0 : -1, "memory");
    for (size_t i = 0; i < n; i++) {
        buf_str(&digests, digest_view(&chunk));
        sizes[i] = sizeof text;
    }
    struct chunk_list list = {buf_view(&digests), sizes, n, 0};
    chunk_list_encode(&list, &content);
    struct tree_entry entry = {.name = str_of(name),
                               .kind = TREE_CHUNKED,
                               .mode = 0644,
                               .size = told,
                               .digest = put(&content)};
    buf_release(&digests);
    free(sizes);
    return entry;
}

static struct digest one(struct tree_entry entry)
{
    return put_tree(&entry, 1);
}

static struct tree_entry with_size(struct tree_entry entry, uint64_t size)
{
    entry.size = size;
    return entry;
}

static struct tree_entry with_mode(struct tree_entry entry, uint32_t mode)
{
    entry.mode = mode;
    return entry;
}

static struct digest missing(void)
{
    struct tree_entry entry = file("gone", "text\n");
    entry.digest.bytes[0] ^= 1;
    return put_tree(&entry, 1);
}

static struct digest no_tree(void)
{
    struct tree_entry entry = file("x", "this is not a directory\n");
    return one(directory(STR("dir"), entry.digest));
}

static struct digest tree_of(const char *kind, uint64_t *files)
{
    *files = 1;
    if (strcmp(kind, "shared") == 0)
        return nested(26, 2, 1);
    if (strcmp(kind, "wide") == 0)
        return nested(3, 150, 2);
    if (strcmp(kind, "long") == 0) /* few paths with many bytes */
        return nested(18, 2, 255);
    if (strcmp(kind, "deep") == 0)
        return nested(450, 1, 1);
    if (strcmp(kind, "dots") == 0)
        return named(STR(".."));
    if (strcmp(kind, "slash") == 0)
        return named(STR("../x"));
    if (strcmp(kind, "nul") == 0)
        return named(STR("a\0b"));
    if (strcmp(kind, "git") == 0)
        return named(STR(".git"));
    if (strcmp(kind, "empty-name") == 0)
        return named(STR(""));
    if (strcmp(kind, "order") == 0)
        return out_of_order();
    if (strcmp(kind, "mode") == 0)
        return one(with_mode(file("x", "text\n"), 0104755));
    if (strcmp(kind, "size") == 0)
        return one(with_size(file("x", "text\n"), 4));
    if (strcmp(kind, "huge") == 0)
        return one(with_size(file("x", "text\n"), UINT64_MAX));
    if (strcmp(kind, "chunks") == 0)
        return one(chunked("x", 2, 8001));
    if (strcmp(kind, "missing") == 0)
        return missing();
    if (strcmp(kind, "no-tree") == 0)
        return no_tree();
    if (strcmp(kind, "good-chunks") == 0)
        return one(chunked("x", 100, 400000));
    *files = 7;
    if (strcmp(kind, "counts") == 0)
        return one(file("x", "text\n"));
    fprintf(stderr, "bombs: no kind '%s'\n", kind);
    exit(2);
}

/* ---- A checkpoint ---- */

static void add_checkpoint(const char *kind)
{
    struct live live;
    struct sections sections;
    struct chain head;
    struct checkpoint_ref ref;
    struct snapshot_head files;
    char id[CAIRN_ID_MAX];
    must(live_write(&live, store, NULL, &why), "the session");
    must(sections_open(store, live.sha, live.row.branch, &head, &live.arena, &sections,
                       &why),
         "the branch");
    for (uint32_t i = 0; i < sections.n; i++) {
        struct section_ref *section = &sections.list[i];
        if (section->kind < SECTION_NODES)
            continue;
        must(snapshot_read(store, &section->digest, &live.arena, &files, &why),
             "files");
        files.counts = (struct snapshot_counts){.bytes = 5};
        files.root = tree_of(kind, &files.counts.files);
        if (strcmp(kind, "good-chunks") == 0)
            files.counts.bytes = 400000;
        struct buf content = BUF_INIT;
        snapshot_head_encode(&files, &content);
        section->digest = put(&content);
    }
    must(sections_append(&head, &sections, 1000, &ref, &why), "the checkpoint");
    checkpoint_id(NAMESPACE_DEBUG, ref.seq, &ref.digest, id);
    puts(id);
    must(live_close(&live, 0, &why), "the transaction");
}

int main(int argc, char **argv)
{
    struct cairn_store_options options = {.path = ".cairn"};
    if (argc != 3 || strcmp(argv[1], "files") != 0)
        return 2;
    must(cairn_store_open(&store, &options, &why), "the store");
    add_checkpoint(argv[2]);
    cairn_store_close(store);
    return 0;
}
