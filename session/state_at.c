/* SPDX-License-Identifier: MIT */
/* The board at a checkpoint. */
#include "checkpoint/find.h"
#include "session/session_int.h"
#include "storage/object.h"

#include <stdio.h>

/* What it holds, in the arena. */
static int read_content(struct cairn_store *store, const struct section_ref *ref,
                        const char *name, struct arena *arena, struct str *kept,
                        struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(store, &ref->digest, &content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = error_set(error, CAIRN_EDAMAGED, "the content of its part %s is missing",
                       name);
    *kept = rc ? STR("") : arena_str(arena, buf_view(&content));
    buf_release(&content);
    return !rc && arena->failed ? error_nomem(error) : rc;
}

static int read_environment(struct cairn_store *store, const struct section_ref *ref,
                            struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    int rc = read_content(store, ref, "environment", &out->arena, &kept, error);
    if (!rc)
        rc = environment_decode(&out->arena, kept, &out->environment, error);
    if (!rc && out->environment.n != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part environment does not fit it");
    out->has_environment = rc == 0;
    return rc;
}

static int read_messages(struct cairn_store *store, const struct section_ref *ref,
                         struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    int rc = read_content(store, ref, "messages", &out->arena, &kept, error);
    if (!rc)
        rc = message_line_decode(kept, &out->messages, error);
    if (!rc && (uint32_t)out->messages.position != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part messages does not fit it");
    return rc;
}

static int read_context(struct cairn_store *store, const struct section_ref *ref,
                        struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    int rc = read_content(store, ref, "context", &out->arena, &kept, error);
    if (!rc)
        rc = context_decode(&out->arena, kept, &out->context, error);
    if (!rc && context_given(&out->context) != ref->n)
        rc = error_set(error, CAIRN_EDAMAGED, "its part context does not fit it");
    return rc;
}

static int read_section(struct cairn_store *store, const struct section_ref *ref,
                        struct state_at *out, struct cairn_error *error)
{
    struct str kept;
    struct section section = {0};
    const struct item_kind_info *info = item_kind_info(ref->kind);
    if (ref->kind == SECTION_ENVIRONMENT)
        return read_environment(store, ref, out, error);
    if (ref->kind == SECTION_CONTEXT)
        return read_context(store, ref, out, error);
    if (ref->kind == SECTION_FILES) { /* read where they are wanted */
        out->has_files = true;
        out->files = ref->digest;
        return 0;
    }
    if (ref->kind == SECTION_MESSAGES)
        return read_messages(store, ref, out, error);
    if (!info)
        return error_set(error, CAIRN_ENEWER,
                         "it holds a part of a kind that this release does not know: "
                         "use the cairn that wrote it");
    int rc = read_content(store, ref, info->name, &out->arena, &kept, error);
    if (!rc)
        rc = section_decode(&out->arena, ref->kind, kept, &section, error);
    if (!rc && (section.n != ref->n ||
                (section.n && section.items[section.n - 1].id.n > ref->last)))
        rc =
            error_set(error, CAIRN_EDAMAGED, "its part %s does not fit it", info->name);
    return rc ? rc : board_load(&out->board, ref->kind, &section, ref->last, error);
}

int state_load(struct cairn_store *store, struct state_at *out,
               struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < out->sections.n && !rc; i++)
        rc = read_section(store, &out->sections.list[i], out, error);
    return rc;
}

int state_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
               struct state_at *out, struct cairn_error *error)
{
    char number[CAIRN_ID_MAX];
    struct cairn_error why = {0};
    *out = (struct state_at){.arena = ARENA_INIT};
    board_init(&out->board);
    int rc =
        sections_read(store, sha, seq, &out->arena, &out->sections, &out->at, error);
    if (rc)
        return rc;
    rc = state_load(store, out, &why);
    if (!rc && out->at.session)
        rc = message_line_check(store, out->at.session, &out->messages, false, &why);
    if (!rc)
        return 0;
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    return error_set(error, rc, "checkpoint %s: %s", number, why.text);
}

void state_release(struct state_at *state)
{
    board_release(&state->board);
    arena_release(&state->arena);
}

int debug_seq(struct cairn_store *store, const char *id, uint64_t *seq,
              struct cairn_error *error)
{
    struct catalog catalog = {.store = store,
                              .sha = sha256_new(),
                              .kinds = &payload_kinds,
                              .namespace_id = NAMESPACE_DEBUG};
    struct found_checkpoint found;
    if (!catalog.sha)
        return error_nomem(error);
    int rc = catalog_find(&catalog, id, &found, error);
    sha256_free(catalog.sha);
    if (rc)
        return rc;
    *seq = found.seq;
    return found.sound ? 0 : CAIRN_EDAMAGED;
}
