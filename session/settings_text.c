/* SPDX-License-Identifier: MIT */
/* The settings of a session, from texts that people write. */
#include "base/decimal.h"
#include "base/utf8.h"
#include "checkpoint/sections.h"
#include "session/agents/strategy.h"
#include "session/files.h"
#include "session/outside/context.h"
#include "session/outside/name_list.h"
#include "session/settings.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS 1000000000ll
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
enum { UNITS = sizeof units / sizeof units[0] };
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
                           "'%.*s' is no value of %s: give a time such as 300s or "
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
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is no value of redact: give the names of environment "
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
                         "'%.*s' is no value of environment: give the names of "
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
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is no value of %s: give a number from 1 to %u, or off",
                         (int)utf8_fit(value, 80), value.ptr, name, most);
    *out = (uint32_t)number;
    return 0;
}

static int set_hourly(struct str value, bool *hourly, struct cairn_error *error)
{
    bool off = str_equal(value, STR("off"));
    if (!off && !str_equal(value, STR("on")))
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is no value of keep-hourly: give on or off",
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
        return error_set(error, CAIRN_EUSAGE,
                         "'%.*s' is no value of keep-tag: give tags, each once, with "
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
                         "'%.*s' is no value of %s: give on or off",
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
};

const char *later_name(unsigned n)
{
    return laters[n].name;
}

const char *later_usual(unsigned n)
{
    return laters[n].usual;
}

bool later_is_value(unsigned n, struct str text)
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
        return error_set(error, CAIRN_EUSAGE, "'%.*s' is no value of %s: give %s",
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
