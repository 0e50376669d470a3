/* SPDX-License-Identifier: MIT */
/* One command to its end, with its outputs on their way through us. */
#include "session/commands/command_run.h"

#include "session/outside.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "process/pidfd.h"
#include "process/runner.h"
#include "process/slot_map.h"
#include "secrets/known_secrets.h"
#include "secrets/outside.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== The end of an output ==== */

/* More is kept than is stored, so that a secret of which the tail has only the end is
 * recognised by its beginning: no private key is longer than that. */

enum { WINDOW = 64 << 10 };

void tail_begin(struct tail *tail, const struct redactor *redactor)
{
    *tail = (struct tail){.window = BUF_INIT};
    redact_begin(&tail->values, redactor);
}

static void drop_front(struct buf *window)
{
    if (window->failed || window->size <= 2 * WINDOW)
        return;
    memmove(window->data, window->data + window->size - WINDOW, WINDOW);
    window->size = WINDOW;
}

void tail_add(struct tail *tail, struct str bytes)
{
    redact_add(&tail->values, bytes, &tail->window);
    drop_front(&tail->window);
}

static struct str last_part(struct str text)
{
    if (text.len <= TAIL_BYTES)
        return text;
    return utf8_skip_rest((struct str){text.ptr + text.len - TAIL_BYTES, TAIL_BYTES});
}

int tail_end(struct tail *tail, struct buf *text, struct cairn_error *error)
{
    struct buf plain = BUF_INIT, visible = BUF_INIT;
    redact_end(&tail->values, &tail->window);
    struct str window = buf_view(&tail->window);
    size_t from = window.len > TAIL_BYTES ? window.len - TAIL_BYTES : 0;
    known_secrets_redact(window, from, &plain);
    add_visible(&visible, from ? utf8_skip_rest(buf_view(&plain)) : buf_view(&plain));
    buf_str(text, last_part(buf_view(&visible)));
    int rc = tail->window.failed || plain.failed || visible.failed || text->failed
                 ? error_nomem(error)
                 : 0;
    buf_release(&plain);
    buf_release(&visible);
    return rc;
}

void tail_release(struct tail *tail)
{
    redact_release(&tail->values);
    buf_release(&tail->window);
}

/* ==== A pseudoterminal ==== */

static int open_slave(int master)
{
    char name[64];
    if (grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof name))
        return -1;
    return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static bool set_up(struct terminal *terminal, int slave)
{
    if (tcgetattr(terminal->real, &terminal->seen))
        return false;
    terminal->seen.c_oflag &= ~(tcflag_t)OPOST;
    if (tcsetattr(slave, TCSANOW, &terminal->seen) || tcgetattr(slave, &terminal->seen))
        return false;
    if (ioctl(terminal->real, TIOCGWINSZ, &terminal->size) == 0)
        (void)ioctl(slave, TIOCSWINSZ, &terminal->size);
    return true;
}

/* Like the one that `real` is; *slave is the command's end. Both are close-on-exec, and
 * the caller's. False if there is none to be had. */
static bool terminal_open(struct terminal *terminal, int real, int *slave)
{
    *terminal = (struct terminal){.real = real};
    *slave = -1;
    terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->master < 0)
        return false;
    *slave = open_slave(terminal->master);
    if (*slave >= 0 && set_up(terminal, *slave))
        return true;
    if (*slave >= 0)
        close(*slave);
    close(terminal->master);
    terminal->master = *slave = -1;
    return false;
}

