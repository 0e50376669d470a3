/* SPDX-License-Identifier: MIT */
/* cairn session watch. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

struct watch {
    struct settings *settings;
    struct cairn_watch *files;
    char state[16];   /* of the files: the last one that was printed */
    char session[24]; /* its number: another one may become the current one */
    uint64_t turn;    /* the last one that was printed */
    uint64_t tried;   /* at this turn nothing more was to be stored */
    int64_t pause_ms; /* after the last one that could not be made, else 0 */
    bool ended;
};

static int print_event(void *context, const struct cairn_session_event *event)
{
    struct watch *watch = context;
    char when[FORMAT_MAX];
    struct doc doc;
    watch->turn = event->turn;
    if (!ui_json()) {
        out("%s  %5" PRIu64 "  %-13s  %s%s%s\n", format_local(when, event->time_ns),
            event->turn, event->verb, event->id,
            event->id[0] != '\0' && event->text[0] != '\0' ? "  " : "", event->text);
        return ui_output_lost();
    }
    doc_begin(&doc);
    doc_count(&doc, "turn", event->turn);
    doc_count(&doc, "n", event->n);
    doc_time(&doc, "time", event->time_ns);
    doc_text(&doc, "verb", event->verb);
    doc_text(&doc, "id", event->id[0] != '\0' ? event->id : NULL);
    doc_text(&doc, "text", event->text);
    doc_print(&doc);
    return ui_output_lost();
}

static int skip_event(void *context, const struct cairn_session_event *event)
{
    ((struct watch *)context)->turn = event->turn;
    return 0;
}

/* ---- Checkpoints ---- */

/* What passes, such as a full disk or a lock, is said, and it is due again after a
 * while. An exit status: damage ends it. */
static int report_try(int rc, const char *what, const struct cairn_error *error)
{
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENEWER)
        return report_error(error);
    ui_warn("%s, which is tried again: %s", what, error->text);
    return 0;
}

/* What they change is not an edit that makes the next checkpoint. A watch that fails
 * says so at its next step. */
static void run_hooks(const struct watch *watch, struct cairn_store *writer)
{
    (void)cairn_watch_hooks(watch->files, true, NULL);
    hooks_run_and_close(writer);
    (void)cairn_watch_hooks(watch->files, false, NULL);
}

static void wait_longer(struct watch *watch)
{
    const int64_t first_ms = 1000, most_ms = 300000;
    int64_t pause_ms = watch->pause_ms > 0 ? 2 * watch->pause_ms : first_ms;
    watch->pause_ms = pause_ms < most_ms ? pause_ms : most_ms;
    cairn_watch_wake(watch->files, watch->pause_ms);
}

static int open_writer(const struct watch *watch, struct cairn_store **writer,
                       struct cairn_error *error)
{
    const struct cairn_store_options options = {.path = store_path(watch->settings)};
    int rc = cairn_store_open(writer, &options, error);
    if (rc == 0)
        store_listen(*writer);
    return rc;
}

/* What has not changed since the last checkpoint is not stored again: nor is it tried
 * again, before something is done. */
