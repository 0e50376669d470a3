/* SPDX-License-Identifier: MIT */
/* The tables of the tools of `cairn mcp`: every template can be filled, every property
 * goes somewhere, read-only tools are commands that read; and the command lines that
 * calls become. */
#include "server/arguments.h"
#include "server/server.h"

#include "tests/support/suite.h"

#include <string.h>

/* The property that `{name...` begins, or NULL. */
static const struct property *property_at(const struct tool *tool, const char *brace)
{
    size_t n = strcspn(brace + 1, "*}");
    for (size_t i = 0; i < tool->n_properties; i++)
        if (strlen(tool->properties[i].name) == n &&
            memcmp(tool->properties[i].name, brace + 1, n) == 0)
            return &tool->properties[i];
    return NULL;
}

static bool is_used(const struct tool *tool, const struct property *property)
{
    if (property->kind == PROPERTY_DIRECTORY ||
        (tool->by && strcmp(tool->by, property->name) == 0))
        return true;
    for (size_t i = 0; i < tool->n_variants; i++)
        for (const char *at = tool->variants[i].template; (at = strchr(at, '{')); at++)
            if (property_at(tool, at) == property)
                return true;
    return false;
}

START_TEST(test_templates)
{
    size_t n = 0;
    for (const struct tool *tool; (tool = tool_at(n)); n++) {
        ck_assert_uint_le(tool->n_properties, 32);
        ck_assert_uint_ge(tool->n_variants, 1);
        for (size_t i = 0; i < n; i++)
            ck_assert_str_ne(tool->name, tool_at(i)->name);
        for (size_t i = 0; i < tool->n_variants; i++)
            for (const char *at = tool->variants[i].template; (at = strchr(at, '{'));
                 at++)
                ck_assert_msg(property_at(tool, at), "%s: %s", tool->name, at);
        for (size_t i = 0; i < tool->n_properties; i++) {
            const struct property *property = &tool->properties[i];
            ck_assert_msg(property->ignored || is_used(tool, property), "%s: %s",
                          tool->name, property->name);
            ck_assert_msg(strlen(property->about) > 2, "%s: %s", tool->name,
                          property->name);
        }
    }
    ck_assert_uint_ge(n, 70);
}
END_TEST

/* The operands of a template stand behind `--`, and nothing but operands; `-` with a
 * text for stdin is one. */
START_TEST(test_operands)
{
    for (size_t n = 0; tool_at(n); n++)
        for (size_t i = 0; i < tool_at(n)->n_variants; i++) {
            bool behind = false;
            for (const char *at = tool_at(n)->variants[i].template; *at;) {
                size_t length = strcspn(at, " ");
                bool operand = at[0] == '{' || strncmp(at, "-<{", 3) == 0;
                ck_assert_msg(operand == behind, "%s: %s", tool_at(n)->name, at);
                behind = behind || (length == 2 && at[0] == '-' && at[1] == '-');
                at += length + (at[length] == ' ');
            }
        }
}
END_TEST

START_TEST(test_read_only_tools_read)
{
    static const char *const reading[] = {
        "checkpoint list",
        "checkpoint resume",
        "checkpoint show",
        "checkpoint diff",
        "checkpoint files",
        "session list",
        "session show",
        "session log",
        "report",
        "hypothesis list",
        "hypothesis show",
        "evidence list",
        "evidence show",
        "belief list",
        "belief show",
        "belief dependencies",
        "gap list",
        "gap show",
        "note list",
        "note show",
        "command list",
        "command show",
        "check list",
        "check show",
        "runs",
        "status",
        "plan",
        "explain",
        "log",
        "next",
        "values",
        "artifact list",
        "diff",
        "whence",
        "validate",
        "graph",
        "checkpoint at",
        "checkpoint timeline",
        "checkpoint cat",
        "checkpoint log",
        "checkpoint grep",
        "checkpoint blame-file",
        "checkpoint verify",
        "checkpoint recover",
        "branch list",
        "session message list",
        "session message show",
        "session size",
        "stats",
        "doctor",
        "search"}; /* its index is no part of the store */
    for (size_t n = 0; tool_at(n); n++) {
        if (!(tool_at(n)->hints & HINT_READ_ONLY))
            continue;
        for (size_t i = 0; i < tool_at(n)->n_variants; i++) {
            const char *template = tool_at(n)->variants[i].template;
            bool found = false;
            for (size_t at = 0; at < sizeof reading / sizeof reading[0]; at++) {
                size_t length = strlen(reading[at]);
                found = found || (strncmp(template, reading[at], length) == 0 &&
                                  strncmp(template + length, " -", 2) == 0);
            }
            ck_assert_msg(found, "%s: %s", tool_at(n)->name, template);
        }
    }
}
END_TEST

