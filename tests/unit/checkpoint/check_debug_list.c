/* SPDX-License-Identifier: MIT */
/* Checkpoints of sessions through the public calls: listed beside those of runs, got,
 * deleted, pruned around, and exported as heads. */
#include "tests/support/sessions/sections.h"

#include "checkpoint/chain.h"
#include "storage/rows_checkpoint.h"

/* One run of 3 checkpoints; sessions "cache" (main 3, side 2) and "disk" (main 1). */
struct scene {
    struct lab *lab;
    uint64_t cache, disk, main, side, other; /* sessions, branches */
    uint64_t on_main[3], on_side[2], on_other;
};

static struct scene make_scene(uint64_t seed)
{
    struct scene s = {.lab = lab_open(seed)};
    struct lab *lab = s.lab;
    s.cache = sections_session(lab, "cache");
    s.disk = sections_session(lab, "disk");
    s.main = sections_branch(lab, s.cache, "main", 0);
    lab_put(lab, "F");
    s.on_main[0] = sections_note(lab, s.main, "first");
    s.on_main[1] = sections_note(lab, s.main, "second");
    s.side = sections_branch(lab, s.cache, "side", s.on_main[1]);
    s.other = sections_branch(lab, s.disk, "main", 0);
    lab_put(lab, "DD");
    s.on_side[0] = sections_note(lab, s.side, "aside");
    s.on_other = sections_note(lab, s.other, "elsewhere");
    s.on_main[2] = sections_note(lab, s.main, "third");
    s.on_side[1] = sections_note(lab, s.side, "aside again");
    return s;
}

static void expect_sound(struct lab *lab)
{
    int rc = cairn_checkpoint_verify(lab->store, NULL, NULL, NULL, NULL, &lab->error);
    ck_assert_msg(rc == 0, "%s", lab->error.text);
}

/* ---- Listing ---- */

struct listed {
    int n, runs, heads, damaged;
    struct cairn_checkpoint_info last;
};

static int note_info(void *context, const struct cairn_checkpoint_info *info)
{
    struct listed *listed = context;
    listed->n++;
    listed->runs += info->run != 0;
    listed->heads += info->head;
    listed->damaged += info->damaged;
    ck_assert((info->run == 0) != (info->branch == 0));
    ck_assert_int_eq(info->namespace_id,
                     info->run ? CAIRN_NAMESPACE_WORKFLOW : CAIRN_NAMESPACE_DEBUG);
    listed->last = *info;
    return 0;
}

struct seq_list {
    uint64_t *at;
    size_t n;
};

static int add_seq(void *context, const struct cairn_checkpoint_info *info)
{
    struct seq_list *seqs = context;
    seqs->at[seqs->n++] = info->seq;
    return 0;
}

static struct listed list(struct lab *lab, struct cairn_checkpoint_filter filter)
{
    struct listed listed = {0};
    uint64_t total = 0;
    filter.page.all = true;
    MUST(lab, cairn_checkpoint_list(lab->store, &filter, note_info, &listed, &total,
                                    &lab->error));
    ck_assert_uint_eq(total, (uint64_t)listed.n);
    return listed;
}

#define LIST(s, ...) list((s).lab, (struct cairn_checkpoint_filter){__VA_ARGS__})

START_TEST(both_are_listed)
{
    struct scene s = make_scene(31);
    struct listed all = LIST(s, .run = 0);
    ck_assert_int_eq(all.n, 9);
    ck_assert_int_eq(all.runs, 3);
    ck_assert_int_eq(all.heads, 4);
    ck_assert_int_eq(LIST(s, .namespace_id = CAIRN_NAMESPACE_WORKFLOW).n, 3);
    ck_assert_int_eq(LIST(s, .namespace_id = CAIRN_NAMESPACE_DEBUG).n, 6);
    ck_assert_int_eq(LIST(s, .session = s.cache).n, 5);
    ck_assert_int_eq(LIST(s, .session = s.disk).n, 1);
    ck_assert_int_eq(LIST(s, .session = 99).n, 0);
    ck_assert_int_eq(LIST(s, .branch = s.side).n, 2);
    ck_assert_int_eq(LIST(s, .session = s.cache, .branch = s.side).n, 2);
    ck_assert_int_eq(LIST(s, .run = 1).n, 3);
    ck_assert_int_eq(LIST(s, .workflow = "nightly").n, 3);
    lab_close(s.lab);
}
END_TEST

