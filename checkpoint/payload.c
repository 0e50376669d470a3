/* SPDX-License-Identifier: MIT */
/* Outcomes of tasks, and the payloads that hold them. */
#include "checkpoint/payload.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/str.h"
#include "cairn/outcome.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <tpl.h>

/* One outcome per task, and what a change does to it. Invariant: all three arrays have
 * `n` entries; `outputs` appears with the first output digest that is not zero. */

void assert_states(const struct states *states)
{
    assert(states->n <= LIMIT_TASKS);
    assert(states->outcome && states->attempts);
}

int states_init(struct states *states, uint32_t n, struct cairn_error *error)
{
    if (n > LIMIT_TASKS) {
        error_set(error, CAIRN_ELIMIT, "%u tasks are more than the limit of %d", n,
                  LIMIT_TASKS);
        return CAIRN_ELIMIT;
    }
    struct states made = {.n = n};
    size_t room = n ? n : 1;
    made.outcome = calloc(room, sizeof *made.outcome);
    made.attempts = calloc(room, sizeof *made.attempts);
    if (!made.outcome || !made.attempts) {
        states_release(&made);
        error_nomem(error);
        return CAIRN_ENOMEM;
    }
    *states = made;
    return 0;
}

void states_release(struct states *states)
{
    free(states->outcome);
    free(states->attempts);
    free(states->outputs);
    *states = (struct states){0};
}

static int need_outputs(struct states *states, struct cairn_error *error)
{
    assert(states->n > 0);
    if (!states->outputs)
        states->outputs = calloc(states->n, sizeof *states->outputs);
    return states->outputs ? 0 : error_nomem(error);
}

int states_copy(struct states *to, const struct states *from, struct cairn_error *error)
{
    struct states made = {0};
    assert_states(from);
    int rc = states_init(&made, from->n, error);
    if (rc)
        return rc;
    memcpy(made.outcome, from->outcome, from->n * sizeof *from->outcome);
    memcpy(made.attempts, from->attempts, from->n * sizeof *from->attempts);
    if (from->outputs && from->n) {
        rc = need_outputs(&made, error);
        if (rc) {
            states_release(&made);
            return rc;
        }
        memcpy(made.outputs, from->outputs, from->n * sizeof *from->outputs);
    }
    *to = made;
    return 0;
}

/* The same state for `n` tasks from change->task on. */
static int states_fill(struct states *states, const struct change *change, uint32_t n,
                       struct cairn_error *error)
{
    uint32_t from = change->task;
    assert_states(states);
    if (from >= states->n || n > states->n - from)
        return error_set(error, CAIRN_EDAMAGED, "a change of task %u, of only %u", from,
                         states->n);
    if (!digest_is_none(&change->outputs)) {
        int rc = need_outputs(states, error);
        if (rc)
            return rc;
    }
    memset(states->outcome + from, change->outcome, n);
    for (uint32_t i = from; i < from + n; i++)
        states->attempts[i] = change->attempts;
    for (uint32_t i = from; states->outputs && i < from + n; i++)
        states->outputs[i] = change->outputs;
    return 0;
}

int states_extend(struct states *states, uint32_t n, struct cairn_error *error)
{
    uint32_t before = states->n;
    assert(n >= before && n <= LIMIT_TASKS);
    if (!array_extend(&states->outcome, before, n, sizeof *states->outcome) ||
        !array_extend(&states->attempts, before, n, sizeof *states->attempts) ||
        !array_extend(&states->outputs, before, n, sizeof *states->outputs))
        return error_nomem(error);
    states->n = n;
    return 0;
}

int states_apply(struct states *states, const struct change *change,
                 struct cairn_error *error)
{
    return states_fill(states, change, 1, error);
}

struct tally states_tally(const struct states *states)
{
    uint32_t of[256] = {0};
    for (uint32_t i = 0; i < states->n; i++)
        of[states->outcome[i]]++;
    struct tally tally = {.total = states->n,
                          .completed = of[CAIRN_COMPLETED],
                          .failed = of[CAIRN_FAILED],
                          .skipped = of[CAIRN_SKIPPED] + of[CAIRN_EXCLUDED],
                          .cancelled = of[CAIRN_CANCELLED],
                          .undone = of[CAIRN_UNDONE],
                          .unknown = of[CAIRN_UNKNOWN],
                          .excluded = of[CAIRN_EXCLUDED]};
    assert(tally_done(&tally) + tally.undone + tally.unknown <= tally.total);
    return tally;
}

