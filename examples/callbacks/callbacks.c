/* Callbacks by name: a run that one process began is finished by another one, which has
 * nothing of it but the registry and the store: `callbacks begin [FILE]`, `callbacks
 * resume [RUN]`, `callbacks undo [RUN]`. */
#include <cairn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char flow[] =
    "name: pages\n"
    "params: {site: example.org}\n"
    "tasks:\n"
    "  fetch: {call: fetch, with: {url: \"https://${{ params.site }}/\"}, retries: 2,\n"
    "          check: {call: inspect}}\n"
    "  count: {call: count, needs: fetch}\n"
    "  report:\n"
    "    call: report\n"
    "    needs: [fetch, count]\n"
    "    if: tasks.count.outputs.letters > 3\n"
    "    with: {title: \"${{ tasks.fetch.outputs.page }}\"}\n"
    "    undo: {call: withdraw}\n"
    "    pool: printer\n"
    "pools: {printer: 1}\n";

static enum cairn_outcome fetch(void *prefix, struct cairn_attempt *attempt)
{
    char page[200];
    printf("fetch %s\n", cairn_attempt_argument(attempt, "url"));
    snprintf(page, sizeof page, "%s %s", (const char *)prefix,
             cairn_attempt_argument(attempt, "url"));
    return cairn_attempt_set(attempt, "page", page, NULL) ? CAIRN_FAILED
                                                          : CAIRN_COMPLETED;
}

/* A gate: a page that is too short fails its task, which is then tried again. */
static enum cairn_outcome inspect(void *unused, struct cairn_attempt *attempt)
{
    const char *page;
    (void)unused;
    if (cairn_attempt_get(attempt, cairn_attempt_task(attempt), "page", &page, NULL))
        return CAIRN_FAILED;
    return strlen(page) > 10 ? CAIRN_COMPLETED : CAIRN_FAILED;
}

static enum cairn_outcome count(void *unused, struct cairn_attempt *attempt)
{
    const char *page;
    char letters[24];
    (void)unused;
    if (cairn_attempt_get(attempt, "fetch", "page", &page, NULL))
        return CAIRN_FAILED;
    puts("count");
    if (access("calm", F_OK) != 0)
        raise(SIGKILL); /* the power goes off */
    snprintf(letters, sizeof letters, "%zu", strlen(page));
    return cairn_attempt_set(attempt, "letters", letters, NULL) ? CAIRN_FAILED
                                                                : CAIRN_COMPLETED;
}

static enum cairn_outcome report(void *unused, struct cairn_attempt *attempt)
{
    const char *letters;
    (void)unused;
    if (cairn_attempt_get(attempt, "count", "letters", &letters, NULL))
        return CAIRN_FAILED;
    printf("report %s: %s\n", cairn_attempt_argument(attempt, "title"), letters);
    return CAIRN_COMPLETED;
}

static enum cairn_outcome withdraw(void *unused, struct cairn_attempt *attempt)
{
    (void)unused;
    printf("withdraw %s\n", cairn_attempt_argument(attempt, "title"));
    return CAIRN_COMPLETED;
}

int main(int argc, char **argv)
{
    static char prefix[] = "page of";
    const char *version = getenv("FETCH_VERSION");
    const struct cairn_callback callbacks[] = {
        {.name = "fetch", .call = fetch, .context = prefix, .version = version},
        {.name = "inspect", .call = inspect},
        {.name = "count", .call = count},
        {.name = "withdraw", .call = withdraw},
        {.name = "report", .call = report, .parallel = true}};
    struct cairn_run_options options = {.size = sizeof options, .jobs = 2};
    struct cairn_run_result result = {.exit_status = 75};
    struct cairn_store *store = NULL;
    struct cairn_registry *registry = NULL;
    struct cairn_workflow *workflow = NULL;
    struct cairn_error error = {0};
    bool resumes = argc > 1 && strcmp(argv[1], "resume") == 0;
    bool undoes = argc > 1 && strcmp(argv[1], "undo") == 0;
    uint64_t run = argc > 2 && (resumes || undoes) ? strtoull(argv[2], NULL, 10) : 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int bad = cairn_registry_new(&registry, &error) ||
              cairn_store_open(
                  &store,
                  &(struct cairn_store_options){.path = "pages.cairn", .create = true},
                  &error);
    for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0] && !bad; i++)
        bad = cairn_registry_add(registry, &callbacks[i], &error);
    struct cairn_source source = {.registry = registry};
    if (argc > 2 && !resumes)
        source.path = argv[2];
    else {
        source.text = flow;
        source.length = strlen(flow);
    }
    if (!bad && undoes) {
        options.registry = registry;
        bad = cairn_undo(store, run, NULL, 0, &options, &result, &error);
    } else if (!bad && resumes) {
        options.start = CAIRN_START_RESUME;
        options.run = run;
        bad = cairn_workflow_of_run_with(&workflow, store, run, registry, NULL, &error);
    } else if (!bad)
        bad = cairn_workflow_open(&workflow, &source, &error);
    if (!bad && !undoes)
        bad = cairn_run(workflow, store, &options, &result, &error);
    printf("%s\n", bad ? error.text : cairn_run_state_name(result.state));
    cairn_workflow_free(workflow);
    cairn_registry_free(registry);
    cairn_store_close(store);
    return result.exit_status;
}
