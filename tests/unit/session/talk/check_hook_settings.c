/* SPDX-License-Identifier: MIT */
/* Entries in the settings of an agent: put in, changed and taken out, with every other
 * byte as it was. */
#include "session/talk/agent_settings.h"

#include "base/json_scan.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define COMMAND "cairn session hook"

static struct cairn_error failure;
static struct buf made, again;

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static bool is_json(const struct buf *text)
{
    struct json_scan in = json_scan_of(buf_view(text));
    enum json_token token;
    while ((token = json_next(&in)) != JSON_END && token != JSON_BAD)
        continue;
    return token == JSON_END;
}

/* In, again (nothing), and out: what was there. */
static void there_and_back(const char *text)
{
    ck_assert_msg(hook_settings_edit(str_of(text), COMMAND, &made, &failure) == 0,
                  "%s: %s", text, failure.text);
    ck_assert(is_json(&made));
    ck_assert_uint_eq(count(made.data, "\"" COMMAND "\""), 7);
    ck_assert_int_eq(hook_settings_edit(buf_view(&made), COMMAND, &again, &failure), 0);
    ck_assert(str_equal(buf_view(&made), buf_view(&again)));
    ck_assert_int_eq(hook_settings_edit(buf_view(&made), NULL, &again, &failure), 0);
    ck_assert_str_eq(again.data, text);
}

START_TEST(test_there_and_back)
{
    there_and_back("{}\n");
    there_and_back("{\n  \"model\": \"m\"\n}\n");
    there_and_back("{\r\n\t\"model\":\"m\", \"a\" : [ 1,2 ],\r\n\t\"b\": {}\r\n}");
    there_and_back("{\"model\": \"m\", \"hooks\": {\"Stop\": [{\"hooks\": []}], "
                   "\"Other\": 3}}");
    there_and_back(
        "{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n"
        "                \"matcher\": \"Bash\",\n                \"hooks\": [\n"
        "                    {\"type\": \"command\", \"command\": \"./mine.sh\"}\n"
        "                ]\n            }\n        ]\n    },\n    \"z\": "
        "\"\\u00e9\"\n}");
}
END_TEST

START_TEST(test_blank)
{
    ck_assert_int_eq(hook_settings_edit(STR(" \n"), COMMAND, &made, &failure), 0);
    ck_assert_uint_eq(count(made.data, COMMAND), 7);
    ck_assert_uint_eq(count(made.data, "\"matcher\": \"*\""), 2);
    ck_assert_int_eq(hook_settings_edit(STR(""), NULL, &made, &failure), 0);
    ck_assert_str_eq(made.data, "{}\n");
}
END_TEST

/* Other options take the place of the old ones; what stands around them stays. */
START_TEST(test_changed)
{
    struct str text =
        STR("{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"cairn session "
            "hook --x\",\"timeout\":5},{\"command\":\"cairn session hooks\"}]}]}}");
    ck_assert_int_eq(
        hook_settings_edit(text, COMMAND " --strategy smart", &made, &failure), 0);
    ck_assert(is_json(&made));
    ck_assert_uint_eq(count(made.data, COMMAND " --strategy smart\""), 7);
    ck_assert_ptr_nonnull(strstr(made.data, "hook --strategy smart\",\"timeout\":5}"));
    ck_assert_ptr_nonnull(strstr(made.data, "{\"command\":\"cairn session hooks\"}"));
    ck_assert_int_eq(hook_settings_edit(buf_view(&made), NULL, &again, &failure), 0);
    ck_assert_str_eq(again.data,
                     "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"cairn session "
                     "hooks\"}]}]}}");
}
END_TEST

static void refused(const char *text, const char *why)
{
    ck_assert_int_eq(hook_settings_edit(str_of(text), COMMAND, &made, &failure),
                     CAIRN_EUSAGE);
    ck_assert_msg(strstr(failure.text, why) != NULL, "%s", failure.text);
}

START_TEST(test_refused)
{
    refused("{", "ends too early");
    refused("{} x", "there is more text after its end");
    refused("// comment\n{}", "not valid JSON (byte 1, line 1)");
    refused("[]", "not a JSON object");
    refused("{\"hooks\": []}", "\"hooks\" is not an object");
    refused("{\"hooks\": {}, \"\\u0068ooks\": {}}", "\"hooks\" twice");
    refused("{\"hooks\": {\"Stop\": {}}}", "\"Stop\" in \"hooks\" is not a list");
    refused("{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "\"Stop\" twice");
}
END_TEST

/* Many of ours: all go, or it is said. */
START_TEST(test_many)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "{\"hooks\":{\"Stop\":[");
    for (int i = 0; i < 1500; i++)
        buf_format(&text, "%s{\"hooks\":[{\"command\":\"" COMMAND "\"}]}",
                   i ? "," : "");
    buf_text(&text, "]}}");
    ck_assert_int_eq(hook_settings_edit(buf_view(&text), NULL, &made, &failure),
                     CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "more than 1000"));
    buf_release(&text);
}
END_TEST

/* Whatever the file is: what comes out of it is JSON, or it is refused. */
START_TEST(test_random)
{
    static const char *const parts[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"hooks\"",
                                        "\"Stop\"",
                                        "\"command\"",
                                        "\"" COMMAND "\"",
                                        "1",
                                        "\n  ",
                                        "{\"hooks\":{\"Stop\":[",
                                        "{\"hooks\":[",
                                        "{\"command\":\"" COMMAND "\"}",
                                        "]}",
                                        "]}}",
                                        "null",
                                        "\"SessionEnd\":[]"};
    uint64_t seed = (uint64_t)_i;
    unsigned good = 0;
    for (int round = 0; round < 20000; round++) {
        struct buf text = BUF_INIT;
        unsigned n = help_below(&seed, 14);
        for (unsigned i = 0; i < n; i++)
            buf_text(&text, parts[help_below(&seed, sizeof parts / sizeof parts[0])]);
        const char *command = help_below(&seed, 2) ? COMMAND : NULL;
        int rc = hook_settings_edit(buf_view(&text), command, &made, NULL);
        ck_assert(rc == 0 ? is_json(&made) : rc == CAIRN_EUSAGE);
        good += rc == 0 && text.size > 0;
        buf_release(&text);
    }
    ck_assert_uint_gt(good, 0);
}
END_TEST

static void finish(void)
{
    buf_release(&made);
    buf_release(&again);
}

int main(void)
{
    Suite *suite = suite_create("hook_settings");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, NULL, finish);
    tcase_add_test(c, test_there_and_back);
    tcase_add_test(c, test_blank);
    tcase_add_test(c, test_changed);
    tcase_add_test(c, test_refused);
    tcase_add_test(c, test_many);
    tcase_add_loop_test(c, test_random, 1, 4);
    tcase_set_timeout(c, 60);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