/* Packs and unpacks what is in the B fields of payloads.
 *
 *   state   byte: bits 0-5 outcome, bit 6 attempts follow, bit 7 outputs follow
 *           [varint attempts, never 1] [32 bytes digest, never zeros]
 *   run     varint length (1 or more), state; neighbours differ
 *   change  varint difference to the task before (first: its index), state
 *
 * Invariant: every state has exactly one encoding, and the parser takes no other. */

enum { STATE_OUTCOME = 0x3f, STATE_ATTEMPTS = 0x40, STATE_OUTPUTS = 0x80 };

enum { OUTCOME_LAST = CAIRN_EXCLUDED };

static const struct digest no_outputs;

static int set_damaged(struct cairn_error *error, const char *what)
{
    return error_set(error, CAIRN_EDAMAGED, "%s", what);
}

static int put_state(const struct change *state, struct buf *out,
                     struct cairn_error *error)
{
    if (state->outcome > OUTCOME_LAST)
        return error_set(error, CAIRN_EUSAGE,
                         "task %u: outcome %u cannot be stored in a checkpoint",
                         state->task, state->outcome);
    bool outputs = !digest_is_none(&state->outputs);
    unsigned flags =
        (state->attempts != 1 ? STATE_ATTEMPTS : 0u) | (outputs ? STATE_OUTPUTS : 0u);
    buf_byte(out, (uint8_t)(state->outcome | flags));
    if (flags & STATE_ATTEMPTS)
        buf_varint(out, state->attempts);
    if (outputs)
        buf_add(out, state->outputs.bytes, DIGEST_SIZE);
    return 0;
}

/* Everything of `state` but its task. */
static int get_state(struct reader *in, struct change *state, struct cairn_error *error)
{
    uint8_t byte = read_byte(in);
    uint64_t attempts = byte & STATE_ATTEMPTS ? read_varint(in) : 1;
    state->outputs = no_outputs;
    if (byte & STATE_OUTPUTS) {
        struct str bytes = read_bytes(in, DIGEST_SIZE);
        if (bytes.len)
            memcpy(state->outputs.bytes, bytes.ptr, DIGEST_SIZE);
    }
    if (in->failed)
        return set_damaged(error, "its packed states end too early");
    if ((byte & STATE_OUTCOME) > OUTCOME_LAST)
        return set_damaged(error, "it holds an unknown outcome");
    if (attempts > UINT32_MAX || ((byte & STATE_ATTEMPTS) && attempts == 1))
        return set_damaged(error, "it holds a wrong number of attempts");
    if ((byte & STATE_OUTPUTS) && digest_is_none(&state->outputs))
        return set_damaged(error, "it holds an empty digest of outputs");
    state->outcome = byte & STATE_OUTCOME;
    state->attempts = (uint32_t)attempts;
    return 0;
}

static struct change state_of(const struct states *states, uint32_t task)
{
    assert(task < states->n);
    return (struct change){task, states->outcome[task], states->attempts[task],
                           states->outputs ? states->outputs[task] : no_outputs};
}

static bool same_state(const struct change *a, const struct change *b)
{
    return a->outcome == b->outcome && a->attempts == b->attempts &&
           digest_equal(&a->outputs, &b->outputs);
}

static bool same_at(const struct states *states, uint32_t a, uint32_t b)
{
    assert(a < states->n && b < states->n);
    return states->outcome[a] == states->outcome[b] &&
           states->attempts[a] == states->attempts[b] &&
           (!states->outputs || digest_equal(&states->outputs[a], &states->outputs[b]));
}

/* Where the state of task `from` ends. Blocks are compared with themselves, a task
 * later: a full record looks at every task of the graph. */
static uint32_t end_of_run(const struct states *states, uint32_t from)
{
    enum { BLOCK = 64 };
    const uint8_t *outcome = states->outcome;
    const uint32_t *attempts = states->attempts;
    const struct digest *outputs = states->outputs;
    uint32_t to = from + 1;
    assert(from < states->n);
    while (
        to + BLOCK <= states->n &&
        !memcmp(&outcome[to - 1], &outcome[to], BLOCK * sizeof *outcome) &&
        !memcmp(&attempts[to - 1], &attempts[to], BLOCK * sizeof *attempts) &&
        (!outputs || !memcmp(&outputs[to - 1], &outputs[to], BLOCK * sizeof *outputs)))
        to += BLOCK;
    while (to < states->n && same_at(states, from, to))
        to++;
    return to;
}

