/* SPDX-License-Identifier: MIT */
/* Payloads as tpl images; the only file that includes tpl.h.
 *
 * libtpl is not safe on hostile bytes: image_check (image.c) accounts for every byte
 * before libtpl sees one. Its hooks are process globals: they are installed once and
 * stay. While a thread is inside run_guarded(), its allocations are noted and a "fatal"
 * error jumps out and frees them; in other threads and callers the hooks behave like
 * malloc and free, and a fatal error aborts, since libtpl does not expect it to return.
 */
#include "checkpoint/payload.h"

#include "base/limits.h"
#include "base/reader.h"
#include "checkpoint/packed_int.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <tpl.h>

/* Not in tpl.h, but exported and documented. */
extern tpl_hook_t tpl_hook;

enum { GUARD_BLOCKS = 64 }; /* an image of three fields takes fewer than 20 */

struct tpl_guard {
    jmp_buf escape;
    void *blocks[GUARD_BLOCKS];
    bool nomem;
};

/* Hooks get no context argument, so the call under way is found through the thread. */
static _Thread_local struct tpl_guard *guard;

/* The slot that holds `block` (NULL: a free one), or NULL. */
static void **guard_slot(const void *block)
{
    assert(guard);
    for (int i = 0; i < GUARD_BLOCKS; i++)
        if (guard->blocks[i] == block)
            return &guard->blocks[i];
    return NULL;
}

/* The block is the caller's from now on. */
static void guard_forget(const void *block)
{
    void **slot = block ? guard_slot(block) : NULL;
    if (slot)
        *slot = NULL;
}

static void *hook_malloc(size_t size)
{
    void **slot = guard ? guard_slot(NULL) : NULL;
    void *block = malloc(size);
    if (slot)
        *slot = block;
    if (guard && (!block || !slot))
        guard->nomem = true;
    return block;
}

static void *hook_realloc(void *old, size_t size)
{
    void **slot = guard ? guard_slot(old) : NULL;
    void *block = realloc(old, size);
    if (slot && block)
        *slot = block;
    if (guard && (!block || !slot))
        guard->nomem = true;
    return block;
}

static void hook_free(void *block)
{
    if (guard)
        guard_forget(block);
    free(block);
}

static int hook_oops(const char *format, ...)
{
    (void)format;
    return 0;
}

static void hook_fatal(const char *format, ...)
{
    (void)format;
    if (!guard)
        abort();
    longjmp(guard->escape, 1);
}

static void install_hooks(void)
{
    tpl_hook.malloc = hook_malloc;
    tpl_hook.realloc = hook_realloc;
    tpl_hook.free = hook_free;
    tpl_hook.oops = hook_oops;
    tpl_hook.fatal = hook_fatal;
}

/* Runs work, which calls libtpl and returns its result (0: good). Whatever libtpl
 * allocated and did not free is freed, except a block that work took out by
 * guard_forget. */
static int run_guarded(int (*work)(void *), void *context, struct cairn_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tpl_guard here;
    assert(!guard);
    memset(&here, 0, sizeof here);
    if (pthread_once(&once, install_hooks) != 0)
        return error_nomem(error);
    guard = &here;
    int bad = 1;
    if (setjmp(here.escape) == 0)
        bad = work(context);
    assert(guard == &here);
    guard = NULL;
    for (int i = 0; i < GUARD_BLOCKS; i++)
        free(here.blocks[i]);
    if (here.nomem)
        return error_nomem(error);
    return bad ? error_set(error, CAIRN_EDAMAGED, "libtpl refuses the payload") : 0;
}

/* ---- Writing ---- */

static tpl_bin bin_of(struct str bytes)
{
    assert(bytes.len <= LIMIT_PAYLOAD_BYTES);
    /* libtpl only reads from it, but its field is not const. */
    return (tpl_bin){(void *)(uintptr_t)bytes.ptr, (uint32_t)bytes.len};
}

/* One image of either format: its fields, and the place for its bytes. */
struct image {
    bool full;
    uint32_t number;       /* full: of tasks, or of a trigger */
    tpl_bin first, packed; /* full: graph digest or head; then what is packed */
    uint64_t base, tag;    /* not full */
    void *bytes;
    size_t size;
};

enum { IMAGE_HEAD = 12, FULL_FIXED = 4 + 4 + 4, DELTA_FIXED = 8 + 8 + 4 };

static const char *format_of(const struct image *image)
{
    return image->full ? "uBB" : "UUB";
}

