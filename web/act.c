/* SPDX-License-Identifier: MIT */
#include "web/act.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/words.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/items.h"
#include "web/html.h"
#include "web/place.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NONCES = 64,
    NONCE_BYTES = 16,
    NONCE_MS = 15 * 60 * 1000,
    WORDS_MOST = 24,          /* of a command */
    LINES_MOST = 4,           /* of an act */
    FIELDS_MOST = 2,          /* of an action */
    PRINTED_SHOWN = 64 << 10, /* bytes of what a command has printed */
    UNDONE_NAMED = 100,
    CHECKS_SHOWN = 50,
};

/* What was shown once, and what it was about. */
struct preview {
    char nonce[2 * NONCE_BYTES + 1]; /* "": none */
    struct digest action, shown;
    int64_t made_ms;
};

struct acts {
    const char *const *words; /* [n] */
    size_t n;
    struct lastings lastings;        /* that go on */
    struct preview previews[NONCES]; /* the oldest is overwritten */
    size_t next;
};

struct acts *acts_new(const char *const *words, size_t n)
{
    struct acts *acts = calloc(1, sizeof *acts);
    if (acts) {
        acts->words = words;
        acts->n = n;
    }
    return acts;
}

const struct lastings *acts_lastings(const struct acts *acts)
{
    return &acts->lastings;
}

void acts_free(struct acts *acts)
{
    free(acts);
}

/* ---- The actions ---- */

/* What is filled in beside a preview, and becomes an option, or an operand. */
struct act_field {
    const char *name, *label;
    const char *option; /* NULL: an operand */
    bool lines;         /* each line is an option of its own; else one line */
};

static const struct act_field field_values = {
    "value", "Values for later tasks, a line each: NAME=VALUE", "output", true};
static const struct act_field field_token = {
    "token", "The token of the claim, if it was claimed", "token", false};
static const struct act_field field_reason = {"message", "The reason", "message",
                                              false};
static const struct act_field field_holder = {"holder", "Who does it", "holder", false};
static const struct act_field field_lease = {
    "lease", "For how long, such as 30m (otherwise 10 minutes)", "lease", false};
static const struct act_field field_name = {
    "name", "The name of the branch (otherwise the one that is shown)", "name", false};
static const struct act_field field_label = {
    "text", "The label: \"keep\" and \"broken\" have an effect", NULL, false};
static const struct act_field field_note = {"text", "The note", NULL, false};
static const struct act_field field_setting = {"value", "Its new value", NULL, false};
static const struct act_field field_about = {"text", "What it is for", NULL, false};
static const struct act_field field_tags = {"tag", "Tags, with commas between them",
                                            "tag", false};

enum { /* what an action is about */
       ON_RUN = 1,
       ON_TASK = 2,
       ON_OUTCOME = 4,
       ON_SESSION = 8,
       ON_CHECKPOINT = 16,
       ON_LABEL = 32,
       ON_SETTING = 128,
       ON_ITEM = 256,
       RUN_NAMED = 64,   /* the run is an option, not an operand */
       FROM_NAMED = 512, /* so is the checkpoint */
};

struct action {
    const char *name, *command; /* command: behind "cairn" */
    const char *label;          /* of its button */
    const char *option;         /* that it always has, or NULL */
    unsigned on;
    bool starts; /* a process that goes on */
    bool looks;  /* it has a --dry-run, and is about files */
    bool lasts;  /* it may take for long, and 1 is a result, too */
    const struct act_field *fields[FIELDS_MOST];
    const char *prints; /* what its output is, if that does not say so; or NULL */
    /* Appends what would happen. Not 0: it cannot be done, and `error` says why. */
    int (*show)(struct place *place, const struct act_asked *asked);
};

static int show_cancel(struct place *place, const struct act_asked *asked)
{
    struct cairn_run_info run;
    int rc = cairn_run_look(place->store, asked->run, &run, place->error);
    if (rc != 0)
        return rc;
    if (!run.live && run.state != CAIRN_RUN_UNFINISHED)
        return error_set(place->error, CAIRN_EUSAGE,
                         "Run %" PRIu64 " has ended: there is nothing to cancel.",
                         asked->run);
    if (run.live)
        buf_format(
            place->out,
            "<p>Process %" PRId64
            " is asked to stop, as by Ctrl-C: what runs is ended. The run can be "
            "resumed.</p>",
            run.owner_pid);
    else
        buf_text(place->out, "<p>No process works on this run: it is marked as "
                             "cancelled, and can still be resumed.</p>");
    return 0;
}

static int show_resume(struct place *place, const struct act_asked *asked)
{
    int rc = cairn_can_resume(place->store, asked->run, place->error);
    return rc ?: put_resume_plan(place, asked->run, asked->task, NULL);
}

static int note_outcome(void *context, const struct cairn_task_info *task)
{
    struct cairn_waiting_info *info = context;
    if (strcmp(task->id, info->task) != 0)
        return 0;
    info->check = task->outcome == CAIRN_UNKNOWN;
    return 1;
}

static int show_resolve(struct place *place, const struct act_asked *asked)
{
    static const char *const what[][2] = {
        {"done", "It counts as completed: what it declares as outputs must be there."},
        {"failed", "It counts as failed."},
        {"rerun", "It has done nothing: it runs again when the run is resumed."}};
    struct cairn_waiting_info info = {.task = asked->task};
    int rc =
        cairn_run_tasks(place->store, asked->run, note_outcome, &info, place->error);
    if (rc < 0)
        return rc;
    if (!info.check)
        return error_set(place->error, CAIRN_EUSAGE,
                         "The outcome of %.200s is not unknown.", asked->task);
    for (size_t i = 0; i < 3; i++)
        if (strcmp(what[i][0], asked->outcome) == 0) {
            buf_format(place->out, "<p>%s</p>", what[i][1]);
            return 0;
        }
    return error_set(place->error, CAIRN_EUSAGE, "There is no such outcome.");
}

struct waiting_step {
    struct place *place;
    const char *task;
    bool found;
};

