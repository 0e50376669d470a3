# Short names of shells.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END'
name: flow
on_failure: continue
tasks:
  plain: {run: 'false | true'}
  long: {run: 'false | true', shell: [bash, -euo, pipefail, -c]}
  pipe: {run: 'false | true', shell: bash}
  array: {run: 'a=(1 2); echo "${a[1]}" >array', shell: bash}
  unset: {run: 'echo "$nosuch_variable"', shell: bash}
  posix: {run: 'echo posix >posix', shell: sh}
  gate: {exec: ['true'], check: 'false | true', shell: bash}
END
if ! command -v bash >/dev/null; then
    skip_all 'there is no bash'
fi
exits 1 cairn run flow.yaml
for task in long pipe unset gate; do
    matches "^FAILED $task " "$task fails"
done
for task in plain array posix; do
    exits 0 cairn explain "$task"
    says 'completed' "$task completes"
done
is "$(cat array)" 2 'bash it is'

# The long form and the short name are the same.
cat >same.yaml <<'END'
name: same
tasks:
  a: {run: 'echo a', shell: [bash, -euo, pipefail, -c]}
  b: {run: 'echo b'}
  last: {needs: [a, b], run: 'false'}
END
exits 1 cairn run same.yaml
sed -i 's/shell: \[.*\]/shell: bash/' same.yaml
sed -i "s/{run: 'echo b'}/{run: 'echo b', shell: sh}/" same.yaml
is "$(planned same.yaml)" last 'nothing runs again'
exits 0 cairn plan same.yaml
sed -i 's/shell: sh/shell: bash/' same.yaml
is "$(planned same.yaml)" 'b last' 'another shell is another task'

if command -v python3 >/dev/null; then
    printf 'name: py\ndefaults: {shell: python}\ntasks:\n  a:\n    run: |\n      import os\n      print(os.environ["CAIRN_TASK"])\n' >py.yaml
    exits 0 cairn run py.yaml
    exits 0 cairn log a
    says a 'python'
else
    skip python 'there is no python3'
fi
printf 'name: w\ntasks: {a: {run: x, shell: pwsh}}\n' >wrong.yaml
exits 3 cairn validate wrong.yaml
says '`shell` must be sh, bash, zsh, python, node, perl or ruby, not `pwsh`'
printf 'name: w\ntasks: {a: {run: x, shell: bash -e}}\n' >wrong.yaml
exits 3 cairn validate wrong.yaml
says 'or a list, as in [bash, -e, -c]'
done_testing
