/* SPDX-License-Identifier: MIT */
/* What makes a checkpoint by itself, and the settings of a session, as bytes and as
 * people write them. */
#include "session/settings.h"

#include "session/agent_events.h"
#include "session/board/confidence.h"
#include "session/files.h"
#include "session/keep.h"
#include "session/outside.h"

#include "base/clock.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/words.h"
#include "checkpoint/sections.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KEEP_LAST_MOST = 10000 };

/* ==== Triggers ==== */

/* One table has all that follows from a trigger. */

#define SECOND_NS 1000000000ll

enum { AUTOMATIC = 1, SIGNIFICANT = 2, QUIET = 4 /* messages alone make none */ };

#define AUTO(kind, name, words, flags)                  \
    {                                                   \
        kind, name, "Auto: " words, AUTOMATIC | (flags) \
    }

static const struct {
    enum trigger kind;
    const char *name, *message;
    unsigned flags;
} triggers[TRIGGERS_END] = {
    [TRIGGER_MANUAL] = {TRIGGER_MANUAL, "manual", NULL, 0},
    [TRIGGER_SCHEDULED] = {TRIGGER_SCHEDULED, "scheduled", "Scheduled", 0},
    [TRIGGER_HYPOTHESIS_STATUS] =
        AUTO(TRIGGER_HYPOTHESIS_STATUS, "hypothesis-status", "hypothesis status", 0),
    [TRIGGER_HYPOTHESIS_CONFIRMED] =
        AUTO(TRIGGER_HYPOTHESIS_STATUS, "hypothesis-confirmed", "hypothesis confirmed",
             SIGNIFICANT),
    [TRIGGER_HYPOTHESIS_REJECTED] =
        AUTO(TRIGGER_HYPOTHESIS_STATUS, "hypothesis-rejected", "hypothesis rejected",
             SIGNIFICANT),
    [TRIGGER_CONTRADICTION] =
        AUTO(TRIGGER_CONTRADICTION, "contradiction", "contradiction", SIGNIFICANT),
    [TRIGGER_VERIFICATION] =
        AUTO(TRIGGER_VERIFICATION, "verification", "verification", 0),
    [TRIGGER_BRANCH_SWITCH] =
        AUTO(TRIGGER_BRANCH_SWITCH, "branch-switch", "branch switch", 0),
    [TRIGGER_BRANCH_MERGED] =
        AUTO(TRIGGER_BRANCH_SWITCH, "branch-merged", "branch merged", SIGNIFICANT),
    [TRIGGER_GAP_FILLED] = AUTO(TRIGGER_GAP_FILLED, "gap-filled", "gap filled", 0),
    [TRIGGER_CODE_MODIFIED] =
        AUTO(TRIGGER_CODE_MODIFIED, "code-modified", "code modified", 0),
    [TRIGGER_SIGNIFICANT_TIME] =
        AUTO(TRIGGER_SIGNIFICANT_TIME, "significant-time", "significant time", 0),
    [TRIGGER_COMPACTION_WARNING] =
        AUTO(TRIGGER_COMPACTION_WARNING, "compaction-warning", "compaction warning", 0),
    [TRIGGER_TASK_FAILED] = AUTO(TRIGGER_TASK_FAILED, "task-failed", "task failed", 0),
    [TRIGGER_TOOL_CALL] = AUTO(TRIGGER_TOOL_CALL, "tool-call", "tool call", 0),
    [TRIGGER_BEFORE_RESTORE] =
        AUTO(TRIGGER_BEFORE_RESTORE, "before-restore", "before restore", 0),
    [TRIGGER_PROMPT] = AUTO(TRIGGER_PROMPT, "prompt", "prompt", 0),
    [TRIGGER_BEFORE_TOOL] =
        AUTO(TRIGGER_BEFORE_TOOL, "before-tool", "before tool", QUIET),
    [TRIGGER_AFTER_TOOL] = AUTO(TRIGGER_AFTER_TOOL, "after-tool", "after tool", QUIET),
    [TRIGGER_TURN_ENDED] = AUTO(TRIGGER_TURN_ENDED, "turn-ended", "turn ended", QUIET),
    [TRIGGER_FILES_SETTLED] =
        AUTO(TRIGGER_FILES_SETTLED, "files-settled", "files settled", 0),
    [TRIGGER_CONTEXT_THRESHOLD] =
        AUTO(TRIGGER_CONTEXT_THRESHOLD, "context-threshold", "context threshold", 0),
    [TRIGGER_THREAD] = {TRIGGER_THREAD, "thread", NULL, 0},
};

