/* SPDX-License-Identifier: MIT */
/* What a service answers:
 *
 *   {"data": [{"index": 0, "embedding": [0.1, ...]}, ...], ...}
 *
 * in any order. Whatever else stands there is passed over. */
#include "search/service_int.h"

#include "search/search_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "secrets/declared.h"
#include "secrets/redact.h"
#include "session/outside.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* A vector as it is kept: small whole numbers, and the square of its length. */
struct service_vector {
    uint32_t numbers, square;
    int8_t at[SERVICE_NUMBERS_MOST];
};

static int refuse(char why[SERVICE_WHY], const char *text)
{
    snprintf(why, SERVICE_WHY, "%s", text);
    return 1;
}

static int read_vector(struct answer *answer, const json_t *numbers, float *out,
                       char why[SERVICE_WHY])
{
    for (size_t i = 0; i < answer->numbers; i++) {
        const json_t *number = json_array_get(numbers, i);
        double value = json_number_value(number);
        if (!json_is_number(number) || !(value > -1e6 && value < 1e6))
            return refuse(why,
                          "its answer has something in a vector that is not a number");
        out[i] = (float)value;
    }
    return 0;
}

/* The first vector says how many numbers all have. */
static int make_room(struct answer *answer, const json_t *numbers,
                     char why[SERVICE_WHY], struct cairn_error *error)
{
    size_t n = json_array_size(numbers);
    if (n == 0 || n > SERVICE_NUMBERS_MOST) {
        snprintf(why, SERVICE_WHY, "its vectors have %zu numbers: 1 to %d can be used",
                 n, SERVICE_NUMBERS_MOST);
        return 1;
    }
    if (!answer->numbers)
        answer->numbers = n;
    if (n != answer->numbers) {
        snprintf(why, SERVICE_WHY, "its vectors have %zu numbers, and not %zu", n,
                 answer->numbers);
        return 1;
    }
    if (!answer->at)
        answer->at = calloc(answer->n * n, sizeof *answer->at);
    return answer->at ? 0 : error_nomem(error);
}

static int read_entry(struct answer *answer, const json_t *entry, bool *seen,
                      char why[SERVICE_WHY], struct cairn_error *error)
{
    const json_t *index = json_object_get(entry, "index");
    const json_t *numbers = json_object_get(entry, "embedding");
    json_int_t at = json_integer_value(index);
    if (!json_is_integer(index) || at < 0 || (size_t)at >= answer->n || seen[at] ||
        !json_is_array(numbers))
        return refuse(why, "its answer has other vectors than were asked for");
    seen[at] = true;
    return make_room(answer, numbers, why, error)
               ?: read_vector(answer, numbers,
                              answer->at + (size_t)at * answer->numbers, why);
}

/* 0; 1: it is not an answer to the request, and why. CAIRN_ENOMEM */
static int answer_read(struct answer *answer, struct str json, char why[SERVICE_WHY],
                       struct cairn_error *error)
{
    bool seen[SERVICE_BATCH] = {false};
    json_t *root = json_loadb(json.ptr, json.len, 0, NULL);
    const json_t *data = json_object_get(root, "data");
    int rc = 0;
    if (!root)
        rc = refuse(why, "its answer is not JSON");
    else if (!json_is_array(data) || json_array_size(data) != answer->n)
        rc = refuse(why, "its answer has other vectors than were asked for");
    for (size_t i = 0; i < answer->n && !rc; i++)
        rc = read_entry(answer, json_array_get(data, i), seen, why, error);
    json_decref(root);
    return rc;
}

