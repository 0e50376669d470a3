/* SPDX-License-Identifier: MIT */
/* The workflow of the sweeps, which uses much of the language. All of it ends
 * completed, but for `breaks`, whose failure `rescue` handles. Two tasks leave a
 * process in their group, which is to end with them or with cairn. The members of
 * `part` are those of a list that `prepare` makes. */
#include "sweep.h"

/* `@WORD`: the task notes WORD in the log. MODE: what becomes of tasks in a crash. */
static const char *const text[] = {
    "name: sweep",
    "jobs: 2",
    "defaults: {timeout: 1m}",
    "on_crash: MODE",
    "tasks:",
    "  prepare:",
    "    run: |",
    "      @start",
    "      echo made >prepared",
    "      echo \"$CAIRN_TOKEN\" >token",
    "      echo n=3 >>\"$CAIRN_OUTPUT\"",
    "      printf 'i,v\\na,A\\nb,B\\n' >parts.csv",
    "      @end",
    "    outputs: [prepared]",
    "    artifacts: {files: [prepared, 'prep*'], none: fail}",
    "    undo: |",
    "      @undo",
    "      @Undone",
    "  part:",
    "    foreach: {i: {from: prepare, csv: parts.csv}}",
    "    needs: prepare",
    "    env: {N: \"${{ tasks.prepare.outputs.n }}\"}",
    "    run: |",
    "      @start",
    "      test \"$N\" = 3",
    "      echo \"part $i: $v\"",
    "      @end",
    "  gather:",
    "    needs: [part]",
    "    run: |",
    "      @start",
    "      sleep 60 &",
    "      @end",
    "    check: |",
    "      @check",
    "      echo '{\"confidence\": 0.9}'",
    "    undo: |",
    "      @undo",
    "      @Undone",
    "  flaky:",
    "    retries: 1",
    "    run: |",
    "      @start",
    "      sleep 60 &",
    "      test \"$CAIRN_ATTEMPT\" -gt 1",
    "      @end",
    "  pay:",
    "    needs: gather",
    "    once: true",
    "    run: |",
    "      @start",
    "      @end",
    "  breaks:",
    "    needs: flaky",
    "    run: |",
    "      @start",
    "      exit 3",
    "  rescue:",
    "    needs: breaks",
    "    when: failed",
    "    run: |",
    "      @start",
    "      @end",
};

const char *const task_names[TASKS] = {
    [PREPARE] = "prepare", [PART_A] = "part[i=a]", [PART_B] = "part[i=b]",
    [GATHER] = "gather",   [FLAKY] = "flaky",      [PAY] = "pay",
    [BREAKS] = "breaks",   [RESCUE] = "rescue",
};

size_t task_find(const char *name)
{
    size_t i = 0;
    while (i < TASKS && (!name || strcmp(task_names[i], name) != 0))
        i++;
    return i;
}

enum cairn_outcome task_expected(size_t task)
{
    return task == BREAKS ? CAIRN_FAILED : CAIRN_COMPLETED;
}

static int write_line(FILE *file, const char *line, bool adopt)
{
    const char *at = strchr(line, '@'), *mode = strstr(line, "MODE");
    if (at)
        return fprintf(file,
                       "%.*secho \"%s $CAIRN_TASK $CAIRN_ATTEMPT $SWEEP\" >>log\n",
                       (int)(at - line), line, at + 1);
    if (mode)
        return fprintf(file, "%.*s%s\n", (int)(mode - line), line,
                       adopt ? "adopt" : "kill");
    return fprintf(file, "%s\n", line);
}

bool flow_write(const char *dir, bool adopt)
{
    char path[PATH_SIZE + 16];
    bool good = true;
    snprintf(path, sizeof path, "%s/cairn.yaml", dir);
    FILE *file = fopen(path, "we");
    for (size_t i = 0; file && i < sizeof text / sizeof text[0]; i++)
        good = write_line(file, text[i], adopt) > 0 && good;
    return file && fclose(file) == 0 && good;
}