static bool same_modes(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag &&
           a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

/* The bits of `to` in which the others differ become those of `is`. */
static void take_changes(tcflag_t *to, tcflag_t was, tcflag_t is, tcflag_t not_these)
{
    tcflag_t changed = (was ^ is) & ~not_these;
    *to = (*to & ~changed) | (is & changed);
}

/* What the command has changed of the modes is done to the real one. To be called
 * between reading and passing on what was read. */
static void terminal_follow_modes(struct terminal *terminal)
{
    struct termios now, real;
    const struct termios *was = &terminal->seen;
    if (tcgetattr(terminal->master, &now) || same_modes(was, &now))
        return;
    if (tcgetattr(terminal->real, &real) == 0) {
        take_changes(&real.c_iflag, was->c_iflag, now.c_iflag, 0);
        take_changes(&real.c_oflag, was->c_oflag, now.c_oflag, OPOST);
        take_changes(&real.c_lflag, was->c_lflag, now.c_lflag, 0);
        for (size_t i = 0; i < sizeof now.c_cc / sizeof now.c_cc[0]; i++)
            if (was->c_cc[i] != now.c_cc[i])
                real.c_cc[i] = now.c_cc[i];
        (void)tcsetattr(terminal->real, TCSANOW, &real);
    }
    if (now.c_oflag & OPOST) {
        now.c_oflag &= ~(tcflag_t)OPOST;
        (void)tcsetattr(terminal->master, TCSANOW, &now);
    }
    terminal->seen = now;
}

/* True: the real one has another size now, and so has the other. */
static bool terminal_follow_size(struct terminal *terminal)
{
    struct winsize now;
    if (ioctl(terminal->real, TIOCGWINSZ, &now) ||
        memcmp(&now, &terminal->size, sizeof now) == 0)
        return false;
    terminal->size = now;
    return ioctl(terminal->master, TIOCSWINSZ, &now) == 0;
}

/* ==== Streams ==== */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_pipe(struct stream *stream, struct cairn_error *error)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return error_sys(error, errno, "a pipe for the output of the command");
    stream->in = fds[0];
    stream->command = fds[1];
    return 0;
}

/* `as_terminal`: the command is to see a terminal where `out` is one. */
static int stream_open(struct stream *stream, int out, bool as_terminal,
                       const struct redactor *redactor, struct cairn_error *error)
{
    *stream = (struct stream){.in = -1, .command = -1, .out = out};
    tail_begin(&stream->tail, redactor);
    stream->is_terminal = as_terminal && out >= 0 && isatty(out) &&
                          terminal_open(&stream->terminal, out, &stream->command);
    int rc = 0;
    if (stream->is_terminal)
        stream->in = stream->terminal.master;
    else
        rc = open_pipe(stream, error);
    if (!rc && fcntl(stream->in, F_SETFL, O_NONBLOCK))
        rc = error_sys(error, errno, "a pipe for the output of the command");
    return rc;
}

/* The command has its end: ours of that is closed. */
static void stream_started(struct stream *stream)
{
    close_fd(&stream->command);
}

static struct pollfd stream_watch(const struct stream *stream)
{
    if (stream->n)
        return (struct pollfd){.fd = stream->out, .events = POLLOUT};
    return (struct pollfd){.fd = stream->in, .events = POLLIN};
}

/* Nobody reads there, or it cannot be written: the command is told in the way in which
 * it would be without us, by a broken pipe. */
static void lose_reader(struct stream *stream)
{
    stream->out = -1;
    stream->n = 0;
    close_fd(&stream->in);
}

static bool pass_on(struct stream *stream)
{
    ssize_t n = write(stream->out, stream->pending + stream->from, stream->n);
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        bool hung_up = stream->is_terminal && errno == EIO;
        stream->failed = errno == EPIPE || hung_up ? 0 : errno;
        lose_reader(stream);
        return true;
    }
    if (n > 0) {
        stream->from += (size_t)n;
        stream->n -= (size_t)n;
    }
    return n > 0;
}

static bool take_in(struct stream *stream)
{
    ssize_t n = read(stream->in, stream->pending, sizeof stream->pending);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (stream->is_terminal)
        terminal_follow_modes(&stream->terminal);
    if (n <= 0) { /* EIO: the other end of a pseudoterminal is closed */
        close_fd(&stream->in);
        return true;
    }
    tail_add(&stream->tail, (struct str){stream->pending, (size_t)n});
    stream->from = 0;
    stream->n = stream->out >= 0 ? (size_t)n : 0;
    return true;
}

/* `ready`: what poll said. True if anything was read or written. */
static bool stream_move(struct stream *stream, short ready)
{
    if (!ready)
        return false;
    return stream->n ? pass_on(stream) : take_in(stream);
}

/* Nothing is to be passed on any more. */
static void stream_give_up(struct stream *stream)
{
    stream->n = 0;
    close_fd(&stream->in);
}

/* Also of one that was not opened (all zero). The tail stays. */
static void stream_close(struct stream *stream)
{
    close_fd(&stream->command);
    close_fd(&stream->in);
}

