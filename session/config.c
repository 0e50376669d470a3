/* SPDX-License-Identifier: MIT */
/* The settings of a session for people and programs. */
#include "session/files_pending.h"
#include "session/session_int.h"

#include <stdio.h>

struct setting_sink {
    int (*each)(void *, const char *, const char *, bool);
    void *context;
    int stopped;
};

static void tell_time(struct setting_sink *sink, const char *name, int64_t ns,
                      int64_t usual)
{
    char text[32] = "off";
    if (ns > 0)
        settings_time(ns, text);
    if (!sink->stopped)
        sink->stopped = sink->each(sink->context, name, text, ns == usual);
}

/* A list of names, or a command; the text ends with a NUL. */
static void tell_text(struct setting_sink *sink, const char *name, struct str value)
{
    if (!sink->stopped)
        sink->stopped = sink->each(sink->context, name, value.len ? value.ptr : "off",
                                   value.len == 0);
}

static void tell_later(struct setting_sink *sink, unsigned n, struct str value)
{
    const char *usual = later_usual(n), *text = value.len ? value.ptr : usual;
    if (!sink->stopped)
        sink->stopped =
            sink->each(sink->context, later_name(n), text, strcmp(text, usual) == 0);
}

static void tell_number(struct setting_sink *sink, const char *name, uint32_t number)
{
    char text[16] = "";
    if (number)
        snprintf(text, sizeof text, "%u", number);
    tell_text(sink, name, str_of(text));
}

static void tell_settings(struct setting_sink *sink,
                          const struct session_settings *settings, uint32_t days)
{
    char sessions[16] = "";
    const struct trigger_settings *is = &settings->triggers;
    struct trigger_settings usual = trigger_settings_default();
    tell_time(sink, "interval", is->interval_ns, usual.interval_ns);
    tell_time(sink, "schedule", is->schedule_ns, usual.schedule_ns);
    tell_text(sink, "redact", settings->redact);
    tell_text(sink, "environment", settings->environment);
    for (unsigned n = 1; n < SETTINGS_LATER_END; n++)
        if (later_name(n))
            tell_later(sink, n, settings->later[n]);
    tell_number(sink, "keep-last", settings->keep.last);
    tell_number(sink, "keep-days", settings->keep.days);
    tell_text(sink, "keep-hourly", settings->keep.hourly ? STR("on") : STR(""));
    tell_text(sink, "keep-tag", settings->keep.tags);
    if (days)
        snprintf(sessions, sizeof sessions, "%ud", days);
    tell_text(sink, KEEP_SESSIONS, str_of(sessions));
    tell_time(sink, "hook-timeout", settings->hook_limit_ns,
              session_settings_default().hook_limit_ns);
    for (unsigned kind = 0; kind < HOOK_KINDS; kind++) {
        char name[32];
        snprintf(name, sizeof name, "hook.%s", hook_kind_name(kind));
        tell_text(sink, name, settings->hooks[kind]);
    }
    for (unsigned t = 1; t < TRIGGERS_END && !sink->stopped; t++) {
        uint32_t bit = 1u << t;
        if (settings_has_switch((enum trigger)t))
            sink->stopped = sink->each(sink->context, trigger_name((enum trigger)t),
                                       is->off & bit ? "off" : "on",
                                       (is->off & bit) == (usual.off & bit));
    }
}

/* A copy whose texts are in the arena, and end with a NUL. */
static struct session_settings copy_settings(const struct session_settings *settings,
                                             struct arena *arena)
{
    struct session_settings copy = *settings;
    copy.redact = arena_str(arena, settings->redact);
    copy.environment = arena_str(arena, settings->environment);
    for (unsigned n = 1; n < SETTINGS_LATER_END; n++)
        copy.later[n] = arena_str(arena, settings->later[n]);
    copy.keep.tags = arena_str(arena, settings->keep.tags);
    for (unsigned kind = 0; kind < HOOK_KINDS; kind++)
        copy.hooks[kind] = arena_str(arena, settings->hooks[kind]);
    return copy;
}

/* The callback may use the store. */
int cairn_session_config(struct cairn_store *store, const char *session,
                         int (*each)(void *, const char *name, const char *value,
                                     bool is_default),
                         void *context, struct cairn_error *error)
{
    struct live live;
    struct setting_sink sink = {each, context, 0};
    struct session_settings settings = {0};
    struct arena arena = ARENA_INIT;
    uint32_t days = 0;
    int rc = live_read(&live, store, session, error);
    if (!rc)
        rc = keep_sessions_days(store, &days, error);
    if (!rc)
        settings = copy_settings(&live.settings, &arena);
    if (!rc && arena.failed)
        rc = error_nomem(error);
    rc = live_close(&live, rc, error);
    if (!rc)
        tell_settings(&sink, &settings, days);
    arena_release(&arena);
    return rc;
}

static int64_t to_ms(int64_t ns)
{
    return ns == INT64_MAX ? -1 : ns / 1000000 + (ns % 1000000 > 0);
}

int cairn_session_due(struct cairn_store *store, const char *session,
                      int64_t *scheduled_ms, int64_t *significant_ms, bool *ended,
                      struct cairn_error *error)
{
    struct live live;
    int64_t scheduled = INT64_MAX, significant = INT64_MAX;
    int rc = live_read(&live, store, session, error);
    bool over = !rc && live.row.ended_ns;
    if (!rc && !over)
        rc = capture_due(&live, &scheduled, &significant, error);
    rc = live_close(&live, rc, error);
    if (rc)
        return rc;
    *ended = over;
    *scheduled_ms = to_ms(scheduled);
    *significant_ms = to_ms(significant);
    return 0;
}

/* A directory of the user becomes a name from the store's. */
static int stored_value(struct cairn_store *store, const char *name, const char *value,
                        struct buf *out, struct cairn_error *error)
{
    bool is_files = strcmp(name, "files") == 0;
    if (is_files && strcmp(value, "off") != 0)
        return files_root_name(store, value, out, error);
    buf_text(out, is_files ? "" : value);
    return buf_check(out, error);
}

int cairn_session_configure(struct cairn_store *store, const char *session,
                            const char *name, const char *value,
                            struct cairn_error *error)
{
    struct live live;
    struct buf said = BUF_INIT, stored = BUF_INIT;
    bool locked = false;
    struct clean taken;
    struct outside_text text = {OUTSIDE_DATA, "the value of the setting", str_of(value),
                                "take it from a variable of the environment"};
    int rc = live_write(&live, store, session, error);
    if (!rc)
        rc = stored_value(store, name, value, &stored, error);
    if (!rc)
        rc = live_check_open(&live, error);
    if (!rc)
        rc = live_take(&live, &text, &taken, error);
    if (!rc && strcmp(name, "files") == 0)
        rc = pending_forget(store, live.row.session, live.settings.later[SETTING_FILES],
                            &locked, error);
    if (!rc && strcmp(name, KEEP_SESSIONS) == 0)
        rc = keep_sessions_set(store, value, error);
    else if (!rc)
        rc = settings_set(&live.settings, str_of(name), buf_view(&stored), error);
    if (!rc) {
        buf_format(&said, "%s=%s", name, value);
        rc = buf_check(&said, error);
    }
    struct log_entry entry = {.verb = VERB_CONFIGURED, .after = buf_view(&said)};
    if (!rc)
        rc = live_log(&live, &entry, error);
    if (!rc)
        rc = live_put_row(&live, error);
    buf_release(&said);
    rc = live_close(&live, rc, error);
    if (locked)
        pending_unlock(store);
    buf_release(&stored);
    return rc;
}
