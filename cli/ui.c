/* SPDX-License-Identifier: MIT */
/* The streams of the process: descriptors, signals, messages for people, data for
 * programs, the pager. */
#include "cli/ui.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Two buffers: the run fills one while the thread writes the other. The thread
 * allocates and frees nothing, and blocks all signals, so that handlers run where they
 * did. */

#define ROOM ((size_t)2 << 20) /* of each buffer */
#define STACK_BYTES ((size_t)64 << 10)

/* What is written to one descriptor at a time; its bytes follow. */
struct part {
    int fd;
    size_t n;
};

struct buffer {
    char *bytes;
    size_t used, capacity;
    size_t last; /* where the last part begins */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, written;
    pthread_t thread;
    struct buffer filling, writing; /* the second is of the thread, but for its size */
    uint64_t dropped;               /* lines */
    int64_t hurry_until_ns; /* until then the run does not look after the reader */
    bool dropping, ending;
    int error; /* of stdout */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

/* Whether somebody reads what is written to the descriptor: a pipe, a terminal. */
static bool output_queue_needed(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

/* Of a descriptor that somebody made non-blocking. */
static void wait_for_room(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && flags & O_NONBLOCK)
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EAGAIN)
            wait_for_room(fd);
        else if (done < 0 && errno != EINTR)
            return errno;
        if (done < 0)
            continue;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Only this thread sets the error. A later message on stderr may be written again. */
static void write_parts(const struct buffer *buffer)
{
    struct part part;
    for (size_t at = 0; at < buffer->used; at += sizeof part + part.n) {
        memcpy(&part, buffer->bytes + at, sizeof part);
        if (part.fd == STDOUT_FILENO && queue.error != 0)
            continue;
        int failed = write_all(part.fd, buffer->bytes + at + sizeof part, part.n);
        if (failed != 0 && part.fd == STDOUT_FILENO) {
            pthread_mutex_lock(&queue.lock);
            queue.error = failed;
            pthread_mutex_unlock(&queue.lock);
        }
    }
}

static void *write_queue(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (queue.filling.used == 0 && !queue.ending)
            pthread_cond_wait(&queue.filled, &queue.lock);
        if (queue.filling.used == 0)
            break;
        struct buffer empty = queue.writing;
        queue.writing = queue.filling;
        queue.filling = empty;
        pthread_mutex_unlock(&queue.lock);
        write_parts(&queue.writing);
        pthread_mutex_lock(&queue.lock);
        queue.writing.used = 0;
        pthread_cond_signal(&queue.written);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* All signals are for the thread that runs the workflow, except the one that stops a
 * background job that prints on a terminal which forbids it: there it must take effect.
 */
static int create_thread(void)
{
    pthread_attr_t attributes;
    sigset_t most, old;
    int failed = pthread_attr_init(&attributes);
    if (failed != 0)
        return failed;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&most);
    sigdelset(&most, SIGTTOU);
    pthread_sigmask(SIG_SETMASK, &most, &old);
    failed = pthread_create(&queue.thread, &attributes, write_queue, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Starts the thread; false if there can be none. */
static bool output_queue_start(void)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&queue.written, &attributes);
    pthread_condattr_destroy(&attributes);
    queue.ending = false;
    return failed == 0 && create_thread() == 0;
}

/* Room for so many more bytes in the buffer that is filled. */
static bool make_room(struct buffer *buffer, size_t n)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity < buffer->used + n)
        capacity *= 2;
    if (capacity == buffer->capacity)
        return true;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

static bool append(struct buffer *buffer, int fd, const char *bytes, size_t n)
{
    struct part part = {.fd = fd};
    if (!make_room(buffer, sizeof part + n))
        return false;
    if (buffer->used > 0)
        memcpy(&part, buffer->bytes + buffer->last, sizeof part);
    if (buffer->used == 0 || part.fd != fd) {
        part = (struct part){.fd = fd};
        buffer->last = buffer->used;
        buffer->used += sizeof part;
    }
    part.n += n;
    memcpy(buffer->bytes + buffer->last, &part, sizeof part);
    memcpy(buffer->bytes + buffer->used, bytes, n);
    buffer->used += n;
    return true;
}

static uint64_t count_lines(const char *bytes, size_t n)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool all_written(void)
{
    return queue.filling.used == 0 && queue.writing.used == 0;
}