/* CAIRN_EUSAGE for an outcome that format 1 cannot store. */
static int pack_runs(const struct states *states, struct buf *out,
                     struct cairn_error *error)
{
    uint32_t from = 0;
    assert_states(states);
    while (from < states->n) {
        uint32_t to = end_of_run(states, from);
        struct change state = state_of(states, from);
        buf_varint(out, to - from);
        int rc = put_state(&state, out, error);
        if (rc)
            return rc;
        from = to;
    }
    assert(from == states->n);
    return buf_check(out, error);
}

int unpack_runs(struct str packed, struct states *states, struct cairn_error *error)
{
    struct reader in = reader_of(packed.ptr, packed.len);
    struct change before = {0};
    uint32_t done = 0;
    assert_states(states);
    while (reader_left(&in) > 0) {
        struct change state = {0};
        uint64_t length = read_varint(&in);
        int rc = get_state(&in, &state, error);
        if (rc)
            return rc;
        if (length == 0 || length > states->n - done)
            return set_damaged(error, "its runs do not add up to its number of tasks");
        if (done > 0 && same_state(&before, &state))
            return set_damaged(error, "two equal runs follow each other");
        before = state;
        state.task = done;
        rc = states_fill(states, &state, (uint32_t)length, error);
        if (rc)
            return rc;
        done += (uint32_t)length;
    }
    if (done != states->n)
        return set_damaged(error, "its runs do not add up to its number of tasks");
    return 0;
}

/* `changes` by ascending task, each at most once; CAIRN_EUSAGE otherwise. */
static int pack_changes(const struct change *changes, size_t n, struct buf *out,
                        struct cairn_error *error)
{
    for (size_t i = 0; i < n; i++) {
        const struct change *change = &changes[i];
        if (change->task >= LIMIT_TASKS || (i > 0 && change[-1].task >= change->task))
            return error_set(error, CAIRN_EUSAGE,
                             "task %u is out of range or changes twice in one "
                             "checkpoint",
                             change->task);
        buf_varint(out, i ? change->task - change[-1].task : change->task);
        int rc = put_state(change, out, error);
        if (rc)
            return rc;
    }
    return buf_check(out, error);
}

struct change_reader change_reader_of(struct str packed, uint32_t tasks)
{
    return (struct change_reader){.in = reader_of(packed.ptr, packed.len),
                                  .tasks = tasks};
}

int change_next(struct change_reader *reader, struct change *change,
                struct cairn_error *error)
{
    assert(!reader->any || reader->last < reader->tasks);
    if (reader_left(&reader->in) == 0)
        return 0;
    struct change found = {0};
    uint64_t step = read_varint(&reader->in);
    int rc = get_state(&reader->in, &found, error);
    if (rc)
        return rc;
    if (reader->any && step == 0)
        return set_damaged(error, "its changes are not in order");
    /* `last` is below `tasks`, so this cannot wrap. */
    if (step >= reader->tasks - (reader->any ? reader->last : 0))
        return error_set(error, CAIRN_EDAMAGED,
                         "it changes a task past the %u of its graph", reader->tasks);
    reader->last += step;
    reader->any = true;
    found.task = (uint32_t)reader->last;
    *change = found;
    return 1;
}

/* Our own check of tpl images, before libtpl sees them. Pure.
 *
 * An image of the flat formats used here (format "uBB" or "UUB"):
 *   0  3  "tpl"
 *   3  1  flags: 0 little endian, 1 big endian
 *   4  4  length of the whole image
 *   8  4  format string and its NUL
 *  12     fields in order: u 4 bytes, U 8 bytes, B 4 bytes length and the bytes
 * Numbers are in the byte order of the host that wrote it. */

static uint32_t host_u32(struct str bytes)
{
    uint32_t value = 0;
    if (bytes.len == sizeof value)
        memcpy(&value, bytes.ptr, sizeof value);
    return value;
}

