/* SPDX-License-Identifier: MIT */
/* What it takes to go on from a checkpoint, as steps for people and programs. */
#include "base/words.h"
#include "cairn/outcome.h"
#include "cairn/restore.h"
#include "cairn/session.h"
#include "secrets/known_secrets.h"
#include "session/session_int.h"

#include "storage/rows_run.h"

#include <stdio.h>
#include <string.h>

enum { GAPS_SHOWN = 3 };

struct steps {
    struct cairn_store *store;
    const char *id;
    struct cairn_session_info session; /* number 0: its row is damaged or lost */
    struct buf text;                   /* of one step */
    int (*each)(void *, const struct cairn_step *);
    void *context;
    bool stopped;
    int rc; /* of what was noticed in a callback */
    struct cairn_error *error;
};

/* Gives the step whose text was put together, and begins the next one. */
static int give(struct steps *steps, enum cairn_step_kind kind)
{
    buf_byte(&steps->text, 0);
    int rc = buf_check(&steps->text, steps->error);
    struct cairn_step step = {kind, steps->text.data};
    if (!rc && !steps->stopped)
        steps->stopped = steps->each(steps->context, &step) != 0;
    buf_clear(&steps->text);
    return rc;
}

/* As one word of a POSIX shell. */
static void add_word(struct buf *out, const char *text)
{
    buf_text(out, "'");
    for (const char *at = text; *at; at++)
        if (*at == '\'')
            buf_text(out, "'\\''");
        else
            buf_byte(out, (uint8_t)*at);
    buf_text(out, "'");
}

static int give_variable(struct steps *steps, const char *name, const char *value)
{
    buf_format(&steps->text, "export %s=", name);
    add_word(&steps->text, value);
    return give(steps, CAIRN_STEP_ENVIRONMENT);
}

/* ---- The session and its state ---- */

static int ignore_change(void *context, const struct cairn_board_change *change)
{
    (void)context;
    (void)change;
    return 1;
}

static int give_restore(struct steps *steps)
{
    struct cairn_board_summary summary;
    char session[24];
    u64_text(steps->session.session, session);
    int rc = cairn_session_diff(steps->store, session, steps->id, NULL, ignore_change,
                                NULL, &summary, steps->error);
    bool damaged = rc == CAIRN_EDAMAGED; /* the present board: this puts it right */
    if (!damaged && (rc || !(summary.added + summary.changed + summary.removed)))
        return rc;
    buf_format(&steps->text, "cairn checkpoint restore %s", steps->id);
    return give(steps, CAIRN_STEP_REPLAY);
}

static int give_session(struct steps *steps)
{
    int rc = give_variable(steps, "CAIRN_STORE", cairn_store_path(steps->store));
    if (rc || !steps->session.session)
        return rc;
    rc = give_variable(steps, "CAIRN_SESSION", steps->session.name);
    if (!rc && steps->session.ended_ns) {
        buf_text(&steps->text, "cairn session switch ");
        add_word(&steps->text, steps->session.name);
        rc = give(steps, CAIRN_STEP_REPLAY);
    }
    return rc ?: give_restore(steps);
}

/* ---- The environment then ---- */

static int give_directory(struct steps *steps, const char *directory)
{
    if (!*directory)
        return 0;
    if (strstr(directory, KNOWN_SECRET_MARK))
        return 0;
    buf_text(&steps->text, "cd ");
    add_word(&steps->text, directory);
    return give(steps, CAIRN_STEP_ENVIRONMENT);
}

/* A name may be any bytes but '=': an import has them from a file. */
static void add_name(struct buf *out, const char *name)
{
    for (const char *at = name; *at; at++)
        buf_byte(out, (uint8_t)*at < ' ' || *at == 0x7f ? '?' : (uint8_t)*at);
}

/* Of what was not kept whole only the name is known; what is not a name for a shell is
 * never put where one would run it. */
static int give_kept(struct steps *steps, const struct cairn_variable *variable)
{
    bool named = str_is_env_name(str_of(variable->name));
    if (named && !variable->partial)
        return give_variable(steps, variable->name, variable->value);
    add_name(&steps->text, variable->name);
    buf_text(&steps->text, variable->partial
                               ? " was set; its value was not stored whole"
                               : " was set; that is not a name for a shell");
    return give(steps, CAIRN_STEP_MANUAL);
}

static int see_environment(void *context, const struct cairn_environment *environment)
{
    struct steps *steps = context;
    steps->rc = give_directory(steps, environment->directory);
    for (size_t i = 0; i < environment->n && !steps->rc && !steps->stopped; i++)
        steps->rc = give_kept(steps, &environment->variables[i]);
    return 0;
}

