/** The version of libcairn, "1.2.3". */
export const version: string;

/** Every error that cairn reports. `message` says what happened and what to do. */
export interface CairnError extends Error {
  code:
    | 'CAIRN_EUSAGE' | 'CAIRN_EWORKFLOW' | 'CAIRN_ECHANGED' | 'CAIRN_EDAMAGED' | 'CAIRN_EOWNED' | 'CAIRN_ENOTFOUND' | 'CAIRN_EBUSY'
    | 'CAIRN_EIO' | 'CAIRN_ENOMEM' | 'CAIRN_ENEWER' | 'CAIRN_ELIMIT' | 'CAIRN_EAMBIGUOUS' | 'CAIRN_ESTOPPED' | 'CAIRN_ERROR';
  /** Of the system, where a call of it failed. */
  errno?: number;
}

export interface StoreOptions {
  /** The `.cairn` directory; without it, it is looked for from the working directory upward. */
  path?: string;
  /** Create it if there is none (default true). */
  create?: boolean;
  /** Write nothing; works beside a live run. */
  readOnly?: boolean;
  /** What a commit waits for: `full` survives a power cut (the default), `normal` a crash of the process, `off` promises nothing. */
  sync?: 'full' | 'normal' | 'off';
  /** The longest wait for another process's commit (default 30,000). */
  lockWaitMs?: number;
  /** A file whose bytes are the HMAC key. */
  keyFile?: string;
}

/** What a function of a run is given. */
export interface Task {
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborted when the run is being stopped, or the task has reached its time limit. */
  readonly signal: AbortSignal;
  /** An argument of the task (`with`), with its values put in. */
  argument(name: string): string | undefined;
  /** What a task named in `needs` has returned, also in an earlier process. Throws CAIRN_ENOTFOUND if there is no such value. */
  value(task: string, name: string): string;
  /** Sets a value, as returning it does; what is not a string is stored as JSON. It counts if the attempt completes. */
  set(name: string, value: unknown): void;
}
/** Returns values for later tasks, stored with the end of the attempt. Throwing fails the attempt. */
export type TaskFunction = (task: Task) => Promise<Record<string, unknown> | void> | Record<string, unknown> | void;
export type Callback = TaskFunction | { call: TaskFunction; /** Changing it makes its tasks run again. */ version?: string; description?: string };

export interface WorkflowOptions {
  params?: Record<string, string | number | boolean>;
  /** The functions that tasks name with `call`. */
  callbacks?: Record<string, Callback>;
  /** Values of the workflow's secrets; those not given come from the environment. */
  secrets?: Record<string, string>;
}
export interface Definition {
  name: string;
  /** As in a workflow file (docs/workflow-file.md), but `call` may be a function. */
  tasks: Record<string, { call?: string | Callback; needs?: string | string[]; [key: string]: unknown }>;
  [key: string]: unknown;
}
export class Workflow {
  private constructor();
  static of(definition: Definition, options?: WorkflowOptions): Workflow;
  static text(text: string, options?: WorkflowOptions & { /** In messages. */ name?: string }): Workflow;
  static file(path: string, options?: WorkflowOptions): Workflow;
}

export interface RunEvent {
  kind: string;
  run: number;
  timeMs: number;
  task?: string;
  attempt: number;
  outcome?: string;
  exitCode: number;
  signal: number;
  durationMs: number;
  checkpoint: number;
  done: number;
  total: number;
  text?: string;
  stdout?: Uint8Array;
  stderr?: Uint8Array;
}
export interface RunOptions {
  /** How many tasks at once; functions count like processes. */
  jobs?: number;
  start?: 'auto' | 'fresh' | 'resume' | 'from';
  /** For `resume`. */
  run?: number;
  /** For `from`: the id of a checkpoint. */
  from?: string;
  /** Return once only external tasks are left. */
  noWait?: boolean;
  /** Stops the run: its tasks are told, and it can be resumed. */
  signal?: AbortSignal;
  onEvent?: (event: RunEvent) => void;
  /** `task_output` events. */
  streamOutput?: boolean;
}
export interface RunResult {
  state: 'unfinished' | 'completed' | 'failed' | 'cancelled' | 'undone';
  run: number;
  exitStatus: number;
  nothingToDo: boolean;
  total: number;
  completed: number;
  failed: number;
  skipped: number;
  cancelled: number;
  pending: number;
  waiting: number;
  attempts: number;
  unsaved: number;
  leftBehind: number;
}
export interface RunInfo {
  run: number;
  workflow: string;
  state: RunResult['state'];
  live: boolean;
  total: number;
  completed: number;
  failed: number;
  skipped: number;
  cancelled: number;
}
export interface TaskInfo {
  id: string;
  outcome: string;
  attempts: number;
  running: boolean;
  interrupted: boolean;
  text?: string;
}
export interface FeedEvent {
  kind: string;
  timeMs: number;
  turn: number;
  /** For `watch`, to go on behind this event and all before it. */
  position?: string;
  /** Of a run (0: of the store). */
  run?: number;
  task?: string;
  attempt?: number;
  outcome?: string;
  reason?: string;
  text?: string;
  /** Of a debugging session. */
  session?: number;
  sessionName?: string;
  verb?: string;
  id?: string;
}

