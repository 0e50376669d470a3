/* SPDX-License-Identifier: MIT
 *
 * wf2cairn: turns a recorded workflow in WfFormat 1.5 (wfcommons.org) into a workflow
 * file for cairn, on stdout, as JSON.
 *
 *   wf2cairn FILE               every task runs its recorded command
 *   wf2cairn --simulate FILE    every task checks that its declared inputs exist and
 *                               makes its declared outputs, by `sh simulate.sh`, scaled
 *                               to 1/1000 of the size; files that no task makes are
 *                               made first, by the task stage_in
 *
 * Needs are the recorded parents, and who makes an input. Ids, programs and files are
 * taken as they are; what the source does not say is not made up. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE_IN "stage_in"
enum { SCALE = 1000 };

struct converter {
    bool simulate;
    json_t *tasks;    /* specification.tasks, borrowed */
    json_t *sizes;    /* file -> size in bytes */
    json_t *commands; /* task -> execution.tasks[].command, borrowed members */
    json_t *makers;   /* file -> id of the task that makes it */
    json_t *out;      /* id -> task of the cairn workflow */
    json_t *sources;  /* files that no task makes: set */
};

static int fail(const char *what, const char *which)
{
    fprintf(stderr, "wf2cairn: %s%s%s\n", what, which ? ": " : "", which ? which : "");
    return -1;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The names and sizes of files, the recorded commands, and who makes what. */
static int index_source(struct converter *c, const json_t *root)
{
    json_t *workflow = json_object_get(root, "workflow");
    json_t *specification = json_object_get(workflow, "specification");
    json_t *executed = json_object_get(json_object_get(workflow, "execution"), "tasks");
    json_t *entry, *name;
    size_t i, k;

    c->tasks = json_object_get(specification, "tasks");
    if (json_array_size(c->tasks) == 0)
        return fail("no workflow.specification.tasks in it; is it WfFormat 1.5?", NULL);
    json_array_foreach(json_object_get(specification, "files"), i, entry)
        json_object_set(c->sizes, text_of(entry, "id"),
                        json_object_get(entry, "sizeInBytes"));
    json_array_foreach(executed, i, entry) json_object_set(
        c->commands, text_of(entry, "id"), json_object_get(entry, "command"));
    json_array_foreach(c->tasks, i, entry)
    {
        if (text_of(entry, "id")[0] == '\0')
            return fail("a task has no id", text_of(entry, "name"));
        json_array_foreach(json_object_get(entry, "outputFiles"), k, name)
            json_object_set(c->makers, json_string_value(name),
                            json_object_get(entry, "id"));
    }
    return 0;
}

/* Adds to a list of strings what is not in it yet. */
static void add_once(json_t *list, const char *text)
{
    json_t *present;
    size_t i;
    json_array_foreach(list, i, present)
    {
        if (strcmp(json_string_value(present), text) == 0)
            return;
    }
    json_array_append_new(list, json_string(text));
}

static json_t *needs_of(struct converter *c, const json_t *task)
{
    json_t *needs = json_array(), *name;
    size_t i;

    json_array_foreach(json_object_get(task, "parents"), i, name)
        add_once(needs, json_string_value(name));
    json_array_foreach(json_object_get(task, "inputFiles"), i, name)
    {
        const char *maker = text_of(c->makers, json_string_value(name));
        if (maker[0] != '\0') {
            add_once(needs, maker);
        } else if (c->simulate) {
            json_object_set_new(c->sources, json_string_value(name), json_true());
            add_once(needs, STAGE_IN);
        }
    }
    return needs;
}

/* Appends "FILE SIZE" as two arguments. */
static void append_file(struct converter *c, json_t *argv, const char *file)
{
    json_int_t size = json_integer_value(json_object_get(c->sizes, file));
    char text[32];

    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, size / SCALE + 1);
    json_array_append_new(argv, json_string(file));
    json_array_append_new(argv, json_string(text));
}

