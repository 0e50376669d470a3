# Declared files that are symbolic links: what they lead to counts. Links within a declared
# directory: where they point.
. "$TESTS/cli/tap.sh"

# ---- Symbolic links to directories ----

cat >link.yaml <<'END'
name: link
tasks:
  a: {run: 'cat data/f >o; echo a >>ran', inputs: data}
  m: {run: 'mkdir -p made; ln -sfn made link; echo good >link/x; echo m >>ran', outputs: link}
  z: {needs: [a, m], run: 'cat link/x >seen'}
END
mkdir real other; echo v1 >real/f; ln -s real data
: >ran
exits 0 cairn run link.yaml
echo 2 >real/f
is "$(planned)" 'a z' 'what a link leads to is an input'
exits 0 cairn resume
is "$(cat o)" 2 '... and is read again'
echo somebody >made/x
is "$(planned)" 'm z' 'and an output'
exits 0 cairn resume
is "$(cat seen)" good '... and is made again'
echo other >made/x
is "$(planned --check-outputs=content)" 'm z' 'by content, too'
echo good >made/x
cp real/f other/f
ln -sfn other data
exits 0 cairn resume
says 'nothing to do' 'a link to another directory with the same content changes nothing'
echo 3 >other/f
is "$(planned)" 'a z' 'one with other content does'
ln -sfn real data
exits 0 cairn resume
says 'nothing to do' 'as it was'

# Within a directory a link counts by where it points, whatever that is.
cat >within.yaml <<'END'
name: within
tasks:
  a: {run: 'echo a >>ran', inputs: in}
END
mkdir -p in t1
ln -s ../t1 in/d; ln -s . in/self; ln -s ../gone in/gone; ln -s ../x1 in/x; ln -s / in/everything
echo 1 >t1/f; echo 1 >x1; echo 1 >in/own
exits 0 timeout 60 cairn run within.yaml
echo 2 >t1/f; echo 2 >x1
exits 0 cairn resume
says 'nothing to do' 'what it leads to is not compared'
for change in 'ln -sfn ../t2 in/d' 'ln -sfn elsewhere in/gone' 'echo 2 >in/own'; do
    eval "$change"
    is "$(planned)" a "a change in the directory counts ($change)"
    exits 0 cairn resume
done

# The declared path itself.
for to in round nowhere; do
    ln -sfn $to round
    printf 'name: %s\ntasks:\n  a: {run: "true", inputs: round}\n' $to >bad.yaml
    exits 1 cairn run bad.yaml
    says 'its input round is missing' "a link to $to is named"
done
rm -f round
done_testing
