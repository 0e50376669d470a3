/* SPDX-License-Identifier: MIT */
/* What attempts wrote, stored or still in the files of their slots. */
#include "runs/output.h"
#include "base/log_times.h"
#include "base/os.h"
#include "cairn/runs.h"
#include "process/capture.h"
#include "process/slot_map.h"
#include "runs/marks.h"
#include "runs/run_tasks.h"
#include "snapshot/content.h"
#include "snapshot/snapshot.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct output_finder {
    struct cairn_store *store;
    uint64_t run;
    uint32_t wanted; /* attempt, 0: the newest */
    int stream;
    struct cairn_error *error;
    bool found;
    struct task_place place;
    uint32_t number;
    bool stored, merged, listed;
    struct digest digest;
    bool has_digest;
    uint64_t bytes, head;
    uint64_t log_bytes; /* of the first stream, whichever is meant */
    int64_t started_ns, ended_ns;
};

static int note_output(void *context, const struct attempt_row *row)
{
    struct output_finder *f = context;
    /* Unless it is asked for by its number, an undo is no attempt at the task. */
    bool undo = row->flags & ATTEMPT_UNDO && !f->wanted;
    if (attempt_never_started(row) || undo || (f->wanted && row->number != f->wanted))
        return 0;
    struct str digest = f->stream == 1 ? row->out : row->err;
    f->found = true;
    f->number = row->number;
    f->stored = row->ended_ns != 0;
    f->merged = row->flags & ATTEMPT_MERGED;
    f->listed = row->flags & (f->stream == 1 ? ATTEMPT_OUT_LIST : ATTEMPT_ERR_LIST);
    f->started_ns = row->started_ns ? row->started_ns : row->intent_ns;
    f->ended_ns = row->ended_ns;
    f->has_digest = digest.len == DIGEST_SIZE;
    f->digest = (struct digest){{0}};
    if (f->has_digest)
        memcpy(f->digest.bytes, digest.ptr, DIGEST_SIZE);
    f->bytes = f->stream == 1 ? row->out_bytes : row->err_bytes;
    f->head = f->stream == 1 ? row->out_head : row->err_head;
    f->log_bytes = row->out_bytes;
    return 0;
}

static int find_output(void *context, const struct task_place *place)
{
    struct output_finder *f = context;
    f->place = *place;
    return store_each_attempt(f->store, f->run, place->gen, place->task, note_output, f,
                              f->error);
}

/* ---- In the pool ---- */

/* Where it goes: with `stage`, before the transaction that refers to it. */
struct output_place {
    struct cairn_store *store;
    struct stage *stage;
};

static int put_piece(const struct output_place *to, struct str piece,
                     struct digest *digest, struct cairn_error *error)
{
    return to->stage ? stage_put(to->stage, piece, NULL, digest, error)
                     : store_put_object(to->store, piece, digest, error);
}

static int put_chunks(const struct output_place *to, struct str content,
                      uint64_t *sizes, struct buf *digests, struct cairn_error *error)
{
    int rc = 0;
    for (size_t at = 0; at < content.len && !rc; at += OUTPUT_CHUNK) {
        size_t left = content.len - at, n = left < OUTPUT_CHUNK ? left : OUTPUT_CHUNK;
        struct digest digest;
        *sizes++ = n;
        rc = put_piece(to, (struct str){content.ptr + at, n}, &digest, error);
        buf_str(digests, digest_view(&digest));
    }
    return rc ? rc : buf_check(digests, error);
}

static int put_list(const struct output_place *to, struct str content,
                    struct digest *digest, struct cairn_error *error)
{
    struct buf digests = BUF_INIT, list = BUF_INIT;
    size_t n = (content.len + OUTPUT_CHUNK - 1) / OUTPUT_CHUNK;
    uint64_t *sizes = calloc(n, sizeof *sizes);
    int rc =
        sizes ? put_chunks(to, content, sizes, &digests, error) : error_nomem(error);
    if (!rc) {
        chunk_list_encode(
            &(struct chunk_list){buf_view(&digests), sizes, n, content.len}, &list);
        rc = buf_check(&list, error) ?: put_piece(to, buf_view(&list), digest, error);
    }
    free(sizes);
    buf_release(&digests);
    buf_release(&list);
    return rc;
}

int output_put(struct cairn_store *store, struct str content, struct digest *digest,
               bool *listed, struct cairn_error *error)
{
    *listed = content.len > OUTPUT_ONE_OBJECT;
    return *listed
               ? put_list(&(struct output_place){store, NULL}, content, digest, error)
               : store_put_object(store, content, digest, error);
}

