// Ends what a test does without giving anything else a turn, where tests are known to hang: the test fails, and the thread
// goes on with it. What hangs in other ways takes the thread with it.
'use strict';

const vm = require('node:vm');

const call = new vm.Script(`globalThis[Symbol.for('greenlight guarded')]()`);
const key = Symbol.for('greenlight guarded');
let limit = 0;
let isTripped = false;

function run(work) {
  if (limit === 0) return work();
  globalThis[key] = work;
  try {
    return call.runInThisContext({ timeout: limit });
  } catch (error) {
    isTripped ||= error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    throw error;
  }
}

module.exports = {
  run,
  /// From now on, so many milliseconds for each function of a test, or as long as it takes.
  set(ms) {
    limit = Math.round(ms);
    isTripped = false;
  },
  isTripped: () => isTripped,
};
