/* SPDX-License-Identifier: MIT */
#include "cli/shell/hidden.h"

#include "cli/ui.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void note_signal(int signal_number)
{
    caught = signal_number;
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
enum { ENDING = sizeof ending / sizeof ending[0] };

/* Without SA_RESTART: the read returns. */
static void set_handlers(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING; i++)
        sigaction(ending[i], &action, NULL);
}

/* A line of a terminal comes in one piece. */
static bool read_line(char *out, size_t size)
{
    ssize_t n = read(STDIN_FILENO, out, size);
    if (n < 1 || out[n - 1] != '\n')
        return false;
    out[n - 1] = '\0';
    return strlen(out) == (size_t)n - 1;
}

bool hidden_read(const char *prompt, char *out, size_t size)
{
    struct termios before, hidden;
    bool read;
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    hidden = before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    hidden.c_lflag |= ICANON | ISIG;
    caught = 0;
    set_handlers(note_signal);
    ui_paint(prompt, strlen(prompt));
    read = tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 && read_line(out, size);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    ui_paint("\n", 1);
    set_handlers(SIG_DFL);
    if (caught != 0) {
        explicit_bzero(out, size);
        raise(caught);
        return false; /* it was stopped, and goes on */
    }
    return read;
}
