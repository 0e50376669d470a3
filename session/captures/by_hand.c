/* SPDX-License-Identifier: MIT */
/* Checkpoints that somebody asks for, and those of tasks that failed. */
#include "session/session_int.h"
#include "storage/store.h"

static int begin_capture(struct live *live, struct cairn_store *store,
                         const char *session, struct files_taken *files,
                         struct cairn_error *error)
{
    files->in_transaction = true;
    int rc = files_take(files, store, session, error);
    if (!rc)
        rc = live_write(live, store, session, error);
    live->files = files;
    return rc ? rc : live_check_open(live, error);
}

/* Those that somebody may raise by hand. */
static int hand_trigger(const char *name, enum trigger *trigger,
                        struct cairn_error *error)
{
    *trigger = TRIGGER_MANUAL;
    int rc = name ? trigger_parse(str_of(name), trigger, error) : 0;
    if (rc)
        return rc;
    switch (*trigger) {
    case TRIGGER_MANUAL:
    case TRIGGER_SCHEDULED:
    case TRIGGER_CODE_MODIFIED:
    case TRIGGER_SIGNIFICANT_TIME:
    case TRIGGER_COMPACTION_WARNING:
    case TRIGGER_TOOL_CALL:
    case TRIGGER_FILES_SETTLED:
        return 0;
    default:
        return error_set(error, CAIRN_EUSAGE,
                         "the trigger %s belongs to what it is named after: it is not "
                         "raised by hand",
                         name);
    }
}

static int capture_by_hand(struct live *live, const struct cairn_capture *given,
                           struct captured *captured, struct cairn_error *error)
{
    struct capture capture = {.message = str_of(given->message ? given->message : "")};
    int rc = hand_trigger(given->trigger, &capture.trigger, error);
    if (!rc && capture.trigger == TRIGGER_MANUAL && !capture.message.len)
        rc = error_set(error, CAIRN_EUSAGE, "a checkpoint needs a message");
    if (!rc && given->n_tags > CHECKPOINT_TAGS_MOST)
        rc = error_set(error, CAIRN_EUSAGE, "a checkpoint has at most %d tags",
                       CHECKPOINT_TAGS_MOST);
    if (rc)
        return rc;
    struct str *tags = arena_take(&live->arena, given->n_tags, sizeof *tags);
    for (size_t i = 0; i < given->n_tags && tags; i++)
        tags[i] = str_of(given->tags[i]);
    capture.tags = tags;
    capture.n_tags = (uint32_t)given->n_tags;
    rc = given->n_tags && !tags ? error_nomem(error) : live_load_board(live, error);
    return rc ? rc : capture_state(live, &capture, captured, error);
}

int cairn_session_checkpoint(struct cairn_store *store, const char *session,
                             const struct cairn_capture *capture,
                             struct cairn_captured *captured, struct cairn_error *error)
{
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    int rc = begin_capture(&live, store, session, &files, error);
    if (!rc)
        rc = capture_by_hand(&live, capture, &made, error);
    return capture_end(&live, rc, &made, captured, error);
}

/* So that they are not stored with the environment. */
static int take_secrets(struct live *live, const struct cairn_task_failure *failure,
                        struct cairn_error *error)
{
    struct secret *given = arena_take(&live->arena, failure->n_secrets, sizeof *given);
    if (!given && failure->n_secrets)
        return error_nomem(error);
    for (size_t i = 0; i < failure->n_secrets; i++)
        given[i] = (struct secret){str_of(failure->secrets[i].name),
                                   str_of(failure->secrets[i].value)};
    live->given = given;
    live->n_given = failure->n_secrets;
    return 0;
}

static int capture_failure(struct live *live, const struct cairn_task_failure *failure,
                           struct captured *captured, struct cairn_error *error)
{
    size_t skip = failure->tail_bytes > CHECKPOINT_TAIL_BYTES
                      ? failure->tail_bytes - CHECKPOINT_TAIL_BYTES
                      : 0;
    struct task_link link = {.run = failure->run,
                             .seq = failure->checkpoint,
                             .task = str_of(failure->task),
                             .attempt = failure->attempt,
                             .end = failure->signal > 0      ? 1
                                    : failure->exit_code < 0 ? 2
                                                             : 0};
    link.code = (uint32_t)(link.end == 1   ? failure->signal
                           : link.end == 0 ? failure->exit_code
                                           : 0);
    if (failure->tail_bytes)
        link.tail = (struct str){failure->tail + skip, failure->tail_bytes - skip};
    struct buf message = BUF_INIT;
    buf_format(&message, "%s: %s (run %llu, attempt %u)",
               trigger_message(TRIGGER_TASK_FAILED), failure->task,
               (unsigned long long)failure->run, failure->attempt);
    int rc = buf_check(&message, error);
    struct capture capture = {
        .trigger = TRIGGER_TASK_FAILED, .message = buf_view(&message), .link = &link};
    if (!rc)
        rc = live_load_board(live, error);
    if (!rc)
        rc = capture_state(live, &capture, captured, error);
    buf_release(&message);
    return rc;
}

int cairn_session_task_failed(struct cairn_store *store, const char *session,
                              const struct cairn_task_failure *failure,
                              struct cairn_captured *captured,
                              struct cairn_error *error)
{
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    int rc = begin_capture(&live, store, session, &files, error);
    if (!rc)
        rc = take_secrets(&live, failure, error);
    if (!rc)
        rc = capture_failure(&live, failure, &made, error);
    return capture_end(&live, rc, &made, captured, error);
}
