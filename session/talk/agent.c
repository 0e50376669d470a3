/* SPDX-License-Identifier: MIT */
/* What agents' hooks report, and what becomes of it. */
#include "session/talk/agent_int.h"

#include "session/agent_events.h"
#include "session/files.h"
#include "session/files_pending.h"
#include "session/outside.h"
#include "session/session_int.h"

#include "base/error.h"
#include "base/notes.h"
#include "base/str.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cairn/message.h"
#include "secrets/redact.h"
#include "snapshot/ignore.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whose files the session of an agent has. */

/* The session of an agent, as it was found. */
struct agent_session {
    char number[24]; /* as text */
    char name[CAIRN_SESSION_NAME_MAX];
    bool started, keeps_files;
    enum strategy strategy;
    bool destructive; /* the tool that the event is about */
};

/* ==== Where the agent works ==== */

static bool is_same_directory(const char *a, const char *b)
{
    char *one = realpath(a, NULL), *other = realpath(b, NULL);
    bool same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

static int is_ignored(const char *project, const char *below, struct cairn_error *error)
{
    int fd = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_sys(error, errno, "the directory %s", project);
    int rc = rules_leave_out(fd, str_of(below), error);
    close(fd);
    return rc;
}

static int is_of_same_repository(const char *project, const struct buf *common,
                                 struct cairn_error *error)
{
    struct buf root = BUF_INIT, git = BUF_INIT;
    int rc = git_work_tree(project, &root, &git, error);
    if (rc > 0)
        rc = is_same_directory(git.data, common->data);
    buf_release(&root);
    buf_release(&git);
    return rc;
}

static int decide(const char *project, const struct buf *root, const struct buf *common,
                  struct cairn_error *error)
{
    const char *below = files_path_below(root->data, project);
    if (below)
        return *below ? is_ignored(project, below, error) : 0;
    if (files_path_below(project, root->data))
        return 0; /* the project is a part of it */
    return is_of_same_repository(project, common, error);
}

/* Those of the project, unless the agent works (`cwd`; NULL: not known) in a work tree
 * of git that is not part of it: one below it that its rules ignore, or one elsewhere
 * that belongs to the same repository. Then *own is the root of that; else it is empty.
 */
static int agent_place(const char *project, const char *cwd, struct buf *own,
                       struct cairn_error *error)
{
    struct buf common = BUF_INIT;
    buf_clear(own);
    if (!cwd || strcmp(cwd, project) == 0)
        return 0;
    char *at = realpath(cwd, NULL), *top = realpath(project, NULL);
    int rc = 0;
    if (at && top && strcmp(at, top) != 0)
        rc = git_work_tree(at, own, &common, error);
    if (rc > 0)
        rc = decide(top, own, &common, error);
    if (rc <= 0)
        buf_clear(own);
    buf_release(&common);
    free(at);
    free(top);
    return rc < 0 ? rc : 0;
}

/* ==== Its session ==== */

/* Which session an agent's hook speaks of. Each agent has one of its own, by the name
 * that its session_id gives; so several can work side by side. It is made whole, with
 * its settings, in one transaction. */

static const char own_start[] = AGENT_SESSION_START;

/* Which one is meant: by name, and the directory of its files if it is to be made. */
struct meant {
    const char *name;
    char own[AGENT_NAME_BYTES + 16];
    struct buf files;
};

/* Where the agent works in another work tree, it has another session there. */
static int find_place(struct cairn_store *store, const char *cwd, const char *project,
                      struct meant *meant, struct cairn_error *error)
{
    char *home = NULL;
    int rc = project ? 0 : files_home(store, &home, error);
    if (!rc)
        rc = agent_place(project ? project : home, cwd, &meant->files, error);
    if (!rc && meant->files.size) {
        size_t n = strlen(meant->own);
        snprintf(meant->own + n, sizeof meant->own - n, "-%08x",
                 agent_hash(meant->files.data));
    } else if (!rc) {
        buf_text(&meant->files, project ? project : home);
    }
    free(home);
    return rc ?: buf_check(&meant->files, error);
}

static int find_meant(struct cairn_store *store, const struct hook_event *event,
                      const struct cairn_agent_options *options, struct meant *meant,
                      struct cairn_error *error)
{
    *meant = (struct meant){.files = BUF_INIT};
    meant->name = options->session ? options->session : meant->own;
    if (options->session) {
        buf_text(&meant->files, options->files ? options->files : "");
        return buf_check(&meant->files, error);
    }
    if (!agent_session_name(event->at[HOOK_SESSION_ID], meant->own))
        return error_set(error, CAIRN_EUSAGE,
                         "the event has no session_id, and CAIRN_SESSION does not name "
                         "a session");
    return find_place(store, event->at[HOOK_CWD], options->files, meant, error);
}

/* ---- One that is there ---- */

static void take(const struct live *live, const struct hook_event *event,
                 struct agent_session *out)
{
    const struct str *later = live->settings.later;
    u64_text(live->row.session, out->number);
    snprintf(out->name, sizeof out->name, "%.*s", (int)live->row.name.len,
             live->row.name.ptr);
    out->keeps_files = later[SETTING_FILES].len > 0;
    out->strategy = strategy_of(later[SETTING_STRATEGY]);
    out->destructive =
        tool_is_destructive(str_of(event->at[HOOK_TOOL]), later[SETTING_TOOLS]);
}

static int look(struct cairn_store *store, const char *name,
                const struct hook_event *event, struct agent_session *out,
                struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, name, error);
    bool over = !rc && live.row.ended_ns && event->moment == AGENT_SESSION_BEGAN;
    if (!rc && !over)
        rc = live_check_open(&live, error);
    if (!rc)
        take(&live, event, out);
    rc = live_close(&live, rc, error);
    return rc ? rc : over;
}

