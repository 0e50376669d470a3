/* SPDX-License-Identifier: MIT */
/* What agents' hooks are told, and the settings in which hooks are entered: texts end
 * within their bounds, settings stay JSON, an entry is made once, and what was put in
 * can be taken out again, so that nothing of ours is left. */
#include "base/json_scan.h"
#include "session/agent_events.h"
#include "session/talk/agent_settings.h"
#include "tests/fuzz/fuzz.h"

#define COMMAND "cairn session hook --strategy smart"

static bool is_json(struct str text)
{
    struct json_scan in = json_scan_of(text);
    enum json_token token;
    while ((token = json_next(&in)) != JSON_END && token != JSON_BAD)
        continue;
    return token == JSON_END;
}

static void check_event(struct str json)
{
    struct hook_event event;
    struct cairn_error error = {0};
    char name[64];
    int code = hook_event_read(json, &event, &error);
    if (code)
        EXPLAINED(code, error);
    for (unsigned i = 0; !code && i < HOOK_FIELDS; i++)
        HOLDS(!event.at[i] || (*event.at[i] && strlen(event.at[i]) <= HOOK_PATH_BYTES));
    if (!code) {
        HOLDS(is_json(json));
        if (agent_session_name(event.at[HOOK_SESSION_ID], name))
            HOLDS(strlen(name) < sizeof name && !strpbrk(name, "/ '\"\n$"));
        (void)tool_is_destructive(str_of(event.at[HOOK_TOOL]), STR(""));
        HOLDS(!event.at[HOOK_TOOL] ||
              tool_is_destructive(str_of(event.at[HOOK_TOOL]),
                                  str_of(event.at[HOOK_TOOL])) ||
              strchr(event.at[HOOK_TOOL], ','));
    }
    hook_event_release(&event);
}

static void check_settings(struct str json)
{
    struct buf in = BUF_INIT, again = BUF_INIT, out = BUF_INIT;
    struct cairn_error error = {0};
    int code = hook_settings_edit(json, COMMAND, &in, &error);
    if (code)
        EXPLAINED(code, error);
    if (!code) {
        HOLDS(is_json(buf_view(&in)));
        HOLDS(hook_settings_edit(buf_view(&in), COMMAND, &again, NULL) == 0);
        HOLDS(str_equal(buf_view(&in), buf_view(&again)));
        HOLDS(hook_settings_edit(buf_view(&in), NULL, &out, NULL) == 0);
        HOLDS(is_json(buf_view(&out)));
        HOLDS(hook_settings_edit(buf_view(&out), NULL, &again, NULL) == 0);
        HOLDS(str_equal(buf_view(&out), buf_view(&again)));
    }
    buf_release(&in);
    buf_release(&again);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1); /* of this very size, for the sanitizer */
    char *exact = size ? realloc(copy, size) : copy;
    HOLDS(exact);
    if (size)
        memcpy(exact, data, size);
    check_event((struct str){exact, size});
    if (size < 20000) /* each change reads it anew */
        check_settings((struct str){exact, size});
    free(exact);
    return 0;
}
