/* SPDX-License-Identifier: MIT */
/* What the service is given, and what is kept of its answers. */
#include "search/service_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "secrets/declared.h"
#include "session/outside/redaction.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- What may be used ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

/* The rest of the address behind the scheme: name, port and path. */
static bool is_this_machine(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && strchr(":/", host[n]))
            return true;
    }
    return false;
}

static const char *host_of(const char *url)
{
    return url + strlen(begins(url, "http://") ? "http://" : "https://");
}

static int check_url(const struct cairn_search_service *wanted,
                     struct cairn_error *error)
{
    const char *url = wanted->url;
    bool plain = begins(url, "http://");
    const char *host = host_of(url);
    if ((!plain && !begins(url, "https://")) || !is_plain(url) || !*host ||
        strlen(url) > 2000)
        return error_set(error, CAIRN_EUSAGE,
                         "the URL of the service for embeddings has to begin with "
                         "https:// or http://, without blanks: the whole address, such "
                         "as http://127.0.0.1:8080/v1/embeddings");
    if (memchr(host, '@', strcspn(host, "/?#")))
        return error_set(error, CAIRN_EUSAGE,
                         "the URL of the service for embeddings has a name or password "
                         "in it: leave it out, and give a key");
    if (wanted->key && plain && !is_this_machine(host))
        return error_set(error, CAIRN_EUSAGE,
                         "a key is not sent by http:// to another machine, where "
                         "others could read it: use https://");
    return 0;
}

int service_check(const struct cairn_search_service *wanted, struct cairn_error *error)
{
    if (!wanted->url)
        return error_set(error, CAIRN_EUSAGE, "the service for embeddings has no URL");
    if (!wanted->model || !*wanted->model || strlen(wanted->model) > 200 ||
        !is_plain(wanted->model))
        return error_set(
            error, CAIRN_EUSAGE,
            "the service for embeddings needs the name of a model, of 1 to "
            "200 characters");
    if (wanted->dimensions > SERVICE_NUMBERS_MOST)
        return error_set(error, CAIRN_EUSAGE,
                         "%u dimensions of an embedding are too many: at most %d",
                         wanted->dimensions, SERVICE_NUMBERS_MOST);
    if (wanted->key && (!is_plain(wanted->key) || !*wanted->key ||
                        strlen(wanted->key) > SERVICE_KEY_MOST))
        return error_set(error, CAIRN_EUSAGE,
                         "the key of the service for embeddings is empty, too long, or "
                         "has characters that no key has");
    return check_url(wanted, error);
}

int service_begin(struct service *s, struct cairn_store *store,
                  const struct cairn_search_service *wanted, struct cairn_error *error)
{
    struct buf names = BUF_INIT;
    *s = (struct service){
        .wanted = wanted, .numbers = wanted->dimensions, .error = error};
    s->until_ns = clock_mono_ns() + SERVICE_SEARCH_MS * INT64_C(1000000);
    int rc = secrets_declared(store, false, &names, error);
    struct hidden_values hidden = {.declared = names.size ? buf_view(&names) : STR("")};
    if (!rc)
        rc = redactor_of_values(&hidden, &s->redactor, error);
    buf_release(&names);
    return rc;
}

void service_end(struct service *s)
{
    redactor_free(s->redactor);
    s->redactor = NULL;
}

/* ---- Texts ---- */

/* Secrets go before it is cut: half of one would not be known. */
int service_text(const struct service *s, struct str title, struct str body,
                 struct buf *out)
{
    struct buf whole = BUF_INIT, clean = BUF_INIT;
    buf_str(&whole, title);
    buf_text(&whole, title.len && body.len ? "\n" : "");
    buf_add(&whole, body.ptr, utf8_fit(body, 4 * SERVICE_TEXT_BYTES));
    int rc = buf_check(&whole, s->error);
    if (!rc && whole.size)
        add_clean(s->redactor, buf_view(&whole), &clean);
    if (!rc)
        rc = buf_check(&clean, s->error);
    if (!rc && clean.size)
        buf_add(out, clean.data, utf8_fit(buf_view(&clean), SERVICE_TEXT_BYTES));
    buf_release(&whole);
    buf_release(&clean);
    return rc ? rc : buf_check(out, s->error);
}

static void add_json(struct buf *out, struct str text)
{
    buf_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < ' ' || c == 0x7f)
            buf_format(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            buf_format(out, "\\%c", c);
        else
            buf_byte(out, c);
    }
    buf_byte(out, '"');
}

