/* SPDX-License-Identifier: MIT */
#include "cli/sessions/others_changed.h"

#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

struct other_changed {
    struct cairn_restore_other is;
    char *path, *session; /* heap */
};

void others_note(void *context, const struct cairn_restore_other *other)
{
    struct others_changed *others = context;
    struct other_changed *at = realloc(others->at, (others->n + 1) * sizeof *at);
    others->failed = others->failed || at == NULL;
    if (at == NULL)
        return;
    others->at = at;
    at += others->n++;
    *at = (struct other_changed){*other, strdup(other->path), strdup(other->session)};
    others->failed = others->failed || at->path == NULL || at->session == NULL;
}

void others_release(struct others_changed *others)
{
    for (size_t i = 0; i < others->n; i++) {
        free(others->at[i].path);
        free(others->at[i].session);
    }
    free(others->at);
    *others = (struct others_changed){.at = NULL};
}

void others_document(struct doc *doc, const struct others_changed *others)
{
    doc->failed = doc->failed || others->failed;
    doc_array(doc, "others");
    for (size_t i = 0; i < others->n && !others->failed; i++) {
        const struct other_changed *at = &others->at[i];
        doc_object(doc, NULL);
        doc_text(doc, "path", at->path);
        doc_text(doc, "session", at->session[0] != '\0' ? at->session : NULL);
        doc_bool(doc, "there", at->is.there);
        doc_bool(doc, "stays", at->is.stays);
        doc_bool(doc, "beside", at->is.beside);
        doc_end(doc);
    }
    doc_end(doc);
}

static void say_one(const struct other_changed *at)
{
    const char *whose = at->session[0] != '\0' ? at->session : "nobody known";
    if (at->is.stays && at->is.there)
        ui_warn("%s was changed since by %s: it stays", at->path, whose);
    else if (at->is.stays)
        ui_warn("%s was removed since by %s: it stays removed", at->path, whose);
    else if (at->is.beside)
        ui_warn("%s was changed since by %s, too: what was there is kept beside it, as "
                ".before-restore",
                at->path, whose);
    else if (at->is.there)
        ui_warn("%s was changed since by %s, too: it goes back", at->path, whose);
    else
        ui_warn("%s was changed since by %s, too, and was not there: it comes back",
                at->path, whose);
}

void others_say(const struct others_changed *others)
{
    enum { MOST = 20 };
    if (ui_json())
        return;
    for (size_t i = 0; i < others->n && i < MOST && !others->failed; i++)
        say_one(&others->at[i]);
    if (others->n > MOST)
        ui_warn("and %zu more", others->n - MOST);
    if (others->n > 0)
        ui_warn("--all goes back without regard to what others have changed");
}
