/* SPDX-License-Identifier: MIT */
/* A database and its write-ahead log as `doctor --repair` reads them, page by page and
 * without SQLite. Nothing of them is believed: every number is hostile.
 *
 * The input: a byte that says what it is (the whole database, the whole log, or edits
 * of a sound one: two bytes of place and one of content each), a byte for the table
 * that is looked for among strays, and the bytes. */
#include "base/str.h"
#include "storage/object.h"
#include "storage/rescue/salvage.h"
#include "storage/store.h"
#include "tests/fuzz/store.h"

enum { DATABASE, LOG, DATABASE_EDITS, LOG_EDITS, WAYS };

static struct buf sound[2]; /* a database, and the log of the same store before that */

static void read_store(const char *name, struct buf *out)
{
    char path[400], bytes[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/.cairn/%s", fuzz_dir, name);
    FILE *file = fopen(path, "r");
    HOLDS(file);
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0)
        buf_add(out, bytes, n);
    HOLDS(fclose(file) == 0 && out->size > 0 && !out->failed);
}

/* Large enough for a blob that continues on other pages. */
static void make_sound(void)
{
    static char large[9000];
    struct digest digest;
    struct cairn_error error = {0};
    fuzz_store_make(4);
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 2654435761u >> 13);
    HOLDS(store_begin(fuzz_store, -1, &error) == 0);
    HOLDS(store_put_object(fuzz_store, (struct str){large, sizeof large}, &digest,
                           &error) == 0);
    struct digest base = digest;
    large[5000] ^= 1;
    HOLDS(store_put_object_after(fuzz_store, (struct str){large, sizeof large}, &base,
                                 &digest, &error) == 0);
    HOLDS(store_commit(fuzz_store, &error) == 0);
    read_store("cairn.db-wal", &sound[1]);
    cairn_store_close(fuzz_store);
    fuzz_store = NULL;
    read_store("cairn.db", &sound[0]);
}

static void edit(struct buf *file, struct reader *in)
{
    while (reader_left(in) >= 3) {
        size_t at = read_byte(in);
        at = (at << 8 | read_byte(in)) % file->size;
        file->data[at] = (char)read_byte(in);
    }
}

/* A row that is told is one of its table, and all of it can be read. */
static int see_row(void *context, const struct salvage_row *row)
{
    unsigned sum = 0;
    (void)context;
    HOLDS(row->n > 0 && row->n <= SALVAGE_COLUMNS && salvage_name(row->table));
    for (int i = 0; i < row->n; i++)
        for (size_t k = 0; k < row->values[i].bytes.len; k++)
            sum += (unsigned char)row->values[i].bytes.ptr[k];
    return sum == UINT32_MAX; /* never, but the compiler does not know */
}

static size_t size_of(void *context, const char *head)
{
    (void)context;
    return (size_t)(unsigned char)head[4] << 8 | (unsigned char)head[5];
}

static int see_blob(void *context, struct str blob, struct str tail)
{
    struct str wanted = {"CKPT", 4};
    (void)context;
    HOLDS(blob.len == size_of(NULL, blob.ptr));
    HOLDS(blob.len < wanted.len || memcmp(blob.ptr, wanted.ptr, wanted.len) == 0);
    struct fenced fenced = fence(tail);
    unfence(&fenced);
    return 0;
}

static void salvage(const struct pages *pages, enum salvage_table table)
{
    struct salvage found;
    struct cairn_error error = {0};
    struct salvage_blob wanted = {.table = SALVAGE_CHECKPOINT,
                                  .mark = STR("CKPT"),
                                  .head = 8,
                                  .tail = DIGEST_SIZE,
                                  .size = size_of,
                                  .each = see_blob};
    int code = salvage_open(&found, pages, &error);
    if (code) {
        EXPLAINED(code, error);
        return;
    }
    for (int i = 0; i < SALVAGE_TABLES; i++)
        HOLDS(salvage_reached(&found, (enum salvage_table)i, see_row, NULL, &error) ==
              0);
    HOLDS(salvage_stray(&found, table, see_row, NULL, &error) == 0);
    HOLDS(salvage_blobs(&found, &wanted, &error) == 0);
    salvage_close(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader in = reader_of((const char *)data, size);
    struct buf files[2] = {BUF_INIT, BUF_INIT};
    char paths[2][400];
    struct pages pages;
    struct cairn_error error = {0};
    if (size < 2)
        return 0;
    if (!sound[0].size)
        make_sound();
    unsigned way = read_byte(&in) % WAYS;
    enum salvage_table table = (enum salvage_table)(read_byte(&in) % SALVAGE_TABLES);
    struct buf *file = &files[way % 2];
    if (way < DATABASE_EDITS)
        buf_str(file, read_bytes(&in, reader_left(&in)));
    else {
        buf_str(file, buf_view(&sound[way % 2]));
        edit(file, &in);
    }
    if (way == LOG || way == LOG_EDITS)
        buf_str(&files[0], buf_view(&sound[0]));
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "log" : "database";
        fuzz_file(name, buf_view(&files[i]));
        snprintf(paths[i], sizeof paths[i], "%s/%s", fuzz_dir, name);
        buf_release(&files[i]);
    }
    int code = pages_load(&pages, paths[0], paths[1], &error);
    if (code)
        EXPLAINED(code, error);
    else {
        salvage(&pages, table);
        pages_release(&pages);
    }
    return 0;
}