/* Clients ask people before a tool that can do anything. */
START_TEST(test_tools_that_run_commands)
{
    static const char *const running[] = {"run ",
                                          "resume ",
                                          "rerun ",
                                          "undo ",
                                          "check run ",
                                          "exec ",
                                          "checkpoint bisect ",
                                          "add --by="};
    for (size_t n = 0; tool_at(n); n++) {
        const struct tool *tool = tool_at(n);
        bool runs = false;
        for (size_t i = 0; i < tool->n_variants; i++)
            for (size_t at = 0; at < sizeof running / sizeof running[0]; at++)
                runs = runs || strncmp(tool->variants[i].template, running[at],
                                       strlen(running[at])) == 0;
        ck_assert_msg(runs == ((tool->hints & HINT_RUNS) != 0), "%s", tool->name);
        ck_assert_msg(!tool->starts || runs, "%s", tool->name);
    }
}
END_TEST

/* ---- Command lines ---- */

static const struct tool *tool_named(const char *name)
{
    for (size_t i = 0; tool_at(i); i++)
        if (strcmp(tool_at(i)->name, name) == 0)
            return tool_at(i);
    ck_abort_msg("no tool %s", name);
    return NULL;
}

/* The words with | between them, or what is wrong: heap. */
static char *line_of(const char *tool, const char *json)
{
    struct arguments arguments = {.n = 0};
    struct buf out = BUF_INIT;
    char why[160];
    struct value *given = value_parse(json, strlen(json), why);
    ck_assert_msg(given, "%s: %s", json, why);
    if (arguments_make(&arguments, tool_named(tool), given)) {
        for (size_t i = 0; i < arguments.n; i++)
            buf_format(&out, "%s%s", i > 0 ? "|" : "", arguments.argv[i]);
        if (arguments.input)
            buf_format(&out, " <%.20s", arguments.input);
    } else
        buf_text(&out, text_get(&arguments.problem));
    arguments_release(&arguments);
    value_free(given);
    return text_take(&out);
}

