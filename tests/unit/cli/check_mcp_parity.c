/* SPDX-License-Identifier: MIT */
/* What an agent can do by the command it can do by `cairn mcp`: each command is that of
 * a tool, or is in the list below with the reason why it is none. */
#include "cli/command.h"
#include "cli/commands/commands.h"
#include "server/text.h"
#include "server/tool.h"

#include "tests/support/suite.h"

#include <string.h>

static const struct {
    const char *command, *why;
} left_out[] = {
    {"help", "tools/list has every tool with its properties"},
    {"version", "the server says it at the start"},
    {"mcp", "it is the server"},
    {"web", "it serves people's browsers; the tools have the same"},
    {"watch", "it paints a terminal; run_status, and subscriptions, say the same"},
    {"shell", "it opens a shell in a terminal; an agent has one"},
    {"init", "it writes a text that an agent writes itself"},
    {"events", "it has no bound; subscriptions tell what changes, session_log and "
               "run_status what has happened"},
    {"session watch", "it runs until somebody ends it"},
    {"session hook", "the agent's client calls it"},
    {"session install-hooks", "it is for people, who trust the agent with it or not"},
    {"session message import", "the agent's hook does it"},
    {"session export", "it makes a file to be carried elsewhere, by people"},
    {"session import", "it takes a file from elsewhere, which people decide"},
    {"checkpoint export", "it makes an archive; checkpoint_cat gives a file"},
    {"checkpoint head", "people keep it outside of the store, against who may change "
                        "that"},
};

static bool is_of_tool(const char *command)
{
    size_t n = strlen(command);
    for (size_t i = 0; tool_at(i); i++)
        for (size_t at = 0; at < tool_at(i)->n_variants; at++) {
            const char *template = tool_at(i)->variants[at].template;
            if (strncmp(template, command, n) == 0 &&
                strncmp(template + n, " -", 2) == 0)
                return true;
        }
    return false;
}

static bool is_left_out(const char *command)
{
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strcmp(left_out[i].command, command) == 0)
            return true;
    return false;
}

START_TEST(test_every_command)
{
    struct buf lacks = {0};
    size_t n = 0;
    for (const struct command *command; (command = command_at(n)); n++)
        if (!is_of_tool(command->name) && !is_left_out(command->name))
            buf_format(&lacks, "\n%s", command->name);
    ck_assert_msg(lacks.size == 0, "no tool does these, and they are not left out:%s",
                  text_get(&lacks));
    ck_assert_uint_ge(n, 100);
}
END_TEST

START_TEST(test_left_out)
{
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        ck_assert_msg(command_find(left_out[i].command), "%s", left_out[i].command);
        ck_assert_msg(!is_of_tool(left_out[i].command), "%s", left_out[i].command);
        ck_assert_uint_gt(strlen(left_out[i].why), 10);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcp_parity");
    TCase *c = tcase_create("mcp_parity");
    command_use(&command_tables);
    tcase_add_test(c, test_every_command);
    tcase_add_test(c, test_left_out);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
