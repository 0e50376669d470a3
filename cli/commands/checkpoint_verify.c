/* SPDX-License-Identifier: MIT */
/* cairn checkpoint head, verify, delete, prune. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/files.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include "cairn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* cairn checkpoint head, and reading what it printed: the newest record of each run and
 * branch, to be kept elsewhere and compared with `cairn checkpoint verify --head FILE`.
 */

struct head_list {
    struct cairn_head_store of;
    struct cairn_head *heads;
    size_t n;
    bool failed;
};

#define HEADS_LIMIT ((size_t)64 << 20) /* bytes of a file */

/* ---- Printing ---- */

static void head_release(struct head_list *list);

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

static int print_heads_document(const struct head_list *list)
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

static void print_heads(const struct head_list *list)
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
    store_close(store);
    if (status == 0 && list.failed) {
        status = report_nomem();
    } else if (status == 0 && ui_json()) {
        status = print_heads_document(&list);
    } else if (status == 0) {
        print_heads(&list);
    }
    head_release(&list);
    return status;
}

/* ---- Reading ---- */

static void head_release(struct head_list *list)
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

/* Reads a file in either form. Returns an exit status, 0 for success; otherwise it has
 * reported what is wrong. */
static int head_read(const char *path, struct head_list *list)
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

/* cairn checkpoint verify: names everything that is damaged. */

struct verify_report {
    struct doc *doc; /* with --json */
    uint64_t problems;
    uint64_t kinds[CAIRN_PROBLEM_LOST + 1]; /* of these */
    bool forged;                            /* a checkpoint without a good HMAC */
    const struct head_list *heads;          /* or NULL */
    struct damaged_objects objects;
};

static int each_problem(void *context, const struct cairn_problem *problem)
{
    static const char *const kinds[] = {"damage", "hmac",   "key",
                                        "head",   "unread", "lost"};
    struct verify_report *report = context;
    report->problems++;
    report->kinds[problem->kind]++;
    report->forged |= problem->kind == CAIRN_PROBLEM_HMAC && problem->seq != 0;
    damaged_note(&report->objects, problem->object);
    if (report->doc) {
        doc_object(report->doc, NULL);
        doc_some(report->doc, "seq", problem->seq);
        doc_text(report->doc, "id", problem->id[0] ? problem->id : NULL);
        doc_text(report->doc, "kind", kinds[problem->kind]);
        doc_text(report->doc, "text", problem->text);
        doc_end(report->doc);
    } else if (problem->id[0] != '\0') {
        out("%s: %s\n", problem->id, problem->text);
    } else {
        out("%s\n", problem->text);
    }
    return 0;
}

static void print_damage_document(const struct verify_report *report,
                                  struct cairn_store *store,
                                  const struct cairn_verify_result *result, bool ok)
{
    struct doc *doc = report->doc;
    doc_end(doc);
    damaged_name(&report->objects, store, doc);
    doc_bool(doc, "ok", ok);
    doc_count(doc, "checked", result->checked);
    doc_count(doc, "damaged", result->damaged);
    doc_count(doc, "objects", result->objects);
    doc_count(doc, "bad_objects", result->bad_objects);
    doc_count(doc, "pruned", result->pruned);
    doc_number(doc, "duration_ms", result->duration_ms);
    doc_count(doc, "hmacs", result->hmacs);
    doc_count(doc, "unchecked_hmacs", result->unchecked_hmacs);
    doc_count(doc, "unkeyed_runs", result->unkeyed_runs);
    doc_count(doc, "unkeyed_branches", result->unkeyed_branches);
    doc_count(doc, "bad_hmacs", result->bad_hmacs);
    doc_count(doc, "part_lost", result->part_lost);
    if (report->heads) {
        doc_object(doc, "head");
        doc_count(doc, "runs", report->heads->n);
        doc_bool(doc, "fits", report->kinds[CAIRN_PROBLEM_HEAD] == 0);
        doc_end(doc);
    } else {
        doc_null(doc, "head");
    }
    doc_print(doc);
}

static const char *heads_text(const struct head_list *heads)
{
    for (size_t i = 0; i < heads->n; i++)
        if (heads->heads[i].branch != 0)
            return " and branches were";
    return heads->n == 1 ? " was" : " were";
}

/* What to do about what was named. */
static void print_advice(const struct verify_report *report)
{
    const uint64_t *kinds = report->kinds;
    if (kinds[CAIRN_PROBLEM_DAMAGE] > 0)
        say("see `cairn doctor` for what to do");
    if (kinds[CAIRN_PROBLEM_HMAC] > 0)
        say("records without an HMAC of the key do not count; %s",
            report->forged ? "`cairn checkpoint delete ID` with the same --key removes "
                             "such a checkpoint"
                           : "see `cairn doctor` with the same --key for what to do");
    if (kinds[CAIRN_PROBLEM_KEY] > 0)
        say("name the right key with --key FILE or CAIRN_KEY, or none");
    if (kinds[CAIRN_PROBLEM_HEAD] > 0)
        say("the store does not match the exported head: restore the one that does, "
            "or, if you know the reason, export a new head with `cairn checkpoint "
            "head`");
    else if (report->heads)
        say("the exported head matches: %zu run%s%s compared", report->heads->n,
            plural(report->heads->n), heads_text(report->heads));
}

