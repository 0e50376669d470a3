/* SPDX-License-Identifier: MIT */
#include "executor/state/before.h"

#include "base/memory.h"
#include "base/os.h"
#include "graph/text_expand.h"
#include "plan/stale.h"
#include "runs/outputs.h"

#include <fcntl.h>
#include <stdlib.h>

struct before {
    struct arena arena;
    bool *looked;         /* [n_tasks] */
    struct map found;     /* "TASK NEWLINE PLACE" of those that nobody is known to have
                             made */
    struct map by_place;  /* index into rows: */
    struct made_row *row; /* what tasks of the workflow have made; read once, if some
                             output is there before its task */
    uint32_t n;
    size_t capacity;
    bool loaded;
};

void before_release(struct before *before)
{
    if (!before)
        return;
    map_release(&before->found);
    map_release(&before->by_place);
    arena_release(&before->arena);
    free(before->looked);
    free(before->row);
    free(before);
}

static int keep_row(struct before *before, const struct made_row *row)
{
    uint32_t known = map_get(&before->by_place, row->path);
    if (known != MAP_NONE) { /* the newest one is that of the file as it is */
        if (row->ctime_ns >= before->row[known].ctime_ns)
            before->row[known] = (struct made_row){
                .kind = row->kind,
                .size = row->size,
                .inode = row->inode,
                .mtime_ns = row->mtime_ns,
                .ctime_ns = row->ctime_ns,
            };
        return 0;
    }
    struct made_row *room =
        array_room(before->row, before->n, &before->capacity, sizeof *room);
    struct str key = arena_str(&before->arena, row->path);
    if (room)
        before->row = room;
    if (!room || !key.ptr || map_add(&before->by_place, key, before->n, NULL) < 0)
        return CAIRN_ENOMEM;
    room[before->n] = *row;
    room[before->n].task = room[before->n].path = (struct str){NULL, 0};
    before->n++;
    return 0;
}

static int load_row(void *context, const struct made_row *row)
{
    return keep_row(context, row);
}

static bool is_wanted_row(void *context, struct str task)
{
    (void)context;
    (void)task;
    return true;
}

void before_note(struct engine *e, const struct made_row *row)
{
    struct before *before = e->before;
    if (before && before->loaded && keep_row(before, row))
        engine_break(e);
}

static bool is_known(struct engine *e, struct before *before, struct str place,
                     const char *path)
{
    const struct made_search all = {e->run.row.workflow, is_wanted_row, load_row,
                                    before};
    uint64_t no_bytes = 0;
    struct file_sign now;
    struct cairn_error why = {0};
    if (!before->loaded &&
        store_each_made(e->request.store, &all, &why) == CAIRN_ENOMEM)
        engine_break(e);
    before->loaded = true;
    uint32_t at = map_get(&before->by_place, place);
    return at != MAP_NONE && before->row[at].kind == MADE_FILE &&
           stale_is_same(path, &before->row[at], &no_bytes, &now);
}

static void key_of(struct buf *key, uint32_t task, struct str place)
{
    buf_format(key, "%u\n", task);
    buf_str(key, place);
}

static int note_found(struct before *before, uint32_t task, struct str place)
{
    struct buf key = BUF_INIT;
    key_of(&key, task, place);
    struct str copy = arena_str(&before->arena, buf_view(&key));
    bool failed = key.failed || !copy.ptr || map_add(&before->found, copy, 0, NULL) < 0;
    buf_release(&key);
    return failed ? CAIRN_ENOMEM : 0;
}

/* NULL: out of memory. */
static struct before *open_before(struct engine *e)
{
    struct before *before = e->before ? e->before : calloc(1, sizeof *before);
    e->before = before;
    if (before && !before->looked)
        before->looked = calloc(e->request.graph->n_tasks, sizeof *before->looked);
    if (before && before->looked)
        return before;
    engine_break(e);
    return NULL;
}

int before_extend(struct engine *e, uint32_t before)
{
    return !e->before || array_extend(&e->before->looked, before,
                                      e->request.graph->n_tasks, sizeof(bool))
               ? 0
               : CAIRN_ENOMEM;
}

void before_look(struct engine *e, uint32_t task, uint32_t attempt)
{
    const struct graph *g = e->request.graph;
    if (!e->request.store || !graph_def(g, task)->n_outputs)
        return;
    struct before *before = open_before(e);
    if (!before || before->looked[task])
        return;
    struct asker asker = {
        .lookup = &e->progress.lookup, .task = task, .attempt = attempt};
    struct scope scope = lookup_scope(&asker);
    struct buf place = BUF_INIT;
    struct files f;
    int more = files_begin(&f, &scope, false, NULL);
    while (more >= 0 && (more = files_step(&f, NULL)) > 0) {
        if (!os_is_there(AT_FDCWD, f.path.data))
            continue;
        more = task_file_place(&scope, buf_view(&f.name), &place, NULL);
        if (!more && !is_known(e, before, buf_view(&place), f.path.data))
            more = note_found(before, task, buf_view(&place));
    }
    before->looked[task] = !more;
    files_release(&f);
    buf_release(&place);
    if (more == CAIRN_ENOMEM)
        engine_break(e);
}

bool before_has(const struct engine *e, uint32_t task, struct str place)
{
    const struct before *before = e->before;
    struct buf key = BUF_INIT;
    if (!before || !before->looked || !before->looked[task])
        return true;
    key_of(&key, task, place);
    bool there = key.failed || map_get(&before->found, buf_view(&key)) != MAP_NONE;
    buf_release(&key);
    return there;
}
