/* SPDX-License-Identifier: MIT */
/* At which moments each strategy asks for a checkpoint, and which tools are meant. */
#include "session/agent_events.h"

#include "tests/support/suite.h"

START_TEST(test_names)
{
    static const char *const all[] = {"manual", "per_prompt", "per_tool_use", "smart"};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_str_eq(strategy_name((enum strategy)i), all[i]);
        ck_assert_int_eq(strategy_of(str_of(all[i])), i);
        ck_assert_int_eq(strategy_is_name(str_of(all[i])), i > 0);
    }
    ck_assert_int_eq(strategy_of(STR("")), STRATEGY_MANUAL);
    ck_assert(!strategy_is_name(STR("")));
    ck_assert(!strategy_is_name(STR("Smart")));
}
END_TEST

/* Moment by moment: m manual, p per_prompt, t per_tool_use, s smart of a tool that is
 * not destructive, d of one that is. */
START_TEST(test_moments)
{
    static const char *const who[] = {
        [AGENT_OTHER] = "",          [AGENT_SESSION_BEGAN] = "",
        [AGENT_PROMPT] = "p",        [AGENT_BEFORE_TOOL] = "td",
        [AGENT_AFTER_TOOL] = "td",   [AGENT_COMPACTION] = "mptsd",
        [AGENT_TURN_ENDED] = "ptsd", [AGENT_SESSION_ENDED] = "ptsd"};
    static const char letters[] = "mpts";
    for (int moment = AGENT_OTHER; moment <= AGENT_SESSION_ENDED; moment++) {
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(
                strategy_asks((enum strategy)i, (enum agent_moment)moment, false),
                strchr(who[moment], letters[i]) != NULL);
        ck_assert_int_eq(strategy_asks(STRATEGY_SMART, (enum agent_moment)moment, true),
                         strchr(who[moment], 'd') != NULL);
    }
}
END_TEST

static bool meant(const char *tool, const char *words)
{
    return tool_is_destructive(str_of(tool), str_of(words));
}

START_TEST(test_usual_tools)
{
    static const char *const yes[] = {"Write",
                                      "Edit",
                                      "MultiEdit",
                                      "NotebookEdit",
                                      "Bash",
                                      "write_file",
                                      "delete",
                                      "run_shell_command",
                                      "mcp__fs__edit_file",
                                      "str_replace_based_edit_tool",
                                      "fileDelete",
                                      "SHELL",
                                      "local.shell",
                                      "BashOutput"};
    static const char *const no[] = {"Read", "Grep",    "rewrite", "Editor",
                                     "Task", "bashful", "_",       "mcp__x__writer"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(meant(yes[i], ""), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(!meant(no[i], ""), "%s", no[i]);
    ck_assert(!tool_is_destructive((struct str){NULL, 0}, STR("")));
}
END_TEST

START_TEST(test_own_words)
{
    ck_assert(meant("Read", "*"));
    ck_assert(!meant("", "*"));
    ck_assert(meant("apply_patch", "apply_patch"));
    ck_assert(meant("APPLY_PATCH", "x,apply_patch"));
    ck_assert(!meant("apply_patches", "apply_patch"));
    ck_assert(!meant("Write", "Edit"));
    ck_assert(meant("mcp__git__reset", "reset,clean"));
    ck_assert(meant("\xc3\xa4_write", "write"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strategy");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_names);
    tcase_add_test(c, test_moments);
    tcase_add_test(c, test_usual_tools);
    tcase_add_test(c, test_own_words);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
