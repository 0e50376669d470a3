/* SPDX-License-Identifier: MIT */
/* Two agents and a person in one directory: random lives of files, changed by the tools
 * of two agents, one after the other or one within the other, and by hand in between.
 * Then the first agent goes back to one of its checkpoints. A model knows who has
 * changed what since: what is its own is as it was then, what is of others is
 * untouched, what is of both is as it was, and the other one beside it; taken back, all
 * is as it was before. Then the same with everything taken back. */
#include "cairn.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const paths[] = {"a",   "b",     "c",       "d/x",   "d/y",
                                    "e/z", "e/f/z", "e/f/g/z", "d\n/x", "-rf"};
enum { PATHS = sizeof paths / sizeof *paths, MOMENTS = 64, TEXT = 32 };
enum { AGENT_A = 1, AGENT_B = 2, HAND = 4 };

/* Of all paths; "": not there. */
struct state {
    char text[PATHS][TEXT];
};
struct life {
    uint64_t seed;
    char root[PATH_MAX / 2];
    struct cairn_store *store;
    struct state now;
    struct look {
        unsigned who;
        bool after; /* a tool, not before one */
        char id[CAIRN_ID_MAX];
        struct state state;
    } at[MOMENTS]; /* the checkpoints of both */
    unsigned n, text;
    unsigned long *lost, *other;
    bool wrong, trace;
};

__attribute__((format(printf, 3, 4))) static void wrong(struct life *life,
                                                        unsigned long *count,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("# ");
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    (*count)++;
    life->wrong = true;
}

