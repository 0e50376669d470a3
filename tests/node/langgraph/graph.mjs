// graph.mjs PART: LangGraph's own graphs on CairnSaver (tests/cli/t-node-agents.sh).
// same: interrupts, time travel, forks, subgraphs and parallel branches give what MemorySaver gives.
// life: a graph whose process is killed (KILL=N) at its Nth call of the saver; `ran` and `stored` go to life.log.
// check: the ended life.
import { appendFileSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Annotation, Command, END, interrupt, MemorySaver, Send, START, StateGraph } from '@langchain/langgraph';
import { CairnSaver } from '@cairn/langgraph';

const ok = (good, name, detail) => {
  console.log(`${good ? 'ok' : 'not ok'} - ${name}`);
  if (!good && detail !== undefined) console.log(`# ${JSON.stringify(detail)}`);
};
const list = () => Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] });
const State = Annotation.Root({ log: list(), n: Annotation(), item: Annotation() });

// ---- The same as in memory ----

function scenarioGraph(checkpointer) {
  const inner = new StateGraph(State)
    .addNode('ask', () => ({ log: [`answer ${interrupt('who?')}`] }))
    .addNode('after', () => ({ log: ['after'] }))
    .addEdge(START, 'ask').addEdge('ask', 'after').addEdge('after', END).compile();
  return new StateGraph(State)
    .addNode('plan', (s) => ({ log: ['plan'], n: (s.n ?? 0) + 1 }))
    .addNode('left', () => ({ log: ['left'] }))
    .addNode('right', () => ({ log: ['right'] }))
    .addNode('each', (s) => ({ log: [`item ${s.item}`] }))
    .addNode('inner', async (s, config) => ({ log: (await inner.invoke({ log: [], n: s.n }, config)).log }))
    .addNode('gate', (s) => ({ log: [`gate ${interrupt({ n: s.n })}`] }))
    .addEdge(START, 'plan').addEdge('plan', 'left').addEdge('plan', 'right')
    .addConditionalEdges('left', () => [1, 2, 3].map((item) => new Send('each', { item })))
    .addEdge('right', 'inner').addEdge('inner', 'gate').addEdge('gate', END)
    .compile({ checkpointer });
}

const told = ({ values, next, metadata, tasks, parentConfig }) => ({
  values, next, step: metadata?.step, source: metadata?.source, parent: parentConfig !== undefined,
  tasks: tasks.map(({ name, interrupts, error, result }) => ({ name, error, result, interrupts: interrupts.map(({ value }) => value) })),
});

async function scenario(saver) {
  const graph = scenarioGraph(saver), config = { configurable: { thread_id: 'chat|7:é' }, durability: 'sync' }, out = {};
  const history = async () => {
    const states = [];
    for await (const state of graph.getStateHistory(config)) states.push(state);
    return states;
  };
  await graph.invoke({ log: ['begin'] }, config);
  out.interrupted = told(await graph.getState(config));
  await graph.invoke(new Command({ resume: 'ada' }), config);
  out.gate = told(await graph.getState(config));
  out.end = await graph.invoke(new Command({ resume: true }), config);
  let states = await history();
  out.history = states.map(told);

  // Time travel: from before the gate again, with another answer.
  const before = states.find(({ next }) => next.includes('gate'));
  await graph.invoke(null, before.config);
  out.again = await graph.invoke(new Command({ resume: 'no' }), config);

  // Forks: by an update of an old state, by copies of it, of the first, and of the newest.
  const fork = await graph.updateState(states.find(({ next }) => next.includes('left')).config, { log: ['changed'], n: 40 });
  await graph.invoke(null, fork);
  out.forked = told(await graph.getState(config));
  for (const at of [before, states[states.length - 1], states[0]]) {
    const copy = await graph.updateState(at.config, null, '__copy__');
    (out.copies ??= []).push(told(await graph.getState(copy)));
  }
  states = await history();
  out.all = states.map(told);
  out.before = [];
  for await (const state of graph.getStateHistory(config, { limit: 3, before: states[2].config, filter: { source: 'loop' } })) out.before.push(told(state));
  const spaces = new Set();
  for await (const { config: at } of saver.list({ configurable: { thread_id: 'chat|7:é' } })) spaces.add(at.configurable.checkpoint_ns.replace(/[0-9a-f-]{36}/g, 'ID'));
  out.spaces = [...spaces].sort();
  return JSON.parse(JSON.stringify(out));
}

// ---- A life with many deaths ----

