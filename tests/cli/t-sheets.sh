# make: sanitize
# Sample sheets of foreach: which members there are, what of them a task gets, and what
# an edited sheet makes run again.
. "$TESTS/cli/tap.sh"

ran() { # WANT DESCRIPTION: what ran since the last time
    touch seen
    is "$(LC_ALL=C sort seen | tr '\n' ' ')" "$1" "$2"
    rm -f seen
}

# ---- The form ----
cat >s.csv <<'END'
sample,fastq_1,fastq_2,note
a,a 1.fq,a_2.fq,"says ""hi"", and
more"
b,b_1.fq,,plain
END
cat >flow.yaml <<'END'
name: sheet
params: {who: all}
tasks:
  align:
    foreach: {csv: s.csv, key: sample}
    run: 'printf "%s|%s|%s\n" "$sample" "$fastq_1" "${fastq_2}" >>seen'
    outputs: []
  tell:
    foreach: {sample: {csv: s.csv}}
    needs: ["align[sample=${{ sample }}]"]
    exec: [sh, -c, 'printf "%s:%s\n" "$1" "${note-none}" >>seen', x, "${{ fastq_1 }}"]
  blind:
    foreach: {sample: {csv: s.csv}}
    exec: [sh, -c, 'env | grep -c -e ^fast -e ^not >>seen || :']
  join: {needs: [align], run: 'echo join >>seen'}
END
exits 0 cairn run flow.yaml --jobs 1
ran '0 0 a 1.fq:says "hi", and a|a 1.fq|a_2.fq b_1.fq:plain b|b_1.fq| join more ' 'keys and columns are values; only those that are named are given'
exits 0 cairn explain 'align[sample=a]' --json
says '"fastq_1":"a 1.fq"' 'explain has the columns that the task names'
ok 'and no others' sh -c '! grep -q note out'
foreach=$(grep -o '"foreach":{[^}]*}' out)
exits 0 cairn status --json --tasks
ok 'status has the same values of it' grep -qF "$foreach" out
exits 0 cairn status --json --tasks --sort name
ok 'and where its rows are sorted' grep -qF "$foreach" out
exits 0 cairn resume
says 'nothing to do' 'everything is done'

# ---- Edits ----
# A note: only who reads it.
sed -i 's/plain/other/' s.csv
exits 0 cairn plan --run 1
matches 'run.*tell\[sample=b\]' 'who reads a column runs again'
ok 'only that' sh -c '! grep -q "align\|sample=a" out'
exits 0 cairn explain 'tell[sample=b]'
says 'column note'
exits 0 cairn resume
ran 'b_1.fq:other ' 'who reads the edited column runs again, and nothing else'
# A column that two read.
sed -i 's/b_1/b_x/' s.csv
exits 0 cairn resume
ran 'b_x.fq:other b|b_x.fq| join ' 'and what needs it'
# The columns in another order, those that are read too: nothing.
cp s.csv kept.csv
cat >s.csv <<'END'
note,fastq_2,sample,fastq_1
"says ""hi"", and
more",a_2.fq,a,a 1.fq
other,,b,b_x.fq
END
exits 0 cairn resume
says 'nothing to do' 'where a column stands in the sheet counts for nothing'
mv kept.csv s.csv
# A column that nobody reads: nothing.
sed -i '1s/$/,extra/; 3s/$/,9/; 4s/$/,8/' s.csv
sed -i '2s/$/ /' s.csv
cat >s.csv <<'END'
sample,fastq_1,fastq_2,extra,note
a,a 1.fq,a_2.fq,9,"says ""hi"", and
more"
b,b_x.fq,,8,other
END
exits 0 cairn resume
ran '' 'a new column that nobody reads'
# A new row, a removed one, another order.
cat >s.csv <<'END'
sample,fastq_1,fastq_2,note
c,c_1.fq,c_2.fq,new
b,b_x.fq,,other
END
exits 0 cairn resume
ran '0 c_1.fq:new c|c_1.fq|c_2.fq join ' 'a new row is a new member; the rest stays done'
exits 0 cairn status --tasks
says 'align[sample=c]'
ok 'a removed row is no member any more' sh -c '! grep -q "sample=a" out'
# The sheet is gone.
mv s.csv away
exits 3 cairn resume
says 'there is no file' 'the sheet is needed, as the workflow file is'
mv away s.csv

# ---- Other forms: the same table ----
printf 'sample\tfastq_1\tfastq_2\tnote\r\nc\tc_1.fq\tc_2.fq\tnew\r\nb\tb_x.fq\t\tother\r\n' >s.tsv
printf '[{"sample":"c","fastq_1":"c_1.fq","fastq_2":"c_2.fq","note":"new"},\n{"note":"other","sample":"b","fastq_1":"b_x.fq","fastq_2":null}]' >s.json
printf '\357\273\277{"sample":"c","fastq_1":"c_1.fq","fastq_2":"c_2.fq","note":"new"}\n{"note":"other","sample":"b","fastq_1":"b_x.fq","fastq_2":""}\n' >s.jsonl
printf 'c,c_1.fq,c_2.fq,new\nb,b_x.fq,,other\n' >bare.csv
for form in 'tsv: s.tsv' 'json: s.json' 'jsonl: s.jsonl' 'csv: bare.csv, columns: [sample, fastq_1, fastq_2, note]'; do
    sed "s/csv: s.csv/$form/" flow.yaml >other.yaml
    exits 0 cairn run other.yaml --fresh --jobs 1
    ran '0 0 b_x.fq:other b|b_x.fq| c_1.fq:new c|c_1.fq|c_2.fq join ' "$form"
