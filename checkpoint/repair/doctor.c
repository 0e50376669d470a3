/* SPDX-License-Identifier: MIT */
/* cairn_doctor: checks a store from its directory inwards, and says what to do about
 * each problem. Changes nothing. */
#include "base/lock.h"
#include "base/notes.h"
#include "base/os.h"
#include "checkpoint/repair/repair.h"
#include "checkpoint/verify/verify.h"
#include "storage/health.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct doctor {
    const struct doctor_options *options;
    struct cairn_store *store;
    bool bad, stopped;
    struct cairn_error trouble; /* why something could not be checked; or code 0 */
    uint64_t bad_lines, bad_records;
    const char *object; /* that the finding at hand is of, in hex, or NULL */
    bool has_runs;
    uint64_t n_lost;      /* checkpoints that lack what a repair could not save, ... */
    char lost_ids[200];   /* ... and the first of them */
    char first_line[256]; /* of the check of the database's pages */
};

static void report_finding(struct doctor *d, enum cairn_health health, const char *what,
                           const char *text, const char *remedy)
{
    struct cairn_finding finding = {health, what, text, remedy, d->object};
    assert(what && text);
    d->bad |= health == CAIRN_HEALTH_BAD;
    if (!d->stopped)
        d->stopped = d->options->each(d->options->context, &finding) != 0;
}

/* The file of places in shared pools. Whatever is in it counts only while its owner
 * lives, so that no content can be damaged; but it has to be a file. */
static void check_pools(struct doctor *d, const char *path)
{
    char text[PATH_MAX + 128];
    struct stat st;
    snprintf(text, sizeof text, "%s/live/pools", path);
    if (lstat(text, &st) < 0 || S_ISREG(st.st_mode))
        return;
    snprintf(text, sizeof text,
             "%s/live/pools is not a file, so nothing can run that is in a pool of the "
             "whole store",
             path);
    report_finding(d, CAIRN_HEALTH_BAD, "live", text,
                   "remove it; nothing is lost with it");
}

/* The directory of files of live runs, or a link to one. */
static void check_live(struct doctor *d, const char *path)
{
    char text[PATH_MAX + 64];
    struct stat st;
    snprintf(text, sizeof text, "%s/live", path);
    if (lstat(text, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode) ||
        (S_ISLNK(st.st_mode) && stat(text, &st) == 0 && S_ISDIR(st.st_mode))) {
        check_pools(d, path);
        return;
    }
    snprintf(text, sizeof text, "%s/live is not a directory, so nothing can run", path);
    report_finding(d, CAIRN_HEALTH_BAD, "live", text,
                   "`cairn doctor --repair` puts it aside; nothing is lost with it");
}

/* To write, the directory, the database and the lock file must be writable. */
static void check_writable(struct doctor *d, const char *path)
{
    static const char *const names[] = {"", "/cairn.db", "/lock"};
    char text[PATH_MAX + 128];
    if (access(path, R_OK | X_OK) < 0)
        return; /* it cannot be read either: reported by opening it */
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(text, sizeof text, "%s%s", path, names[i]);
        if (access(text, W_OK) == 0 || (errno != EROFS && errno != EACCES))
            continue;
        int sys = errno;
        snprintf(text, sizeof text, "%s%s cannot be written: %s", path, names[i],
                 sys == EROFS ? "its file system is mounted read-only" : strerror(sys));
        report_finding(
            d, CAIRN_HEALTH_WARN, "writing", text,
            "reading works; to run or resume, make it writable, or name another store "
            "with --store");
        return;
    }
}

/* Too little memory or a held lock says nothing about the store. */
static bool is_trouble(struct doctor *d, const struct cairn_error *error)
{
    assert(error->code != 0);
    if (error->code != CAIRN_ENOMEM && error->code != CAIRN_EBUSY)
        return false;
    d->trouble = *error;
    return true;
}

