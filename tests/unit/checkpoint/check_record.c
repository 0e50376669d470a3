/* SPDX-License-Identifier: MIT */
/* The record codec, and the worked examples of docs/format.md. */
#include "cairn/outcome.h"
#include "checkpoint/chain.h"
#include "checkpoint/payload.h"
#include "checkpoint/sections.h"
#include "storage/rows_checkpoint.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct sha256 *sha;

static void setup(void)
{
    sha = sha256_new();
    ck_assert_ptr_nonnull(sha);
}

static void teardown(void)
{
    sha256_free(sha);
}

static struct record_header example_header(void)
{
    struct record_header header = {.namespace_id = NAMESPACE_WORKFLOW,
                                   .kind = RECORD_DELTA,
                                   .stream = 0x0102030405060708,
                                   .seq = 0x1112131415161718,
                                   .position = 0x2122232425262728,
                                   .time_ns = -5};
    for (int i = 0; i < DIGEST_SIZE; i++)
        header.parent.bytes[i] = (uint8_t)(i + 1);
    return header;
}

static void encode(const struct record_header *header, struct str payload,
                   struct buf *out, struct digest *digest)
{
    ck_assert_int_eq(record_encode(header, payload, sha, out, digest, NULL), 0);
    ck_assert_uint_eq(out->size, RECORD_HEADER_BYTES + payload.len);
}

START_TEST(round_trip)
{
    struct record_header in = example_header(), out;
    struct buf record = BUF_INIT;
    struct digest digest;
    struct str payload;
    encode(&in, STR("payload"), &record, &digest);
    ck_assert_int_eq(record_decode(buf_view(&record), digest_view(&digest), sha, &out,
                                   &payload, NULL),
                     0);
    ck_assert(str_equal(payload, STR("payload")));
    ck_assert_uint_eq(out.stream, in.stream);
    ck_assert_uint_eq(out.seq, in.seq);
    ck_assert_uint_eq(out.position, in.position);
    ck_assert_int_eq(out.time_ns, in.time_ns);
    ck_assert_uint_eq(out.kind, in.kind);
    ck_assert_uint_eq(out.namespace_id, in.namespace_id);
    ck_assert_uint_eq(out.payload_bytes, 7);
    ck_assert(digest_equal(&out.parent, &in.parent));
    buf_release(&record);
}
END_TEST

static int decode_bytes(struct str record, struct str digest)
{
    struct record_header header;
    struct str payload;
    struct cairn_error error = {0};
    int rc = record_decode(record, digest, sha, &header, &payload, &error);
    if (rc)
        ck_assert_int_eq(error.code, rc);
    return rc;
}

START_TEST(every_flip_is_refused)
{
    struct record_header header = example_header();
    struct buf record = BUF_INIT;
    struct digest digest;
    encode(&header, STR("some payload"), &record, &digest);
    for (size_t i = 0; i < record.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            record.data[i] = (char)(record.data[i] ^ (1 << bit));
            ck_assert_int_eq(decode_bytes(buf_view(&record), digest_view(&digest)),
                             CAIRN_EDAMAGED);
            record.data[i] = (char)(record.data[i] ^ (1 << bit));
        }
    }
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        digest.bytes[i] ^= 0x10;
        ck_assert_int_eq(decode_bytes(buf_view(&record), digest_view(&digest)),
                         CAIRN_EDAMAGED);
        digest.bytes[i] ^= 0x10;
    }
    ck_assert_int_eq(decode_bytes(buf_view(&record), digest_view(&digest)), 0);
    buf_release(&record);
}
END_TEST

START_TEST(every_length_is_refused)
{
    struct record_header header = example_header();
    struct buf record = BUF_INIT;
    struct digest digest;
    encode(&header, STR("some payload"), &record, &digest);
    size_t whole = record.size;
    for (size_t n = 0; n < whole; n++) {
        struct digest of_part;
        struct str part = {record.data, n};
        ck_assert_int_eq(sha256_of(part.ptr, n, &of_part, NULL), 0);
        ck_assert_int_eq(decode_bytes(part, digest_view(&of_part)), CAIRN_EDAMAGED);
    }
    buf_byte(&record, 0);
    ck_assert_int_eq(sha256_of(record.data, record.size, &digest, NULL), 0);
    ck_assert_int_eq(decode_bytes(buf_view(&record), digest_view(&digest)),
                     CAIRN_EDAMAGED);
    struct str short_digest = {(const char *)digest.bytes, DIGEST_SIZE - 1};
    ck_assert_int_eq(decode_bytes(buf_view(&record), short_digest), CAIRN_EDAMAGED);
    buf_release(&record);
}
END_TEST

