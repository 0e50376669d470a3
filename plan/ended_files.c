/* SPDX-License-Identifier: MIT */
#include "plan/ended_files.h"

#include "runs/outputs.h"

struct end_note ended_note_of(const struct keeper *keeper, uint32_t task)
{
    const struct keeper_record *end = &keeper->record;
    return (struct end_note){.task = task,
                             .attempt = keeper->id.attempt,
                             .exit_code = end->exit_code,
                             .inputs = keeper->inputs,
                             .started_ns = end->started_ns,
                             .ended_ns = end->ended_ns};
}

/* An output that was there before its task started: it was moved there since, or the
 * clock was set back. Times of files lag a little behind the clock, and may be those of
 * a clock of seconds. */
static bool is_older(int64_t changed_ns, int64_t started_ns)
{
    enum { LAG_NS = 20000000, SECOND_NS = 1000000000 };
    int64_t lag = changed_ns % SECOND_NS ? LAG_NS : LAG_NS + SECOND_NS;
    return changed_ns < started_ns - lag;
}

/* Names the first file that has changed since, if one has. CAIRN_ENOTFOUND: one is
 * gone. */
static int find_touched(const struct asker *asker, const struct end_note *end,
                        bool inputs, struct buf *which, struct cairn_error *error)
{
    struct scope scope = lookup_scope(asker);
    struct files f;
    int64_t changed_ns;
    int rc = files_begin(&f, &scope, inputs, error), more = 0;
    while (!rc && !which->size && (more = files_step(&f, error)) > 0) {
        rc = file_changed(f.path.data, &changed_ns, error);
        bool later =
            inputs ? changed_ns >= end->started_ns : changed_ns > end->ended_ns;
        if (rc || later || (!inputs && is_older(changed_ns, end->started_ns)))
            buf_str(which, buf_view(&f.name));
    }
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* Times tell nothing of what was moved there, or of a clock that was set. */
static int compare_inputs(const struct asker *asker, const struct end_note *end,
                          struct buf *which, struct cairn_error *error)
{
    uint64_t now;
    int rc = inputs_sign_now(asker, &now, error);
    if (!rc && now != end->inputs)
        buf_text(which, "what it read");
    return rc;
}

int ended_files_check(const struct asker *asker, const struct end_note *end,
                      struct buf *why, struct cairn_error *error)
{
    struct cairn_error local = {0};
    struct buf which = BUF_INIT;
    const struct task_def *def = lookup_scope(asker).def;
    int rc = def->n_inputs ? find_touched(asker, end, true, &which, &local) : 0;
    if (!rc && !which.size && def->n_inputs)
        rc = compare_inputs(asker, end, &which, &local);
    if (!rc && !which.size && def->n_outputs && !end->exit_code)
        rc = find_touched(asker, end, false, &which, &local);
    if (rc && !which.size)
        buf_text(&which, "what it read or made");
    if (which.size)
        buf_format(why, "%.*s %s", (int)which.size, which.data,
                   rc == CAIRN_ENOTFOUND ? "is gone" : "has changed since");
    bool nomem = rc == CAIRN_ENOMEM || which.failed || why->failed;
    buf_release(&which);
    return nomem ? error_nomem(error) : 0;
}
