/* SPDX-License-Identifier: MIT */
/* The slots: made, told to the file, read from it, removed.
 *
 * The engine, its children and the guard share a mapping of memory that has no name
 * and cannot become smaller. The slot file is a copy for everybody else. Were it
 * mapped, any task that empties it would end the engine with SIGBUS, and one that
 * writes garbage into it would send the guard after strangers.
 *
 * The file is made under another name and renamed, so a reader never sees half of one.
 * Its blocks are reserved at once: on a full disk it can still be written. */
#include "process/slot_map.h"
#include "process/file_io.h"
#include "process/live.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS_MAX = 2 * LIMIT_JOBS }; /* room for requests handed in ahead */

static int slots_path(struct slot_map *map, const char *live_dir, uint64_t run,
                      struct cairn_error *error)
{
    if (!live_path(map->path, sizeof map->path, live_dir, live_of_run(LIVE_SLOTS, run)))
        return error_set(error, CAIRN_ELIMIT, "%s: the path is too long", live_dir);
    return 0;
}

static int slots_fill(struct slots *slots, const char *store_id, uint64_t run,
                      uint32_t n, struct cairn_error *error)
{
    uint64_t salt;
    int rc = random_bytes(&salt, sizeof salt, error);
    if (rc)
        return rc;
    slots->magic = SLOTS_MAGIC;
    slots->version = SLOTS_VERSION;
    slots->n = n;
    slots->run = run;
    char boot_id[37];
    os_boot_id(boot_id);
    memcpy(slots->boot_id, boot_id, sizeof boot_id);
    slots->owner_pid = getpid();
    slots->owner_start = os_process_start(getpid());
    slots->pid_ns = os_pid_namespace();
    snprintf(slots->token, sizeof slots->token, "%s.%" PRIu64 ".%016" PRIx64, store_id,
             run, salt);
    return 0;
}

