/* SPDX-License-Identifier: MIT */
#include "tests/support/keeper.h"

char store_id[40];
char run_token[80];
struct slot_map map;
struct spawner *spawner;
struct cairn_error failure;

char *const *strings(const char *const *texts)
{
    char *const *same;
    memcpy(&same, &texts, sizeof same);
    return same;
}

struct attempt_id id_of(const char *dir, uint32_t task)
{
    return (struct attempt_id){
        .live_dir = dir, .run = RUN, .gen = GEN, .task = task, .attempt = 1};
}
const char go_text[] = "exec 2>/dev/null; echo $1 >>$2/effects; "
                       "(trap '' TERM HUP; exec sleep 100) & "
                       "env -i sh -c 'trap \"\" TERM; exec sleep 100' & "
                       "echo $$ $! >$2/up.$1.new; mv $2/up.$1.new $2/up.$1; "
                       "until [ -e $2/go ]; do sleep 0.02; done; "
                       "[ $1 = 2 ] && kill -TERM $$; exit $((10 + $1))";

void prepare(struct work *work, const char *dir, uint32_t task, char *const *argv)
{
    memset(work, 0, sizeof *work);
    snprintf(work->token, sizeof work->token, "%s.%u.1", map.slots->token, task);
    snprintf(work->variable, sizeof work->variable, "CAIRN_TOKEN=%s", work->token);
    work->env[0] = "PATH=/usr/bin:/bin";
    work->env[1] = work->variable;
    /* The time limit is for a test that fails: keepers outlive it. */
    work->order = (struct keeper_order){.id = id_of(dir, task),
                                        .token = work->token,
                                        .timeout_ms = 90000,
                                        .grace_ms = 10000};
    work->request = (struct spawn_request){.argv = argv,
                                           .envp = strings(work->env),
                                           .path = "/usr/bin:/bin",
                                           .stdout_fd = -1,
                                           .stderr_fd = -1,
                                           .slot = &map.slots->slot[task],
                                           .slots = &map,
                                           .keep = &work->order};
    map.slots->slot[task].used = 1;
}

void number_attempt(struct work *work, uint32_t attempt)
{
    work->order.id.attempt = attempt;
    snprintf(work->token, sizeof work->token, "%s.0.%u", map.slots->token, attempt);
    snprintf(work->variable, sizeof work->variable, "CAIRN_TOKEN=%s", work->token);
}

void forget_all(void)
{
    const struct dirent *entry;
    (void)keepers_close_epochs(help_dir, RUN, NULL);
    DIR *dir = opendir(help_dir);
    while (dir && (entry = readdir(dir)))
        if (live_is_of_run(entry->d_name, RUN))
            unlink(help_path(entry->d_name));
    if (dir)
        closedir(dir);
}

void setup(void)
{
    help_make_dir();
    snprintf(store_id, sizeof store_id, "%016llx%016llx",
             (unsigned long long)random_u64(), (unsigned long long)random_u64());
    snprintf(run_token, sizeof run_token, "%s.%d", store_id, RUN);
}

void teardown(void)
{
    help_until(help_count(run_token) == 0); /* killed with its group a moment ago */
    forget_all();
    help_remove_dir();
}

void setup_own(void)
{
    setup();
    ck_assert_int_eq(slots_create(&map, help_dir, store_id, RUN, TASKS, &failure), 0);
    ck_assert_int_eq(spawner_start(&spawner, 0, NULL, &failure), 0);
}

void teardown_own(void)
{
    spawner_stop(spawner);
    slots_close(&map, true);
    teardown();
}

void submit(struct work *work)
{
    struct spawn_request *got = NULL;
    spawner_submit(spawner, &work->request);
    while (!got) {
        ck_assert(help_readable(spawner_fd(spawner), PATIENCE_MS));
        got = spawner_collect(spawner);
    }
    ck_assert_ptr_eq(got, &work->request);
}

struct keeper start(struct work *work)
{
    submit(work);
    ck_assert_msg(!work->request.error, "%s: %s", work->request.stage,
                  strerror(work->request.error));
    ck_assert_int_eq(work->request.slot->pid, work->request.pid);
    ck_assert_uint_eq(work->request.slot->flags, SLOT_KEPT);
    struct keeper keeper = keeper_of(&work->request);
    ck_assert_int_eq(keeper.fate, KEEPER_LIVE);
    return keeper;
}

void reap(struct keeper *keeper, struct slot *slot)
{
    ck_assert(help_readable(keeper->pidfd, PATIENCE_MS));
    ck_assert_msg(!keeper_reap(keeper, slot, &failure), "%s", failure.text);
    ck_assert_int_eq(keeper->pidfd, -1);
    if (slot)
        ck_assert_int_eq(slot->pid, 0);
}

void expect_same(const struct keeper_record *a, const struct keeper_record *b)
{
    ck_assert_int_eq(a->exit_code, b->exit_code);
    ck_assert_int_eq(a->signal, b->signal);
    ck_assert_int_eq(a->timed_out, b->timed_out);
    ck_assert_int_eq(a->stopped, b->stopped);
    ck_assert_int_eq(a->error, b->error);
    ck_assert_str_eq(a->stage, b->stage);
    ck_assert_int_eq(a->pid, b->pid);
    ck_assert_int_eq(a->started_ns, b->started_ns);
    ck_assert_int_eq(a->ended_ns, b->ended_ns);
    ck_assert_int_eq(a->cpu_us, b->cpu_us);
    ck_assert_int_eq(a->peak_kib, b->peak_kib);
}

struct keeper_record run_work(struct work *work)
{
    struct keeper keeper = start(work), seen;
    reap(&keeper, work->request.slot);
    ck_assert_int_eq(keeper.fate, KEEPER_ENDED);
    /* The same is in the file. */
    ck_assert_int_eq(keeper_look(&seen, &work->order.id, store_id, &failure), 0);
    ck_assert_int_eq(seen.fate, KEEPER_ENDED);
    expect_same(&seen.record, &keeper.record);
    keeper_forget(&work->order.id);
    return keeper.record;
}

struct keeper_record run(char *const *argv)
{
    struct work work;
    prepare(&work, help_dir, 0, argv);
    return run_work(&work);
}

struct keeper_record run_shell(const char *text)
{
    return run(ARGV("sh", "-c", text, "sh", help_dir));
}

void expect(struct keeper_record record, int exit_code, int signal)
{
    ck_assert_int_eq(record.exit_code, exit_code);
    ck_assert_int_eq(record.signal, signal);
    ck_assert_int_eq(record.error, 0);
    ck_assert_str_eq(record.stage, "");
    ck_assert_int_gt(record.pid, 1);
}
struct work up_work;

struct keeper start_up(void)
{
    prepare(&up_work, help_dir, 0,
            ARGV("sh", "-c", "touch $1/up; sleep 100", "sh", help_dir));
    struct keeper keeper = start(&up_work);
    help_until(access(help_path("up"), F_OK) == 0);
    return keeper;
}

void stop_up(struct keeper *keeper)
{
    keeper_signal(keeper, KEEPER_KILL);
    reap(keeper, up_work.request.slot);
    ck_assert_int_eq(keeper->record.signal, SIGKILL);
}