START_TEST(test_lines)
{
    static const struct {
        const char *tool, *json, *line;
    } rows[] = {
        {"session_show", "{}", "session|show|--json|--"},
        {"session_show", "{\"session\":\"--store=x\"}",
         "session|show|--json|--|--store=x"},
        {"session_list", "{\"limit\":5.0}", "session|list|--json|--limit=5"},
        {"board_add", "{\"kind\":\"note\",\"text\":\"-\"}", "note|add|--json|--|- <-"},
        {"board_add",
         "{\"kind\":\"note\",\"text\":\"a b; $(c)\",\"tags\":[\"--x\",\"y\"]}",
         "note|add|--json|--tag=--x,y|--|a b; $(c)"},
        {"board_add", "{\"kind\":\"belief\",\"text\":\"t\",\"denied\":true}",
         "belief|add|--json|--denied|--|t"},
        {"board_add", "{\"kind\":\"belief\",\"text\":\"t\",\"denied\":false}",
         "belief|add|--json|--|t"},
        {"board_update", "{\"kind\":\"belief\",\"id\":\"b1\",\"denied\":false}",
         "belief|update|--json|--denied=no|--|b1"},
        {"board_add",
         "{\"kind\":\"evidence\",\"text\":\"t\",\"hypothesis\":\"h1\",\"strength\":-0."
         "1}",
         "evidence|add|--json|--strength=-0.1|--|h1|t"},
        {"check_run", "{\"ids\":[\"c1\",\"--all\"]}", "check|run|--json|--|c1|--all"},
        {"checkpoint_restore", "{\"checkpoint\":\"4\"}",
         "checkpoint|restore|--json|--dry-run|--|4"},
        {"checkpoint_restore", "{\"checkpoint\":\"4\",\"confirm\":false}",
         "checkpoint|restore|--json|--dry-run|--|4"},
        {"checkpoint_restore", "{\"checkpoint\":\"4\",\"confirm\":true}",
         "checkpoint|restore|--json|--yes|--|4"},
        {"checkpoint_save",
         "{\"summary\":\"s\",\"context\":\"c\",\"metadata\":{\"k\":\"--v=1\",\"n\":2},"
         "\"full_state\":\"f\",\"threshold\":80,\"auto_created\":true}",
         "checkpoint|create|--json|--trigger=context-threshold|--summary=s|"
         "--context=context=c|--context=k=--v=1|--context=n=2|--state=-|"
         "--threshold=80%|--contextd|-- <f"},
        {"run_start", "{\"file\":\"--x\",\"params\":{\"a\":\"b=c\"},\"jobs\":2}",
         "run|--json|--param=a=b=c|--jobs=2|--|--x"},
        {"run_log", "{\"task\":\"-\",\"run\":3}", "log|--json|--run=3|--|-"},
        {"exec", "{\"command\":[\"--json\",\"a b\",\"--\"]}",
         "exec|--json|--|--json|a b|--"},
        {"checkpoint_cat", "{\"checkpoint\":\"4\",\"path\":\"--x:y\"}",
         "checkpoint|cat|--json|--|4:--x:y"},
        {"checkpoint_undo_restore", "{\"direction\":\"undo\"}",
         "checkpoint|undo-restore|--json|--dry-run"},
        {"store_gc", "{\"confirm\":true}", "gc|--json"},
        {"store_gc", "{}", "gc|--json|--dry-run"},
        /* numbers as they were written */
        {"run_start", "{\"params\":{\"a\":0.1,\"b\":2.0,\"c\":-1e-300,\"d\":7}}",
         "run|--json|--param=a=0.1|--param=b=2|--param=c=-1e-300|--param=d=7|--"},
        {"task_complete",
         "{\"run\":1,\"task\":\"t\",\"outputs\":{\"x\":0.30000000000000004}}",
         "complete|--json|--output=x=0.30000000000000004|--|1|t"},
        /* an empty list is none, but where it takes away what is there */
        {"search", "{\"query\":\"q\",\"tags\":[]}", "search|--json|--|q"},
        {"checkpoint_search", "{\"query\":\"q\",\"tags\":[]}",
         "search|--json|--in=sessions|--contextd|--|q"},
        {"checkpoint_restore", "{\"checkpoint\":\"4\",\"paths\":[]}",
         "checkpoint|restore|--json|--dry-run|--|4"},
        {"checkpoint_diff", "{\"from\":\"4\",\"paths\":[]}",
         "checkpoint|diff|--json|--|4"},
        {"note_add", "{\"text\":\"t\",\"tags\":[],\"about\":[]}",
         "note|add|--json|--|t"},
        {"board_update", "{\"kind\":\"note\",\"id\":\"n1\",\"tags\":[],\"about\":[]}",
         "note|update|--json|--tag=|--about=|--|n1"},
        {"run_undo", "{\"run\":1}", "undo|--json|--|1"},
        {"run_add", "{\"run\":1,\"text\":\"--x\",\"by\":\"--y\"}",
         "add|--json|--by=--y|--|1|- <--x"},
        {"run_withdraw", "{\"run\":1,\"tasks\":[\"a\",\"--b\"]}",
         "add|--json|--withdraw|--|1|a|--b"},
        {"run_undo", "{\"run\":1,\"tasks\":[\"a,b\",\"c\"]}", "undo|--json|--|1|a,b|c"},
        {"session_report", "{\"from\":\"1\",\"to\":\"2\"}", "report|--json|--|1|2"},
        {"checkpoint_diff", "{}", "checkpoint|diff|--json|--"},
        {"checkpoint_diff", "{\"patch\":true}", "checkpoint|diff|--json|--patch|--"},
        {"checkpoint_undo_restore", "{}", "checkpoint|undo-restore|--json|--dry-run"},
        {"task_claim", "{\"run\":1,\"task\":\"t\"}", "claim|--json|--|1|t"},
        {"task_claim", "{\"any\":true,\"wait\":30}",
         "claim|--json|--any|--wait=30s|--"},
        /* what older clients send with every call */
        {"checkpoint_list", "{\"tenant_id\":\"default\",\"sort_by\":\"\"}",
         "checkpoint|list|--json|--contextd"},
        {"checkpoint_save", "{\"tenant_id\":\"default\",\"summary\":\"s\"}",
         "checkpoint|create|--json|--summary=s|--contextd|--"},
        {"checkpoint_resume",
         "{\"tenant_id\":\"default\",\"checkpoint_id\":\"4\",\"resume_level\":"
         "\"full\"}",
         "checkpoint|resume|--json|--contextd|--level=full|--|4"},
        {"checkpoint_delete", "{\"tenant_id\":\"default\",\"id\":\"4\"}",
         "checkpoint|delete|--json|--yes|--|4"},
        {"run_status", "{\"tenant_id\":\"\",\"run\":1}", "status|--json|--|1"},
        {"checkpoint_search", "{\"query\":\"q\",\"tenant_id\":\"default\"}",
         "search|--json|--in=sessions|--contextd|--|q"},
        /* the names of options */
        {"task_complete", "{\"run\":1,\"task\":\"t\",\"output\":{\"x\":1}}",
         "complete|--json|--output=x=1|--|1|t"},
        {"checkpoint_save", "{\"summary\":\"s\",\"tag\":[\"a\"],\"state\":\"f\"}",
         "checkpoint|create|--json|--summary=s|--state=-|--tag=a|--contextd|-- <f"},
        {"search", "{\"query\":\"q\",\"hits\":3}", "search|--json|--hits=3|--|q"},
        {"checkpoint_restore", "{\"checkpoint\":\"4\",\"dry_run\":true}",
         "checkpoint_restore: \"dry_run\" is not one of its fields; it has checkpoint, "
         "confirm, paths, board_only, files_only, messages_only, all, force, session, "
         "directory"},
        {"task_complete", "{\"run\":1,\"task\":\"t\",\"output\":{},\"outputs\":{}}",
         "task_complete: \"outputs\" is given twice, under two names"},
        /* a text for a value of another kind */
        {"run_status", "{\"run\":\"7\",\"tasks\":\"True\"}",
         "status|--json|--tasks|--|7"},
        {"checkpoint_restore", "{\"checkpoint\":4,\"confirm\":\"false\"}",
         "checkpoint|restore|--json|--dry-run|--|4"},
        {"board_add",
         "{\"kind\":\"hypothesis\",\"text\":\"t\",\"prior\":\"0.5\",\"tags\":\"["
         "\\\"a\\\"]\"}",
         "hypothesis|add|--json|--prior=0.5|--tag=a|--|t"},
        {"run_start", "{\"params\":\"{\\\"a\\\":1}\",\"file\":null}",
         "run|--json|--param=a=1|--"},
        {"checkpoint_save", "{\"summary\":\"s\",\"context\":\"{\\\"a\\\":[1]}\"}",
         "checkpoint|create|--json|--summary=s|--context=context={\"a\":[1]}|--"
         "contextd|--"},
        {"session_show", "null", "session|show|--json|--"},
        /* what is wrong */
        {"run_status", "{\"run\":\"0\"}",
         "run_status: \"run\" is a whole number from 1 to 9007199254740991"},
        {"run_status", "{\"run\":\"7 \\\"\"}",
         "run_status: \"run\" is a whole number from 1 to 9007199254740991"},
        {"run_status", "{\"run\":1,\"tasks\":\"yes\"}",
         "run_status: \"tasks\" is true or false"},
        {"exec", "{\"command\":\"make test\"}",
         "exec: \"command\" is a list of strings"},
        {"note_add", "{\"text\":true}", "note_add: \"text\" is a string"},
        {"run_undo", "{\"run\":1,\"tasks\":[]}",
         "run_undo: \"tasks\" is an empty list: name at least one, or leave it out"},
        {"run_rerun", "{\"tasks\":[]}",
         "run_rerun: \"tasks\" is an empty list: name at least one"},
        {"session_report", "{\"to\":\"2\"}", "session_report: \"to\" needs \"from\""},
        {"run_values", "{\"name\":\"n\"}", "run_values: \"name\" needs \"task\""},
        {"session_config", "{\"value\":\"v\"}",
         "session_config: \"value\" needs \"name\""},
        {"checkpoint_restore", "{\"checkpoint\":\"4\",\"paths\":[\"c\",\"a,b\"]}",
         "checkpoint_restore: \"paths\" cannot have a comma within a member, where it "
         "would begin another one (in a pattern for paths, write ? for it)"},
        {"run_add", "{\"run\":1}", "run_add: \"text\" is required"},
        {"run_cancel", "{}", "run_cancel: \"run\" is required"},
        {"run_cancel", "{\"run\":0}",
         "run_cancel: \"run\" is a whole number from 1 to 9007199254740991"},
        {"run_cancel", "{\"run\":1.5}",
         "run_cancel: \"run\" is a whole number from 1 to 9007199254740991"},
        {"run_start", "{\"params\":{\"a=b\":\"c\"}}",
         "run_start: \"a=b\" cannot be a name: it is empty, or has a = in it"},
        {"run_start", "{\"params\":{\"a\":[]}}",
         "run_start: \"a\" is a string, a number or true or false"},
        {"board_add", "{\"text\":\"t\"}", "board_add: \"kind\" is required"},
        {"board_list", "{\"kind\":\"gap\",\"tag\":\"t\"}",
         "board_list: \"tag\" does not belong to this kind"},
        {"checkpoint_list", "{\"tenant_id\":\"acme\"}",
         "checkpoint_list: \"tenant_id\" cannot be \"acme\": it is one of default"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *line = line_of(rows[i].tool, rows[i].json);
        ck_assert_str_eq(line, rows[i].line);
        free(line);
    }
}
END_TEST

/* Those under which changes are told; by another name a run can be another tomorrow. */
START_TEST(test_places)
{
    static const char *const rows[][2] = {
        {"cairn://run/7", "cairn://run/7"},
        {"cairn://run/%307", "cairn://run/7"},
        {"cairn://run/latest", NULL},
        {"cairn://run/flow.yaml", NULL},
        {"cairn://run/0", NULL},
        {"cairn://run/-1", NULL},
        {"cairn://log/007/a%2fb", "cairn://log/7/a%2Fb"},
        {"cairn://log/latest/a", NULL},
        {"cairn://log/7", NULL},
        {"cairn://session/%62ug", "cairn://session/bug"},
        {"cairn://checkpoint/debug:1", "cairn://checkpoint/debug:1"},
        {"cairn://nothing/1", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *place = resource_canonical(rows[i][0]);
        ck_assert_msg(rows[i][1] ? place && strcmp(place, rows[i][1]) == 0 : !place,
                      "%s: %s", rows[i][0], place ? place : "none");
        free(place);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcp_tools");
    TCase *c = tcase_create("mcp_tools");
    tcase_add_test(c, test_templates);
    tcase_add_test(c, test_operands);
    tcase_add_test(c, test_read_only_tools_read);
    tcase_add_test(c, test_tools_that_run_commands);
    tcase_add_test(c, test_lines);
    tcase_add_test(c, test_places);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
