// Finds the tests that hang or end their thread, and interrupts those that hang.
'use strict';

const { Session } = require('node:inspector');

/// The time limit of a test in milliseconds, the limit as a multiple of the slowest test so far, and the maximum;
/// tests that are known to pass may take longer.
const ANY_TEST = 3_000;
const TIMES_SLOWEST = 5;
const MOST_OF_TEST = 10_000;
const PASSING_TEST = 20_000;
/// Time limit without a test, in milliseconds.
const LOADING = 15_000;
const LOOK = 50;
/// Maximum number of hanging tests that are searched for.
const MOST_LOST = 3;
/// How long a hanging test is traced in milliseconds, and how long one that would end the thread, perhaps by
/// exhausting memory.
const TRACE = 500;
const SHORT_TRACE = 60;
/// Time limit for an interrupted thread to report back, in milliseconds.
const INTERRUPTED = 1_000;

/// Interrupts other threads like a debugger, which does not slow them down.
function interrupter() {
  const session = new Session();
  const threads = new Map();
  try {
    session.connect();
    session.on('NodeWorker.attachedToWorker', ({ params }) =>
      threads.set(params.workerInfo.workerId, params.sessionId),
    );
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  } catch {
    return null;
  }
  return {
    interrupt(thread) {
      const message = JSON.stringify({ id: 1, method: 'Runtime.terminateExecution' });
      // An unknown or ended thread does not answer in time and is terminated.
      session.post(
        'NodeWorker.sendMessageToWorker',
        { sessionId: threads.get(String(thread)) ?? '', message },
        () => {},
      );
    },
  };
}

/// Keeps track of the tests that a thread reports.
class Watch {
  constructor(passing) {
    this.passing = passing;
    this.at = [];
    this.ended = new Set();
    this.slowest = 0;
    this.since = Date.now();
    this.left = null;
  }

  hear({ stage, name }) {
    const now = Date.now();
    if (stage === 'begin') {
      this.at.push({ name, began: now });
    } else if (stage === 'end') {
      const place = this.at.findLastIndex((one) => one.name === name);
      if (place >= 0) this.slowest = Math.max(this.slowest, now - this.at.splice(place, 1)[0].began);
      this.ended.add(name);
    } else if (stage === 'exit') {
      this.left ??= this.present();
    }
    this.since = now;
  }

  /// The innermost test that is running.
  present() {
    return this.at.at(-1)?.name ?? null;
  }

  isLate() {
    const name = this.present();
    let most = Math.max(ANY_TEST, Math.min(MOST_OF_TEST, TIMES_SLOWEST * this.slowest));
    if (this.passing.has(name)) most = PASSING_TEST;
    if (name === null) most = LOADING;
    return Date.now() - this.since > most;
  }
}

/// Runs all tests except some, as far as possible.
async function watched(runner, skips, passing, limit) {
  const watch = new Watch(passing);
  runner.watch = (said) => watch.hear(said);
  const timer = setInterval(() => watch.isLate() && runner.settle({ late: true }), LOOK);
  const said = await runner.ask({ work: 'survey', skips }, limit);
  clearInterval(timer);
  runner.end();
  const isDone = said.answer === true && watch.left === null;
  const why = said.late || said.gone ? null : said.why;
  return { isDone, why, ends: !said.late, lost: watch.left ?? watch.present(), ended: watch.ended };
}

/// The tests that hang or end the thread. If there are too many of them, also the tests that can be run.
async function surveyed(make, passing, limit) {
  const until = Date.now() + limit;
  const lost = [];
  const deadly = [];
  while (Date.now() < until) {
    const seen = await watched(make(), lost, passing, until - Date.now());
    if (seen.isDone) return { lost, deadly, only: null };
    if (seen.why) return { why: seen.why };
    if (seen.lost === null) break;
    if (lost.length === MOST_LOST)
      return { lost, deadly, only: [...seen.ended].filter((name) => !/ hook(?: |$)/.test(name)) };
    lost.push(seen.lost);
    if (seen.ends) deadly.push(seen.lost);
  }
  return { why: 'something hangs or ends the process outside of a test' };
}

/// Adds what each hanging test executes to the traces.
async function traced(runner, { lost, deadly }, followed, until) {
  let found = followed;
  // Tests that may end the thread come last.
  for (const name of [...lost].sort((a, b) => deadly.includes(a) - deadly.includes(b))) {
    const limit = Math.min(deadly.includes(name) ? SHORT_TRACE : TRACE, until - Date.now());
    if (limit <= 0 || runner.why !== null) break;
    let said = await runner.tell({ work: 'trace', name, most: limit }, 2 * limit);
    if (said.late) {
      await runner.interrupt();
      said = await runner.ask({ work: 'traced', name }, Math.max(INTERRUPTED, until - Date.now()));
    }
    found = said.answer ?? found;
  }
  return found;
}

module.exports = { INTERRUPTED, interrupter, surveyed, traced };