class Mortal extends CairnSaver {
  #calls = 0;
  #kill = Number(process.env.KILL ?? 0);
  async #die(work) {
    const dies = ++this.#calls === this.#kill;
    const done = work();
    if (dies && this.#kill % 2) process.kill(process.pid, 'SIGKILL'); // in the middle of it
    const value = await done;
    if (dies) process.kill(process.pid, 'SIGKILL');
    return value;
  }
  put(...all) {
    return this.#die(() => super.put(...all));
  }
  putWrites(config, writes, task, path) {
    return this.#die(async () => {
      await super.putWrites(config, writes, task, path);
      for (const [channel, value] of writes) if (channel === 'log') for (const text of value) appendFileSync('life.log', `stored ${text}\n`);
    });
  }
}

function lifeGraph(checkpointer) {
  const node = (name) => (s) => {
    appendFileSync('life.log', `ran ${name} ${s.n}\n`);
    return { log: [`${name} ${s.n}`] };
  };
  return new StateGraph(State)
    .addNode('a', node('a')).addNode('b', node('b')).addNode('c', node('c'))
    .addNode('join', (s) => ({ ...node('join')(s), n: s.n + 1 }))
    .addEdge(START, 'a').addEdge(START, 'b').addEdge(START, 'c').addEdge(['a', 'b', 'c'], 'join')
    .addConditionalEdges('join', (s) => (s.n < 2 ? ['a', 'b', 'c'] : END))
    .compile({ checkpointer });
}

const parts = {
  async same() {
    const saver = await CairnSaver.open({ path: 'same.cairn', sync: 'off' });
    const [memory, cairn] = [await scenario(new MemorySaver()), await scenario(saver)];
    for (const key of Object.keys(memory))
      ok(isDeepStrictEqual(cairn[key], memory[key]), `the same as in memory: ${key}`, { cairn: cairn[key], memory: memory[key] });
    // Whole threads, and what is refused.
    await saver.copyThread('chat|7:é', 'copy');
    const first = await saver.getTuple({ configurable: { thread_id: 'copy' } });
    ok(await saver.pruneThread('copy', 1) > 0 && isDeepStrictEqual((await saver.getTuple({ configurable: { thread_id: 'copy' } })).checkpoint, first.checkpoint),
      'a copy of the thread, and of it the newest state alone');
    await saver.deleteThread('copy');
    ok((await saver.getTuple({ configurable: { thread_id: 'copy' } })) === undefined, 'the copy is deleted');
    // A state whose parent another program deleted meanwhile has all of its channels.
    const other = await CairnSaver.open({ path: 'same.cairn', sync: 'off' });
    const state = (id, n) => ({ v: 4, id, ts: '', channel_values: { kept: 'from the first', n }, channel_versions: { kept: 1, n }, versions_seen: {} });
    const at = await saver.put({ configurable: { thread_id: 'gone' } }, state('1', 1), {}, { kept: 1, n: 1 });
    await other.deleteThread('gone');
    await saver.put(at, state('2', 2), {}, { n: 2 });
    const { checkpoint } = await saver.getTuple({ configurable: { thread_id: 'gone' } });
    ok(isDeepStrictEqual(checkpoint.channel_values, { kept: 'from the first', n: 2 }), 'a parent deleted by another program', checkpoint.channel_values);
    await other.close();
    const closed = await CairnSaver.open({ path: 'same.cairn', create: false });
    await Promise.all([closed.close(), closed.close()]);
    ok(await closed.getTuple({ configurable: { thread_id: 'x' } }).catch(({ code }) => code) === 'CAIRN_EUSAGE', 'a saver that is closed stays closed');
    await saver.close();
  },
  async life() {
    const saver = new Mortal('life.cairn'), graph = lifeGraph(saver), config = { configurable: { thread_id: 'life' }, durability: 'sync' };
    // Not by `next`: that names no task whose writes are stored, though the step is not yet.
    const { values } = await graph.getState(config);
    await graph.invoke(values.n === undefined ? { log: [], n: 0 } : null, config);
    await saver.close();
  },
  async check() {
    const saver = new CairnSaver('life.cairn');
    const { values, next } = await lifeGraph(saver).getState({ configurable: { thread_id: 'life' } });
    await saver.close();
    const wanted = [0, 1].flatMap((n) => ['a', 'b', 'c', 'join'].map((name) => `${name} ${n}`));
    ok(isDeepStrictEqual(values.log, wanted) && next.length === 0, 'no write is lost, and none is there twice', values);
    const lines = readFileSync('life.log', 'utf8').trim().split('\n'), stored = new Set();
    const again = lines.filter((line) => {
      const [what, name] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
      if (what === 'stored') stored.add(name);
      return what === 'ran' && stored.has(name);
    });
    // One that was killed before it could note that they were stored leaves none.
    ok(stored.size >= wanted.length / 2 && again.length === 0, 'nothing ran again after its writes were stored', { again, stored: [...stored] });
  },
};
await parts[process.argv[2]]();