/* A reader that reads has a line, usually within microseconds, before the run goes on:
 * so a kill of cairn loses none. One that does not is given a moment, and then none for
 * twenty times as long as it took. */
static void wait_briefly(void)
{
    const int64_t moment_ns = 50000000, noticed_ns = 1000000;
    int64_t start = monotonic_ns(), end = start + moment_ns;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
                             .tv_nsec = (long)(end % 1000000000)};
    if (start < queue.hurry_until_ns)
        return;
    while (!all_written() &&
           pthread_cond_timedwait(&queue.written, &queue.lock, &until) == 0)
        continue;
    end = monotonic_ns();
    if (end - start > noticed_ns)
        queue.hurry_until_ns = end + 20 * (end - start);
}

static void put(int fd, const char *bytes, size_t n, bool must)
{
    pthread_mutex_lock(&queue.lock);
    /* One that is longer than the room waits alone: it is in memory anyway. */
    bool room = queue.filling.used == 0 || queue.filling.used + n <= ROOM;
    room = room && !queue.dropping;
    bool kept = (must || room) && append(&queue.filling, fd, bytes, n);
    if (!kept && !must) {
        queue.dropping = true;
        queue.dropped += count_lines(bytes, n);
    }
    pthread_cond_signal(&queue.filled);
    if (kept)
        wait_briefly();
    pthread_mutex_unlock(&queue.lock);
}

/* Adds whole lines, however long where none waits. If there is no room for them, they
 * are dropped and counted. */
static void output_queue_put(int fd, const char *lines, size_t n)
{
    put(fd, lines, n, false);
}

/* The same for a few bytes that may not be missing, such as a cursor movement. */
static void output_queue_must(int fd, const char *bytes, size_t n)
{
    put(fd, bytes, n, true);
}

/* Whether something was not written yet. */
static bool output_queue_waits(void)
{
    pthread_mutex_lock(&queue.lock);
    bool waits = !all_written();
    pthread_mutex_unlock(&queue.lock);
    return waits;
}

uint64_t output_queue_dropped(void)
{
    uint64_t dropped = 0;
    pthread_mutex_lock(&queue.lock);
    if (queue.dropping && queue.filling.used <= ROOM / 2) {
        dropped = queue.dropped;
        queue.dropped = 0;
        queue.dropping = false;
    }
    pthread_mutex_unlock(&queue.lock);
    return dropped;
}

/* Waits until all is written, and ends the thread. */
static void output_queue_end(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.ending = true;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(queue.thread, NULL);
    wait_for_room(STDOUT_FILENO); /* for the result, which comes without the queue */
    wait_for_room(STDERR_FILENO);
    pthread_cond_destroy(&queue.written);
    free(queue.filling.bytes);
    free(queue.writing.bytes);
    queue.filling = queue.writing = (struct buffer){0};
}

/* The first error of writing to stdout, 0: none. What comes after it is not written. */
static int output_queue_error(void)
{
    pthread_mutex_lock(&queue.lock);
    int error = queue.error;
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* The streams of the process: descriptors, signals, messages for people, data for
 * programs. This state belongs to the process, so it is static. If the reader of stdout
 * goes away, the printing ends, never the work. */

static struct {
    bool json, quiet, color, live;
    bool out_live, no_color; /* stdout is a terminal; nobody wants colors */
    bool out_color;
    bool output_optional;
    mask_fn *mask;
    void *mask_context;
    bool queued;      /* what is printed goes through the queue */
    bool incomplete;  /* something of what was to be printed is not */
    int output_error; /* errno of the first write to stdout that failed */
    bool keeping;     /* what is printed goes here: */
    FILE *kept;       /* NULL: out of memory */
    char *kept_text;
    size_t kept_bytes;
} ui;

/* A closed descriptor must not be reused for the database: what is printed would be
 * written into it. Writing to stdout fails as it did before. */
static void fill_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) < 0)
            _exit(EXIT_SYSTEM);
    }
}

void ui_start(void)
{
    static char line_buffer[BUFSIZ];
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    sigset_t set;
    fill_descriptors();
    setvbuf(stderr, line_buffer, _IOFBF, sizeof line_buffer); /* flushed per line */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that must not grow: an error, as a full disk */
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    ui.live = isatty(2) && term && strcmp(term, "dumb") != 0;
    ui.out_live = isatty(1) && term && strcmp(term, "dumb") != 0;
    ui.no_color = no_color && no_color[0] != '\0';
    ui.color = ui.live && !ui.no_color;
}

