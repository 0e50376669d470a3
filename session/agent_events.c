/* SPDX-License-Identifier: MIT */
/* What agents' hooks say, and when that asks for a checkpoint. */
#include "session/agent_events.h"

#include "session/outside.h"

#include "base/json_scan.h"

#include <ctype.h>
#include <stdio.h>

/* ==== One event ==== */

enum agent_moment agent_moment_of(const char *name)
{
    static const struct {
        const char *name;
        enum agent_moment moment;
    } known[] = {
        {"SessionStart", AGENT_SESSION_BEGAN}, {"UserPromptSubmit", AGENT_PROMPT},
        {"PreToolUse", AGENT_BEFORE_TOOL},     {"PostToolUse", AGENT_AFTER_TOOL},
        {"PreCompact", AGENT_COMPACTION},      {"Stop", AGENT_TURN_ENDED},
        {"SessionEnd", AGENT_SESSION_ENDED}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].moment;
    return AGENT_OTHER;
}

/* ---- Fields ---- */

static const struct {
    const char *key;
    size_t most;
} fields[HOOK_FIELDS] = {
    [HOOK_SESSION_ID] = {"session_id", HOOK_NAME_BYTES},
    [HOOK_TRANSCRIPT] = {"transcript_path", HOOK_PATH_BYTES},
    [HOOK_CWD] = {"cwd", HOOK_PATH_BYTES},
    [HOOK_NAME] = {"hook_event_name", HOOK_NAME_BYTES},
    [HOOK_PROMPT] = {"prompt", HOOK_NAME_BYTES},
    [HOOK_TOOL] = {"tool_name", HOOK_NAME_BYTES},
};

/* HOOK_FIELDS: none of these. */
static unsigned field_of(struct str raw)
{
    unsigned i = 0;
    while (i < HOOK_FIELDS && !str_equal(raw, str_of(fields[i].key)))
        i++;
    return i;
}

/* Where the text of a field begins in the room, and how long it is. */
struct field_place {
    size_t at;
    bool there;
};

/* A character in JSON takes at most six bytes for one of its own, so a longer raw text
 * is too long in any case. */
static int take_field(struct hook_event *out, unsigned field, struct str raw,
                      struct field_place *place, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    size_t most = fields[field].most;
    if (field == HOOK_PROMPT && raw.len > most)
        raw.len = most;
    if (raw.len <= 6 * most)
        json_unescape(raw, &text);
    int rc = buf_check(&text, error);
    if (!rc && (raw.len > 6 * most || text.size > most))
        rc = error_set(error, CAIRN_EUSAGE, "its %s has more than %zu bytes",
                       fields[field].key, most);
    else if (!rc && text.size && memchr(text.data, 0, text.size) &&
             field == HOOK_PROMPT)
        text.size = strlen(text.data);
    else if (!rc && text.size && memchr(text.data, 0, text.size))
        rc = error_set(error, CAIRN_EUSAGE, "its %s has a NUL byte in it",
                       fields[field].key);
    *place = (struct field_place){out->room.size, true};
    if (!rc) {
        buf_str(&out->room, buf_view(&text));
        buf_byte(&out->room, 0);
        rc = buf_check(&out->room, error);
    }
    buf_release(&text);
    return rc;
}

static int refuse_json(const struct json_scan *in, struct str json,
                       enum json_token token, struct cairn_error *error)
{
    static const char wanted[] = "an agent's hook gives its event as one JSON object, "
                                 "as in {\"hook_event_name\": \"Stop\"}";
    char why[JSON_WHY_BYTES];
    if (json.len == 0)
        return error_set(error, CAIRN_EUSAGE, "stdin is empty: %s", wanted);
    if (token != JSON_BAD)
        return error_set(error, CAIRN_EUSAGE, "it is not a JSON object: %s", wanted);
    json_why(in, json, why);
    return error_set(error, CAIRN_EUSAGE, "%s: %s", why, wanted);
}

static int take_fields(struct str json, struct hook_event *out,
                       struct field_place places[HOOK_FIELDS],
                       struct cairn_error *error)
{
    struct json_scan in = json_scan_of(json);
    enum json_token token = json_next(&in);
    unsigned field = HOOK_FIELDS;
    bool object = token == JSON_OBJECT;
    int rc = 0;
    for (; !rc && object && token != JSON_END && token != JSON_BAD;
         token = json_next(&in)) {
        if (token == JSON_KEY && in.depth == 1) {
            field = field_of(in.raw);
            continue;
        }
        if (token == JSON_STRING && in.depth == 1 && field < HOOK_FIELDS)
            rc = take_field(out, field, in.raw, &places[field], error);
        if (in.depth == 1)
            field = HOOK_FIELDS;
    }
    if (rc || (object && token == JSON_END))
        return rc;
    return refuse_json(&in, json, token, error);
}

