/* SPDX-License-Identifier: MIT */
/* Every row that a command can read, in one go: by the store's own statements, through
 * the indexes that they use. Asking each question of each byte would take hours; where
 * all rows are what they were, so are the answers (and a sample is asked all the same).
 */
#include "damage.h"

#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

struct dump {
    struct cairn_store *store;
    struct buf *out;
};

static int add_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct buf *out = ((struct dump *)context)->out;
    buf_format(out, "c %llu %u %u %llu %llu %lld ", (unsigned long long)row->seq,
               row->namespace_id, row->kind, (unsigned long long)row->stream,
               (unsigned long long)row->parent, (long long)row->time_ns);
    buf_lstr(out, row->record);
    buf_lstr(out, row->digest);
    return 0;
}

static int add_attempt(void *context, const struct attempt_row *row)
{
    struct buf *out = ((struct dump *)context)->out;
    buf_format(
        out, "a %u %u %u %lld %lld %lld %u %u %d %d %lld %lld %llu %llu %llu %llu ",
        row->gen, row->task, row->number, (long long)row->intent_ns,
        (long long)row->started_ns, (long long)row->ended_ns, row->outcome, row->flags,
        row->exit_code, row->signal, (long long)row->cpu_us, (long long)row->peak_kib,
        (unsigned long long)row->out_bytes, (unsigned long long)row->err_bytes,
        (unsigned long long)row->out_head, (unsigned long long)row->err_head);
    buf_lstr(out, row->out);
    buf_lstr(out, row->err);
    buf_lstr(out, row->outputs);
    buf_lstr(out, row->text);
    buf_u64(out, row->start_turn);
    buf_u64(out, row->end_turn);
    buf_u64(out, row->checkpoint);
    return 0;
}

static int add_event(void *context, const struct event_row *row)
{
    struct buf *out = ((struct dump *)context)->out;
    buf_format(out, "e %llu %llu %lld %u %u %u %u ", (unsigned long long)row->id,
               (unsigned long long)row->turn, (long long)row->time_ns, row->kind,
               row->argument, row->gen, row->task);
    buf_lstr(out, row->data);
    return 0;
}

static int add_claim(void *context, const struct claim_row *row)
{
    struct buf *out = ((struct dump *)context)->out;
    buf_format(out, "l %u %u %lld %lld %d ", row->gen, row->task,
               (long long)row->until_boot_ns, (long long)row->time_ns, row->spent);
    buf_lstr(out, row->token);
    buf_lstr(out, row->holder);
    return 0;
}

static int add_tombstone(void *context, const struct tombstone_row *row)
{
    struct buf *out = ((struct dump *)context)->out;
    buf_format(out, "t %llu %llu %llu %llu ", (unsigned long long)row->stream,
               (unsigned long long)row->first, (unsigned long long)row->last,
               (unsigned long long)row->count);
    buf_add(out, row->before.bytes, DIGEST_SIZE);
    buf_add(out, row->after.bytes, DIGEST_SIZE);
    return 0;
}

static void add_parts(struct dump *d, uint64_t run, uint32_t gens)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_WORKFLOW, .stream = run};
    uint64_t last = 0;
    bool waiting = false;
    int rc = store_each_checkpoint(d->store, &range, add_checkpoint, d, NULL);
    buf_format(d->out, "%d ", rc);
    rc = store_last_seq(d->store, NAMESPACE_WORKFLOW, run, &last, NULL);
    buf_format(d->out, "%d %llu ", rc, (unsigned long long)last);
    rc = store_each_event(d->store, run, 0, add_event, d, NULL);
    buf_format(d->out, "%d ", rc);
    rc = store_has_command(d->store, run, &waiting, NULL, NULL);
    buf_format(d->out, "%d %d ", rc, waiting);
    for (uint32_t gen = 1; gen <= gens && gen < 10; gen++) {
        struct digest graph = {{0}};
        rc = store_get_run_graph(d->store, run, gen, &graph, NULL);
        buf_format(d->out, "%d ", rc);
        buf_add(d->out, graph.bytes, DIGEST_SIZE);
        rc = store_each_run_attempt(d->store, run, gen, false, add_attempt, d, NULL);
        buf_format(d->out, "%d ", rc);
        rc = store_each_run_attempt(d->store, run, gen, true, add_attempt, d, NULL);
        buf_format(d->out, "%d ", rc);
        rc = store_each_claim(d->store, run, gen, add_claim, d, NULL);
        buf_format(d->out, "%d\n", rc);
    }
}

static int add_run(void *context, const struct run_row *row)
{
    struct dump *d = context;
    uint64_t id = 0;
    buf_format(d->out, "r %llu %llu %u %u %u %lld %lld %llu %llu %lld %llu %u %d ",
               (unsigned long long)row->run, (unsigned long long)row->workflow,
               row->gen, row->tasks, row->state, (long long)row->started_ns,
               (long long)row->ended_ns, (unsigned long long)row->from_run,
               (unsigned long long)row->from_seq, (long long)row->owner_pid,
               (unsigned long long)row->owner_start, row->unsaved, row->sum_ok);
    buf_lstr(d->out, row->workflow_name);
    buf_lstr(d->out, row->params_text);
    buf_lstr(d->out, row->file);
    buf_lstr(d->out, row->owner_host);
    buf_add(d->out, row->graph.bytes, DIGEST_SIZE);
    int rc = store_workflow_id(d->store, row->workflow_name, false, &id, NULL);
    buf_format(d->out, "%d %llu\n", rc, (unsigned long long)id);
    add_parts(d, row->run, row->gen);
    return 0;
}

void ask_rows(struct buf *rows, const char *store)
{
    struct cairn_store_options options = {.path = store, .read_only = true};
    struct dump d = {.out = rows};
    struct run_filter every = {.ascending = true}, newest = {.limit = 1};
    struct checkpoint_range all = {.descending = true};
    uint64_t next = 0;
    int rc = cairn_store_open(&d.store, &options, NULL);
    if (!rc) {
        buf_text(rows, store_lineage(d.store));
        rc = store_each_run(d.store, &every, add_run, &d, NULL);
        buf_format(rows, "%d ", rc);
        rc = store_each_run(d.store, &newest, add_run, &d, NULL);
        buf_format(rows, "%d ", rc);
        rc = store_each_checkpoint(d.store, &all, add_checkpoint, &d, NULL);
        buf_format(rows, "%d ", rc);
        rc = store_each_tombstone(d.store, 0, 0, add_tombstone, &d, NULL);
        buf_format(rows, "%d ", rc);
        rc = store_seq_after(d.store, &next, NULL);
        buf_format(rows, "%llu ", (unsigned long long)next);
    }
    buf_format(rows, "%d", rc);
    cairn_store_close(d.store);
}
