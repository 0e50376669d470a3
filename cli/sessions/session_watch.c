/* SPDX-License-Identifier: MIT */
/* cairn session watch. */
#include "cli/events/hooks.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <inttypes.h>

#define POLL_MS 250

struct watch {
    struct settings *settings;
    struct cairn_store *store; /* to read */
    char session[24];          /* its number: another one may become the current one */
    uint64_t turn;             /* the last one that was printed */
    uint64_t tried;            /* at this turn nothing more was to be stored */
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

/* What has not changed since the last checkpoint is not stored again: nor is it tried
 * again, before something is done. */
static int make_checkpoint(struct watch *watch, const char *trigger)
{
    struct cairn_capture capture = {.trigger = trigger};
    struct cairn_captured made = {0};
    struct cairn_store *writer = NULL;
    struct cairn_error error = {0};
    int status = session_store(watch->settings, STORE_WRITE, &writer);
    if (status == 0 &&
        cairn_session_checkpoint(writer, watch->session, &capture, &made, &error) != 0)
        status = report_error(&error);
    hooks_run_and_close(writer);
    if (status == 0 && !made.made)
        watch->tried = watch->turn + 1;
    return status;
}

static int make_due(struct watch *watch)
{
    int64_t scheduled = -1, significant = -1;
    struct cairn_error error = {0};
    int status = 0;
    if (cairn_session_due(watch->store, watch->session, &scheduled, &significant,
                          &watch->ended, &error) != 0)
        return report_error(&error);
    if (watch->tried == watch->turn + 1)
        return 0;
    if (scheduled == 0)
        status = make_checkpoint(watch, "scheduled");
    else if (significant == 0)
        status = make_checkpoint(watch, "significant-time");
    return status;
}

/* Of the new store other turns would have to be told. */
static int refuse_replaced(const struct watch *watch)
{
    return report_failure(
        EXIT_DAMAGED, cairn_code_name(CAIRN_EDAMAGED),
        "the store %s was removed, replaced or repaired: what is done "
        "from now on is not seen; begin again",
        cairn_store_path(watch->store));
}

/* Whether it has ended is read before its last events, and whether it was replaced
 * before anything is made in the new one. */
static int follow(struct watch *watch)
{
    struct cairn_error error = {0};
    for (;;) {
        bool current = cairn_store_is_current(watch->store);
        int status = current ? make_due(watch) : 0;
        if (status != 0)
            return status;
        if (cairn_session_events(watch->store, watch->session, watch->turn, print_event,
                                 watch, &error) != 0)
            return report_error(&error);
        out_flush();
        if (watch->ended || ui_output_lost())
            return 0;
        if (!current)
            return refuse_replaced(watch);
        sleep_ms(POLL_MS);
    }
}

static int begin(struct watch *watch, const char *session)
{
    struct cairn_session_info info;
    struct cairn_error error = {0};
    if (cairn_session_get(watch->store, session, &info, &error) != 0)
        return report_error(&error);
    snprintf(watch->session, sizeof watch->session, "%" PRIu64, info.session);
    watch->turn = watch->settings->number[OPT_AFTER];
    if (!watch->settings->given[OPT_AFTER] &&
        cairn_session_events(watch->store, watch->session, 0, skip_event, watch,
                             &error) != 0)
        return report_error(&error);
    return 0;
}

int command_session_watch(struct settings *settings)
{
    struct watch watch = {.settings = settings};
    const char *session = NULL;
    int status = session_operand(settings, &session);
    if (status == 0)
        status = session_store(settings, STORE_READ, &watch.store);
    if (status == 0)
        status = begin(&watch, session);
    if (status == 0)
        status = follow(&watch);
    hooks_run_and_close(watch.store);
    return status;
}
