/* cairn_store_repair: everything that is valid in a damaged store, in a new one in its
 * place.
 *
 * The new store is made beside the old one, checked as `cairn checkpoint verify` does,
 * and only then put in its place (storage/rescue.h). Records are kept if their bytes
 * fit their SHA-256, other rows if their checksums hold. */
#include "checkpoint/repair_int.h"

#include "checkpoint/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- What is lost ---- */

void repair_tell(struct repair *r, const struct cairn_loss *loss, const char *format,
                 ...)
{
    char text[512];
    struct cairn_loss told = *loss;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    told.text = text;
    r->result.lost++;
    if (r->each && !r->stop && r->each(r->context, &told) != 0)
        r->stop = true;
}

int repair_lose(struct repair *r, const struct lost_record *record)
{
    for (size_t i = 0; i < r->n_lost; i++)
        if (r->lost[i].seq == record->seq)
            return 0;
    if (r->n_lost == r->lost_room) {
        size_t room = r->lost_room ? 2 * r->lost_room : 16;
        struct lost_record *lost = realloc(r->lost, room * sizeof *lost);
        if (!lost)
            return error_nomem(r->error);
        r->lost = lost;
        r->lost_room = room;
    }
    r->lost[r->n_lost++] = *record;
    return 0;
}

/* ---- Other rows ---- */

static void lost_row(void *context, const struct salvage_row *row)
{
    struct repair *r = context;
    struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    const struct sql_value *v = row->values;
    unsigned long long first = (unsigned long long)v[0].integer;
    switch (row->table) {
    case SALVAGE_RUN: /* an older version of it may be found: tell_runs */
        r->nomem = r->nomem || seqs_add(&r->lost_runs, first);
        break;
    case SALVAGE_OBJECT:
        loss.kind = CAIRN_LOSS_OBJECT;
        repair_tell(r, &loss, "stored content number %llu", first);
        break;
    case SALVAGE_ATTEMPT:
        loss.run = first;
        loss.task = (uint32_t)v[2].integer;
        loss.kind = CAIRN_LOSS_ATTEMPT;
        repair_tell(r, &loss, "the row of attempt %lld of task number %lld in run %llu",
                    (long long)v[3].integer, (long long)v[2].integer, first);
        break;
    default:
        repair_tell(r, &loss, "a row of the table %s", salvage_name(row->table));
    }
}

static int see_run(void *context, const struct run_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

static int tell_runs(struct repair *r)
{
    for (size_t i = 0; i < r->lost_runs.n; i++) {
        struct cairn_loss loss = {.kind = CAIRN_LOSS_RUN, .run = r->lost_runs.at[i]};
        int rc = store_get_run(r->store, loss.run, see_run, NULL, r->error);
        if (rc && rc != CAIRN_ENOTFOUND)
            return rc;
        repair_tell(r, &loss,
                    rc ? "the row of run %llu: the run cannot be resumed or looked at"
                       : "the newest row of run %llu: an older one takes its place",
                    (unsigned long long)loss.run);
    }
    return r->nomem ? error_nomem(r->error) : 0;
}

static int take_tables(struct repair *r)
{
    uint64_t *const counts[SALVAGE_TABLES] = {[SALVAGE_RUN] = &r->result.runs,
                                              [SALVAGE_OBJECT] = &r->result.objects,
                                              [SALVAGE_ATTEMPT] = &r->result.attempts,
                                              [SALVAGE_EVENT] = &r->result.events};
    int rc = 0;
    for (int i = 0; i < SALVAGE_TABLES && !rc; i++) {
        struct rescue_count count = {0};
        if (i == SALVAGE_CHECKPOINT)
            continue;
        rc = rescue_table(r->rescue, (enum salvage_table)i, &count, lost_row, r,
                          r->error);
        if (!counts[i])
            r->result.others += count.saved;
        else
            *counts[i] = count.saved;
    }
    return rc ? rc : tell_runs(r);
}

/* ---- The whole ---- */

static int fill(struct repair *r)
{
    int rc = store_begin(r->store, -1, r->error);
    if (rc)
        return rc;
    rc = take_tables(r);
    if (!rc)
        rc = repair_take_records(r);
    if (!rc)
        rc = repair_find_losses(r);
    if (!rc)
        rc = repair_chains(r);
    if (!rc)
        rc = repair_tell_losses(r);
    if (rc < 0) {
        store_abort(r->store);
        return rc;
    }
    return store_commit(r->store, r->error);
}

static int first_problem(void *context, const struct cairn_problem *problem)
{
    char *text = context;
    if (!text[0])
        snprintf(text, 400, "%s%s%.300s", problem->id, problem->id[0] ? ": " : "",
                 problem->text);
    return 0;
}

/* Nothing takes the damaged store's place that is not sound itself. */
static int check_new(struct repair *r)
{
    struct cairn_store_options options = {.path = rescue_new_dir(r->rescue),
                                          .read_only = true};
    struct cairn_store *store = NULL;
    char text[400] = "";
    int rc = cairn_store_open(&store, &options, r->error);
    if (!rc)
        rc = cairn_checkpoint_verify(store, NULL, first_problem, text, NULL, r->error);
    cairn_store_close(store);
    if (rc == CAIRN_EDAMAGED && text[0])
        return error_set(r->error, CAIRN_EDAMAGED,
                         "what could be saved does not verify (%s); the store was left "
                         "as it is",
                         text);
    return rc;
}

static int replace(struct repair *r)
{
    int rc = rescue_begin(r->rescue, r->error);
    if (rc)
        return rc;
    r->store = rescue_store(r->rescue);
    rc = fill(r);
    if (!rc)
        rc = rescue_finish(r->rescue, r->error);
    if (!rc)
        rc = check_new(r);
    if (!rc)
        rc = rescue_switch(r->rescue, r->result.kept, r->error);
    if (!rc)
        r->result.repaired = true;
    return rc;
}

static int see_finding(void *context, const struct cairn_finding *finding)
{
    bool *bad = context;
    *bad = *bad || finding->health == CAIRN_HEALTH_BAD;
    return 0;
}

static int repair(struct repair *r)
{
    bool bad = false;
    struct cairn_error why = {0};
    int rc = cairn_doctor(rescue_dir(r->rescue), see_finding, &bad, &why);
    /* The doctor took the writer whose locks are held for a live one. */
    if (rescue_log_is_lost(r->rescue))
        return replace(r);
    if (rc == 0 && !bad)
        return 0;
    if (rc != CAIRN_EDAMAGED)
        return error_set(r->error, rc, "%s", why.text);
    return replace(r);
}

int cairn_store_repair(const char *path, int (*each)(void *, const struct cairn_loss *),
                       void *context, struct cairn_repair_result *result,
                       struct cairn_error *error)
{
    struct repair r = {.each = each, .context = context, .error = error};
    r.sha = sha256_new();
    int rc =
        r.sha ? rescue_open(&r.rescue, path, r.result.kept, error) : error_nomem(error);
    r.result.repaired = r.result.kept[0] != 0;
    if (!rc)
        rc = repair(&r);
    if (!rc && result)
        *result = r.result;
    rescue_close(r.rescue);
    sha256_free(r.sha);
    free(r.lost);
    seqs_release(&r.lost_runs);
    return rc;
}