static int make_checkpoint(struct watch *watch, const char *trigger)
{
    struct cairn_capture capture = {.trigger = trigger};
    struct cairn_captured made = {0};
    struct cairn_store *writer = NULL;
    struct cairn_error error = {0};
    int rc = open_writer(watch, &writer, &error)
                 ?: cairn_session_checkpoint(writer, watch->session, &capture, &made,
                                             &error);
    run_hooks(watch, writer);
    if (rc != 0) {
        wait_longer(watch);
        return report_try(rc, "the checkpoint was not made", &error);
    }
    watch->pause_ms = 0;
    if (!made.made)
        watch->tried = watch->turn + 1;
    return 0;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Those that time makes due; and when the next one will be. */
static int make_due(struct watch *watch)
{
    int64_t scheduled = -1, significant = -1;
    struct cairn_error error = {0};
    int status = 0;
    if (cairn_session_due(watch->settings->store, watch->session, &scheduled,
                          &significant, &watch->ended, &error) != 0)
        return report_error(&error);
    bool tried = watch->tried == watch->turn + 1;
    cairn_watch_wake(watch->files, tried ? -1 : sooner(scheduled, significant));
    if (tried)
        return 0;
    if (scheduled == 0)
        status = make_checkpoint(watch, "scheduled");
    else if (significant == 0)
        status = make_checkpoint(watch, "significant-time");
    return status;
}

static int store_files(struct watch *watch)
{
    struct cairn_store *writer = NULL;
    struct cairn_error error = {0};
    int rc = open_writer(watch, &writer, &error);
    if (rc == 0)
        rc = cairn_watch_checkpoint(watch->files, writer, NULL, &error);
    else
        cairn_watch_postpone(watch->files);
    run_hooks(watch, writer);
    return rc == 0 ? 0 : report_try(rc, "the files were not stored", &error);
}

/* ---- The files ---- */

static void tell_note(void *context, const struct cairn_watch_note *note)
{
    struct doc doc;
    (void)context;
    if (!ui_json()) {
        ui_warn("%s: %s", note->path, note->text);
        return;
    }
    doc_begin(&doc);
    doc_text(&doc, "watch", note->what);
    doc_text(&doc, "path", note->path);
    doc_text(&doc, "text", note->text);
    doc_print(&doc);
    out_flush();
}

static void tell_state(struct watch *watch, const struct cairn_watch_news *news)
{
    struct doc doc;
    if (strcmp(watch->state, news->state) == 0)
        return;
    snprintf(watch->state, sizeof watch->state, "%s", news->state);
    if (!ui_json()) {
        if (strcmp(news->state, "watched") == 0)
            say("cairn: %" PRIu64 " %s watched in %s", news->directories,
                news->directories == 1 ? "directory is" : "directories are",
                news->root);
        return;
    }
    doc_begin(&doc);
    doc_text(&doc, "watch", "state");
    doc_text(&doc, "state", news->state);
    doc_text(&doc, "path", news->root);
    doc_count(&doc, "directories", news->directories);
    doc_print(&doc);
}

/* ---- Following ---- */

/* The new store has other turns. */
static int refuse_replaced(const struct watch *watch)
{
    return report_failure(
        EXIT_DAMAGED, cairn_code_name(CAIRN_EDAMAGED),
        "the store %s was removed, replaced or repaired: what is done "
        "from now on is not seen; begin again",
        cairn_store_path(watch->settings->store));
}

/* Whether it was replaced is read before anything is made in the new one. */
static int make_checkpoints(struct watch *watch, const struct cairn_watch_news *news)
{
    if (news->files)
        watch->tried = 0; /* there is something to be stored */
    int status = make_due(watch);
    if (status == 0 && news->due && !watch->ended)
        status = store_files(watch);
    return status;
}

static void wait_for_news(const struct watch *watch)
{
    struct pollfd fd = {cairn_watch_descriptor(watch->files), POLLIN, 0};
    while (poll(&fd, 1, -1) < 0 && errno == EINTR)
        ;
}

/* Whether it has ended is read before its last events. */
static int follow(struct watch *watch)
{
    struct cairn_error error = {0};
    struct cairn_watch_news news = {0};
    for (;;) {
        bool current = cairn_store_is_current(watch->settings->store);
        int rc = cairn_watch_step(watch->files, &news, &error);
        if (rc != 0 && current)
            return report_error(&error);
        if (rc == 0)
            tell_state(watch, &news);
        int status = current ? make_checkpoints(watch, &news) : 0;
        if (status != 0)
            return status;
        if (cairn_session_events(watch->settings->store, watch->session, watch->turn,
                                 print_event, watch, &error) != 0)
            return report_error(&error);
        out_flush();
        if (watch->ended || ui_output_lost())
            return 0;
        if (!current)
            return refuse_replaced(watch);
        wait_for_news(watch);
    }
}

static int begin(struct watch *watch, const char *session)
{
    const struct cairn_watch_options options = {.note = tell_note, .context = watch};
    struct cairn_session_info info;
    struct cairn_error error = {0};
    if (cairn_session_get(watch->settings->store, session, &info, &error) != 0)
        return report_error(&error);
    u64_text(info.session, watch->session);
    watch->turn = watch->settings->number[OPT_AFTER];
    if (!watch->settings->given[OPT_AFTER] &&
        cairn_session_events(watch->settings->store, watch->session, 0, skip_event,
                             watch, &error) != 0)
        return report_error(&error);
    if (cairn_watch_open(&watch->files, watch->settings->store, watch->session,
                         &options, &error) != 0)
        return report_error(&error);
    /* Else each line that is printed would be an edit, and make a checkpoint. */
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        (void)cairn_watch_ignore(watch->files, fd, NULL);
    return 0;
}

int command_session_watch(struct settings *settings)
{
    struct watch watch = {.settings = settings};
    const char *session = NULL;
    if (settings->given[OPT_KEY]) /* or each checkpoint would be refused */
        return report_usage(settings->command, "sessions have no key: leave --key out");
    int status = session_operand(settings, &session)
                 ?: session_store(settings, STORE_READ)
                 ?: begin(&watch, session)
                 ?: follow(&watch);
    cairn_watch_close(watch.files);
    return status;
}
