// The thread that takes requests and always answers: other threads run the tests, and it ends them if they take too
// long.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const util = require('node:util');
const { Worker } = require('node:worker_threads');
const { INTERRUPTED, interrupter, surveyed, traced } = require('./survey.js');

/// Maximum number of characters in one piece of an answer.
const PIECE = 48 << 10;
/// The least time limit of a candidate in milliseconds, and the limit as a multiple of the time without it.
const LEAST = 300;
const TIMES = 10;
const MEMORY_MB = 1024;
/// The number of answers, if there are enough inputs, that describe the behaviour of an edit.
const ANSWERS = 20;
/// The share of the time limit after which a hanging test fails.
const GUARDED = 0.8;
/// Maximum number of processes that are searched for programs that tests started.
const MOST_PROCESSES = 1_000;
const FLAGS = ['--experimental-vm-modules', '--experimental-import-meta-resolve', '--no-warnings'];

let root = null;
/// The code that these threads run.
let script = null;
let plan = null;
let command = null;
let worker = null;
let spare = null;
let last = '';
/// Interrupts threads, if tests may hang.
let inspector = null;

/// A thread in which tests can run, and its requests.
class Runner {
  constructor(flags = []) {
    this.asked = null;
    this.id = 0;
    /// The plan that it received.
    this.knows = null;
    this.why = null;
    this.thread = new Worker(script, {
      eval: true,
      execArgv: [...FLAGS, ...flags],
      stdout: true,
      stderr: true,
      workerData: { root, ...command },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    this.thread.stdout.resume();
    this.thread.stderr.resume();
    const gone = () => this.settle({ gone: true });
    this.thread.on('message', (said) => this.hear(said ?? {}));
    this.thread.on('error', gone);
    this.thread.on('exit', gone);
  }

  hear(said) {
    // A late answer to an earlier request is ignored.
    if (said.dead === undefined && said.id !== this.id) return;
    if (said.stage === 'all') this.allow?.();
    else if (said.stage !== undefined) this.watch?.(said);
    else this.settle(said);
  }

  settle(said) {
    if (said.gone || said.dead) this.why = said.dead ?? 'the thread of the tests ended';
    const { asked } = this;
    this.asked = null;
    asked?.(said);
  }

  /// The answer within this many milliseconds. Without an answer, the thread is ended.
  async ask(message, limit, longer = limit) {
    const said = await this.tell(message, limit, longer);
    if (said.late || said.gone) this.end();
    return { ...said, why: said.why ?? this.why };
  }

  tell(message, limit, longer = limit) {
    if (this.why !== null) return Promise.resolve({ gone: true, why: this.why });
    return new Promise((resolve) => {
      let timer = setTimeout(() => this.settle({ late: true }), limit);
      this.allow = () => {
        clearTimeout(timer);
        timer = setTimeout(() => this.settle({ late: true }), longer);
      };
      this.asked = (said) => {
        clearTimeout(timer);
        resolve(said);
      };
      this.id += 1;
      this.thread.postMessage({ ...message, id: this.id });
    });
  }

  /// Interrupts its work. Afterwards it can only handle one last request.
  async interrupt() {
    inspector?.interrupt(this.thread.threadId);
    const rested = await this.tell({ work: 'rest' }, INTERRUPTED);
    if (rested.late || rested.gone) this.end();
  }

  end() {
    this.why ??= 'it took too long';
    this.thread.removeAllListeners('message');
    this.thread.terminate().catch(() => {});
    // A thread that waits for a program ends only after the program.
    endPrograms();
  }
}

/// Kills the programs that tests left running, and their children, which Linux lists in `/proc`.
function endPrograms() {
  const found = [process.pid];
  for (let at = 0; at < found.length && found.length < MOST_PROCESSES; at += 1) {
    try {
      for (const task of fs.readdirSync(`/proc/${found[at]}/task`)) {
        const children = fs.readFileSync(`/proc/${found[at]}/task/${task}/children`, 'utf8');
        found.push(...children.split(' ').filter(Boolean).map(Number));
      }
    } catch {
      // It has ended, or is unreadable.
    }
  }
  for (const pid of found.slice(1)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

/// Starts a thread that loads everything.
function warmed() {
  const runner = new Runner();
  runner.knows = plan;
  runner.ready = runner.ask({ work: 'warm', plan }, 10 * plan.all + 10_000);
  return runner;
}

async function current() {
  for (let tries = 0; tries < 3; tries += 1) {
    if (worker !== null && worker.why === null) return worker;
    worker = spare?.why === null ? spare : warmed();
    spare = null;
    await worker.ready;
    if (worker.why === null) spare = warmed();
  }
  return null;
}

async function start({ argv, framework, failing, passing, was_ended, limit_ms }) {
  command = { argv, framework };
  const until = Date.now() + limit_ms;
  let survey = null;
  if (was_ended) {
    inspector = interrupter();
    survey = await surveyed(() => new Runner(), new Set(passing), limit_ms / 2);
    if (survey.why) return { why: survey.why };
  }
  worker = new Runner();
  const said = await worker.ask({ work: 'start', failing, passing, survey }, until - Date.now());
  const found = said.answer;
  if (!found?.failing) return { why: found?.why ?? said.why ?? 'the tests take too long' };
  plan = found;
  worker.knows = plan;
  spare = warmed();
  return { failing: found.failing, ms: Math.ceil(found.ms) };
}

/// The file of a candidate with the edit. Null if there is no such file.
function edited({ path: name, start, end, text }) {
  const file = path.resolve(root, name);
  if (!file.startsWith(`${root}/`)) return null;
  try {
    const bytes = fs.readFileSync(file);
    if (!(start >= 0 && start <= end && end <= bytes.length)) return null;
    const whole = Buffer.concat([bytes.subarray(0, start), Buffer.from(text), bytes.subarray(end)]).toString();
    const range = [start, end].map((at) => bytes.subarray(0, at).toString().length);
    const lines = (part) => part.split('\n').length;
    const added = lines(text) - lines(bytes.subarray(start, end).toString());
    return { file, text: whole, range, put: text, added };
  } catch {
    return null;
  }
}

/// Does work with the edit written to the disk, if the failing tests start programs that must see it.
async function seen(edit, work) {
  if (plan.starting.size === 0) return work();
  // A thread that is still loading must not see it.
  await spare?.ready;
  const before = fs.readFileSync(edit.file);
  try {
    fs.writeFileSync(edit.file, edit.text);
    return await work();
  } finally {
    endPrograms();
    fs.writeFileSync(edit.file, before);
  }
}

async function judge({ candidates, limit_ms }) {
  const until = Date.now() + limit_ms;
  const verdicts = [];
  for (const candidate of candidates) {
    if (verdicts.length > 0 && Date.now() > until) break;
    const edit = edited(candidate);
    const runner = await current();
    if (runner === null) return { verdicts, why: 'the tests cannot be run any more' };
    if (edit === null) {
      verdicts.push('invalid');
      continue;
    }
    const limits = [plan.ms, plan.all].map((ms) => Math.max(LEAST, TIMES * ms));
    const news = runner.knows === plan ? null : plan;
    runner.knows = plan;
    const most = GUARDED * limits[0];
    const said = await seen(edit, () => runner.ask({ work: 'judge', edit, plan: news, most }, ...limits));
    if (said.late) verdicts.push('timeout');
    else verdicts.push(typeof said.answer === 'string' ? said.answer : 'fails');
  }
  return { verdicts };
}

/// Uses a separate thread, because counting slows it down permanently.
async function follow(wall_ms) {
  const until = Date.now() + wall_ms;
  // An interrupted test leaves asynchronous contexts behind that would make Node abort.
  const runner = new Runner(plan.lost.length > 0 ? ['--no-force-async-hooks-checks'] : []);
  const said = await runner.ask({ work: 'follow', plan, wall_ms }, wall_ms);
  let followed = said.answer?.followed;
  if (followed && plan.lost.length > 0) followed = await traced(runner, plan, followed, until);
  runner.end();
  if (said.answer) plan = { ...plan, sees: said.answer.sees };
  return followed ?? { failing: 0, files: {}, why: said.why ?? 'it took too long' };
}

/// An interrupted test cannot always report what it executed; then it is traced once more.
async function spectrum({ wall_ms }) {
  const until = Date.now() + wall_ms;
  const first = await follow(wall_ms);
  const left = until - Date.now();
  return first.failing > 0 || plan.lost.length === 0 || left < INTERRUPTED ? first : follow(left);
}

/// Uses a separate thread, in which functions can be replaced.
async function behave({ candidates, wall_ms }) {
  const edits = candidates.map(edited);
  if (edits.includes(null)) return { answers: [], why: 'not every candidate edits an existing file' };
  const runner = new Runner();
  const found = [];
  let inputs = 1;
  runner.watch = (some) => {
    found.push(some.answers);
    inputs = some.inputs;
  };
  const said = await runner.ask({ work: 'behave', plan, edits, wall_ms }, wall_ms);
  runner.end();
  const answers = found.slice(0, edits.length);
  // If tests hang without an edit, calls may hang as well.
  const isLost = plan.lost.length > 0 && answers.length === edits.length;
  const without = found[edits.length] ?? (isLost ? Array(inputs).fill('timeout') : []);
  const fewest = Math.min(isLost ? inputs : without.length, ...answers.map((own) => own.length));
  if (answers.length < edits.length || fewest < Math.min(ANSWERS, inputs))
    return { answers: [], why: said.why ?? 'it took too long' };
  // If no input reaches the edits, they look alike no matter what they do.
  const isSeen = answers.some((own) => own.some((text, at) => text !== (without[at] ?? text)));
  if (!isSeen) return { answers: [], why: 'no call reaches the edits' };
  const longest = Math.max(...answers.map((own) => own.length));
  const whole = (own) => [...own, ...Array(Math.max(0, longest - own.length)).fill('timeout')];
  return { answers: answers.map(whole), without: whole(without).slice(0, longest) };
}

const WORK = { start, judge, spectrum, behave };

function piece(from) {
  const text = JSON.stringify({ text: last.slice(from, from + PIECE / 2), total: last.length });
  return { [util.inspect.custom]: () => text };
}

async function answer(text) {
  const asked = JSON.parse(text);
  if (asked.op === 'more') return piece(asked.from);
  let said = null;
  try {
    said = await WORK[asked.op](asked);
  } catch (error) {
    said = { why: String(error?.message ?? error).slice(0, 500) };
  }
  // Escaped to ASCII, so that the numbers of characters and bytes are equal.
  last = JSON.stringify(said).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return piece(0);
}

module.exports = {
  /// Returns a function from requests to answers, both as text. `workerScript` is the code of the threads that run
  /// tests.
  serve(workerScript) {
    script = workerScript;
    root = fs.realpathSync(process.env.GREENLIGHT_UP ?? '.');
    return answer;
  },
};
