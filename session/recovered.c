/* SPDX-License-Identifier: MIT */
/* Sessions whose row was lost with a damaged page, and made again by a repair. */
#include "session/session_int.h"

#include "session/board/status.h"
#include "storage/sessions/rows_message.h"

static void note_number(struct live *live, uint8_t kind, uint64_t n)
{
    if (item_kind_info(kind) && n <= UINT32_MAX && n > live->numbers[kind])
        live->numbers[kind] = (uint32_t)n;
}

static int note_item(void *context, const struct item_row *row)
{
    note_number(context, row->kind, row->n);
    return 0;
}

static int note_log(void *context, const struct session_log_row *row)
{
    struct live *live = context;
    if (row->verb == VERB_PUT || row->verb == VERB_REMOVED)
        note_number(live, row->kind, row->number);
    live->counters.checkpoints += row->verb == VERB_CHECKPOINT;
    return 0;
}

static int begin_branch(struct live *live, struct cairn_error *error)
{
    struct branch_row row = {.session = live->row.session,
                             .name = CLEAN("recovered"),
                             .status = BRANCH_ACTIVE,
                             .started_ns = live->now.utc_ns,
                             .reason = CLEAN("")};
    int rc = store_put_branch(live->store, &row, error);
    live->row.branch = row.branch;
    return rc;
}

int live_recover(struct live *live, struct cairn_error *error)
{
    live->settings = session_settings_default();
    live->settings.scheduled = live->now;
    int rc = store_each_item(live->store, live->row.session, note_item, live, error);
    if (!rc)
        rc = store_each_session_log(live->store, live->row.session, 0, false, note_log,
                                    live, error);
    if (!rc)
        rc = store_last_message(live->store, live->row.session, &live->last_message,
                                error);
    live->message = live->last_message;
    if (rc || !live->writing)
        return rc;
    if (!live->row.branch)
        rc = begin_branch(live, error);
    return rc ? rc : live_put_row(live, error);
}
