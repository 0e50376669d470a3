/* SPDX-License-Identifier: MIT */
/* Many at once for one workflow in one store: one wins, the others are told who.
 *
 *   racers race DIR RACERS ROUNDS
 *
 * In turn, the store is not there yet; it is there, and empty; it holds a run whose
 * owner was killed. The task of the winner waits until all others have ended. Prints
 * `race ROUNDS RACERS LOST REPEATED OTHER` and, for what went wrong, lines with '#'. */
#include "tests/prove/racers/racers.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { RACERS_MAX = 200, LOSERS_S = 60 };

struct race {
    const char *dir;
    unsigned racers, repeated, other;
    char store[1024], flow[1024], go[1024], ran[1024];
    pid_t pid[RACERS_MAX];
    int status[RACERS_MAX];
    bool ended[RACERS_MAX];
};

static unsigned count_lines(const char *path, const char *line)
{
    char text[256];
    unsigned n = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = 0;
        n += strcmp(text, line) == 0;
    }
    if (file)
        fclose(file);
    return n;
}

static bool contains(const char *path, const char *wanted)
{
    char text[8192];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = 0;
    return strstr(text, wanted) != NULL;
}

static void show(const char *path)
{
    char line[512];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        printf("#     %s", line);
    if (file)
        fclose(file);
}

static int put_flow(const struct race *r)
{
    FILE *file = fopen(r->flow, "w");
    if (!file)
        return -1;
    fprintf(file,
            "name: race\n"
            "tasks:\n"
            "  first: {run: \"echo first >>%s\"}\n"
            "  wait: {needs: [first], run: \"echo wait >>%s; "
            "until [ -e %s ]; do sleep 0.02; done\"}\n"
            "  last: {needs: [wait], run: \"echo last >>%s\"}\n",
            r->ran, r->ran, r->go, r->ran);
    return fclose(file);
}

static pid_t start_cairn(const struct race *r, const char *command, const char *out)
{
    const char *const run[] = {"cairn", "run", "--store", r->store, r->flow, NULL};
    const char *const other[] = {"cairn", command, "--store", r->store, NULL};
    return start_command(strcmp(command, "run") == 0 ? run : other, out);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* A store with a run that was cut off in its second task. */
static int leave_ruin(const struct race *r, const char *out)
{
    pid_t pid = start_cairn(r, "run", out);
    for (int i = 0; i < 3000 && count_lines(r->ran, "wait") == 0; i++)
        pause_ms(10);
    if (pid < 0 || kill(pid, SIGKILL))
        return -1;
    wait_within(pid, 10);
    return count_lines(r->ran, "wait") == 1 ? 0 : -1;
}

static void out_name(const struct race *r, unsigned i, char *out, size_t size)
{
    snprintf(out, size, "%s/out.%u", r->dir, i);
}

/* Waits until all but one have ended, then lets that one go on. */
static void await_all(struct race *r)
{
    unsigned left = r->racers;
    time_t until = time(NULL) + LOSERS_S;
    while (left > 0) {
        for (unsigned i = 0; i < r->racers; i++)
            if (!r->ended[i] &&
                waitpid(r->pid[i], &r->status[i], WNOHANG) == r->pid[i]) {
                r->ended[i] = true;
                left--;
            }
        bool late = time(NULL) > until;
        if (left <= 1 || late)
            close(open(r->go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        if (late && time(NULL) > until + 10)
            break;
        pause_ms(5);
    }
    for (unsigned i = 0; i < r->racers; i++)
        if (!r->ended[i])
            r->status[i] = wait_within(r->pid[i], 0);
}

static void judge(struct race *r, unsigned round)
{
    unsigned winner = r->racers, winners = 0;
    char out[1100], name[64];
    for (unsigned i = 0; i < r->racers; i++)
        if (WIFEXITED(r->status[i]) && WEXITSTATUS(r->status[i]) == 0) {
            winner = i;
            winners++;
        }
    if (winners != 1) {
        printf("# round %u: %u winners\n", round, winners);
        r->other++;
    }
    snprintf(name, sizeof name, "owned by process %d on ",
             winner < r->racers ? (int)r->pid[winner] : -1);
    for (unsigned i = 0; i < r->racers; i++) {
        out_name(r, i, out, sizeof out);
        bool good =
            i == winner || (WIFEXITED(r->status[i]) && WEXITSTATUS(r->status[i]) == 6 &&
                            contains(out, name) && contains(out, "(run 1)"));
        if (good)
            continue;
        printf("# round %u: wanted exit 6 and \"%s\", got wait status %d\n", round,
               name, r->status[i]);
        show(out);
        r->other++;
    }
}

static void count_runs(struct race *r, unsigned round, bool ruin)
{
    unsigned first = count_lines(r->ran, "first"), last = count_lines(r->ran, "last"),
             wait = count_lines(r->ran, "wait");
    if (first == 1 && last == 1 && wait == 1u + ruin)
        return;
    printf("# round %u: the tasks ran %u, %u (wanted %u) and %u times\n", round, first,
           wait, 1u + ruin, last);
    r->repeated++;
}

static int one_round(struct race *r, unsigned round)
{
    char out[1100];
    unsigned kind = round % 3;
    unlink(r->go);
    unlink(r->ran);
    out_name(r, 0, out, sizeof out);
    if (kind == 1 && leave_ruin(r, out))
        return -1;
    if (kind == 2) {
        pid_t pid = start_cairn(r, "init", out);
        if (pid < 0 || wait_within(pid, 10) < 0)
            return -1;
    }
    for (unsigned i = 0; i < r->racers; i++) {
        out_name(r, i, out, sizeof out);
        r->ended[i] = false;
        r->pid[i] = start_cairn(r, kind == 1 && i % 2 ? "resume" : "run", out);
        if (r->pid[i] < 0)
            return -1;
    }
    await_all(r);
    judge(r, round);
    count_runs(r, round, kind == 1);
    const char *const verify[] = {"cairn",   "checkpoint", "verify",
                                  "--store", r->store,     NULL};
    pid_t pid = start_command(verify, out);
    if (wait_within(pid, 60) != 0) {
        printf("# round %u: the store is damaged\n", round);
        show(out);
        r->other++;
    }
    return !remove_tree(r->store);
}

int race_main(char **args)
{
    static struct race r;
    r.dir = args[0];
    r.racers = (unsigned)strtoul(args[1], NULL, 10);
    unsigned rounds = (unsigned)strtoul(args[2], NULL, 10);
    if (r.racers < 2 || r.racers > RACERS_MAX)
        return 2;
    snprintf(r.store, sizeof r.store, "%s/race.store", r.dir);
    snprintf(r.flow, sizeof r.flow, "%s/race.yaml", r.dir);
    snprintf(r.go, sizeof r.go, "%s/race.go", r.dir);
    snprintf(r.ran, sizeof r.ran, "%s/race.ran", r.dir);
    if (put_flow(&r))
        return 2;
    for (unsigned round = 1; round <= rounds; round++)
        if (one_round(&r, round)) {
            printf("# round %u could not be run: %s\n", round, strerror(errno));
            r.other++;
            break;
        }
    printf("race %u %u 0 %u %u\n", rounds, r.racers, r.repeated, r.other);
    return r.repeated || r.other;
}