/** A text is stored as UTF-8. */
export type Bytes = string | Uint8Array;
/** A value by name. `unchanged`: as the parent has it; where that does not have it, CAIRN_ENOTFOUND. */
export type ThreadChannel = { name: Bytes; kind?: Bytes; value: Bytes; unchanged?: false } | { name: Bytes; unchanged: true };
/** A state of a thread, under (thread, space, id); the newest of a space is the one with the greatest id, byte by byte. */
export interface ThreadState {
  thread: Bytes;
  /** A part of a thread, such as a graph within a graph (default ""). */
  space?: Bytes;
  id: Bytes;
  /** An id of the same thread and space, which need not be there. */
  parent?: Bytes;
  kind?: Bytes;
  state?: Bytes;
  metadataKind?: Bytes;
  /** JSON, if it is to be found by a filter. */
  metadata?: Bytes;
  channels?: ThreadChannel[];
  /** Store it even if a secret is in it that a workflow of the store declares; else CAIRN_EUSAGE. */
  keepSecrets?: boolean;
  /** CAIRN_EEXISTS if the key is there; else it is replaced. */
  onlyNew?: boolean;
}
/** Pending writes of a step. Of one task and index the first counts; of a negative index the last. */
export interface ThreadWrites {
  thread: Bytes;
  space?: Bytes;
  /** Of the state they belong to, which need not be there. */
  id: Bytes;
  writes: { task: Bytes; path?: Bytes; channel: Bytes; kind?: Bytes; value: Bytes; index: number }[];
  keepSecrets?: boolean;
}
export interface FoundState {
  thread: string;
  space: string;
  id: string;
  parent?: string;
  kind: string;
  state: Buffer;
  metadataKind: string;
  metadata: Buffer;
  madeMs: number;
  /** The record that has it, "debug:42-...", for `cairn checkpoint show`. */
  checkpoint: string;
  channels: { name: string; kind: string; value: Buffer }[];
  /** By path, task and index. */
  writes: { task: string; path: string; channel: string; kind: string; value: Buffer; index: number }[];
}
export interface ThreadInfo {
  thread: string;
  /** Of all spaces. */
  states: number;
  /** Its number as a session of the store. */
  session: number;
  startedMs: number;
}

/** An open store. Its calls are carried out one after the other, in the order in which they were made, on libuv's pool. */
export class Store {
  private constructor();
  readonly path: string;
  static open(options?: StoreOptions | string): Promise<Store>;
  /** After the calls that wait. A run that is live goes on. */
  close(): Promise<void>;
  /** Starts or resumes a run. It fulfils whatever became of the tasks: see the result. */
  run(workflow: Workflow, options?: RunOptions): Promise<RunResult>;
  /** Goes on with a run from its file, or its stored definition, with functions of this process (0: the newest run). */
  resume(run: number, options?: Omit<RunOptions, 'run' | 'start' | 'from'> & Pick<WorkflowOptions, 'callbacks' | 'secrets'>): Promise<RunResult>;
  /** 0: the newest run; also below. */
  info(run?: number): Promise<RunInfo>;
  tasks(run?: number): Promise<TaskInfo[]>;
  /** What tasks have returned: by task, then by name. */
  values(run?: number, task?: string): Promise<Record<string, Record<string, string>>>;
  /** Completes or fails an external task that waits for a person or another program. */
  complete(run: number, task: string, values?: Record<string, string | number | boolean>): Promise<void>;
  fail(run: number, task: string, message?: string): Promise<void>;
  /** States of threads, then writes: all in one transaction, or none. Calls that wait share one, and its sync. */
  putStates(puts: { states?: ThreadState[]; writes?: ThreadWrites[] }): Promise<void>;
  /** One state, without `id` the newest of its space. */
  getState(thread: Bytes, options?: { space?: Bytes; id?: Bytes }): Promise<FoundState | undefined>;
  /** States by id, the greatest first. `metadata`: only those whose metadata have each of its keys with an equal value. */
  listStates(filter?: { thread?: Bytes; space?: Bytes; before?: Bytes; limit?: number; metadata?: Record<string, unknown> }): AsyncGenerator<FoundState, void, void>;
  /** The one that was made last first. */
  threads(): Promise<ThreadInfo[]>;
  /** How many states it had; of one that is not there 0. */
  deleteThread(thread: Bytes): Promise<number>;
  /** Content is not stored again. How many states; CAIRN_ENOTFOUND, CAIRN_EEXISTS. */
  copyThread(from: Bytes, to: Bytes): Promise<number>;
  /** The `keep` newest states of each space stay (1 or more). How many went. */
  pruneThread(thread: Bytes, keep: number): Promise<number>;
  /** What happens in the store, whichever process does it, from a position on: undefined is the beginning, "now" only what comes. */
  watch(options?: { position?: string; session?: string; signal?: AbortSignal; pollMs?: number }): AsyncGenerator<FeedEvent, void, void>;
}