/* Pages behind very many are found another way, which tells the same. */
static void expect_far(struct lab *lab, struct cairn_checkpoint_filter filter)
{
    static uint64_t seqs[2500];
    static const uint64_t offsets[] = {0, 999, 1000, 1001, 1090, 1103, 2195, 5000};
    struct seq_list all = {seqs, 0};
    filter.page.all = true;
    MUST(lab,
         cairn_checkpoint_list(lab->store, &filter, add_seq, &all, NULL, &lab->error));
    filter.page.all = false;
    filter.page.limit = 7;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        uint64_t some[7], total = 0;
        struct seq_list page = {some, 0};
        filter.page.offset = offsets[i];
        MUST(lab, cairn_checkpoint_list(lab->store, &filter, add_seq, &page, &total,
                                        &lab->error));
        ck_assert_uint_eq(total, all.n);
        size_t left = offsets[i] < all.n ? all.n - (size_t)offsets[i] : 0;
        ck_assert_uint_eq(page.n, left < 7 ? left : 7);
        for (size_t j = 0; j < page.n; j++)
            ck_assert_uint_eq(some[j], seqs[offsets[i] + j]);
    }
}

static void expect_all_far(const struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        struct cairn_page page = {.oldest_first = i != 0};
        const struct cairn_checkpoint_filter filters[] = {
            {.session = s->disk, .page = page},
            {.session = s->cache, .page = page},
            {.branch = s->main, .page = page},
            {.namespace_id = CAIRN_NAMESPACE_DEBUG, .page = page},
            {.namespace_id = CAIRN_NAMESPACE_WORKFLOW, .page = page},
            {.workflow = "nightly", .page = page},
            {.run = 1, .page = page},
            {.page = page},
        };
        for (size_t j = 0; j < sizeof filters / sizeof filters[0]; j++)
            expect_far(s->lab, filters[j]);
    }
}

/* Once with a row for every number, once with gaps between. */
START_TEST(far_pages)
{
    struct scene s = make_scene(35);
    uint64_t gone = 0;
    for (int i = 0; i < 1100; i++) {
        uint64_t seq = sections_note(s.lab, s.other, "of one branch");
        gone = i == 40 ? seq : gone;
        sections_note(s.lab, i % 3 ? s.main : s.side, "of two");
    }
    expect_all_far(&s);
    for (uint64_t i = 0; i < 9; i++) {
        char id[40];
        snprintf(id, sizeof id, "%llu", (unsigned long long)(gone + i * i * i));
        MUST(s.lab, cairn_checkpoint_delete(s.lab->store, id, &s.lab->error));
    }
    expect_all_far(&s);
    lab_close(s.lab);
}
END_TEST

/* Rows of a session that lie far apart, and far from the ends. */
START_TEST(far_pages_of_few)
{
    struct scene s = make_scene(36);
    for (int i = 0; i < 60; i++)
        sections_note(s.lab, s.other, "before");
    for (int i = 0; i < 1020; i++) {
        sections_note(s.lab, s.main, "of it");
        if (i % 100 == 50)
            for (int j = 0; j < 120; j++)
                sections_note(s.lab, s.other, "between");
    }
    for (int i = 0; i < 60; i++)
        sections_note(s.lab, s.other, "after");
    expect_all_far(&s);
    lab_close(s.lab);
}
END_TEST

START_TEST(a_record_is_described)
{
    struct scene s = make_scene(32);
    struct listed one = LIST(s, .branch = s.side, .page = {.oldest_first = true});
    const struct cairn_checkpoint_info *info = &one.last;
    ck_assert_uint_eq(info->seq, s.on_side[1]);
    ck_assert_int_eq(strncmp(info->id, "debug:", 6), 0);
    ck_assert_uint_eq(info->session, s.cache);
    ck_assert_str_eq(info->session_name, "cache");
    ck_assert_str_eq(info->branch_name, "side");
    ck_assert_str_eq(info->message, "aside again");
    ck_assert_str_eq(info->tags, "auto,noted");
    ck_assert_str_eq(info->workflow, "");
    ck_assert_uint_eq(info->trigger, 1);
    ck_assert_uint_eq(info->position, 2);
    ck_assert_uint_eq(info->parent, s.on_side[0]);
    ck_assert(info->head && info->full && !info->counted && !info->damaged);
    ck_assert_uint_eq(strlen(info->digest), 64);
    lab_close(s.lab);
}
END_TEST