static int put_step(void *context, const struct cairn_waiting_info *info)
{
    struct waiting_step *step = context;
    if (info->waits_for != CAIRN_WAITS_EXTERNAL || strcmp(info->task, step->task) != 0)
        return 0;
    step->found = true;
    buf_text(step->place->out, "<p>");
    html_text(step->place->out, info->task);
    put_waiting(step->place->out, info);
    buf_text(step->place->out, "</p>");
    return 1;
}

static int show_step(struct place *place, const struct act_asked *asked)
{
    struct waiting_step step = {place, asked->task, false};
    int rc = cairn_waiting(place->store, asked->run, put_step, &step, place->error);
    if (rc >= 0 && !step.found)
        return error_set(place->error, CAIRN_EUSAGE,
                         "%.200s does not wait for somebody to do it.", asked->task);
    return rc < 0 ? rc : 0;
}

/* Completed tasks that have an undo, as `cairn undo` takes them: the last one first. */
struct undoing {
    struct place *place;
    struct cairn_workflow *workflow;
    struct buf names;
    uint32_t n;
};

static int note_undo(void *context, const struct cairn_task_info *task)
{
    struct undoing *undoing = context;
    struct cairn_node_info node = {0};
    uint32_t at = cairn_workflow_find(undoing->workflow, task->id);
    if (task->outcome != CAIRN_COMPLETED ||
        cairn_workflow_node(undoing->workflow, at, &node) != 0 || !node.undo)
        return 0;
    if (undoing->n++ < UNDONE_NAMED) {
        buf_text(&undoing->names, undoing->n > 1 ? ", " : "");
        html_text(&undoing->names, task->id);
    }
    return 0;
}

static int show_undo(struct place *place, const struct act_asked *asked)
{
    struct cairn_run_info run;
    struct undoing undoing = {.place = place};
    bool from_file;
    int rc = cairn_run_look(place->store, asked->run, &run, place->error);
    if (rc == 0 && run.live)
        rc = error_set(place->error, CAIRN_EOWNED,
                       "Run %" PRIu64 " is at work: cancel it first, or wait.",
                       asked->run);
    if (rc == 0)
        rc = cairn_workflow_of_run(&undoing.workflow, place->store, asked->run,
                                   &from_file, place->error)
                 ?: cairn_workflow_compile(undoing.workflow, place->error)
                 ?: depend_on_workflow(place, undoing.workflow)
                 ?: cairn_run_tasks(place->store, asked->run, note_undo, &undoing,
                                    place->error);
    if (rc == 0 && undoing.n == 0)
        rc = error_set(place->error, CAIRN_EUSAGE,
                       "No completed task of run %" PRIu64 " has an undo.", asked->run);
    if (rc == 0) {
        buf_format(place->out,
                   "<p>The undo of %u completed task%s runs, one after the other, the "
                   "last one first: ",
                   undoing.n, plural(undoing.n));
        buf_str(place->out, buf_view(&undoing.names));
        if (undoing.n > UNDONE_NAMED)
            buf_format(place->out, " and %u more", undoing.n - UNDONE_NAMED);
        buf_text(place->out, ". They run again when the run is resumed.</p>");
    }
    place->out->failed |= undoing.names.failed;
    buf_release(&undoing.names);
    cairn_workflow_free(undoing.workflow);
    return rc;
}

static int get_session(struct place *place, const struct act_asked *asked,
                       struct cairn_session_info *info)
{
    char number[24];
    return cairn_session_get(place->store, u64_text(asked->session, number), info,
                             place->error);
}

static void put_session_named(struct place *place,
                              const struct cairn_session_info *info)
{
    buf_text(place->out, "<p>Session ");
    put_session_link(place->out, info->session, info->name);
    buf_text(place->out, "</p>");
}

static int show_create(struct place *place, const struct act_asked *asked)
{
    struct cairn_session_info info;
    int rc = get_session(place, asked, &info);
    if (rc == 0 && info.ended_ns != 0)
        rc = error_set(
            place->error, CAIRN_EUSAGE,
            "The session has ended: `cairn session continue` goes on with it.");
    if (rc == 0) {
        put_session_named(place, &info);
        buf_text(place->out, "<p>Its whole state is stored: the board, the messages, "
                             "and the files where the setting says so.</p>");
    }
    return rc;
}

static int show_prune(struct place *place, const struct act_asked *asked)
{
    struct cairn_session_info info;
    int rc = get_session(place, asked, &info);
    if (rc != 0)
        return rc;
    put_session_named(place, &info);
    buf_format(
        place->out,
        "<p>What its <a href=\"/sessions/%" PRIu64
        "/settings\">settings keep-...</a> do not keep is deleted, for good. "
        "Checkpoints that were made by hand stay, and those where a branch begins "
        "or ends.</p>",
        info.session);
    return 0;
}

/* ---- Checks ---- */

static const struct lasting *find_lasting(const struct lastings *lastings,
                                          uint64_t session, const char *item)
{
    for (size_t i = 0; i < LASTING; i++)
        if (lastings->at[i].session == session &&
            strcmp(lastings->at[i].item, item ? item : "") == 0)
            return &lastings->at[i];
    return NULL;
}

/* NULL: so many go on already. What has ended gives its place away. */
static struct lasting *begin_lasting(struct acts *acts, const struct act_asked *asked)
{
    struct lasting *list = acts->lastings.at, *at = NULL;
    const struct lasting *same =
        find_lasting(&acts->lastings, asked->session, asked->item);
    if (same)
        at = &list[same - list];
    for (size_t i = 0; !at && i < LASTING; i++)
        if (list[i].session == 0)
            at = &list[i];
    for (size_t i = 0; !at && i < LASTING; i++)
        if (list[i].ended)
            at = &list[i];
    if (!at)
        return NULL;
    *at = (struct lasting){.session = asked->session, .since_ns = wall_ns()};
    snprintf(at->item, sizeof at->item, "%s", asked->item ? asked->item : "");
    return at;
}

struct checks_shown {
    struct place *place;
    size_t n;
};

