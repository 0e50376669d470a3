/* SPDX-License-Identifier: MIT */
/* Packs and unpacks what is in the B fields of payloads.
 *
 *   state   byte: bits 0-5 outcome, bit 6 attempts follow, bit 7 outputs follow
 *           [varint attempts, never 1] [32 bytes digest, never zeros]
 *   run     varint length (1 or more), state; neighbours differ
 *   change  varint difference to the task before (first: its index), state
 *
 * Invariant: every state has exactly one encoding, and the parser takes no other. */
#include "checkpoint/packed_int.h"

#include "base/limits.h"
#include "cairn/outcome.h"

#include <assert.h>

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

int pack_runs(const struct states *states, struct buf *out, struct cairn_error *error)
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

int pack_changes(const struct change *changes, size_t n, struct buf *out,
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