/* What agents' hooks could not do, since they must not keep an agent from working. */
static void check_notes(struct doctor *d, const char *path)
{
    char text[NOTE_BYTES + 256], remedy[PATH_MAX + 128], last[NOTE_BYTES + 64];
    struct cairn_error error = {0};
    uint64_t n = 0;
    int rc = notes_read(path, &n, last, &error);
    if (rc ? is_trouble(d, &error) : !n)
        return;
    snprintf(text, sizeof text,
             "the hook of an agent failed %llu time%s, the last at %s",
             (unsigned long long)n, n == 1 ? "" : "s", last);
    snprintf(remedy, sizeof remedy,
             "%s/" NOTES_FILE " has all of them: remove it when they are dealt with",
             path);
    report_finding(d, CAIRN_HEALTH_WARN, "agent-hook", rc ? error.text : text,
                   rc ? NULL : remedy);
}

static void check_directory(struct doctor *d, const char *path)
{
    const char *name = NULL;
    char text[512];
    struct stat st;
    struct statvfs space;
    struct cairn_error error = {0};
    int network = os_network_fs(path, &name, &error);
    snprintf(text, sizeof text, "the store lies on %s",
             network > 0 ? name : "a local disk");
    if (network < 0)
        report_finding(d, CAIRN_HEALTH_WARN, "file-system", error.text, NULL);
    else
        report_finding(
            d, network ? CAIRN_HEALTH_WARN : CAIRN_HEALTH_OK, "file-system", text,
            network ? "a local directory is faster and safer: --store DIR" : NULL);
    if (stat(path, &st) == 0 && (st.st_mode & 077)) {
        snprintf(text, sizeof text, "others can enter the store (mode %04o)",
                 (unsigned)st.st_mode & 07777);
        report_finding(d, CAIRN_HEALTH_WARN, "mode", text, "chmod 0700 the directory");
    }
    if (statvfs(path, &space) == 0) {
        enum { LOW_MIB = 64 };
        uint64_t mib = (uint64_t)space.f_bavail * space.f_frsize >> 20;
        snprintf(text, sizeof text, "%llu MiB are free", (unsigned long long)mib);
        bool low = mib < LOW_MIB;
        report_finding(
            d, low ? CAIRN_HEALTH_WARN : CAIRN_HEALTH_OK, "space", text,
            low ? "free some space: while the disk is full nothing can be saved"
                : NULL);
    }
    check_writable(d, path);
    check_live(d, path);
    check_notes(d, path);
}

/* The text of an error is written for other commands: the advice to run the doctor is
 * cut off, and what follows the first line is the remedy. */
static void report_error(struct doctor *d, const char *what, struct cairn_error *error)
{
    static const char advice[] = ": run `cairn doctor`";
    const char *remedy = error->code == CAIRN_EDAMAGED
                             ? "`cairn doctor --repair` saves what is valid into a new "
                               "store in its place, and keeps the damaged one"
                             : NULL;
    size_t n = strlen(error->text);
    assert(error->code != 0);
    if (n >= sizeof advice - 1 &&
        strcmp(error->text + n - (sizeof advice - 1), advice) == 0)
        error->text[n - (sizeof advice - 1)] = 0;
    char *end = strchr(error->text, '\n');
    if (end) {
        *end = 0;
        remedy = end + 1;
    }
    bool bad = d->bad;
    report_finding(d, CAIRN_HEALTH_BAD, what, error->text, remedy);
    /* The system is at fault, not the store. */
    if (error->code == CAIRN_EIO) {
        d->bad = bad;
        d->trouble = *error;
    }
}

static int open_store(struct doctor *d, const char *path, struct cairn_error *error)
{
    struct cairn_store_options options = {
        .path = path, .read_only = true, .key_file = d->options->key_file};
    int rc = cairn_store_open(&d->store, &options, error);
    /* CAIRN_EUSAGE: for example, the key file cannot be read. */
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE || (rc && is_trouble(d, error)))
        return rc;
    if (rc == CAIRN_ENEWER)
        report_finding(d, CAIRN_HEALTH_BAD, "schema", error->text,
                       "use that release of cairn");
    else if (rc)
        report_error(d, "open", error);
    assert((d->store != NULL) == (rc == 0));
    return 0;
}

