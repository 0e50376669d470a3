# Keys that several tasks have, written once.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

cat >w.yaml <<'EOF'
name: w
templates:
  base:
    retries: 1
    env: {A: base, B: base, C: base}
    cwd: .
  more:
    extends: base
    env: {B: more}
    run: echo "$CAIRN_TASK $A $B $C" >>ran
  other: {env: {C: other}, run: echo other >>ran}
tasks:
  one: {extends: more}
  two: {extends: more, env: {C: own}}
  three: {extends: [more, other]}
  four: {extends: [other, more]}
  five: {extends: more, exec: [sh, -c, 'echo "five $B" >>ran']}
  six: {run: 'echo six ${A-none} >>ran', needs: [one, two]}
EOF
exits 0 cairn run w.yaml -j 4
is "$(sort ran | tr '\n' ' ')" 'five more four base more base one base more base other six none two base more own ' \
    'own keys first, then the later template; env one by one'
is "$(planned)" '' 'nothing is left'

# ---- Written out it is the same; an edit of a template is one of its tasks ----
cp w.yaml kept.yaml
sed -i 's/^  one: .*/  one: {env: {A: base, B: more, C: base}, cwd: ., retries: 1, run: "echo \\"$CAIRN_TASK $A $B $C\\" >>ran"}/' w.yaml
is "$(planned)" '' 'written out it runs nothing again'
sed -i 's/{B: more}/{B: new}/' w.yaml
is "$(planned)" 'two three four five six' 'an edit of a template is one of what extends it'
run cairn explain two
says 'env B changed' 'explain says which key'
mv kept.yaml w.yaml

# ---- In an included file they are its own ----
cat >i.yaml <<'EOF'
name: i
include: [{file: part.yaml, as: p}]
templates: {t: {run: echo outer >>ran2}}
tasks: {a: {extends: t}}
EOF
echo 'templates: {t: {run: echo inner >>ran2}}
tasks: {b: {extends: t}}' >part.yaml
exits 0 cairn run i.yaml
is "$(sort ran2 | tr '\n' ' ')" 'inner outer ' 'templates of two files with one name'

# ---- Mistakes ----
refuses() { # TEXT SAYS
    printf 'name: w\n%s\n' "$1" >bad.yaml
    run cairn validate bad.yaml
    is "$status" 3 "refused: $2"
    says "$2" "$2"
}
refuses 'templates: {t: {nedds: a}}
tasks: {a: {run: "true"}}' 'bad.yaml:2:17: unknown key `nedds` in template `t`; did you mean `needs`?'
refuses 'templates: {t: {timeout: soon}}
tasks: {a: {run: "true", extends: t}}' 'bad.yaml:2:26: `timeout` must be a duration'
refuses 'templates: {t: {shell: bash}}
tasks: {a: {exec: ["true"], extends: t}}' 'bad.yaml:2:17: `shell` is only for'
refuses 'templates: {test: {retries: 1}}
tasks: {a: {run: "true", extends: tset}}' 'bad.yaml:3:35: there is no template `tset`; did you mean `test`?'
refuses 'templates: {a: {extends: b}, b: {retries: 1}}
tasks: {a: {run: "true", extends: a}}' 'bad.yaml:2:26: there is no template `b`; a template can extend those above it'
refuses 'templates: {a: {extends: a}}
tasks: {a: {run: "true", extends: a}}' 'bad.yaml:2:26: there is no template `a`'
refuses 'templates: {a/b: {retries: 1}}
tasks: {a: {run: "true"}}' 'the name of the template `a/b`'
refuses 'templates: [a]
tasks: {a: {run: "true"}}' '`templates` must be a mapping'
refuses 'templates: {a: {retries: 1}}
tasks: {a: {extends: a}}' 'task `a` has nothing to do'
refuses 'tasks: {a: {extends: a, run: "true"}}' 'there is no template `a`'
refuses 'templates: {t: {retries: 1}}
tasks: {a: {inherits: t, run: "true"}}' 'did you mean `extends`?'
printf 'name: w\ntemplates: {t: {retries: 1}}\ntasks: {a: {run: "true"}}\n' >w.yaml
run cairn validate w.yaml
is "$status" 0 'a template that nobody extends is valid'
says 'w.yaml:2:13: no task extends `t`' 'and told of'
done_testing