/* A number that is none reads the empty row 0. */
static unsigned row_of(enum trigger trigger)
{
    return (unsigned)trigger < TRIGGERS_END ? (unsigned)trigger : 0;
}

const char *trigger_name(enum trigger trigger)
{
    return triggers[row_of(trigger)].name;
}

const char *trigger_message(enum trigger trigger)
{
    return triggers[row_of(trigger)].message;
}

bool trigger_is_automatic(enum trigger trigger)
{
    return triggers[row_of(trigger)].flags & AUTOMATIC;
}

bool trigger_is_significant(enum trigger trigger)
{
    return triggers[row_of(trigger)].flags & SIGNIFICANT;
}

bool trigger_counts_messages(enum trigger trigger)
{
    return !(triggers[row_of(trigger)].flags & QUIET);
}

enum trigger trigger_kind(enum trigger trigger)
{
    return triggers[row_of(trigger)].kind;
}

int trigger_parse(struct str name, enum trigger *trigger, struct cairn_error *error)
{
    struct str names[TRIGGERS_END];
    size_t n = 0;
    for (unsigned i = 1; i < TRIGGERS_END; i++) {
        if (!triggers[i].name) /* no trigger has this number */
            continue;
        names[n] = str_of(triggers[i].name);
        if (str_equal(name, names[n++])) {
            *trigger = (enum trigger)i;
            return 0;
        }
    }
    struct str near = str_nearest(name, names, n);
    return error_set(error, CAIRN_EUSAGE, "there is no trigger '%.*s'%s%.*s%s",
                     (int)utf8_fit(name, 80), name.ptr,
                     near.len ? "; did you mean '" : "", (int)near.len,
                     near.len ? near.ptr : "", near.len ? "'?" : "");
}

unsigned trigger_tags(enum trigger trigger, const char *tags[TRIGGER_TAGS])
{
    unsigned n = 0;
    if (trigger == TRIGGER_SCHEDULED)
        tags[n++] = trigger_name(trigger);
    if (!trigger_is_automatic(trigger))
        return n;
    tags[n++] = "auto";
    tags[n++] = trigger_name(trigger_kind(trigger));
    if (trigger_kind(trigger) != trigger)
        tags[n++] = trigger_name(trigger);
    return n;
}

enum trigger trigger_of_hypothesis(enum hypothesis_status now)
{
    if (now == HYPOTHESIS_CONFIRMED)
        return TRIGGER_HYPOTHESIS_CONFIRMED;
    if (now == HYPOTHESIS_REJECTED)
        return TRIGGER_HYPOTHESIS_REJECTED;
    return TRIGGER_HYPOTHESIS_STATUS;
}

/* ---- Whether ---- */

int64_t moment_since(const struct moment *earlier, const struct moment *later)
{
    /* Within one boot the boot clock never goes back, but for a container that has
     * another offset to it: then it counts from something else, as after a boot. */
    bool same_boot = earlier->boot_id.len &&
                     str_equal(earlier->boot_id, later->boot_id) &&
                     later->boot_ns >= earlier->boot_ns;
    int64_t ns = same_boot ? ns_between(earlier->boot_ns, later->boot_ns)
                           : ns_between(earlier->utc_ns, later->utc_ns);
    return ns > 0 ? ns : 0;
}

struct trigger_settings trigger_settings_default(void)
{
    return (struct trigger_settings){
        .off = 1u << TRIGGER_TOOL_CALL,
        .interval_ns = 300 * SECOND_NS,
    };
}

const char *trigger_answer_name(enum trigger_answer answer)
{
    static const char *const names[] = {
        [TRIGGER_MAKES] = "made",
        [TRIGGER_OFF] = "off",
        [TRIGGER_TOO_SOON] = "too soon",
        [TRIGGER_UNCHANGED] = "unchanged",
        [TRIGGER_NOT_CROSSED] = "no new threshold",
    };
    return (unsigned)answer < COUNT_OF(names) ? names[answer] : NULL;
}

static bool is_off(const struct trigger_settings *settings, enum trigger trigger)
{
    if (trigger == TRIGGER_SCHEDULED)
        return settings->schedule_ns <= 0;
    return settings->off >> trigger_kind(trigger) & 1;
}