static int put_check(void *context, const struct cairn_item *item)
{
    struct checks_shown *checks = context;
    struct place *place = checks->place;
    static const struct {
        const char *name, *label;
    } fields[] = {{"text", "What it checks"}, {"command", "Its command"}};
    const struct cairn_field *timeout = item_field(item, "timeout_ms");
    const struct cairn_field *retries = item_field(item, "retries");
    char limit[FORMAT_MAX];
    const struct cairn_field *command = item_field(item, "command");
    buf_format(place->depends, "%s %s ", item->id, command ? command->text : "");
    if (++checks->n > CHECKS_SHOWN)
        return 0;
    buf_format(place->out, "<h3>%s</h3><dl class=\"facts\">", item->id);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct cairn_field *field = item_field(item, fields[i].name);
        fact_begin(place->out, fields[i].label);
        buf_text(place->out, i == 1 ? "<pre class=\"command\">" : "");
        if (field && field->text)
            html_lines(place->out, field->text, strlen(field->text));
        buf_text(place->out, i == 1 ? "</pre>" : "");
        fact_end(place->out);
    }
    fact_begin(place->out, "It may take");
    uint64_t again = retries ? retries->count : 0;
    buf_format(place->out,
               "%s each time; what does not pass is tried again %" PRIu64 " time%s",
               format_duration(limit, timeout ? (int64_t)timeout->count : 0), again,
               plural(again));
    fact_end(place->out);
    buf_text(place->out, "</dl>");
    return 0;
}

/* The commands that would run are shown whole: the preview depends on them. */
static int show_checks(struct place *place, const struct act_asked *asked)
{
    struct cairn_session_info info;
    struct checks_shown checks = {place, 0};
    struct cairn_item_filter filter = {.kind = "check",
                                       .page = {.all = true, .oldest_first = true}};
    char number[24], here[PATH_MAX];
    const struct lasting *going =
        find_lasting(place->options->lastings, asked->session, asked->item);
    int rc = get_session(place, asked, &info);
    if (rc == 0 && info.ended_ns != 0)
        rc = error_set(
            place->error, CAIRN_EUSAGE,
            "The session has ended: `cairn session continue` goes on with it.");
    if (rc == 0 && going && !going->ended)
        rc = error_set(place->error, CAIRN_EUSAGE,
                       "It runs already: the page of the session shows its end.");
    if (rc == 0 && asked->item && asked->item[0] != 'v')
        rc =
            error_set(place->error, CAIRN_EUSAGE, "%.60s is not a check.", asked->item);
    if (rc != 0)
        return rc;
    put_session_named(place, &info);
    buf_text(place->out, "<p>In the directory ");
    html_text(place->out, getcwd(here, sizeof here) ? here : "where cairn web runs");
    buf_text(place->out,
             " this runs by sh, one after the other, and what came of it "
             "is on the board then. What takes long goes on by itself.</p>");
    u64_text(asked->session, number);
    rc = asked->item ? cairn_item_get(place->store, number, asked->item, NULL,
                                      put_check, &checks, place->error)
                     : cairn_item_list(place->store, number, &filter, put_check,
                                       &checks, NULL, place->error);
    if (rc == 0 && checks.n == 0)
        rc = error_set(place->error, CAIRN_EUSAGE, "The session has no check.");
    if (checks.n > CHECKS_SHOWN)
        buf_format(place->out, "<p class=\"note\">and %zu more</p>",
                   checks.n - CHECKS_SHOWN);
    return rc;
}

struct setting_shown {
    struct buf *out;
    const char *name;
    bool found;
};

static int put_setting(void *context, const char *name, const char *value,
                       bool is_default)
{
    struct setting_shown *shown = context;
    if (strcmp(name, shown->name) != 0)
        return 0;
    shown->found = true;
    buf_text(shown->out, "<p>");
    html_text(shown->out, name);
    buf_text(shown->out, " is now ");
    html_start(shown->out, value, TEXT_SHOWN);
    buf_format(shown->out, "%s and would be what you fill in below. %s</p>",
               is_default ? ", the default," : "", setting_about(name));
    return 1;
}

static int show_setting(struct place *place, const struct act_asked *asked)
{
    struct cairn_session_info info;
    struct setting_shown shown = {place->out, asked->setting, false};
    char number[24];
    int rc = get_session(place, asked, &info);
    if (rc != 0)
        return rc;
    if (!page_sets(asked->setting))
        return error_set(place->error, CAIRN_EUSAGE,
                         "A page does not set %.100s: it says which commands run, or "
                         "what of this machine is stored. `cairn session config` sets "
                         "it.",
                         asked->setting);
    put_session_named(place, &info);
    rc = cairn_session_config(place->store, u64_text(asked->session, number),
                              put_setting, &shown, place->error);
    return rc >= 0 && !shown.found
               ? error_set(place->error, CAIRN_EUSAGE, "There is no such setting.")
           : rc < 0 ? rc
                    : 0;
}

static int get_checkpoint(struct place *place, const struct act_asked *asked,
                          struct cairn_checkpoint_info *info)
{
    char line[CHECKPOINT_LINE_MAX], number[24];
    int rc = cairn_checkpoint_get(place->store, u64_text(asked->checkpoint, number),
                                  info, place->error);
    if (rc != 0)
        return rc;
    buf_text(place->out, "<p>Checkpoint ");
    put_checkpoint_link(place->out, info->id);
    buf_text(place->out, " ");
    html_time(place->out, info->time_ns);
    buf_text(place->out, " ");
    html_text(place->out, checkpoint_line(line, info));
    buf_text(place->out, "</p>");
    return 0;
}

static int show_checkpoint(struct place *place, const struct act_asked *asked)
{
    struct cairn_checkpoint_info info;
    int rc = get_checkpoint(place, asked, &info);
    if (rc == 0)
        put_labels(place, info.id);
    return rc;
}

/* What a new run that begins there would do. */
static int show_from(struct place *place, const struct act_asked *asked)
{
    struct cairn_checkpoint_info info;
    int rc = get_checkpoint(place, asked, &info);
    if (rc == 0 && info.namespace_id == CAIRN_NAMESPACE_DEBUG)
        rc =
            error_set(place->error, CAIRN_EUSAGE,
                      "%s is a checkpoint of a session: no run begins there.", info.id);
    return rc ?: put_resume_plan(place, info.run, NULL, info.id);
}