done
echo '["x", 2]' >list.json
cat >list.yaml <<'END'
name: list
tasks:
  t: {foreach: {part: {json: list.json}, n: {range: [9, 1, -4]}}, run: 'echo "$part$n" >>seen'}
END
exits 0 cairn run list.yaml
ran '21 25 29 x1 x5 x9 ' 'a list of values, and a range with a step'

# ---- Names of columns ----
printf 'Sample ID,FASTQ (1),2nd,,day\ns1,f1,z,q,m\n' >odd.csv
cat >odd.yaml <<'END'
name: odd
tasks:
  t: {foreach: {csv: odd.csv, key: Sample ID}, run: 'echo "$sample_id $fastq_1 $_2nd $column_4" >>seen'}
END
exits 0 cairn run odd.yaml
ran 's1 f1 z q ' 'names that are none are mapped'
says 'warning: odd.yaml:3:22: columns of odd.csv have other names here: `Sample ID` is `sample_id`, `FASTQ (1)` is `fastq_1`, `2nd` is `_2nd`, `` is `column_4`' 'and that is said'

# ---- where ----
printf 'sample,lane,kind\nx,1,tumor\nx,2,tumor\ny,1,normal\nz,10,tumor\n' >lanes.csv
cat >where.yaml <<'END'
name: where
params: {least: 1}
tasks:
  t: {foreach: {csv: lanes.csv, key: sample, where: "lane != 2 && kind == 'tumor'"}, run: 'echo "$sample$lane" >>seen'}
  p: {foreach: {os: [a, b], v: [1, 2, 3], where: "v > params.least && !(os == 'a' && v == 3)"}, run: 'echo "$os$v" >>seen'}
  q: {foreach: {sample: {csv: two.csv}, n: [1, 2], where: "lane == n"}, run: 'echo "q$sample$n" >>seen'}
END
sed '/^x,2/d' lanes.csv >two.csv
cp two.csv lanes.csv
exits 0 cairn run where.yaml
ran 'a2 b2 b3 qx1 qy1 x1 z10 ' 'where picks members by keys, columns and params'
printf 'x,2,tumor\n' >>lanes.csv
exits 0 cairn resume
matches 'nothing to do' 'no member'
ran '' 'a row that where leaves out is no duplicate, and makes nothing run'

# ---- What is refused ----
refused() { # DESCRIPTION FOREACH TEXT...: validate refuses it and says TEXT
    printf 'name: r\nparams: {day: 1}\nenv: {zone: x}\ntasks:\n  t: {foreach: %s, run: "true"}\n' "$2" >r.yaml
    exits 3 cairn validate r.yaml
    says "$3" "$1"
}
printf 'sample,v\na,1\nb,2\na,3\n' >twice.csv
refused 'a key twice' '{csv: twice.csv, key: sample}' 'twice.csv: lines 2 and 4 have the same `sample`: `a`'
printf 'sample,v\na,1\n"",2\n' >empty.csv
refused 'an empty key' '{csv: empty.csv, key: sample}' 'empty.csv: line 3: the key `sample` is empty'
printf 'sample,v\na,"1\n1"\nb\n' >short.csv
refused 'a short row' '{csv: short.csv, key: sample}' 'short.csv: line 4: 1 field, but the first line has 2'
refused 'no such column' '{csv: twice.csv, key: sampel}' 'twice.csv has no column `sampel`; did you mean `sample`'
refused 'no key' '{csv: twice.csv}' 'needs `key`'
refused 'other keys beside a sheet' '{csv: twice.csv, key: sample, n: [1]}' 'unknown key `n`'
refused 'key without a sheet' '{a: {lines: twice.csv, key: b}}' '`key` is for a sheet'
refused 'two sources' '{a: {csv: twice.csv, tsv: twice.csv}}' 'exactly one of'
refused 'columns of JSON' '{a: {json: list.json, columns: [a]}}' '`columns` is for `csv` and `tsv`'
refused 'a sheet that is not there' '{csv: none.csv, key: a}' 'there is no file'
refused 'no rows left' '{csv: lanes.csv, key: sample, where: "lane == 77"}' 'no row of the sheet is left by `where`'
refused 'a name that there is not' '{csv: lanes.csv, key: sample, where: "lame == 1"}' 'unknown name `lame` in `where`; did you mean `lane`'
refused 'no task is known yet' '{csv: lanes.csv, key: sample, where: "tasks.t.status == 1"}' 'has no value yet in `where`'
refused 'a wrong step' '{n: {range: [1, 9, 0]}}' 'the step of `range` is 0'
refused 'a step the wrong way' '{n: {range: [1, 9, -1]}}' 'is empty'
printf 'sample,day\na,1\n' >clash.csv
refused 'a param' '{csv: clash.csv, key: sample}' 'clash.csv: line 1: the column `day` is the name of the param `day`, too'
printf 'sample,Zone\na,1\n' >clash.csv
refused 'env' '{csv: clash.csv, key: sample}' 'the column `Zone` is the name of `zone` in the workflow'
printf 'sample,A b,a_b\na,1,2\n' >clash.csv
refused 'two of one name' '{csv: clash.csv, key: sample}' 'the column `a_b` is called as the column `A b` is'
printf 'sample,n\na,1\n' >clash.csv
refused 'another key' '{n: [1], sample: {csv: clash.csv}}' 'the column `n` is the name of the foreach key or column `n`, too'
refused 'another key behind it' '{sample: {csv: clash.csv}, n: [1]}' '`n` is here twice, or a column of a sheet'
printf '' >nothing.csv
refused 'an empty file' '{csv: nothing.csv, key: sample}' 'nothing.csv is empty'
printf 'name: r\ntasks:\n  m: {run: "true", outputs: made.csv}\n  t: {foreach: {csv: made.csv, key: a}, needs: m, run: "true"}\n' >r.yaml
printf 'a\nb\n' >made.csv
exits 3 cairn validate r.yaml
says 'are read before anything runs' 'a sheet that a task makes'
printf 'name: r\ntasks:\n  t: {foreach: {csv: lanes.csv, key: sample, where: "lane == 77", allow_empty: true}, run: "true"}\n  u: {run: "true"}\n' >r.yaml
exits 0 cairn validate r.yaml

