/* SPDX-License-Identifier: MIT */
/* What the end of a child means, before the caller has looked at it: may the next one
 * start in its place, and what is noted of it. */
#include "process/child_int.h"
#include "process/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is no file has no bytes for anybody. */
static void look_at_values(struct spawn_end *end, const char *path)
{
    struct stat st;
    if (!path) {
        end->values = VALUES_NONE;
    } else if (lstat(path, &st)) {
        end->values = errno == ENOENT ? VALUES_MISSING : VALUES_UNKNOWN;
    } else if (!S_ISREG(st.st_mode)) {
        end->values = VALUES_NO_FILE;
    } else {
        end->values = st.st_size ? VALUES_SOME : VALUES_NONE;
        end->values_bytes = (uint64_t)st.st_size;
    }
}

struct spawn_end spawn_end_look(const struct spawn_request *request)
{
    struct spawn_end end = {0};
    end.known = !pidfd_wait(request->pidfd, WNOHANG | WNOWAIT, &end.info, &end.usage) &&
                end.info.si_pid != 0;
    if (end.known)
        look_at_values(&end, request->quiet_file);
    return end;
}

static bool can_be_read(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool can = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
    if (fd >= 0)
        close(fd);
    return can;
}

static bool left_outputs(const char *outputs)
{
    for (; outputs && *outputs; outputs += strlen(outputs) + 1)
        if (!can_be_read(outputs))
            return false;
    return true;
}

bool spawn_end_lets_next_start(const struct spawn_end *end,
                               const struct spawn_request *request)
{
    if (request->ahead != SPAWN_AHEAD_IF_GOOD)
        return request->ahead == SPAWN_AHEAD;
    return end->known && end->info.si_code == CLD_EXITED && end->info.si_status == 0 &&
           end->values == VALUES_NONE && left_outputs(request->outputs);
}

void spawn_end_note(const struct spawn_end *end, const struct spawn_request *request,
                    const struct end_notes *notes)
{
    const struct slot *slot = request->slot;
    /* The file was there before the start. Where it is gone, the store may have been
     * moved, and what the task wrote by path is nowhere. */
    if (!notes || request->note == NOTE_NONE || !end->known ||
        end->values == VALUES_UNKNOWN || end->values == VALUES_MISSING)
        return;
    bool exited = end->info.si_code == CLD_EXITED;
    struct end_note note = {
        .gen = slot->gen,
        .task = slot->task,
        .attempt = slot->attempt,
        .slot = (uint32_t)(slot - request->slots->slots->slot),
        .flags = atomic_load(&request->note_flags) |
                 (request->otherwise && !request->other ? NOTE_AS_SHELL : 0),
        .exit_code = exited ? end->info.si_status : -1,
        .signal = exited ? 0 : end->info.si_status,
        .started_ns = request->started_ns,
        .ended_ns = request->ended_ns,
        .cpu_us = usage_cpu_us(&end->usage),
        .values_bytes = end->values_bytes,
        .basis = request->basis,
        .inputs = request->inputs};
    (void)end_notes_write(notes, request->note, &note);
}
