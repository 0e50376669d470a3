# Example workflows are valid, and what the README and the guides show works.
. "$TESTS/cli/tap.sh"

exits 0 cairn validate "$root/examples/ci/cairn.yaml"
exits 0 cairn graph "$root/examples/ci/cairn.yaml" --format mermaid
says 'build[compiler=clang]'

# Every YAML block in a document that has tasks is a valid workflow.
for file in "$root/README.md" "$root"/docs/guide-*.md; do
    name=$(basename "$file" .md)
    awk -v name="$name" '/^```yaml/ { n++; on = 1; next } /^```/ { on = 0 }
        on { print >(name "-" n ".yaml") }' "$file"
done
for file in ./*.yaml; do
    grep -q '^tasks:' "$file" || continue
    exits 0 cairn validate "$file"
done
# Links to files lead somewhere.
for file in "$root/README.md" "$root"/docs/*.md "$root"/examples/*/README.md; do
    for link in $(grep -oE '\]\([^)#:]+\)' "$file" | tr -d '()]'); do
        ok "$(basename "$file"): the link to $link" test -e "$(dirname "$file")/$link"
    done
done

done_testing
