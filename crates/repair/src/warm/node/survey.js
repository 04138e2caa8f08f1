// Tests that hang, or end the thread they run in: finds out which those are, and interrupts what has no end.
'use strict';

const { Session } = require('node:inspector');

/// Milliseconds that any test may take, how many times as long as the slowest one, and the most of those; a test that is
/// known to pass may take longer.
const ANY_TEST = 3_000;
const TIMES_SLOWEST = 5;
const MOST_OF_TEST = 10_000;
const PASSING_TEST = 20_000;
/// Milliseconds without a test.
const LOADING = 15_000;
const LOOK = 50;
/// Tests that hang which are looked for.
const MOST_LOST = 3;
/// Milliseconds that a test which hangs is followed, and one that would end the thread, maybe by taking all memory.
const TRACE = 500;
const SHORT_TRACE = 60;
/// Milliseconds for a thread that is interrupted to say that it goes on.
const INTERRUPTED = 1_000;

/// Ends what other threads are at, as somebody who debugs them would. Nothing of that slows them down.
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
      // A thread that is not known or gone takes its time and is ended.
      session.post(
        'NodeWorker.sendMessageToWorker',
        { sessionId: threads.get(String(thread)) ?? '', message },
        () => {},
      );
    },
  };
}

/// What a thread says about the tests that it is at.
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

  /// The innermost test at work.
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

/// Runs all tests but some, as far as they get.
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

/// The tests that hang or end the thread, and those that can be run at all where there are more of them.
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

/// What was followed, and in addition what each test executes that hangs.
async function traced(runner, { lost, deadly }, followed, until) {
  let found = followed;
  // What may end the thread comes last.
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
