// A small agent whose states are in cairn's store. See README.md.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph';
import { CairnSaver } from '@cairn/langgraph';

// ---- Tools: each leaves a line in tools.log, so that one can see what has happened ----

const log = (line) => appendFileSync('tools.log', `${line}\n`);
const tools = {
  async find_invoice({ customer }) {
    log(`find_invoice ${customer}`);
    return { invoice: 'INV-7', customer, amount: 120 };
  },
  // Not to be done twice: it asks under a key of its own what has become of an earlier attempt.
  async refund({ invoice, amount }, key) {
    const done = existsSync('payments.log') && readFileSync('payments.log', 'utf8').includes(key);
    if (!done) {
      if (process.env.CRASH === 'before') process.kill(process.pid, 'SIGKILL');
      appendFileSync('payments.log', `${key} ${invoice} ${amount}\n`);
      if (process.env.CRASH === 'after') process.kill(process.pid, 'SIGKILL');
    }
    log(`refund ${invoice} ${amount}${done ? ' (was done already)' : ''}`);
    return { refunded: amount };
  },
  async send_mail({ to, text }) {
    log(`send_mail ${to}: ${text}`);
    return { sent: true };
  },
};
const needsApproval = new Set(['refund']);

// ---- A model: it answers from what was said so far. Put a real one here. ----

function model(messages) {
  const results = Object.fromEntries(messages.filter(({ role }) => role === 'tool').map(({ name, content }) => [name, content]));
  const customer = messages[0].content.split(' ').pop();
  if (!results.find_invoice) return { call: { name: 'find_invoice', args: { customer } } };
  if (!results.refund) return { call: { name: 'refund', args: { invoice: results.find_invoice.invoice, amount: results.find_invoice.amount } } };
  const text = results.refund.refused ? `no refund: ${results.refund.refused}` : `${results.refund.refunded} are on their way`;
  if (!results.send_mail) return { call: { name: 'send_mail', args: { to: customer, text } } };
  return { content: `Told ${customer}: ${text}.` };
}

// ---- The graph ----

const State = Annotation.Root({ messages: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }) });
const last = ({ messages }) => messages[messages.length - 1];
const say = (message) => ({ messages: [message] });

const builder = new StateGraph(State)
  .addNode('think', ({ messages }) => say({ role: 'assistant', ...model(messages) }))
  .addNode('approve', (state) => {
    const { name, args } = last(state).call;
    const answer = interrupt({ question: `${name} ${JSON.stringify(args)}?` });
    return answer === 'yes' ? say({ role: 'approval', call: last(state).call }) : say({ role: 'tool', name, content: { refused: answer } });
  })
  .addNode('act', async (state, { configurable }) => {
    const { name, args } = last(state).call;
    return say({ role: 'tool', name, content: await tools[name](args, `${configurable.thread_id}:${state.messages.length}`) });
  })
  .addEdge(START, 'think')
  .addConditionalEdges('think', (state) => (!last(state).call ? END : needsApproval.has(last(state).call.name) ? 'approve' : 'act'))
  .addConditionalEdges('approve', (state) => (last(state).role === 'approval' ? 'act' : 'think'))
  .addEdge('act', 'think');

// ---- The program ----

const [command, thread, argument, answer] = process.argv.slice(2);
const saver = new CairnSaver('.cairn');
const graph = builder.compile({ checkpointer: saver });
const config = { configurable: { thread_id: thread }, durability: 'sync' };

async function go(input, from = config) {
  await graph.invoke(input, from);
  const state = await graph.getState(config);
  const asked = state.tasks.flatMap(({ interrupts }) => interrupts)[0];
  console.log(asked ? `waits: ${asked.value.question}` : last(state.values).content);
}
const commands = {
  ask: () => go({ messages: [{ role: 'user', content: argument }] }),
  answer: () => go(new Command({ resume: argument })),
  resume: () => go(null),
  async history() {
    for await (const { config: at, next, values } of graph.getStateHistory(config))
      console.log(at.configurable.checkpoint_id, `${values.messages.length} messages`, next.length ? `before ${next}` : 'the end');
  },
  // From an earlier state on, with another answer; what came after it stays in the history.
  async fork() {
    const from = { ...config, configurable: { ...config.configurable, checkpoint_id: argument } };
    await graph.invoke(null, from);
    await go(new Command({ resume: answer }));
  },
};
if (!Object.hasOwn(commands, command ?? '') || !thread) {
  console.error('use: agent.mjs ask THREAD TEXT | answer THREAD TEXT | resume THREAD | history THREAD | fork THREAD ID ANSWER');
  process.exitCode = 2;
} else await commands[command]();
await saver.close();