/* Cut at a character, and the cut shows. */
START_TEST(long_texts_are_cut)
{
    struct scene s = make_scene(33);
    struct str tags[3] = {STR("plain"), {NULL, 0}, STR("last")};
    struct sections what = {.tags = tags, .n_tags = 3};
    char text[600], expected[256];
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    what.message = (struct str){text, 255}; /* not at a character */
    what.message.len = 254;
    tags[1] = (struct str){text, CHECKPOINT_TAG_BYTES};
    struct cairn_checkpoint_info info;
    char id[40];
    snprintf(id, sizeof id, "%llu",
             (unsigned long long)sections_put(s.lab, s.main, &what));
    MUST(s.lab, cairn_checkpoint_get(s.lab->store, id, &info, &s.lab->error));
    ck_assert_uint_eq(strlen(info.message), 254);
    snprintf(expected, sizeof expected, "plain,%.246s\xe2\x80\xa6", text);
    ck_assert_str_eq(info.tags, expected);
    what.message.len = 256;
    snprintf(id, sizeof id, "%llu",
             (unsigned long long)sections_put(s.lab, s.main, &what));
    MUST(s.lab, cairn_checkpoint_get(s.lab->store, id, &info, &s.lab->error));
    snprintf(expected, sizeof expected, "%.252s\xe2\x80\xa6", text);
    ck_assert_str_eq(info.message, expected);
    lab_close(s.lab);
}
END_TEST