static tpl_node *map_image(struct image *image)
{
    char full[] = "uBB", delta[] = "UUB"; /* tpl_map wants writable text */
    if (image->full)
        return tpl_map(full, &image->number, &image->first, &image->packed);
    return tpl_map(delta, &image->base, &image->tag, &image->packed);
}

static int write_image(void *context)
{
    struct image *image = context;
    assert(image->bytes && image->size > 0);
    tpl_node *node = map_image(image);
    if (!node)
        return 1;
    int bad = tpl_pack(node, 0) < 0 ||
              tpl_dump(node, TPL_MEM | TPL_PREALLOCD, image->bytes, image->size) != 0;
    tpl_free(node);
    return bad;
}

/* Appends the image. Its size is known, so it is dumped straight into `out`. */
static int put_image(struct image *image, const struct buf *packed, struct buf *out,
                     struct cairn_error *error)
{
    size_t size = IMAGE_HEAD + image->first.sz + packed->size +
                  (size_t)(image->full ? FULL_FIXED : DELTA_FIXED);
    if (size > LIMIT_PAYLOAD_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "a checkpoint of %zu bytes is larger than the limit of %d",
                         size, LIMIT_PAYLOAD_BYTES);
    size_t start = out->size;
    image->packed = bin_of(buf_view(packed));
    image->size = size;
    image->bytes = buf_grow(out, size);
    if (!image->bytes)
        return error_nomem(error);
    int rc = run_guarded(write_image, image, error);
    if (rc)
        out->size = start;
    else
        assert(image_check((struct str){image->bytes, size}, format_of(image), NULL) ==
               0);
    return rc;
}

int payload_full(const struct states *states, const struct digest *graph,
                 struct buf *out, struct cairn_error *error)
{
    struct buf packed = BUF_INIT;
    if (states->n == 0 || states->n > LIMIT_TASKS)
        return error_set(error, CAIRN_EUSAGE, "a checkpoint of %u tasks", states->n);
    int rc = pack_runs(states, &packed, error);
    if (rc == 0) {
        assert(packed.size > 0);
        struct image image = {.full = true, .number = states->n};
        image.first = bin_of((struct str){(const char *)graph->bytes, DIGEST_SIZE});
        rc = put_image(&image, &packed, out, error);
    }
    buf_release(&packed);
    return rc;
}

static int by_task(const void *a, const void *b)
{
    uint32_t x = ((const struct change *)a)->task, y = ((const struct change *)b)->task;
    return (x > y) - (x < y);
}

/* Packs changes in any order: sorts a copy if they are not sorted. */
static int pack_any(const struct change *changes, size_t n, struct buf *packed,
                    struct cairn_error *error)
{
    size_t i = 1;
    assert(n > 0);
    while (i < n && changes[i - 1].task <= changes[i].task)
        i++;
    if (i >= n)
        return pack_changes(changes, n, packed, error);
    struct change *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return error_nomem(error);
    memcpy(sorted, changes, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_task);
    int rc = pack_changes(sorted, n, packed, error);
    free(sorted);
    return rc;
}

int payload_delta(uint64_t base, uint64_t tag, const struct change *changes, size_t n,
                  struct buf *out, struct cairn_error *error)
{
    struct buf packed = BUF_INIT;
    if (n == 0 || base == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "a delta needs changes and a full record before it");
    int rc = pack_any(changes, n, &packed, error);
    if (rc == 0) {
        assert(packed.size >= 2 * n); /* a step and a state each */
        struct image image = {.base = base, .tag = tag};
        rc = put_image(&image, &packed, out, error);
    }
    buf_release(&packed);
    return rc;
}

int payload_sections(uint32_t trigger, struct str head, const struct buf *sections,
                     struct buf *out, struct cairn_error *error)
{
    assert(head.len > 0 && sections->size > 0);
    struct image image = {.full = true, .number = trigger};
    image.first = bin_of(head);
    return put_image(&image, sections, out, error);
}

uint64_t graph_tag(const struct digest *graph)
{
    struct reader in = reader_of(graph->bytes, DIGEST_SIZE);
    return read_u64(&in);
}

/* ---- Reading ---- */

