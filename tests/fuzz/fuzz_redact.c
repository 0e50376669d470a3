/* SPDX-License-Identifier: MIT */
/* The redactor. The input: a number of secrets, each a length and so many bytes; then a
 * length and so many bytes that say how the text is cut; the rest is the text, in which
 * bytes 0xff N stand for the N-th secret, so that secrets do turn up.
 *
 * However the text is cut, the same comes out; no secret is in it; and what was not
 * part of one is as it was (checked by a slow search for the values themselves). */
#include "base/limits.h"
#include "base/str.h"
#include "secrets/redact.h"
#include "tests/fuzz/fuzz.h"

enum { SECRETS = 4, MASK = 1 };

struct plan {
    struct secret secrets[SECRETS];
    size_t n;
    struct str cuts;
    struct buf text;
};

static bool read_plan(struct str input, struct plan *plan)
{
    struct reader in = reader_of(input.ptr, input.len);
    size_t n = read_byte(&in) % (SECRETS + 1);
    for (size_t i = 0; i < n; i++) {
        struct str value = read_bytes(&in, read_byte(&in));
        if (in.failed)
            return false;
        plan->secrets[plan->n++] = (struct secret){STR("NAME"), value};
    }
    plan->cuts = read_bytes(&in, read_byte(&in));
    while (!in.failed && reader_left(&in)) {
        uint8_t byte = read_byte(&in);
        if (byte == 0xff && reader_left(&in) && plan->n)
            buf_str(&plan->text, plan->secrets[read_byte(&in) % plan->n].value);
        else
            buf_byte(&plan->text, byte);
    }
    return !in.failed;
}

static void cut(const struct redactor *redactor, const struct plan *plan,
                struct buf *out)
{
    struct redact_stream stream;
    size_t at = 0;
    redact_begin(&stream, redactor);
    for (size_t i = 0; at < plan->text.size; i++) {
        size_t left = plan->text.size - at;
        size_t n = plan->cuts.len ? (uint8_t)plan->cuts.ptr[i % plan->cuts.len] : 1;
        n = n == 0 && i % 2 ? 1 : n;
        n = n > left ? left : n;
        redact_add(&stream, (struct str){plan->text.data + at, n}, out);
        at += n;
    }
    redact_end(&stream, out);
}

/* Which bytes of the text belong to a form of a secret: one search for each. */
static char *mark_secrets(const struct plan *plan)
{
    struct form_list forms = {.n = 0};
    char *marks = calloc(plan->text.size + 1, 1);
    HOLDS(marks);
    for (size_t i = 0; i < plan->n; i++)
        form_list_add(&forms, plan->secrets[i].value);
    for (size_t k = 0; k < forms.n; k++) {
        struct str form = forms.at[k].text;
        for (size_t at = 0; at + form.len <= plan->text.size; at++)
            if (memcmp(plan->text.data + at, form.ptr, form.len) == 0)
                memset(marks + at, MASK, form.len);
    }
    form_list_release(&forms);
    return marks;
}

/* What must come out. */
static void expect(const struct plan *plan, const char *marks, struct buf *out)
{
    for (size_t i = 0; i < plan->text.size; i++)
        if (!marks[i])
            buf_byte(out, (uint8_t)plan->text.data[i]);
        else if (i == 0 || !marks[i - 1])
            buf_text(out, REDACTED);
}

static void check(const struct redactor *redactor, const struct plan *plan)
{
    struct buf whole = BUF_INIT, parts = BUF_INIT, expected = BUF_INIT;
    char *marks = mark_secrets(plan);
    bool any = memchr(marks, MASK, plan->text.size) != NULL;
    redact_text(redactor, buf_view(&plan->text), &whole);
    cut(redactor, plan, &parts);
    expect(plan, marks, &expected);
    HOLDS(!whole.failed && str_equal(buf_view(&whole), buf_view(&expected)));
    HOLDS(!parts.failed && str_equal(buf_view(&parts), buf_view(&expected)));
    HOLDS(redactor_finds(redactor, buf_view(&plan->text)) == any);
    free(marks);
    buf_release(&whole);
    buf_release(&parts);
    buf_release(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan plan = {.n = 0};
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct redactor *redactor = NULL;
    struct cairn_error error = {0};
    bool fine = true;
    if (read_plan((struct str){copy.ptr, size}, &plan) && plan.text.size <= 16384) {
        for (size_t i = 0; i < plan.n; i++)
            fine = fine && plan.secrets[i].value.len >= LIMIT_SECRET_LEAST &&
                   !memchr(plan.secrets[i].value.ptr, 0, plan.secrets[i].value.len);
        int code = redactor_new(&redactor, plan.secrets, plan.n, &error);
        HOLDS((code == 0) == fine);
        if (code)
            EXPLAINED(code, error);
        else
            check(redactor, &plan);
        redactor_free(redactor);
    }
    buf_release(&plan.text);
    unfence(&copy);
    return 0;
}
