/* SPDX-License-Identifier: MIT */
/* In which checkpoint each line of a file came to be: back over the checkpoints that
 * led to one, each version is compared with the one before it. */
#include "session/files/history_int.h"
#include "snapshot/diff.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

/* A line of the file as it is at the end, and where it is in the version at hand. */
struct origin {
    uint32_t step;
    const char *path; /* what the file was called then */
    size_t line;      /* there, from 0 */
};
struct blame {
    struct history h;
    struct trail trail;
    struct arena arena;
    struct buf text;      /* as it is at the end */
    struct buf now, then; /* a version, and the one before it */
    uint32_t at;          /* the step of `now` */
    struct tree_entry entry;
    const char *path;
    size_t first, n;        /* the lines that are asked for */
    struct origin *origins; /* [n] */
    size_t *lines;          /* [left] in `now` */
    size_t *which;          /* [left] their indexes in `origins`, ascending */
    size_t left;            /* that are not known yet */
    uint64_t damaged;       /* checkpoints that were passed over */
    struct step_told *told; /* [steps]; an empty id: not told yet */
    struct cairn_error *error;
};

/* ---- Contents ---- */

static int add_part(void *context, struct str part)
{
    buf_str(context, part);
    return 0;
}

/* 1: a text, 0: not. */
static int read_text(struct blame *b, const struct tree_entry *entry, struct buf *out)
{
    buf_clear(out);
    if (entry->kind != TREE_FILE)
        return 0;
    int rc = snapshot_content(b->h.live.store, entry, add_part, out, b->error);
    if (!rc)
        rc = buf_check(out, b->error);
    return rc ? rc : !text_is_binary(buf_view(out));
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    while (text.len) {
        size_t length = text_line_length(text);
        text = (struct str){text.ptr + length, text.len - length};
        n++;
    }
    return n;
}

/* ---- Where it begins ---- */

static int find_end(struct blame *b, const char *path)
{
    const struct tree_entry *entry = NULL;
    int rc = 0;
    b->at = b->h.newest;
    rc = history_read(&b->h, b->at);
    if (!rc && b->h.steps[b->at].state != STEP_FILES)
        rc = history_before(&b->h, b->at, &b->at);
    if (!rc && b->at == STEP_NONE)
        return error_set(b->error, CAIRN_ENOTFOUND,
                         "no checkpoint holds files: `cairn session config files DIR` "
                         "has later ones hold those below DIR");
    if (!rc)
        rc = trail_look(&b->trail, b->h.live.store, &b->h.steps[b->at].root, &entry,
                        b->error);
    if (rc)
        return rc;
    if (!entry)
        return error_set(
            b->error, CAIRN_ENOTFOUND,
            "checkpoint debug:%llu has no %.200s: `cairn checkpoint log PATH` "
            "shows which have it",
            (unsigned long long)b->h.steps[b->at].seq, path);
    b->entry = *entry;
    rc = read_text(b, entry, &b->now);
    if (rc < 0)
        return rc;
    return rc ? 0
              : error_set(b->error, CAIRN_EUSAGE,
                          "%.200s has no lines: it is no file, is binary, or has more "
                          "than 4 MiB",
                          path);
}

static int take_lines(struct blame *b, const char *path, uint64_t line)
{
    size_t all = count_lines(buf_view(&b->now));
    if (line > all)
        return error_set(b->error, CAIRN_ENOTFOUND,
                         "%.200s has %zu lines at checkpoint debug:%llu", path, all,
                         (unsigned long long)b->h.steps[b->at].seq);
    b->path = path;
    b->first = line ? (size_t)line - 1 : 0;
    b->n = b->left = line ? 1 : all;
    b->origins = arena_take(&b->arena, b->n, sizeof *b->origins);
    b->lines = arena_take(&b->arena, b->n, sizeof *b->lines);
    b->which = arena_take(&b->arena, b->n, sizeof *b->which);
    b->told = arena_take(&b->arena, b->h.n, sizeof *b->told);
    buf_str(&b->text, buf_view(&b->now));
    if (b->arena.failed || b->text.failed)
        return error_nomem(b->error);
    for (size_t i = 0; i < b->n; i++) {
        b->lines[i] = b->first + i;
        b->which[i] = i;
    }
    return 0;
}

/* ---- Back ---- */

/* Those lines of the version at hand came with it: those that are TEXT_LINE_NEW in
 * `before` (NULL: all). The others are looked for there. */
static void settle(struct blame *b, const size_t *before)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->left; i++) {
        if (!before || before[i] == TEXT_LINE_NEW) {
            b->origins[b->which[i]] = (struct origin){b->at, b->path, b->lines[i]};
        } else {
            b->which[kept] = b->which[i];
            b->lines[kept++] = before[i];
        }
    }
    b->left = kept;
}

/* The version before is a text, too. */
static int step_back(struct blame *b)
{
    struct text_diff diff;
    size_t *before = calloc(b->left, sizeof *before);
    if (!before)
        return error_nomem(b->error);
    int rc = text_diff(buf_view(&b->then), buf_view(&b->now), &diff, b->error);
    if (!rc) {
        memcpy(before, b->lines, b->left * sizeof *before);
        text_trace(&diff, before, b->left);
        text_diff_release(&diff);
        settle(b, before);
        struct buf now = b->now;
        b->now = b->then;
        b->then = now;
    }
    free(before);
    return rc;
}

/* A file that is gone since, with the same content. */
struct renaming {
    const struct digest *content;
    struct arena *arena;
    const char *path; /* or NULL */
};

