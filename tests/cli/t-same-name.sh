# Workflows of one name in two directories, below one store: neither continues a run of
# the other. A project that was moved, and a file that was renamed, go on.
. "$TESTS/cli/tap.sh"

top=$PWD
mkdir svc1 svc2
for s in svc1 svc2; do
    cat >$s/cairn.yaml <<'END'
name: deploy
tasks:
  migrate: {run: 'pwd >>ran'}
  start: {needs: migrate, run: 'test -e ready'}
END
done
cd svc1 || exit 1
exits 1 cairn run
cd ../svc2 || exit 1
touch ready
for command in run plan 'explain start'; do
    # shellcheck disable=SC2086
    exits 2 cairn $command cairn.yaml
    says "$top/svc1/cairn.yaml" "$command: the other file is named"
    says 'another `name:`' '... and what to do'
done
ok 'nothing ran' test ! -e ran
exits 0 cairn run --fresh
is "$(cat ran)" "$PWD" 'a fresh run of this one runs here'

# The newest run is completed: it counts as history only.
cd ../svc1 || exit 1
exits 1 cairn run
is "$(wc -l <ran)" 2 'the other one begins anew, too'
touch ready

# A file that was renamed, or is beside the recorded one, continues.
cp cairn.yaml copy.yaml
exits 0 cairn plan copy.yaml
says 'was started from' 'a file beside it'
is "$(planned copy.yaml)" start '... continues'
ln -s ../svc1/cairn.yaml ../svc2/link.yaml
cd ../svc2 || exit 1
is "$(planned link.yaml)" start 'so does a link to it from elsewhere'
mv ../svc1 ../gone
is "$(planned cairn.yaml)" start 'where the other file is gone, the run continues here'
cd .. || exit 1

# A project that was moved or copied continues.
mv gone svc1
mkdir -p project/sub && cp svc1/cairn.yaml project/sub
cd project || exit 1
export CAIRN_STORE="$PWD/.cairn"
exits 1 cairn run sub/cairn.yaml
unset CAIRN_STORE
cp -r ../project ../copied
cd ../copied || exit 1
is "$(planned sub/cairn.yaml)" start 'a copy of the project continues'
cd .. && mv copied moved && cd moved || exit 1
is "$(planned sub/cairn.yaml)" start 'so does one that was moved then'
done_testing