int image_check(struct str image, const char *format, struct cairn_error *error)
{
    static const uint16_t one = 1;
    uint8_t low_first;
    assert(strlen(format) == 3);
    memcpy(&low_first, &one, 1);
    struct reader in = reader_of(image.ptr, image.len);
    const char *fault = NULL;
    if (image.len > LIMIT_PAYLOAD_BYTES)
        fault = "its payload is too large";
    else if (!str_equal(read_bytes(&in, 3), STR("tpl")))
        fault = "its payload is not a tpl image";
    else if (read_byte(&in) != (low_first ? 0 : 1))
        fault = "its payload has the byte order of another kind of machine";
    else if (host_u32(read_bytes(&in, 4)) != image.len)
        fault = "its payload's own length is wrong";
    else if (!str_equal(read_bytes(&in, 4), (struct str){format, 4}))
        fault = "its payload has an unknown format";
    if (fault)
        return error_set(error, CAIRN_EDAMAGED, "%s", fault);
    for (const char *field = format; *field; field++) {
        size_t size = *field == 'U' ? 8 : 4;
        struct str bytes = read_bytes(&in, size);
        if (*field == 'B')
            read_bytes(&in, host_u32(bytes));
    }
    if (!reader_done(&in))
        return error_set(error, CAIRN_EDAMAGED,
                         "the fields of its payload do not fill it exactly");
    return 0;
}

/* Payloads as tpl images; the only file that includes tpl.h.
 *
 * * libtpl is not safe on hostile bytes: image_check accounts for every byte before
 * libtpl sees one. Its hooks are process globals: they are installed once and stay.
 * While a thread is inside run_guarded(), its allocations are noted and a "fatal" error
 * jumps out and frees them; in other threads and callers the hooks behave like malloc
 * and free, and a fatal error aborts, since libtpl does not expect it to return. */

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
    return payload_full_for(states, graph, graph_tag(graph), out, error);
}

