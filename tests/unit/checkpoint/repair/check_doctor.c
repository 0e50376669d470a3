/* SPDX-License-Identifier: MIT */
/* What the doctor says about a damaged store. */
#include "tests/support/checkpoint.h"

struct findings {
    int bad;
    char text[600], remedy[400]; /* of the first bad one */
};

static int note_finding(void *context, const struct cairn_finding *finding)
{
    struct findings *findings = context;
    ck_assert_msg(!strchr(finding->text, '\n'), "%s", finding->text);
    if (finding->health != CAIRN_HEALTH_BAD || findings->bad++)
        return 0;
    snprintf(findings->text, sizeof findings->text, "%s", finding->text);
    snprintf(findings->remedy, sizeof findings->remedy, "%s",
             finding->remedy ? finding->remedy : "");
    return 0;
}

static void expect_finding(struct lab *lab, const char *text, const char *remedy)
{
    struct findings findings = {0};
    ck_assert_int_eq(
        cairn_doctor(lab->path, NULL, note_finding, &findings, &lab->error),
        CAIRN_EDAMAGED);
    ck_assert_int_ge(findings.bad, 1); /* the check of records reports pages as well */
    ck_assert_int_le(findings.bad, 2);
    ck_assert_msg(strstr(findings.text, text), "%s", findings.text);
    ck_assert_msg(strstr(findings.remedy, remedy), "%s", findings.remedy);
    ck_assert_msg(!strstr(findings.text, "cairn doctor"), "%s", findings.text);
}

static void overwrite(struct lab *lab, const char *name, off_t at, const char *bytes)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", lab->path, name);
    FILE *file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(doctor_in_one_line)
{
    static const char again[] =
        "`cairn doctor --repair` saves what is valid into a new store";
    struct findings findings = {0};
    char path[400];
    struct lab *lab = lab_open(60);
    lab_put(lab, "FDDFDD");
    cairn_store_close(lab->store); /* nothing is left in the WAL */
    MUST(lab, cairn_doctor(lab->path, NULL, note_finding, &findings, &lab->error));
    overwrite(lab, "cairn.db", 52, "\xff"); /* several findings of SQLite */
    expect_finding(lab, "pages of the database are damaged: ", again);
    overwrite(lab, "cairn.db", 0, "garbage!");
    expect_finding(lab, "is damaged (file is not a database)", again);
    /* The error that brings its own advice. */
    snprintf(path, sizeof path, "%s/cairn.db", lab->path);
    ck_assert_int_eq(remove(path), 0);
    snprintf(path, sizeof path, "%s/open", lab->path);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
    expect_finding(lab, "commits were lost", "Put the file back");
    lab->store = NULL;
    lab_close(lab);
}
END_TEST

START_TEST(doctor_misses_a_table)
{
    struct lab *lab = lab_open(61);
    lab_put(lab, "FD");
    lab_sql(lab, "DROP TABLE tombstone; SELECT %llu", 1);
    expect_finding(lab, "no such table", "cairn doctor --repair");
    lab_close(lab);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, doctor_in_one_line);
    tcase_add_test(tests, doctor_misses_a_table);
}

int main(void)
{
    return lab_run_suite("doctor", add);
}