/* The board as it would be, against how it is. */
static int show_restore(struct place *place, const struct act_asked *asked)
{
    struct cairn_checkpoint_info info;
    struct cairn_session_info session;
    struct cairn_board_summary summary = {0};
    char number[24];
    int rc = get_session(place, asked, &session);
    if (rc == 0)
        put_session_named(place, &session);
    if (rc == 0)
        rc = get_checkpoint(place, asked, &info);
    if (rc != 0)
        return rc;
    buf_text(place->out, "<h3>On the board</h3>");
    size_t empty = place->out->size;
    rc = put_board_changes(place, u64_text(asked->session, number), NULL, info.id,
                           &summary);
    if (place->out->size == empty)
        put_note(place->out, "Nothing changes.");
    return rc;
}

static const struct action actions[] = {{.name = "resume",
                                         .command = "resume",
                                         .label = "Resume",
                                         .on = ON_RUN,
                                         .starts = true,
                                         .show = show_resume},
                                        {.name = "rerun",
                                         .command = "rerun",
                                         .label = "Run again",
                                         .on = ON_RUN | ON_TASK | RUN_NAMED,
                                         .starts = true,
                                         .show = show_resume},
                                        {.name = "from",
                                         .command = "resume",
                                         .label = "Start a run from",
                                         .on = ON_CHECKPOINT | FROM_NAMED,
                                         .starts = true,
                                         .show = show_from},
                                        {.name = "cancel",
                                         .command = "cancel",
                                         .label = "Cancel",
                                         .on = ON_RUN,
                                         .show = show_cancel},
                                        {.name = "undo",
                                         .command = "undo",
                                         .label = "Undo",
                                         .on = ON_RUN,
                                         .starts = true,
                                         .show = show_undo},
                                        {.name = "resolve",
                                         .command = "resolve",
                                         .label = "Decide",
                                         .on = ON_RUN | ON_TASK | ON_OUTCOME,
                                         .show = show_resolve},
                                        {.name = "claim",
                                         .command = "claim",
                                         .label = "Claim",
                                         .on = ON_RUN | ON_TASK,
                                         .fields = {&field_holder, &field_lease},
                                         .prints = "The token of the claim, with "
                                                   "which it is completed or failed:",
                                         .show = show_step},
                                        {.name = "complete",
                                         .command = "complete",
                                         .label = "Complete",
                                         .on = ON_RUN | ON_TASK,
                                         .fields = {&field_values, &field_token},
                                         .show = show_step},
                                        {.name = "fail",
                                         .command = "fail",
                                         .label = "Fail",
                                         .on = ON_RUN | ON_TASK,
                                         .fields = {&field_reason, &field_token},
                                         .show = show_step},
                                        {.name = "restore",
                                         .command = "checkpoint restore",
                                         .label = "Restore",
                                         .option = "--yes",
                                         .on = ON_SESSION | ON_CHECKPOINT,
                                         .looks = true,
                                         .show = show_restore},
                                        {.name = "fork",
                                         .command = "checkpoint fork",
                                         .label = "Fork",
                                         .on = ON_SESSION | ON_CHECKPOINT,
                                         .looks = true,
                                         .fields = {&field_name},
                                         .show = show_restore},
                                        {.name = "undo-restore",
                                         .command = "checkpoint undo-restore",
                                         .label = "Undo the last restore",
                                         .option = "--yes",
                                         .on = ON_SESSION,
                                         .looks = true,
                                         .show = show_restore},
                                        {.name = "redo-restore",
                                         .command = "checkpoint redo-restore",
                                         .label = "Redo the last restore",
                                         .option = "--yes",
                                         .on = ON_SESSION,
                                         .looks = true,
                                         .show = show_restore},
                                        {.name = "create",
                                         .command = "checkpoint create",
                                         .label = "Create a checkpoint",
                                         .on = ON_SESSION,
                                         .fields = {&field_about, &field_tags},
                                         .show = show_create},
                                        {.name = "prune",
                                         .command = "checkpoint prune",
                                         .label = "Delete old checkpoints",
                                         .on = ON_SESSION,
                                         .looks = true,
                                         .show = show_prune},
                                        {.name = "check",
                                         .command = "check run",
                                         .label = "Run check",
                                         .on = ON_SESSION | ON_ITEM,
                                         .lasts = true,
                                         .show = show_checks},
                                        {.name = "check-all",
                                         .command = "check run",
                                         .label = "Run all checks",
                                         .option = "--all",
                                         .on = ON_SESSION,
                                         .lasts = true,
                                         .show = show_checks},
                                        {.name = "set",
                                         .command = "session config",
                                         .label = "Set",
                                         .on = ON_SESSION | ON_SETTING,
                                         .fields = {&field_setting},
                                         .show = show_setting},
                                        {.name = "label",
                                         .command = "checkpoint label",
                                         .label = "Label",
                                         .on = ON_CHECKPOINT,
                                         .fields = {&field_label},
                                         .show = show_checkpoint},
                                        {.name = "unlabel",
                                         .command = "checkpoint label",
                                         .label = "Remove the label",
                                         .option = "--remove",
                                         .on = ON_CHECKPOINT | ON_LABEL,
                                         .show = show_checkpoint},
                                        {.name = "note",
                                         .command = "checkpoint note",
                                         .label = "Add a note to",
                                         .on = ON_CHECKPOINT,
                                         .fields = {&field_note},
                                         .show = show_checkpoint}};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(actions); i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

/* ---- Commands ---- */

struct line {
    const char *argv[WORDS_MOST + 1]; /* ended by NULL; those from `own` on are heap */
    size_t n, own;
    struct buf shown;    /* as somebody types it, ended by a NUL */
    bool dashes;         /* it has "--" there */
    bool starts, failed; /* failed: out of memory, or too many words */
};