/* The tag only where it is that of another graph. */
int payload_full_for(const struct states *states, const struct digest *graph,
                     uint64_t tag, struct buf *out, struct cairn_error *error)
{
    struct buf packed = BUF_INIT, first = BUF_INIT;
    if (states->n == 0 || states->n > LIMIT_TASKS)
        return error_set(error, CAIRN_EUSAGE, "a checkpoint of %u tasks", states->n);
    buf_str(&first, digest_view(graph));
    if (tag != graph_tag(graph))
        buf_u64(&first, tag);
    int rc = pack_runs(states, &packed, error) ?: buf_check(&first, error);
    if (rc == 0) {
        assert(packed.size > 0);
        struct image image = {.full = true, .number = states->n};
        image.first = bin_of(buf_view(&first));
        rc = put_image(&image, &packed, out, error);
    }
    buf_release(&packed);
    buf_release(&first);
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

int payload_grown(uint64_t base, uint64_t tag, const struct grown *grown,
                  const struct change *changes, size_t n, struct buf *out,
                  struct cairn_error *error)
{
    struct buf packed = BUF_INIT;
    assert(grown->tasks > 0 && grown->tasks <= LIMIT_TASKS);
    if (base == 0)
        return error_set(error, CAIRN_EUSAGE, "a delta needs a full record before it");
    buf_varint(&packed, base);
    buf_u64(&packed, tag);
    int rc = n ? pack_any(changes, n, &packed, error) : buf_check(&packed, error);
    if (rc == 0) {
        struct image image = {.full = true, .number = grown->tasks};
        image.first = bin_of(digest_view(&grown->graph));
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

/* With so many bytes behind the digest. */
static int take_graph(const struct image *image, uint32_t more, struct digest *graph,
                      struct cairn_error *error)
{
    assert(image->full);
    if (image->first.sz != DIGEST_SIZE && image->first.sz != DIGEST_SIZE + more)
        return error_set(error, CAIRN_EDAMAGED, "its graph digest is not 32 bytes");
    if (image->number == 0 || image->number > LIMIT_TASKS)
        return error_set(error, CAIRN_EDAMAGED, "it claims to hold %u tasks",
                         image->number);
    memcpy(graph->bytes, image->first.addr, DIGEST_SIZE);
    return 0;
}

static int take_full(const struct image *image, struct states *states,
                     struct digest *graph, uint64_t *tag, struct cairn_error *error)
{
    struct states made;
    struct digest found;
    int rc = take_graph(image, sizeof *tag, &found, error)
                 ?: states_init(&made, image->number, error);
    if (rc)
        return rc;
    struct str first = view_of(&image->first);
    struct reader in = reader_of(first.ptr + DIGEST_SIZE, first.len - DIGEST_SIZE);
    uint64_t named = first.len > DIGEST_SIZE ? read_u64(&in) : graph_tag(&found);
    if (first.len > DIGEST_SIZE && named == graph_tag(&found))
        rc = set_damaged(error, "it names its own graph twice");
    if (!rc)
        rc = unpack_runs(view_of(&image->packed), &made, error);
    if (rc)
        states_release(&made);
    else {
        *states = made;
        *graph = found;
        *tag = named;
    }
    return rc;
}

int payload_parse_full(struct str payload, struct states *states, struct digest *graph,
                       struct cairn_error *error)
{
    uint64_t tag;
    return payload_parse_full_for(payload, states, graph, &tag, error);
}

int payload_parse_full_for(struct str payload, struct states *states,
                           struct digest *graph, uint64_t *tag,
                           struct cairn_error *error)
{
    struct image image = {.full = true};
    int rc = load_image(payload, &image, error);
    if (rc)
        return rc;
    rc = take_full(&image, states, graph, tag, error);
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

/* What is in front of the changes of one that has grown. */
static int take_grown(const struct image *image, struct delta *delta,
                      struct cairn_error *error)
{
    struct reader in = reader_of(delta->changes.ptr, delta->changes.len);
    int rc = take_graph(image, 0, &delta->grown.graph, error);
    delta->grown.tasks = rc ? 0 : image->number;
    delta->base = read_varint(&in);
    delta->graph_tag = read_u64(&in);
    if (!rc && in.failed)
        rc = set_damaged(error, "its packed states end too early");
    delta->changes = (struct str){(const char *)in.at, reader_left(&in)};
    return rc;
}

static int check_changes(struct delta *delta, struct cairn_error *error)
{
    uint32_t tasks = delta->grown.tasks ? delta->grown.tasks : LIMIT_TASKS;
    struct change_reader reader = change_reader_of(delta->changes, tasks);
    struct change change;
    int rc;
    while ((rc = change_next(&reader, &change, error)) > 0) {
        delta->n++;
        delta->last = change.task;
    }
    bool none = !delta->n && !delta->grown.tasks;
    if (rc == 0 && (none || delta->base == 0))
        rc = error_set(error, CAIRN_EDAMAGED, "it is a delta without %s",
                       none ? "changes" : "a full record");
    assert(rc || !delta->n || delta->last >= delta->n - 1); /* by ascending task */
    return rc;
}

static bool is_grown(struct str payload)
{
    enum { FORMAT_AT = 8 };
    return payload.len >= IMAGE_HEAD && !memcmp(payload.ptr + FORMAT_AT, "uBB", 4);
}

int payload_parse_delta(struct str payload, struct delta *delta,
                        struct cairn_error *error)
{
    struct image image = {.full = is_grown(payload)};
    int rc = load_image(payload, &image, error);
    if (rc)
        return rc;
    struct delta made = {.base = image.base,
                         .graph_tag = image.tag,
                         .changes = view_of(&image.packed),
                         .image = image.packed.addr};
    rc = image.full ? take_grown(&image, &made, error) : 0;
    free(image.first.addr);
    if (!rc)
        rc = check_changes(&made, error);
    if (rc)
        delta_release(&made);
    else
        *delta = made;
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
    uint32_t grown = delta->grown.tasks;
    assert((delta->n > 0 || grown) && delta->base > 0);
    if (grown && grown < tasks)
        return error_set(error, CAIRN_EDAMAGED,
                         "it has %u tasks, fewer than the %u before it", grown, tasks);
    if (grown || delta->last < tasks)
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "it changes a task past the %u of its graph", tasks);
}

int delta_fit_graph(const struct delta *delta, uint64_t tag, struct cairn_error *error)
{
    if (delta->graph_tag == tag)
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
    assert(delta->image);
    int rc;
    while ((rc = change_next(&reader, &change, error)) > 0) {
        rc = each(context, &change);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return rc;
}