awk 'BEGIN { printf "sample,v\na,"; for (i = 0; i < 131072; i++) printf "x"; print "" }' >long.csv
printf 'name: r\ntasks:\n  t: {foreach: {csv: long.csv, key: sample}, run: "true"}\n' >r.yaml
exits 0 cairn validate r.yaml
sed -i 's/"true"/echo "$v"/' r.yaml
exits 3 cairn validate r.yaml
says 'a value of the column `v` is longer than 131071 bytes' 'a cell that is named must fit into an environment'

# ---- The example: 2,000 samples, and each kind of edit ----
mkdir example && cd example || exit 1
cp "$root/examples/samples/cairn.yaml" .
"$root/examples/samples/sheet.sh" >samples.csv
wanted() { # what the report must be for the present sheet
    awk -F, 'NR > 1 && $3 != "rejected" { print $1, $2, $4 * $5 }' samples.csv
}
edited() { # WANT DESCRIPTION: what resume runs, and that the report is right
    exits 0 cairn resume --json
    is "$(sed -n 's/.*"type":"task_started".*"task":"\([^"]*\)".*/\1/p' out | LC_ALL=C sort | tr '\n' ' ')" "$1" "$2"
    wanted >right
    ok "$2: the report is right" cmp -s right report.txt
}
exits 0 cairn run cairn.yaml -q
wanted >right
is "$(wc -l <report.txt)" 1980 'as many as are not rejected'
ok 'the report is right' cmp -s right report.txt
sed -i 's/row 12, as it was/another/' samples.csv
edited '' 'a note'
sed -i 's/^\(S0007,case,b0,[0-9]*\),2/\1,9/' samples.csv
edited 'report scale[sample=S0007] ' 'an edited row'
sed -i '/^S0008,/d' samples.csv
edited 'report ' 'a removed row'
says 'scaled/S0008.txt was made by scale[sample=S0008], which is gone' 'its file is named'
sed -i '5a new,case,b9,5,5,' samples.csv
edited 'report scale[sample=new] ' 'a new row'
cd ..

# ---- Secrets ----
printf 'sample,token\na,hunter2hunter2\n' >secret.csv
cat >secret.yaml <<'END'
name: secret
secrets: [PASS]
tasks:
  t: {foreach: {csv: secret.csv, key: sample}, secrets: [PASS], run: 'echo "$token" "$PASS"'}
END
PASS=hunter2hunter2 exits 3 cairn run secret.yaml
# A condition that cannot be evaluated names the row.
printf 's,depth\na,1\nb,\n' >depth.csv
printf 'name: w\ntasks:\n  t: {foreach: {csv: depth.csv, key: s, where: depth >= 1}, run: echo}\n' >where.yaml
exits 3 cairn validate where.yaml
says '(for s=b)' 'by its key'
printf 'name: w\ntasks:\n  t: {foreach: {k: [x, y], s: {csv: depth.csv}, where: depth >= 1}, run: echo}\n' >where.yaml
exits 3 cairn validate where.yaml
says 'k=x, s=b' 'of several keys by all'
# ---- The column of a key that has another name ----
printf 'sample,x\na,1\n' >named.csv
printf 'name: named\ntasks:\n  a: {foreach: {s: {csv: named.csv, key: sample}}, exec: [echo, "${{ sample }}"]}\n' >named.yaml
exits 3 cairn validate named.yaml
says 'the column `sample` is the key, which is called `s` in this task: write s' 'the name of the key is told'

done_testing