int hook_event_read(struct str json, struct hook_event *out, struct cairn_error *error)
{
    struct field_place places[HOOK_FIELDS] = {{0}};
    *out = (struct hook_event){.room = BUF_INIT};
    int rc = take_fields(json, out, places, error);
    if (rc)
        return rc;
    if (!places[HOOK_NAME].there)
        return error_set(
            error, CAIRN_EUSAGE,
            "it has no hook_event_name, a text: only events as Claude Code "
            "documents them are taken");
    for (unsigned i = 0; i < HOOK_FIELDS; i++)
        if (places[i].there && out->room.data[places[i].at])
            out->at[i] = out->room.data + places[i].at;
    out->moment = agent_moment_of(out->room.data + places[HOOK_NAME].at);
    return 0;
}

void hook_event_release(struct hook_event *event)
{
    buf_release(&event->room);
    *event = (struct hook_event){.room = BUF_INIT};
}

/* ---- The session of an agent ---- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_uuid(const char *text)
{
    for (int i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_hex(text[i]))
            return false;
    }
    return text[36] == '\0';
}

/* FNV-1a: only has to tell apart what begins alike. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

uint32_t agent_hash(const char *text)
{
    uint64_t hash = hash_of(text);
    return (uint32_t)(hash ^ hash >> 32);
}

bool agent_session_name(const char *session_id, char out[AGENT_NAME_BYTES])
{
    enum { SHOWN = 32 };
    size_t n = 0;
    bool whole = true;
    if (!session_id || !*session_id)
        return false;
    if (is_uuid(session_id)) {
        bool random = session_id[14] == '4'; /* version: RFC 9562 */
        snprintf(out, AGENT_NAME_BYTES, "agent-%.8s%s%s", session_id, random ? "" : "-",
                 random ? "" : session_id + 24);
        return true;
    }
    memcpy(out, "agent-", 6);
    for (; n < SHOWN && session_id[n]; n++) {
        char c = session_id[n];
        bool plain = (c >= '0' && c <= '9') ||
                     ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '_' ||
                     c == '.';
        out[6 + n] = plain ? c : '-';
        whole = whole && plain;
    }
    out[6 + n] = '\0';
    if (!whole || session_id[n])
        snprintf(out + 6 + n, AGENT_NAME_BYTES - 6 - n, "-%016llx",
                 (unsigned long long)hash_of(session_id));
    return true;
}

/* ==== When it asks for a checkpoint ==== */

static const char *const names[] = {[STRATEGY_MANUAL] = "manual",
                                    [STRATEGY_PER_PROMPT] = "per_prompt",
                                    [STRATEGY_PER_TOOL_USE] = "per_tool_use",
                                    [STRATEGY_SMART] = "smart"};

enum { STRATEGIES = COUNT_OF(names) };

enum strategy strategy_of(struct str name)
{
    for (unsigned i = 0; i < STRATEGIES; i++)
        if (str_equal(name, str_of(names[i])))
            return (enum strategy)i;
    return STRATEGY_MANUAL;
}

bool strategy_is_name(struct str name)
{
    return strategy_of(name) != STRATEGY_MANUAL;
}

const char *strategy_name(enum strategy strategy)
{
    return names[strategy];
}

/* ---- Tools ---- */

static bool same_word(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (tolower((unsigned char)a.ptr[i]) != tolower((unsigned char)b.ptr[i]))
            return false;
    return true;
}

static bool part_ends(struct str name, size_t at)
{
    unsigned char before = (unsigned char)name.ptr[at - 1],
                  here = (unsigned char)name.ptr[at];
    return !isalnum(here) || (islower(before) && isupper(here));
}

static bool has_part(struct str name, struct str word)
{
    for (size_t at = 0, end; at < name.len; at = end) {
        while (at < name.len && !isalnum((unsigned char)name.ptr[at]))
            at++;
        end = at + (at < name.len);
        while (end < name.len && !part_ends(name, end))
            end++;
        if (same_word((struct str){name.ptr + at, end - at}, word))
            return true;
    }
    return false;
}

bool tool_is_destructive(struct str tool, struct str words)
{
    struct str rest = words.len ? words : STR(TOOLS_USUAL);
    if (!tool.len)
        return false;
    while (rest.len) {
        struct str word = next_name(&rest);
        if (str_equal(word, STR("*")) || same_word(tool, word) || has_part(tool, word))
            return true;
    }
    return false;
}

/* ---- When ---- */

bool strategy_asks(enum strategy strategy, enum agent_moment moment, bool destructive)
{
    switch (moment) {
    case AGENT_COMPACTION:
        return true;
    case AGENT_PROMPT:
        return strategy == STRATEGY_PER_PROMPT;
    case AGENT_BEFORE_TOOL:
    case AGENT_AFTER_TOOL:
        return strategy == STRATEGY_PER_TOOL_USE ||
               (strategy == STRATEGY_SMART && destructive);
    case AGENT_TURN_ENDED:
    case AGENT_SESSION_ENDED:
        return strategy != STRATEGY_MANUAL;
    case AGENT_SESSION_BEGAN:
    case AGENT_OTHER:
        return false;
    }
    return false;
}