enum trigger_answer trigger_decide(const struct trigger_settings *settings,
                                   const struct trigger_case *raised)
{
    assert(trigger_name(raised->trigger));
    if (raised->trigger == TRIGGER_MANUAL)
        return TRIGGER_MAKES;
    if (is_off(settings, raised->trigger))
        return TRIGGER_OFF;
    if (raised->trigger == TRIGGER_SIGNIFICANT_TIME &&
        moment_since(&raised->last, &raised->now) < settings->interval_ns)
        return TRIGGER_TOO_SOON;
    if (raised->trigger == TRIGGER_CONTEXT_THRESHOLD && !raised->crossed)
        return TRIGGER_NOT_CROSSED;
    return raised->unchanged ? TRIGGER_UNCHANGED : TRIGGER_MAKES;
}

bool schedule_due(const struct trigger_settings *settings, const struct moment *last,
                  const struct moment *now, int64_t *wait_ns)
{
    *wait_ns = INT64_MAX;
    if (settings->schedule_ns <= 0)
        return false;
    int64_t since = moment_since(last, now);
    *wait_ns = since < settings->schedule_ns ? settings->schedule_ns - since : 0;
    return *wait_ns == 0;
}

/* ==== As people write them ==== */

/* The settings of a session, from texts that people write. */

/* Thousands of checkpoints of a tree such as /usr/share/doc, of which one in a hundred
 * files changes each time, take less (docs/performance.md): who gets there has most
 * likely something in it that was not meant, such as what a build makes. */
#define BUDGET_USUAL "2G"

enum { BUDGET_BYTES = 32 }; /* of what is written */

static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {{"d", 86400 * SECOND_NS},
             {"h", 3600 * SECOND_NS},
             {"m", 60 * SECOND_NS},
             {"s", SECOND_NS}};

enum { UNITS = COUNT_OF(units) };

#define TIME_MOST (366 * 86400 * SECOND_NS)

/* In the largest unit of which it is a whole number; whatever is set here is one. */
void settings_time(int64_t ns, char out[32])
{
    const struct unit *unit = units;
    while (unit < &units[UNITS - 1] && ns % unit->ns)
        unit++;
    snprintf(out, 32, "%lld%s", (long long)(ns / unit->ns), unit->name);
}

/* "300s", "10m", "1h30m": each unit once, the larger ones first. */
static bool time_parse(struct str text, int64_t *out)
{
    int64_t sum = 0;
    size_t at = 0;
    for (const struct unit *unit = units; unit < &units[UNITS] && at < text.len;
         unit++) {
        size_t digits = at;
        int64_t n = 0;
        while (digits < text.len && text.ptr[digits] >= '0' &&
               text.ptr[digits] <= '9' && n < TIME_MOST / 10)
            n = 10 * n + (text.ptr[digits++] - '0');
        if (digits == at || digits == text.len)
            return false;
        if (text.ptr[digits] != unit->name[0])
            continue;
        if (n > TIME_MOST / unit->ns)
            return false;
        sum += n * unit->ns;
        at = digits + 1;
    }
    *out = sum;
    return at == text.len && sum > 0 && sum <= TIME_MOST;
}

bool settings_has_switch(enum trigger trigger)
{
    return trigger_is_automatic(trigger) && trigger_kind(trigger) == trigger;
}

static int set_time(struct str value, bool may_be_off, const char *name, int64_t *ns,
                    struct cairn_error *error)
{
    if (may_be_off && str_equal(value, STR("off"))) {
        *ns = 0;
        return 0;
    }
    return time_parse(value, ns)
               ? 0
               : error_set(error, CAIRN_EUSAGE,
                           "'%.*s' is not a value of %s: give a time such as 300s or "
                           "1h30m, at most 366 days%s",
                           (int)utf8_fit(value, 80), value.ptr, name,
                           may_be_off ? ", or off" : "");
}

/* The value must outlive the settings. */
static int set_redact(struct session_settings *settings, struct str value,
                      struct cairn_error *error)
{
    if (str_equal(value, STR("off")))
        value.len = 0;
    if (!is_name_list(value))
        return error_set(
            error, CAIRN_EUSAGE,
            "'%.*s' is not a value of redact: give the names of environment "
            "variables, each once, with commas between them, or off",
            (int)utf8_fit(value, 80), value.ptr);
    settings->redact = value;
    return 0;
}

