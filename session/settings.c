/* SPDX-License-Identifier: MIT */
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
#include "session/settings.h"

#include "base/reader.h"
#include "base/utf8.h"
#include "checkpoint/sections.h"
#include "session/outside/name_list.h"

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