static int give_environment(struct steps *steps)
{
    struct cairn_error why = {0};
    int rc = cairn_session_environment(steps->store, NULL, steps->id, see_environment,
                                       steps, &why);
    if (rc && rc != CAIRN_ENOTFOUND)
        return error_set(steps->error, rc, "%s", why.text);
    return steps->rc;
}

/* ---- The task that failed ---- */

static int note_completed(void *context, const struct run_row *row)
{
    *(bool *)context = row->state == CAIRN_RUN_COMPLETED;
    return 0;
}

static int give_task(struct steps *steps, const struct cairn_task_failure *failure)
{
    unsigned long long run = failure->run;
    bool completed = false;
    int rc = store_get_run(steps->store, failure->run, note_completed, &completed,
                           steps->error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc)
        return rc;
    if (completed) {
        buf_format(&steps->text,
                   "run %llu has completed since %s failed: there is nothing to resume",
                   run, failure->task);
        return give(steps, CAIRN_STEP_MANUAL);
    }
    buf_format(&steps->text, "cairn shell %llu ", run);
    add_word(&steps->text, failure->task);
    rc = give(steps, CAIRN_STEP_REPLAY);
    buf_format(&steps->text, "cairn resume %llu", run);
    return rc ?: give(steps, CAIRN_STEP_REPLAY);
}

static int see_checkpoint(void *context,
                          const struct cairn_session_checkpoint_info *info)
{
    struct steps *steps = context;
    if (info->failure && info->failure->run)
        steps->rc = give_task(steps, info->failure);
    return 0;
}

static int note_checkpoint(void *context,
                           const struct cairn_session_checkpoint_info *info)
{
    *(struct cairn_checkpoint_info *)context = info->checkpoint;
    return 0;
}

/* ---- What was open ---- */

static const char *text_of(const struct cairn_item *item, const char *name)
{
    for (size_t i = 0; i < item->n_fields; i++)
        if (strcmp(item->fields[i].name, name) == 0)
            return item->fields[i].text;
    return "";
}

static int see_item(void *context, const struct cairn_item *item)
{
    struct steps *steps = context;
    if (item->has_confidence)
        buf_format(&steps->text, "%s was being tested (confidence %.2f): %s", item->id,
                   item->confidence, text_of(item, "statement"));
    else
        buf_format(&steps->text, "%s was open: %s", item->id, text_of(item, "text"));
    if (item->suggestion)
        buf_format(&steps->text, " (%s)", item->suggestion);
    steps->rc = give(steps, CAIRN_STEP_MANUAL);
    return steps->rc || steps->stopped;
}

static int give_open(struct steps *steps)
{
    struct cairn_item_filter testing = {.kind = "hypothesis",
                                        .field = "status",
                                        .value = "testing",
                                        .checkpoint = steps->id,
                                        .page = {.all = true, .oldest_first = true}};
    struct cairn_item_filter gaps = {.kind = "gap",
                                     .by_score = true,
                                     .checkpoint = steps->id,
                                     .page = {.limit = GAPS_SHOWN}};
    int rc = cairn_item_list(steps->store, NULL, &testing, see_item, steps, NULL,
                             steps->error);
    if (!rc && !steps->rc && !steps->stopped)
        rc = cairn_item_list(steps->store, NULL, &gaps, see_item, steps, NULL,
                             steps->error);
    return rc ? rc : steps->rc;
}

/* ---- All of them ---- */

/* What its row says is left out where that is damaged or lost. */
static int find_session(struct steps *steps, const struct cairn_checkpoint_info *info)
{
    char session[24];
    struct cairn_error why = {0};
    u64_text(info->session, session);
    int rc = info->session
                 ? cairn_session_get(steps->store, session, &steps->session, &why)
                 : 0;
    if (!rc || rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0;
    return error_set(steps->error, rc, "%s", why.text);
}

int cairn_session_steps(struct cairn_store *store, const char *checkpoint,
                        int (*each)(void *, const struct cairn_step *), void *context,
                        struct cairn_error *error)
{
    struct steps steps = {
        .store = store, .each = each, .context = context, .error = error};
    struct cairn_checkpoint_info info;
    int rc =
        cairn_session_checkpoint_get(store, checkpoint, note_checkpoint, &info, error);
    steps.id = info.id;
    if (!rc)
        rc = find_session(&steps, &info)
             ?: give_environment(&steps)
             ?: give_session(&steps)
             ?: cairn_session_checkpoint_get(store, checkpoint, see_checkpoint, &steps,
                                             error);
    if (!rc)
        rc = steps.rc;
    if (!rc)
        rc = give_open(&steps);
    buf_release(&steps.text);
    return rc;
}
