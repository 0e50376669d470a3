/* SPDX-License-Identifier: MIT */
/* The files of the live directory, which processes leave behind that die: a keeper's
 * file, believed only with its checksums, which are put right here in one reading; and
 * a slot file. Nothing is signalled: what is believed is only looked at. */
#include "process/keeper_int.h"
#include "tests/fuzz/fuzz.h"

static const struct attempt_id id = {fuzz_dir, 7, 1, 2, 3, 0};

static void check_believed(const struct keeper_halves *halves)
{
    struct keeper keeper;
    memset(&keeper, 0, sizeof keeper);
    keeper_apply_file(&keeper, halves);
    HOLDS(memchr(keeper.token, 0, sizeof keeper.token));
    HOLDS(memchr(keeper.record.stage, 0, sizeof keeper.record.stage));
    HOLDS(halves->start_good || keeper.fate == KEEPER_LOST);
    HOLDS(halves->end_good || keeper.fate != KEEPER_ENDED);
    HOLDS(keeper.pid >= 0 && keeper.pid != 1);
    HOLDS(keeper.pid != 0 || keeper.fate != KEEPER_ENDED);
    HOLDS(!halves->start_good || halves->start.crc == keep_start_crc(&halves->start));
    HOLDS(!halves->end_good || halves->end.start_crc == halves->start.crc);
    HOLDS(!halves->start_good || memchr(halves->start.token, 0, KEEP_TOKEN));
    HOLDS(!halves->start_good ||
          memchr(halves->start.boot_id, 0, sizeof halves->start.boot_id));
    HOLDS(!halves->end_good || memchr(halves->end.stage, 0, KEEP_STAGE));
}

static void as_keeper(struct str bytes)
{
    struct keeper_halves halves;
    struct cairn_error error = {0};
    fuzz_file("run-7.1.2.3.keep", bytes);
    HOLDS(keeper_read(&id, &halves, &error) == 1);
    HOLDS(halves.damaged || halves.start_good);
    HOLDS(bytes.len >= KEEP_BYTES || !halves.start_good);
    check_believed(&halves);
}

/* As if by somebody who can count. */
static void as_keeper_with_sums(struct str bytes)
{
    char whole[KEEP_BYTES] = {0};
    struct keep_start start;
    struct keep_end end;
    memcpy(whole, bytes.ptr, bytes.len < sizeof whole ? bytes.len : sizeof whole);
    memcpy(&start, whole, sizeof start);
    memcpy(&end, whole + KEEP_HALF, sizeof end);
    start.magic = KEEP_START_MAGIC;
    start.version = KEEP_VERSION;
    start.run = id.run;
    start.gen = id.gen;
    start.task = id.task;
    start.attempt = id.attempt;
    start.crc = keep_start_crc(&start);
    end.magic = KEEP_END_MAGIC;
    end.version = KEEP_VERSION;
    end.start_crc = start.crc;
    end.crc = keep_end_crc(&end);
    memcpy(whole, &start, sizeof start);
    memcpy(whole + KEEP_HALF, &end, sizeof end);
    as_keeper((struct str){whole, sizeof whole});
}

static void look_at_slots(struct slot_map *map)
{
    char path[4096];
    uint32_t used = 0;
    HOLDS(slots_bytes(map->slots->n) == map->bytes);
    HOLDS(strlen(map->slots->token) < SLOTS_TOKEN);
    HOLDS(strlen(map->slots->boot_id) < sizeof map->slots->boot_id);
    for (uint32_t i = 0; i < map->slots->n; i++) {
        used += map->slots->slot[i].used != 0;
        capture_slot_path(path, sizeof path, map->slots, i, fuzz_dir, (int)(i % 2));
        HOLDS(strncmp(path, fuzz_dir, strlen(fuzz_dir)) == 0);
        HOLDS(!strchr(path + strlen(fuzz_dir) + 1, '/'));
    }
    HOLDS(used <= map->slots->n);
    slots_close(map, false);
}

static void as_slots(struct str bytes)
{
    struct slot_map map;
    struct cairn_error error = {0};
    fuzz_file("run-7.slots", bytes);
    int code = slots_open(&map, fuzz_dir, 7, &error);
    if (code)
        EXPLAINED(code, error);
    else
        look_at_slots(&map);
}

/* The same with a head that fits. */
static void as_slots_with_head(struct str bytes)
{
    struct buf whole = BUF_INIT;
    struct slots head;
    size_t n = bytes.len <= sizeof head ? 0 : bytes.len - sizeof head;
    memset(&head, 0, sizeof head);
    memcpy(&head, bytes.ptr, bytes.len - n);
    head.magic = SLOTS_MAGIC;
    head.version = SLOTS_VERSION;
    head.n = (uint32_t)(n / sizeof(struct slot));
    buf_add(&whole, &head, sizeof head);
    buf_add(&whole, bytes.ptr + (bytes.len - n), head.n * sizeof(struct slot));
    as_slots(buf_view(&whole));
    buf_release(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_dir_make();
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str bytes = {copy.ptr, size};
    as_keeper(bytes);
    as_keeper_with_sums(bytes);
    as_slots(bytes);
    as_slots_with_head(bytes);
    unfence(&copy);
    return 0;
}
