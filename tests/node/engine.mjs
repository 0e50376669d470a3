// engine.mjs PART: runs of functions through @cairn/node; a line of TAP for each thing (tests/cli/t-node.sh).
import { isDeepStrictEqual } from 'node:util';

import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { Store, Workflow, version } from '@cairn/node';

const ok = (good, name, detail) => {
  console.log(`${good ? 'ok' : 'not ok'} - ${name}`);
  if (!good && detail !== undefined) console.log(`# ${JSON.stringify(detail)}`);
};
const is = (got, wanted, name) => ok(isDeepStrictEqual(got, wanted), name, got);
const refused = async (code, name, action) => {
  try {
    await action();
    ok(false, name, 'it was not refused');
  } catch (error) {
    ok(error.code === code && error.message.length > 0, name, `${error.code}: ${error.message}`);
  }
};
const begun = [];
const pages = () => Workflow.of({
  name: 'pages',
  params: { site: 'example.org' },
  tasks: {
    fetch: { call: async (task) => (begun.push('fetch'), { page: `${task.argument('url')} é`, bytes: 17 }), with: { url: 'https://${{ params.site }}/' } },
    count: {
      needs: ['fetch'],
      call: async (task) => {
        begun.push('count');
        if (process.env.CRASH) process.kill(process.pid, 'SIGKILL');
        return { letters: task.value('fetch', 'page').length };
      },
    },
    shell: { needs: ['count'], run: 'echo "$letters" >shell.out', env: { letters: '${{ tasks.count.outputs.letters }}' } },
  },
});