START_TEST(filters_that_contradict)
{
    struct scene s = make_scene(34);
    const struct cairn_checkpoint_filter wrong[] = {
        {.run = 1, .session = s.cache},
        {.workflow = "nightly", .branch = s.main},
        {.run = 1, .namespace_id = CAIRN_NAMESPACE_DEBUG},
        {.session = s.cache, .namespace_id = CAIRN_NAMESPACE_WORKFLOW},
    };
    const struct cairn_checkpoint_filter other = {.session = s.disk, .branch = s.side};
    struct listed listed = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_int_eq(cairn_checkpoint_list(s.lab->store, &wrong[i], note_info,
                                               &listed, NULL, &s.lab->error),
                         CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_checkpoint_list(s.lab->store, &other, note_info, &listed,
                                           NULL, &s.lab->error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(listed.n, 0);
    lab_close(s.lab);
}
END_TEST

static int note_seq(void *context, const struct cairn_checkpoint_info *info)
{
    struct seq_set *seqs = context;
    return seqs_add(seqs, info->seq);
}

static struct seq_set seqs_of(struct lab *lab, struct cairn_checkpoint_filter filter)
{
    struct seq_set seqs = {0};
    MUST(lab, cairn_checkpoint_list(lab->store, &filter, note_seq, &seqs, NULL,
                                    &lab->error));
    return seqs;
}

/* Each page is the part of the whole list that it should be. */
static void expect_pages(struct lab *lab, struct cairn_checkpoint_filter filter)
{
    filter.page =
        (struct cairn_page){.all = true, .oldest_first = filter.page.oldest_first};
    struct seq_set all = seqs_of(lab, filter);
    filter.page.all = false;
    for (uint32_t limit = 1; limit <= 7; limit += 2)
        for (size_t offset = 0; offset < all.n + 2; offset++) {
            filter.page.limit = limit;
            filter.page.offset = offset;
            struct seq_set part = seqs_of(lab, filter);
            size_t left = offset < all.n ? all.n - offset : 0;
            ck_assert_uint_eq(part.n, left < limit ? left : limit);
            ck_assert(part.n == 0 ||
                      memcmp(part.at, all.at + offset, part.n * sizeof *part.at) == 0);
            seqs_release(&part);
        }
    filter.page.offset = UINT64_MAX;
    struct seq_set none = seqs_of(lab, filter);
    ck_assert_uint_eq(none.n, 0);
    filter.page.offset = INT64_MAX;
    none = seqs_of(lab, filter);
    ck_assert_uint_eq(none.n, 0);
    seqs_release(&all);
}

START_TEST(pages)
{
    struct scene s = make_scene(42);
    for (int i = 0; i < 2; i++) {
        struct cairn_page page = {.oldest_first = i};
        const struct cairn_checkpoint_filter filters[] = {
            {.page = page},
            {.namespace_id = CAIRN_NAMESPACE_DEBUG, .page = page},
            {.session = s.cache, .page = page},
            {.session = s.cache, .branch = s.side, .page = page},
            {.namespace_id = CAIRN_NAMESPACE_WORKFLOW, .page = page},
        };
        for (size_t at = 0; at < sizeof filters / sizeof filters[0]; at++)
            expect_pages(s.lab, filters[at]);
    }
    struct seq_set newest = seqs_of(
        s.lab, (struct cairn_checkpoint_filter){.session = s.cache, .page.limit = 3});
    ck_assert_uint_eq(newest.at[0], s.on_side[1]);
    ck_assert_uint_eq(newest.at[1], s.on_main[2]);
    ck_assert_uint_eq(newest.at[2], s.on_side[0]);
    seqs_release(&newest);
    lab_close(s.lab);
}
END_TEST

/* A record stands by itself; which session it belongs to is not known any more. */
START_TEST(rows_of_branches_are_damaged)
{
    struct scene s = make_scene(35);
    const struct cairn_checkpoint_filter filter = {.session = s.disk};
    struct listed listed = {0};
    lab_sql(s.lab, "UPDATE branch SET session = session + 1 WHERE branch = %llu",
            s.side);
    struct listed all = LIST(s, .branch = s.side);
    ck_assert_int_eq(all.n, 2);
    ck_assert_int_eq(all.damaged, 0);
    ck_assert_uint_eq(all.last.session, 0);
    ck_assert_str_eq(all.last.branch_name, "");
    ck_assert_str_eq(all.last.message, "aside");
    ck_assert_int_eq(cairn_checkpoint_list(s.lab->store, &filter, note_info, &listed,
                                           NULL, &s.lab->error),
                     CAIRN_EDAMAGED);
    ck_assert_int_eq(listed.n, 0);
    ck_assert_int_eq(cairn_checkpoint_delete(s.lab->store, "debug:3", &s.lab->error),
                     CAIRN_EDAMAGED); /* it may begin there */
    lab_close(s.lab);
}
END_TEST

/* ---- Finding ---- */

static int get(struct lab *lab, const char *id, struct cairn_checkpoint_info *info)
{
    return cairn_checkpoint_get(lab->store, id, info, &lab->error);
}

START_TEST(found_by_any_form)
{
    struct scene s = make_scene(36);
    struct cairn_checkpoint_info whole, info;
    char id[80];
    snprintf(id, sizeof id, "%llu", (unsigned long long)s.on_main[2]);
    MUST(s.lab, get(s.lab, id, &whole));
    ck_assert_uint_eq(whole.seq, s.on_main[2]);
    ck_assert_str_eq(whole.message, "third");
    MUST(s.lab, get(s.lab, whole.id, &info));
    ck_assert_uint_eq(info.seq, whole.seq);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)whole.seq);
    MUST(s.lab, get(s.lab, id, &info));
    snprintf(id, sizeof id, "%.12s", whole.digest);
    if (strspn(id, "0123456789") < strlen(id)) { /* else it would be a number */
        MUST(s.lab, get(s.lab, id, &info));
        ck_assert_uint_eq(info.seq, whole.seq);
    }
    snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)whole.seq);
    ck_assert_int_eq(get(s.lab, id, &info), CAIRN_ENOTFOUND);
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)s.lab->seqs[0]);
    ck_assert_int_eq(get(s.lab, id, &info), CAIRN_ENOTFOUND);
    snprintf(id, sizeof id, "debug:%llu-%.11s0", (unsigned long long)whole.seq,
             whole.digest);
    id[strlen(id) - 1] = whole.digest[11] == '0' ? '1' : '0';
    ck_assert_int_eq(get(s.lab, id, &info), CAIRN_ENOTFOUND);
    ck_assert_int_eq(get(s.lab, "debug:", &info), CAIRN_EUSAGE);
    MUST(s.lab, get(s.lab, "workflow:1", &info));
    ck_assert_uint_eq(info.run, 1);
    ck_assert_uint_eq(info.branch, 0);
    lab_close(s.lab);
}
END_TEST

