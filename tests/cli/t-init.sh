# cairn init: the starter runs as it is, is never written over a file, and what stands in
# its comments is valid too.
. "$TESTS/cli/tap.sh"

mkdir my-project && cd my-project || exit 1
exits 0 cairn init
is "$(cat out)" 'cairn.yaml: wrote the workflow my-project' 'it is named after the directory'
says 'cairn plan, then cairn run' 'what to do next'
exits 0 cairn validate
ok 'without a warning' sh -c '! grep -q warning err'
exits 0 cairn run
is "$(cat work/all.txt)" "$(printf 'Hello, %s!\n' Ada Edsger Grace)" 'the starter does its work'
exits 0 cairn run --param greeting=Hi
is "$(head -n 1 work/all.txt)" 'Hi, Ada!' 'and heeds its parameter'

# A file that is named as an option is: what is hinted at can be typed.
mkdir dash && cd dash || exit 1
exits 0 cairn init -- -x.yaml
says 'cairn plan ./-x.yaml, then cairn run ./-x.yaml' 'what to do next'
exits 2 cairn run -x.yaml
says 'a file whose name begins with a dash goes after --'
exits 10 cairn run -- -y.yaml
says '`cairn init ./-y.yaml`'
exits 10 cairn status -- -x.yaml
cd .. || exit 1

echo mine >mine.yaml
exits 2 cairn init mine.yaml
says 'mine.yaml already exists' 'an existing file is named'
says 'cairn init FILE' 'with what to do'
is "$(cat mine.yaml)" mine 'and is left alone'
exits 2 cairn init
ln -s nowhere dangling.yaml
exits 2 cairn init dangling.yaml
ok 'also a link that leads nowhere' test ! -e nowhere
exits 2 cairn init --json
is "$(json_get .error.exit_status)" 2 'so with --json'
exits 2 cairn init one.yaml two.yaml
exits 2 cairn init ''
exits 2 cairn init directory/
exits 10 cairn init no-such-directory/cairn.yaml
says 'no-such-directory' 'a missing directory is named'

exits 0 cairn init 'with a blank.yaml' --json
json_ok 'what was written, as JSON'
is "$(json_get .file)" 'with a blank.yaml' 'its file'
is "$(json_get .workflow)" my-project 'its workflow'
is "$(json_get .bytes)" "$(wc -c <'with a blank.yaml')" 'its size'
rm 'with a blank.yaml'
exits 0 cairn init 'with a blank.yaml'
says "cairn run 'with a blank.yaml'" 'what to do next fits the shell'
exits 0 cairn init --quiet "$PWD/quiet.yaml"
silent_on err

# Names that would not be text, or not valid, without care.
for name in no 2026-01-01 'a b"c\d' '${{ x }}' "$(printf 'a\nb')" é -x; do
    mkdir -- "$PWD/$name"
    exits 0 cairn init "$PWD/$name/cairn.yaml"
    exits 0 cairn validate "$PWD/$name/cairn.yaml"
done
is "$(sed -n 's/^name: //p' no/cairn.yaml)" '"no"' 'a name is quoted'
is "$(sed -n 's/^name: //p' 'a b"c\d/cairn.yaml')" '"a-b-c-d"' 'and has nothing odd in it'

# The comments: every key with its # taken away.
sed 's/^#\( *[a-z_]*:\( .*\)\{0,1\}\)$/\1/' cairn.yaml >all.yaml
ok 'there are keys in comments' test "$(diff cairn.yaml all.yaml | grep -c '^>')" -ge 20
exits 0 cairn validate all.yaml
run "$BUILD/tests/tools/schema" "$root/docs/workflow.schema.json" cairn.yaml all.yaml
is "$(cut -f 2 out | sort -u)" valid 'the schema takes both'

done_testing
