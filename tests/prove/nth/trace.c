/* SPDX-License-Identifier: MIT */
/* One command under ptrace. Threads are followed (they are made with an event of
 * kind CLONE), processes are not: what is made with CLONE_VFORK or fork has an event of
 * its own kind, which is not asked for, and so runs free from its first instruction.
 *
 * A thread stops before and after each of its system calls. A call that is to fail is
 * replaced by none at the first stop and gets its result at the second. */
#include "nth.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { THREADS_MAX = 32, LOADERS_MAX = 8, IDLE_US = 150000 };

struct thread {
    pid_t id;
    bool welcomed;    /* its first stop is over */
    bool fails;       /* the call that it is in */
    bool kill_at_end; /* of the call that it is in */
    bool opens_proc;  /* it is in a call that opens a file of /proc */
    struct call last;
    bool called;
    bool in_call; /* in `last` */
};
struct range {
    uint64_t first, end;
};
struct tracing {
    const struct order *order;
    struct outcome *outcome;
    pid_t pid;
    struct thread threads[THREADS_MAX];
    size_t n;
    struct range loader[LOADERS_MAX];
    size_t n_loader;
    bool started;              /* the loader is done */
    int64_t until_us, last_us; /* the timeout; the last stop */
    uint64_t proc;             /* descriptors of files of /proc, one bit each */
};

/* ---- The loader, whose calls are none of cairn's ---- */

static void note_loader(struct tracing *t, const char *line)
{
    unsigned long long first, end;
    const char *name = strrchr(line, '/');
    if (name && strncmp(name, "/ld-", 4) == 0 && t->n_loader < LOADERS_MAX &&
        sscanf(line, "%llx-%llx", &first, &end) == 2)
        t->loader[t->n_loader++] = (struct range){first, end};
}

static void find_loader(struct tracing *t)
{
    char path[64], line[512];
    t->n_loader = 0;
    t->started = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)t->pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps))
        note_loader(t, line);
    if (maps)
        fclose(maps);
}

static bool is_started(struct tracing *t, uint64_t at)
{
    for (size_t i = 0; !t->started && i < t->n_loader; i++)
        if (at >= t->loader[i].first && at < t->loader[i].end)
            return false;
    t->started = true;
    return true;
}

/* ---- Looking for left-overs, at every process of this machine ----
 *
 * How many calls that takes says nothing about cairn, and they change nothing: they are
 * not counted. The opening of /proc itself is. */

static bool is_of_proc(const struct tracing *t, const struct call *call)
{
    uint64_t fd = call->arguments[0];
    return fd < 64 && (t->proc >> fd & 1) && call_has_fd(call);
}

/* Of a call that begins; true if it is not to be counted. */
static bool note_proc(struct tracing *t, struct thread *thread)
{
    char name[16];
    const struct call *call = &thread->last;
    if (call->number == SYS_openat) {
        call_name(call, name, sizeof name);
        thread->opens_proc = strncmp(name, "/proc", 5) == 0 || is_of_proc(t, call);
        return thread->opens_proc && strcmp(name, "/proc") != 0;
    }
    bool of_proc = is_of_proc(t, call);
    if (of_proc && call->number == SYS_close)
        t->proc &= ~(UINT64_C(1) << call->arguments[0]);
    return of_proc;
}

static void note_opened(struct tracing *t, struct thread *thread, int64_t fd)
{
    if (thread->opens_proc && fd >= 0 && fd < 64)
        t->proc |= UINT64_C(1) << fd;
    thread->opens_proc = false;
}

/* ---- Changing a call ---- */

#if defined(__x86_64__)
/* brk tells a failure by the old break, which it gives when asked for 0. */
static void let_fail(struct thread *thread, int error)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, thread->id, NULL, &regs) < 0)
        return;
    if (error == SHORT_WRITE)
        regs.rdx = regs.rdx / 2;
    else if (thread->last.number == SYS_brk)
        regs.rdi = 0;
    else
        regs.orig_rax = (unsigned long long)-1;
    thread->fails = true;
    ptrace(PTRACE_SETREGS, thread->id, NULL, &regs);
}

/* The caller finds its arguments as they were. */
static void give_result(struct thread *thread, int error)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, thread->id, NULL, &regs) < 0)
        return;
    regs.rdi = thread->last.arguments[0];
    regs.rdx = thread->last.arguments[2];
    if (error != SHORT_WRITE && thread->last.number != SYS_brk)
        regs.rax = (unsigned long long)-(long long)error;
    ptrace(PTRACE_SETREGS, thread->id, NULL, &regs);
}
#else
#error "nth knows the registers of x86-64 only"
#endif

/* ---- Stops ---- */

static struct thread *thread_of(struct tracing *t, pid_t id)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->threads[i].id == id)
            return &t->threads[i];
    return NULL;
}

static struct thread *add_thread(struct tracing *t, pid_t id)
{
    if (t->n == THREADS_MAX)
        return NULL;
    t->threads[t->n] = (struct thread){.id = id};
    return &t->threads[t->n++];
}