/* The value must outlive the settings. */
static int set_environment(struct session_settings *settings, struct str value,
                           struct cairn_error *error)
{
    if (str_equal(value, STR("off")))
        value.len = 0;
    if (!is_pattern_list(value))
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is not a value of environment: give the names of "
                         "environment variables, each once, with commas between them "
                         "(NAME* for all that begin with NAME), or off",
                         (int)utf8_fit(value, 80), value.ptr);
    settings->environment = value;
    return 0;
}

static int set_number(struct str value, uint32_t most, const char *name, uint32_t *out,
                      struct cairn_error *error)
{
    uint64_t number = 0;
    bool off = str_equal(value, STR("off"));
    if (!off && (!str_to_u64(value, &number) || number < 1 || number > most))
        return error_set(
            error, CAIRN_EUSAGE,
            "'%.*s' is not a value of %s: give a number from 1 to %u, or off",
            (int)utf8_fit(value, 80), value.ptr, name, most);
    *out = (uint32_t)number;
    return 0;
}

static int set_hourly(struct str value, bool *hourly, struct cairn_error *error)
{
    bool off = str_equal(value, STR("off"));
    if (!off && !str_equal(value, STR("on")))
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is not a value of keep-hourly: give on or off",
                         (int)utf8_fit(value, 80), value.ptr);
    *hourly = !off;
    return 0;
}

/* The value must outlive the settings. */
static int set_tags(struct str value, struct str *tags, struct cairn_error *error)
{
    if (str_equal(value, STR("off")))
        value.len = 0;
    else if (!value.len)
        value = STR(","); /* refused */
    if (!is_text_list(value, CHECKPOINT_TAG_BYTES))
        return error_set(
            error, CAIRN_EUSAGE,
            "'%.*s' is not a value of keep-tag: give tags, each once, with "
            "commas between them, or off",
            (int)utf8_fit(value, 80), value.ptr);
    *tags = value;
    return 0;
}

/* 1: it is none of these. */
static int set_keeping(struct session_keeping *keep, struct str name, struct str value,
                       struct cairn_error *error)
{
    if (str_equal(name, STR("keep-last")))
        return set_number(value, KEEP_LAST_MOST, "keep-last", &keep->last, error);
    if (str_equal(name, STR("keep-days")))
        return set_number(value, KEEP_DAYS_MOST, "keep-days", &keep->days, error);
    if (str_equal(name, STR("keep-hourly")))
        return set_hourly(value, &keep->hourly, error);
    if (str_equal(name, STR("keep-tag")))
        return set_tags(value, &keep->tags, error);
    return 1;
}

static int set_switch(struct session_settings *settings, struct str name,
                      struct str value, struct cairn_error *error)
{
    enum trigger trigger;
    bool off = str_equal(value, STR("off"));
    if (trigger_parse(name, &trigger, NULL) || !settings_has_switch(trigger))
        return error_set(error, CAIRN_EUSAGE,
                         "there is no setting '%.*s': `cairn session config` shows "
                         "those that there are",
                         (int)utf8_fit(name, 80), name.ptr);
    if (!off && !str_equal(value, STR("on")))
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is not a value of %s: give on or off",
                         (int)utf8_fit(value, 80), value.ptr, trigger_name(trigger));
    uint32_t bit = 1u << trigger;
    settings->triggers.off =
        off ? settings->triggers.off | bit : settings->triggers.off & ~bit;
    return 0;
}

/* The value must outlive the settings. */
static int set_hook(struct session_settings *settings, struct str name,
                    struct str value, struct cairn_error *error)
{
    static const char start[] = "hook.";
    size_t n = sizeof start - 1;
    unsigned kind = hook_kind_parse((struct str){name.ptr + n, name.len - n});
    if (kind == HOOK_KINDS)
        return error_set(error, CAIRN_EUSAGE,
                         "there are no events of the kind '%.*s': `cairn session "
                         "config` shows for which there are hooks",
                         (int)utf8_fit((struct str){name.ptr + n, name.len - n}, 80),
                         name.ptr + n);
    if (str_equal(value, STR("off")))
        value.len = 0;
    else if (!hook_is_command(value))
        return error_set(error, CAIRN_EUSAGE,
                         "a hook is a shell command of 1 to %d bytes of UTF-8, or off",
                         HOOK_BYTES);
    settings->hooks[kind] = value;
    return 0;
}