void ui_again(void)
{
    ui.json = ui.quiet = ui.out_color = false;
    ui.output_optional = ui.incomplete = false;
    ui.output_error = 0;
    clearerr(stdout);
}

void ui_configure(bool json, bool quiet)
{
    ui.json = json;
    ui.quiet = quiet;
}

bool ui_json(void)
{
    return ui.json;
}

bool ui_quiet(void)
{
    return ui.quiet;
}

bool ui_live(void)
{
    return ui.live;
}

bool ui_terminal(int fd)
{
    return isatty(fd) == 1;
}

int ui_width(void)
{
    struct winsize size;
    if (ioctl(2, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

int ui_height(void)
{
    struct winsize size;
    if (ioctl(2, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        return 24;
    return size.ws_row;
}

/* xterm, GNU screen and the console cut lines off instead. */
bool ui_reflows(void)
{
    const char *term = getenv("TERM");
    bool screen = getenv("STY") && !getenv("TMUX");
    return !getenv("XTERM_VERSION") && !screen && term && strcmp(term, "linux") != 0;
}

/* Line breaks in values are escaped like other control characters, unless the format
 * has several lines itself. */
static size_t escape_formatted(char *safe, const char *text, size_t n,
                               const char *format)
{
    const char *newline = strchr(format, '\n');
    size_t used;
    if (newline && newline[1] != '\0')
        return escape_text(safe, text, n);
    if (!newline)
        return escape_line(safe, text, n);
    used = escape_line(safe, text, n - 1);
    safe[used] = '\n';
    return used + 1;
}

enum line_kind {
    LINE_DATA,
    LINE_MESSAGE, /* the commands that it suggests are completed */
    LINE_MESSAGES /* the same; the text may have several lines */
};

/* Formats and escapes; heap or NULL. */

static char *make_line(size_t *length, enum line_kind kind, const char *format,
                       va_list arguments)
{
    char *text, *safe;
    int n = vasprintf(&text, format, arguments);
    if (n < 0)
        return NULL;
    char *completed = kind == LINE_DATA ? NULL : suggest_completed(text);
    if (completed) {
        free(text);
        text = completed;
        n = (int)strlen(text);
    }
    safe = malloc((size_t)n * ESCAPE_FACTOR + 1);
    if (safe)
        *length = kind == LINE_MESSAGES
                      ? escape_text(safe, text, (size_t)n)
                      : escape_formatted(safe, text, (size_t)n, format);
    free(text);
    return safe;
}

/* A line is dropped as a whole or not at all, so it is put together first. */
static void queue_line(const char *prefix, const char *line, size_t n)
{
    char *whole;
    int length = asprintf(&whole, "%s%.*s\n", prefix, (int)n, line);
    if (length < 0)
        return;
    output_queue_put(STDERR_FILENO, whole, (size_t)length);
    free(whole);
}

/* `line` is NULL if there was no memory to escape it. */
static void print_line(const char *prefix, const char *line, size_t n)
{
    if (ui.queued) {
        queue_line(prefix, line ? line : "out of memory", line ? n : INT_MAX);
        return;
    }
    fputs(prefix, stderr);
    if (line)
        fwrite(line, 1, n, stderr);
    else
        fputs("out of memory", stderr);
    fputc('\n', stderr);
    fflush(stderr);
    clearerr(stderr); /* a later line may be written again */
}

void say_bytes(const char *prefix, const char *bytes, size_t n)
{
    char *line = malloc(n * ESCAPE_FACTOR + 1);
    if (line)
        n = escape_text(line, bytes, n);
    print_line(prefix, line, n);
    free(line);
}

void say_output(const char *prefix, const char *bytes, size_t n)
{
    char *line = malloc(TERMINAL_TEXT_ROOM(n));
    if (line)
        n = terminal_line(line, bytes, n, ui.color, NULL);
    print_line(prefix, line, n);
    free(line);
}

static void print_message(const char *prefix, enum line_kind kind, const char *format,
                          va_list arguments)
{
    size_t n = 0;
    char *line = make_line(&n, kind, format, arguments);
    print_line(prefix, line, n);
    free(line);
}

void say(const char *format, ...)
{
    va_list arguments;
    if (ui.quiet)
        return;
    va_start(arguments, format);
    print_message("", LINE_MESSAGE, format, arguments);
    va_end(arguments);
}

void say_pruned(uint64_t pruned)
{
    if (pruned > 0)
        say("%llu older checkpoint%s deleted, by the settings of the session",
            (unsigned long long)pruned, pruned == 1 ? " was" : "s were");
}

void say_always(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("", LINE_MESSAGE, format, arguments);
    va_end(arguments);
}

static const char *const color_codes[] = {"",        "\033[31m", "\033[32m", "\033[33m",
                                          "\033[2m", "\033[1m",  "\033[36m"};

void say_label(enum color color, const char *label, const char *format, ...)
{
    bool painted = ui.color && color != PLAIN;
    char prefix[64];
    va_list arguments;
    snprintf(prefix, sizeof prefix, "%s%s%s ", painted ? color_codes[color] : "", label,
             painted ? "\033[0m" : "");
    va_start(arguments, format);
    print_message(prefix, LINE_MESSAGE, format, arguments);
    va_end(arguments);
}

void ui_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("cairn: ", LINE_MESSAGES, format, arguments);
    va_end(arguments);
}

void ui_mask_by(mask_fn *mask, void *context)
{
    ui.mask = mask;
    ui.mask_context = context;
}

char *ui_masked(const char *text)
{
    return ui.mask ? ui.mask(ui.mask_context, text) : strdup(text);
}

/* Completed first: what is put behind suggested commands was typed, too. */
void ui_error(const char *text)
{
    char *completed = suggest_completed(text);
    char *masked = ui_masked(completed ? completed : text);
    size_t n = masked ? strlen(masked) : 0;
    char *line = masked ? malloc(n * ESCAPE_FACTOR + 1) : NULL;
    if (line)
        n = escape_text(line, masked, n);
    print_line("cairn: ", line, n);
    free(line);
    free(masked);
    free(completed);
}

void ui_paint(const char *bytes, size_t n)
{
    if (ui.queued) {
        output_queue_must(STDERR_FILENO, bytes, n);
        return;
    }
    fwrite(bytes, 1, n, stderr);
    fflush(stderr);
    clearerr(stderr);
}

bool ui_ask(const char *question)
{
    char answer[16];
    ui_paint(question, strlen(question));
    ui_paint(" [y/N] ", 7);
    if (!fgets(answer, sizeof answer, stdin))
        return false;
    return answer[0] == 'y' || answer[0] == 'Y';
}

bool ui_can_ask(void)
{
    return ui_terminal(0) && ui_terminal(2) && !ui.json;
}

bool ui_paint_waits(void)
{
    return ui.queued && output_queue_waits();
}

void ui_queue_start(void)
{
    fflush(stdout);
    if (output_queue_needed(STDOUT_FILENO) || output_queue_needed(STDERR_FILENO))
        ui.queued = output_queue_start();
}

void ui_queue_end(void)
{
    if (!ui.queued)
        return;
    output_queue_end();
    if (ui.output_error == 0)
        ui.output_error = output_queue_error();
    ui.queued = false;
}

static void note_output_error(void)
{
    if (ui.output_error == 0)
        ui.output_error = errno != 0 ? errno : EIO;
}

void out_keep(void)
{
    ui.keeping = true;
    ui.kept_text = NULL;
    ui.kept = open_memstream(&ui.kept_text, &ui.kept_bytes);
}

bool out_set_keeping(bool keeping)
{
    bool was = ui.keeping;
    ui.keeping = keeping;
    return was;
}

char *out_kept(size_t *n)
{
    bool good = ui.kept && !ferror(ui.kept);
    ui.keeping = false;
    if (ui.kept && fclose(ui.kept) != 0)
        good = false;
    *n = ui.kept_bytes;
    if (good)
        return ui.kept_text;
    free(ui.kept_text);
    return NULL;
}

void out_raw(const void *bytes, size_t n)
{
    if (ui.output_error != 0)
        return;
    if (ui.keeping) {
        if (ui.kept)
            (void)fwrite(bytes, 1, n, ui.kept);
        return;
    }
    if (ui.queued) {
        output_queue_put(STDOUT_FILENO, bytes, n);
        return;
    }
    errno = 0;
    if (fwrite(bytes, 1, n, stdout) != n)
        note_output_error();
}

void out(const char *format, ...)
{
    va_list arguments;
    size_t n = 0;
    char *line;
    va_start(arguments, format);
    line = make_line(&n, LINE_DATA, format, arguments);
    va_end(arguments);
    if (line) {
        out_raw(line, n);
    } else {
        errno = ENOMEM;
        note_output_error();
    }
    free(line);
}

void out_lines(const char *bytes, size_t n)
{
    char *safe = malloc(n * ESCAPE_FACTOR + 1);
    if (safe)
        out_raw(safe, escape_text(safe, bytes, n));
    else
        out_incomplete();
    free(safe);
}

bool ui_out_for_people(void)
{
    return ui.out_live;
}

bool ui_color_stdout(enum color_when when)
{
    ui.out_color =
        when == COLOR_ALWAYS || (when == COLOR_AUTO && ui.out_live && !ui.no_color);
    return ui.out_color;
}

void out_color(enum color color)
{
    if (ui.out_color)
        out_raw(color == PLAIN ? "\033[0m" : color_codes[color],
                color == PLAIN ? 4 : strlen(color_codes[color]));
}

void out_flush(void)
{
    errno = 0;
    if (ui.output_error == 0 && fflush(stdout) != 0)
        note_output_error();
}

void out_incomplete(void)
{
    ui.incomplete = true;
}

bool ui_output_lost(void)
{
    return ui.output_error != 0 || (ui.queued && output_queue_error() != 0);
}

void ui_output_optional(void)
{
    ui.output_optional = true;
}

int ui_end(int status)
{
    out_flush();
    if (ui.output_error == 0 && !ui.incomplete)
        return status;
    if (ui.output_error == EPIPE)
        return status;
    if (ui.output_error != 0)
        ui_warn("cannot write to stdout: %s", strerror(ui.output_error));
    return status == 0 && !ui.output_optional ? EXIT_SYSTEM : status;
}

static struct {
    const char *command;
    pid_t pid; /* 0: none */
    int saved; /* stdout as it was */
} pager;

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");
    char name[4096];
    while (path && *path != '\0') {
        int n = (int)strcspn(path, ":");
        int length = snprintf(name, sizeof name, "%.*s/%s", n, path, program);
        if (length < (int)sizeof name && access(name, X_OK) == 0)
            return true;
        path += n;
        path += *path == ':';
    }
    return false;
}

static const char *find_command(void)
{
    const char *command = getenv("CAIRN_PAGER");
    if (!command)
        command = getenv("PAGER");
    if (!command)
        command = is_in_path("less") ? "less -FRX" : "";
    return command[0] == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
}

/* `less` alone shows colors and ends by itself, too, if no option forbids it. */
static int spawn(int input)
{
    const char *const argv[] = {"/bin/sh", "-c", pager.command, NULL};
    bool told = getenv("LESS") != NULL;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t all;
    int sys = posix_spawnattr_init(&attributes);
    if (sys != 0)
        return sys;
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &all);
    sys = posix_spawn_file_actions_init(&files);
    if (sys == 0) {
        sys = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        if (!told)
            setenv("LESS", "FRX", 0);
        if (sys == 0)
            sys = posix_spawn(&pager.pid, argv[0], &files, &attributes,
                              (char *const *)(uintptr_t)argv, environ);
        if (!told)
            unsetenv("LESS");
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return sys;
}

void pager_start(void)
{
    int ends[2];
    pager.command = ui_out_for_people() ? find_command() : NULL;
    if (!pager.command || pipe2(ends, O_CLOEXEC) != 0)
        return;
    pager.saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int sys = pager.saved < 0 ? errno : spawn(ends[0]);
    if (sys == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        out_flush();
        dup2(ends[1], STDOUT_FILENO);
    } else {
        pager.pid = 0;
        if (pager.saved >= 0)
            close(pager.saved);
    }
    close(ends[0]);
    close(ends[1]);
}

int pager_end(int status)
{
    int ended = 0;
    if (pager.pid == 0)
        return status;
    out_flush();
    dup2(pager.saved, STDOUT_FILENO);
    close(pager.saved);
    while (waitpid(pager.pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    pager.pid = 0;
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (!WIFEXITED(ended) || (WEXITSTATUS(ended) != EXIT_NOT_EXECUTABLE &&
                              WEXITSTATUS(ended) != EXIT_NO_PROGRAM))
        return status;
    ui_warn("the pager could not be executed: %s ($CAIRN_PAGER, $PAGER; cat: none)",
            pager.command);
    return status == 0 ? EXIT_SYSTEM : status;
}