static int note_bad_page(void *context, const char *line)
{
    struct doctor *d = context;
    if (d->bad_lines++ == 0)
        snprintf(d->first_line, sizeof d->first_line, "%s", line);
    return 0;
}

static void check_pages(struct doctor *d)
{
    struct cairn_error error = {0};
    char text[512];
    assert(d->store);
    int rc = store_check_pages(d->store, note_bad_page, d, &error);
    if (rc && is_trouble(d, &error))
        return;
    if (d->bad_lines) {
        snprintf(text, sizeof text, "pages of the database are damaged: %s",
                 d->first_line);
        if (d->bad_lines > 1)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     " (and %llu more findings)",
                     (unsigned long long)(d->bad_lines - 1));
        report_finding(
            d, CAIRN_HEALTH_BAD, "database", text,
            "`cairn doctor --repair` saves what is valid into a new store in its "
            "place, and keeps the damaged one; until then what is valid here can be "
            "resumed");
    } else if (rc == CAIRN_EDAMAGED || rc == CAIRN_EIO)
        report_error(d, "database", &error);
    else if (rc)
        report_finding(d, CAIRN_HEALTH_WARN, "database", error.text, NULL);
    else
        report_finding(d, CAIRN_HEALTH_OK, "database",
                       "the pages of the database are sound", NULL);
}

/* A repair uses no key: it keeps records that only have a wrong HMAC. */
static const char *remedy_of(const struct doctor *d,
                             const struct cairn_problem *problem, char buffer[200])
{
    if (problem->kind == CAIRN_PROBLEM_KEY)
        return "name the right key with --key FILE or CAIRN_KEY, or none";
    if (problem->kind != CAIRN_PROBLEM_HMAC)
        return d->has_runs ? "resume works from what is valid; `cairn doctor --repair` "
                             "takes out what is damaged"
                           : "`cairn doctor --repair` takes out what is damaged";
    if (!problem->seq)
        return "put back a copy of the store in which it is as it was, or start again "
               "with `cairn run FILE --fresh`; with its run it can be removed (`cairn "
               "gc`)";
    snprintf(buffer, 200,
             "`cairn checkpoint delete %s`, with the same key, takes it out (`cairn "
             "doctor --repair` does not: it needs no key)",
             problem->id);
    return buffer;
}

static void note_lost(struct doctor *d, const struct cairn_problem *problem)
{
    size_t n = strlen(d->lost_ids);
    if (n + strlen(problem->id) + 3 <= sizeof d->lost_ids)
        snprintf(d->lost_ids + n, sizeof d->lost_ids - n, "%s%s", n ? ", " : "",
                 problem->id);
    d->n_lost++;
}

/* Not bad: nobody can do more about it. */
static void report_lost(struct doctor *d)
{
    char text[400];
    if (!d->n_lost)
        return;
    snprintf(text, sizeof text,
             "%llu checkpoint%s something that a repair could not save: %s",
             (unsigned long long)d->n_lost, d->n_lost == 1 ? " lacks" : "s lack",
             d->lost_ids);
    report_finding(d, CAIRN_HEALTH_WARN, "lost", text,
                   "`cairn checkpoint verify` names each and what can still be done "
                   "with it; `cairn checkpoint delete ID` takes one out");
}

static int report_problem(void *context, const struct cairn_problem *problem)
{
    struct doctor *d = context;
    char text[1200], remedy[200];
    assert(problem->kind != CAIRN_PROBLEM_HEAD); /* there is nothing to compare with */
    snprintf(text, sizeof text, "%s%s%s", problem->id, *problem->id ? ": " : "",
             problem->text);
    if (problem->kind == CAIRN_PROBLEM_LOST) {
        note_lost(d, problem);
        return 0;
    }
    if (problem->kind == CAIRN_PROBLEM_UNREAD) {
        report_finding(d, CAIRN_HEALTH_WARN, "records", text,
                       "use the release that wrote them");
        return 0;
    }
    d->bad_records++;
    d->object = problem->object;
    report_finding(d, CAIRN_HEALTH_BAD,
                   problem->kind == CAIRN_PROBLEM_KEY ? "key" : "records", text,
                   remedy_of(d, problem, remedy));
    d->object = NULL;
    return 0;
}