static void print_unkeyed(const struct cairn_verify_result *result)
{
    uint64_t branches = result->unkeyed_branches;
    uint64_t runs = result->unkeyed_runs - branches;
    if (runs > 0)
        say("%llu run%s recorded without a key: nothing proves who wrote %s",
            (unsigned long long)runs, runs == 1 ? " was" : "s were",
            runs == 1 ? "it" : "them");
    if (branches > 0)
        say("%llu branch%s of sessions, which have no key: nothing proves who wrote %s",
            (unsigned long long)branches, branches == 1 ? "" : "es",
            branches == 1 ? "it" : "them");
}

static void print_damage(const struct verify_report *report, struct cairn_store *store,
                         const struct cairn_verify_result *result)
{
    uint64_t others =
        report->kinds[CAIRN_PROBLEM_HEAD] + report->kinds[CAIRN_PROBLEM_KEY] +
        report->kinds[CAIRN_PROBLEM_UNREAD] + report->kinds[CAIRN_PROBLEM_LOST];
    char took[FORMAT_MAX];
    damaged_name(&report->objects, store, NULL);
    out_flush();
    say("%llu checkpoint%s and %llu object%s checked in %s: %s",
        (unsigned long long)result->checked, plural(result->checked),
        (unsigned long long)result->objects, plural(result->objects),
        format_duration(took, result->duration_ms),
        report->problems > others ? "DAMAGED" : "undamaged");
    if (result->part_lost > 0)
        say("%llu of the checkpoints lack%s something that a repair could not save: "
            "`cairn checkpoint delete ID` takes one out",
            (unsigned long long)result->part_lost, result->part_lost == 1 ? "s" : "");
    if (result->unchecked_hmacs > 0 && report->kinds[CAIRN_PROBLEM_KEY] == 0)
        say("%llu HMAC%s not checked: give the key with --key FILE",
            (unsigned long long)result->unchecked_hmacs,
            result->unchecked_hmacs == 1 ? " was" : "s were");
    print_unkeyed(result);
    print_advice(report);
}

static int verify_store(struct settings *settings, const struct head_list *heads)
{
    struct doc doc;
    struct verify_report report = {.doc = doc_open(&doc, "problems"), .heads = heads};
    struct cairn_verify_result result = {0};
    struct cairn_error error = {0};
    int rc;
    rc = cairn_checkpoint_verify(settings->store, settings->operands[0], each_problem,
                                 &report, &result, &error);
    if (heads && (rc == 0 || rc == CAIRN_EDAMAGED)) {
        struct cairn_error local = {0};
        int compared =
            cairn_checkpoint_compare(settings->store, &heads->of, heads->heads,
                                     heads->n, each_problem, &report, &local);
        if (compared != 0) {
            rc = compared;
            error = local;
        }
    }
    if (rc != 0 && (rc != CAIRN_EDAMAGED || report.problems == 0)) {
        damaged_release(&report.objects);
        return doc_close(report.doc, report_error(&error));
    }
    if (report.doc)
        print_damage_document(&report, settings->store, &result, rc == 0);
    else
        print_damage(&report, settings->store, &result);
    damaged_release(&report.objects);
    return rc == 0 ? 0 : cairn_exit_status(rc);
}

int command_checkpoint_verify(struct settings *settings)
{
    struct head_list heads = {0};
    int status = 0;
    if (settings->given[OPT_HEAD])
        status = head_read(settings->text[OPT_HEAD], &heads);
    if (status == 0)
        status = store_for_reading(settings, &settings->store)
                 ?: checkpoint_operand(settings, 0)
                 ?: verify_store(settings, settings->given[OPT_HEAD] ? &heads : NULL);
    head_release(&heads);
    return status;
}

/* cairn checkpoint delete: deletes one, after asking on a terminal. */

static bool ask_to_delete(const char *id)
{
    say_always("checkpoint %s", id);
    return ui_ask("Delete it permanently?");
}

static int delete_checkpoint(const struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    const char *id = settings->operands[0];
    struct cairn_error error = {0};
    struct doc doc;
    /* One that is damaged, or cannot be rebuilt because one before it was deleted,
     * cannot be got, but it can be deleted. */
    if (cairn_checkpoint_get(settings->store, id, &info, &error) == 0)
        id = info.id;
    else if (error.code != CAIRN_EDAMAGED && error.code != CAIRN_ENOTFOUND)
        return report_error(&error);
    if (!settings->given[OPT_YES] && !ask_to_delete(id)) {
        say_always("nothing was deleted");
        return 0;
    }
    if (cairn_checkpoint_delete(settings->store, id, &error) != 0)
        return report_error(&error);
    store_forget(settings->store);
    if (!ui_json()) {
        say("deleted %s", id);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "deleted", id);
    return doc_print(&doc);
}