__attribute__((format(printf, 2, 3))) static void trace(const struct life *life,
                                                        const char *format, ...)
{
    va_list args;
    if (!life->trace)
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

static uint32_t below(struct life *life, uint32_t n)
{
    return help_below(&life->seed, n);
}

/* ---- Files ---- */

static void path_of(const struct life *life, unsigned i, const char *end, char *out)
{
    snprintf(out, PATH_MAX, "%s/%s%s", life->root, paths[i], end);
}

static void get(const struct life *life, unsigned i, const char *end, char out[TEXT])
{
    char path[PATH_MAX];
    path_of(life, i, end, path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, TEXT - 1);
    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static void put(const struct life *life, unsigned i, const char *text)
{
    char path[PATH_MAX];
    path_of(life, i, "", path);
    for (char *slash = path + strlen(life->root) + 1; (slash = strchr(slash, '/'));) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash++ = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
}

/* `who` changes some files, each to what nobody has ever written, or removes it. */
static void change(struct life *life, unsigned who)
{
    for (uint32_t n = 1 + below(life, 3); n > 0; n--) {
        unsigned i = below(life, PATHS);
        char path[PATH_MAX], *text = life->now.text[i];
        path_of(life, i, "", path);
        if (*text && below(life, 4) == 0) {
            (void)unlink(path);
            *text = '\0';
        } else {
            snprintf(text, TEXT, "%u by %u", life->text++, who);
            put(life, i, text);
        }
        trace(life, "  %u: %s = \"%s\"\n", who, paths[i], text);
    }
}

/* ---- Agents ---- */

static bool hook(struct life *life, unsigned who, const char *event, char *id)
{
    char json[512];
    struct cairn_agent_event *read = NULL;
    const struct cairn_agent_options options = {.session = NULL};
    struct cairn_agent_told told;
    struct cairn_error error = {0};
    int n =
        snprintf(json, sizeof json,
                 "{\"hook_event_name\":\"%s\",\"session_id\":\"%c%c%c%c%c%c%c%c-0000-"
                 "4000-8000-000000000000\",\"tool_name\":\"Write\"}",
                 event, "ab"[who - 1], "ab"[who - 1], "ab"[who - 1], "ab"[who - 1],
                 "ab"[who - 1], "ab"[who - 1], "ab"[who - 1], "ab"[who - 1]);
    int rc = cairn_agent_event_read(&read, json, (size_t)n, &error);
    if (!rc)
        rc = cairn_agent_tell(life->store, read, &options, &told, &error);
    cairn_agent_event_free(read);
    if (rc) {
        wrong(life, life->other, "a hook failed: %s", error.text);
        return false;
    }
    trace(life, "%u: %s -> %s\n", who, event,
          told.captured.made ? told.captured.id : "");
    if (id)
        snprintf(id, CAIRN_ID_MAX, "%s", told.captured.made ? told.captured.id : "");
    return true;
}

static bool look_by(struct life *life, unsigned who, bool after)
{
    struct look *look = &life->at[life->n];
    if (life->n == MOMENTS)
        return false;
    *look = (struct look){.who = who, .after = after, .state = life->now};
    bool good = hook(life, who, after ? "PostToolUse" : "PreToolUse", look->id);
    life->n += good && look->id[0];
    return good;
}

static bool tool(struct life *life, unsigned who, bool within)
{
    bool good = look_by(life, who, false);
    change(life, who);
    if (good && within && below(life, 3) == 0) /* of the other, all of it within this */
        good = tool(life, who ^ (AGENT_A | AGENT_B), false);
    if (within && below(life, 3) == 0)
        change(life, who);
    return good && look_by(life, who, true);
}

/* ---- Going back ---- */

/* With everything that there is, also beside. */
static void look(const struct life *life, struct state *out, struct state *beside)
{
    for (unsigned i = 0; i < PATHS; i++) {
        get(life, i, "", out->text[i]);
        get(life, i, ".before-restore", beside->text[i]);
    }
}

static void judge(struct life *life, const struct state *want, const struct state *kept,
                  const char *what)
{
    struct state got, beside;
    look(life, &got, &beside);
    for (unsigned i = 0; i < PATHS && !life->wrong; i++) {
        if (strcmp(got.text[i], want->text[i]) != 0)
            wrong(life, life->lost, "%s: %s is \"%.20s\", not \"%.20s\"", what,
                  paths[i], got.text[i], want->text[i]);
        if (strcmp(beside.text[i], kept->text[i]) != 0)
            wrong(life, life->lost, "%s: beside %s is \"%.20s\", not \"%.20s\"", what,
                  paths[i], beside.text[i], kept->text[i]);
    }
}

/* Who has claimed the path since: for each checkpoint after a tool, whether it was
 * another state at the one that the same agent had made before (or anybody, where that
 * is before all of this), and nobody else has claimed this state since. What one before
 * a tool shows first is HAND's, if it was not in the middle of that. */
static unsigned claimed(const struct life *life, unsigned k, unsigned path, bool *loose)
{
    struct {
        unsigned who, at;
        const char *text;
    } claims[MOMENTS];
    unsigned n = 0, all = 0;
    for (unsigned i = k + 1; i < life->n; i++) {
        const struct look *look = &life->at[i];
        unsigned from = i - 1, who = look->after ? look->who : HAND, kept = 0;
        while (from > k && look->after && life->at[from].who != look->who)
            from--;
        if (life->at[from].who != look->who)
            from = i - 1;
        const char *text = look->state.text[path];
        bool claims_it = strcmp(text, life->at[from].state.text[path]) != 0;
        for (unsigned c = 0; c < n; c++)
            if (claims[c].who != who && claims[c].who != HAND && claims[c].at > from &&
                strcmp(claims[c].text, text) == 0)
                claims_it = false;
        if (!claims_it)
            continue;
        for (unsigned c = 0; c < n; c++)
            if (who == HAND || claims[c].who != HAND || claims[c].at <= from)
                claims[kept++] = claims[c];
        n = kept;
        claims[n].who = who;
        claims[n].at = i;
        claims[n++].text = text;
    }
    for (unsigned c = 0; c < n; c++)
        all |= claims[c].who;
    *loose = n == 0 || strcmp(claims[n - 1].text, life->now.text[path]) != 0;
    return all;
}

static void expect(const struct life *life, unsigned k, bool all, struct state *want,
                   struct state *kept)
{
    memset(kept, 0, sizeof *kept);
    for (unsigned i = k + 1; i < life->n; i++)
        if (life->at[i].who == AGENT_B)
            break;
        else if (i + 1 == life->n)
            all = true; /* nobody else was there */
    all = all || k + 1 >= life->n;
    for (unsigned i = 0; i < PATHS; i++) {
        const char *now = life->now.text[i], *then = life->at[k].state.text[i];
        bool loose;
        unsigned by = claimed(life, k, i, &loose);
        bool others = (by & (AGENT_B | HAND)) || loose, mine = by & AGENT_A;
        snprintf(want->text[i], TEXT, "%s", !all && others && !mine ? now : then);
        if (!all && others && mine && strcmp(now, then) != 0)
            snprintf(kept->text[i], TEXT, "%s", now);
    }
}

static bool did(struct life *life, int rc, const char *what,
                const struct cairn_error *error)
{
    if (rc)
        wrong(life, life->other, "%s failed: %s", what, error->text);
    return !rc;
}

static void go_back(struct life *life, unsigned k, bool all)
{
    static const char session[] = "agent-aaaaaaaa";
    static const struct state none;
    const struct cairn_restore_options options = {.all = all};
    const struct state before = life->now;
    struct state want, kept;
    struct cairn_error error = {0};
    expect(life, k, all, &want, &kept);
    trace(life, "back to %s%s\n", life->at[k].id, all ? ", all" : "");
    if (did(life,
            cairn_session_restore(life->store, session, life->at[k].id, &options, NULL,
                                  &error),
            "a restore", &error))
        judge(life, &want, &kept, all ? "restored, all" : "restored");
    struct cairn_restored report = {0};
    bool same = true;
    for (unsigned i = 0; i < PATHS; i++)
        same = same && strcmp(want.text[i], before.text[i]) == 0;
    if (life->wrong || same)
        return;
    if (did(life,
            cairn_session_undo_restore(life->store, session, NULL, &report, &error),
            "an undo", &error))
        judge(life, &before, &none, "taken back");
    if (life->wrong || all)
        return;
    if (did(life, cairn_session_redo_restore(life->store, session, NULL, NULL, &error),
            "a redo", &error))
        judge(life, &want, &none, "again");
    if (!life->wrong &&
        did(life, cairn_session_undo_restore(life->store, session, NULL, NULL, &error),
            "another undo", &error))
        judge(life, &before, &none, "taken back again");
}

/* There and back in the middle of it: that changes nothing of who has changed what. */
static bool to_and_fro(struct life *life)
{
    const struct cairn_restore_options options = {.all = true};
    struct cairn_error error = {0};
    unsigned k = life->n ? below(life, life->n) : 0;
    struct state got, beside;
    if (life->n == 0 || life->n == MOMENTS || life->at[k].who != AGENT_A ||
        !life->at[k].id[0])
        return true;
    trace(life, "to %s and back\n", life->at[k].id);
    struct cairn_restored report = {0};
    if (!did(life,
             cairn_session_restore(life->store, "agent-aaaaaaaa", life->at[k].id,
                                   &options, &report, &error),
             "a restore", &error))
        return false;
    if (strcmp(report.branch, report.old_branch) == 0)
        return true; /* nothing differed */
    if (!did(life,
             cairn_session_undo_restore(life->store, "agent-aaaaaaaa", &options, NULL,
                                        &error),
             "an undo", &error))
        return false;
    look(life, &got, &beside);
    for (unsigned i = 0; i < PATHS; i++)
        if (strcmp(got.text[i], life->now.text[i]) != 0)
            wrong(life, life->lost, "there and back: %s is not as it was", paths[i]);
    life->at[life->n++] = (struct look){.who = AGENT_A, .state = life->now};
    return !life->wrong;
}

/* ---- One life ---- */

static bool live(struct life *life)
{
    struct cairn_error error = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.cairn", life->root);
    const struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    if (mkdir(life->root, 0700) != 0 ||
        !did(life, cairn_store_open(&life->store, &options, &error), "a store", &error))
        return false;
    bool good = true;
    for (uint32_t steps = 3 + below(life, 12); steps > 0 && good; steps--) {
        uint32_t what = below(life, 9);
        if (what < 3)
            good = tool(life, AGENT_A, true);
        else if (what < 6)
            good = tool(life, AGENT_B, true);
        else if (what < 8)
            change(life, HAND);
        else
            good = to_and_fro(life);
    }
    unsigned k = life->n ? below(life, life->n) : 0;
    while (k > 0 && (life->at[k].who != AGENT_A || !life->at[k].id[0]))
        k--;
    bool goes = good && life->n && life->at[k].who == AGENT_A && life->at[k].id[0];
    if (goes)
        go_back(life, k, below(life, 4) == 0);
    cairn_store_close(life->store);
    return goes;
}

int main(int argc, char **argv)
{
    unsigned long lives = argc > 3 ? strtoul(argv[3], NULL, 10) : 0, bad = 0, went = 0;
    unsigned long lost = 0, other = 0, i = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    unsigned long first = i;
    if (argc < 4) {
        fprintf(stderr, "usage: agents DIR SEED LIVES\n");
        return 2;
    }
    for (; i < first + lives && bad < 5; i++) {
        struct life *life = calloc(1, sizeof *life);
        if (!life)
            return 1;
        life->seed = strtoull(argv[2], NULL, 10) * 1000003 + i;
        life->lost = &lost;
        life->trace = getenv("TRACE") != NULL;
        life->other = &other;
        snprintf(life->root, sizeof life->root, "%s/%lu", argv[1], i);
        went += live(life);
        if (life->wrong) {
            printf("# that was life %lu of seed %s\n", i, argv[2]);
            bad++;
        } else {
            remove_tree(life->root);
        }
        free(life);
    }
    printf("agents %lu %lu %lu %lu\n", i - first, went, lost, other);
    return bad != 0;
}