int output_put_ahead(struct cairn_store *store, struct str content, struct digest *list,
                     bool *holds, struct cairn_error *error)
{
    struct stage stage;
    assert(content.len > OUTPUT_ONE_OBJECT);
    int rc = stage_begin(&stage, store, STAGE_WAITS_NOT, NULL, error)
                 ?: put_list(&(struct output_place){store, &stage}, content, list, error)
                 ?: stage_flush(&stage, error);
    *holds = stage.locked;
    stage.locked = false;
    stage_end(&stage);
    return rc;
}

int output_open(struct stored_output *output, struct cairn_store *store,
                const struct digest *digest, bool listed, struct cairn_error *error)
{
    *output = (struct stored_output){.store = store, .listed = listed};
    if (digest_is_none(digest))
        return 0;
    if (!listed) {
        int rc = store_get_object(store, digest, &output->content, error);
        output->size = output->content.size;
        return rc;
    }
    int rc = snapshot_read_chunks(store, digest, &output->arena, &output->list, error);
    output->size = output->list.size;
    return rc;
}

void output_close(struct stored_output *output)
{
    buf_release(&output->content);
    arena_release(&output->arena);
}

/* What was passed over: the first, and how many in all. */
struct passed {
    uint64_t from, to;
    unsigned n;
    struct digest chunk;
    const char *why;
};

static int report_passed(const struct passed *passed, struct cairn_error *error)
{
    char hex[DIGEST_HEX_SIZE], others[64] = "";
    digest_hex(&passed->chunk, hex);
    if (passed->n > 1)
        snprintf(others, sizeof others, ", and so are %u other parts", passed->n - 1);
    return error_set(error, CAIRN_EDAMAGED,
                     "of what it wrote the bytes %llu to %llu are %s (object %.12s)%s: "
                     "all others were read; run `cairn doctor`",
                     (unsigned long long)passed->from, (unsigned long long)passed->to,
                     passed->why, hex, others);
}

/* Reads a chunk into output->content. *why: NULL, or why it is to be passed over. */
static int read_chunk(struct stored_output *output, size_t i, struct digest *chunk,
                      const char **why, struct cairn_error *error)
{
    struct cairn_error reason = {0};
    memcpy(chunk->bytes, output->list.digests.ptr + i * DIGEST_SIZE, DIGEST_SIZE);
    buf_clear(&output->content);
    int rc = store_get_object(output->store, chunk, &output->content, &reason);
    *why = rc == CAIRN_ENOTFOUND ? "missing" : rc == CAIRN_EDAMAGED ? "damaged" : NULL;
    if (!rc && output->content.size != output->list.sizes[i])
        *why = "damaged";
    return rc && !*why ? error_set(error, rc, "%s", reason.text) : 0;
}

static int read_list(struct stored_output *output, uint64_t from, uint64_t to,
                     output_piece_fn *each, void *context, struct cairn_error *error)
{
    struct passed passed = {0};
    uint64_t at = 0, end;
    int rc = 0;
    bool over = false;
    for (size_t i = 0; i < output->list.n && at < to && !rc && !over; i++, at = end) {
        struct digest chunk;
        const char *why;
        end = at + output->list.sizes[i];
        if (end <= from)
            continue;
        rc = read_chunk(output, i, &chunk, &why, error);
        uint64_t begin = from > at ? from - at : 0, stop = (end < to ? end : to) - at;
        if (!rc && !why)
            over = each(context, output->content.data + begin, (size_t)(stop - begin),
                        at + begin) != 0;
        if (!rc && why && !passed.n++)
            passed = (struct passed){at, end, 1, chunk, why};
    }
    return rc || !passed.n ? rc : report_passed(&passed, error);
}

int output_read(struct stored_output *output, uint64_t from, uint64_t to,
                output_piece_fn *each, void *context, struct cairn_error *error)
{
    if (to > output->size)
        to = output->size;
    if (from >= to)
        return 0;
    if (output->listed)
        return read_list(output, from, to, each, context, error);
    (void)each(context, output->content.data + from, (size_t)(to - from), from);
    return 0;
}

/* ---- A part of what is there ---- */

/* Of what was written the middle may not have been kept. */
struct showing {
    struct cairn_output_part *part;
    cairn_output_fn *each;
    void *context;
    uint64_t gap; /* how much further back what is given now was written */
    bool over;
};

