/* SPDX-License-Identifier: MIT */
/* make: with-command */
/* damage ORIGINAL SCRATCH FILE HOW FROM STEP SEED REPAIRS
 *
 * Damages FILE (a name inside the store ORIGINAL) at every STEP-th byte from FROM on,
 * in copies at SCRATCH, and asks. HOW: `flip` a byte, or `cut` the file there; `set` a
 * column of a row by SQL, every STEP-th of the changes that changes.c finds.
 *
 *   reported    verify, doctor, or each question's exit status tells
 *   unchanged   nothing tells, and every answer is what it was
 *   undetected  neither; or a byte of a record whose damage is not named
 *
 * Every REPAIRS-th case (0: none) is repaired: everything verifies afterwards, and all
 * records are there but the damaged one. The work is done by a second process, started
 * from this program, so that a crash or a hang costs one case and is told. */
#include "damage.h"

#include "base/clock.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANG_MS = 20000, ARGUMENTS = 9, SAMPLE = 32, ROWS_EACH = 3 };

struct work {
    const char *original, *scratch, *file, *how;
    size_t from, step;
    uint64_t seed, repairs;
    struct buf bytes;       /* of the file */
    struct changes changes; /* to `set` */
    struct buf plain, rows; /* the right answers, and what they are made of */
    char path[4600], store[4200];
    struct records records;
};

static void die(const char *what)
{
    fprintf(stderr, "damage: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- Copies ---- */

static void put_file(const char *path, struct str bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t done = 0;
    while (fd >= 0 && done < bytes.len) {
        ssize_t n = write(fd, bytes.ptr + done, bytes.len - done);
        if (n < 0)
            die(path);
        done += (size_t)n;
    }
    if (fd < 0 || close(fd) < 0)
        die(path);
}

/* The store's own files; what a reader may have made beside them goes. */
static void copy_store(const struct work *w, const char *to)
{
    static const char *const names[] = {"cairn.db", "cairn.db-wal", "lock", "open"};
    char from[4200], path[4200];
    remove_tree(to);
    if (mkdir(to, 0700) < 0)
        die(to);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct buf bytes = BUF_INIT;
        snprintf(from, sizeof from, "%s/%s", w->original, names[i]);
        snprintf(path, sizeof path, "%s/%s", to, names[i]);
        if (os_read_file(from, (size_t)1 << 30, &bytes, NULL) == 0)
            put_file(path, buf_view(&bytes));
        buf_release(&bytes);
    }
}

/* ---- One case ---- */

static uint8_t mask_at(const struct work *w, size_t at)
{
    uint64_t mix = at * 2654435761u + w->seed;
    return (mix >> 8) % 3 == 0 ? 0xff : (uint8_t)(1u << (mix >> 16) % 8);
}

/* In the place where it is, or back. */
static void damage(const struct work *w, const char *path, size_t at, bool back)
{
    uint8_t byte;
    if (strcmp(w->how, "set") == 0) {
        if (back)
            copy_store(w, w->store);
        else if (!changes_make(path, w->changes.sql[at]))
            die(w->changes.sql[at]);
        return;
    }
    byte = (uint8_t)w->bytes.data[at];
    if (strcmp(w->how, "cut") == 0) {
        if (back)
            put_file(path, buf_view(&w->bytes));
        else if (truncate(path, (off_t)at) < 0)
            die(path);
        return;
    }
    if (!back)
        byte ^= mask_at(w, at);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, &byte, 1, (off_t)at) != 1 || close(fd) < 0)
        die(path);
}

static int ask1(struct buf *said, const char *store, const char *a, const char *b)
{
    const char *const words[] = {a, b, NULL};
    return ask(said, store, words);
}

/* A byte of a record: that record must be named. Where the page itself says that it is
 * damaged, its rows cannot be told. */
static bool is_named(const struct work *w, size_t at, const struct buf *said)
{
    char name[40];
    size_t i = 0;
    bool any = false;
    uint64_t seq;
    if (strcmp(w->how, "flip") != 0 || strcmp(w->file, "cairn.db") != 0)
        return true;
    while ((seq = records_at(&w->records, at, &i)) != 0) {
        any = true;
        snprintf(name, sizeof name, "workflow:%llu-", (unsigned long long)seq);
        if (strstr(said->data ? said->data : "", name))
            return true;
    }
    return !any;
}

static bool is_record(const struct work *w, size_t at)
{
    size_t i = 0;
    return strcmp(w->how, "flip") == 0 && strcmp(w->file, "cairn.db") == 0 &&
           records_at(&w->records, at, &i) != 0;
}

