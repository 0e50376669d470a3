/* SPDX-License-Identifier: MIT */
#include "tests/support/process.h"

char help_dir[256];

void help_make_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(help_dir, sizeof help_dir, "%s/cairn-test-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(help_dir));
}

void help_remove_dir(void)
{
    DIR *dir = opendir(help_dir);
    ck_assert_ptr_nonnull(dir);
    struct dirent *entry;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            if (unlinkat(dirfd(dir), entry->d_name, 0))
                (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    closedir(dir);
    ck_assert_int_eq(rmdir(help_dir), 0);
}

const char *help_path(const char *name)
{
    static char path[8][512];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", help_dir, name);
    return path[next];
}

const char *help_read(const char *name)
{
    static char text[64 * 1024];
    int fd = open(help_path(name), O_RDONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "cannot open %s", name);
    size_t used = 0;
    ssize_t n;
    while ((n = read(fd, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = 0;
    close(fd);
    return text;
}

void help_write(const char *name, const char *text, mode_t mode)
{
    int fd = open(help_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(close(fd), 0);
}

void help_pause(void)
{
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
}

pid_t help_start_engine(const char *store_id, const char *mode, FILE **up)
{
    char program[] = "/proc/self/exe", what[] = "engine",
         leaks[] = "ASAN_OPTIONS=detect_leaks=0";
    char id[64], how[32];
    char *const argv[] = {program, what, help_dir, id, how, NULL};
    char *const env[] = {leaks, NULL};
    int ends[2];
    pid_t pid;
    snprintf(id, sizeof id, "%s", store_id);
    snprintf(how, sizeof how, "%s", mode);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, help_path("engine"),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_eq(posix_spawn(&pid, program, &actions, NULL, argv, env), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *up = fdopen(ends[0], "r");
    ck_assert_ptr_nonnull(*up);
    return pid;
}

bool help_readable(int fd, int wait_ms)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    return poll(&watched, 1, wait_ms) == 1;
}

bool help_alive(pid_t pid)
{
    struct proc_entry process;
    return proc_stat(pid, &process) && process.alive;
}

int help_count(const char *token)
{
    static struct proc_scan scan;
    proc_scan_init(&scan, NULL, token, 0);
    int living = proc_scan_round(&scan, 0);
    proc_scan_release(&scan);
    return living;
}

int help_open_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

pid_t help_spawn(const char *const *argv, const char *const *env)
{
    pid_t pid;
    posix_spawnattr_t attr;
    char **args, **vars;
    memcpy(&args, &argv, sizeof args); /* posix_spawn promises not to write to them */
    memcpy(&vars, &env, sizeof vars);
    ck_assert_int_eq(posix_spawnattr_init(&attr), 0);
    ck_assert_int_eq(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP), 0);
    ck_assert_int_eq(posix_spawn(&pid, argv[0], NULL, &attr, args, vars), 0);
    posix_spawnattr_destroy(&attr);
    return pid;
}

int help_end(pid_t pid)
{
    int status = -1;
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}
