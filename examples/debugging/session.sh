#!/bin/sh
# Looking for the cause of a loss that becomes NaN: a session with cairn, as a person or an
# agent would keep it. Run it in an empty directory; $1 is the time to ask about at the
# end (2 hours ago).
set -eu
when=${1:-2 hours ago}

say() {
    printf '\n# %s\n' "$*"
}

say 'What may it be?'
cairn session start nan-loss
cause=$(cairn hypothesis add 'Layer 2 begins with bad weights' --prior 0.3)
other=$(cairn hypothesis add 'The learning rate is too high' --prior 0.4)
gap=$(cairn gap add 'Does it happen with the old data as well?' --hypothesis "$other" --criticality high)
cairn belief add 'The input is normalised' --confidence 0.9 --subject input --claim normalised
cairn hypothesis test "$cause"
cairn evidence add "$cause" 'the first NaN appears in layer 2' --strength 0.5

say 'Before something risky'
before=$(cairn checkpoint create 'before changing how layer 2 begins' --tag risky)

say 'The change seems to help'
cairn evidence add "$cause" 'no NaN in 100 steps with the new start' --kind experiment --strength 0.9
cairn hypothesis confirm "$cause" --reason 'gone with the new start'

say 'It does not: things go wrong'
cairn evidence add "$cause" 'NaN at step 140, in layer 5' --kind experiment --strength -1
cairn belief add 'The input of shard 7 is raw' --confidence 0.8 --subject input --claim normalised --denied

say 'What has changed since the checkpoint?'
cairn checkpoint diff "$before"

say 'Back to it, and on from there; what was noted meanwhile stays on its own branch'
cairn checkpoint restore "$before" --yes
cairn note add 'layer 2 was a false lead: NaN came back at step 140, in layer 5' --about "$cause" --tag lesson
cairn hypothesis reject "$cause" --reason 'NaN comes back, in another layer'
cairn gap fill "$gap" 'no: only with shard 7'
cairn branch list

say "What was believed $when?"
cairn checkpoint at "$when" --section hypotheses

say 'Before the context of an agent is shortened'
cairn checkpoint create --trigger compaction-warning

say 'All of it is there, and sound'
cairn hypothesis list
cairn checkpoint list
cairn checkpoint verify