/* Bytes of the header that must be refused even under a right hash. */
START_TEST(fields_are_checked_behind_the_hash)
{
    static const struct {
        size_t offset;
        uint8_t value;
    } wrong[] = {{0, 'c'}, {3, 2},  {4, 2},  {5, 1}, {6, 0},  {6, 3},
                 {7, 0},   {7, 3},  {8, 1},  {9, 1}, {10, 1}, {11, 1},
                 {12, 0},  {15, 1}, {80, 1}, {87, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct record_header header = example_header();
        struct buf record = BUF_INIT;
        struct digest digest;
        encode(&header, STR("some payload"), &record, &digest);
        record.data[wrong[i].offset] = (char)wrong[i].value;
        ck_assert_int_eq(sha256_of(record.data, record.size, &digest, NULL), 0);
        ck_assert_msg(decode_bytes(buf_view(&record), digest_view(&digest)) ==
                          CAIRN_EDAMAGED,
                      "offset %zu = %u accepted", wrong[i].offset, wrong[i].value);
        buf_release(&record);
    }
}
END_TEST

START_TEST(wrong_headers_are_not_written)
{
    struct buf out = BUF_INIT;
    struct digest digest;
    struct record_header header = example_header();
    header.kind = 3;
    ck_assert_int_eq(record_encode(&header, STR("x"), sha, &out, &digest, NULL),
                     CAIRN_EUSAGE);
    header = example_header();
    header.flags = 1;
    ck_assert_int_eq(record_encode(&header, STR("x"), sha, &out, &digest, NULL),
                     CAIRN_EUSAGE);
    header = example_header();
    header.seq = 0;
    ck_assert_int_eq(record_encode(&header, STR("x"), sha, &out, &digest, NULL),
                     CAIRN_EUSAGE);
    ck_assert_uint_eq(out.size, 0);
    buf_release(&out);
}
END_TEST

/* ---- The example in the documentation ---- */

static void read_page(struct buf *page)
{
    const char *root = getenv("SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/format.md", root ? root : ".");
    FILE *file = fopen(path, "rb");
    char chunk[4096];
    size_t n;
    ck_assert_msg(file != NULL, "run it in the project's root, or set SOURCE_ROOT");
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(page, chunk, n);
    ck_assert_int_eq(fclose(file), 0);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes of the fenced block that begins with `fence`, from `at` on; moves `at` on. */
static void read_block(const char **at, const char *fence, struct buf *out)
{
    const char *line = strstr(*at, fence);
    ck_assert_msg(line != NULL, "no block %s", fence);
    line = strchr(line + 4, '\n') + 1;
    while (strncmp(line, "```", 3) != 0) {
        const char *c = strchr(line, ':') + 1, *end = strchr(line, '\n');
        for (; c < end && *c != ';'; c++) {
            if (hex_value(c[0]) < 0)
                continue;
            buf_byte(out, (uint8_t)(hex_value(c[0]) * 16 + hex_value(c[1])));
            c++;
        }
        line = end + 1;
    }
    *at = line;
}

struct example {
    struct buf record, trailer;
    struct record_header header;
    struct str payload;
};

static void read_record(const char **at, const char *fence, struct example *out)
{
    *out = (struct example){.record = BUF_INIT, .trailer = BUF_INIT};
    read_block(at, fence, &out->record);
    read_block(at, "```trailer\n", &out->trailer);
    ck_assert_int_eq(record_decode(buf_view(&out->record), buf_view(&out->trailer), sha,
                                   &out->header, &out->payload, NULL),
                     0);
}

static void read_example(const char **at, const char *fence, struct example *out)
{
    read_record(at, fence, out);
    ck_assert_uint_eq(out->header.stream, 7);
    ck_assert_uint_eq(out->header.namespace_id, NAMESPACE_WORKFLOW);
}

static int check_change(void *context, const struct change *change)
{
    int *seen = context;
    static const struct digest none;
    if (*seen == 0) {
        ck_assert_uint_eq(change->task, 1);
        ck_assert_uint_eq(change->outcome, CAIRN_COMPLETED);
        ck_assert_uint_eq(change->attempts, 1);
        ck_assert_uint_eq(change->outputs.bytes[31], 0x7f);
    } else {
        ck_assert_uint_eq(change->task, 3);
        ck_assert_uint_eq(change->outcome, CAIRN_FAILED);
        ck_assert_uint_eq(change->attempts, 3);
        ck_assert(digest_equal(&change->outputs, &none));
    }
    ++*seen;
    return 0;
}

START_TEST(documented_example)
{
    struct buf page = BUF_INIT;
    struct example full, delta, keyed;
    struct hmac_key key;
    uint8_t key_bytes[32];
    struct states states;
    struct digest graph;
    struct delta changes;
    int seen = 0;
    read_page(&page);
    const char *at = page.data;
    read_example(&at, "```full\n", &full);
    read_example(&at, "```delta\n", &delta);
    read_example(&at, "```keyed\n", &keyed);
    for (int i = 0; i < 32; i++)
        key_bytes[i] = (uint8_t)i;
    hmac_key_init(&key, key_bytes, sizeof key_bytes, sha);
    ck_assert_uint_eq(keyed.header.flags, RECORD_KEYED);
    ck_assert_int_eq(
        record_authentic(buf_view(&keyed.record), &keyed.header, &key, sha, NULL), 0);
    ck_assert(str_equal(keyed.payload, delta.payload));
    struct buf again = BUF_INIT;
    struct digest digest;
    keyed.header.flags = 0;
    ck_assert_int_eq(record_encode_keyed(&keyed.header, keyed.payload, &key, sha,
                                         &again, &digest, NULL),
                     0);
    ck_assert(str_equal(buf_view(&again), buf_view(&keyed.record)));
    buf_release(&again);
    ck_assert_uint_eq(full.header.kind, RECORD_FULL);
    ck_assert_uint_eq(full.header.seq, 41);
    ck_assert_int_eq(full.header.time_ns, 1767225600000000000);
    ck_assert_uint_eq(delta.header.kind, RECORD_DELTA);
    ck_assert_uint_eq(delta.header.seq, 42);
    ck_assert_int_eq(delta.header.time_ns, 1767225601500000000);
    ck_assert(str_equal(digest_view(&delta.header.parent), buf_view(&full.trailer)));
    ck_assert_int_eq(payload_parse_full(full.payload, &states, &graph, NULL), 0);
    ck_assert_uint_eq(states.n, 4);
    ck_assert_uint_eq(states_tally(&states).completed, 1);
    ck_assert_uint_eq(graph.bytes[0], 0xa0);
    ck_assert_int_eq(payload_parse_delta(delta.payload, &changes, NULL), 0);
    ck_assert_uint_eq(changes.base, 41);
    ck_assert_uint_eq(changes.graph_tag, graph_tag(&graph));
    ck_assert_int_eq(delta_each(&changes, 4, check_change, &seen, NULL), 0);
    ck_assert_int_eq(seen, 2);
    ck_assert(strstr(page.data, "workflow:42-9e8f55f467b5") != NULL);
    delta_release(&changes);
    states_release(&states);
    buf_release(&full.record);
    buf_release(&full.trailer);
    buf_release(&delta.record);
    buf_release(&delta.trailer);
    buf_release(&keyed.record);
    buf_release(&keyed.trailer);
    buf_release(&page);
}
END_TEST

START_TEST(documented_example_of_a_session)
{
    struct arena arena = ARENA_INIT;
    struct buf page = BUF_INIT, again = BUF_INIT;
    struct example debug;
    struct sections found;
    read_page(&page);
    const char *at = page.data;
    read_record(&at, "```debug\n", &debug);
    ck_assert_uint_eq(debug.header.namespace_id, NAMESPACE_DEBUG);
    ck_assert_uint_eq(debug.header.stream, 3);
    ck_assert_uint_eq(debug.header.seq, 43);
    ck_assert_int_eq(sections_decode(&arena, debug.payload, &found, NULL), 0);
    ck_assert_uint_eq(found.trigger, 14);
    ck_assert(str_equal(found.message, STR("Auto: task failed")));
    ck_assert_uint_eq(found.n_tags, 1);
    ck_assert(str_equal(found.tags[0], STR("auto")));
    ck_assert_int_eq(found.boot_ns, 60000000000);
    ck_assert(found.linked && found.link.run == 7 && found.link.seq == 42);
    ck_assert(str_equal(found.link.task, STR("publish")));
    ck_assert(found.link.attempt == 3 && found.link.end == 0 && found.link.code == 1);
    ck_assert(str_equal(found.link.tail, STR("no\n")));
    ck_assert_uint_eq(found.n, 1);
    ck_assert(found.list[0].kind == 1 && found.list[0].n == 2);
    ck_assert_uint_eq(found.list[0].last, 5);
    ck_assert_uint_eq(found.list[0].digest.bytes[31], 0xdf);
    ck_assert_int_eq(sections_encode(&found, &again, NULL), 0);
    ck_assert(str_equal(buf_view(&again), debug.payload));
    char id[CAIRN_ID_MAX];
    struct digest digest;
    memcpy(digest.bytes, debug.trailer.data, DIGEST_SIZE);
    checkpoint_id(NAMESPACE_DEBUG, debug.header.seq, &digest, id);
    ck_assert_msg(strstr(page.data, id) != NULL, "%s", id);
    buf_release(&debug.record);
    buf_release(&debug.trailer);
    buf_release(&again);
    buf_release(&page);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tests = tcase_create("record");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, round_trip);
    tcase_add_test(tests, every_flip_is_refused);
    tcase_add_test(tests, every_length_is_refused);
    tcase_add_test(tests, fields_are_checked_behind_the_hash);
    tcase_add_test(tests, wrong_headers_are_not_written);
    tcase_add_test(tests, documented_example);
    tcase_add_test(tests, documented_example_of_a_session);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
