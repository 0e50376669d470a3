/* SPDX-License-Identifier: MIT */
/* Which session an agent's hook speaks of. Each agent has one of its own, by the name
 * that its session_id gives; so several can work side by side. It is made whole, with
 * its settings, in one transaction. */
#include "base/decimal.h"
#include "session/files_pending.h"
#include "session/session_int.h"
#include "session/transcripts/agent_int.h"
#include "session/transcripts/agent_place.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return rc ? rc : buf_check(&meant->files, error);
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
    snprintf(out->number, sizeof out->number, "%llu",
             (unsigned long long)live->row.session);
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
    int rc = live_write(&live, store, name, error);
    if (!rc)
        rc = session_go_on(&live, error);
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
    int rc = settings_set(&live->settings, str_of(name), value, error);
    if (!rc)
        rc = buf_check(&said, error);
    struct log_entry entry = {.verb = VERB_CONFIGURED, .after = buf_view(&said)};
    if (!rc)
        rc = live_log(live, &entry, error);
    buf_release(&said);
    return rc;
}

/* Another process may have made it meanwhile. */
static int begin(struct live *live, const char *name, struct str files,
                 const char *strategy, bool *started, struct cairn_error *error)
{
    bool current = false;
    int rc = live_find(live, name, error);
    *started = rc == CAIRN_ENOTFOUND;
    if (!*started)
        return rc;
    rc = may_be_current(live, &current, error);
    if (!rc)
        rc = session_begin(live, name, &live->now, current, error);
    if (!rc)
        rc = set(live, "files", files, error);
    if (!rc)
        rc = set(live, "strategy", str_of(strategy), error);
    return rc ? rc : live_put_row(live, error);
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
        rc = files_root_name(store, home ? home : meant->files.data, &files, error);
    if (!rc)
        rc = live_begin(&live, store, true, error);
    if (!rc)
        rc =
            begin(&live, meant->name, buf_view(&files), strategy, &out->started, error);
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
    const char *dir;
    uint64_t session = store_fork(store, &dir);
    struct live live;
    if (!session)
        return 0;
    int rc = live_read(&live, store, NULL, error);
    rc = live_close(&live, rc, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    return error_set(
        error, CAIRN_EUSAGE,
        "the file .cairn in %s names session %llu of the store %s, which "
        "has none of that number: name the right store in it, or remove it",
        dir, (unsigned long long)session, cairn_store_path(store));
}

int agent_session_look(struct cairn_store *store, const struct hook_event *event,
                       const struct cairn_agent_options *options,
                       struct agent_session *out, struct cairn_error *error)
{
    struct meant meant;
    *out = (struct agent_session){.number = ""};
    int rc = find_meant(store, event, options, &meant, error);
    if (!rc)
        rc = look(store, meant.name, event, out, error);
    buf_release(&meant.files);
    if (rc != CAIRN_ENOTFOUND || event->moment == AGENT_SESSION_ENDED)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    rc = check_fork(store, error);
    return rc ? rc : 1;
}

int agent_session_find(struct cairn_store *store, const struct hook_event *event,
                       const struct cairn_agent_options *options,
                       struct agent_session *out, struct cairn_error *error)
{
    struct meant meant;
    uint64_t number;
    *out = (struct agent_session){.number = ""};
    int rc = find_meant(store, event, options, &meant, error);
    if (!rc)
        rc = look(store, meant.name, event, out, error);
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
