/* SPDX-License-Identifier: MIT
 *
 * sow STORE FILE: puts each line of FILE into every text of a debugging session that
 * takes it: its name, items of the board, messages, checkpoints with tags, labels,
 * notes and contexts, branches, settings. What is refused is left out; prints how many
 * texts were taken. */
#include "cairn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sowing {
    struct cairn_store *store;
    unsigned taken;
};

static void count(struct sowing *s, int rc)
{
    s->taken += rc == 0;
}

static void add(struct sowing *s, const char *kind, const struct cairn_set *sets,
                size_t n)
{
    struct cairn_board_result result;
    struct cairn_error error = {0};
    count(s, cairn_item_add(s->store, NULL, kind, sets, n, &result, &error));
}

/* As one word, which names and tags are. */
static void make_word(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
    for (char *at = to; *at != '\0'; at++)
        if (*at == ' ' || *at == '\t' || *at == ',')
            *at = '_';
}

static void add_items(struct sowing *s, const char *text, const char *word)
{
    add(s, "hypothesis",
        (struct cairn_set[]){{"statement", text}, {"reason", text}, {"tags", word}}, 3);
    add(s, "hypothesis", (struct cairn_set[]){{"statement", text}}, 1);
    add(s, "evidence",
        (struct cairn_set[]){{"text", text},
                             {"hypothesis", "h1"},
                             {"strength", "0.1"},
                             {"source", text}},
        4);
    add(s, "belief",
        (struct cairn_set[]){
            {"statement", text}, {"subject", text}, {"claim", text}, {"tags", word}},
        4);
    add(s, "gap", (struct cairn_set[]){{"text", text}, {"resolution", text}}, 2);
    add(s, "note",
        (struct cairn_set[]){{"text", text}, {"about", word}, {"tags", word}}, 3);
    add(s, "note", (struct cairn_set[]){{"text", text}}, 1);
    add(s, "check", (struct cairn_set[]){{"text", text}, {"command", text}}, 2);
}

static void add_checkpoint(struct sowing *s, const char *text, const char *word)
{
    const struct cairn_context_pair pair = {word, text};
    const struct cairn_context context = {.summary = text,
                                          .description = text,
                                          .pairs = &pair,
                                          .n_pairs = 1,
                                          .state = text};
    struct cairn_captured captured;
    struct cairn_error error = {0};
    struct cairn_capture capture = {
        .message = text, .tags = &word, .n_tags = 1, .context = &context};
    int rc = cairn_session_checkpoint(s->store, NULL, &capture, &captured, &error);
    if (rc != 0) {
        capture.n_tags = 0;
        capture.context = NULL;
        rc = cairn_session_checkpoint(s->store, NULL, &capture, &captured, &error);
    }
    count(s, rc);
    if (rc != 0)
        return;
    count(s, cairn_checkpoint_label(s->store, captured.id, word, true, &error));
    count(s, cairn_checkpoint_note(s->store, captured.id, text, NULL, &error));
}

static void sow(struct sowing *s, const char *text, unsigned n)
{
    char word[512];
    struct cairn_new_message message = {.role = n % 2 ? "user" : "assistant",
                                        .model = text,
                                        .text = text,
                                        .bytes = strlen(text)};
    struct cairn_error error = {0};
    make_word(word, sizeof word, text);
    add_items(s, text, word);
    int rc = cairn_message_add(s->store, NULL, &message, NULL, &error);
    message.model = NULL;
    count(s, rc == 0 ? 0 : cairn_message_add(s->store, NULL, &message, NULL, &error));
    add_checkpoint(s, text, word);
    if (n % 10 == 0) {
        struct cairn_branch_info branch;
        count(s, cairn_branch_start(s->store, NULL, word, NULL, NULL, &branch, &error));
        count(s, cairn_session_configure(s->store, NULL, "hook.prune", text, &error));
        count(s, cairn_session_start(s->store, text, false, NULL, &error));
    }
}

int main(int argc, char **argv)
{
    struct sowing s = {0};
    struct cairn_error error = {0};
    char line[400];
    FILE *file = argc == 3 ? fopen(argv[2], "re") : NULL;
    const struct cairn_store_options options = {
        .path = argc == 3 ? argv[1] : NULL, .create = true, .sync = CAIRN_SYNC_OFF};
    if (!file || cairn_store_open(&s.store, &options, &error) != 0 ||
        cairn_session_start(s.store, "sown", true, NULL, &error) != 0) {
        fprintf(stderr, "sow: %s\n", file ? error.text : "sow STORE FILE");
        return 1;
    }
    for (unsigned n = 1; fgets(line, sizeof line, file); n++) {
        line[strcspn(line, "\n")] = '\0';
        sow(&s, line, n);
    }
    fclose(file);
    cairn_store_close(s.store);
    printf("%u\n", s.taken);
    return 0;
}