/* ---- Later ones: each a text ---- */

/* As files_root_name makes it. */
static bool is_files_root(struct str name)
{
    return name.len > 0 && name.len <= FILES_ROOT_BYTES &&
           !memchr(name.ptr, 0, name.len);
}

enum { TOOL_BYTES = 256 };

static bool is_tool_list(struct str list)
{
    return list.len > 0 && is_text_list(list, TOOL_BYTES);
}

/* "500M", "2G", "1000000": in units of 1,024. */
static bool bytes_parse(struct str text, uint64_t *out)
{
    static const char names[] = "KMGT";
    const char *unit =
        text.len ? memchr(names, text.ptr[text.len - 1], sizeof names - 1) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - names + 1) : 0;
    text.len -= unit != NULL;
    if (!str_to_u64(text, out) || *out == 0 || *out > (uint64_t)INT64_MAX >> shift)
        return false;
    *out <<= shift;
    return true;
}

static bool is_budget(struct str text)
{
    uint64_t bytes;
    return str_equal(text, STR("off")) ||
           (text.len <= BUDGET_BYTES && bytes_parse(text, &bytes));
}

static bool is_settle(struct str text)
{
    enum { SETTLE_BYTES = 64 };
    int64_t ns;
    return str_equal(text, STR("off")) ||
           (text.len <= SETTLE_BYTES && time_parse(text, &ns));
}

/* ---- Thresholds ---- */

static uint8_t threshold_of(struct str text)
{
    for (unsigned i = 0; i < CONTEXT_THRESHOLDS; i++)
        if (str_equal(text, str_of(context_thresholds[i].text)))
            return context_thresholds[i].percent;
    return 0;
}

static bool is_threshold(struct str text)
{
    return threshold_of(text) > 0;
}

uint8_t settings_crossed(const struct session_settings *settings)
{
    return threshold_of(settings->later[SETTING_CROSSED]);
}

void settings_cross(struct session_settings *settings, uint8_t threshold)
{
    for (unsigned i = 0; i < CONTEXT_THRESHOLDS; i++)
        if (context_thresholds[i].percent == threshold)
            settings->later[SETTING_CROSSED] = str_of(context_thresholds[i].text);
}

/* What session/thread/thread_name.c makes; len 0 says that it is none. */
static bool is_thread(struct str text)
{
    return text.len > 0 && !memchr(text.ptr, 0, text.len);
}

/* ---- The table of later ones ---- */

static const struct later {
    const char *name;
    bool (*is_value)(struct str);
    const char *usual, *wants;
} laters[SETTINGS_LATER_END] = {
    [SETTING_FILES] = {"files", is_files_root, "off", "a directory, or off"},
    [SETTING_STRATEGY] = {"strategy", strategy_is_name, "manual",
                          "manual, per_prompt, per_tool_use or smart"},
    [SETTING_TOOLS] = {"tools", is_tool_list, TOOLS_USUAL,
                       "words, each once, with commas between them"},
    [SETTING_BUDGET] = {"size-budget", is_budget, BUDGET_USUAL,
                        "a size such as 500M or 2G, or off"},
    [SETTING_SETTLE] = {"settle", is_settle, "2s",
                        "a time such as 2s or 1m, at most 366 days, or off"},
    [SETTING_CROSSED] = {NULL, is_threshold, NULL, NULL},
    [SETTING_THREAD] = {NULL, is_thread, NULL, NULL},
};

const char *later_name(unsigned n)
{
    return laters[n].name;
}

const char *later_usual(unsigned n)
{
    return laters[n].usual;
}

static bool later_is_value(unsigned n, struct str text)
{
    return laters[n].is_value && laters[n].is_value(text);
}

uint64_t settings_budget(const struct session_settings *settings)
{
    struct str text = settings->later[SETTING_BUDGET];
    uint64_t bytes;
    return bytes_parse(text.len ? text : STR(BUDGET_USUAL), &bytes) ? bytes : 0;
}

int64_t settings_settle(const struct session_settings *settings)
{
    struct str text = settings->later[SETTING_SETTLE];
    int64_t ns = 0;
    if (!text.len)
        text = str_of(later_usual(SETTING_SETTLE));
    return time_parse(text, &ns) ? ns : 0;
}

