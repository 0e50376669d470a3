# shellcheck shell=sh disable=SC2016
# `cairn whence FILE`: which task made a file, from what, wherever it is now.
. "$TESTS/cli/tap.sh"

flow() { # FACTOR
    cat >w.yaml <<END
name: w
tasks:
  part:
    foreach: {n: [1, 2]}
    inputs: [raw]
    cwd: sub
    run: 'echo \$((\$n * $1)) "\$(cat ../raw)" >p.\$n'
    outputs: ['p.\${{ n }}']
  all: {needs: part, inputs: ['\${{ tasks.part.files }}'], exec: [sh, -c, 'cat sub/p.* >all.txt; mkdir -p tree; cp all.txt tree; : >empty'], outputs: [all.txt, tree, empty]}
END
    sed -i 's/inputs: \[raw\]/inputs: [..\/raw]/' w.yaml
}
mkdir proj proj/sub && cd proj || exit 1
unset CAIRN_STORE
echo raw >raw
flow 1
exits 0 cairn run w.yaml
exits 0 cairn whence sub/p.2
says 'sub/p.2 was made by part[n=2] of run 1 (w)' 'the task is named'
says 'inputs      ../raw' 'and what it read'
says 'command     echo' 'and its command'
exits 0 cairn whence all.txt
says "command     sh -c 'cat sub/p.*" 'words of exec are quoted'
exits 0 cairn whence tree
says 'tree was made by all of run 1' 'a directory'
exits 0 cairn whence empty
says 'empty was made by all of run 1' 'an empty file in its place'
(cd sub && cairn whence ../sub/./p.1 >../out)
ok 'from another directory, by another name' grep -q 'made by part\[n=1\] of run 1' out

# Moved, changed, gone, made again.
cp sub/p.1 elsewhere
exits 0 cairn whence elsewhere
says 'elsewhere has the content of p.1, made by part[n=1] of run 1' 'a copy is found'
says "made as     $PWD/sub/p.1" 'and where it was made'
: >other
exits 10 cairn whence other
says 'no task that this store knows made other' 'what is empty is everything'
echo more >>all.txt
exits 0 cairn whence all.txt
says 'all.txt has changed since it was made by all of run 1' 'what has changed'
rm all.txt
exits 0 cairn whence all.txt
says 'all.txt is gone: it was made by all of run 1' 'and what is gone'
exits 10 cairn whence nothing
says 'there is no file nothing'
exits 10 cairn whence nowhere/at/all
echo new >raw
exits 0 cairn run w.yaml --fresh
exits 0 cairn whence sub/p.1
says 'of run 2' 'the newest that made it'
exits 0 cairn whence elsewhere
says 'p.1, made by part[n=1] of run 1' 'an older content by the older run'
says '../raw  sha256' 'its input is named'
says 'has changed since' 'and that it is another one now'
exits 0 cairn whence sub/p.1 --all
is "$(grep -c 'part\[n=1\]' out)" 2 'all that made it'
flow 3
exits 0 cairn resume
exits 0 cairn whence sub/p.1
says 'attempt     2' 'of several attempts the newest'
exits 0 cairn whence elsewhere --json
for fact in same=true here=false run=1 'task="part[n=1]"' 'inputs[0].now="differs"'; do
    is "$(json_get ".makers[0].${fact%%=*}" out)" "$(echo "${fact#*=}" | tr -d '"')" "JSON: ${fact%%=*}"
done
is "$(sha256sum elsewhere | cut -c1-64)" "$(sed 's/.*"bytes":[0-9]*,"sha256":"\([0-9a-f]*\)","same".*/\1/' out)" 'the digest is that of the content'

# Above it nothing is left either; where it was made depends on a value.
cat >deep.yaml <<'END'
name: deep
tasks:
  a: {run: 'mkdir -p deep/er; echo deep >deep/er/f; echo dir=sub >>"$CAIRN_OUTPUT"', outputs: [deep/er/f]}
  b: {needs: a, cwd: '${{ tasks.a.outputs.dir }}', inputs: [b.in], run: 'echo b >b.out', outputs: [b.out]}
END
echo in >sub/b.in
exits 0 cairn run deep.yaml
rm -r deep
exits 0 cairn whence ./deep//er/./f
says 'deep//er/./f is gone: it was made by a of run' 'and so are its directories'
exits 10 cairn whence deep/er/g
exits 0 cairn whence sub/b.out
says 'sub/b.out has the content of b.out, made by b of run' 'found by its content'
says 'inputs      b.in  sha256' 'and what it read'
exits 0 cairn whence sub/b.out --json
ok 'whether that has changed is not known' grep -q '"now":null' out

# A project that was moved with its store; links; a pipe; a store that is not there.
cd .. && mv proj moved && cd moved || exit 1
exits 0 cairn whence sub/p.2
says 'sub/p.2 was made by part[n=2] of run 2' 'a project that was moved'
says "workflow    $PWD/w.yaml" 'with the file where it is now'
ln -s sub link
exits 0 cairn whence link/p.2
says 'was made by part[n=2]' 'through a link'
mkfifo pipe
exits 10 timeout 10 cairn whence pipe
rm -r .cairn
exits 10 cairn whence sub/p.1
done_testing