/* ==== The command ==== */

/* The loop of one command. What only shows when one looks (a signal to us, a command
 * that was stopped, another size of the terminal) is looked at ten times a second: the
 * library sets no signal handlers. */

#define MS_NS 1000000ll

enum {
    TICK_MS = 100,
    QUIET_MS = 20,      /* so long nothing comes: there is nothing more */
    DRAIN_MS = 1000,    /* what processes that it left behind write is not waited for */
    PATIENCE_MS = 10000 /* from SIGTERM to SIGKILL, as of tasks */
};

struct running {
    const struct command_job *job;
    struct command_end *end;
    struct runner *runner;
    struct slot_map slots;
    struct spawn_request request;
    struct runner_process process;
    struct stream streams[2];
    int n_streams;
    char token[SLOTS_TOKEN + 32];
    char **environment;
    int64_t began_ns, moved_ns, over_ns, kill_ns; /* monotonic; kill_ns 0: it is not to
                                                     be killed */
    bool started, over;
    bool halted; /* by Ctrl-Z, and we are to follow */
    struct cairn_error *error;
};

/* ---- Starting ---- */

static bool is_given(const char *const *given, const char *variable)
{
    const char *equals = strchr(variable, '=');
    size_t n = equals ? (size_t)(equals - variable) + 1 : 0;
    for (; given && *given && n; given++)
        if (strncmp(*given, variable, n) == 0)
            return true;
    return false;
}

/* Ours, with what the job gives, and the token by which the guard finds what the
 * command starts. */
static int make_environment(struct running *r)
{
    static const char name[] = "CAIRN_TOKEN=";
    const char *const *given = r->job->variables;
    size_t n = 0, kept = 0, more = 0;
    while (environ[n])
        n++;
    while (given && given[more])
        more++;
    r->environment = calloc(n + more + 2, sizeof *r->environment);
    if (!r->environment)
        return error_nomem(r->error);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], name, sizeof name - 1) != 0 &&
            !is_given(given, environ[i]))
            r->environment[kept++] = environ[i];
    for (size_t i = 0; i < more; i++)
        r->environment[kept++] = (char *)(uintptr_t)given[i];
    snprintf(r->token, sizeof r->token, "%s%s.0.1", name, r->slots.slots->token);
    r->environment[kept] = r->token;
    return 0;
}

static int open_streams(struct running *r)
{
    const struct command_job *job = r->job;
    int rc =
        stream_open(&r->streams[0], job->out, job->attached, job->redactor, r->error);
    r->n_streams = 1;
    if (rc || job->joined)
        return rc;
    r->n_streams = 2;
    return stream_open(&r->streams[1], job->err, job->attached, job->redactor,
                       r->error);
}

static int open_runner(struct running *r, struct cairn_store *store)
{
    int rc = slots_create_unnamed(&r->slots, store_live_dir(store), store_id(store), 1,
                                  r->error);
    if (rc)
        return rc;
    r->runner = local_runner_new();
    if (!r->runner)
        return error_nomem(r->error);
    return r->runner->ops->open(r->runner, &r->slots, NULL, 1, r->error);
}

static void submit(struct running *r)
{
    const struct command_job *job = r->job;
    r->request = (struct spawn_request){
        .argv = (char *const *)(uintptr_t)job->argv,
        .envp = r->environment,
        .path = getenv("PATH"),
        .stdin_fd = job->in,
        .stdout_fd = r->streams[0].command,
        .stderr_fd = r->streams[r->n_streams - 1].command,
        .attached = job->attached,
        .slot = &r->slots.slots->slot[0],
        .slots = &r->slots,
        .ahead = SPAWN_AFTER_CALLER,
        .ticket = 1,
        .note = NOTE_NONE,
        .pidfd = -1,
    };
    r->began_ns = clock_mono_ns();
    r->end->started_ns = clock_utc_ns();
    r->runner->ops->submit(r->runner, &r->request);
}

/* ---- What has become of it ---- */

static void has_started(struct running *r)
{
    for (int i = 0; i < r->n_streams; i++)
        stream_started(&r->streams[i]);
    r->process = runner_process_of(&r->request);
    r->started = r->end->started = true;
}

