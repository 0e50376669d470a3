/* SPDX-License-Identifier: MIT */
/* Sessions go: by a call, and those of agents by their age. What is left verifies. */
#include "session/session_int.h"
#include "storage/store.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <unistd.h>

#define DAY_NS (24 * 3600 * 1000000000ll)

static char dir[256];
static struct cairn_store *store;
static struct cairn_error error;

/* Each test has a process of its own. */
static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[300];
    snprintf(dir, sizeof dir, "%s/check_expire.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    struct cairn_store_options options = {.path = path, .create = true};
    ck_assert_int_eq(cairn_store_open(&store, &options, &error), 0);
}

static void teardown(void)
{
    cairn_store_close(store);
    remove_tree(dir);
}

/* As it would be, had it been made so many days ago, and left alone since; those of
 * agents as by a hook, but for one that a person has given such a name. */
static void begin(const char *name, int days, bool current)
{
    struct live live;
    ck_assert_int_eq(live_begin(&live, store, true, &error), 0);
    live.now.utc_ns -= days * DAY_NS;
    int rc = session_begin(&live, name, &live.now, current, &error);
    if (!rc && strncmp(name, "agent-", 6) == 0 && strcmp(name, "agent-hand") != 0)
        rc = settings_set(&live.settings, STR("strategy"), STR("smart"), &error);
    if (!rc)
        rc = live_put_row(&live, &error);
    ck_assert_int_eq(live_close(&live, rc, &error), 0);
}

static bool is_there(const char *name)
{
    struct cairn_session_info info;
    int rc = cairn_session_get(store, name, &info, &error);
    ck_assert(rc == 0 || rc == CAIRN_ENOTFOUND);
    return rc == 0;
}

static struct cairn_session_expired expire(uint32_t most, bool dry_run)
{
    struct cairn_session_expired result;
    ck_assert_int_eq(cairn_session_expire(store, most, dry_run, &result, &error), 0);
    return result;
}

static int note_setting(void *context, const char *name, const char *value, bool usual)
{
    (void)usual;
    if (strcmp(name, "keep-sessions") == 0)
        snprintf(context, 16, "%s", value);
    return 0;
}

static const char *setting(void)
{
    static char text[16];
    text[0] = '\0';
    ck_assert_int_eq(cairn_session_config(store, NULL, note_setting, text, &error), 0);
    return text;
}

START_TEST(agents_by_age)
{
    begin("agent-40", 40, false);
    begin("agent-31", 31, false);
    begin("agent-29", 29, false);
    begin("mine", 400, false);
    begin("agent-hand", 400, false);
    begin("agent-back", 90, false);
    begin("agent-current", 90, true);
    struct cairn_session_expired none = expire(0, false);
    ck_assert_uint_eq(none.days, 0);
    ck_assert_uint_eq(none.deleted, 0);
    ck_assert_str_eq(setting(), "off");
    static const char *const wrong[] = {"", "d", "0d", "30", "36501d", "-3d", "30 d"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_int_eq(
            cairn_session_configure(store, NULL, KEEP_SESSIONS, wrong[i], &error),
            CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_session_configure(store, NULL, KEEP_SESSIONS, "30d", &error),
                     0);
    ck_assert_str_eq(setting(), "30d");
    struct cairn_set set = {"text", "somebody came back"};
    ck_assert_int_eq(cairn_item_add(store, "agent-back", "note", &set, 1, NULL, &error),
                     0);
    struct cairn_session_expired would = expire(0, true);
    ck_assert_uint_eq(would.agents, 5);
    ck_assert_uint_eq(would.due, 2);
    ck_assert_uint_eq(would.deleted, 0);
    ck_assert(is_there("agent-40"));
    ck_assert_uint_eq(expire(1, false).deleted, 1);
    ck_assert(!is_there("agent-40") && is_there("agent-31")); /* the oldest first */
    ck_assert_uint_eq(expire(0, false).deleted, 1);
    ck_assert(!is_there("agent-31"));
    ck_assert(is_there("agent-29") && is_there("mine") && is_there("agent-hand") &&
              is_there("agent-back") && is_there("agent-current"));
    ck_assert_int_eq(cairn_session_configure(store, NULL, KEEP_SESSIONS, "off", &error),
                     0);
    ck_assert_uint_eq(expire(0, true).due, 0);
}
END_TEST

START_TEST(by_a_call)
{
    struct cairn_session_deleted deleted;
    bool held;
    begin("one", 0, true);
    ck_assert_int_eq(cairn_session_delete(store, NULL, NULL, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_session_delete(store, "two", NULL, &error), CAIRN_ENOTFOUND);
    ck_assert_int_eq(session_hold(store, 1, &held, &error), 0);
    ck_assert(held);
    ck_assert_int_eq(cairn_session_delete(store, "one", NULL, &error), CAIRN_EBUSY);
    session_unhold(store, 1);
    ck_assert_int_eq(cairn_session_delete(store, "one", &deleted, &error), 0);
    ck_assert_uint_eq(deleted.session, 1);
    ck_assert_uint_eq(deleted.checkpoints, 0);
    ck_assert(!is_there("one"));
    begin("one", 0, true);
    struct cairn_session_info info;
    ck_assert_int_eq(cairn_session_get(store, "one", &info, &error), 0);
    ck_assert_uint_eq(info.session, 2); /* never used again */
    ck_assert_uint_eq(info.checkpoints, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expire");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, agents_by_age);
    tcase_add_test(c, by_a_call);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
