/* SPDX-License-Identifier: MIT */
/* Lines of transcripts: who says it, when, what it cost, and its text. */
#include "session/messages.h"

#include "tests/support/suite.h"

#define WITH(rest) \
    "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\"," rest "}}"
#define USER(rest) "{\"type\":\"user\",\"message\":{\"role\":\"user\"," rest "}}"

static const struct example {
    const char *line;
    enum transcript_role role;
    bool prompt, reply;
    uint64_t in, out;
    const char *text;
} examples[] = {
    {"{\"role\":\"user\",\"content\":\"hi\"}", TRANSCRIPT_USER, true, false, 0, 0,
     "hi"},
    {"{\"type\":\"message\",\"role\":\"user\",\"content\":\"hi\"}", TRANSCRIPT_USER,
     true, false, 0, 0, "hi"},
    {"{\"role\":\"developer\",\"content\":\"be kind\"}", TRANSCRIPT_SYSTEM, false,
     false, 0, 0, "be kind"},
    {"{\"role\":\"assistant\",\"content\":\"yes\",\"model\":\"m\",\"usage\":{"
     "\"prompt_tokens\":50,\"completion_tokens\":5,\"prompt_tokens_details\":{"
     "\"cached_tokens\":30}}}",
     TRANSCRIPT_ASSISTANT, false, true, 20, 5, "yes"},
    {"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":{\"name\":"
     "\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]}",
     TRANSCRIPT_ASSISTANT, false, false, 0, 0, "[tool_use f] {\"a\":1}"},
    {"{\"role\":\"tool\",\"content\":\"4\"}", TRANSCRIPT_TOOL, false, false, 0, 0, "4"},
    {USER("\"content\":\"why\\u003f\""), TRANSCRIPT_USER, true, false, 0, 0, "why?"},
    {USER("\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":"
          "\"b\"}]"),
     TRANSCRIPT_USER, true, false, 0, 0, "a\nb"},
    {USER("\"content\":[{\"type\":\"image\",\"source\":{\"data\":\"xyz\"}}]"),
     TRANSCRIPT_USER, true, false, 0, 0, "[image]"},
    {USER("\"content\":[{\"type\":\"tool_result\",\"content\":\"ok\"}]"),
     TRANSCRIPT_TOOL, false, false, 0, 0, "[tool_result] ok"},
    {USER("\"content\":[{\"type\":\"tool_result\",\"content\":[{\"type\":\"text\","
          "\"text\":\"1\"},{\"type\":\"text\",\"text\":\"2\"}]},{\"type\":\"text\","
          "\"text\":\"and now\"}]"),
     TRANSCRIPT_USER, true, false, 0, 0, "[tool_result] 1\n2\nand now"},
    {"{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"content\":\"do\"}}",
     TRANSCRIPT_USER, false, false, 0, 0, "do"},
    {"{\"type\":\"user\",\"isMeta\":true,\"message\":{\"content\":\"caveat\"}}",
     TRANSCRIPT_USER, false, false, 0, 0, "caveat"},
    {WITH("\"model\":\"m\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"}],"
          "\"usage\":{\"input_tokens\":1,\"cache_creation_input_tokens\":2,"
          "\"cache_read_input_tokens\":4,\"output_tokens\":8}"),
     TRANSCRIPT_ASSISTANT, false, true, 3, 8, "[thinking] hm"},
    {WITH("\"model\":\"m\",\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\","
          "\"input\":{\"command\":\"ls\",\"more\":{\"a\":[1]}}}]"),
     TRANSCRIPT_ASSISTANT, false, true, 0, 0,
     "[tool_use Bash] {\"command\":\"ls\",\"more\":{\"a\":[1]}}"},
    {"{\"type\":\"assistant\",\"message\":{\"model\":\"<synthetic>\",\"content\":\"x\"}"
     "}",
     TRANSCRIPT_ASSISTANT, false, false, 0, 0, "x"},
    /* at both levels: once */
    {"{\"type\":\"assistant\",\"message\":{\"model\":\"m\",\"content\":\"x\",\"usage\":"
     "{"
     "\"input_tokens\":5,\"output_tokens\":6}},\"usage\":{\"input_tokens\":5,"
     "\"output_tokens\":6}}",
     TRANSCRIPT_ASSISTANT, false, true, 5, 6, "x"},
    {"{\"type\":\"assistant\",\"message\":{\"content\":\"x\"},\"usage\":{"
     "\"input_tokens\":5}}",
     TRANSCRIPT_ASSISTANT, false, false, 5, 0, "x"},
    {"{\"type\":\"summary\",\"summary\":\"All of it\"}", TRANSCRIPT_SUMMARY, false,
     false, 0, 0, "All of it"},
    {"{\"type\":\"progress\",\"data\":[1]}", TRANSCRIPT_OTHER, false, false, 0, 0,
     "{\"type\":\"progress\",\"data\":[1]}"},
    {"{}", TRANSCRIPT_OTHER, false, false, 0, 0, "{}"},
    /* too large to be a number of tokens, and keys as long as they like */
    {"{\"role\":\"assistant\",\"content\":\"x\",\"tokens_in\":1e9,\"tokens_out\":"
     "99999999999999}",
     TRANSCRIPT_ASSISTANT, false, false, 0, 0, "x"},
    {"{\"role\":\"user\",\"content\":{"
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":\"b\"}"
     "}",
     TRANSCRIPT_USER, false, false, 0, 0, NULL},
};
enum { EXAMPLES = sizeof examples / sizeof examples[0] };

