/* SPDX-License-Identifier: MIT */
/* Running a command and recording it. */
#include "base/error.h"
#include "base/shell_word.h"
#include "base/utf8.h"
#include "session/commands/commands_int.h"
#include "session/outside/redaction.h"
#include "storage/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- The command as text ---- */

/* As it can be typed into a shell, but for secrets and the end of a very long one. */
static int quote_command(const struct redactor *redactor, const char *const *argv,
                         struct buf *out, struct cairn_error *error)
{
    enum { MOST = 16 << 10 };
    struct buf word = BUF_INIT, all = BUF_INIT;
    for (size_t i = 0; argv[i]; i++) {
        buf_clear(&word);
        add_clean(redactor, str_of(argv[i]), &word);
        if (i)
            buf_byte(&all, ' ');
        buf_shell_word(&all, buf_view(&word));
        all.failed |= word.failed;
    }
    struct str text = buf_view(&all);
    buf_str(out, (struct str){text.ptr, utf8_fit(text, MOST)});
    if (text.len > MOST)
        buf_text(out, " ...");
    out->failed |= all.failed;
    buf_release(&word);
    buf_release(&all);
    return buf_check(out, error);
}

static int add_directory(const struct redactor *redactor, struct buf *out,
                         struct cairn_error *error)
{
    char *directory = getcwd(NULL, 0);
    add_clean(redactor, str_of(directory ? directory : "(it was removed)"), out);
    free(directory);
    return buf_check(out, error);
}

/* ---- Recording it ---- */

struct item_value text_value(const struct buf *text)
{
    return (struct item_value){.present = text->size > 0, .text = buf_view(text)};
}

struct item_value count_value(uint64_t count)
{
    return (struct item_value){.present = true, .count = count};
}

struct item_value time_value(int64_t time_ns)
{
    return (struct item_value){.present = true, .time_ns = time_ns};
}

struct recording {
    struct redactor *redactor;
    struct buf command, directory;
    struct command_end end;
};

static struct item item_of(const struct recording *rec)
{
    const struct command_end *end = &rec->end;
    struct item item = {.id = {ITEM_COMMAND, 0}};
    item.values[COMMAND_TEXT] = text_value(&rec->command);
    item.values[COMMAND_DIRECTORY] = text_value(&rec->directory);
    item.values[COMMAND_EXIT] = count_value((uint64_t)end->exit_code);
    item.values[COMMAND_DURATION] = count_value((uint64_t)end->duration_ms);
    item.values[COMMAND_STDOUT] = text_value(&end->tails[0]);
    item.values[COMMAND_STDERR] =
        text_value(end->started ? &end->tails[1] : &end->failure);
    item.values[COMMAND_CREATED] = time_value(end->started_ns);
    return item;
}

static int put_command(struct live *live, struct item *item,
                       struct cairn_exec_result *result, struct cairn_error *error)
{
    struct board_changes changes = {0};
    struct checkpoint_ref made = {0};
    int rc = live_check_open(live, error);
    if (!rc)
        rc = live_load_board(live, error);
    if (!rc)
        rc = board_put(&live->board, item, live->now.utc_ns, &changes, error);
    if (!rc)
        rc = live_put_changes(live, &changes, true, error);
    if (!rc)
        rc = capture_automatic(live, &changes, NULL, &made, error);
    if (!rc && made.seq)
        checkpoint_id(NAMESPACE_DEBUG, made.seq, &made.digest, result->checkpoint);
    result->pruned = live->pruned;
    free(changes.at);
    return rc;
}

static int record_with(struct files_taken *files, struct cairn_store *store,
                       const char *session, const struct recording *rec,
                       struct cairn_exec_result *result, struct cairn_error *error)
{
    struct live live;
    struct item item = item_of(rec);
    int rc = live_write(&live, store, session, error);
    live.files = files;
    if (!rc)
        rc = put_command(&live, &item, result, error);
    rc = live_close(&live, rc, error);
    if (rc)
        result->checkpoint[0] = '\0';
    else
        item_id(item.id, result->id);
    return rc;
}

static int record(struct cairn_store *store, uint64_t session,
                  const struct recording *rec, struct cairn_exec_result *result,
                  struct cairn_error *error)
{
    struct files_taken files = {0};
    char number[24];
    int rc;
    snprintf(number, sizeof number, "%llu", (unsigned long long)session);
    do
        rc = record_with(&files, store, number, rec, result, error);
    while (files_wanted(&files, &rc, store, number, error));
    return files_end(&files, rc, store, error);
}

/* ---- Public ---- */

/* Which session it is is decided before the command, which may switch to another. */
static int prepare(struct cairn_store *store, const char *session,
                   const char *const *argv, struct recording *rec, uint64_t *number,
                   struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error);
    if (!rc)
        rc = live_check_open(&live, error);
    if (!rc)
        rc = live_redactor(&live, &rec->redactor, error);
    *number = live.row.session;
    rc = live_close(&live, rc, error);
    if (!rc)
        rc = quote_command(rec->redactor, argv, &rec->command, error);
    return rc ? rc : add_directory(rec->redactor, &rec->directory, error);
}

static int exec_and_record(struct cairn_store *store, uint64_t session,
                           const struct cairn_exec *exec, struct recording *rec,
                           struct cairn_exec_result *result, struct cairn_error *error)
{
    const struct command_job job = {.argv = exec->argv,
                                    .out = exec->out,
                                    .err = exec->err,
                                    .attached = true,
                                    .host = &exec->host,
                                    .redactor = rec->redactor};
    int rc = run_one_command(store, &job, &rec->end, error);
    if (rc)
        return rc;
    result->ran = rec->end.started;
    result->exit_code = rec->end.exit_code;
    result->duration_ms = rec->end.duration_ms;
    result->output_error = rec->end.output_error;
    if (!rec->end.started)
        snprintf(result->reason, sizeof result->reason, "%s", rec->end.failure.data);
    return record(store, session, rec, result, error);
}

int cairn_session_exec(struct cairn_store *store, const char *session,
                       const struct cairn_exec *exec, struct cairn_exec_result *result,
                       struct cairn_error *error)
{
    SIZE_CHECK("cairn_exec", exec, error);
    struct recording rec = {0};
    struct cairn_exec_result made = {0};
    uint64_t number = 0;
    bool held = false;
    if (!exec->argv || !exec->argv[0] || !exec->argv[0][0])
        return error_set(error, CAIRN_EUSAGE, "there is no command to run");
    if (store_read_only(store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    int rc = prepare(store, session, exec->argv, &rec, &number, error);
    if (!rc)
        rc = session_hold(store, number, &held, error);
    if (!rc)
        rc = exec_and_record(store, number, exec, &rec, &made, error);
    if (held)
        session_unhold(store, number);
    command_end_release(&rec.end);
    buf_release(&rec.command);
    buf_release(&rec.directory);
    redactor_free(rec.redactor);
    if (result)
        *result = made;
    return rc;
}