static int show_piece(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct showing *showing = context;
    showing->over = showing->each(showing->context, bytes, n, at + showing->gap) != 0;
    return showing->over;
}

/* What is there, and where the part that is wanted begins and ends in it. */
static void place_part(struct cairn_output_part *part, uint64_t bytes, uint64_t gap_at,
                       uint64_t gap_bytes)
{
    part->bytes = bytes;
    part->gap_at = gap_bytes ? gap_at : 0;
    part->gap_bytes = gap_bytes;
    if (part->last)
        part->from = bytes > part->last ? bytes - part->last : 0;
    if (part->last || part->to > bytes)
        part->to = bytes;
}

/* Reads a piece of the file of a running attempt, of which the middle may be given back
 * at any moment: what reads as zeros then was not there. */
static int show_file_piece(int fd, struct showing *showing, uint64_t from, uint64_t to,
                           char *room, uint64_t *end, struct cairn_error *error)
{
    struct capture_kept kept;
    ssize_t n;
    do
        n = pread(fd, room, (size_t)(to - from), (off_t)from);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_sys(error, errno, "reading the output of a task");
    *end = n ? from + (uint64_t)n : to;
    int rc = capture_extent(fd, &kept, error);
    if (rc || !n)
        return rc;
    showing->part->gap_at = kept.gap_bytes ? kept.gap_at : 0;
    showing->part->gap_bytes = kept.gap_bytes;
    uint64_t head = kept.gap_at < *end ? kept.gap_at : *end,
             tail = kept.gap_at + kept.gap_bytes;
    if (head > from && show_piece(showing, room, (size_t)(head - from), from))
        return 0;
    tail = tail < from ? from : tail;
    if (head < *end && tail < *end)
        (void)show_piece(showing, room + (tail - from), (size_t)(*end - tail), tail);
    return 0;
}

static int show_file(int fd, struct showing *showing, struct cairn_error *error)
{
    struct cairn_output_part *part = showing->part;
    struct capture_kept kept;
    int rc = capture_extent(fd, &kept, error);
    if (rc)
        return rc;
    place_part(part, kept.bytes, kept.gap_at, kept.gap_bytes);
    char *room = part->from < part->to ? malloc(OUTPUT_CHUNK) : NULL;
    if (part->from < part->to && !room)
        return error_nomem(error);
    for (uint64_t at = part->from, end; at < part->to && !rc && !showing->over;
         at = end) {
        uint64_t behind = part->gap_at + part->gap_bytes;
        if (part->gap_bytes && at >= part->gap_at && at < behind)
            at = behind; /* nothing of it needs to be read */
        end = at + OUTPUT_CHUNK < part->to ? at + OUTPUT_CHUNK : part->to;
        if (at < end)
            rc = show_file_piece(fd, showing, at, end, room, &end, error);
    }
    free(room);
    return rc;
}

/* The attempt runs now, or was interrupted: its output is in the files of its slot. */
static int show_live(const struct output_finder *f, struct showing *showing)
{
    struct slot_map map;
    char path[4096];
    int fd = -1, rc = 0;
    if (slots_open(&map, store_live_dir(f->store), f->run, NULL)) {
        place_part(showing->part, 0, 0, 0);
        return 0;
    }
    for (uint32_t i = 0; i < map.slots->n && fd < 0; i++) {
        if (!slot_has(&map.slots->slot[i], f->place.gen, f->place.task, f->number))
            continue;
        capture_slot_path(path, sizeof path, map.slots, i, store_live_dir(f->store),
                          f->stream - 1);
        fd = os_open_plain(path, O_RDONLY);
        break;
    }
    if (fd < 0)
        place_part(showing->part, 0, 0, 0);
    else
        rc = show_file(fd, showing, f->error);
    if (fd >= 0)
        close(fd);
    slots_close(&map, false);
    return rc;
}

static int show_stored(const struct output_finder *f, struct showing *showing)
{
    struct cairn_output_part *part = showing->part;
    struct stored_output output;
    int rc = output_open(&output, f->store, &f->digest, f->listed, f->error);
    uint64_t kept = output.size, head = f->head && f->head < kept ? f->head : kept;
    uint64_t gap = head < kept && f->bytes > kept ? f->bytes - kept : 0;
    place_part(part, kept + gap, head, gap);
    uint64_t behind = head + gap;
    if (!rc && part->from < head)
        rc = output_read(&output, part->from, part->to < head ? part->to : head,
                         show_piece, showing, f->error);
    int damaged = rc == CAIRN_EDAMAGED ? rc : 0;
    struct cairn_error *error = damaged ? NULL : f->error; /* the first is reported */
    if ((!rc || damaged) && !showing->over && part->to > behind) {
        showing->gap = gap;
        rc = output_read(&output, part->from > behind ? part->from - gap : head,
                         part->to - gap, show_piece, showing, error);
    }
    output_close(&output);
    return damaged ? damaged : rc;
}