/* What a form asks for. */
struct act {
    struct acts *acts;
    const struct action *action;
    struct act_asked asked;   /* its texts are heap */
    char *typed[FIELDS_MOST]; /* heap; NULL: was not there */
    char *nonce;              /* heap; NULL: a preview is wanted */
    struct lasting *lasting;  /* while its command goes on, of those that may last */
    struct line lines[LINES_MOST];
    size_t at;             /* which of the lines; the last one does it */
    char id[CAIRN_ID_MAX]; /* whose state it takes up, where the form has no number */
    struct buf seen;       /* what those before it have printed, as HTML ... */
    struct buf hashed;     /* ... and what of that counts */
};

static void release_line(struct line *line)
{
    for (size_t i = line->own; i < line->n; i++)
        free((void *)(uintptr_t)line->argv[i]);
    buf_release(&line->shown);
}

void act_free(struct act *act)
{
    if (!act)
        return;
    for (size_t i = 0; i < LINES_MOST; i++)
        release_line(&act->lines[i]);
    free((char *)(uintptr_t)act->asked.task);
    free((char *)(uintptr_t)act->asked.outcome);
    free((char *)(uintptr_t)act->asked.label);
    free((char *)(uintptr_t)act->asked.setting);
    free((char *)(uintptr_t)act->asked.item);
    if (act->lasting && !act->lasting->ended)
        act->lasting->session = 0;
    for (size_t i = 0; i < FIELDS_MOST; i++)
        free(act->typed[i]);
    free(act->nonce);
    buf_release(&act->seen);
    buf_release(&act->hashed);
    free(act);
}

struct act_line act_line(const struct act *act)
{
    const struct line *line = &act->lines[act->at];
    bool lasts = act->action->lasts;
    return (struct act_line){
        line->argv,    line->shown.data, line->starts, act->at < LINES_MOST - 1,
        !line->starts, lasts ? 1 : 0,    lasts};
}

/* Takes the word over; NULL: out of memory. */
static void take_word(struct line *line, char *word)
{
    line->failed |= !word || line->n == WORDS_MOST;
    if (!line->failed)
        line->argv[line->n++] = word;
    else
        free(word);
}

/* A word that is shown, too, in quotes where a shell needs them. */
static void add_word(struct line *line, const char *text)
{
    char *word = shell_word(text);
    buf_format(&line->shown, " %s", word ? word : "");
    line->failed |= !word;
    free(word);
    take_word(line, strdup(text));
}

static void add_option(struct line *line, const char *name, const char *value)
{
    char *text = NULL, *word = shell_word(value);
    if (asprintf(&text, "--%s=%s", name, value) < 0)
        text = NULL;
    take_word(line, text);
    buf_format(&line->shown, " --%s %s", name, word ? word : "");
    line->failed |= !word;
    free(word);
}

/* Operands are to be taken as they are, whatever they begin with. */
static void end_options(struct line *line)
{
    take_word(line, strdup("--"));
}

static void add_operand(struct line *line, const char *text)
{
    if (!line->dashes)
        buf_text(&line->shown, operand_dashes(text));
    line->dashes |= operand_dashes(text)[0] != '\0';
    add_word(line, text);
}

/* A line of what was typed, or all of it, is an option. */
static void add_typed_options(struct line *line, const struct act *act)
{
    for (size_t i = 0; i < FIELDS_MOST && act->action->fields[i]; i++) {
        const struct act_field *field = act->action->fields[i];
        char *text = act->typed[i] ? strdup(act->typed[i]) : NULL, *rest = text, *at;
        line->failed |= act->typed[i] && !text;
        while (field->option && (at = strsep(&rest, field->lines ? "\r\n" : "")))
            if (at[0] != '\0')
                add_option(line, field->option, at);
        free(text);
    }
}

static void add_typed_operands(struct line *line, const struct act *act)
{
    for (size_t i = 0; i < FIELDS_MOST && act->action->fields[i]; i++)
        if (!act->action->fields[i]->option && act->typed[i])
            add_operand(line, act->typed[i]);
}

static void begin_line(struct act *act, struct line *line, const char *command)
{
    char words[64], *rest = words, *at;
    memcpy(line->argv, act->acts->words, act->acts->n * sizeof *act->acts->words);
    line->n = line->own = act->acts->n;
    buf_text(&line->shown, "cairn");
    snprintf(words, sizeof words, "%s", command);
    while ((at = strsep(&rest, " ")))
        add_word(line, at);
}

static void end_line(struct line *line)
{
    buf_byte(&line->shown, 0);
    line->failed |= line->shown.failed;
}

static void add_session(struct line *line, const struct act_asked *asked)
{
    char number[24];
    if (asked->session != 0)
        add_option(line, "session", u64_text(asked->session, number));
}

/* `dry`: without what is typed, which would only be shown. */
static void make_line(struct act *act, struct line *line, bool dry)
{
    const struct action *action = act->action;
    const struct act_asked *asked = &act->asked;
    char run[24], checkpoint[24];
    begin_line(act, line, action->command);
    line->starts = action->starts && !dry;
    if (line->starts)
        take_word(line, strdup("--json"));
    if (action->option && !dry)
        add_word(line, action->option);
    if (dry)
        add_word(line, "--dry-run");
    if (action->on & RUN_NAMED)
        add_option(line, "run", u64_text(asked->run, run));
    if (action->on & FROM_NAMED)
        add_option(line, "from", u64_text(asked->checkpoint, checkpoint));
    add_session(line, asked);
    if (!dry)
        add_typed_options(line, act);
    end_options(line);
    const char *const operands[] = {
        action->on & ON_RUN && !(action->on & RUN_NAMED) ? u64_text(asked->run, run)
                                                         : NULL,
        action->on & ON_CHECKPOINT && !(action->on & FROM_NAMED)
            ? u64_text(asked->checkpoint, checkpoint)
            : NULL,
        asked->task,
        asked->outcome,
        asked->label,
        asked->setting,
        asked->item};
    for (size_t i = 0; i < COUNT_OF(operands); i++)
        if (operands[i])
            add_operand(line, operands[i]);
    if (!dry)
        add_typed_operands(line, act);
    end_line(line);
}

/* The files that differ between the checkpoint and now: what is shown, and then what
 * tells whether it is still the same. */
