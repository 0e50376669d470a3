/* SPDX-License-Identifier: MIT */
/* cairn stats: counts, sizes and durations of the store, for people, as JSON, and as
 * text that Prometheus reads (its "text-based format", version 0.0.4). */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <string.h>

struct stat_listing {
    struct doc doc;
    char family[64]; /* that is printed now; "": none yet */
    void (*begin_family)(struct stat_listing *listing, const struct cairn_stat *stat);
    void (*print)(struct stat_listing *listing, const struct cairn_stat *stat);
};

static int each_stat(void *context, const struct cairn_stat *stat)
{
    struct stat_listing *listing = context;
    if (strcmp(listing->family, stat->family) != 0) {
        listing->begin_family(listing, stat);
        snprintf(listing->family, sizeof listing->family, "%s", stat->family);
    }
    listing->print(listing, stat);
    return ui_output_lost();
}

/* ---- For people ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* In the unit that the name of the family ends with. */
static const char *in_unit(char text[FORMAT_MAX], const char *family, double value)
{
    if (ends_with(family, "_seconds") && value < 10) {
        snprintf(text, FORMAT_MAX, "%.3fs", value);
        return text;
    }
    if (ends_with(family, "_seconds"))
        return format_duration(text, (int64_t)(value * 1000));
    if (ends_with(family, "_bytes"))
        return format_bytes(text, (uint64_t)value);
    snprintf(text, FORMAT_MAX, "%.0f", value);
    return text;
}

static void family_heading(struct stat_listing *listing, const struct cairn_stat *stat)
{
    if (*listing->family)
        out("\n");
    out("%s: %s\n", stat->family, stat->help);
}

/* "90 % within 10s": the least bound that so many are within. */
static void print_share(const struct cairn_stat *stat, unsigned percent)
{
    const struct cairn_stat_buckets *b = stat->buckets;
    char bound[FORMAT_MAX];
    for (uint32_t i = 0; i < b->n; i++)
        if (b->counts[i] * 100 >= b->count * percent) {
            out(", %u %% within %s", percent,
                in_unit(bound, stat->family, b->bounds[i]));
            return;
        }
    out(", more than %u %% above %s", 100 - percent,
        in_unit(bound, stat->family, b->bounds[b->n - 1]));
}

static void print_plain(struct stat_listing *listing, const struct cairn_stat *stat)
{
    char value[FORMAT_MAX];
    (void)listing;
    out("  ");
    for (uint32_t i = 0; i < stat->n_labels; i++)
        out("%-*s", i == 0 ? 22 : 14, stat->labels[i].value);
    if (!stat->buckets) {
        out("%s%s\n", stat->n_labels ? "  " : "",
            in_unit(value, stat->family, stat->value));
        return;
    }
    double mean =
        stat->buckets->count ? stat->buckets->sum / (double)stat->buckets->count : 0;
    out("  %llu, mean %s", (unsigned long long)stat->buckets->count,
        in_unit(value, stat->family, mean));
    print_share(stat, 50);
    print_share(stat, 95);
    out("\n");
}

/* ---- JSON ---- */

static void begin_member(struct stat_listing *listing, const struct cairn_stat *stat)
{
    if (*listing->family) {
        doc_end(&listing->doc);
        doc_end(&listing->doc);
    }
    doc_object(&listing->doc, NULL);
    doc_text(&listing->doc, "name", stat->family);
    doc_text(&listing->doc, "help", stat->help);
    doc_array(&listing->doc, "figures");
}

