/* SPDX-License-Identifier: MIT */
/* The streams of the process: descriptors, signals, messages for people, data for
 * programs. This state belongs to the process, so it is static. If the reader of stdout
 * goes away, the printing ends, never the work. */
#include "cli/ui.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/output_queue.h"
#include "cli/suggest.h"
#include "cli/terminal/terminal_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

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
                       va_list arguments) PRINTS(3, 0);
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
                          va_list arguments) PRINTS(3, 0);
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