const parts = {
  async run() {
    const store = await Store.open('.cairn');
    ok(/^\d+\.\d+\.\d+$/.test(version), 'the version of the library', version);
    const events = [];
    const result = await store.run(pages(), { jobs: 2, params: {}, onEvent: (event) => events.push(event) });
    is([result.state, result.completed, result.exitStatus], ['completed', 3, 0], 'a run of functions and a command');
    is(await store.values(result.run), { fetch: { bytes: '17', page: 'https://example.org/ é' }, count: { letters: '22' } }, 'what they return are values');
    is(events.filter((event) => event.kind === 'task_finished').map((event) => event.task), ['fetch', 'count', 'shell'], 'events are told');
    is((await store.info(result.run)).state, 'completed', 'its state is read');
    is((await store.run(pages(), { start: 'resume', run: result.run })).nothingToDo, true, 'there is nothing to do again');

    // Errors of the library, of functions, and of whoever calls.
    await refused('CAIRN_EWORKFLOW', 'a mistake in a workflow', () => store.run(Workflow.text('tasks: 3')));
    await refused('CAIRN_ENOTFOUND', 'a run that there is not', () => store.info(99));
    await refused('CAIRN_ENOTFOUND', 'a callback that is not given', () => store.run(Workflow.text('{name: x, tasks: {a: {call: b}}}')));
    await refused('CAIRN_EUSAGE', 'a text with a NUL', () => store.values(1, 'a\0b'));
    await refused('CAIRN_ENOTFOUND', 'a store that there is not', () => Store.open({ path: 'none', create: false }));
    const failing = Workflow.of({ name: 'failing', tasks: {
      throws: { call: async () => { throw new RangeError('no good'); }, may_fail: true },
      list: { call: async () => [1], may_fail: true },
      early: { call: (task) => ({ x: task.value('throws', 'x') }), may_fail: true },
      again: { call: async (task) => { if (task.attempt < 3) throw new Error('not yet'); return { n: task.attempt }; }, retries: 2 },
    } });
    const failed = await store.run(failing);
    is((await store.tasks(failed.run)).map((task) => [task.id, task.outcome, task.attempts]),
      [['throws', 'failed', 1], ['list', 'failed', 1], ['early', 'failed', 1], ['again', 'completed', 3]], 'an error fails the attempt');
    ok((await store.tasks(failed.run))[0].text.startsWith('RangeError: no good'), 'its text is stored');

    // Nothing holds the promise: it fails, and the run ends.
    const lost = store.run(Workflow.of({ name: 'lost', tasks: { a: { call: () => new Promise(() => {}) } } }));
    let collecting = true;
    lost.finally(() => (collecting = false));
    while (collecting) {
      globalThis.gc();
      await new Promise(setImmediate);
    }
    is((await lost).state, 'failed', 'a promise that can never be settled fails');

    // Side by side, however many: no thread waits for a promise.
    let most = 0, now = 0, all;
    const gate = new Promise((resolve) => (all = resolve));
    const wide = Workflow.of({ name: 'wide', tasks: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`t${i}`, {
      call: async () => {
        most = Math.max(most, ++now);
        if (now === 40) all();
        await gate;
      } }])) });
    is([(await store.run(wide, { jobs: 40 })).completed, most], [40, 40], 'forty at once');

    // A stop reaches functions as an abort.
    const controller = new AbortController();
    const stopped = store.run(Workflow.of({ name: 'stopped', tasks: { a: { call: ({ signal }) => new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')));
      controller.abort();
    }) } } }), { signal: controller.signal });
    is([(await stopped).state, (await stopped).exitStatus], ['cancelled', 7], 'an abort stops the run, and the function');
    const again = (await stopped).run;
    is((await store.resume(again, { callbacks: { a: async () => ({ done: 1 }) } })).state, 'completed', 'it is resumed with another function');

    // External tasks.
    const asked = await store.run(Workflow.text(JSON.stringify({ name: 'asked', tasks: { ok: { external: 'may it?' }, go: { needs: ['ok'], call: 'go' } } }),
      { callbacks: { go: (task) => ({ who: task.value('ok', 'who') }) } }), { noWait: true });
    is(asked.waiting, 1, 'a task waits for a person');
    await store.complete(asked.run, 'ok', { who: 'ada' });
    is((await store.resume(asked.run, { callbacks: { go: (task) => ({ who: task.value('ok', 'who') }) } })).completed, 2, 'and is answered');

    // Watching, from a position on.
    const seen = [];
    let position;
    for await (const event of store.watch()) {
      seen.push(event.kind);
      position = event.position;
      if (position) break;
    }
    ok(seen[0] === 'run_started' && position, 'watch tells from the beginning', seen);
    const end = new AbortController();
    let told = false;
    const watching = (async () => {
      for await (const event of store.watch({ position: 'now', signal: end.signal })) {
        if (event.kind !== 'run_finished') continue;
        told = true;
        end.abort();
      }
    })();
    while (!told) await store.run(Workflow.of({ name: 'seen', tasks: { a: { call: async () => {} } } }), { start: 'fresh' });
    await watching;
    ok(true, 'watch ends by its signal');

    // What was asked before the end is answered.
    const before = [store.info(1), store.tasks(1), store.values(1)], closed = store.close();
    is((await Promise.all(before)).length, 3, 'calls that wait are answered before the store is closed');
    await closed;
    await refused('CAIRN_EUSAGE', 'a closed store', () => store.info(1));
    await store.close();
  },
  async begin() {
    const store = await Store.open('crash.cairn');
    await store.run(pages());
  },
  // States of an agent's framework (cairn/thread.h).
  async threads() {
    const store = await Store.open('threads.cairn');
    const odd = '\ud800|:\0é', text = (found) => found.channels.map(({ name, kind, value }) => [name, kind, value.toString()]);
    await store.putStates({
      states: [
        { thread: odd, space: 'a|b:c', id: '1', kind: 'json', state: '{}', metadata: '{"step":1}', channels: [{ name: 'x', kind: 'json', value: '1' }, { name: 'y', value: new Uint8Array([0, 255]) }] },
        { thread: odd, space: 'a|b:c', id: '2', parent: '1', metadata: '{"step":2}', channels: [{ name: 'x', unchanged: true }, { name: 'y', value: 'new' }] },
      ],
      writes: [{ thread: odd, space: 'a|b:c', id: '2', writes: [{ task: 't', path: 'p', channel: 'x', kind: 'json', value: '7', index: 0 }, { task: 't', channel: 'e', value: '', index: -1 }] }],
    });
    const newest = await store.getState(odd, { space: 'a|b:c' });
    is([newest.thread, newest.space, newest.id, newest.parent, newest.metadata.toString(), text(newest)],
      [odd, 'a|b:c', '2', '1', '{"step":2}', [['x', 'json', '1'], ['y', '', 'new']]], 'the newest state, with what its parent has');
    is(newest.writes.map((w) => [w.task, w.path, w.channel, w.kind, w.value.toString(), w.index]), [['t', '', 'e', '', '', -1], ['t', 'p', 'x', 'json', '7', 0]], 'its writes');
    const first = await store.getState(odd, { space: 'a|b:c', id: '1' });
    is([first.parent, first.kind, first.channels[1].value.equals(Buffer.from([0, 255])), first.writes], [undefined, 'json', true, []], 'one by id');
    is([await store.getState(odd), await store.getState('none')], [undefined, undefined], 'what is not there');

    // Puts that wait share a transaction; one that is refused fails alone.
    const puts = Array.from({ length: 200 }, (_, i) => store.putStates({
      states: [{ thread: 'many', id: String(1000 + i), parent: String(999 + i), metadata: `{"odd":${i % 2}}`, onlyNew: i === 150,
        channels: [{ name: 'big', value: 'v'.repeat(i % 10 === 0 ? 9000 : 9) }, { name: 'kept', ...(i ? { unchanged: true } : { value: 'from the first' }) }] }],
    }));
    puts.push(store.putStates({ states: [{ thread: 'many', id: '1000', onlyNew: true }] }));
    puts.push(store.putStates({ states: [{ thread: 'many', id: '2', channels: [{ name: 'x', value: '' }, { name: 'x', value: '' }] }] }));
    puts.push(store.putStates({ states: [{ thread: 'many', id: '3' }] }));
    const settled = await Promise.allSettled(puts);
    is(settled.map((s) => s.reason?.code).filter((code) => code), ['CAIRN_EEXISTS', 'CAIRN_EUSAGE'], 'of many puts two are refused');
    const all = [];
    for await (const found of store.listStates({ thread: 'many' })) all.push(found);
    is(all.map(({ id }) => id), [...Array.from({ length: 200 }, (_, i) => String(1199 - i)), '3'].sort().reverse(), 'the others are there, by pages');
    is(text(all.find(({ id }) => id === '1199'))[1], ['kept', '', 'from the first'], 'what all have unchanged');
    await store.copyThread('many', 'copy');
    const listed = async (filter) => {
      const ids = [];
      for await (const found of store.listStates(filter)) ids.push(found.id);
      return ids;
    };
    is(await listed({ before: '1004', limit: 5 }), ['1003', '1003', '1002', '1002', '1001'], 'a list of all threads, before, limit');
    is((await listed({})).length, 404, 'all of all threads');
    is(await listed({ thread: 'copy', metadata: { odd: 1 }, limit: 2 }), ['1199', '1197'], 'a filter of metadata');
    is(await listed({ limit: 0 }), [], 'none');
    is((await store.threads()).map(({ thread, states }) => [thread, states]), [['copy', 201], ['many', 201], [odd, 2]], 'the threads');
    await refused('CAIRN_EEXISTS', 'a copy over a thread', () => store.copyThread('many', odd));
    await refused('CAIRN_ENOTFOUND', 'a copy of none', () => store.copyThread('none', 'x'));
    await refused('CAIRN_EUSAGE', 'retention of nothing', () => store.pruneThread('copy', 0));
    is([await store.pruneThread('copy', 3), await listed({ thread: 'copy' })], [198, ['3', '1199', '1198']], 'retention');
    // Puts of one turn of the event loop are one transaction, and so one record.
    const turn = (id) => store.putStates({ states: [{ thread: 'turn', id }] });
    const later = (async () => turn(await '3'))();
    await Promise.all([turn('1'), turn('2'), later]);
    const ofTurn = await Promise.all(['1', '2', '3'].map((id) => store.getState('turn', { id })));
    is(new Set(ofTurn.map(({ checkpoint }) => checkpoint)).size, 1, 'puts of one turn share a transaction');
    await store.deleteThread('turn');
    // A delete is behind the put before it, and before the put behind it.
    const order = [store.putStates({ states: [{ thread: 'many', id: 'z' }] }), store.deleteThread('many'), store.putStates({ states: [{ thread: 'many', id: 'a' }] })];
    is([(await Promise.all(order))[1], await listed({ thread: 'many' }), await store.deleteThread('none')], [202, ['a'], 0], 'a delete keeps its place');
    await refused('CAIRN_EUSAGE', 'no number as a value', () => store.putStates({ states: [{ thread: 'many', id: 'b', channels: [{ name: 'x', value: { } }] }] }));
    await store.close();
    const reader = await Store.open({ path: 'threads.cairn', readOnly: true });
    await refused('CAIRN_EUSAGE', 'a put by a handle that only reads', () => reader.putStates({ states: [{ thread: 'many', id: 'b' }] }));
    await reader.close();
  },
  async resume() {
    const store = await Store.open('crash.cairn');
    const { state } = await store.resume(1, pages());
    is([state, begun], ['completed', ['count']], 'another process resumes it: only what was interrupted runs again');
    await store.close();
  },
  // Node ends while functions are at work.
  async exit() {
    const store = await Store.open('exit.cairn');
    store.run(Workflow.of({ name: 'exit', tasks: { a: { call: () => new Promise(() => setImmediate(() => process.exit(3))) } } }));
  },
  async worker() {
    if (isMainThread) {
      const worker = new Worker(new URL(import.meta.url), { argv: ['worker'], workerData: 'worker.cairn' });
      await new Promise((resolve) => worker.once('message', resolve));
      await worker.terminate();
      const store = await Store.open('worker.cairn');
      const left = await store.info(1);
      // Unfinished: its last function had ended before the request to stop.
      ok(['cancelled', 'unfinished'].includes(left.state) && !left.live, 'a worker that is terminated leaves a run that can be resumed');
      is((await store.resume(1, { callbacks: { a: async () => {} } })).state, 'completed', 'and it is');
      await store.close();
      return;
    }
    const { parentPort } = await import('node:worker_threads');
    const store = await Store.open(workerData);
    store.run(Workflow.of({ name: 'worker', tasks: { a: { call: () => new Promise(() => parentPort.postMessage('at work')) } } }));
  },
};
await parts[process.argv[2]]();
