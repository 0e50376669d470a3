# A pattern among the inputs: all files that match it when the task is decided.
. "$TESTS/cli/tap.sh"

mkdir src && echo a >src/a.c && echo b >src/b.c && echo h >src/x.h
cat >flow.yaml <<'END'
name: flow
tasks:
  build:
    inputs: [{glob: "src/*.c"}, src/x.h]
    run: cat src/*.c >all
  last: {needs: [build], run: 'test -e ready'}
END
exits 0 cairn validate flow.yaml
exits 1 cairn run flow.yaml
is "$(planned flow.yaml)" last 'nothing has changed'
echo more >>src/b.c
is "$(planned flow.yaml)" 'build last' 'one of them has changed'
exits 0 cairn explain build
says 'the content of its input src/b.c differs' 'which it is'
exits 1 cairn run flow.yaml
is "$(planned flow.yaml)" last 'it was read'
echo c >src/c.c
is "$(planned flow.yaml)" 'build last' 'another one matches'
exits 0 cairn explain build
says 'its input src/c.c is new' 'which it is'
exits 1 cairn run flow.yaml
is "$(cat all)" "$(printf 'a\nb\nmore\nc')" 'the new one was read'
rm src/a.c
is "$(planned flow.yaml)" 'build last' 'one is gone'
exits 0 cairn explain build
says 'its input src/a.c is missing' 'which it is'
exits 1 cairn run flow.yaml
touch src/.hidden.c src/y.h
is "$(planned flow.yaml)" last 'what does not match does not count'
touch ready
exits 0 cairn run flow.yaml

# Alone, without a list; in another directory; with values; made by a task before.
cat >made.yaml <<'END'
name: made
tasks:
  make: {foreach: {n: {range: [1, 3]}}, run: 'mkdir -p made; echo "$n" >"made/$n.txt"', outputs: 'made/${{ n }}.txt'}
  sum: {needs: [make], cwd: made, inputs: {glob: '*.txt'}, run: 'cat *.txt >../sum', outputs: ../sum}
  one: {foreach: {n: [2]}, needs: [make], inputs: [{glob: 'made/${{ n }}*'}], run: 'true'}
  last: {needs: [sum, one], run: 'false'}
END
exits 1 cairn run made.yaml
is "$(cat sum)" "$(printf '1\n2\n3')" 'files that tasks made'
is "$(planned made.yaml)" last 'are what they were'
echo 4 >made/4.txt
is "$(planned made.yaml)" 'sum last' 'one that nobody made matches only one'

# Nothing matches, or what cannot be meant.
cat >none.yaml <<'END'
name: none
tasks: {a: {inputs: {glob: '*.nosuch'}, run: 'true'}}
END
exits 1 cairn run none.yaml
says 'no file matches its input *.nosuch'
touch x.nosuch
exits 0 cairn resume
printf 'name: w\ntasks: {a: {inputs: ["src/*.c"], run: "true"}}\n' >plain.yaml
exits 0 cairn validate plain.yaml
says '2:22: `src/*.c` is the name of one file; for all that match it write {glob: "src/*.c"}' 'a warning'
printf 'name: w\ntasks: {a: {inputs: [{glob: "src/**/x"}], run: "true"}}\n' >wrong.yaml
exits 3 cairn validate wrong.yaml
says '**'
printf 'name: w\ntasks: {a: {inputs: [{golb: "x"}], run: "true"}}\n' >wrong.yaml
exits 3 cairn validate wrong.yaml
says 'did you mean `glob`?'
printf 'name: w\ntasks: {a: {inputs: [":(glob)x"], run: "true"}}\n' >wrong.yaml
exits 3 cairn validate wrong.yaml
says 'for a file of this name put ./ before it'
printf 'name: w\ntasks: {a: {outputs: [{glob: "x"}], run: "true"}}\n' >wrong.yaml
exits 3 cairn validate wrong.yaml
# ---- A handled failure is looked at again when a file more matches ----
mkdir handled
cat >handled.yaml <<'END'
name: handled
tasks:
  try: {cwd: handled, inputs: [{glob: 's*'}], run: 'test -e s3'}
  catch: {needs: try, when: failed, run: 'true'}
END
echo 1 >handled/s1
exits 0 cairn run handled.yaml
exits 0 cairn resume
says 'nothing to do'
echo 3 >handled/s3
exits 0 cairn plan
says 'run   try'
exits 0 cairn resume
says 'ok   try'
exits 0 cairn resume
says 'nothing to do'
rm handled/s3
echo 2 >handled/s2
chmod 000 handled/s2
if test -r handled/s2; then # root
    rm handled/s2
    ln -s nowhere handled/s2
fi
exits 0 cairn run handled.yaml --fresh
exits 0 cairn resume
says 'nothing to do' 'one that failed because of an input waits for that one'

done_testing
