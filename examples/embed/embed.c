/* A graph of C functions, run against a store: start it again to see it resume. */
#include <cairn.h>
#include <stdio.h>

static enum cairn_outcome step(void *calls, struct cairn_attempt *attempt)
{
    printf("call %d: %s\n", ++*(int *)calls, cairn_attempt_task(attempt));
    return CAIRN_COMPLETED;
}

static enum cairn_outcome once_broken(void *calls, struct cairn_attempt *attempt)
{
    FILE *mended = fopen("mended", "r");
    step(calls, attempt);
    return mended && fclose(mended) == 0 ? CAIRN_COMPLETED : CAIRN_FAILED;
}

int main(void)
{
    int calls = 0;
    const char *const after_a[] = {"a", NULL}, *const after_b[] = {"b", NULL};
    const struct cairn_task tasks[] = {
        {.id = "a", .call = step, .context = &calls},
        {.id = "b", .call = once_broken, .context = &calls, .needs = after_a},
        {.id = "c", .call = step, .context = &calls, .needs = after_b}};
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
