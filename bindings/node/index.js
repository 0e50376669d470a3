// cairn for Node. index.d.ts describes everything; docs/guide-node.md has examples.
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fields, Reader } from './fields.js';

const nothing = Buffer.alloc(0);
const native = load();

// Node has libraries of its own inside, such as OpenSSL, in other versions: ours are to find those they were linked with.
function load() {
  const path = fileURLToPath(new URL('./build/cairn.node', import.meta.url));
  if (!existsSync(path)) throw new Error(`@cairn/node is not built (${path}): run npm rebuild @cairn/node, without --ignore-scripts`);
  const module = { exports: {} };
  process.dlopen(module, path, constants.dlopen.RTLD_NOW | (constants.dlopen.RTLD_DEEPBIND ?? 0));
  return module.exports;
}

export const version = native.version();

const refuse = (text) => Object.assign(new TypeError(text), { code: 'CAIRN_EUSAGE' });
const oneOf = (what, value, names) => {
  const at = names.indexOf(value ?? names[0]);
  if (at < 0) throw refuse(`${what} is ${names.join(', ')}, not ${String(value)}`);
  return at;
};
const syncs = ['full', 'normal', 'off'];
const starts = ['auto', 'fresh', 'resume', 'from'];
const storeFields = ({ path, keyFile, create, readOnly, sync, lockWaitMs }) =>
  [path, keyFile, create ?? true, readOnly ?? false, oneOf('sync', sync, syncs), lockWaitMs ?? 0];

// ---- Workflows ----

const isCallback = (value) => typeof value === 'function' || (value !== null && typeof value === 'object' && typeof value.call === 'function');

export class Workflow {
  constructor(where, { params = {}, callbacks = {}, secrets = {} } = {}) {
    Object.assign(this, where, { params, callbacks, secrets });
    Object.freeze(this);
  }
  static file(path, options) {
    return new Workflow({ path }, options);
  }
  static text(text, options = {}) {
    return new Workflow({ text, name: options.name }, options);
  }
  // What a workflow file says, as an object; where `call` is a function its task's id becomes the name.
  static of(definition, options = {}) {
    const callbacks = { ...options.callbacks };
    const tasks = Object.fromEntries(Object.entries(definition.tasks ?? {}).map(([id, task]) => {
      if (!isCallback(task.call)) return [id, task];
      if (Object.hasOwn(callbacks, id)) throw refuse(`task ${id} has a function, and so has options.callbacks under its name`);
      callbacks[id] = task.call;
      return [id, { ...task, call: id }];
    }));
    return new Workflow({ text: JSON.stringify({ ...definition, tasks }), name: definition.name }, { ...options, callbacks });
  }
}

// ---- Runs ----

const eventKinds = ['run_started', 'notice', 'task_started', 'task_retry', 'task_finished', 'degraded', 'recovered', 'stopping', 'tick',
  'run_finished', 'task_waiting', 'task_undo', 'task_output', 'disk_full', 'task_line', 'task_reading', 'task_round'];
const runEvent = (buffer) => {
  const r = new Reader(buffer);
  const number = r.number();
  return {
    kind: eventKinds[number] ?? String(number), run: r.number(), timeMs: r.number() / 1e6, task: r.text(), attempt: r.number(),
    outcome: r.text(), exitCode: r.number(), signal: r.number(), durationMs: r.number(), checkpoint: r.number(), done: r.number(),
    total: r.number(), text: r.text(), stdout: r.bytes(), stderr: r.bytes(),
  };
};
const runResult = (buffer) => {
  const r = new Reader(buffer);
  return {
    state: r.text(), run: r.number(), exitStatus: r.number(), nothingToDo: r.flag(), total: r.number(), completed: r.number(), failed: r.number(),
    skipped: r.number(), cancelled: r.number(), pending: r.number(), waiting: r.number(), attempts: r.number(), unsaved: r.number(),
    leftBehind: r.number(),
  };
};

const COMPLETED = 1, FAILED = 2, CANCELLED = 4;