static void print_member(struct stat_listing *listing, const struct cairn_stat *stat)
{
    struct doc *doc = &listing->doc;
    doc_object(doc, NULL);
    doc_object(doc, "labels");
    for (uint32_t i = 0; i < stat->n_labels; i++)
        doc_text(doc, stat->labels[i].name, stat->labels[i].value);
    doc_end(doc);
    if (!stat->buckets && stat->value == (double)(uint64_t)stat->value) {
        doc_count(doc, "value", (uint64_t)stat->value);
    } else if (!stat->buckets) {
        doc_exact(doc, "value", stat->value);
    } else {
        doc_count(doc, "count", stat->buckets->count);
        doc_exact(doc, "sum", stat->buckets->sum);
        doc_array(doc, "buckets");
        for (uint32_t i = 0; i < stat->buckets->n; i++) {
            doc_object(doc, NULL);
            doc_exact(doc, "at_most", stat->buckets->bounds[i]);
            doc_count(doc, "count", stat->buckets->counts[i]);
            doc_end(doc);
        }
        doc_end(doc);
    }
    doc_end(doc);
}

/* ---- Prometheus ---- */

static void family_comments(struct stat_listing *listing, const struct cairn_stat *stat)
{
    (void)listing;
    out("# HELP cairn_%s %s\n# TYPE cairn_%s %s\n", stat->family, stat->help,
        stat->family, stat->buckets ? "histogram" : "gauge");
}

/* The shortest of what is read back as the same number. */
static const char *exact(char text[FORMAT_MAX], double number)
{
    snprintf(text, FORMAT_MAX, "%.15g", number);
    if (strtod(text, NULL) != number)
        snprintf(text, FORMAT_MAX, "%.17g", number);
    return text;
}

/* Of the value as it is, so that it is found again: names have no line breaks. */
static void print_label(const char *before, const char *name, const char *value)
{
    out("%s%s=\"", before, name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            out("\\");
        out_raw(value, 1);
    }
    out("\"");
}

/* `suffix` of the name, and a bound or NULL. */
static void print_sample(const struct cairn_stat *stat, const char *suffix,
                         const char *bound, double value)
{
    char text[FORMAT_MAX];
    out("cairn_%s%s", stat->family, suffix);
    for (uint32_t i = 0; i < stat->n_labels; i++)
        print_label(i == 0 ? "{" : ",", stat->labels[i].name, stat->labels[i].value);
    if (bound)
        print_label(stat->n_labels == 0 ? "{" : ",", "le", bound);
    out("%s %s\n", stat->n_labels || bound ? "}" : "", exact(text, value));
}

static void print_samples(struct stat_listing *listing, const struct cairn_stat *stat)
{
    const struct cairn_stat_buckets *b = stat->buckets;
    char bound[FORMAT_MAX];
    (void)listing;
    if (!b) {
        print_sample(stat, "", NULL, stat->value);
        return;
    }
    for (uint32_t i = 0; i < b->n; i++)
        print_sample(stat, "_bucket", exact(bound, b->bounds[i]), (double)b->counts[i]);
    print_sample(stat, "_bucket", "+Inf", (double)b->count);
    print_sample(stat, "_sum", NULL, b->sum);
    print_sample(stat, "_count", NULL, (double)b->count);
}

/* ---- The command ---- */

static int print_stats(const struct settings *settings)
{
    bool json = ui_json(), prometheus = settings->given[OPT_PROMETHEUS];
    struct cairn_error error = {0};
    struct stat_listing listing = {.begin_family = json         ? begin_member
                                                   : prometheus ? family_comments
                                                                : family_heading,
                                   .print = json         ? print_member
                                            : prometheus ? print_samples
                                                         : print_plain};
    if (json) {
        doc_begin(&listing.doc);
        doc_array(&listing.doc, "families");
    }
    int rc = cairn_stats(settings->store, each_stat, &listing, &error);
    if (rc && json)
        doc_discard(&listing.doc);
    out_flush();
    if (rc)
        return report_error(&error);
    return json ? doc_print(&listing.doc) : 0;
}

int command_stats(struct settings *settings)
{
    if (ui_json() && settings->given[OPT_PROMETHEUS])
        return report_usage("stats",
                            "--json and --prometheus are two forms: choose one");
    return store_for_reading(settings, &settings->store) ?: print_stats(settings);
}