static void make_files_line(struct act *act, struct line *line, const char *form,
                            const char *id)
{
    begin_line(act, line, "checkpoint diff");
    add_word(line, form);
    add_session(line, &act->asked);
    end_options(line);
    add_word(line, id);
    end_line(line);
}

/* ---- Previews ---- */

static struct digest digest_of(const char *bytes, size_t n)
{
    struct digest digest = {{0}};
    (void)sha256_of(bytes, n, &digest, NULL);
    return digest;
}

static struct digest digest_action(const struct act_asked *asked)
{
    struct buf text = BUF_INIT;
    buf_format(&text, "%s %" PRIu64 " %" PRIu64 " %" PRIu64, asked->act, asked->run,
               asked->session, asked->checkpoint);
    const char *const more[] = {asked->task, asked->outcome, asked->label,
                                asked->setting, asked->item};
    for (size_t i = 0; i < COUNT_OF(more); i++)
        if (more[i])
            buf_add(&text, more[i], strlen(more[i]) + 1);
        else
            buf_byte(&text, 1);
    struct digest digest = digest_of(text.data, text.size);
    buf_release(&text);
    return digest;
}

/* That of the nonce, which does not count any more; NULL: there is none. */
static struct preview *use_nonce(struct acts *acts, const char *nonce,
                                 const struct act_asked *asked)
{
    struct digest action = digest_action(asked);
    for (size_t i = 0; nonce && nonce[0] && i < NONCES; i++) {
        struct preview *at = &acts->previews[i];
        if (strcmp(at->nonce, nonce) != 0)
            continue;
        at->nonce[0] = '\0';
        return now_ms() - at->made_ms < NONCE_MS && digest_equal(&at->action, &action)
                   ? at
                   : NULL;
    }
    return NULL;
}

static const char *give_nonce(struct acts *acts, const struct act_asked *asked,
                              const struct digest *shown)
{
    struct preview *at = &acts->previews[acts->next++ % NONCES];
    if (random_hex(at->nonce, NONCE_BYTES, NULL) != 0)
        return NULL;
    at->action = digest_action(asked);
    at->shown = *shown;
    at->made_ms = now_ms();
    return at->nonce;
}

static void put_fields(struct buf *out, const struct act *act)
{
    for (size_t i = 0; i < FIELDS_MOST && act->action->fields[i]; i++) {
        const struct act_field *field = act->action->fields[i];
        const char *typed = act->typed[i] ? act->typed[i] : "";
        buf_text(out, "<p><label>");
        html_text(out, field->label);
        buf_format(out,
                   field->lines ? "<br><textarea name=\"%s\" rows=\"3\">"
                                : "<br><input type=\"text\" name=\"%s\" value=\"",
                   field->name);
        for (const char *at = typed; field->lines && *at; at++) {
            size_t n = strcspn(at, "\r");
            html_lines(out, at, n);
            at += n - (at[n] == '\0');
        }
        html_text(out, field->lines ? "" : typed);
        buf_text(out, field->lines ? "</textarea></label></p>" : "\"></label></p>");
    }
}

/* What was typed and did not come to anything is not lost. */
static void put_typed(struct place *place, const struct act *act)
{
    bool any = false;
    for (size_t i = 0; i < FIELDS_MOST; i++)
        any |= act->typed[i] && act->typed[i][0] != '\0';
    if (!any)
        return;
    act_form_begin(place->out, place->options, &act->asked);
    put_fields(place->out, act);
    buf_text(place->out, "<p><button>Look again...</button></p></form>");
}

/* What the action is about, as a link. */
static void put_subject(struct place *place, const struct act_asked *asked)
{
    if (asked->checkpoint != 0)
        buf_format(place->out,
                   "<a href=\"/checkpoints/%" PRIu64 "\">checkpoint %" PRIu64 "</a>",
                   asked->checkpoint, asked->checkpoint);
    else if (asked->item) {
        buf_format(place->out,
                   "<a href=\"/sessions/%" PRIu64 "/item?id=", asked->session);
        html_address(place->out, asked->item);
        buf_text(place->out, "\">check ");
        html_text(place->out, asked->item);
        buf_format(place->out,
                   "</a> of <a href=\"/sessions/%" PRIu64 "\">session %" PRIu64 "</a>",
                   asked->session, asked->session);
    } else if (asked->session != 0)
        buf_format(place->out,
                   "<a href=\"/sessions/%" PRIu64 "%s\">%ssession %" PRIu64 "</a>",
                   asked->session, asked->setting ? "/settings" : "",
                   asked->setting ? "settings of " : "", asked->session);
    else
        put_run_link(place->out, place->options, asked->run);
}

/* "Restore checkpoint 42", "Decide a: done". */
static void put_words(struct place *place, const struct act *act)
{
    const struct act_asked *asked = &act->asked;
    const char *const more[] = {asked->label, asked->setting, asked->task,
                                asked->outcome, asked->item};
    buf_text(place->out, act->action->label);
    for (size_t i = 0; i < COUNT_OF(more); i++)
        if (more[i]) {
            buf_text(place->out, i == 3 ? ": " : " ");
            html_text(place->out, more[i]);
        }
    if (asked->checkpoint != 0)
        buf_format(place->out, " %s %" PRIu64,
                   asked->label ? "of checkpoint" : "checkpoint", asked->checkpoint);
    else if (asked->session != 0)
        buf_format(place->out, " of session %" PRIu64, asked->session);
}

/* `before` (may be NULL) stands before what was to be done. */
static void put_title(struct place *place, const struct act *act, const char *title,
                      const char *before)
{
    place_begin(place, title, false);
    buf_text(place->out, "<header><h1>");
    if (before)
        buf_format(place->out, "%s: ", before);
    put_words(place, act);
    if (act->asked.run != 0) {
        buf_text(place->out, " <small>");
        put_subject(place, &act->asked);
        buf_text(place->out, "</small>");
    }
    buf_text(place->out, "</h1></header>");
}

static const struct line *deed_of(const struct act *act)
{
    return &act->lines[LINES_MOST - 1];
}

/* What a nonce is good for: what was shown; as long as no process works on the run,
 * which goes on all the time, how far the run has come; and how far the session. */