static int make_body(const struct service *s, const struct str *texts, size_t n,
                     struct buf *out)
{
    buf_text(out, "{\"model\":");
    add_json(out, str_of(s->wanted->model));
    buf_text(out, ",\"encoding_format\":\"float\"");
    if (s->wanted->dimensions)
        buf_format(out, ",\"dimensions\":%u", s->wanted->dimensions);
    buf_text(out, ",\"input\":[");
    for (size_t i = 0; i < n; i++) {
        buf_text(out, i ? "," : "");
        add_json(out, texts[i]);
    }
    buf_text(out, "]}");
    return buf_check(out, s->error);
}

/* ---- Answers ---- */

static void explain_status(long status, char why[SERVICE_WHY])
{
    const char *text =
        status == 401 || status == 403  ? "it refuses the key, or the lack of one"
        : status == 404                 ? "there is no such address or model"
        : status == 429                 ? "it wants fewer requests"
        : status >= 500                 ? "it is out of order"
        : status >= 300 && status < 400 ? "it sends us elsewhere, where we do not go"
                                        : "it refuses the request";
    snprintf(why, SERVICE_WHY, "%s (status %ld)", text, status);
}

static void quantize(const float *numbers, uint32_t n, struct service_vector *out)
{
    float most = 0;
    out->numbers = n;
    out->square = 0;
    for (uint32_t i = 0; i < n; i++) {
        float size = numbers[i] < 0 ? -numbers[i] : numbers[i];
        most = size > most ? size : most;
    }
    for (uint32_t i = 0; i < n; i++) {
        float value = most > 0 ? numbers[i] * 127 / most : 0;
        out->at[i] = (int8_t)(value + (value < 0 ? -0.5f : 0.5f));
        out->square += (uint32_t)(out->at[i] * out->at[i]);
    }
}

static int take_answer(struct service *s, struct str json, size_t n,
                       struct service_vector *out)
{
    struct answer answer = {.n = n, .numbers = s->numbers};
    int rc = answer_read(&answer, json, s->why, s->error);
    if (!rc)
        s->numbers = (uint32_t)answer.numbers;
    for (size_t i = 0; i < n && !rc; i++)
        quantize(answer.at + i * s->numbers, s->numbers, &out[i]);
    free(answer.at);
    return rc;
}

int service_ask(struct service *s, const struct str *texts, size_t n,
                struct service_vector *out)
{
    struct buf body = BUF_INIT, answer = BUF_INIT;
    long status = 0;
    int64_t left_ms = (s->until_ns - clock_mono_ns()) / 1000000;
    if (s->why[0])
        return 1;
    int rc = make_body(s, texts, n, &body);
    struct http_request request = {
        .url = s->wanted->url,
        .key = s->wanted->key,
        .body = body.size ? buf_view(&body) : STR(""),
        .timeout_ms = left_ms < SERVICE_REQUEST_MS ? left_ms : SERVICE_REQUEST_MS,
        .answer_most = SERVICE_ANSWER_MOST,
        .direct = is_this_machine(host_of(s->wanted->url))};
    if (!rc && left_ms <= 0) {
        snprintf(s->why, sizeof s->why, "it took too long");
        rc = 1;
    }
    if (!rc)
        rc = http_post(&request, &answer, &status, s->why, s->error);
    if (!rc && status != 200) {
        explain_status(status, s->why);
        rc = 1;
    }
    if (!rc)
        rc = take_answer(s, answer.size ? buf_view(&answer) : STR(""), n, out);
    buf_release(&body);
    buf_release(&answer);
    return rc;
}

/* ---- What is kept: u32 square, the numbers ---- */

struct str service_kept(const struct service_vector *v, struct buf *out)
{
    buf_clear(out);
    buf_u32(out, v->square);
    buf_add(out, (const char *)v->at, v->numbers);
    return buf_view(out);
}

int64_t service_near(const struct service_vector *a, struct str kept)
{
    struct reader in = reader_of(kept.ptr, kept.len);
    uint32_t square = read_u32(&in);
    int64_t dot = 0;
    if (kept.len != 4 + (size_t)a->numbers || !a->square || !square)
        return INT64_MIN;
    const int8_t *at = (const int8_t *)kept.ptr + 4;
    for (uint32_t i = 0; i < a->numbers; i++)
        dot += a->at[i] * at[i];
    double near =
        (double)dot * (double)dot / ((double)a->square * (double)square) * 1e9;
    return dot < 0 ? -(int64_t)near : (int64_t)near;
}