int command_checkpoint_delete(struct settings *settings)
{
    if (!settings->given[OPT_YES] && !ui_can_ask())
        return report_usage("checkpoint delete",
                            "deleting without a terminal needs --yes");
    return store_for_writing(settings, &settings->store, false)
           ?: checkpoint_operand(settings, 0)
           ?: delete_checkpoint(settings);
}

/* cairn checkpoint prune: deletes old checkpoints of every run, or of a session. */

static void say_first(const struct cairn_prune_result *result, const char *prefix)
{
    char text[24 * (sizeof result->first / sizeof result->first[0]) + 1];
    size_t used = 0;
    for (uint32_t i = 0; i < result->named; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%llu",
                             i > 0 ? ", " : "", (unsigned long long)result->first[i]);
    if (result->deleted > result->named)
        say("these: %s%s and %llu more", prefix, text,
            (unsigned long long)(result->deleted - result->named));
    else if (result->named > 0)
        say("these: %s%s", prefix, text);
}

static int report_pruned(const struct cairn_prune_result *result, bool dry_run,
                         const char *prefix)
{
    char size[FORMAT_MAX];
    struct doc doc;
    if (!ui_json()) {
        out("%s %llu of %llu checkpoint%s, %llu stay%s, %s %s\n",
            dry_run ? "would delete" : "deleted", (unsigned long long)result->deleted,
            (unsigned long long)result->total, plural(result->total),
            (unsigned long long)result->kept, result->kept == 1 ? "s" : "",
            format_bytes(size, result->freed_bytes),
            dry_run ? "would be free" : "freed");
        out_flush();
        if (dry_run)
            say_first(result, prefix);
        if (result->surplus > 0)
            say("%llu more than --keep asks for: none is deleted that a run forked "
                "from, and of a run with a key only with that key",
                (unsigned long long)result->surplus);
        return 0;
    }
    doc_begin(&doc);
    doc_bool(&doc, "dry_run", dry_run);
    doc_count(&doc, "total", result->total);
    doc_count(&doc, "kept", result->kept);
    doc_count(&doc, "deleted", result->deleted);
    doc_count(&doc, "freed_bytes", result->freed_bytes);
    doc_array(&doc, "first");
    for (uint32_t i = 0; i < result->named; i++)
        doc_count(&doc, NULL, result->first[i]);
    doc_end(&doc);
    return doc_print(&doc);
}

static int prune_runs(struct settings *settings)
{
    struct cairn_prune_options options = {
        .run = settings->number[OPT_ONLY_RUN],
        .keep = (uint32_t)settings->number[OPT_PRUNE_KEEP],
        .dry_run = settings->given[OPT_DRY_RUN],
    };
    struct cairn_prune_result result = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int status = options.dry_run ? store_for_reading(settings, &store)
                                 : store_for_writing(settings, &store, false);
    if (status == 0 && cairn_checkpoint_prune(store, &options, &result, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_pruned(&result, options.dry_run, "workflow:");
    if (store && !options.dry_run)
        store_forget(store);
    hooks_run_and_close(store);
    return status;
}

static int prune_session(struct settings *settings)
{
    struct word_list tags;
    struct cairn_prune_result result = {0};
    struct cairn_error error = {0};
    bool dry_run = settings->given[OPT_DRY_RUN];
    if (!word_list_init(&tags, settings->text[OPT_KEEP_TAG]))
        return EXIT_SYSTEM;
    struct cairn_keep_rules rules = {
        .last = (uint32_t)settings->number[OPT_KEEP_LAST],
        .days = (uint32_t)settings->number[OPT_KEEP_DAYS],
        .hourly = settings->given[OPT_KEEP_HOURLY],
        .tags = tags.words,
        .n_tags = tags.n,
        .manual_too = settings->given[OPT_MANUAL_TOO],
    };
    int status = session_store(settings, dry_run ? STORE_READ : STORE_WRITE);
    if (status == 0 && cairn_session_prune(settings->store, session_option(settings),
                                           &rules, dry_run, &result, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_pruned(&result, dry_run, "debug:");
    if (settings->store && !dry_run)
        store_forget(settings->store);
    word_list_release(&tags);
    return status;
}

int command_checkpoint_prune(struct settings *settings)
{
    const bool *given = settings->given;
    bool session = given[OPT_SESSION] || given[OPT_KEEP_LAST] || given[OPT_KEEP_DAYS] ||
                   given[OPT_KEEP_HOURLY] || given[OPT_KEEP_TAG] ||
                   given[OPT_MANUAL_TOO];
    bool runs = given[OPT_PRUNE_KEEP] || given[OPT_ONLY_RUN];
    if (runs && session)
        return report_usage(
            "checkpoint prune",
            "--keep and --run are for runs, --session and the --keep-... "
            "rules for a session: give one kind");
    if (!session && !given[OPT_PRUNE_KEEP])
        return report_usage("checkpoint prune",
                            "what to keep is missing: give --keep N for runs; or "
                            "--session, --keep-last, --keep-days, --keep-hourly or "
                            "--keep-tag for a session");
    return session ? prune_session(settings) : prune_runs(settings);
}