static struct digest digest_shown(struct place *place, const struct act *act,
                                  const struct buf *shown)
{
    struct buf text = BUF_INIT;
    struct cairn_run_info run = {0};
    struct cairn_session_info session = {0};
    struct cairn_error none = {0};
    char number[24];
    buf_str(&text, buf_view(shown));
    buf_str(&text, buf_view(&act->hashed));
    if (act->asked.run != 0 &&
        cairn_run_look(place->store, act->asked.run, &run, &none) == 0)
        buf_format(&text, " %d %d %" PRIu64 " %" PRId64, run.live, (int)run.state,
                   run.live ? 0 : run.checkpoint, run.ended_ns);
    if (act->asked.session != 0 &&
        cairn_session_get(place->store, u64_text(act->asked.session, number), &session,
                          &none) == 0)
        buf_format(&text, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64,
                   session.checkpoints, session.branches, session.items,
                   session.messages_stored, session.ended_ns);
    struct digest digest = digest_of(text.data, text.size);
    place->out->failed |= text.failed;
    buf_release(&text);
    return digest;
}

static void put_preview(struct place *place, struct act *act, const struct buf *shown,
                        const char *note)
{
    struct digest digest = digest_shown(place, act, shown);
    const char *nonce = give_nonce(act->acts, &act->asked, &digest);
    place->out->failed |= !nonce;
    if (!nonce)
        return;
    put_title(place, act, act->action->label, NULL);
    if (note)
        buf_format(place->out, "<p class=\"warning\">%s</p>", note);
    buf_text(place->out, "<h2>What would happen</h2>");
    buf_str(place->out, buf_view(shown));
    buf_str(place->out, buf_view(&act->seen));
    act_form_begin(place->out, place->options, &act->asked);
    put_hidden(place->out, "nonce", nonce);
    put_fields(place->out, act);
    buf_text(place->out, "<p>The command: ");
    put_command(place->out, place->options, "%s", deed_of(act)->shown.data);
    buf_text(place->out, "</p><p><button>");
    put_words(place, act);
    buf_text(place->out, "</button> Or back, without doing it: ");
    put_subject(place, &act->asked);
    buf_text(place->out, "</p></form>");
    frame_end(place->out, place->options, wall_ns());
}

static void put_printed(struct buf *out, const char *text)
{
    size_t n = strlen(text);
    if (n == 0)
        return;
    buf_text(out, "<pre>");
    html_lines(out, text, n < PRINTED_SHOWN ? n : text_fit(text, PRINTED_SHOWN));
    buf_text(out, "</pre>");
    if (n >= PRINTED_SHOWN)
        put_note(out, "There is more: the command shows all of it.");
}

static void put_refused(struct place *place, const struct act *act, const char *why)
{
    place->answer->status = 409;
    put_title(place, act, act->action->label, NULL);
    buf_text(place->out, "<p class=\"warning\">It cannot be done.</p>");
    put_printed(place->out, why);
    put_typed(place, act);
    frame_end(place->out, place->options, wall_ns());
}

/* When all has been looked at: whether it is to be done now; else it is answered. */
static bool decide(struct place *place, struct act *act)
{
    struct buf *out = place->out, shown = BUF_INIT;
    const char *note = NULL;
    bool done = false;
    struct preview *seen = use_nonce(act->acts, act->nonce, &act->asked);
    struct act_asked about = act->asked;
    const char *number = strchr(act->id, ':');
    if (number)
        about.checkpoint = strtoull(number + 1, NULL, 10);
    place->out = &shown;
    place->depends = &act->hashed;
    if (about.session != 0 && put_unfinished_restores(place, about.session))
        put_note(&shown, "This command would finish it first.");
    int rc = act->action->show(place, &about);
    place->out = out;
    out->failed |= shown.failed | act->seen.failed | act->hashed.failed;
    struct digest digest = digest_shown(place, act, &shown);
    if (act->nonce && !seen)
        note = "This was done already, or waited for too long. Nothing was done now: "
               "this is how it is.";
    else if (act->nonce && rc == 0 && !digest_equal(&seen->shown, &digest))
        note = "Things have changed since you looked. Nothing was done: this is how it "
               "is now.";
    place->answer->status = note ? 409 : 200;
    if (rc != 0) {
        put_refused(place, act, place->error->text);
    } else if (!act->nonce || note) {
        put_preview(place, act, &shown, note);
    } else {
        act->at = LINES_MOST - 1;
        act->lasting =
            act->action->lasts ? begin_lasting(act->acts, &act->asked) : NULL;
        done = act->lasting || !act->action->lasts;
        if (!done)
            put_refused(place, act, "Too many go on already: wait for one of them.");
    }
    buf_release(&shown);
    return done;
}

/* ---- What is asked for ---- */

/* Whether the form has all that the action is about. */
static bool take_asked(struct act *act, const struct page_ask *ask)
{
    const struct {
        unsigned on;
        const char *name, **text;
    } texts[] = {{ON_TASK, "task", &act->asked.task},
                 {ON_OUTCOME, "outcome", &act->asked.outcome},
                 {ON_LABEL, "label", &act->asked.label},
                 {ON_SETTING, "setting", &act->asked.setting},
                 {ON_ITEM, "item", &act->asked.item}};
    unsigned on = act->action->on;
    bool all = true;
    act->asked.act = act->action->name;
    act->asked.run = on & ON_RUN ? ask_number(ask, "run") : 0;
    act->asked.session = on & ON_SESSION ? ask_number(ask, "session") : 0;
    act->asked.checkpoint = on & ON_CHECKPOINT ? ask_number(ask, "checkpoint") : 0;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (on & texts[i].on) {
            *texts[i].text = ask_text(ask, texts[i].name);
            all = all && *texts[i].text;
        }
    return all && (act->asked.run != 0 || !(on & ON_RUN)) &&
           (act->asked.session != 0 || !(on & ON_SESSION)) &&
           (act->asked.checkpoint != 0 || !(on & ON_CHECKPOINT));
}

