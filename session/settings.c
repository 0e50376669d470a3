/* SPDX-License-Identifier: MIT */
/* The settings of a session, as bytes of its row and as texts.
 *
 *   byte version, u32 triggers that are off, u64 interval, u64 schedule (ns),
 *   the last scheduled checkpoint: u64 UTC, u64 CLOCK_BOOTTIME (ns), lstr boot id,
 *   lstr names of variables that are redacted, each once, with commas between them
 *   version 2 also: lstr names of variables that checkpoints keep, likewise,
 *   u64 limit of hooks (ns), varint number of hooks, for each in ascending order: byte
 *   kind, lstr command
 *   version 3 also, where a rule is set: u32 newest, u32 days, byte hourly, lstr tags,
 *   each once, with commas between them
 *   version 4, where files are kept: as version 3, also where no rule is set, and lstr
 *   where they are */
#include "base/decimal.h"
#include "base/reader.h"
#include "base/utf8.h"
#include "session/outside/name_list.h"
#include "session/session_int.h"

#include <stdio.h>

#define SECOND_NS 1000000000ll
#define HOOK_LIMIT_NS (10 * SECOND_NS)

enum { VERSION = 2, VERSION_KEEPING = 3, VERSION_FILES = 4 };
enum { BOOT_ID_BYTES = 64, KEEP_LAST_MOST = 10000, TAG_LIST_BYTES = 4096 };

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

void settings_encode(const struct session_settings *settings, struct buf *out)
{
    bool keeping = settings_keep_some(settings);
    bool files = settings->files.len > 0;
    buf_byte(out, files ? VERSION_FILES : keeping ? VERSION_KEEPING : VERSION);
    buf_u32(out, settings->triggers.off);
    buf_u64(out, (uint64_t)settings->triggers.interval_ns);
    buf_u64(out, (uint64_t)settings->triggers.schedule_ns);
    buf_u64(out, (uint64_t)settings->scheduled.utc_ns);
    buf_u64(out, (uint64_t)settings->scheduled.boot_ns);
    buf_lstr(out, settings->scheduled.boot_id);
    buf_lstr(out, settings->redact);
    buf_lstr(out, settings->environment);
    encode_hooks(settings, out);
    if (keeping || files)
        settings_encode_keeping(&settings->keep, out);
    if (files)
        buf_lstr(out, settings->files);
}

/* May it be a tag, and be printed? */
static bool is_tag(struct str text)
{
    const char *at = text.ptr, *end = at + text.len;
    uint32_t code = 0;
    if (!text.len || text.len > CHECKPOINT_TAG_BYTES)
        return false;
    while (at < end) {
        size_t n = utf8_next(at, end, &code);
        if (!n || code < 0x20 || code == 0x7f)
            return false;
        at += n;
    }
    return true;
}

static bool is_in_list(struct str list, struct str tag)
{
    while (list.len)
        if (str_equal(next_name(&list), tag))
            return true;
    return false;
}

/* No tag or several, each once. */
static bool is_tag_list(struct str list)
{
    struct str rest = list;
    if (list.len > TAG_LIST_BYTES || (list.len && list.ptr[list.len - 1] == ','))
        return false;
    while (rest.len) {
        struct str tag = next_name(&rest);
        if (!is_tag(tag) || is_in_list(rest, tag))
            return false;
    }
    return true;
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
           keep->days <= KEEP_DAYS_MOST && is_tag_list(keep->tags);
}

/* As files_root_name makes it. */
static bool is_files_root(struct str name)
{
    return name.len > 0 && name.len <= FILES_ROOT_BYTES &&
           !memchr(name.ptr, 0, name.len);
}

int settings_decode(struct str bytes, struct session_settings *out,
                    struct cairn_error *error)
{
    struct reader in = reader_of(bytes.ptr, bytes.len);
    uint8_t version = read_byte(&in);
    bool good = version >= 1 && version <= VERSION_FILES;
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
    if (version == VERSION_FILES)
        made.files = read_lstr(&in);
    if (version == VERSION_FILES)
        good = is_files_root(made.files) && good;
    good = good && is_name_list(made.redact) && is_pattern_list(made.environment) &&
           reader_done(&in) && made.scheduled.boot_id.len <= BOOT_ID_BYTES &&
           made.triggers.interval_ns >= 0 && made.triggers.schedule_ns >= 0;
    if (!good)
        return error_set(error, CAIRN_EDAMAGED,
                         "the settings of the session are damaged: run `cairn doctor`");
    *out = made;
    return 0;
}

/* ---- As texts ---- */

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
    if (!is_tag_list(value))
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
    if (str_equal(name, STR("files"))) {
        settings->files = value; /* a name of a root, or empty */
        return 0;
    }
    int rc = set_keeping(&settings->keep, name, value, error);
    return rc > 0 ? set_switch(settings, name, value, error) : rc;
}