static const char *judge(const struct work *w, size_t at, struct buf *said)
{
    struct buf answers = BUF_INIT;
    const char *verdict = "unchanged";
    buf_clear(said);
    int status = ask1(said, w->store, "checkpoint", "verify");
    if (status == 5)
        return is_named(w, at, said) ? "reported" : "undetected";
    if (is_record(w, at))
        return "undetected";
    if (status != 0)
        return status == 75 || status == 10 ? "reported" : "other";
    ask_rows(&answers, w->store);
    bool same = str_equal(buf_view(&answers), buf_view(&w->rows));
    buf_clear(&answers);
    if (!same || (at / w->step) % SAMPLE == 0) {
        ask_everything(&answers, w->store);
        same = str_equal(buf_view(&answers), buf_view(&w->plain));
    }
    if (!same) {
        buf_clear(said);
        status = ask1(said, w->store, "doctor", NULL);
        bool warned = status == 5 || strstr(said->data, "warn  log");
        verdict = warned ? "reported" : "undetected";
    }
    buf_release(&answers);
    return verdict;
}

/* What is valid is saved, and what comes of it is sound. */
static const char *repair(const struct work *w, size_t at, struct buf *said)
{
    char copy[4200], path[4500];
    snprintf(copy, sizeof copy, "%.4000s/repair", w->scratch);
    snprintf(path, sizeof path, "%s/%.100s", copy, w->file);
    copy_store(w, copy);
    damage(w, path, at, false);
    buf_clear(said);
    int status = ask1(said, copy, "doctor", "--repair");
    if (status != 0 && status != 5)
        return status == 10 ? NULL : "repair failed";
    if (ask1(said, copy, "checkpoint", "verify") != 0)
        return "not sound after the repair";
    if (ask1(said, copy, "doctor", NULL) != 0)
        return "the doctor finds something after the repair";
    if (strcmp(w->how, "flip") == 0 && strcmp(w->file, "cairn.db") == 0 &&
        records_missing(&w->records, copy, at) > 0)
        return "valid records are missing after the repair";
    return NULL;
}

/* Where a page was copied to another place, its old bytes may still stand in the first
 * one: nobody notices damage there, and nobody needs to. And the digest of a record
 * stands in the note about what was deleted behind it, too, which is named then. */
static void find_stale(struct work *w)
{
    struct buf said = BUF_INIT;
    bool database = strcmp(w->file, "cairn.db") == 0;
    for (size_t i = 0; database && i < w->records.n_places; i++) {
        struct record_place *place = &w->records.places[i];
        size_t middle = place->from + (place->to - place->from) / 2;
        char name[40];
        snprintf(name, sizeof name, "workflow:%llu-", (unsigned long long)place->seq);
        damage(w, w->path, middle, false);
        buf_clear(&said);
        place->stale =
            ask1(&said, w->store, "checkpoint", "verify") == 0 ||
            (said.data && strstr(said.data, "the note about deleted checkpoints") &&
             !strstr(said.data, name));
        damage(w, w->path, middle, true);
    }
    buf_release(&said);
}

/* ---- The worker ---- */

static void tell(const char *verdict, size_t at, const struct buf *said)
{
    char line[400];
    snprintf(line, sizeof line, "%.300s", said->data ? said->data : "");
    for (char *c = line; *c; c++)
        if (*c == '\n')
            *c = '|';
    printf("%s %zu %s\n", verdict, at,
           verdict[0] == 'r' || verdict[2] == 'c' ? "" : line);
    fflush(stdout);
}

static int worker(struct work *w)
{
    struct buf said = BUF_INIT;
    uint64_t n = 0;
    snprintf(w->store, sizeof w->store, "%s/store", w->scratch);
    snprintf(w->path, sizeof w->path, "%s/%s", w->store, w->file);
    copy_store(w, w->store);
    char database[4200];
    snprintf(database, sizeof database, "%s/cairn.db", w->original);
    if (os_read_file(w->path, (size_t)1 << 30, &w->bytes, NULL) ||
        !records_find(&w->records, w->store, database))
        die("cannot read the store");
    ask_everything(&w->plain, w->store);
    ask_rows(&w->rows, w->store);
    if (strcmp(w->how, "flip") == 0)
        find_stale(w);
    size_t n_cases = w->bytes.size;
    if (strcmp(w->how, "set") == 0) {
        if (!changes_find(&w->changes, w->path, ROWS_EACH))
            die("no row can be changed");
        copy_store(w, w->store);
        n_cases = w->changes.n;
    }
    for (size_t at = w->from; at < n_cases; at += w->step) {
        printf("at %zu %s\n", at, w->changes.n ? w->changes.sql[at] : "");
        fflush(stdout);
        damage(w, w->path, at, false);
        const char *verdict = judge(w, at, &said);
        tell(verdict, at, &said);
        damage(w, w->path, at, true);
        if (w->repairs && n++ % w->repairs == 0) {
            const char *fault = repair(w, at, &said);
            if (fault) {
                printf("fault %zu %s\n", at, fault);
                tell("other", at, &said);
            } else
                printf("repaired %zu\n", at);
        }
    }
    printf("end\n");
    return 0;
}