/* sh simulate.sh ID INPUT... -- (OUTPUT SIZE)... */
static json_t *simulated(struct converter *c, const json_t *task)
{
    json_t *argv = json_pack("[sss]", "sh", "simulate.sh", text_of(task, "id"));
    json_t *name;
    size_t i;

    json_array_foreach(json_object_get(task, "inputFiles"), i, name)
        json_array_append(argv, name);
    json_array_append_new(argv, json_string("--"));
    json_array_foreach(json_object_get(task, "outputFiles"), i, name)
        append_file(c, argv, json_string_value(name));
    return argv;
}

/* The recorded command as one line for the shell: its arguments are recorded as they
 * stood there, quoting included. NULL if none was recorded. */
static json_t *recorded(const struct converter *c, const char *id)
{
    json_t *command = json_object_get(c->commands, id), *argument;
    json_t *line = json_sprintf("%s", text_of(command, "program"));
    size_t i;

    if (text_of(command, "program")[0] == '\0') {
        json_decref(line);
        return NULL;
    }
    json_array_foreach(json_object_get(command, "arguments"), i, argument)
    {
        json_t *longer =
            json_sprintf("%s %s", json_string_value(line), json_string_value(argument));
        json_decref(line);
        line = longer;
    }
    return line;
}

static int convert_task(struct converter *c, const json_t *task)
{
    const char *id = text_of(task, "id");
    json_t *result = json_object(), *needs = needs_of(c, task), *run;

    if (json_object_get(c->out, id)) {
        json_decref(result);
        json_decref(needs);
        return fail("two tasks have the id", id);
    }
    json_object_set_new(c->out, id, result);
    if (json_array_size(needs) > 0)
        json_object_set(result, "needs", needs);
    json_decref(needs);
    if (json_array_size(json_object_get(task, "outputFiles")) > 0)
        json_object_set(result, "outputs", json_object_get(task, "outputFiles"));
    if (c->simulate)
        return json_object_set_new(result, "exec", simulated(c, task));
    run = recorded(c, id);
    if (!run)
        return fail("no command was recorded (try --simulate) for", id);
    return json_object_set_new(result, "run", run);
}

static void add_stage_in(struct converter *c)
{
    json_t *argv, *outputs = json_array(), *value;
    const char *file;

    if (json_object_size(c->sources) > 0) {
        argv = json_pack("[ssss]", "sh", "simulate.sh", STAGE_IN, "--");
        json_object_foreach(c->sources, file, value)
        {
            append_file(c, argv, file);
            json_array_append_new(outputs, json_string(file));
        }
        json_object_set_new(
            c->out, STAGE_IN,
            json_pack("{soso}", "exec", argv, "outputs", json_incref(outputs)));
    }
    json_decref(outputs);
}

static int convert(struct converter *c, const json_t *root)
{
    json_t *task, *document;
    size_t i;
    int failed;

    if (index_source(c, root) != 0)
        return -1;
    json_array_foreach(c->tasks, i, task)
    {
        if (convert_task(c, task) != 0)
            return -1;
    }
    add_stage_in(c);
    document = json_pack("{sssO}", "name", text_of(root, "name"), "tasks", c->out);
    failed = json_dumpf(document, stdout, JSON_INDENT(1));
    json_decref(document);
    putchar('\n');
    return failed || fflush(stdout) != 0 ? fail("could not write", NULL) : 0;
}

static void release(struct converter *c)
{
    json_decref(c->sizes);
    json_decref(c->commands);
    json_decref(c->makers);
    json_decref(c->out);
    json_decref(c->sources);
}

int main(int argc, char **argv)
{
    struct converter c = {
        .simulate = argc == 3 && strcmp(argv[1], "--simulate") == 0,
        .sizes = json_object(),
        .commands = json_object(),
        .makers = json_object(),
        .out = json_object(),
        .sources = json_object(),
    };
    json_error_t error;
    json_t *root;
    int status;

    if (argc != 2 + c.simulate || argv[argc - 1][0] == '-') {
        fputs("usage: wf2cairn [--simulate] FILE >workflow.json\n", stderr);
        release(&c);
        return 2;
    }
    root = json_load_file(argv[argc - 1], JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fprintf(stderr, "wf2cairn: %s:%d:%d: %s\n", argv[argc - 1], error.line,
                error.column, error.text);
    status = root && convert(&c, root) == 0 ? 0 : 1;
    json_decref(root);
    release(&c);
    return status;
}