class Task {
  #attempt;
  #signal;
  constructor(attempt, signal) {
    const r = new Reader(native.ask(attempt, nothing));
    this.id = r.text();
    this.attempt = r.number();
    this.#attempt = attempt;
    this.#signal = signal;
  }
  get signal() {
    return this.#signal;
  }
  argument(name) {
    return new Reader(native.ask(this.#attempt, fields(undefined, name))).text();
  }
  value(task, name) {
    return new Reader(native.ask(this.#attempt, fields(task, name))).text();
  }
  set(name, value) {
    native.set(this.#attempt, fields(name, typeof value === 'string' ? value : JSON.stringify(value)));
  }
}

const isStopped = (attempt) => {
  const r = new Reader(native.ask(attempt, nothing));
  r.text();
  r.number();
  return r.flag();
};

// The functions of one run, and which of them are at work. A stop of the run reaches them as an abort: nobody tells the
// main thread of it, so it asks, as long as one is at work. Attempts are held weakly: one whose promise nothing can
// settle any more is collected, and so fails.
class Attempts {
  #functions;
  #working = new Set();
  #timer;
  constructor(functions) {
    this.#functions = functions;
  }
  async carryOut(attempt, number) {
    const controller = new AbortController(), working = { attempt: new WeakRef(attempt), controller };
    this.#working.add(working);
    this.#timer ??= setInterval(() => this.#ask(), 100).unref();
    let outcome = COMPLETED, message;
    try {
      const task = new Task(attempt, controller.signal);
      const values = await this.#functions[number](task);
      if (values !== undefined && values !== null && (typeof values !== 'object' || Array.isArray(values)))
        throw refuse(`${task.id} returned ${Array.isArray(values) ? 'a list' : typeof values}: a task returns nothing, or an object of values`);
      for (const [name, value] of Object.entries(values ?? {})) if (value !== undefined) task.set(name, value);
    } catch (error) {
      outcome = controller.signal.aborted ? CANCELLED : FAILED;
      message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
    this.#left(working);
    native.finish(attempt, fields(outcome, message?.replaceAll('\0', '')));
  }
  #left(working) {
    this.#working.delete(working);
    if (!this.#working.size) this.#timer = clearInterval(this.#timer);
  }
  #ask() {
    for (const working of this.#working) {
      const attempt = working.attempt.deref();
      if (attempt === undefined) this.#left(working);
      else if (!working.controller.signal.aborted && isStopped(attempt)) working.controller.abort();
    }
  }
}

const pairs = (values) => {
  const entries = Object.entries(values ?? {});
  return [entries.length, ...entries.flatMap(([name, value]) => [name, String(value)])];
};

// ---- Stores ----

export class Store {
  #handle = native.handle();
  #soon;
  #where;
  path;
  constructor(options) {
    this.#where = storeFields(options);
  }
  static async open(options = {}) {
    const store = new Store(typeof options === 'string' ? { path: options } : options);
    store.path = new Reader(await store.#call('open', ...store.#where)).text();
    store.#where[0] = store.path; // whatever the working directory is later
    return store;
  }
  #call(name, ...values) {
    return native.call(this.#handle, name, values.length ? fields(...values) : nothing);
  }
  async close() {
    await this.#call('close');
  }

  run(workflow, options = {}) {
    if (!(workflow instanceof Workflow)) throw refuse('run takes a Workflow: Workflow.of, .file or .text make one');
    return this.#run(workflow, options);
  }
  resume(run, options = {}) {
    return this.#run({ ...options }, { ...options, run });
  }
  async #run(workflow, { jobs, start, run, from, noWait, signal, onEvent, streamOutput }) {
    const callbacks = Object.entries(workflow.callbacks ?? {}).map(([name, callback]) => {
      if (!isCallback(callback)) throw refuse(`callback ${name} is neither a function nor has one in \`call\``);
      return typeof callback === 'function' ? { name, call: callback } : { ...callback, name };
    });
    const attempts = new Attempts(callbacks.map(({ call }) => call));
    signal?.throwIfAborted();
    const input = fields(...this.#where,
      callbacks.length, ...callbacks.flatMap(({ name, version, description }) => [name, version, description]),
      workflow.path, workflow.text, workflow.name, ...pairs(workflow.params), ...pairs(workflow.secrets),
      oneOf('start', start, starts), run ?? 0, from, jobs ?? 0, noWait ?? false, streamOutput ?? false, onEvent !== undefined);
    const [live, ended] = native.run(input, (what, number) =>
      number === undefined ? onEvent(runEvent(what)) : void attempts.carryOut(what, number));
    const stop = () => native.stop(live);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      return runResult(await ended);
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  async info(run = 0) {
    const r = new Reader(await this.#call('run', run));
    return {
      run: r.number(), workflow: r.text(), state: r.text(), live: r.flag(), total: r.number(), completed: r.number(), failed: r.number(),
      skipped: r.number(), cancelled: r.number(),
    };
  }
  async tasks(run = 0) {
    const r = new Reader(await this.#call('tasks', run)), tasks = [];
    while (r.more)
      tasks.push({ id: r.text(), outcome: r.text(), attempts: r.number(), running: r.flag(), interrupted: r.flag(), text: r.text() });
    return tasks;
  }
  async values(run = 0, task = undefined) {
    const r = new Reader(await this.#call('values', run, task)), values = {};
    while (r.more) {
      const of = r.text(), name = r.text();
      (values[of] ??= {})[name] = r.text();
    }
    return values;
  }
  async complete(run, task, values = {}) {
    await this.#call('complete', run, task, ...pairs(values));
  }
  async fail(run, task, message = undefined) {
    await this.#call('fail', run, task, message);
  }

  // ---- Threads: cairn/thread.h ----

  async putStates({ states = [], writes = [] }) {
    let nChannels = 0, nWrites = 0;
    const values = [];
    for (const s of states) {
      const channels = s.channels ?? [];
      nChannels += channels.length;
      values.push(s.thread, s.space ?? '', s.id, s.parent, s.kind, s.state, s.metadataKind, s.metadata, s.keepSecrets ?? false,
        s.onlyNew ?? false, channels.length);
      for (const c of channels) values.push(c.name, c.unchanged ?? false, c.kind, c.value);
    }
    for (const of of writes) {
      nWrites += of.writes.length;
      values.push(of.thread, of.space ?? '', of.id, of.keepSecrets ?? false, of.writes.length);
      for (const w of of.writes) values.push(w.task, w.path, w.channel, w.kind, w.value, w.index);
    }
    const put = this.#call('thread_put', states.length, nChannels, writes.length, nWrites, ...values);
    // Behind what this turn of the event loop puts, too: all of it is one transaction.
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      native.start(this.#handle);
    });
    await put;
  }
  async getState(thread, { space = '', id } = {}) {
    const r = new Reader(await this.#call('thread_get', thread, space, id));
    return r.more ? foundState(r) : undefined;
  }
  // By pages: what is long is neither read nor held as a whole.
  async *listStates({ thread, space, before, limit, metadata } = {}) {
    const filter = metadata === undefined ? undefined : JSON.stringify(metadata);
    let more = limit !== 0, pageBytes = 16 * 1024;
    while (more) {
      const r = new Reader(await this.#call('thread_list', thread, space, before, limit ?? 0, filter, pageBytes));
      let kind;
      while ((kind = r.number()) === 1) {
        before = r.bytes();
        yield foundState(r);
        if (limit !== undefined) limit--;
      }
      more = kind === 2 && limit !== 0;
      pageBytes = 1024 * 1024;
    }
  }
  async threads() {
    const r = new Reader(await this.#call('thread_threads')), threads = [];
    while (r.more) threads.push({ thread: r.text(), states: r.number(), session: r.number(), startedMs: r.number() / 1e6 });
    return threads;
  }
  async deleteThread(thread) {
    return new Reader(await this.#call('thread_delete', thread)).number();
  }
  async copyThread(from, to) {
    return new Reader(await this.#call('thread_copy', from, to)).number();
  }
  async pruneThread(thread, keep) {
    return new Reader(await this.#call('thread_prune', thread, keep)).number();
  }

  // By a handle of its own: this one stays free, and can be closed meanwhile.
  async *watch({ position, session, signal, pollMs = 100 } = {}) {
    const handle = native.handle();
    try {
      await native.call(handle, 'open', fields(...this.#where));
      await native.call(handle, 'feed', fields(position, session));
      for (let asked = fields(true); !signal?.aborted; asked = nothing) {
        const answer = new Reader(await native.call(handle, 'next', asked));
        if (answer.more) {
          const behind = answer.text(), r = new Reader(answer.bytes() ?? nothing);
          while (r.more) {
            const event = feedEvent(r);
            if (!r.more) position = behind;
            yield { ...event, position };
          }
        } else await sleep(pollMs, undefined, { signal }).catch(() => {});
      }
    } finally {
      await native.call(handle, 'close', nothing);
    }
  }
}

const feedEvent = (r) => r.flag()
  ? { run: r.number(), turn: r.number(), timeMs: r.number() / 1e6, kind: r.text(), task: r.text(), attempt: r.number(), outcome: r.text(), reason: r.text(), text: r.text() }
  : { session: r.number(), sessionName: r.text(), turn: r.number(), timeMs: r.number() / 1e6, kind: r.text(), verb: r.text(), id: r.text(), text: r.text() };

const foundState = (r) => {
  const found = {
    thread: r.text() ?? '', space: r.text() ?? '', id: r.text() ?? '', parent: r.text() || undefined, kind: r.text() ?? '', state: r.bytes() ?? nothing,
    metadataKind: r.text() ?? '', metadata: r.bytes() ?? nothing, madeMs: r.number() / 1e6, checkpoint: r.text(), channels: [], writes: [],
  };
  for (let n = r.number(); n > 0; n--) found.channels.push({ name: r.text() ?? '', kind: r.text() ?? '', value: r.bytes() ?? nothing });
  for (let n = r.number(); n > 0; n--)
    found.writes.push({ task: r.text() ?? '', path: r.text() ?? '', channel: r.text() ?? '', kind: r.text() ?? '', value: r.bytes() ?? nothing, index: r.number() });
  return found;
};
