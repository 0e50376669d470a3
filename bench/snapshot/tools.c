/* SPDX-License-Identifier: MIT */
/* How each tool is called, and what that takes. */
#include "snapshot.h"

#include "bench/bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

enum { WORDS_MOST = 24, WORD_BYTES = 4400, COMMAND_BYTES = 16384 };

static char cairn_path[4096];

/* Each as it is by default, but for encryption, which restic always has, and for
 * collections of garbage by the way. */
const struct tool tools[] = {
    {.name = "cairn",
     .version = "{cairn} version",
     .init =
         "{cairn} session start bench --quiet; {cairn} session config files . --quiet",
     .take = "{cairn} checkpoint create --quiet {n}",
     .one = "{cairn} checkpoint cat {n}:{f}",
     .all = "{cairn} checkpoint restore {n} --yes --quiet"},
    {.name = "git",
     .version = "git --version",
     .init = "git init --quiet",
     .take = "git add --all .; git -c gc.auto=0 commit --quiet --message {n}",
     .one = "git show HEAD:{f}",
     .all = "git checkout --quiet --force HEAD -- .",
     .pack = "git gc --quiet"},
    {.name = "restic",
     .version = "restic version",
     .init = "restic init --quiet",
     .take = "restic backup --quiet .",
     .one = "restic dump --quiet latest /{f}",
     .all = "restic restore --quiet latest --target {tree}"},
    {.name = "borg",
     .version = "borg --version",
     .init = "borg init --encryption none",
     .take = "borg create ::{n} .",
     .one = "borg extract --stdout ::{n} {f}",
     .all = "borg extract ::{n}",
     .pack = "borg compact"},
};
const unsigned n_tools = sizeof tools / sizeof tools[0];

static void set_path(const char *name, const char *dir, const char *path)
{
    char text[4400];
    snprintf(text, sizeof text, "%s/%s", dir, path);
    setenv(name, text, 1);
}

void tools_use(const char *cairn, const char *dir, const char *tree)
{
    snprintf(cairn_path, sizeof cairn_path, "%s", cairn);
    set_path("CAIRN_STORE", dir, "repository-cairn");
    set_path("GIT_DIR", dir, "repository-git");
    setenv("GIT_WORK_TREE", tree, 1);
    set_path("HOME", dir, "home");
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    for (int i = 0; i < 2; i++) {
        setenv(i ? "GIT_AUTHOR_NAME" : "GIT_COMMITTER_NAME", "bench", 1);
        setenv(i ? "GIT_AUTHOR_EMAIL" : "GIT_COMMITTER_EMAIL", "bench@localhost", 1);
    }
    set_path("RESTIC_REPOSITORY", dir, "repository-restic");
    set_path("RESTIC_CACHE_DIR", dir, "cache-restic");
    setenv("RESTIC_PASSWORD", "bench", 1);
    set_path("BORG_REPO", dir, "repository-borg");
    set_path("BORG_BASE_DIR", dir, "home-borg");
    setenv("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes", 1);
    unsetenv("CAIRN_SESSION");
    unsetenv("CAIRN_KEY");
}

/* ---- Words of a command ---- */

struct place {
    const char *name;
    const char *value;
};

static void fill_word(char *word, const char *from, size_t length,
                      const struct place *places)
{
    size_t at = 0;
    while (length) {
        const struct place *place = places;
        size_t n = 0;
        for (; place->name; place++) {
            n = strlen(place->name);
            if (n <= length && memcmp(from, place->name, n) == 0)
                break;
        }
        const char *put = place->name ? place->value : from;
        size_t bytes = place->name ? strlen(put) : 1;
        if (at + bytes >= WORD_BYTES)
            bench_fail(from, "the word is too long");
        memcpy(word + at, put, bytes);
        at += bytes;
        n = place->name ? n : 1;
        from += n;
        length -= n;
    }
    word[at] = '\0';
}

struct words {
    char text[WORDS_MOST][WORD_BYTES];
    const char *argv[WORDS_MOST + 1];
    unsigned n;
};

static void add_word(struct words *words, const char *from, size_t length,
                     const struct place *places)
{
    if (words->n == WORDS_MOST)
        bench_fail(from, "too many words");
    fill_word(words->text[words->n], from, length, places);
    words->argv[words->n] = words->text[words->n];
    words->argv[++words->n] = NULL;
}

/* ---- Running one ---- */

/* This process holds lists of files: the command's peak would begin with that. */
static struct measured run_words(const struct words *words)
{
    struct measured told;
    char *const *argv;
    const char *const *given = words->argv;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int ends[2], status;
    memcpy(&argv, &given, sizeof argv);
    if (pipe2(ends, O_CLOEXEC))
        bench_fail("pipe", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int error = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        bench_fail(words->argv[4], strerror(error));
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    bool good = file && fscanf(file, "%lf %lf %lf", &told.ms, &told.cpu_ms,
                               &told.peak_mib) == 3;
    if (file)
        fclose(file);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!good || status)
        bench_fail(words->argv[4], "it has failed; what it said is above");
    return told;
}

/* argv: "run", the directory, the file for stdout or "-", then the command. */
int tool_run_apart(char **argv)
{
    struct rusage usage;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    const char *out = strcmp(argv[2], "-") == 0 ? "/dev/null" : argv[2];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, argv[1]);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    int64_t began = bench_now();
    int error = posix_spawnp(&pid, argv[3], &actions, NULL, argv + 3, environ);
    if (error)
        bench_fail(argv[3], strerror(error));
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    double ms = (double)(bench_now() - began) / 1e6;
    posix_spawn_file_actions_destroy(&actions);
    if (status)
        return 1;
    double cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
                    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
    printf("%.17g %.17g %.17g\n", ms, cpu_ms, (double)usage.ru_maxrss / 1024);
    return 0;
}

struct measured tool_run(const char *commands, const char *tree, uint64_t n,
                         const char *file, const char *out)
{
    static struct words words;
    struct measured sum = {0, 0, 0};
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)n);
    const struct place places[] = {{"{cairn}", cairn_path},
                                   {"{n}", number},
                                   {"{f}", file ? file : ""},
                                   {"{tree}", tree},
                                   {NULL, NULL}};
    while (*commands) {
        const char *before[] = {"snapshot", "run", tree, out ? out : "-"};
        words.n = 0;
        for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
            add_word(&words, before[i], strlen(before[i]), &places[4]);
        size_t end = strcspn(commands, ";");
        while (end) {
            size_t length = strcspn(commands, " ;");
            add_word(&words, commands, length, places);
            commands += length;
            size_t blanks = strspn(commands, " ");
            commands += blanks;
            end -= length + blanks;
        }
        commands += strspn(commands, "; ");
        struct measured one = run_words(&words);
        sum.ms += one.ms;
        sum.cpu_ms += one.cpu_ms;
        sum.peak_mib = one.peak_mib > sum.peak_mib ? one.peak_mib : sum.peak_mib;
    }
    return sum;
}
