# Names that can be read: UTF-8 as it is, long values cut in the middle, and what could
# mislead a reader harmless.
. "$TESTS/cli/tap.sh"

long='a value that is much longer than the sixty-four bytes that an id has room for'
cat >names.yaml <<END
name: names
tasks:
  g:
    foreach:
      place: [München, 東京, "$long", "x y", "a\\u200Bb"]
    run: echo "\$place"
  each: {foreach: {place: [東京]}, needs: ["g[place=\${{ place }}]"], run: 'true'}
END
exits 0 cairn run names.yaml
says 'ok   g[place=München]' 'UTF-8 is shown as it is'
says 'ok   each[place=東京]'
says 'ok   g[place=x%20y]' 'a blank is not'
says 'ok   g[place=a%E2%80%8Bb]' 'nor what nobody sees'
hash=$(printf %s "$long" | sha256sum | cut -c1-12)
cut=$(grep -o 'g\[place=a%20val[^ ]*' err | head -1)
is "$cut" "g[place=a%20value%20that%20is%20m~$hash~n%20id%20has%20room%20for]" 'a long value has its start, its hash and its end'
for name in 'g[place=München]' 'g[place=M%C3%BCnchen]' "$cut" "g[place=$long]" "g[place=~$hash]"; do
    exits 0 cairn log "$name"
    ok "log $name" test -s out
done
exits 0 cairn explain "$cut"
says "  place: $long" 'explain shows the whole value'
exits 0 cairn explain "$cut" --json
is "$(json_get .foreach.place)" "$long" 'as JSON, too'
exits 0 cairn explain 'g[place=München]'
ok 'but not what the name has already' sh -c '! grep -q "  place: " out'
exits 0 cairn status --tasks
says 'g[place=東京]'
exits 0 cairn status --tasks --json
ok 'JSON is UTF-8' grep -q '"g\[place=東京\]"' out
exits 0 cairn graph names.yaml --format mermaid
says 'g[place=東京]'
exits 10 cairn log 'g[place=Münchn]'
says 'g[place=München]' 'the nearest one is named'
exits 0 cairn resume
says 'nothing to do'
done_testing
