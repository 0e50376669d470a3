/* SPDX-License-Identifier: MIT */
#include "session/commands/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool terminal_open(struct terminal *terminal, int real, int *slave)
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

void terminal_follow_modes(struct terminal *terminal)
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

bool terminal_follow_size(struct terminal *terminal)
{
    struct winsize now;
    if (ioctl(terminal->real, TIOCGWINSZ, &now) ||
        memcmp(&now, &terminal->size, sizeof now) == 0)
        return false;
    terminal->size = now;
    return ioctl(terminal->master, TIOCSWINSZ, &now) == 0;
}
