/* SPDX-License-Identifier: MIT */
#include "web/act.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/sha256.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "web/html.h"
#include "web/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NONCES = 64, NONCE_BYTES = 16, NONCE_MS = 15 * 60 * 1000 };

/* What was shown once, and what it was about. */
struct preview {
    char nonce[2 * NONCE_BYTES + 1]; /* "": none */
    struct digest action, shown;
    int64_t made_ms;
};

struct acts {
    const char *const *words; /* [n] */
    size_t n;
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

void acts_free(struct acts *acts)
{
    free(acts);
}

/* ---- The actions ---- */

struct action {
    const char *name;       /* of the command, too */
    const char *label;      /* of its button */
    bool task, outcome;     /* it is about one; it is given one */
    bool starts;            /* a process that goes on */
    const char *fields[2];  /* that are filled in beside the preview, or NULL ... */
    const char *options[2]; /* ... and the options that they become */
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
    return rc != 0 ? rc : put_resume_plan(place, asked->run, asked->task);
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

static const struct action actions[] = {
    {.name = "resume", .label = "Resume", .starts = true, .show = show_resume},
    {.name = "rerun",
     .label = "Run again",
     .task = true,
     .starts = true,
     .show = show_resume},
    {.name = "cancel", .label = "Cancel", .show = show_cancel},
    {.name = "resolve",
     .label = "Decide",
     .task = true,
     .outcome = true,
     .show = show_resolve},
    {.name = "complete",
     .label = "Complete",
     .task = true,
     .fields = {"value", "token"},
     .options = {"output", "token"},
     .show = show_step},
    {.name = "fail",
     .label = "Fail",
     .task = true,
     .fields = {"message", "token"},
     .options = {"message", "token"},
     .show = show_step}};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(actions); i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

/* ---- Commands ---- */

void act_free(struct act_command *command)
{
    if (!command)
        return;
    for (size_t i = command->own; i < command->n; i++)
        free((void *)(uintptr_t)command->argv[i]);
    free(command->shown);
    free(command);
}

/* A copy; NULL: out of memory, which `ok` keeps. */
static void add_word(struct act_command *command, bool *ok, char *word)
{
    if (word && command->n < ACT_WORDS)
        command->argv[command->n++] = word;
    else
        free(word);
    *ok = *ok && word && command->n < ACT_WORDS;
}

static void add_option(struct act_command *command, bool *ok, struct buf *shown,
                       const char *name, const char *value)
{
    char *text = NULL, *word = shell_word(value);
    if (asprintf(&text, "--%s=%s", name, value) < 0)
        text = NULL;
    add_word(command, ok, text);
    buf_format(shown, " --%s %s", name, word ? word : "");
    *ok = *ok && word;
    free(word);
}

/* Values come in lines NAME=VALUE, each of which is an option. */
static void add_fields(struct act_command *command, bool *ok, struct buf *shown,
                       const struct action *action, const struct page_ask *ask)
{
    for (size_t i = 0; i < 2 && action->fields[i]; i++) {
        char *text = ask_text(ask, action->fields[i]), *rest = text, *line;
        bool lines = strcmp(action->fields[i], "value") == 0;
        while (rest && (line = lines ? strsep(&rest, "\r\n") : rest)) {
            if (line[0] != '\0')
                add_option(command, ok, shown, action->options[i], line);
            if (!lines)
                break;
        }
        free(text);
    }
}

/* NULL: out of memory, or too many values. */
static struct act_command *make_command(const struct acts *acts,
                                        const struct action *action,
                                        const struct act_asked *asked,
                                        const struct page_ask *ask)
{
    struct act_command *command = calloc(1, sizeof *command);
    struct buf shown = BUF_INIT;
    char number[24];
    bool ok = true;
    if (!command)
        return NULL;
    snprintf(number, sizeof number, "%" PRIu64, asked->run);
    memcpy(command->argv, acts->words, acts->n * sizeof *acts->words);
    command->n = command->own = acts->n;
    command->starts = action->starts;
    command->run = asked->run;
    add_word(command, &ok, strdup(action->name));
    add_word(command, &ok, strdup("--json"));
    buf_format(&shown, "cairn %s", action->name);
    add_fields(command, &ok, &shown, action, ask);
    /* Of `rerun` the tasks are the operands. */
    bool option = strcmp(action->name, "rerun") == 0;
    if (option)
        add_option(command, &ok, &shown, "run", number);
    add_word(command, &ok, strdup("--"));
    const char *const operands[] = {option ? NULL : number, asked->task,
                                    asked->outcome};
    for (size_t i = 0; i < 3; i++) {
        char *word = operands[i] ? shell_word(operands[i]) : NULL;
        if (!operands[i])
            continue;
        add_word(command, &ok, strdup(operands[i]));
        buf_format(&shown, " %s", word ? word : "");
        ok = ok && word;
        free(word);
    }
    buf_byte(&shown, 0);
    ok = ok && !shown.failed;
    command->shown = shown.data;
    if (!ok) {
        act_free(command);
        return NULL;
    }
    return command;
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
    buf_format(&text, "%s %" PRIu64, asked->act, asked->run);
    const char *const more[] = {asked->task, asked->outcome};
    for (size_t i = 0; i < 2; i++)
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
    unsigned char bytes[NONCE_BYTES];
    if (random_bytes(bytes, sizeof bytes, NULL) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(at->nonce + 2 * i, 3, "%02x", bytes[i]);
    at->action = digest_action(asked);
    at->shown = *shown;
    at->made_ms = now_ms();
    return at->nonce;
}

static void put_fields(struct buf *out, const struct action *action)
{
    static const char *const labels[][2] = {
        {"value", "Values for later tasks, a line each: NAME=VALUE"},
        {"token", "The token of the claim, if it was claimed"},
        {"message", "The reason"}};
    for (size_t i = 0; i < 2 && action->fields[i]; i++)
        for (size_t k = 0; k < COUNT_OF(labels); k++)
            if (strcmp(labels[k][0], action->fields[i]) == 0)
                buf_format(out,
                           k == 0 ? "<p><label>%s<br><textarea name=\"%s\" rows=\"3\">"
                                    "</textarea></label></p>"
                                  : "<p><label>%s<br><input type=\"text\" "
                                    "name=\"%s\"></label></p>",
                           labels[k][1], labels[k][0]);
}

static void put_title(struct place *place, const struct action *action,
                      const struct act_asked *asked)
{
    place_begin(place, action->label, false);
    buf_format(place->out, "<header><h1>%s", action->label);
    if (asked->task) {
        buf_byte(place->out, ' ');
        html_text(place->out, asked->task);
    }
    buf_text(place->out, " <small>");
    put_run_link(place->out, place->options, asked->run);
    buf_text(place->out, "</small></h1></header>");
}

/* What a nonce is good for: what was shown; and as long as no process works on the run,
 * which goes on all the time, how far the run has come. */
static struct digest digest_shown(struct place *place, uint64_t run,
                                  const struct buf *shown)
{
    struct buf text = BUF_INIT;
    struct cairn_run_info info = {0};
    struct cairn_error none = {0};
    buf_str(&text, buf_view(shown));
    if (cairn_run_look(place->store, run, &info, &none) == 0)
        buf_format(&text, " %d %d %" PRIu64 " %" PRId64, info.live, (int)info.state,
                   info.live ? 0 : info.checkpoint, info.ended_ns);
    struct digest digest = digest_of(text.data, text.size);
    place->out->failed |= text.failed;
    buf_release(&text);
    return digest;
}

static void put_preview(struct place *place, struct acts *acts,
                        const struct action *action, const struct act_asked *asked,
                        const struct buf *shown, const char *note)
{
    struct digest digest = digest_shown(place, asked->run, shown);
    const char *nonce = give_nonce(acts, asked, &digest);
    struct act_command *command = make_command(acts, action, asked, place->ask);
    place->out->failed |= !nonce || !command;
    if (!nonce || !command) {
        act_free(command);
        return;
    }
    put_title(place, action, asked);
    if (note)
        buf_format(place->out, "<p class=\"warning\">%s</p>", note);
    buf_text(place->out, "<h2>What would happen</h2>");
    buf_str(place->out, buf_view(shown));
    act_form_begin(place->out, place->options, asked);
    put_hidden(place->out, "nonce", nonce);
    put_fields(place->out, action);
    buf_text(place->out, "<p>The command: ");
    put_command(place->out, place->options, "%s", command->shown);
    buf_format(place->out, "</p><p><button>%s%s%s</button> <a href=\"/runs/%" PRIu64,
               action->label, asked->outcome ? ": " : "",
               asked->outcome ? asked->outcome : "", asked->run);
    buf_text(place->out, "\">back, without doing it</a></p></form>");
    frame_end(place->out, place->options, wall_ns());
    act_free(command);
}

static void put_refused(struct place *place, const struct action *action,
                        const struct act_asked *asked, const char *why)
{
    put_title(place, action, asked);
    buf_text(place->out, "<p class=\"warning\">It cannot be done.</p><pre>");
    html_lines(place->out, why, strlen(why));
    buf_text(place->out, "</pre>");
    frame_end(place->out, place->options, wall_ns());
}

static struct act_command *take(struct place *place, struct acts *acts,
                                const struct action *action,
                                const struct act_asked *asked, const char *nonce)
{
    struct buf *out = place->out, shown = BUF_INIT;
    struct act_command *command = NULL;
    const char *note = NULL;
    struct preview *seen = use_nonce(acts, nonce, asked);
    place->out = &shown;
    int rc = action->show(place, asked);
    place->out = out;
    out->failed |= shown.failed;
    struct digest digest = digest_shown(place, asked->run, &shown);
    if (nonce && !seen)
        note = "This was done already, or waited for too long. Nothing was done now: "
               "this is how it is.";
    else if (nonce && rc == 0 && !digest_equal(&seen->shown, &digest))
        note = "Things have changed since you looked. Nothing was done: this is how it "
               "is now.";
    place->answer->status = note || rc != 0 ? 409 : 200;
    if (rc != 0) {
        put_refused(place, action, asked, place->error->text);
    } else if (!nonce || note) {
        put_preview(place, acts, action, asked, &shown, note);
    } else {
        command = make_command(acts, action, asked, place->ask);
        if (!command)
            put_refused(place, action, asked,
                        "There are too many values, or there is "
                        "no memory.");
    }
    buf_release(&shown);
    return command;
}

struct act_command *act_take(struct acts *acts, struct cairn_store *store,
                             const struct page_options *options,
                             const struct page_ask *ask, struct page_answer *answer)
{
    struct cairn_error error = {0};
    struct place place = {&answer->body, store, options, ask, answer, &error, 0};
    char *name = ask_text(ask, "act"), *task = ask_text(ask, "task");
    char *outcome = ask_text(ask, "outcome"), *nonce = ask_text(ask, "nonce");
    const struct action *action = find_action(name);
    struct act_command *command = NULL;
    answer->type = "text/html; charset=utf-8";
    if (action && ask_number(ask, "run") != 0 && (task || !action->task) &&
        (outcome || !action->outcome)) {
        struct act_asked asked = {action->name, ask_number(ask, "run"),
                                  action->task ? task : NULL,
                                  action->outcome ? outcome : NULL};
        command = take(&place, acts, action, &asked, nonce);
    } else {
        pages_problem(options, 400, "This form does not say what is to be done.",
                      answer);
    }
    free(name);
    free(task);
    free(outcome);
    free(nonce);
    return command;
}

/* ---- What came of it ---- */

void act_done(const struct page_options *options, struct act_command *command,
              const char *problem, struct page_answer *answer)
{
    struct buf *out = &answer->body;
    answer->type = "text/html; charset=utf-8";
    answer->status = problem ? 409 : 200;
    frame_begin(out, options);
    buf_text(out, problem ? "not done" : "done");
    frame_body(out, options, false);
    buf_format(out, "<header><h1>%s <small>",
               problem           ? "This was not done"
               : command->starts ? "It has begun"
                                 : "Done");
    put_run_link(out, options, command->run);
    buf_text(out, "</small></h1></header><p>The command: ");
    put_command(out, options, "%s", command->shown);
    buf_text(out, "</p>");
    if (problem) {
        buf_text(out, "<pre>");
        html_lines(out, problem, strlen(problem));
        buf_text(out, "</pre>");
    }
    frame_end(out, options, wall_ns());
    act_free(command);
}