static int note_any_run(void *context, const struct run_row *row)
{
    (void)row;
    *(bool *)context = true;
    return 1;
}

static void check_content(struct doctor *d)
{
    struct cairn_verify_result result = {0};
    struct cairn_error error = {0};
    char text[256];
    struct verify_reader reader = {report_problem, d};
    struct run_filter one = {.limit = 1};
    assert(d->store);
    (void)store_each_run(d->store, &one, note_any_run, &d->has_runs, NULL);
    int rc =
        checkpoint_verify(d->store, d->options->kinds, NULL, &reader, &result, &error);
    if (rc && is_trouble(d, &error))
        return;
    if (rc && (rc != CAIRN_EDAMAGED || d->bad_records == 0))
        report_error(d, "records", &error); /* the tables could not be read whole */
    report_lost(d);
    if (rc)
        return;
    assert(result.damaged == 0 && result.bad_objects == 0);
    snprintf(text, sizeof text, "%llu checkpoint%s and %llu object%s valid",
             (unsigned long long)result.checked, result.checked == 1 ? "" : "s",
             (unsigned long long)result.objects,
             result.objects == 1 ? " are" : "s are");
    report_finding(d, CAIRN_HEALTH_OK, "records", text, NULL);
}

static void report_writer(struct doctor *d)
{
    struct lock_file *lock = store_lock_file(d->store);
    assert(d->store);
    int writers = lock_held(lock, LOCK_WRITERS, NULL);
    int writing = lock_held(lock, LOCK_COMMIT, NULL);
    report_finding(d, CAIRN_HEALTH_OK, "writers",
                   writing > 0   ? "a process is writing at this moment"
                   : writers > 0 ? "a process has the store open for writing"
                                 : "no process has the store open for writing",
                   NULL);
}

static void check_leftovers(struct doctor *d)
{
    char first[NAME_MAX + 1], text[NAME_MAX + 128];
    uint64_t n = store_leftovers(d->store, false, first);
    if (!n)
        return;
    snprintf(text, sizeof text,
             "%llu unfinished file%s of processes that were killed, such as %s",
             (unsigned long long)n, n == 1 ? "" : "s", first);
    report_finding(d, CAIRN_HEALTH_OK, "leftovers", text, "`cairn gc` removes them");
}

static void check_log(struct doctor *d)
{
    assert(d->store);
    if (store_log_health(d->store) == LOG_ENDS_EARLY)
        report_finding(
            d, CAIRN_HEALTH_WARN, "log",
            "the write-ahead log ends in the middle of a transaction, or right behind "
            "one",
            "nothing, if cairn was killed or the power went: what was cut off had not "
            "been acknowledged. Otherwise the log was damaged, and its newest "
            "checkpoints are lost: compare with an exported head (`cairn checkpoint "
            "verify --head FILE`)");
}

int checkpoint_doctor(const struct doctor_options *options, struct cairn_error *error)
{
    struct doctor d = {.options = options};
    const char *path = options->path;
    struct cairn_error local = {0};
    int rc = open_store(&d, path, &local);
    if (rc) {
        if (error)
            *error = local;
        return rc;
    }
    if (d.store) {
        check_directory(&d, cairn_store_path(d.store));
        report_writer(&d);
        check_log(&d);
        check_leftovers(&d);
        check_pages(&d);
        check_content(&d);
        cairn_store_close(d.store);
    } else if (path)
        check_directory(&d, path);
    if (!d.bad && d.trouble.code) {
        if (error)
            *error = d.trouble;
        return d.trouble.code;
    }
    return d.bad ? error_set(error, CAIRN_EDAMAGED, "the store needs attention") : 0;
}

int cairn_doctor(const char *path, const char *key_file,
                 int (*each)(void *, const struct cairn_finding *), void *context,
                 struct cairn_error *error)
{
    struct doctor_options options = {.path = path,
                                     .key_file = key_file,
                                     .kinds = &payload_kinds,
                                     .each = each,
                                     .context = context};
    return checkpoint_doctor(&options, error);
}