static int go_on(struct cairn_store *store, const char *name, struct cairn_error *error)
{
    struct live live;
    int rc = live_write(&live, store, name, error) ?: session_go_on(&live, error);
    return live_close(&live, rc, error);
}

/* ---- A new one ---- */

struct row_view {
    bool agents, ended;
};

static int view_row(void *context, const struct session_row *row)
{
    struct row_view *view = context;
    size_t n = sizeof own_start - 1;
    view->agents = row->name.len >= n && memcmp(row->name.ptr, own_start, n) == 0;
    view->ended = row->ended_ns != 0;
    return 0;
}

/* Where somebody works on a session of their own, it stays the current one. */
static int may_be_current(struct live *live, bool *out, struct cairn_error *error)
{
    struct row_view view = {.ended = true};
    uint64_t current = 0;
    int rc = current_session(live->store, &current, error);
    if (rc > 0)
        rc = store_get_session(live->store, current, view_row, &view, error);
    *out = view.agents || view.ended;
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

static int set(struct live *live, const char *name, struct str value,
               struct cairn_error *error)
{
    struct buf said = BUF_INIT;
    buf_format(&said, "%s=%.*s", name, (int)value.len, value.ptr);
    int rc = settings_set(&live->settings, str_of(name), value, error)
                 ?: buf_check(&said, error);
    struct log_entry entry = {.verb = VERB_CONFIGURED, .after = buf_view(&said)};
    if (!rc)
        rc = live_log(live, &entry, error);
    buf_release(&said);
    return rc;
}

/* Another process may have made it meanwhile. */
static int begin_session(struct live *live, const char *name, struct str files,
                         const char *strategy, bool *started, struct cairn_error *error)
{
    bool current = false;
    int rc = live_find(live, name, error);
    *started = rc == CAIRN_ENOTFOUND;
    if (!*started)
        return rc;
    return may_be_current(live, &current, error)
           ?: session_begin(live, name, &live->now, current, error)
           ?: set(live, "files", files, error)
           ?: set(live, "strategy", str_of(strategy), error)
           ?: live_put_row(live, error);
}

enum { AT_ONCE = 2 }; /* old sessions that are deleted with a new one */

static int start(struct cairn_store *store, const struct meant *meant,
                 const struct cairn_agent_options *options,
                 const struct hook_event *event, struct agent_session *out,
                 struct cairn_error *error)
{
    struct live live = {.store = store};
    struct buf files = BUF_INIT;
    char *home = NULL;
    const char *strategy = options->strategy ? options->strategy : "smart";
    int rc = meant->files.size ? 0 : files_home(store, &home, error);
    if (!rc)
        rc = files_root_name(store, home ? home : meant->files.data, &files, error)
             ?: live_begin(&live, store, true, error)
             ?: begin_session(&live, meant->name, buf_view(&files), strategy,
                              &out->started, error);
    if (!rc)
        take(&live, event, out);
    rc = live_close(&live, rc, error);
    buf_release(&files);
    free(home);
    if (!rc && out->started) /* whatever is in the way of that waits for the next one */
        (void)cairn_session_expire(store, AT_ONCE, false, NULL, NULL);
    return rc;
}

/* A file that leads here from a fork has to be right before an agent is served by it.
 */
static int check_fork(struct cairn_store *store, struct cairn_error *error)
{
    struct live live;
    if (!store_fork(store, NULL))
        return 0;
    int rc = live_read(&live, store, NULL, error);
    return live_close(&live, rc, error);
}

/* The first only looks: 1: it is none yet, or has to be changed to be used. The second
 * starts it where there is none, but for the end of one: then the number is "". Where
 * the agent's session begins again, one that had ended goes on. CAIRN_EUSAGE: it has
 * ended, or nothing says which one. */
static int agent_session_look(struct cairn_store *store, const struct hook_event *event,
                              const struct cairn_agent_options *options,
                              struct agent_session *out, struct cairn_error *error)
{
    struct meant meant;
    *out = (struct agent_session){.number = ""};
    int rc = find_meant(store, event, options, &meant, error)
                 ?: look(store, meant.name, event, out, error);
    buf_release(&meant.files);
    if (rc != CAIRN_ENOTFOUND || event->moment == AGENT_SESSION_ENDED)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    rc = check_fork(store, error);
    return rc ? rc : 1;
}

static int agent_session_find(struct cairn_store *store, const struct hook_event *event,
                              const struct cairn_agent_options *options,
                              struct agent_session *out, struct cairn_error *error)
{
    struct meant meant;
    uint64_t number;
    *out = (struct agent_session){.number = ""};
    int rc = find_meant(store, event, options, &meant, error)
                 ?: look(store, meant.name, event, out, error);
    bool missing = rc == CAIRN_ENOTFOUND && !str_to_u64(str_of(meant.name), &number);
    if (rc > 0)
        rc = go_on(store, meant.name, error);
    if (missing)
        rc = event->moment == AGENT_SESSION_ENDED ? 0 : check_fork(store, error);
    if (missing && !rc && event->moment != AGENT_SESSION_ENDED)
        rc = start(store, &meant, options, event, out, error);
    buf_release(&meant.files);
    return rc;
}

/* ==== An event ==== */

/* What the hook of an agent brings about. */

struct cairn_agent_event {
    struct hook_event read;
};

int cairn_agent_event_read(struct cairn_agent_event **event, const char *json,
                           size_t bytes, struct cairn_error *error)
{
    struct cairn_agent_event *made = calloc(1, sizeof *made);
    if (!made)
        return error_nomem(error);
    int rc = bytes > CAIRN_AGENT_EVENT_MAX
                 ? error_set(error, CAIRN_EUSAGE,
                             "it has more than %u MiB, so it is not read: the next "
                             "event makes the checkpoint",
                             CAIRN_AGENT_EVENT_MAX >> 20)
                 : hook_event_read((struct str){json, bytes}, &made->read, error);
    if (rc)
        cairn_agent_event_free(made);
    else
        *event = made;
    return rc;
}

void cairn_agent_event_free(struct cairn_agent_event *event)
{
    if (event)
        hook_event_release(&event->read);
    free(event);
}

const char *cairn_agent_event_name(const struct cairn_agent_event *event)
{
    return event->read.at[HOOK_NAME] ? event->read.at[HOOK_NAME] : "";
}

const char *cairn_agent_event_directory(const struct cairn_agent_event *event)
{
    return event->read.at[HOOK_CWD];
}

bool cairn_agent_event_counts(const struct cairn_agent_event *event)
{
    return event->read.moment != AGENT_OTHER;
}

/* ---- Messages ---- */

static bool is_tool(const struct hook_event *event)
{
    return event->moment == AGENT_BEFORE_TOOL || event->moment == AGENT_AFTER_TOOL;
}

static void take_messages(struct cairn_store *store, const char *session,
                          const struct hook_event *event, struct cairn_agent_told *told)
{
    struct cairn_error error = {0};
    const char *path = event->at[HOOK_TRANSCRIPT];
    if (path && transcript_file_import(store, session, path, &told->import, &error))
        told->import_error = error;
}

/* ---- The checkpoint ---- */

static enum trigger trigger_at(enum agent_moment moment)
{
    switch (moment) {
    case AGENT_COMPACTION:
        return TRIGGER_COMPACTION_WARNING;
    case AGENT_PROMPT:
        return TRIGGER_PROMPT;
    case AGENT_BEFORE_TOOL:
        return TRIGGER_BEFORE_TOOL;
    case AGENT_AFTER_TOOL:
        return TRIGGER_AFTER_TOOL;
    case AGENT_TURN_ENDED:
    case AGENT_SESSION_ENDED:
    case AGENT_SESSION_BEGAN:
    case AGENT_OTHER:
        break;
    }
    return TRIGGER_TURN_ENDED;
}

/* One line, of a bounded length. */
static void cut_line(struct buf *text)
{
    size_t n = 0;
    while (n < text->size && (unsigned char)text->data[n] >= 0x20 &&
           text->data[n] != 0x7f)
        n++;
    size_t fits = utf8_fit((struct str){text->data, n}, LINE_COLUMNS);
    bool cut = fits < n;
    text->size = fits;
    if (cut)
        buf_text(text, "...");
}

/* "Auto: before tool: Bash": without secrets, since what it names is from outside. */
static int say_why(struct live *live, enum trigger trigger,
                   const struct hook_event *event, struct buf *out,
                   struct cairn_error *error)
{
    const char *what = trigger == TRIGGER_PROMPT ? event->at[HOOK_PROMPT]
                       : trigger == TRIGGER_BEFORE_TOOL || trigger == TRIGGER_AFTER_TOOL
                           ? event->at[HOOK_TOOL]
                           : NULL;
    struct redactor *redactor = NULL;
    struct buf clean = BUF_INIT;
    buf_text(out, trigger_message(trigger));
    if (!what)
        return buf_check(out, error);
    int rc = live_redactor(live, &redactor, error);
    if (!rc)
        add_clean(redactor, str_of(what), &clean);
    redactor_free(redactor);
    if (!rc)
        rc = buf_check(&clean, error);
    if (!rc)
        cut_line(&clean);
    if (!rc && clean.size)
        buf_format(out, ": %.*s", (int)clean.size, clean.data);
    out->failed |= clean.failed;
    buf_release(&clean);
    return rc ?: buf_check(out, error);
}

static int begin_event(struct live *live, struct cairn_store *store,
                       const char *session, bool writing, struct files_taken *files,
                       struct cairn_error *error)
{
    int rc = writing ? live_write(live, store, session, error)
                     : live_read(live, store, session, error);
    live->files = files;
    return rc ?: live_check_open(live, error);
}

/* Where nothing has changed nothing is written: that is most of the time. Messages come
 * with every use of a tool, and are only taken then where they belong to a checkpoint.
 */
static int make_checkpoint(struct cairn_store *store, const char *session,
                           const struct hook_event *event,
                           struct cairn_agent_told *told, struct cairn_error *error)
{
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    struct buf why = BUF_INIT;
    struct capture capture = {.trigger = trigger_at(event->moment)};
    int rc = files_take(&files, store, session, error);
    live.files = &files;
    if (!rc)
        rc = begin_event(&live, store, session, false, &files, error)
                 ?: capture_look(&live, &capture, &made, error);
    if (rc || made.answer != TRIGGER_MAKES)
        return capture_end(&live, rc, &made, &told->captured, error);
    live_close(&live, 0, error);
    if (is_tool(event))
        take_messages(store, session, event, told);
    rc = begin_event(&live, store, session, true, &files, error)
             ?: say_why(&live, capture.trigger, event, &why, error);
    capture.message = buf_view(&why);
    if (!rc)
        rc = capture_state(&live, &capture, &made, error);
    rc = capture_end(&live, rc, &made, &told->captured, error);
    buf_release(&why);
    return rc;
}

/* ---- The event ---- */

static void tell_session(const struct agent_session *session,
                         const struct hook_event *event, struct cairn_agent_told *told)
{
    *told = (struct cairn_agent_told){
        .started = session->started,
        .makes = session->strategy != STRATEGY_MANUAL,
        .keeps_files = session->keeps_files,
        .asked = strategy_asks(session->strategy, event->moment, session->destructive)};
    memcpy(told->session, session->name, sizeof told->session);
}

int cairn_agent_look(struct cairn_store *store, const struct cairn_agent_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *told, bool *more,
                     struct cairn_error *error)
{
    STRUCT_TAKE(cairn_agent_options, options, error);
    const struct hook_event *read = &event->read;
    struct agent_session session;
    *more = false;
    *told = (struct cairn_agent_told){.session = ""};
    if (read->moment == AGENT_OTHER)
        return 0;
    int rc = agent_session_look(store, read, options, &session, error);
    if (rc < 0)
        return rc;
    tell_session(&session, read, told);
    *more = rc > 0 || told->asked || (!is_tool(read) && read->at[HOOK_TRANSCRIPT]);
    return 0;
}

static int pass_session(void *context, const struct session_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

/* Was it deleted since it was found? */
static bool is_gone(struct cairn_store *store, const struct agent_session *session)
{
    uint64_t number;
    return str_to_u64(str_of(session->number), &number) &&
           store_get_session(store, number, pass_session, NULL, NULL) ==
               CAIRN_ENOTFOUND;
}

/* *gone: nothing was stored of it, since its session is not there any more. */
static int tell_once(struct cairn_store *store, const struct hook_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *made, bool *gone,
                     struct cairn_error *error)
{
    struct agent_session session = {.number = ""};
    *made = (struct cairn_agent_told){.session = ""};
    *gone = false;
    int rc = agent_session_find(store, event, options, &session, error);
    if (rc || !session.number[0])
        return rc;
    tell_session(&session, event, made);
    if (!is_tool(event))
        take_messages(store, session.number, event, made);
    if (made->asked)
        rc = make_checkpoint(store, session.number, event, made, error);
    *gone = (rc == CAIRN_ENOTFOUND || made->import_error.code == CAIRN_ENOTFOUND) &&
            is_gone(store, &session);
    return rc;
}

int cairn_agent_tell(struct cairn_store *store, const struct cairn_agent_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *told, struct cairn_error *error)
{
    enum { TRIES = 3 };
    STRUCT_TAKE(cairn_agent_options, options, error);
    const struct hook_event *read = &event->read;
    struct cairn_agent_told made = {.session = ""};
    struct cairn_error why = {0};
    bool gone = read->moment != AGENT_OTHER;
    int rc = 0;
    for (int i = 0; i < TRIES && gone; i++) {
        why = (struct cairn_error){0};
        rc = tell_once(store, read, options, &made, &gone, &why);
    }
    if (rc && error)
        *error = why;
    else if (!rc)
        *told = made;
    return rc;
}

int cairn_agent_note_failure(const char *store, const char *text,
                             struct cairn_error *error)
{
    return notes_add(store, str_of(text), error);
}