static struct place place_of(struct cairn_store *store,
                             const struct page_options *options,
                             struct page_answer *answer, struct cairn_error *error)
{
    answer->type = "text/html; charset=utf-8";
    return (struct place){&answer->body, store, options, NULL, answer,
                          error,         0,     0,       NULL, false};
}

struct act *act_take(struct acts *acts, struct cairn_store *store,
                     const struct page_options *options, const struct page_ask *ask,
                     struct page_answer *answer)
{
    struct cairn_error error = {0};
    struct act *act = calloc(1, sizeof *act);
    char *name = ask_text(ask, "act");
    struct place place = place_of(store, options, answer, &error);
    const struct action *action = find_action(name);
    bool goes_on = false;
    free(name);
    if (act) {
        act->acts = acts;
        act->action = action;
        act->nonce = ask_text(ask, "nonce");
    }
    if (!act || !action || !take_asked(act, ask)) {
        pages_problem(options, act ? 400 : 500,
                      act ? "This form does not say what is to be done."
                          : "out of memory",
                      answer);
        act_free(act);
        return NULL;
    }
    struct line *deed = &act->lines[LINES_MOST - 1];
    for (size_t i = 0; i < FIELDS_MOST && action->fields[i]; i++) {
        act->typed[i] = ask_text(ask, action->fields[i]->name);
        if (act->typed[i] || !ask_given(ask, action->fields[i]->name))
            continue;
        pages_problem(options, 400,
                      "What was typed has a NUL, or is not encoded as a form is.",
                      answer);
        act_free(act);
        return NULL;
    }
    make_line(act, deed, false);
    if (action->looks)
        make_line(act, &act->lines[0], true);
    if (deed->failed || act->lines[0].failed)
        put_refused(&place, act, "There are too many values, or there is no memory.");
    else
        goes_on = action->looks || decide(&place, act);
    if (goes_on)
        return act;
    act_free(act);
    return NULL;
}

/* ---- What came of it ---- */

static void put_line(struct buf *out, const struct page_options *options,
                     const struct line *line)
{
    buf_text(out, "<p>");
    put_command(out, options, "%s", line->shown.data);
    buf_text(out, "</p>");
}

/* The checkpoint whose state the command would take up, which it names first. */
static bool restored_id(const char *printed, char id[CAIRN_ID_MAX])
{
    static const char begin[] = "restored  ";
    size_t n = sizeof begin - 1;
    size_t length = strncmp(printed, begin, n) == 0 ? strcspn(printed + n, ",\n") : 0;
    if (length == 0 || length >= CAIRN_ID_MAX)
        return false;
    memcpy(id, printed + n, length);
    id[length] = '\0';
    return true;
}

/* After a command that looks: whether there is another one. */
static bool take_look(struct act *act, const struct page_options *options,
                      const struct act_came *came)
{
    static const char *const forms[] = {"--stat", "--patch"};
    const char *text = came->problem ? came->problem : came->printed;
    char id[CAIRN_ID_MAX];
    if (act->at == 0)
        put_line(&act->seen, options, &act->lines[0]);
    else if (act->at == 1 && text[0] != '\0')
        buf_text(&act->seen, "<h3>Files: lines that go, lines that come</h3>");
    if (act->at < 2) {
        put_printed(&act->seen, text);
        put_printed(&act->seen, came->problem ? "" : came->err);
    }
    buf_text(&act->hashed, text);
    buf_text(&act->hashed, came->err);
    if (act->at == 2)
        return false;
    if (act->asked.checkpoint != 0)
        u64_text(act->asked.checkpoint, id);
    else if (act->at == 0 && !restored_id(came->printed, act->id))
        return false;
    else
        memcpy(id, act->id, sizeof id);
    act->at++;
    make_files_line(act, &act->lines[act->at], forms[act->at - 1], id);
    return !act->lines[act->at].failed;
}

void act_lasts(const struct act *act, struct cairn_store *store,
               const struct page_options *options, struct page_answer *answer)
{
    struct cairn_error error = {0};
    struct place place = place_of(store, options, answer, &error);
    put_title(&place, act, "it goes on", "It goes on");
    put_line(place.out, options, &act->lines[act->at]);
    put_note(place.out, "How it ends is shown when it has: this page is not needed for "
                        "that.");
    buf_text(place.out, "<p>");
    put_subject(&place, &act->asked);
    buf_text(place.out, "</p>");
    frame_end(place.out, options, wall_ns());
}

static void put_done(struct place *place, const struct act *act,
                     const struct act_came *came)
{
    struct buf *out = place->out;
    const struct line *line = &act->lines[act->at];
    place->answer->status = came->problem ? 409 : 200;
    put_title(place, act, came->problem ? "not done" : "done",
              came->problem  ? "This was not done"
              : line->starts ? "It has begun"
                             : "Done");
    buf_text(out, "<p>The command: ");
    put_command(out, place->options, "%s", line->shown.data);
    buf_text(out, "</p>");
    if (!came->problem && act->action->prints)
        put_note(out, act->action->prints);
    put_printed(out, came->problem ? came->problem : line->starts ? "" : came->printed);
    put_printed(out, came->problem || line->starts ? "" : came->err);
    if (came->problem)
        put_typed(place, act);
    buf_text(out, "<p>");
    put_subject(place, &act->asked);
    buf_text(out, "</p>");
    frame_end(out, place->options, wall_ns());
}

bool act_goes_on(struct act *act, struct cairn_store *store,
                 const struct page_options *options, const struct act_came *came,
                 struct page_answer *answer)
{
    struct cairn_error error = {0};
    struct place place = place_of(store, options, answer, &error);
    if (act->at == LINES_MOST - 1) {
        if (act->lasting && came->problem) {
            act->lasting->ended = true;
            snprintf(act->lasting->problem, sizeof act->lasting->problem, "%.*s",
                     (int)text_fit(came->problem, sizeof act->lasting->problem - 1),
                     came->problem);
        }
        put_done(&place, act, came);
        return false;
    }
    if (act->at == 0 && came->problem) {
        put_refused(&place, act, came->problem);
        return false;
    }
    return take_look(act, options, came) || decide(&place, act);
}