/* An empty file with room for `bytes`. */
static int make_file(struct slot_map *map, const char *path, size_t bytes,
                     struct cairn_error *error)
{
    if (unlink(path) && errno != ENOENT)
        return error_sys(error, errno, "%s", path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_sys(error, errno, "%s", path);
    int sys = file_reserve(fd, bytes);
    if (sys) {
        close(fd);
        unlink(path);
        return error_sys(error, sys, "%s", path);
    }
    map->file = fd;
    return 0;
}

/* A file of that size without a name: where there is no memfd, one whose name is gone.
 */
static int open_nameless(const char *path, size_t bytes, struct cairn_error *error)
{
    static const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct slot_map map;
    int fd = memfd_create("cairn-slots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    int rc = make_file(&map, path, bytes, error);
    if (!rc)
        (void)unlink(path); /* else make_file removes it */
    return rc ? rc : map.file;
}

static int make_memory(struct slot_map *map, const char *path, size_t bytes,
                       struct cairn_error *error)
{
    int fd = open_nameless(path, bytes, error);
    if (fd < 0)
        return fd;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        int sys = errno;
        close(fd);
        return error_sys(error, sys, "memory for the slots");
    }
    map->slots = at;
    map->bytes = bytes;
    map->fd = fd;
    return 0;
}

static int slots_make(struct slot_map *map, const char *path, size_t bytes,
                      struct cairn_error *error)
{
    int rc = make_memory(map, path, bytes, error) ?: make_file(map, path, bytes, error);
    if (rc)
        slots_close(map, false);
    return rc;
}

/* A failure here is not an error: others then find processes by their token. */
static void write_to_file(const struct slot_map *map, const void *from, size_t n)
{
    off_t at = (const char *)from - (const char *)map->slots;
    assert(at >= 0 && (size_t)at + n <= map->bytes);
    if (map->file >= 0)
        (void)file_write_at(map->file, from, n, at);
}

void slots_tell(const struct slot_map *map, const struct slot *slot)
{
    write_to_file(map, slot, sizeof *slot);
}

void slots_tell_head(const struct slot_map *map)
{
    write_to_file(map, map->slots, sizeof *map->slots);
}

static int check_size(const char *store_id, uint32_t n, struct cairn_error *error)
{
    if (n == 0 || n > SLOTS_MAX)
        return error_set(error, CAIRN_ELIMIT, "%" PRIu32 " slots: 1 to %d are possible",
                         n, SLOTS_MAX);
    if (strlen(store_id) > SLOTS_TOKEN - 40)
        return error_set(error, CAIRN_ELIMIT, "the store's id is too long");
    return 0;
}

int slots_create_unnamed(struct slot_map *map, const char *live_dir,
                         const char *store_id, uint32_t n, struct cairn_error *error)
{
    struct slot_map made = {.fd = -1, .file = -1};
    int rc = check_size(store_id, n, error);
    if (!rc && !live_keeper_image(made.path, sizeof made.path, live_dir, getpid()))
        rc = error_set(error, CAIRN_ELIMIT, "%s: the path is too long", live_dir);
    if (!rc)
        rc = make_memory(&made, made.path, (size_t)slots_bytes(n), error)
                 ?: slots_fill(made.slots, store_id, 0, n, error);
    if (rc) {
        slots_close(&made, false);
        return rc;
    }
    *map = made;
    return 0;
}

int slots_create(struct slot_map *map, const char *live_dir, const char *store_id,
                 uint64_t run, uint32_t n, struct cairn_error *error)
{
    struct slot_map made = {.fd = -1, .file = -1};
    int rc = check_size(store_id, n, error) ?: slots_path(&made, live_dir, run, error);
    if (rc)
        return rc;
    char path[LIVE_PATH];
    live_path(path, sizeof path, live_dir, live_of_run(LIVE_SLOTS_NEW, run));
    rc = slots_make(&made, path, (size_t)slots_bytes(n), error);
    if (rc)
        return rc;
    rc = slots_fill(made.slots, store_id, run, n, error);
    if (!rc)
        slots_tell_head(&made);
    if (!rc && rename(path, made.path))
        rc = error_sys(error, errno, "%s", made.path);
    if (rc) {
        slots_close(&made, false);
        unlink(path);
        return rc;
    }
    *map = made;
    return 0;
}

static bool slots_valid(const struct slots *slots, size_t bytes)
{
    return slots->magic == SLOTS_MAGIC && slots->version == SLOTS_VERSION &&
           slots_bytes(slots->n) == bytes &&
           memchr(slots->boot_id, 0, sizeof slots->boot_id) &&
           memchr(slots->token, 0, sizeof slots->token);
}

/* Not a mapping of the file, which may become shorter at any time. */
static int read_slots(struct slot_map *map, size_t bytes, struct cairn_error *error)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return error_sys(error, errno, "memory for %s", map->path);
    map->slots = at;
    map->bytes = bytes;
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(map->fd, (char *)at + done, bytes - done, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(error, CAIRN_EDAMAGED, "%s cannot be read", map->path);
        done += (size_t)n;
    }
    return 0;
}

int slots_open(struct slot_map *map, const char *live_dir, uint64_t run,
               struct cairn_error *error)
{
    struct slot_map made = {.fd = -1, .file = -1};
    int rc = slots_path(&made, live_dir, run, error);
    if (rc)
        return rc;
    made.fd = os_open_plain(made.path, O_RDONLY);
    if (made.fd < 0) {
        if (errno == ENOENT)
            return error_set(error, CAIRN_ENOTFOUND, "%s does not exist", made.path);
        return error_sys(error, errno, "%s", made.path);
    }
    struct stat st;
    if (fstat(made.fd, &st))
        rc = error_sys(error, errno, "%s", made.path);
    else if (st.st_size < (off_t)sizeof(struct slots) ||
             st.st_size > (off_t)slots_bytes(SLOTS_MAX))
        rc = error_set(error, CAIRN_EDAMAGED, "%s is too short or too long", made.path);
    if (!rc)
        rc = read_slots(&made, (size_t)st.st_size, error);
    if (!rc && !slots_valid(made.slots, made.bytes))
        rc = error_set(error, CAIRN_EDAMAGED, "%s is not a slot file of this version",
                       made.path);
    if (rc) {
        slots_close(&made, false);
        return rc;
    }
    *map = made;
    return 0;
}

void slots_close(struct slot_map *map, bool remove)
{
    if (map->slots)
        munmap(map->slots, map->bytes);
    if (map->fd >= 0)
        close(map->fd);
    if (map->file >= 0)
        close(map->file);
    if (remove)
        (void)unlink(
            map->path); /* if it stays, the next run's slots_create removes it */
    map->slots = NULL;
    map->fd = map->file = -1;
}
