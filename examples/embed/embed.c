/* A graph of C functions that pass on values: kill it, start it again, see it resume.
 */
#include <cairn.h>
#include <stdio.h>
#include <stdlib.h>

static enum cairn_outcome square(void *number, struct cairn_attempt *attempt)
{
    char text[16];
    snprintf(text, sizeof text, "%d", *(int *)number * *(int *)number);
    printf("%s\n", cairn_attempt_task(attempt));
    return cairn_attempt_set(attempt, "square", text, NULL) ? CAIRN_FAILED
                                                            : CAIRN_COMPLETED;
}

static enum cairn_outcome once_broken(void *number, struct cairn_attempt *attempt)
{
    FILE *mended = fopen("mended", "r");
    enum cairn_outcome outcome = square(number, attempt);
    return mended && fclose(mended) == 0 ? outcome : CAIRN_FAILED;
}

static enum cairn_outcome add(void *unused, struct cairn_attempt *attempt)
{
    const char *a, *b; /* what memory held is gone after a kill: these are stored */
    if (unused || cairn_attempt_get(attempt, "a", "square", &a, NULL) ||
        cairn_attempt_get(attempt, "b", "square", &b, NULL))
        return CAIRN_FAILED;
    printf("sum: %ld\n", strtol(a, NULL, 10) + strtol(b, NULL, 10));
    return CAIRN_COMPLETED;
}

int main(void)
{
    int three = 3, four = 4;
    const char *const after_a[] = {"a", NULL}, *const both[] = {"a", "b", NULL};
    const struct cairn_task tasks[] = {
        {.id = "a", .call = square, .context = &three},
        {.id = "b", .call = once_broken, .context = &four, .needs = after_a},
        {.id = "sum", .call = add, .needs = both}};
    struct cairn_store_options where = {.path = "embed.cairn", .create = true};
    struct cairn_store *store = NULL;
    struct cairn_workflow *workflow = NULL;
    struct cairn_run_result result = {.exit_status = 75};
    struct cairn_error error = {0};
    int bad = cairn_store_open(&store, &where, &error) ||
              cairn_workflow_new(&workflow, "embedded", &error);
    for (int i = 0; i < 3 && !bad; i++)
        bad = cairn_workflow_add(workflow, &tasks[i], &error);
    bad = bad || cairn_run(workflow, store, NULL, &result, &error);
    printf("%s\n", bad ? error.text : cairn_run_state_name(result.state));
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    return result.exit_status;
}