static int note_gone(void *context, struct str path, const struct tree_entry *before,
                     const struct tree_entry *after)
{
    struct renaming *r = context;
    if (!after && tree_is_file(before) && digest_equal(&before->digest, r->content))
        r->path = arena_text(r->arena, path);
    return r->path || r->arena->failed;
}

/* 1: it had another name at that step, 0: it was not there. */
static int follow_rename(struct blame *b, uint32_t before)
{
    struct renaming r = {&b->entry.digest, &b->arena, NULL};
    if (!b->entry.size)
        return 0;
    int rc = snapshot_compare(b->h.live.store, &b->h.steps[before].root,
                              &b->h.steps[b->at].root, false, note_gone, &r, b->error);
    if (rc < 0 || b->arena.failed)
        return rc < 0 ? rc : error_nomem(b->error);
    if (!r.path)
        return 0;
    trail_end(&b->trail);
    b->trail = trail_begin(str_of(r.path));
    b->path = r.path;
    return 1;
}

/* The version before, as far as it can be read. */
struct version_before {
    uint32_t step;   /* or STEP_NONE */
    bool is_there;   /* the path is, then `entry` is set */
    bool same, text; /* the same content; another one, which is in b->then */
    struct tree_entry entry;
};

static int read_version(struct blame *b, struct version_before *version)
{
    const struct tree_entry *entry = NULL;
    struct step *step = &b->h.steps[version->step];
    int rc = trail_look(&b->trail, b->h.live.store, &step->root, &entry, b->error);
    version->is_there = !rc && entry;
    if (rc || !entry)
        return rc;
    version->entry = *entry;
    version->same =
        entry->kind == TREE_FILE && digest_equal(&entry->digest, &b->entry.digest);
    rc = version->same ? 0 : read_text(b, entry, &b->then);
    version->text = rc == 1;
    return rc < 0 ? rc : 0;
}

/* Damaged ones are passed over, and counted. */
static int find_before(struct blame *b, struct version_before *version)
{
    int rc = 0;
    *version = (struct version_before){.step = b->h.steps[b->at].before};
    for (; version->step != STEP_NONE && !rc;
         version->step = b->h.steps[version->step].before) {
        rc = history_read(&b->h, version->step);
        if (!rc && b->h.steps[version->step].state == STEP_EMPTY)
            continue;
        bool damaged = b->h.steps[version->step].state == STEP_DAMAGED;
        if (!rc && !damaged)
            rc = read_version(b, version);
        damaged |= rc == CAIRN_EDAMAGED;
        if (!damaged)
            break;
        b->damaged++;
        rc = 0;
    }
    return rc;
}

static int go_back(struct blame *b)
{
    struct version_before version;
    int rc = find_before(b, &version);
    if (!rc && version.step != STEP_NONE && !version.is_there) {
        rc = follow_rename(b, version.step);
        if (rc == 1) {
            b->at = version.step;
            return 0;
        }
    }
    if (rc)
        return rc;
    if (!version.same && !version.text) {
        settle(b, NULL);
        return 0;
    }
    if (version.text)
        rc = step_back(b);
    b->entry = version.entry;
    b->at = version.step;
    return rc;
}

/* ---- Telling ---- */

static int tell_step(struct blame *b, uint32_t step)
{
    struct step_told *told = &b->told[step];
    return told->id[0] ? 0 : history_tell(&b->h, step, &b->arena, told);
}

static int tell(struct blame *b, int (*each)(void *, const struct cairn_file_line *),
                void *context)
{
    struct str rest = buf_view(&b->text);
    int rc = 0, stopped = 0;
    for (size_t i = 0; i < b->first + b->n && !rc && !stopped; i++) {
        size_t length = text_line_length(rest);
        struct str text = {rest.ptr, length};
        rest = (struct str){rest.ptr + length, rest.len - length};
        if (i < b->first)
            continue;
        const struct origin *origin = &b->origins[i - b->first];
        const struct step_told *told = &b->told[origin->step];
        rc = tell_step(b, origin->step);
        if (rc)
            break;
        text.len -= text.ptr[text.len - 1] == '\n';
        struct cairn_file_line line = {.line = i + 1,
                                       .text = text.ptr,
                                       .bytes = text.len,
                                       .seq = b->h.steps[origin->step].seq,
                                       .time_ns = b->h.steps[origin->step].time_ns,
                                       .message = told->message,
                                       .prompt = told->prompt,
                                       .path = origin->path,
                                       .line_then = origin->line + 1};
        memcpy(line.id, told->id, sizeof line.id);
        stopped = each(context, &line);
    }
    return rc;
}

int cairn_files_blame(struct cairn_store *store, const char *session, const char *at,
                      const char *path, uint64_t line,
                      int (*each)(void *, const struct cairn_file_line *),
                      void *context, struct cairn_error *error)
{
    struct blame b = {.trail = trail_begin(str_of(path)), .error = error};
    int rc = history_open(&b.h, store, session, at, false, error);
    if (!rc)
        rc = find_end(&b, path);
    if (!rc)
        rc = take_lines(&b, path, line);
    while (!rc && b.left)
        rc = go_back(&b);
    if (!rc)
        rc = tell(&b, each, context);
    if (!rc && b.damaged)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "%llu of the checkpoints cannot be read, so a line may be older "
                       "than it seems: `cairn checkpoint verify` says why",
                       (unsigned long long)b.damaged);
    buf_release(&b.text);
    buf_release(&b.now);
    buf_release(&b.then);
    trail_end(&b.trail);
    rc = history_close(&b.h, rc);
    arena_release(&b.arena);
    return rc;
}
