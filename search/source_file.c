/* SPDX-License-Identifier: MIT */
/* Files that checkpoints of sessions hold. A file is told once for each content that it
 * has under a path, with the first checkpoint that has it so. */
#include "search/search_int.h"

#include "base/error.h"
#include "base/map.h"
#include "cairn/session.h"
#include "checkpoint/sections.h"
#include "session/files.h"
#include "snapshot/snapshot.h"
#include "storage/rows_checkpoint.h"

#include <stdio.h>

/* As git tells binary contents. */
enum { BINARY_BYTES = 8000 };

/* That came with one checkpoint (docs/limits.md): further ones are not found. */
enum { FILES_MOST = 500000 };

/* Paths with the same content of which that is told, and not the path alone. */
enum { SAME_MOST = 100 };

struct telling {
    struct text_source *source;
    struct arena arena;
    struct cairn_session_info info;
    struct map seen;     /* digests with paths */
    struct map contents; /* digests, to indexes of `same` */
    struct buf same;     /* of uint32_t: paths that have it */
    uint64_t given;      /* of the checkpoint */
    uint64_t seq;
    int64_t time_ns;
    struct buf project, key, title, body;
};

static int begin(struct telling *t, struct text_source *s, uint64_t session)
{
    char number[24];
    *t = (struct telling){.source = s};
    snprintf(number, sizeof number, "%llu", (unsigned long long)session);
    int rc = cairn_session_get(s->store, number, &t->info, s->error);
    return rc ? rc : source_session_project(s, session, &t->project);
}

static void end(struct telling *t)
{
    map_release(&t->seen);
    map_release(&t->contents);
    buf_release(&t->same);
    buf_release(&t->project);
    buf_release(&t->key);
    buf_release(&t->title);
    buf_release(&t->body);
    arena_release(&t->arena);
}

/* ---- One file ---- */

static int take_part(void *context, struct str part)
{
    struct telling *t = context;
    size_t look = part.len < BINARY_BYTES ? part.len : BINARY_BYTES;
    if (!t->body.size && memchr(part.ptr, 0, look))
        return 1; /* binary: its name alone */
    entry_text(&t->body, part, part.len, false);
    return buf_check(&t->body, t->source->error);
}

/* 1: the text of the content is to be told. */
static int take_content(struct telling *t, const struct digest *digest)
{
    uint32_t n = (uint32_t)(t->same.size / sizeof n), one = 1;
    uint32_t at = map_get(&t->contents, digest_view(digest));
    if (at != MAP_NONE)
        return ++((uint32_t *)(void *)t->same.data)[at] <= SAME_MOST;
    struct str key = arena_str(&t->arena, digest_view(digest));
    buf_add(&t->same, &one, sizeof one);
    if (t->same.failed || !key.ptr || map_add(&t->contents, key, n, NULL) < 0)
        return error_nomem(t->source->error);
    return 1;
}

static int give_file(struct telling *t, struct str path, const struct tree_entry *file)
{
    struct text_source *s = t->source;
    buf_clear(&t->key);
    buf_clear(&t->title);
    buf_clear(&t->body);
    buf_format(&t->key, "file/%llu/", (unsigned long long)t->seq);
    buf_str(&t->key, path);
    if (buf_check(&t->key, s->error))
        return CAIRN_ENOMEM;
    if (source_knows(s, buf_view(&t->key)))
        return 0;
    entry_text(&t->title, path, TEXT_MOST, false);
    int rc = file->size <= FILE_MOST ? take_content(t, &file->digest) : 0;
    if (rc > 0)
        rc = snapshot_content(s->store, file, take_part, t, s->error);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc > 0) {
        buf_clear(&t->body);
        rc = 0;
    }
    if (!rc)
        rc = buf_check(&t->title, s->error);
    struct text_entry entry = {.key = buf_view(&t->key),
                               .section = CAIRN_SEARCH_FILES,
                               .time_ns = t->time_ns,
                               .project = buf_view(&t->project),
                               .title = buf_view(&t->title),
                               .body = t->body.size ? buf_view(&t->body) : STR(""),
                               .kind = "file",
                               .id = t->title.data,
                               .session = t->info.name,
                               .seq = t->seq};
    return rc ? rc : source_give(s, &entry);
}

