/* SPDX-License-Identifier: MIT */
/* Secrets that can be told by how they look: each form, what only comes near it, and a
 * part of a text that begins anywhere. */
#include "secrets/known_secrets.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

static const struct example {
    const char *text, *clean;
} secrets[] = {
    {"key AKIAIOSFODNN7EXAMPLE.", "key [REDACTED]."},
    {"ASIAIOSFODNN7EXAMPLE", "[REDACTED]"},
    {"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
     "aws_secret_access_key = [REDACTED]\n"},
    {"\"SecretAccessKey\": \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\"",
     "\"SecretAccessKey\": \"[REDACTED]\""},
    {"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
     "AWS_SECRET_ACCESS_KEY=[REDACTED]"},
    {"ghp_0123456789abcdefghijABCDEFGHIJ012345 x", "[REDACTED] x"},
    {"=github_pat_11ABCDEFG0123456789_abcdefghij", "=[REDACTED]"},
    {"'xoxb-123456789012-abcdef'", "'[REDACTED]'"},
    {"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
     "https://[REDACTED]"},
    {"OPENAI=sk-proj-abcdefghijklmnopqrstuvwx", "OPENAI=[REDACTED]"},
    {"sk-ant-api03-abcdefghijklmnopqrst-uvw_AA", "[REDACTED]"},
    {"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
     "a\n[REDACTED]\nb"},
    {"-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----",
     "[REDACTED]"},
    {"-----BEGIN PRIVATE KEY-----\nwithout its end", "[REDACTED]"},
    {"Authorization: Bearer abc.def-123", "Authorization: Bearer [REDACTED]"},
    {"authorization: basic dXNlcjpwYXNz", "authorization: basic [REDACTED]"},
    {"bearer\teyJhbGciOi.eyJzdWI", "bearer\t[REDACTED]"},
    {"postgres://me:pa:ss@host:5432/db", "postgres://me:[REDACTED]@host:5432/db"},
    {"https://user:p@ss@host/?q=a@b", "https://user:[REDACTED]@host/?q=a@b"},
    {"AKIAIOSFODNN7EXAMPLE ASIAIOSFODNN7EXAMPLE", "[REDACTED] [REDACTED]"},
};
static const char *const plain[] = {
    "",
    "nothing",
    "AKIA",
    "AKIAIOSFODNN7EXAMPLE1",
    "xAKIAIOSFODNN7EXAMPLE",
    "ghp_short",
    "task-1234567890123456789012345",
    "sk-learn",
    "bearer of bad news",
    "forbearer abcdefghijkl",
    "https://host:8080/a@b",
    "https://user@host/",
    "https://user:$PASSWORD@host/",
    "a://b c:d@e",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "aws_secret_access_key = none",
    "authorization: basic",
};
enum {
    SECRETS = sizeof secrets / sizeof secrets[0],
    PLAIN = sizeof plain / sizeof plain[0]
};

static void expect(struct str text, size_t from, const char *clean)
{
    struct buf out = BUF_INIT;
    known_secrets_redact(text, from, &out);
    ck_assert_msg(str_equal(buf_view(&out), str_of(clean)), "%.*s (from %zu): %.*s",
                  (int)text.len, text.ptr ? text.ptr : "", from, (int)out.size,
                  out.data ? out.data : "");
    buf_release(&out);
}

START_TEST(each_form_is_replaced)
{
    const struct example *example = &secrets[_i];
    ck_assert(known_secrets_found(str_of(example->text)));
    expect(str_of(example->text), 0, example->clean);
    /* Once more: the mark is no secret. */
    ck_assert(!known_secrets_found(str_of(example->clean)));
}
END_TEST

START_TEST(what_comes_near_stays)
{
    ck_assert(!known_secrets_found(str_of(plain[_i])));
    expect(str_of(plain[_i]), 0, plain[_i]);
}
END_TEST

/* Wherever the part begins that is wanted, no byte of the secret is in it. */
START_TEST(a_part_has_no_rest_of_a_secret)
{
    static const char text[] = "before AKIAIOSFODNN7EXAMPLE behind";
    const size_t first = strlen("before "), last = first + 20;
    for (size_t from = 0; from <= sizeof text - 1; from++) {
        char wanted[64];
        if (from <= first)
            snprintf(wanted, sizeof wanted, "%s[REDACTED] behind",
                     &"before "[from < first ? from : first]);
        else if (from < last)
            snprintf(wanted, sizeof wanted, "[REDACTED] behind");
        else
            snprintf(wanted, sizeof wanted, "%s", text + from);
        expect(STR("before AKIAIOSFODNN7EXAMPLE behind"), from, wanted);
    }
}
END_TEST

/* Cut anywhere, a text is read to its end and not behind it (with a sanitizer). */
START_TEST(every_beginning_can_be_read)
{
    uint64_t seed = 1;
    for (int i = 0; i < SECRETS; i++)
        for (size_t n = 0; n <= strlen(secrets[i].text); n++) {
            struct buf out = BUF_INIT;
            char *at = malloc(n + 1);
            memcpy(at, secrets[i].text, n);
            known_secrets_redact((struct str){at, n},
                                 help_below(&seed, (uint32_t)n + 1), &out);
            ck_assert(!out.failed && out.size <= n + strlen(KNOWN_SECRET_MARK));
            free(at);
            buf_release(&out);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("known secrets");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, each_form_is_replaced, 0, SECRETS);
    tcase_add_loop_test(tests, what_comes_near_stays, 0, PLAIN);
    tcase_add_test(tests, a_part_has_no_rest_of_a_secret);
    tcase_add_test(tests, every_beginning_can_be_read);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