static void fire(struct tracing *t, struct thread *thread)
{
    const struct order *order = t->order;
    bool first = t->outcome->calls == order->nth;
    if (order->what == COUNT_ONLY || t->outcome->calls < order->nth)
        return;
    if (first) {
        t->outcome->fired = true;
        call_describe(&thread->last, t->outcome->what, sizeof t->outcome->what);
    }
    if (order->what == KILL_AT_ENTRY)
        kill(t->pid, SIGKILL);
    else if (order->what == KILL_AT_EXIT)
        thread->kill_at_end = first;
    else if ((first || order->what == FAIL_FROM_THEN_ON) && !t->outcome->lifted)
        let_fail(thread, order->error);
}

static void on_call(struct tracing *t, struct thread *thread)
{
    struct ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread->id, sizeof info, &info) < 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        thread->in_call = false;
        if (thread->fails)
            give_result(thread, t->order->error);
        if (thread->kill_at_end)
            kill(t->pid, SIGKILL);
        note_opened(t, thread, thread->fails ? -1 : info.exit.rval);
        thread->fails = false;
        return;
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY ||
        !is_started(t, info.instruction_pointer))
        return;
    thread->last =
        (struct call){.process = t->pid, .thread = thread->id, .number = info.entry.nr};
    for (size_t i = 0; i < 6; i++)
        thread->last.arguments[i] = info.entry.args[i];
    thread->called = thread->in_call = true;
    if (note_proc(t, thread) || !call_is(&thread->last, t->order->class))
        return;
    t->outcome->calls++;
    fire(t, thread);
}

/* A thread stopped; the signal that it is to get when it continues. */
static int on_stop(struct tracing *t, struct thread *thread, int status)
{
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
        on_call(t, thread);
        return 0;
    }
    if (status >> 16 == PTRACE_EVENT_EXEC)
        find_loader(t);
    if (status >> 16 != 0)
        return 0; /* otherwise: a thread was made */
    if (!thread->welcomed && (signal == SIGSTOP || signal == SIGTRAP)) {
        thread->welcomed = true;
        return 0;
    }
    return signal;
}

static void describe_hang(struct tracing *t)
{
    char *text = t->outcome->what;
    size_t size = sizeof t->outcome->what, used = strlen(text);
    for (size_t i = 0; i < t->n && used + 8 < size; i++)
        if (t->threads[i].called) {
            used += (size_t)snprintf(text + used, size - used, "; in ");
            if (used < size)
                call_describe(&t->threads[i].last, text + used, size - used);
            used = strlen(text);
        }
}

/* Whether it is in a call that waits: not in a long one on a slow disk, and not short
 * of a processor. There SIGTERM could come when it has put back its handlers and only
 * has to close the store, and would end it. */
static bool is_waiting(const struct tracing *t)
{
    const struct thread *first = &t->threads[0];
    return first->in_call &&
           (call_is(&first->last, CALLS_WAIT) || first->last.number == SYS_futex);
}

/* Nothing has stopped, and the alarm rang. */
static void on_alarm(struct tracing *t)
{
    struct outcome *outcome = t->outcome;
    int64_t now = now_us();
    if (now > t->until_us && !outcome->hung) {
        outcome->hung = true;
        describe_hang(t);
        kill(t->pid, SIGKILL);
    }
    if (t->order->if_waiting == LET_WAIT || !outcome->fired || outcome->stopped ||
        outcome->lifted || now - t->last_us < IDLE_US || !is_waiting(t))
        return;
    outcome->stopped = t->order->if_waiting == STOP_IT;
    outcome->lifted = t->order->if_waiting == LIFT_FAULT;
    if (outcome->stopped)
        kill(t->pid, SIGTERM);
}

static void follow(struct tracing *t)
{
    for (;;) {
        int status;
        pid_t id = waitpid(-1, &status, __WALL);
        if (id < 0 && errno != EINTR)
            return;
        if (alarmed())
            on_alarm(t);
        if (id < 0)
            continue;
        if (id == t->pid && !WIFSTOPPED(status)) {
            t->outcome->status = status;
            return;
        }
        if (!WIFSTOPPED(status))
            continue; /* a thread's end, or something left behind */
        struct thread *thread = thread_of(t, id);
        if (!thread)
            thread = add_thread(t, id);
        t->last_us = now_us();
        int signal = thread ? on_stop(t, thread, status) : 0;
        ptrace(PTRACE_SYSCALL, id, NULL, (void *)(uintptr_t)signal);
    }
}

bool trace(const struct start *how, const struct order *order, struct outcome *outcome)
{
    struct tracing t = {.order = order, .outcome = outcome};
    struct start traced = *how;
    int status;
    *outcome = (struct outcome){.calls = 0};
    traced.traced = true;
    t.pid = start(&traced);
    if (t.pid < 0)
        return false;
    while (waitpid(t.pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return false;
    if (!WIFSTOPPED(status)) {
        outcome->status = status;
        return false;
    }
    enum {
        OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                  PTRACE_O_EXITKILL
    };
    struct thread *first = add_thread(&t, t.pid);
    first->welcomed = true;
    if (ptrace(PTRACE_SETOPTIONS, t.pid, NULL, (void *)(uintptr_t)OPTIONS) < 0) {
        kill(t.pid, SIGKILL);
        waitpid(t.pid, &status, __WALL);
        return false;
    }
    find_loader(&t);
    t.last_us = now_us();
    t.until_us = t.last_us + (int64_t)order->timeout_ms * 1000;
    set_alarm(50);
    ptrace(PTRACE_SYSCALL, t.pid, NULL, NULL);
    follow(&t);
    set_alarm(0);
    return true;
}
