/* SPDX-License-Identifier: MIT */
/* The workflows, the states that commands find, and the commands. */
#include "faults.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Values, foreach, conditions, files, a secret, a check, a retry and a last task; `d`
 * fails unless it finds `mended`, and kills cairn if it finds `kill`. */
static const char flow[] =
    "name: w\n"
    "params: {p: one}\n"
    "secrets: [SECRET]\n"
    "on_failure: stop\n"
    "tasks:\n"
    "  a: {run: '. ./t', outputs: [a.out], undo: 'echo undo a >>log'}\n"
    "  b: {foreach: {i: [x, y]}, needs: [a], run: '. ./t', inputs: [a.out]}\n"
    "  c: {needs: [b], if: tasks.a.outputs.v == '1', run: '. ./t', secrets: [SECRET]}\n"
    "  n: {needs: [a], if: params.p == 'two', run: '. ./t'}\n"
    "  d: {needs: [c], run: '. ./t', check: 'true', undo: 'echo undo d >>log'}\n"
    "  e:\n"
    "    needs: [d]\n"
    "    exec: [sh, -euc, '. ./t', '${{ tasks.a.outputs.v }}']\n"
    "    retries: {max: 2, delay: 1ms}\n"
    "finally:\n"
    "  r: {run: '. ./t'}\n";
static const char script[] =
    "echo \"start $CAIRN_TASK\" >>log\n"
    "case $CAIRN_TASK in\n"
    "a) echo x >a.out && echo v=1 >>\"$CAIRN_OUTPUT\" ;;\n"
    "c) echo \"see $SECRET\" ;;\n"
    "d) if test -e kill; then kill -9 $PPID; sleep 5; fi; test -e mended ;;\n"
    "e) test \"$CAIRN_ATTEMPT\" -gt 1 ;;\n"
    "esac\n"
    "echo \"end $CAIRN_TASK\" >>log\n";
static const char external[] =
    "name: x\ntasks:\n  a: {run: '. ./t'}\n"
    "  x: {needs: [a], external: look at it}\n  z: {needs: [x], run: '. ./t'}\n";
static const char once[] =
    "name: o\ntasks:\n  a: {run: '. ./t'}\n"
    "  d: {needs: [a], run: '. ./t', once: true}\n  z: {needs: [d], run: '. ./t'}\n";

/* Words of `make`: a command of cairn's and how it ends, "+FILE" and "-FILE". */
static const struct {
    const char *name;
    struct {
        const char *line;
        int status;
    } make[6];
} states[] = {
    {"new", {{"+mended", 0}}},
    {"half", {{"+kill", 0}, {"run flow.yaml -q", 265}, {"-kill", 0}, {"+mended", 0}}},
    {"failed", {{"run flow.yaml -q", 1}, {"+mended", 0}}},
    {"done",
     {{"+mended", 0}, {"run flow.yaml -q", 0}, {"run flow.yaml --fresh -q", 0}}},
    {"edited", {{"+mended", 0}, {"run flow.yaml -q", 0}, {"*p: one*p: two", 0}}},
    {"waiting", {{"run ext.yaml --no-wait -q", 7}}},
    {"unknown",
     {{"+kill", 0},
      {"run once.yaml -q", 265},
      {"-kill", 0},
      {"+mended", 0},
      {"resume -q", 8}}},
};