static int not_started(struct running *r)
{
    for (int i = 0; i < r->n_streams; i++)
        stream_give_up(&r->streams[i]);
    r->over = true;
    r->end->exit_code = r->request.exit_code;
    struct buf said = BUF_INIT; /* it names the program */
    spawn_describe_failure(&r->request, &said);
    add_clean(r->job->redactor, buf_view(&said), &r->end->failure);
    r->end->failure.failed |= said.failed;
    buf_release(&said);
    int rc = buf_check(&r->end->failure, r->error);
    if (rc || r->request.exit_code > 0)
        return rc;
    return error_set(r->error, CAIRN_EIO, "%s", r->end->failure.data);
}

static int has_ended(struct running *r)
{
    struct process_end end = {0};
    r->over = true;
    r->over_ns = r->moved_ns = clock_mono_ns();
    r->end->duration_ms = (r->over_ns - r->began_ns) / MS_NS;
    r->runner->ops->go_on(r->runner, r->request.ticket);
    int rc = r->runner->ops->reap(r->runner, &r->process, &end, r->error);
    r->end->exit_code = end.signal ? 128 + end.signal : end.exit_code;
    return rc;
}

static int take_news(struct running *r)
{
    struct spawn_request *news = NULL;
    int rc = r->runner->ops->collect(r->runner, &news, r->error);
    if (rc || !news || r->over)
        return rc;
    if (!r->started && r->request.error)
        return not_started(r);
    if (!r->started)
        has_started(r);
    return r->request.ended ? has_ended(r) : 0;
}

static int tend(struct running *r)
{
    const char *notice;
    return r->runner->ops->tend(r->runner, &notice, r->error);
}

/* ---- What is to be done to it ---- */

static bool runs(struct running *r)
{
    return r->started && !r->over && !r->runner->ops->has_ended(r->runner, &r->process);
}

static void send_signal(struct running *r, int signal)
{
    if (r->job->attached)
        (void)pidfd_signal(r->process.pidfd, signal);
    else
        process_signal(r->process.pid, signal);
}

/* A stopped process cannot act on TERM before it is continued. */
static void ask_to_end(struct running *r, int signal)
{
    send_signal(r, signal);
    send_signal(r, SIGCONT);
    r->kill_ns = clock_mono_ns() + PATIENCE_MS * MS_NS;
}

static void obey_signal(struct running *r)
{
    volatile sig_atomic_t *place = r->job->host->signal;
    int signal = place ? *place : 0;
    if (!signal || !runs(r))
        return;
    *place = 0;
    if (signal == SIGTERM || signal == SIGHUP || !r->job->attached) {
        r->end->stopped = true;
        ask_to_end(r, signal);
    } else {
        send_signal(r, signal);
    }
}

static void keep_limits(struct running *r)
{
    int64_t now = clock_mono_ns(), limit = r->job->limit_ms;
    if (!runs(r))
        return;
    if (r->kill_ns && now >= r->kill_ns) {
        send_signal(r, SIGKILL);
        r->kill_ns = now + TICK_MS * MS_NS;
    } else if (limit && !r->kill_ns && (now - r->began_ns) / MS_NS >= limit) {
        r->end->timed_out = true;
        ask_to_end(r, SIGTERM);
    }
}

static void follow_terminal(struct running *r)
{
    bool changed = false;
    for (int i = 0; i < r->n_streams; i++) {
        struct stream *stream = &r->streams[i];
        if (!stream->is_terminal || stream->in < 0)
            continue;
        terminal_follow_modes(&stream->terminal);
        changed |= terminal_follow_size(&stream->terminal);
    }
    if (changed) /* the real terminal was known before the other had its size */
        (void)kill(0, SIGWINCH);
}

/* By a key, or for using the terminal from the background. */
static bool was_halted(struct running *r)
{
    siginfo_t info = {.si_pid = 0};
    if (!runs(r) || waitid(P_PID, (id_t)r->process.pid, &info, WSTOPPED | WNOHANG) ||
        info.si_pid == 0)
        return false;
    return info.si_status == SIGTSTP || info.si_status == SIGTTIN ||
           info.si_status == SIGTTOU;
}

static bool is_quiet(const struct running *r)
{
    return clock_mono_ns() - r->moved_ns >= QUIET_MS * MS_NS;
}