START_TEST(is_read)
{
    const struct example *e = &examples[_i];
    struct transcript_line line;
    struct buf text = BUF_INIT;
    ck_assert(transcript_read(str_of(e->line), &line));
    ck_assert_int_eq(line.role, e->role);
    ck_assert_int_eq(line.prompt, e->prompt);
    ck_assert_int_eq(line.reply, e->reply);
    ck_assert_uint_eq(line.tokens_in, e->in);
    ck_assert_uint_eq(line.tokens_out, e->out);
    transcript_text(str_of(e->line), &text);
    ck_assert_msg(str_equal(buf_view(&text), str_of(e->text ? e->text : e->line)),
                  "%.*s", (int)text.size, text.data);
    buf_release(&text);
}
END_TEST

START_TEST(is_refused)
{
    static const char *const lines[] = {"",  "x",        "[]",   "\"a\"",
                                        "1", "{\"a\":1", "{} {}"};
    struct transcript_line line;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert(!transcript_read(str_of(lines[i]), &line));
}
END_TEST

START_TEST(who_it_is)
{
    struct transcript_line line;
    ck_assert(transcript_read(
        STR("{\"uuid\":\"u\",\"timestamp\":\"2025-01-20T14:30:00.25Z\",\"message\":{"
            "\"id\":\"m1\",\"uuid\":\"no\",\"model\":\"x\",\"role\":\"assistant\"}}"),
        &line));
    ck_assert(str_equal(line.uuid, STR("u")));
    ck_assert(str_equal(line.reply_id, STR("m1")));
    ck_assert(str_equal(line.model, STR("x")));
    ck_assert_int_eq(line.time_ns, 1737383400250000000);
}
END_TEST

START_TEST(times)
{
    static const struct {
        const char *text;
        int64_t ns;
    } known[] = {{"1970-01-01T00:00:00Z", 0},
                 {"1970-01-01T00:00:01Z", 1000000000},
                 {"2000-02-29T23:59:59Z", 951868799000000000},
                 {"2025-01-20T15:30:00.25+01:00", 1737383400250000000},
                 {"2025-01-20T12:00:00-02:30", 1737383400000000000},
                 {"2025-01-20T14:30:00.123456789Z", 1737383400123456789},
                 {"2025-01-20T14:30:00.1234567891Z", 1737383400123456789},
                 {"2025-01-20T14:30:00", 0},
                 {"2025-13-20T14:30:00Z", 0},
                 {"2025-01-20 14:30:00Z", 0},
                 {"9999-01-20T14:30:00Z", 0},
                 {"now", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ck_assert_msg(transcript_time(str_of(known[i].text)) == known[i].ns, "%s",
                      known[i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transcript");
    TCase *tests = tcase_create("transcript");
    tcase_add_loop_test(tests, is_read, 0, EXAMPLES);
    tcase_add_test(tests, is_refused);
    tcase_add_test(tests, who_it_is);
    tcase_add_test(tests, times);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