/* What the service is given, and what is kept of its answers. */

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
    for (size_t i = 0; i < COUNT_OF(names); i++) {
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
static int service_text(const struct service *s, struct str title, struct str body,
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
    return rc ?: buf_check(out, s->error);
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

/* 0; 1: it failed, and `why` says so. */
static int service_ask(struct service *s, const struct str *texts, size_t n,
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

static struct str service_kept(const struct service_vector *v, struct buf *out)
{
    buf_clear(out);
    buf_u32(out, v->square);
    buf_add(out, (const char *)v->at, v->numbers);
    return buf_view(out);
}

/* More is nearer. Vectors of another length are as far as can be. */
static int64_t service_near(const struct service_vector *a, struct str kept)
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

/* The list of a service: entries by how near their vectors are to that of the query.
 * Vectors are asked for once: of what was found without the service first, then of the
 * newest entries, a limited number in one search, and the next search goes on. */

/* An entry whose text is asked for. */
struct asked {
    int64_t doc;
    struct digest digest;
    struct buf text;
};

struct asking {
    struct embedding *e;
    struct sha256 *sha;
    bool *known; /* [scope->n]: has a vector, or is not asked for */
    struct asked at[SERVICE_BATCH];
    size_t n;
    uint32_t looked_at;
    struct service_vector *vectors; /* [SERVICE_BATCH] */
};

static size_t place_of(const struct scope *scope, int64_t doc)
{
    size_t low = 0, high = scope->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scope->at[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- What is known ---- */

static int note_known(void *context, int64_t doc, struct str data)
{
    struct asking *a = context;
    size_t at = place_of(a->e->scope, doc);
    (void)data;
    if (at < a->e->scope->n && a->e->scope->at[at].doc == doc)
        a->known[at] = true;
    return 0;
}

/* ---- Asking ---- */

static int keep_answers(struct asking *a)
{
    struct embedding *e = a->e;
    struct buf data = BUF_INIT;
    int rc = searchdb_begin(e->index, e->error);
    if (rc)
        return rc;
    for (size_t i = 0; i < a->n && !rc; i++) {
        struct str kept = service_kept(&a->vectors[i], &data);
        rc = buf_check(&data, e->error)
             ?: searchdb_put_embedding(e->index, &a->at[i].digest, kept, e->error)
             ?: searchdb_set_embedded(e->index, a->at[i].doc, &a->at[i].digest,
                                      e->error);
    }
    buf_release(&data);
    if (!rc)
        return searchdb_commit(e->index, e->error);
    searchdb_abort(e->index);
    return rc;
}

static int ask_batch(struct asking *a)
{
    struct str texts[SERVICE_BATCH];
    if (!a->n)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        texts[i] = buf_view(&a->at[i].text);
    int rc = service_ask(&a->e->service, texts, a->n, a->vectors);
    if (!rc)
        a->e->sent += (uint32_t)a->n;
    if (!rc)
        rc = keep_answers(a);
    for (size_t i = 0; i < a->n; i++)
        buf_clear(&a->at[i].text);
    a->n = 0;
    return rc;
}

static int take_text(void *context, const struct searchdb_doc *doc)
{
    struct asking *a = context;
    struct asked *asked = &a->at[a->n];
    buf_clear(&asked->text);
    if (doc->section == CAIRN_SEARCH_FILES)
        return 0;
    return service_text(&a->e->service, doc->title, doc->body, &asked->text);
}

/* The same text as another entry, or as one of this batch: it is not asked again. */
static int is_asked(struct asking *a, struct asked *asked, bool *is)
{
    struct embedding *e = a->e;
    sha256_begin(a->sha);
    sha256_add(a->sha, asked->text.data, asked->text.size);
    sha256_end(a->sha, &asked->digest);
    int rc = searchdb_has_embedding(e->index, &asked->digest, is, e->error);
    if (rc || !*is)
        return rc;
    rc = searchdb_begin(e->index, e->error)
             ?: searchdb_set_embedded(e->index, asked->doc, &asked->digest, e->error);
    if (!rc)
        return searchdb_commit(e->index, e->error);
    searchdb_abort(e->index);
    return rc;
}

static bool in_batch(const struct asking *a, const struct asked *asked)
{
    for (size_t i = 0; i < a->n; i++)
        if (digest_equal(&a->at[i].digest, &asked->digest))
            return true;
    return false;
}

static int ask_for(struct asking *a, size_t place)
{
    struct embedding *e = a->e;
    struct asked *asked = &a->at[a->n];
    bool is = false;
    if (a->known[place])
        return 0;
    a->known[place] = true;
    asked->doc = e->scope->at[place].doc;
    int rc = searchdb_get(e->index, asked->doc, take_text, a, e->error);
    if (rc == CAIRN_ENOTFOUND || (!rc && !asked->text.size))
        return 0;
    a->looked_at++;
    if (!rc)
        rc = is_asked(a, asked, &is);
    if (rc || is)
        return rc;
    if (in_batch(a, asked))
        return ask_batch(a) ?: is_asked(a, asked, &is);
    a->n++;
    return a->n == SERVICE_BATCH ? ask_batch(a) : 0;
}

/* First what was found without it, then the newest ones. */
static int ask_for_all(struct asking *a)
{
    struct embedding *e = a->e;
    int rc = 0;
    for (size_t i = 0; i < e->n_first && !rc; i++)
        if (a->looked_at < SERVICE_TEXTS_AT_ONCE)
            rc = ask_for(a, place_of(e->scope, e->first[i].doc));
    for (size_t i = e->scope->n; i-- > 0 && !rc;)
        if (a->looked_at < SERVICE_TEXTS_AT_ONCE && e->scope->at[i].wanted)
            rc = ask_for(a, i);
    return rc ?: ask_batch(a);
}

static int name_model(const struct embedding *e, struct buf *out)
{
    const struct cairn_search_service *wanted = e->service.wanted;
    buf_format(out, "%s\n%s\n%u", wanted->url, wanted->model, wanted->dimensions);
    return buf_check(out, e->error);
}

static int use_model(struct embedding *e)
{
    struct buf name = BUF_INIT;
    int rc = name_model(e, &name) ?: searchdb_begin(e->index, e->error);
    if (!rc) {
        rc = searchdb_use_model(e->index, buf_view(&name), e->error);
        if (!rc)
            rc = searchdb_commit(e->index, e->error);
        else
            searchdb_abort(e->index);
    }
    buf_release(&name);
    return rc;
}

/* ---- The list ---- */

struct listing {
    const struct embedding *e;
    const struct service_vector *query;
    struct rank_list *list;
    uint64_t known;
};

static int offer(void *context, int64_t doc, struct str data)
{
    struct listing *l = context;
    const struct scope *scope = l->e->scope;
    size_t at = place_of(scope, doc);
    if (at >= scope->n || scope->at[at].doc != doc)
        return 0;
    l->known++;
    int64_t near = service_near(l->query, data);
    if (near != INT64_MIN && scope->at[at].wanted)
        rank_offer(l->list, doc, -near);
    return 0;
}

/* The query is asked first: if that fails nothing else is sent. */
static int ask_query(struct embedding *e, struct service_vector *query)
{
    struct buf text = BUF_INIT;
    int rc = service_text(&e->service, STR(""), e->text, &text);
    struct str view = text.size ? buf_view(&text) : STR("");
    if (!rc)
        rc = service_ask(&e->service, &view, 1, query);
    buf_release(&text);
    return rc;
}

static int fill(struct asking *a, struct service_vector *query, struct rank_list *list)
{
    struct embedding *e = a->e;
    struct listing listing = {.e = e, .query = query, .list = list};
    int rc = use_model(e)
             ?: ask_query(e, query)
             ?: searchdb_each_embedded(e->index, note_known, a, e->error);
    if (!rc) {
        rc = ask_for_all(a);
        rc = rc > 0 ? 0 : rc; /* it has failed now: what it said before is good */
    }
    if (!rc)
        rc = searchdb_each_embedded(e->index, offer, &listing, e->error);
    e->known = listing.known;
    rank_sort(list);
    return rc;
}

int embed_rank(struct embedding *e, struct rank_list *list)
{
    struct service_vector *vectors = calloc(1 + SERVICE_BATCH, sizeof *vectors);
    struct asking a = {
        .e = e, .sha = sha256_new(), .known = calloc(e->scope->n + 1, sizeof *a.known)};
    int rc = 0;
    if (!vectors || !a.sha || !a.known)
        rc = error_nomem(e->error);
    if (!rc) {
        a.vectors = vectors + 1;
        rc = fill(&a, vectors, list);
    }
    for (size_t i = 0; i < SERVICE_BATCH; i++)
        buf_release(&a.at[i].text);
    if (a.sha)
        sha256_free(a.sha);
    free(a.known);
    free(vectors);
    return rc < 0 ? rc : 0;
}
