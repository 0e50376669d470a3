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
mkdir src && : >src/a.c # for a group over files
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

# The debugging session, in a directory of its own.
mkdir -p debugging/work && cd debugging || exit 1 # out and err are none of its files
unset CAIRN_STORE CAIRN_SESSION
# shellcheck disable=SC2016
exits 0 sh -c 'cd work && exec sh "$1" now' - "$root/examples/debugging/session.sh"
says 'h1 is now at 0.79' err
says 'b2 contradicts b1' err
says '1 hypothesis changed, 2 pieces of evidence added, 1 belief added' out
says 'rejected   0.79' out
says 'undamaged' err
ok 'the old line stays' grep -q '^active .* main$' out

done_testing
