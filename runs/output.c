/* SPDX-License-Identifier: MIT */
/* What attempts wrote, stored or still in the files of their slots. */
#include "base/limits.h"
#include "base/log_times.h"
#include "base/os.h"
#include "cairn/runs.h"
#include "process/capture.h"
#include "process/slot_map.h"
#include "runs/marks.h"
#include "runs/run_tasks.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/store.h"

#include <fcntl.h>
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
    bool stored, merged;
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
    f->started_ns = row->started_ns ? row->started_ns : row->intent_ns;
    f->ended_ns = row->ended_ns;
    f->has_digest = digest.len == DIGEST_SIZE;
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

static int show_captured(const struct captured *c,
                         int (*each)(void *, const char *, size_t, uint64_t),
                         void *context)
{
    size_t size = c->content.size, head = c->head ? (size_t)c->head : size;
    if (head > size)
        head = size;
    if (head && each(context, c->content.data, head, 0))
        return 0;
    if (size > head)
        each(context, c->content.data + head, size - head, c->bytes - size);
    return 0;
}

/* The attempt runs now, or was interrupted: its output is in the files of its slot. */
static int show_live(const struct output_finder *f,
                     int (*each)(void *, const char *, size_t, uint64_t), void *context)
{
    struct slot_map map;
    char path[4096];
    int rc = 0;
    if (slots_open(&map, store_live_dir(f->store), f->run, NULL))
        return 0;
    for (uint32_t i = 0; i < map.slots->n; i++) {
        if (!slot_has(&map.slots->slot[i], f->place.gen, f->place.task, f->number))
            continue;
        struct captured c = {.content = BUF_INIT};
        capture_slot_path(path, sizeof path, map.slots, i, store_live_dir(f->store),
                          f->stream - 1);
        int fd = os_open_plain(path, O_RDONLY);
        if (fd < 0)
            break;
        rc = capture_read(fd, LIMIT_OUTPUT_BYTES, &c, f->error);
        close(fd);
        if (!rc)
            show_captured(&c, each, context);
        buf_release(&c.content);
        break;
    }
    slots_close(&map, false);
    return rc;
}

static int show_stored(const struct output_finder *f,
                       int (*each)(void *, const char *, size_t, uint64_t),
                       void *context)
{
    struct captured c = {.bytes = f->bytes, .head = f->head};
    if (!f->has_digest)
        return 0;
    int rc = store_get_object(f->store, &f->digest, &c.content, f->error);
    if (!rc)
        show_captured(&c, each, context);
    buf_release(&c.content);
    return rc;
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

int cairn_output(struct cairn_store *store, uint64_t run, const char *task,
                 uint32_t attempt, int stream,
                 int (*each)(void *, const char *bytes, size_t n, uint64_t gap_bytes),
                 void *context, struct cairn_error *error)
{
    if (stream != 1 && stream != 2)
        return error_set(error, CAIRN_EUSAGE, "stream is 1 or 2");
    struct output_finder f = {.store = store,
                              .run = run,
                              .wanted = attempt,
                              .stream = stream,
                              .error = error};
    int rc = find_attempt(&f, task);
    if (rc || (f.merged && stream == 2)) /* what is there are its times */
        return rc;
    return f.stored ? show_stored(&f, each, context) : show_live(&f, each, context);
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
