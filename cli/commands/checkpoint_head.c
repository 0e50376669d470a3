/* SPDX-License-Identifier: MIT */
/* cairn checkpoint head, and reading what it printed: the newest record of each run and
 * branch, to be kept elsewhere and compared with `cairn checkpoint verify --head FILE`.
 */
#include "cli/commands/checkpoint_head.h"

#include "cli/commands/store_commands.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADS_LIMIT ((size_t)64 << 20) /* bytes of a file */

/* ---- Printing ---- */

static int add_head(void *context, const struct cairn_head *head)
{
    struct head_list *list = context;
    struct cairn_head *heads =
        realloc(list->heads, (list->n + 1) * sizeof *list->heads);
    if (!heads) {
        list->failed = true;
        return 1;
    }
    list->heads = heads;
    list->heads[list->n++] = *head;
    return 0;
}

static int print_document(const struct head_list *list)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "store", list->of.store);
    doc_count(&doc, "next_seq", list->of.next_seq);
    doc_array(&doc, "heads");
    for (size_t i = 0; i < list->n; i++) {
        const struct cairn_head *head = &list->heads[i];
        doc_object(&doc, NULL);
        doc_some(&doc, "run", head->run);
        doc_some(&doc, "branch", head->branch);
        doc_text(&doc, "id", head->id);
        doc_count(&doc, "seq", head->seq);
        doc_count(&doc, "position", head->position);
        doc_count(&doc, "records", head->records);
        doc_text(&doc, "digest", head->digest);
        doc_end(&doc);
    }
    doc_end(&doc);
    return doc_print(&doc);
}

static void print_text(const struct head_list *list)
{
    out("cairn head 1\nstore %s next %" PRIu64 "\n", list->of.store, list->of.next_seq);
    for (size_t i = 0; i < list->n; i++) {
        const struct cairn_head *head = &list->heads[i];
        out("%s %" PRIu64 " seq %" PRIu64 " position %" PRIu64 " records %" PRIu64
            " sha256 %s\n",
            head->branch ? "branch" : "run", head->branch ? head->branch : head->run,
            head->seq, head->position, head->records, head->digest);
    }
    out("end %zu\n", list->n);
}

int command_checkpoint_head(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct head_list list = {0};
    uint64_t run = 0;
    int status = open_run_number(settings, &store, &run);
    if (status == 0 &&
        cairn_checkpoint_head(store, run, add_head, &list, &list.of, &error) != 0)
        status = report_error(&error);
    cairn_store_close(store);
    if (status == 0 && list.failed) {
        status =
            report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
    } else if (status == 0 && ui_json()) {
        status = print_document(&list);
    } else if (status == 0) {
        print_text(&list);
    }
    head_release(&list);
    return status;
}

/* ---- Reading ---- */

void head_release(struct head_list *list)
{
    free(list->heads);
    *list = (struct head_list){0};
}

static bool is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* Makes the id from the number and the digest, for messages. */
static bool accept_head(struct head_list *list, struct cairn_head *head)
{
    if (!is_hex(head->digest, 64) || head->seq == 0 ||
        (head->run == 0) == (head->branch == 0))
        return false;
    snprintf(head->id, sizeof head->id, "%s:%" PRIu64 "-%.12s",
             head->branch ? "debug" : "workflow", head->seq, head->digest);
    return add_head(list, head) == 0;
}

/* "run 3 seq ..." or "branch 3 seq ..."; *used is where it ends. */
static bool read_line(const char *line, struct cairn_head *head, int *used)
{
    char of[8];
    uint64_t stream = 0;
    if (sscanf(line,
               "%7s %" SCNu64 " seq %" SCNu64 " position %" SCNu64 " records %" SCNu64
               " sha256 %64s%n",
               of, &stream, &head->seq, &head->position, &head->records, head->digest,
               used) != 6)
        return false;
    if (strcmp(of, "run") == 0)
        head->run = stream;
    else if (strcmp(of, "branch") == 0)
        head->branch = stream;
    return true;
}

/* Line by line, since sscanf measures its whole text each time. */
static bool read_text(struct head_list *list, char *text)
{
    char *rest, *line = strtok_r(text, "\n", &rest);
    size_t n = 0;
    int used = 0;
    if (!line || strcmp(line, "cairn head 1") != 0)
        return false;
    line = strtok_r(NULL, "\n", &rest);
    if (!line || sscanf(line, "store %32s next %" SCNu64 "%n", list->of.store,
                        &list->of.next_seq, &used) != 2)
        return false;
    while (line[used] == '\0' && (line = strtok_r(NULL, "\n", &rest))) {
        struct cairn_head head = {0};
        if (sscanf(line, "end %zu%n", &n, &used) == 1)
            return n == list->n &&
                   line[used + (int)strspn(line + used, "\r")] == '\0' &&
                   rest[strspn(rest, "\r\n")] == '\0';
        if (!read_line(line, &head, &used) || !accept_head(list, &head))
            return false;
    }
    return false;
}

static bool read_document(struct head_list *list, const char *text)
{
    struct json_in *root = json_in_parse(text);
    const struct json_in *heads = json_in_member(root, "heads");
    const char *store = json_in_text(json_in_member(root, "store"));
    bool good = store && json_in_is_array(heads) &&
                json_in_number(json_in_member(root, "next_seq"), &list->of.next_seq);
    if (good)
        snprintf(list->of.store, sizeof list->of.store, "%s", store);
    for (size_t i = 0; good && i < json_in_count(heads); i++) {
        const struct json_in *at = json_in_at(heads, i);
        const char *digest = json_in_text(json_in_member(at, "digest"));
        struct cairn_head head = {0};
        good = digest &&
               (json_in_number(json_in_member(at, "run"), &head.run) ||
                json_in_number(json_in_member(at, "branch"), &head.branch)) &&
               json_in_number(json_in_member(at, "seq"), &head.seq) &&
               json_in_number(json_in_member(at, "position"), &head.position) &&
               json_in_number(json_in_member(at, "records"), &head.records);
        if (good)
            snprintf(head.digest, sizeof head.digest, "%s", digest);
        good = good && accept_head(list, &head);
    }
    json_in_free(root);
    return good;
}

/* The whole file with a NUL behind it, or NULL and errno. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0, n = 1;
    while (file && n > 0) {
        char *grown = size < HEADS_LIMIT ? realloc(text, size + 65537) : NULL;
        if (!grown) {
            errno = size < HEADS_LIMIT ? ENOMEM : EFBIG;
            break;
        }
        text = grown;
        n = fread(text + size, 1, 65536, file);
        size += n;
        text[size] = '\0';
    }
    if (!file || n > 0 || ferror(file)) {
        int reason = errno;
        if (file)
            fclose(file);
        free(text);
        errno = reason;
        return NULL;
    }
    fclose(file);
    return text;
}

int head_read(const char *path, struct head_list *list)
{
    char *text = read_file(path), *start;
    bool good;
    if (!text) {
        int reason = errno;
        bool missing = reason == ENOENT;
        return report_failure(missing ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                              cairn_code_name(missing ? CAIRN_ENOTFOUND : CAIRN_EIO),
                              "cannot read %s: %s", path, strerror(reason));
    }
    start = text + strspn(text, " \t\r\n");
    good = *start == '{' ? read_document(list, start) : read_text(list, start);
    free(text);
    if (good && is_hex(list->of.store, 32))
        return 0;
    head_release(list);
    return report_failure(EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
                          "%s is not an exported head, or is incomplete: create one "
                          "with `cairn checkpoint head`",
                          path);
}