/* ---- What a checkpoint holds ---- */

/* 1: it holds files. */
static int read_root(struct text_source *s, uint64_t seq, struct digest *root,
                     struct sections_at *at)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct snapshot_head head;
    int rc = sections_read(s->store, s->sha, seq, &arena, &sections, at, s->error);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    if (files)
        rc = snapshot_read(s->store, &files->digest, &arena, &head, s->error);
    if (!rc && files)
        *root = head.root;
    arena_release(&arena);
    return rc ? rc : files != NULL;
}

int source_file(struct text_source *s, uint64_t seq, struct str path)
{
    struct telling t = {.source = s};
    struct sections_at at = {.time_ns = 0};
    struct digest root;
    struct tree_entry file;
    int rc = read_root(s, seq, &root, &at);
    if (rc == 0)
        return error_set(s->error, CAIRN_ENOTFOUND, "the checkpoint holds no files");
    if (rc > 0)
        rc = begin(&t, s, at.session);
    t.seq = seq;
    t.time_ns = at.time_ns;
    struct str name = arena_str(&t.arena, path);
    if (!rc)
        rc = name.ptr ? snapshot_find(s->store, &root, name, &t.arena, &file, s->error)
                      : error_nomem(s->error);
    if (rc == 0)
        rc = error_set(s->error, CAIRN_ENOTFOUND, "the checkpoint has no such file");
    else if (rc > 0)
        rc = tree_is_file(&file) ? give_file(&t, name, &file) : CAIRN_ENOTFOUND;
    end(&t);
    return rc;
}

/* ---- What came with each ---- */

static int note_change(void *context, struct str path, const struct tree_entry *before,
                       const struct tree_entry *after)
{
    struct telling *t = context;
    struct text_source *s = t->source;
    if (!after || !tree_is_file(after) ||
        (before && tree_is_file(before) &&
         digest_equal(&before->digest, &after->digest)))
        return 0;
    buf_clear(&t->key);
    buf_str(&t->key, digest_view(&after->digest));
    buf_str(&t->key, path);
    struct str key = t->key.failed ? STR("") : arena_str(&t->arena, buf_view(&t->key));
    int added = key.len ? map_add(&t->seen, key, 0, NULL) : CAIRN_ENOMEM;
    if (added < 0)
        return error_nomem(s->error);
    if (added && ++t->given > FILES_MOST)
        return error_set(s->error, CAIRN_ELIMIT,
                         "more than %d files came with one checkpoint", FILES_MOST);
    return added ? give_file(t, path, after) : 0;
}

struct listing {
    struct telling *t;
    struct file_place *place;
};

static int add_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct listing *l = context;
    struct text_source *s = l->t->source;
    struct sections_at at;
    struct digest root;
    const struct digest *before =
        digest_is_none(&l->place->root) ? NULL : &l->place->root;
    int rc = read_root(s, row->seq, &root, &at);
    if (rc <= 0)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    l->t->seq = row->seq;
    l->t->given = 0;
    l->t->time_ns = at.time_ns;
    if (before && digest_equal(before, &root))
        rc = 0;
    else
        rc = snapshot_compare(s->store, before, &root, false, note_change, l->t,
                              s->error);
    if (rc == CAIRN_EDAMAGED && before && !s->stopped) /* the one before is gone */
        rc =
            snapshot_compare(s->store, NULL, &root, false, note_change, l->t, s->error);
    if (rc == CAIRN_EDAMAGED && !s->stopped)
        return 0;
    if (rc == CAIRN_ELIMIT && !s->stopped) { /* what was given of it stays */
        l->place->seq = row->seq;
        return 0;
    }
    if (!rc)
        *l->place = (struct file_place){.seq = row->seq, .root = root};
    return rc;
}

int source_files(struct text_source *s, uint64_t session, struct file_place *place)
{
    struct telling t;
    struct checkpoint_range range = {
        .namespace_id = NAMESPACE_DEBUG, .session = session, .first = place->seq + 1};
    struct listing l = {&t, place};
    int rc = begin(&t, s, session);
    if (!rc)
        rc = store_each_checkpoint(s->store, &range, add_checkpoint, &l, s->error);
    end(&t);
    return s->stopped ? s->stopped : rc;
}
