/* The slot file: made, mapped, removed. It is made under another name and renamed, so a
 * reader never sees half of one, and a guard of an earlier engine of the same run keeps
 * its own file (a new inode each time). Its blocks are reserved at once: on a full disk
 * a write through the mapping would otherwise be a SIGBUS. */
#include "executor/spawn.h"

#include "base/clock.h"
#include "base/limits.h"
#include "storage/os.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int slots_path(struct slot_map *map, const char *live_dir, uint64_t run,
                      struct cairn_error *error)
{
    int n = snprintf(map->path, sizeof map->path, "%s/run-%" PRIu64 ".slots", live_dir,
                     run);
    if (n < 0 || (size_t)n >= sizeof map->path)
        return error_set(error, CAIRN_ELIMIT, "%s: the path is too long", live_dir);
    return 0;
}

static void slots_fill(struct slots *slots, const char *store_id, uint64_t run,
                       uint32_t n)
{
    slots->magic = SLOTS_MAGIC;
    slots->version = SLOTS_VERSION;
    slots->n = n;
    slots->run = run;
    char boot_id[37];
    os_boot_id(boot_id);
    memcpy(slots->boot_id, boot_id, sizeof boot_id);
    slots->owner_pid = getpid();
    slots->owner_start = os_process_start(getpid());
    snprintf(slots->token, sizeof slots->token, "%s.%" PRIu64 ".%016" PRIx64, store_id,
             run, random_u64());
}

/* A mapped file of `bytes` zeros at `path`. Fills map->slots, bytes and fd. */
static int slots_make(struct slot_map *map, const char *path, size_t bytes,
                      struct cairn_error *error)
{
    if (unlink(path) && errno != ENOENT)
        return error_sys(error, errno, "%s", path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_sys(error, errno, "%s", path);
    int sys;
    do
        sys = posix_fallocate(fd, 0, (off_t)bytes);
    while (sys == EINTR);
    void *at = MAP_FAILED;
    if (!sys) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        sys = errno;
    }
    if (at == MAP_FAILED) {
        close(fd);
        unlink(path);
        return error_sys(error, sys, "%s", path);
    }
    map->slots = at;
    map->bytes = bytes;
    map->fd = fd;
    return 0;
}

int slots_create(struct slot_map *map, const char *live_dir, const char *store_id,
                 uint64_t run, uint32_t n, struct cairn_error *error)
{
    enum { SLOTS_MAX = 2 * LIMIT_JOBS }; /* room for requests handed in ahead */
    if (n == 0 || n > SLOTS_MAX)
        return error_set(error, CAIRN_ELIMIT, "%" PRIu32 " slots: 1 to %d are possible",
                         n, SLOTS_MAX);
    if (strlen(store_id) > SLOTS_TOKEN - 40)
        return error_set(error, CAIRN_ELIMIT, "the store's id is too long");
    struct slot_map made = {.fd = -1};
    int code = slots_path(&made, live_dir, run, error);
    if (code)
        return code;
    char path[sizeof made.path + 8];
    snprintf(path, sizeof path, "%s.new", made.path);
    code = slots_make(&made, path, (size_t)slots_bytes(n), error);
    if (code)
        return code;
    slots_fill(made.slots, store_id, run, n);
    if (rename(path, made.path)) {
        code = error_sys(error, errno, "%s", made.path);
        slots_close(&made, false);
        unlink(path);
        return code;
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

int slots_open(struct slot_map *map, const char *live_dir, uint64_t run,
               struct cairn_error *error)
{
    struct slot_map made = {.fd = -1};
    int code = slots_path(&made, live_dir, run, error);
    if (code)
        return code;
    made.fd = open(made.path, O_RDONLY | O_CLOEXEC);
    if (made.fd < 0) {
        if (errno == ENOENT)
            return error_set(error, CAIRN_ENOTFOUND, "%s does not exist", made.path);
        return error_sys(error, errno, "%s", made.path);
    }
    struct stat st;
    if (fstat(made.fd, &st))
        code = error_sys(error, errno, "%s", made.path);
    else if (st.st_size < (off_t)sizeof(struct slots))
        code = error_set(error, CAIRN_EDAMAGED, "%s is too short", made.path);
    if (!code) {
        made.bytes = (size_t)st.st_size;
        void *at = mmap(NULL, made.bytes, PROT_READ, MAP_SHARED, made.fd, 0);
        if (at == MAP_FAILED)
            code = error_sys(error, errno, "%s", made.path);
        else
            made.slots = at;
    }
    if (!code && !slots_valid(made.slots, made.bytes))
        code = error_set(error, CAIRN_EDAMAGED, "%s is not a slot file of this version",
                         made.path);
    if (code) {
        slots_close(&made, false);
        return code;
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
    if (remove)
        (void)unlink(
            map->path); /* if it stays, the next run's slots_create removes it */
    map->slots = NULL;
    map->fd = -1;
}