/* 1: it is none of these. The value must outlive the settings. */
static int set_later(struct session_settings *settings, struct str name,
                     struct str value, struct cairn_error *error)
{
    unsigned n = 1;
    while (n < SETTINGS_LATER_END &&
           (!laters[n].name || !str_equal(name, str_of(laters[n].name))))
        n++;
    if (n == SETTINGS_LATER_END)
        return 1;
    if (n != SETTING_FILES && str_equal(value, str_of(laters[n].usual)))
        value.len = 0;
    else if (value.len ? !later_is_value(n, value) : n != SETTING_FILES)
        return error_set(error, CAIRN_EUSAGE, "'%.*s' is not a value of %s: give %s",
                         (int)utf8_fit(value, 80), value.ptr, laters[n].name,
                         laters[n].wants);
    settings->later[n] = value;
    return 0;
}

int settings_set(struct session_settings *settings, struct str name, struct str value,
                 struct cairn_error *error)
{
    if (str_equal(name, STR("interval")))
        return set_time(value, false, "interval", &settings->triggers.interval_ns,
                        error);
    if (str_equal(name, STR("schedule")))
        return set_time(value, true, "schedule", &settings->triggers.schedule_ns,
                        error);
    if (str_equal(name, STR("redact")))
        return set_redact(settings, value, error);
    if (str_equal(name, STR("hook-timeout")))
        return set_time(value, false, "hook-timeout", &settings->hook_limit_ns, error);
    if (name.len > 5 && memcmp(name.ptr, "hook.", 5) == 0)
        return set_hook(settings, name, value, error);
    if (str_equal(name, STR("environment")))
        return set_environment(settings, value, error);
    int rc = set_later(settings, name, value, error);
    if (rc <= 0)
        return rc;
    rc = set_keeping(&settings->keep, name, value, error);
    return rc > 0 ? set_switch(settings, name, value, error) : rc;
}

/* ==== As bytes ==== */

/* The settings of a session, as bytes of its row.
 *
 *   byte version, u32 triggers that are off, u64 interval, u64 schedule (ns),
 *   the last scheduled checkpoint: u64 UTC, u64 CLOCK_BOOTTIME (ns), lstr boot id,
 *   lstr names of variables that are redacted, each once, with commas between them
 *   version 2 also: lstr names of variables that checkpoints keep, likewise,
 *   u64 limit of hooks (ns), varint number of hooks, for each in ascending order: byte
 *   kind, lstr command
 *   version 3 also, where a rule is set: u32 newest, u32 days, byte hourly, lstr tags,
 *   each once, with commas between them
 *   version 4, where one of the later ones is set: as version 3, also where no rule is
 *   set, and varint number of later ones, for each in ascending order: byte its number,
 *   lstr its text */

#define HOOK_LIMIT_NS 10000000000ll

enum { VERSION = 2, VERSION_KEEPING = 3, VERSION_LATER = 4 };

enum { BOOT_ID_BYTES = 64 };

struct session_settings session_settings_default(void)
{
    return (struct session_settings){.triggers = trigger_settings_default(),
                                     .hook_limit_ns = HOOK_LIMIT_NS};
}

static void encode_hooks(const struct session_settings *settings, struct buf *out)
{
    unsigned n = 0;
    for (unsigned kind = 0; kind < HOOK_KINDS; kind++)
        n += settings->hooks[kind].len > 0;
    buf_u64(out, (uint64_t)settings->hook_limit_ns);
    buf_varint(out, n);
    for (unsigned kind = 0; kind < HOOK_KINDS; kind++)
        if (settings->hooks[kind].len) {
            buf_byte(out, (uint8_t)kind);
            buf_lstr(out, settings->hooks[kind]);
        }
}

/* False: they are not as they could have been written. */
static bool decode_hooks(struct reader *in, struct session_settings *out)
{
    unsigned next = 0;
    out->hook_limit_ns = (int64_t)read_u64(in);
    uint64_t n = read_varint(in);
    for (uint64_t i = 0; i < n && !in->failed; i++) {
        unsigned kind = read_byte(in);
        struct str command = read_lstr(in);
        if (kind < next || kind >= HOOK_KINDS || !hook_is_command(command))
            return false;
        out->hooks[kind] = command;
        next = kind + 1;
    }
    return out->hook_limit_ns > 0;
}