START_TEST(the_newest)
{
    struct scene s = make_scene(37);
    struct cairn_checkpoint_info info;
    uint32_t skipped = 9;
    struct cairn_checkpoint_filter cache = {.session = s.cache}, any = {.run = 0},
                                   disk = {.session = s.disk},
                                   main = {.branch = s.main};
#define NEWEST(filter) \
    cairn_checkpoint_newest(s.lab->store, &(filter), &info, &skipped, &s.lab->error)
    MUST(s.lab, NEWEST(cache));
    ck_assert_uint_eq(info.seq, s.on_side[1]);
    ck_assert_uint_eq(skipped, 0);
    MUST(s.lab, NEWEST(main));
    ck_assert_uint_eq(info.seq, s.on_main[2]);
    ck_assert(lab_flip(s.lab, s.on_side[1], "record", 90, 0));
    ck_assert(lab_flip(s.lab, s.on_other, "record", 90, 0));
    MUST(s.lab, NEWEST(cache));
    ck_assert_uint_eq(info.seq, s.on_main[2]);
    ck_assert_uint_eq(skipped, 1);
    MUST(s.lab, NEWEST(any));
    ck_assert_uint_eq(info.seq, s.on_main[2]);
    ck_assert_int_eq(NEWEST(disk), CAIRN_EDAMAGED);
    disk.session = 99;
    ck_assert_int_eq(NEWEST(disk), CAIRN_ENOTFOUND);
    MUST(s.lab,
         cairn_checkpoint_newest(
             s.lab->store, &(struct cairn_checkpoint_filter){.workflow = "nightly"},
             &info, &skipped, &s.lab->error));
    ck_assert_uint_eq(info.run, 1);
    lab_close(s.lab);
}
END_TEST

/* ---- Deleting ---- */

static int delete_seq(struct lab *lab, uint64_t seq)
{
    char id[40];
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)seq);
    return cairn_checkpoint_delete(lab->store, id, &lab->error);
}

/* Whichever goes, the others are read as before, and the branch continues. */
START_TEST(any_can_be_deleted)
{
    enum { N = 5 };
    for (int gone = 0; gone < (1 << N); gone++) {
        struct lab *lab = lab_open(38);
        struct arena arena = ARENA_INIT;
        struct sections what[N], found;
        uint64_t session = sections_session(lab, "one"), seqs[N];
        uint64_t branch = sections_branch(lab, session, "main", 0);
        for (int i = 0; i < N; i++) {
            what[i] = sections_random(lab, &arena);
            seqs[i] = sections_put(lab, branch, &what[i]);
        }
        arena_release(&arena);
        for (int i = 0; i < N; i++) {
            int at = i * 3 % N; /* not in their order */
            if (gone & (1 << at))
                MUST(lab, delete_seq(lab, seqs[at]));
        }
        for (int i = 0; i < N; i++) {
            bool left = !(gone & (1 << i));
            int rc = sections_read(lab->store, lab->sha, seqs[i], &arena, &found, NULL,
                                   &lab->error);
            ck_assert_int_eq(rc, left ? 0 : CAIRN_ENOTFOUND);
        }
        sections_note(lab, branch, "one more");
        ck_assert_int_eq(
            list(lab, (struct cairn_checkpoint_filter){.branch = branch}).n,
            N + 1 - __builtin_popcount((unsigned)gone));
        /* Sections of random records are not in the pool: only the chains must hold. */
        struct cairn_verify_result result;
        (void)cairn_checkpoint_verify(lab->store, NULL, NULL, NULL, &result,
                                      &lab->error);
        ck_assert_uint_eq(result.damaged, 0);
        arena_release(&arena);
        lab_close(lab);
    }
}
END_TEST

START_TEST(where_branches_begin_stays)
{
    struct scene s = make_scene(39);
    struct cairn_prune_options options = {.keep = 1};
    struct cairn_prune_result pruned;
    ck_assert_int_eq(delete_seq(s.lab, s.on_main[1]), CAIRN_EUSAGE);
    ck_assert_msg(strstr(s.lab->error.text, "begins at it") != NULL, "%s",
                  s.lab->error.text);
    MUST(s.lab, delete_seq(s.lab, s.on_main[0]));
    MUST(s.lab, delete_seq(s.lab, s.on_main[2])); /* the newest one, too */
    MUST(s.lab, cairn_checkpoint_prune(s.lab->store, &options, &pruned, &s.lab->error));
    ck_assert_uint_eq(pruned.total, 3); /* those of runs */
    ck_assert_int_eq(LIST(s, .namespace_id = CAIRN_NAMESPACE_DEBUG).n, 4);
    sections_note(s.lab, s.main, "continues");
    expect_sound(s.lab);
    lab_close(s.lab);
}
END_TEST

