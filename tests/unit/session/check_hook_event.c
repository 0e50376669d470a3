/* SPDX-License-Identifier: MIT */
/* What a hook is told: the fields that count, in any order and among others, and what
 * is refused. */
#include "session/agent_events.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct cairn_error failure;
static struct hook_event event;

static int take(const char *json)
{
    failure = (struct cairn_error){0};
    return hook_event_read(str_of(json), &event, &failure);
}

static void refused(const char *json, const char *why)
{
    ck_assert_int_eq(take(json), CAIRN_EUSAGE);
    ck_assert_msg(strstr(failure.text, why) != NULL, "%s", failure.text);
    hook_event_release(&event);
}

START_TEST(test_fields)
{
    ck_assert_int_eq(
        take("{\"tool_input\":{\"cwd\":\"/no\",\"hook_event_name\":[\"x\"]},"
             "\"cwd\":\"/a\\u00e9\\n\",\"x\":[{\"prompt\":1}],\"tool_name\":\"Bash\","
             "\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\"}"),
        0);
    ck_assert_str_eq(event.at[HOOK_CWD], "/a\xc3\xa9\n");
    ck_assert_str_eq(event.at[HOOK_TOOL], "Bash");
    ck_assert_str_eq(event.at[HOOK_SESSION_ID], "s");
    ck_assert_ptr_null(event.at[HOOK_PROMPT]);
    ck_assert_ptr_null(event.at[HOOK_TRANSCRIPT]);
    ck_assert_int_eq(event.moment, AGENT_BEFORE_TOOL);
    hook_event_release(&event);
    ck_assert_int_eq(take("{\"hook_event_name\":\"SubagentStop\",\"cwd\":null,"
                          "\"prompt\":\"\",\"session_id\":7}"),
                     0);
    ck_assert_int_eq(event.moment, AGENT_OTHER);
    ck_assert_ptr_null(event.at[HOOK_CWD]);
    ck_assert_ptr_null(event.at[HOOK_PROMPT]);
    ck_assert_ptr_null(event.at[HOOK_SESSION_ID]);
    hook_event_release(&event);
}
END_TEST

START_TEST(test_moments)
{
    static const char *const names[] = {
        "Notification", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse",
        "PreCompact",   "Stop",         "SessionEnd"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_int_eq(agent_moment_of(names[i]), i);
    ck_assert_int_eq(agent_moment_of(""), AGENT_OTHER);
    ck_assert_int_eq(agent_moment_of("stop"), AGENT_OTHER);
}
END_TEST

/* No start of an event is one, and nothing behind it is passed over. */
START_TEST(test_torn)
{
    static const char whole[] =
        "{\"hook_event_name\":\"Stop\",\"prompt\":\"a\\u0041\",\"x\":[1,{\"y\":null}]}";
    char part[sizeof whole + 1];
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        snprintf(part, sizeof part, "%.*s", (int)n, whole);
        ck_assert_int_eq(take(part), CAIRN_EUSAGE);
        hook_event_release(&event);
    }
    ck_assert_int_eq(take(whole), 0);
    hook_event_release(&event);
    snprintf(part, sizeof part, "%s}", whole);
    refused(part, "there is more text after its end (byte 65, line 1)");
}
END_TEST

START_TEST(test_refused)
{
    char *deep = malloc(200001), *text = malloc(40000);
    ck_assert(deep && text);
    refused("", "empty");
    refused("[]", "not a JSON object");
    refused("\"hook_event_name\"", "not a JSON object");
    refused("{}", "no hook_event_name");
    refused("{\"hook_event_name\":3}", "no hook_event_name");
    refused("{\"hook_event_name\":\"Stop\",\"cwd\":\"a\\u0000b\"}", "NUL");
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    refused(deep, "not a JSON object");
    memcpy(deep, "{\"x\":", 5);
    refused(deep, "nested more than 512 levels deep (byte 517, line 1)");
    refused("{\n\"x\": 1", "it ends too early (byte 9, line 2)");
    refused("{\n\"x\": ?}", "it is not valid JSON (byte 8, line 2)");
    refused("  ", "it ends too early");
    memset(text, 'a', 39999);
    text[39999] = '\0';
    memcpy(text, "{\"cwd\":\"", 8);
    memcpy(text + 39960, "\",\"hook_event_name\":\"Stop\"}", 28);
    refused(text, "cwd has more than 4096 bytes");
    memcpy(text, "{\"prompt\":\"", 11);
    ck_assert_int_eq(take(text), 0); /* of it the beginning is enough */
    ck_assert_uint_eq(strlen(event.at[HOOK_PROMPT]), HOOK_NAME_BYTES);
    hook_event_release(&event);
    free(deep);
    free(text);
}
END_TEST

START_TEST(test_session_names)
{
    char name[64], other[64];
    ck_assert(agent_session_name("0b5e7c9a-1f2e-4a3b-8c4d-5e6f708192a3", name));
    ck_assert_str_eq(name, "agent-0b5e7c9a");
    ck_assert(agent_session_name("session-1", name));
    ck_assert_str_eq(name, "agent-session-1");
    ck_assert(!agent_session_name("", name));
    ck_assert(!agent_session_name(NULL, name));
    ck_assert(agent_session_name("a b'$(x)\n", name));
    ck_assert_int_eq(strncmp(name, "agent-a-b---x---", 16), 0);
    ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
                      strlen(name));
    ck_assert(agent_session_name("a b'$(x)\t", other));
    ck_assert_str_ne(name, other);
    ck_assert(agent_session_name("123456789012345678901234567890123", name));
    ck_assert(agent_session_name("123456789012345678901234567890124", other));
    ck_assert_str_ne(name, other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hook_event");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_fields);
    tcase_add_test(c, test_moments);
    tcase_add_test(c, test_torn);
    tcase_add_test(c, test_refused);
    tcase_add_test(c, test_session_names);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