/* On success first.addr and packed.addr are the caller's to free. */
static int read_image(void *context)
{
    struct image *image = context;
    assert(!image->first.addr && !image->packed.addr);
    tpl_node *node = map_image(image);
    if (!node)
        return 1;
    int bad = tpl_load(node, TPL_MEM, image->bytes, image->size) != 0 ||
              tpl_unpack(node, 0) < 0;
    tpl_free(node);
    if (!bad) {
        guard_forget(image->first.addr);
        guard_forget(image->packed.addr);
    }
    return bad;
}

static int load_image(struct str payload, struct image *image,
                      struct cairn_error *error)
{
    assert(!image->bytes);
    int rc = image_check(payload, format_of(image), error);
    if (rc)
        return rc;
    image->bytes = (void *)(uintptr_t)payload.ptr;
    image->size = payload.len;
    return run_guarded(read_image, image, error);
}

static struct str view_of(const tpl_bin *bin)
{
    return (struct str){bin->addr, bin->sz};
}

static int take_full(const struct image *image, struct states *states,
                     struct cairn_error *error)
{
    assert(image->full);
    if (image->first.sz != DIGEST_SIZE)
        return error_set(error, CAIRN_EDAMAGED, "its graph digest is not 32 bytes");
    if (image->number == 0 || image->number > LIMIT_TASKS)
        return error_set(error, CAIRN_EDAMAGED, "it claims to hold %u tasks",
                         image->number);
    struct states made;
    int rc = states_init(&made, image->number, error);
    if (rc)
        return rc;
    rc = unpack_runs(view_of(&image->packed), &made, error);
    if (rc)
        states_release(&made);
    else
        *states = made;
    return rc;
}

int payload_parse_full(struct str payload, struct states *states, struct digest *graph,
                       struct cairn_error *error)
{
    struct image image = {.full = true};
    int rc = load_image(payload, &image, error);
    if (rc)
        return rc;
    rc = take_full(&image, states, error);
    if (rc == 0)
        memcpy(graph->bytes, image.first.addr, DIGEST_SIZE);
    free(image.first.addr);
    free(image.packed.addr);
    return rc;
}

int payload_parse_sections(struct str payload, struct sections_image *out,
                           struct cairn_error *error)
{
    struct image image = {.full = true};
    int rc = load_image(payload, &image, error);
    if (rc)
        return rc;
    *out = (struct sections_image){.trigger = image.number,
                                   .head = view_of(&image.first),
                                   .sections = view_of(&image.packed),
                                   .blocks = {image.first.addr, image.packed.addr}};
    return 0;
}

void sections_image_release(struct sections_image *image)
{
    free(image->blocks[0]);
    free(image->blocks[1]);
    *image = (struct sections_image){0};
}

int payload_parse_delta(struct str payload, struct delta *delta,
                        struct cairn_error *error)
{
    struct image image = {.full = false};
    int rc = load_image(payload, &image, error);
    if (rc)
        return rc;
    struct delta made = {.base = image.base,
                         .graph_tag = image.tag,
                         .changes = view_of(&image.packed),
                         .image = image.packed.addr};
    struct change_reader reader = change_reader_of(made.changes, LIMIT_TASKS);
    struct change change;
    while ((rc = change_next(&reader, &change, error)) > 0) {
        made.n++;
        made.last = change.task;
    }
    if (rc == 0 && (made.n == 0 || made.base == 0))
        rc = error_set(error, CAIRN_EDAMAGED, "it is a delta without %s",
                       made.n == 0 ? "changes" : "a full record");
    if (rc)
        delta_release(&made);
    else {
        assert(made.last >= made.n - 1); /* by ascending task */
        *delta = made;
    }
    return rc;
}

void delta_release(struct delta *delta)
{
    free(delta->image);
    *delta = (struct delta){0};
}

int delta_fit_tasks(const struct delta *delta, uint32_t tasks,
                    struct cairn_error *error)
{
    assert(delta->n > 0 && delta->base > 0);
    if (delta->last < tasks)
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "it changes a task past the %u of its graph", tasks);
}

int delta_fit_graph(const struct delta *delta, const struct digest *graph,
                    struct cairn_error *error)
{
    if (delta->graph_tag == graph_tag(graph))
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "it belongs to another graph than its full record");
}

int delta_each(const struct delta *delta, uint32_t tasks,
               int (*each)(void *, const struct change *), void *context,
               struct cairn_error *error)
{
    struct change_reader reader = change_reader_of(delta->changes, tasks);
    struct change change;
    assert(delta->image && delta->n > 0);
    int rc;
    while ((rc = change_next(&reader, &change, error)) > 0) {
        rc = each(context, &change);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return rc;
}