/* ---- The watch ---- */

struct counts {
    unsigned long cases, reported, unchanged, undetected, other, repaired;
    char what[400]; /* the last line that began a case */
};

static bool count_line(struct counts *counts, const char *line, size_t *at)
{
    if (strncmp(line, "at ", 3) == 0) {
        *at = strtoull(line + 3, NULL, 10);
        counts->cases++;
        snprintf(counts->what, sizeof counts->what, "%s", line);
    } else if (strncmp(line, "reported", 8) == 0)
        counts->reported++;
    else if (strncmp(line, "unchanged", 9) == 0)
        counts->unchanged++;
    else if (strncmp(line, "repaired", 8) == 0)
        counts->repaired++;
    else if (strncmp(line, "undetected", 10) == 0) {
        counts->undetected++;
        printf("# %s: %s\n", counts->what, line);
    } else if (strncmp(line, "end", 3) == 0)
        return true;
    else {
        counts->other += strncmp(line, "other", 5) == 0;
        printf("# %s: %s\n", counts->what, line);
    }
    return false;
}

/* Reads what the worker tells until it ends; true if it came to its end. */
static bool watch(pid_t pid, int from, struct counts *counts, size_t *at)
{
    char text[8192];
    size_t n = 0;
    bool done = false, hung = false;
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int status;
    for (;;) {
        int got = poll(&ready, 1, HANG_MS);
        if (got < 0 && errno == EINTR)
            continue;
        ssize_t more = got > 0 ? read(from, text + n, sizeof text - 1 - n) : -1;
        hung = got == 0;
        if (more <= 0)
            break;
        n += (size_t)more;
        text[n] = 0;
        char *start = text, *end;
        for (; (end = strchr(start, '\n')); start = end + 1) {
            *end = 0;
            done = count_line(counts, start, at) || done;
        }
        n = strlen(start);
        memmove(text, start, n + 1);
    }
    if (hung)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    if (done && !hung)
        return true;
    counts->other++;
    printf("# %s: %s (status %x)\n", counts->what, hung ? "hangs" : "crashed", status);
    return false;
}

static pid_t start_worker(char **argv, size_t from, int *out)
{
    extern char **environ;
    char self[] = "/proc/self/exe", word[] = "--worker", number[32];
    char *args[ARGUMENTS + 2] = {self, word};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid = 0;
    snprintf(number, sizeof number, "%zu", from);
    for (int i = 1; i < ARGUMENTS; i++)
        args[i + 1] = argv[i];
    args[6] = number;
    if (pipe2(ends, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&actions) ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1) ||
        posix_spawn(&pid, self, &actions, NULL, args, environ))
        die("cannot start a worker");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    return pid;
}

int main(int argc, char **argv)
{
    bool is_worker = argc > 1 && strcmp(argv[1], "--worker") == 0;
    if (is_worker) {
        argv++;
        argc--;
    }
    if (argc != ARGUMENTS) {
        fprintf(stderr,
                "usage: damage ORIGINAL SCRATCH FILE flip|cut|set FROM STEP SEED "
                "REPAIRS\n");
        return 2;
    }
    struct work w = {.original = argv[1],
                     .scratch = argv[2],
                     .file = argv[3],
                     .how = argv[4],
                     .from = strtoull(argv[5], NULL, 10),
                     .step = strtoull(argv[6], NULL, 10),
                     .seed = strtoull(argv[7], NULL, 10),
                     .repairs = strtoull(argv[8], NULL, 10)};
    if (w.step == 0 || (mkdir(w.scratch, 0700) < 0 && errno != EEXIST))
        die(w.scratch);
    if (is_worker)
        return worker(&w);
    struct counts counts = {0};
    size_t at = w.from, next = w.from;
    int out;
    for (int tries = 0; tries < 50; tries++) {
        pid_t pid = start_worker(argv, next, &out);
        bool done = watch(pid, out, &counts, &at);
        close(out);
        if (done)
            break;
        next = at + w.step;
    }
    printf("counts %lu %lu %lu %lu %lu %lu\n", counts.cases, counts.reported,
           counts.unchanged, counts.undetected, counts.other, counts.repaired);
    return counts.undetected + counts.other > 0;
}