START_TEST(damaged_ones_can_be_deleted)
{
    struct scene s = make_scene(40);
    ck_assert(lab_flip(s.lab, s.on_main[0], "record", 100, 3));
    ck_assert(lab_flip(s.lab, s.on_side[1], "digest", 3, 3));
    MUST(s.lab, delete_seq(s.lab, s.on_main[0]));
    MUST(s.lab, delete_seq(s.lab, s.on_side[1]));
    expect_sound(s.lab);
    sections_note(s.lab, s.side, "continues");
    expect_sound(s.lab);
    lab_close(s.lab);
}
END_TEST

/* ---- Heads ---- */

struct heads {
    struct cairn_head at[8];
    size_t n;
    struct cairn_head_store of;
};

static int note_head(void *context, const struct cairn_head *head)
{
    struct heads *heads = context;
    heads->at[heads->n++] = *head;
    return 0;
}

static char problem_text[400], problem_id[CAIRN_ID_MAX];

static int note_problem(void *context, const struct cairn_problem *problem)
{
    int *n = context;
    ++*n;
    snprintf(problem_text, sizeof problem_text, "%s", problem->text);
    snprintf(problem_id, sizeof problem_id, "%s", problem->id);
    return 0;
}

static int compare(struct lab *lab, const struct heads *heads)
{
    int n = 0;
    int rc = cairn_checkpoint_compare(lab->store, &heads->of, heads->at, heads->n,
                                      note_problem, &n, &lab->error);
    ck_assert_int_eq(rc, n ? CAIRN_EDAMAGED : 0);
    return n;
}

START_TEST(heads_of_both)
{
    struct scene s = make_scene(41);
    struct heads heads = {0};
    MUST(s.lab, cairn_checkpoint_head(s.lab->store, 0, note_head, &heads, &heads.of,
                                      &s.lab->error));
    ck_assert_uint_eq(heads.n, 4);
    ck_assert_uint_eq(heads.at[0].run, 1);
    ck_assert_uint_eq(heads.at[0].branch, 0);
    ck_assert_uint_eq(heads.at[1].run, 0);
    ck_assert_uint_eq(heads.at[1].branch, s.main);
    ck_assert_uint_eq(heads.at[1].seq, s.on_main[2]);
    ck_assert_uint_eq(heads.at[1].records, 3);
    ck_assert_int_eq(strncmp(heads.at[1].id, "debug:", 6), 0);
    ck_assert_int_eq(compare(s.lab, &heads), 0);
    sections_note(s.lab, s.main, "later");
    MUST(s.lab, delete_seq(s.lab, s.on_side[1]));
    ck_assert_int_eq(compare(s.lab, &heads), 0);
    lab_sql(s.lab, "DELETE FROM checkpoint WHERE seq = %llu", s.on_other);
    ck_assert_int_eq(compare(s.lab, &heads), 1);
    ck_assert_str_eq(problem_id, heads.at[3].id);
    ck_assert_msg(strstr(problem_text, "nothing is left of its branch"), "%s",
                  problem_text);
    lab_close(s.lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, both_are_listed);
    tcase_add_test(tests, far_pages);
    tcase_add_test(tests, far_pages_of_few);
    tcase_add_test(tests, a_record_is_described);
    tcase_add_test(tests, long_texts_are_cut);
    tcase_add_test(tests, filters_that_contradict);
    tcase_add_test(tests, pages);
    tcase_add_test(tests, rows_of_branches_are_damaged);
    tcase_add_test(tests, found_by_any_form);
    tcase_add_test(tests, the_newest);
    tcase_add_test(tests, any_can_be_deleted);
    tcase_add_test(tests, where_branches_begin_stays);
    tcase_add_test(tests, damaged_ones_can_be_deleted);
    tcase_add_test(tests, heads_of_both);
}

int main(void)
{
    return lab_run_suite("debug_list", add);
}