/* What it wrote last (the screen as it was before) is shown first. */
static void follow_halt(struct running *r)
{
    const struct cairn_command_host *host = r->job->host;
    if (!r->job->attached || !host->suspend)
        return;
    if (!r->halted && was_halted(r)) {
        r->halted = true;
        r->moved_ns = clock_mono_ns();
    }
    if (r->halted && is_quiet(r)) {
        host->suspend(host->context);
        send_signal(r, SIGCONT);
        r->halted = false;
    }
}

/* ---- The loop ---- */

enum { NEWS, TEND, STREAMS, WATCHED = STREAMS + 2 };

static int wait_ms(const struct running *r)
{
    int64_t limit = r->job->limit_ms;
    if (r->over || r->halted)
        return QUIET_MS;
    if (!limit || r->kill_ns)
        return TICK_MS;
    int64_t left = limit - (clock_mono_ns() - r->began_ns) / MS_NS;
    return left < 1 ? 1 : left < TICK_MS ? (int)left : TICK_MS;
}

static void move_streams(struct running *r, const struct pollfd *watched)
{
    for (int i = 0; i < r->n_streams; i++)
        if (stream_move(&r->streams[i], watched[i].revents))
            r->moved_ns = clock_mono_ns();
}

/* Where what is written goes nowhere any more, a signal to us ends the wait for it. */
static bool is_done(const struct running *r)
{
    bool pending = false, open = false;
    if (!r->over)
        return false;
    for (int i = 0; i < r->n_streams; i++) {
        pending |= r->streams[i].n > 0;
        open |= r->streams[i].in >= 0;
    }
    bool stop = r->end->stopped || (r->job->host->signal && *r->job->host->signal);
    if (pending)
        return stop && is_quiet(r);
    return !open || is_quiet(r) || clock_mono_ns() - r->over_ns >= DRAIN_MS * MS_NS;
}

static int run_to_end(struct running *r)
{
    int rc = 0;
    while (!rc && !is_done(r)) {
        struct pollfd watched[WATCHED] = {
            [NEWS] = {.fd = r->runner->news_fd, .events = POLLIN},
            [TEND] = {.fd = r->runner->tend_fd, .events = POLLIN}};
        for (int i = 0; i < r->n_streams; i++)
            watched[STREAMS + i] = stream_watch(&r->streams[i]);
        if (poll(watched, (nfds_t)STREAMS + (nfds_t)r->n_streams, wait_ms(r)) < 0)
            for (int i = 0; i < WATCHED; i++)
                watched[i].revents = 0;
        move_streams(r, &watched[STREAMS]);
        if (watched[TEND].revents)
            rc = tend(r);
        if (!rc && (watched[NEWS].revents || watched[TEND].revents))
            rc = take_news(r);
        obey_signal(r);
        keep_limits(r);
        follow_terminal(r);
        follow_halt(r);
    }
    return rc;
}

static int read_streams(struct running *r)
{
    int rc = 0;
    for (int i = 0; i < r->n_streams; i++)
        if (r->streams[i].failed)
            r->end->output_error = r->streams[i].failed;
    for (int i = 0; i < r->n_streams && !rc; i++)
        rc = tail_end(&r->streams[i].tail, &r->end->tails[i], r->error);
    return rc;
}

static void release(struct running *r)
{
    if (r->runner) {
        r->runner->ops->close(r->runner);
        r->runner->ops->free(r->runner);
    }
    if (r->slots.slots)
        slots_close(&r->slots, false);
    for (int i = 0; i < r->n_streams; i++) {
        stream_close(&r->streams[i]);
        tail_release(&r->streams[i].tail);
    }
    free(r->environment);
}

int run_one_command(struct cairn_store *store, const struct command_job *job,
                    struct command_end *end, struct cairn_error *error)
{
    struct running r = {.job = job, .end = end, .error = error};
    *end = (struct command_end){0};
    int rc = open_runner(&r, store) ?: make_environment(&r) ?: open_streams(&r);
    if (!rc) {
        submit(&r);
        rc = run_to_end(&r);
    }
    if (!rc)
        rc = read_streams(&r);
    release(&r);
    return rc;
}

void command_end_release(struct command_end *end)
{
    buf_release(&end->tails[0]);
    buf_release(&end->tails[1]);
    buf_release(&end->failure);
}