/* The attempt that is meant. */
static int find_attempt(struct output_finder *f, const char *task)
{
    struct stored_run v;
    int rc = stored_run_open(&v, f->store, f->run, false, f->error);
    if (rc)
        return rc;
    f->run = v.row.run;
    rc = attempts_each_generation(f->store, &v, task, find_output, f, f->error);
    stored_run_release(&v);
    if (rc || f->found)
        return rc;
    return f->wanted ? error_set(f->error, CAIRN_ENOTFOUND,
                                 "task `%s` has no attempt %u in run %llu", task,
                                 f->wanted, (unsigned long long)f->run)
                     : error_set(f->error, CAIRN_ENOTFOUND,
                                 "task `%s` has not started in run %llu", task,
                                 (unsigned long long)f->run);
}

int cairn_output_part(struct cairn_store *store, uint64_t run, const char *task,
                      uint32_t attempt, int stream, struct cairn_output_part *part,
                      cairn_output_fn *each, void *context, struct cairn_error *error)
{
    if (stream != 1 && stream != 2)
        return error_set(error, CAIRN_EUSAGE, "stream is 1 or 2");
    if (part->last && (part->from || part->to))
        return error_set(error, CAIRN_EUSAGE,
                         "a part is from one byte to another, or the last ones");
    struct output_finder f = {.store = store,
                              .run = run,
                              .wanted = attempt,
                              .stream = stream,
                              .error = error};
    struct showing showing = {.part = part, .each = each, .context = context};
    int rc = find_attempt(&f, task);
    if (!rc && f.merged && stream == 2) { /* what is there are its times */
        place_part(part, 0, 0, 0);
        return 0;
    }
    return rc ? rc : f.stored ? show_stored(&f, &showing) : show_live(&f, &showing);
}

/* As cairn_output gives it: without places. */
struct giving {
    int (*each)(void *, const char *bytes, size_t n, uint64_t gap_bytes);
    void *context;
    uint64_t at; /* behind what was given */
};

static int give_piece(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct giving *giving = context;
    uint64_t gap = at - giving->at;
    giving->at = at + n;
    return giving->each(giving->context, bytes, n, gap);
}

int cairn_output(struct cairn_store *store, uint64_t run, const char *task,
                 uint32_t attempt, int stream,
                 int (*each)(void *, const char *bytes, size_t n, uint64_t gap_bytes),
                 void *context, struct cairn_error *error)
{
    struct cairn_output_part all = {.to = UINT64_MAX};
    struct giving giving = {.each = each, .context = context};
    return cairn_output_part(store, run, task, attempt, stream, &all, give_piece,
                             &giving, error);
}

struct times_shown {
    int (*each)(void *, uint64_t bytes, int64_t time_ns);
    void *context;
    bool over;
};

static int show_time(void *context, uint64_t bytes, int64_t time_ns)
{
    struct times_shown *shown = context;
    shown->over = shown->each(shown->context, bytes, time_ns) != 0;
    return shown->over;
}

int cairn_output_times(struct cairn_store *store, uint64_t run, const char *task,
                       uint32_t attempt,
                       int (*each)(void *, uint64_t bytes, int64_t time_ns),
                       void *context, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    struct times_shown shown = {.each = each, .context = context};
    struct output_finder f = {
        .store = store, .run = run, .wanted = attempt, .stream = 2, .error = error};
    int rc = find_attempt(&f, task);
    if (!rc && (!f.stored || !f.merged))
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "there are no times of the log of task `%s`: %s", task,
                       f.stored ? "it has none of both streams" : "it still runs");
    if (!rc && f.has_digest)
        rc = store_get_object(store, &f.digest, &bytes, error);
    if (!rc && f.has_digest &&
        !log_times_decode(buf_view(&bytes), f.started_ns, show_time, &shown))
        rc = error_set(error, CAIRN_EDAMAGED, "the times of its log are damaged");
    buf_release(&bytes);
    if (!rc && !shown.over)
        each(context, f.log_bytes, f.ended_ns);
    return rc;
}