bool settings_keep_some(const struct session_settings *settings)
{
    const struct session_keeping *keep = &settings->keep;
    return keep->last || keep->days || keep->hourly || keep->tags.len;
}

void settings_encode_keeping(const struct session_keeping *keep, struct buf *out)
{
    buf_u32(out, keep->last);
    buf_u32(out, keep->days);
    buf_byte(out, keep->hourly);
    buf_lstr(out, keep->tags);
}

static unsigned count_later(const struct session_settings *settings)
{
    unsigned count = 0;
    for (unsigned n = 1; n < SETTINGS_LATER_END; n++)
        count += settings->later[n].len > 0;
    return count;
}

void settings_encode(const struct session_settings *settings, struct buf *out)
{
    bool keeping = settings_keep_some(settings);
    unsigned later = count_later(settings);
    buf_byte(out, later ? VERSION_LATER : keeping ? VERSION_KEEPING : VERSION);
    buf_u32(out, settings->triggers.off);
    buf_u64(out, (uint64_t)settings->triggers.interval_ns);
    buf_u64(out, (uint64_t)settings->triggers.schedule_ns);
    buf_u64(out, (uint64_t)settings->scheduled.utc_ns);
    buf_u64(out, (uint64_t)settings->scheduled.boot_ns);
    buf_lstr(out, settings->scheduled.boot_id);
    buf_lstr(out, settings->redact);
    buf_lstr(out, settings->environment);
    encode_hooks(settings, out);
    if (keeping || later)
        settings_encode_keeping(&settings->keep, out);
    if (!later)
        return;
    buf_varint(out, later);
    for (unsigned n = 1; n < SETTINGS_LATER_END; n++)
        if (settings->later[n].len) {
            buf_byte(out, (uint8_t)n);
            buf_lstr(out, settings->later[n]);
        }
}

static bool read_keeping(struct reader *in, struct session_settings *out)
{
    struct session_keeping *keep = &out->keep;
    keep->last = read_u32(in);
    keep->days = read_u32(in);
    uint8_t hourly = read_byte(in);
    keep->hourly = hourly == 1;
    keep->tags = read_lstr(in);
    return hourly <= 1 && keep->last <= KEEP_LAST_MOST &&
           keep->days <= KEEP_DAYS_MOST &&
           is_text_list(keep->tags, CHECKPOINT_TAG_BYTES);
}

/* False: they are not as they could have been written. */
static bool decode_later(struct reader *in, struct session_settings *out)
{
    unsigned next = 1;
    uint64_t count = read_varint(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        unsigned n = read_byte(in);
        struct str text = read_lstr(in);
        if (n < next || n >= SETTINGS_LATER_END || !later_is_value(n, text))
            return false;
        out->later[n] = text;
        next = n + 1;
    }
    return count > 0;
}

int settings_decode(struct str bytes, struct session_settings *out,
                    struct cairn_error *error)
{
    struct reader in = reader_of(bytes.ptr, bytes.len);
    uint8_t version = read_byte(&in);
    bool good = version >= 1 && version <= VERSION_LATER;
    struct session_settings made = {.hook_limit_ns = HOOK_LIMIT_NS};
    made.triggers.off = read_u32(&in);
    made.triggers.interval_ns = (int64_t)read_u64(&in);
    made.triggers.schedule_ns = (int64_t)read_u64(&in);
    made.scheduled.utc_ns = (int64_t)read_u64(&in);
    made.scheduled.boot_ns = (int64_t)read_u64(&in);
    made.scheduled.boot_id = read_lstr(&in);
    made.redact = read_lstr(&in);
    if (version > 1)
        made.environment = read_lstr(&in);
    if (version > 1)
        good = decode_hooks(&in, &made) && good;
    if (version >= VERSION_KEEPING)
        good = read_keeping(&in, &made) && good;
    if (version == VERSION_KEEPING)
        good = settings_keep_some(&made) && good;
    if (version == VERSION_LATER)
        good = decode_later(&in, &made) && good;
    good = good && is_name_list(made.redact) && is_pattern_list(made.environment) &&
           reader_done(&in) && made.scheduled.boot_id.len <= BOOT_ID_BYTES &&
           made.triggers.interval_ns >= 0 && made.triggers.schedule_ns >= 0;
    if (!good)
        return error_set(error, CAIRN_EDAMAGED,
                         "the settings of the session are damaged: run `cairn doctor`");
    *out = made;
    return 0;
}