const struct sweep_case sweep_cases[] = {
    {"run", "new", "run flow.yaml --json", RUN, true, true, false},
    {"run-serial", "new", "run flow.yaml -j1", RUN, true, true, false},
    {"run-failing", "failed", "run flow.yaml --fresh --keep 2 --json", RESUME, true,
     true, false},
    {"run-required", "new", "run flow.yaml --checkpoint=required --json", RUN, true,
     true, true},
    {"run-nothing-kept", "new", "run flow.yaml --no-checkpoint -q", RUN, true, true,
     false},
    {"resume-killed", "half", "resume --json", RESUME, true, true, false},
    {"resume-failed", "failed", "resume --json", RESUME, true, true, false},
    {"resume-finished", "done", "resume --json", RESUME, true, true, false},
    {"resume-edited", "edited", "resume --json", RESUME, true, true, false},
    {"resume-from", "done", "resume --from 3 --json", RESUME, true, true, false},
    {"plan", "half", "plan --json --all", NO_FINISH, false, false, false},
    {"plan-edited", "edited", "plan", NO_FINISH, false, false, false},
    {"plan-new", "new", "plan flow.yaml", NO_FINISH, false, false, false},
    {"explain", "half", "explain d --json", NO_FINISH, false, false, false},
    {"explain-edited", "edited", "explain b[i=x]", NO_FINISH, false, false, false},
    {"status", "half", "status --json --tasks", NO_FINISH, false, false, false},
    {"status-text", "failed", "status", NO_FINISH, false, false, false},
    {"status-waiting", "waiting", "status --waiting --json", NO_FINISH, false, false,
     false},
    {"can-resume", "failed", "status --can-resume", NO_FINISH, false, false, false},
    {"runs", "done", "runs --json", NO_FINISH, false, false, false},
    {"events", "done", "events 1 --json", NO_FINISH, false, false, false},
    {"log", "done", "log c", NO_FINISH, false, false, false},
    {"graph", "new", "graph flow.yaml --json", NO_FINISH, false, false, false},
    {"validate", "new", "validate flow.yaml --json", NO_FINISH, false, false, false},
    {"doctor", "done", "doctor --json", NO_FINISH, false, false, false},
    {"doctor-killed", "half", "doctor", NO_FINISH, false, false, false},
    {"list", "done", "checkpoint list --json", NO_FINISH, false, false, false},
    {"show", "done", "checkpoint show 4 --tasks --json", NO_FINISH, false, false,
     false},
    {"timeline", "done", "checkpoint timeline", NO_FINISH, false, false, false},
    {"verify", "done", "checkpoint verify --json", NO_FINISH, false, false, false},
    {"next", "waiting", "next --json", NO_FINISH, false, false, false},
    {"help", "new", "help", NO_FINISH, false, false, false},
    {"prune", "done", "checkpoint prune --keep 2 --json", RESUME, false, true, false},
    {"delete", "done", "checkpoint delete 3", RESUME, false, true, false},
    {"complete", "waiting", "complete 1 x --output k=v", EXTERNAL, false, true, false},
    {"claim", "waiting", "claim 1 x --json", NO_FINISH, false, true, false},
    {"cancel", "waiting", "cancel 1", EXTERNAL, false, true, false},
    {"fail", "waiting", "fail 1 x", NO_FINISH, false, true, false},
    {"resolve", "unknown", "resolve 1 d done", RESOLVE, false, true, false},
    {"undo", "done", "undo 2 --json", UNDO, true, true, false},
};
const size_t n_sweep_cases = sizeof sweep_cases / sizeof sweep_cases[0];

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && good;
}

/* "*OLD*NEW" in flow.yaml. */
static bool edit(const char *change)
{
    char old[64];
    size_t length = strcspn(change, "*");
    snprintf(old, sizeof old, "%.*s", (int)length, change);
    char *text = file_read("work/flow.yaml", NULL),
         *at = text ? strstr(text, old) : NULL;
    FILE *file = at ? fopen("work/flow.yaml", "we") : NULL;
    bool good = file && fprintf(file, "%.*s%s%s", (int)(at - text), text,
                                change + length + 1, at + length) > 0;
    if (file && fclose(file) != 0)
        good = false;
    free(text);
    return good;
}

static bool step(struct world *world, const char *line, int status)
{
    char path[64];
    snprintf(path, sizeof path, "work/%s", line + 1);
    if (line[0] == '+')
        return write_file(path, "");
    if (line[0] == '-')
        return remove(path) == 0;
    if (line[0] == '*')
        return edit(line + 1);
    struct output output;
    if (!world_run(world, line, NULL, false, &output))
        return false;
    bool good = output.status == status;
    if (!good)
        printf("# cairn %s ended with %d, not %d: %s\n", line, output.status, status,
               output.err);
    output_release(&output);
    return good;
}

bool states_prepare(struct world *world)
{
    bool good = tree_remove("states") && mkdir("states", 0700) == 0;
    for (size_t i = 0; good && i < sizeof states / sizeof states[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "states/%s", states[i].name);
        good = tree_remove("work") && mkdir("work", 0700) == 0 &&
               write_file("work/flow.yaml", flow) && write_file("work/t", script) &&
               write_file("work/ext.yaml", external) &&
               write_file("work/once.yaml", once);
        for (size_t k = 0; good && k < 6 && states[i].make[k].line; k++)
            good = step(world, states[i].make[k].line, states[i].make[k].status);
        good = good && tree_copy("work", path);
    }
    return good;
}
